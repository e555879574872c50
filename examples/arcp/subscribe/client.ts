/** One submits; another, who is not the same, finds the job, reads along from its start, and may not end it. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7888", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using owner = await ARCPClient.connect(url, { token });
await using watcher = await ARCPClient.connect(url, { token: "demo-token-b" });
const job = await owner.submit({ agent: "slow", input: {} });
await sleep(1000);

const { jobs } = await watcher.listJobs({ status: ["running"] });
assert(jobs.some(({ jobId }) => jobId === job.jobId));
const watched = await watcher.subscribe(job.jobId, { history: true });
console.log(`watching ${job.jobId}, ${watched.currentStatus}`);

let isRefused = false;
const steps: string[] = [];
for await (const { view } of watched.events()) {
  if (view?.kind !== "log") continue;
  steps.push(view.message);
  if (view.message !== "step 5") continue;
  await assert.rejects(watched.cancel("subscriber.cancel"), { code: "PERMISSION_DENIED" });
  isRefused = true;
  console.log("a watcher may not cancel: PERMISSION_DENIED");
}
console.log(`saw ${steps.length} steps, from "${steps.at(0)}" to "${steps.at(-1)}"`);
assert(isRefused);
assert.equal(steps.length, 20);
assert.deepEqual((await job.done).result, { steps: 20 });
