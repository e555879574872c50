/** Gets a key with the job, to call the models that the job may use. */
import assert from "node:assert/strict";
import { inspect } from "node:util";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7892", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token });
const job = await client.submit({
  agent: "model-user",
  input: { model: "tier-fast/demo" },
  lease: { "model.use": ["tier-fast/*"], "cost.budget": ["USD:1.00"] },
});
const [credential] = job.credentials;
assert(credential);
console.log(`${credential.id}: a ${credential.scheme} token for ${credential.endpoint}`);
// Printing it tells nothing: a secret is not for logs.
console.log(credential);
assert(!inspect(credential).includes(credential.value));

const { result } = await job.done;
console.log(JSON.stringify(result));
assert.deepEqual(result, { model: "tier-fast/demo", credential_count: 1 });
