/** Starts its agent as a child process and talks to it through the child's pipes. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { ARCPClient } from "tipstaff/arcp";
import { fromChild } from "tipstaff/runtime";

const { ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const words = [...process.execArgv, join(import.meta.dirname, "server.ts")];
const child = spawn(process.execPath, words, { stdio: ["pipe", "pipe", "inherit"] });
const exited = once(child, "exit");
{
  // A child has to start before it can answer.
  const options = { token, handshakeTimeoutMs: 30_000 };
  await using client = await ARCPClient.connect(fromChild(child), options);
  const job = await client.submit({ agent: "echo", input: { hello: "stdio" } });
  for await (const { kind, body } of job.events()) console.log(`${kind} ${JSON.stringify(body)}`);
  const { result } = await job.done;
  assert.deepEqual(result, { echoed: { hello: "stdio" } });
}
const [code] = await exited;
console.log(`the child said goodbye and left with ${code}`);
assert.equal(code, 0);
