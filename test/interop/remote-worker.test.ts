/** The worker in Python that the examples have, against our runtime, which is restarted in the middle of a job. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { preparePythonSdk } from "./arcp/python-sdk.ts";

const run = promisify(execFile);

test("a worker in Python keeps its job over a restart of the runtime", async (context) => {
  const prepared = await preparePythonSdk();
  if ("unavailable" in prepared) {
    assert.notEqual(process.env["CI"], "true", prepared.unavailable);
    return context.skip(prepared.unavailable);
  }
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const main = "examples/remote-worker/main.ts";
  const words = ["--conditions=@tipstaff/source", main, "python", prepared.python];
  const { stdout, stderr } = await run(process.execPath, words, { env, timeout: 60_000 });
  assert.match(stdout, /^count@1\.0\.0 counted to 20 in another process/);
  assert.equal(stderr, "");
});
