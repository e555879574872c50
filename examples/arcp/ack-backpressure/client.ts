/** Acknowledges nothing, and is told that it lags; then it acknowledges all. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7886", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token, autoAck: false });
const job = await client.submit({ agent: "chatty", input: {} });

const warnings: string[] = [];
let heard = 0;
for await (const { view } of job.events()) {
  if (view?.kind === "log") heard += 1;
  if (view?.kind !== "status" || view.phase !== "back_pressure") continue;
  warnings.push(view.phase);
  console.log(`after ${heard} events: ${view.phase}, ${view.message}`);
}
await job.done;
client.ack(client.lastEventSeq);
console.log(`heard ${heard}, acknowledged up to ${client.lastEventSeq}`);

// A warning is all that happens: no agent is ever held up by a client that does not acknowledge.
assert.equal(warnings.length, 1);
assert.equal(heard, 200);
