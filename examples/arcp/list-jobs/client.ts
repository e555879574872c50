/** Three jobs, looked through two at a time. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7887", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token });
const jobs = [];
for (let count = 0; count < 3; count += 1) {
  const job = await client.submit({ agent: "hold", input: {} });
  for await (const _running of job.events()) break;
  jobs.push(job);
}

const running = { status: ["running"] };
const first = await client.listJobs(running, { limit: 2 });
assert(first.nextCursor);
const second = await client.listJobs(running, { limit: 2, cursor: first.nextCursor });
for (const [index, page] of [first, second].entries()) {
  for (const { jobId, status } of page.jobs)
    console.log(`page ${index + 1}: ${jobId} is ${status}`);
}
assert.equal(first.jobs.length, 2);
assert.equal(second.jobs.length, 1);
assert(!second.nextCursor);

for (const job of jobs) {
  await job.cancel("seen enough");
  await assert.rejects(job.done, { code: "CANCELLED" });
}
