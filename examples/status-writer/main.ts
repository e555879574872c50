/** An agent that says what it is doing, and somebody who is told when they are needed. No daemon anywhere. */
import assert from "node:assert/strict";
import { escapeForTerminal, list, openStatus, watch } from "tipstaff/status";

const question = untilAsked("migrator");
{
  await using status = await openStatus({
    name: "migrator",
    goal: "move billing to the new schema",
  });
  status.working("rewriting 3 migrations");
  status.waiting("delete the old tables?");
  console.log(`migrator asks: ${escapeForTerminal(await question)}`);

  status.idle();
  await status.flush();
  const known = await Array.fromAsync(list());
  const migrator = known.find(({ id }) => id === status.id);
  assert.equal(migrator?.state, "idle");
  assert.equal(migrator.goal?.summary, "move billing to the new schema");
}
for await (const { pid } of list()) assert.notEqual(pid, process.pid);
console.log("it is idle, then gone, and so is its file");

/** What an agent of that name wants to know, as soon as it asks. */
async function untilAsked(name: string): Promise<string> {
  for await (const change of watch()) {
    const heard = "agents" in change ? change.agents : "agent" in change ? [change.agent] : [];
    const waiting = heard.find((agent) => agent.name === name && agent.state === "input-required");
    if (waiting) return waiting.task?.summary ?? "";
  }
  throw new Error("the watch has ended");
}
