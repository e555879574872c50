/** Changes its mind after three ticks. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7883", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token });
const job = await client.submit({ agent: "patient", input: {} });

let ticks = 0;
for await (const { view } of job.events()) {
  if (view?.kind !== "log") continue;
  console.log(view.message);
  ticks += 1;
  if (ticks === 3) await job.cancel("demo.cancel");
}
await assert.rejects(job.done, { code: "CANCELLED" });
console.log(`cancelled after ${ticks} ticks`);
assert(ticks < 60);
