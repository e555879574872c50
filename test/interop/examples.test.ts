/** Every example checks itself; here they are run, against a daemon of their own. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { serve } from "../../src/serve.ts";
import { preparePeer } from "./peer.ts";

const run = promisify(execFile);
const prepared = await preparePeer();

test("one holder at a time: the example that the README shows", async (context) => {
  if ("unavailable" in prepared) {
    assert.notEqual(process.env["CI"], "true", prepared.unavailable);
    return context.skip(prepared.unavailable);
  }
  await using daemon = await serve({
    version: "test",
    grpc: [{ host: "127.0.0.1", port: 0 }],
    http: [],
    isHttpOptional: true,
    isAnyHostAllowed: false,
    token: "secret",
    warn: (message) => context.diagnostic(message),
    onFault: (fault) => {
      throw fault;
    },
  });
  const [place] = daemon.grpc;
  assert(place && "port" in place);
  const env = { ...process.env, TIPSTAFF_GRPC_PORT: String(place.port) };
  const { stdout } = await run(prepared.python, ["examples/one-holder/main.py"], { env });
  assert.match(stdout, /scraper holds invoice-42.*\nparser has to wait\nparser holds invoice-42/);
});
