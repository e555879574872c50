/** Gives a job one dollar, and watches it go. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7891", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token });
const job = await client.submit({ agent: "caller", lease: { "cost.budget": ["USD:1.00"] } });
console.log(`may spend ${JSON.stringify(job.budget)}`);

const left: number[] = [];
const refusals: string[] = [];
for await (const { view } of job.events()) {
  if (view?.kind === "metric" && view.name === "cost.budget.remaining") {
    console.log(`${view.value} ${view.unit} left`);
    left.push(view.value);
  }
  if (view?.kind === "tool_result" && view.error) {
    console.log(`${view.callId}: ${view.error.code}, ${view.error.message}`);
    refusals.push(view.error.code);
  }
}
assert.deepEqual(left, [0.7, 0.4, 0.1, -0.2]);
assert.deepEqual(refusals, ["BUDGET_EXHAUSTED"]);
assert.deepEqual((await job.done).result, { completed: 4, exhausted: true });
