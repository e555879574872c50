/** Allows a job to read and nothing else, and sees it try more. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";
import { validateLeaseOp } from "tipstaff/runtime";

const { ARCP_DEMO_PORT: port = "7882", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token });
const lease = { "fs.read": ["/tmp/*"] };
const job = await client.submit({ agent: "cautious", input: {}, lease });

const refusals: string[] = [];
for await (const { view } of job.events()) {
  if (view?.kind !== "tool_result" || !view.error) continue;
  console.log(`refused: ${view.error.code}, ${view.error.message}`);
  refusals.push(view.error.code);
}

// Whoever was handed the lease can hold an operation against it, also outside of the job: a gateway, say.
const write = { lease: job.lease, capability: "fs.write", target: "/etc/passwd" };
assert.throws(() => validateLeaseOp(write), { code: "PERMISSION_DENIED" });
const read = { lease: job.lease, capability: "fs.read", target: "/tmp/./notes" };
assert.equal(validateLeaseOp(read), "/tmp/notes");

const { result } = await job.done;
console.log(`and yet: ${JSON.stringify(result)}`);

assert.deepEqual(refusals, ["PERMISSION_DENIED"]);
assert.deepEqual(result, { continued: true });
