/** Two planners stand for election; the leader leaves, and the other takes over where it stopped. */
import assert from "node:assert/strict";
import { type Agent, connect } from "tipstaff/client";

await using client = await connect();
const group = `planners-${process.pid}`;
const plan: { readonly by: string; readonly term: bigint }[] = [];

/** Plans once while it leads, and stays in office until it is told to go. */
function plans(agent: Agent, signal: AbortSignal): Promise<void> {
  return agent.onLeadership(group, async (term, isLeading) => {
    plan.push({ by: agent.name, term });
    await new Promise<void>((resolve) => {
      for (const end of [isLeading, signal]) end.addEventListener("abort", () => resolve());
    });
  });
}

await using first = await client.register({ name: "planner-1" });
await using second = await client.register({ name: "planner-2" });
const retirement = new AbortController();
const evening = new AbortController();
const ledByFirst = plans(first, retirement.signal);
await seen(1);
const ledBySecond = plans(second, evening.signal);

await using watch = client.watch({ topics: ["leader.changed"] });
await watch.ready;
retirement.abort();
await ledByFirst;
for await (const entry of watch) {
  if (entry.type !== "leader.changed" || entry.group !== group) continue;
  console.log(`term ${entry.term}: ${entry.leader === second.id ? "planner-2" : "nobody"} leads`);
  break;
}
await seen(2);
evening.abort();
await ledBySecond;

assert.deepEqual(plan, [
  { by: "planner-1", term: 1n },
  { by: "planner-2", term: 2n },
]);
console.log("each planner planned once, in its own term");

/** Until so many plans were made. */
async function seen(count: number): Promise<void> {
  while (plan.length < count) await new Promise(setImmediate);
}
