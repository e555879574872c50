/** Gives a job two seconds, whatever it is doing then. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7890", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token });
const startedMs = Date.now();
const expiresAt = new Date(startedMs + 2000).toISOString();
const job = await client.submit({ agent: "slow", leaseConstraints: { expiresAt } });
console.log(`${job.jobId} has until ${expiresAt}`);

await assert.rejects(job.done, { code: "LEASE_EXPIRED" });
const tookMs = Date.now() - startedMs;
console.log(`LEASE_EXPIRED after ${tookMs} ms`);
assert(tookMs >= 2000 && tookMs < 9000);
