import assert from "node:assert/strict";
import { test } from "node:test";
import { Chronicle } from "./chronicle.ts";
import { limits } from "./limits.ts";
import { agentNamed, nowMs } from "./testing.ts";

test("the first look is how it was; what changes after it has happened", () => {
  const chronicle = new Chronicle();
  chronicle.observe([agentNamed("one", { sinceMs: nowMs - 5_000 })], nowMs);
  assert.deepEqual(chronicle.happenings, []);
  const waiting = agentNamed("one", { state: "waiting", doing: "may I?", sinceMs: nowMs + 900 });
  chronicle.observe([waiting, agentNamed("two")], nowMs + 1_000);
  chronicle.observe([agentNamed("two")], nowMs + 2_000);
  assert.deepEqual(
    chronicle.happenings.map(({ atMs, text }) => [atMs - nowMs, text]),
    [
      [1_000, "one is waiting: may I?"],
      [1_000, "two is here"],
      [2_000, "one has left"],
    ],
  );
});

test("stretches begin when the source says, and end where the next begins", () => {
  const chronicle = new Chronicle();
  chronicle.observe([agentNamed("one", { sinceMs: nowMs - 5_000 })], nowMs);
  chronicle.observe([agentNamed("one", { state: "idle", sinceMs: nowMs + 900 })], nowMs + 1_000);
  const { stretches } = chronicle.about("one", nowMs + 3_000);
  assert.deepEqual(
    stretches.map(({ state, fromMs, toMs }) => [state, fromMs - nowMs, toMs - nowMs]),
    [
      ["working", -5_000, 900],
      ["idle", 900, 3_000],
    ],
  );
});

test("an agent that changes for ever is remembered in a bounded way", () => {
  const chronicle = new Chronicle();
  for (let count = 0; count < 2_000; count += 1) {
    const state = count % 2 === 0 ? "working" : "idle";
    chronicle.observe([agentNamed("one", { state, sinceMs: nowMs + count })], nowMs + count);
  }
  assert.equal(chronicle.happenings.length, limits.happeningsMax);
  assert.equal(chronicle.about("one", nowMs + 2_000).stretches.length, limits.stretchesMax);
});
