/** Asks for a job, reads along while it is done, and takes the result. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7879", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token });
const job = await client.submit({ agent: "echo", input: { hello: "world" } });
console.log(`${job.jobId} was accepted for agent ${job.agent}`);

const kinds: string[] = [];
for await (const { eventSeq, kind, body } of job.events()) {
  console.log(`${eventSeq}. ${kind} ${JSON.stringify(body)}`);
  kinds.push(kind);
}
const { final_status, result } = await job.done;
console.log(`${final_status}: ${JSON.stringify(result)}`);

assert.deepEqual(result, { summary: "ok" });
for (const kind of ["status", "log", "thought", "tool_call", "tool_result", "metric"]) {
  assert(kinds.includes(kind), `no ${kind} was told`);
}
