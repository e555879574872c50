/** A bar that fills. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7892", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token });
const job = await client.submit({ agent: "report", input: { steps: 10 } });

let last = 0;
for await (const { view } of job.events()) {
  if (view?.kind !== "progress") continue;
  const { current, total = current, message } = view;
  console.log(`${"#".repeat(current)}${".".repeat(total - current)} ${message}`);
  assert(current > last);
  last = current;
}
assert.equal(last, 10);
assert.deepEqual((await job.done).result, { steps: 10 });
