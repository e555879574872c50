/** Asks twice with the same key and gets one job; the key is not good for another wish. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7881", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token });
const wish = { agent: "a", input: { x: 1 }, idempotencyKey: "demo-key-001" };

const first = await client.submit(wish);
console.log(`first: ${first.jobId}`);
const again = await client.submit(wish);
console.log(`again: ${again.jobId}`);
assert.equal(again.jobId, first.jobId);
assert.deepEqual((await again.done).result, { agent: "a", input: { x: 1 } });

const other = client.submit({ ...wish, agent: "b" });
await assert.rejects(other, { code: "DUPLICATE_KEY" });
console.log("the key is taken: DUPLICATE_KEY");
