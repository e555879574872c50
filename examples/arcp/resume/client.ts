/** Loses the connection in the middle of a job, and goes on where it was: nothing is missing. */
import assert from "node:assert/strict";
import { ARCPClient, connectWebSocket } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7880", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

const line = await connectWebSocket(url);
const first = await ARCPClient.connect(line, { token });
const job = await first.submit({ agent: "slow", input: {} });
for await (const { view } of job.events()) {
  if (view?.kind !== "log") continue;
  console.log(`first connection: ${view.message}`);
  if (view.message === "step 1") break;
}
// No goodbye: the cable is pulled. With these three values any process could go on.
const where = first.resumeFrom;
await line.close();

await using second = await ARCPClient.resume(url, where, { token });
assert.equal(second.sessionId, where.session_id);
assert.notEqual(
  second.resumeFrom.resume_token,
  where.resume_token,
  "a token is good for one resume",
);

const watched = await second.subscribe(job.jobId, { history: true });
const steps: string[] = [];
for await (const { view } of watched.events()) {
  if (view?.kind !== "log") continue;
  console.log(`second connection: ${view.message}`);
  steps.push(view.message);
}
assert.deepEqual(
  steps,
  Array.from({ length: 10 }, (_, i) => `step ${i}`),
);
assert.deepEqual((await watched.done).result, { steps: 10 });
