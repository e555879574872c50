/** Lets a job delegate, and sees that the trace goes with it. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7878", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token });
const job = await client.submit({
  agent: "parent",
  input: { start: true },
  lease: { "agent.delegate": ["child"] },
});

let childJobId: string | undefined;
for await (const { view } of job.events()) {
  if (view?.kind !== "delegate") continue;
  childJobId = view.childJobId;
  console.log(`${job.jobId} had ${view.agent} do it: ${childJobId}`);
}
const { result } = await job.done;
console.log(`both were part of trace ${job.traceId}`);

assert(childJobId !== undefined && childJobId !== job.jobId);
assert.deepEqual(result, { parent_trace: job.traceId, child_trace: job.traceId });
