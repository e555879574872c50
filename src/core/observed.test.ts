import assert from "node:assert/strict";
import { test } from "node:test";
import { observedId } from "./ids.ts";
import { limits } from "./limits.ts";
import { decide as decideAll, emptyState, evolve as evolveAll } from "./machine.ts";
import {
  decide,
  emptyObserved,
  evolve,
  type Observed,
  type ObservedCommand,
  type ObservedEvent,
  type OwnObservedAgents,
} from "./observed.ts";
import { capture, describe, printRow, Restoring } from "./snapshot.ts";

const seen = {
  id: observedId("codex-1"),
  name: "codex",
  state: "working",
  note: "npm test",
  goal: "make the tests pass",
  workspace: "/src/search",
  source: "hook",
} as const satisfies Omit<Observed, "sinceMs">;

test("who is seen for the first time is a fact, and who is seen doing the same again is none", () => {
  const observed = emptyObserved();
  const [event] = carryOut(observed, report({}), 1_000);
  assert.deepEqual(event, { type: "observed.changed", observed: { ...seen, sinceMs: 1_000 } });
  assert.deepEqual(carryOut(observed, report({}), 5_000), []);
  assert.deepEqual(carryOut(observed, report({ sinceMs: 4_000 }), 5_000), []);
  assert.equal(observed.counts.working, 1);
});

test("a state begins when the source says, or when it is seen, and never in the future", () => {
  const observed = emptyObserved();
  carryOut(observed, report({ sinceMs: 500 }), 1_000);
  assert.equal(observed.byId.get(seen.id)?.sinceMs, 500);
  carryOut(observed, report({ note: "npm run build" }), 2_000);
  assert.equal(observed.byId.get(seen.id)?.sinceMs, 500, "it still works");
  carryOut(observed, report({ state: "waiting" }), 3_000);
  assert.equal(observed.byId.get(seen.id)?.sinceMs, 3_000);
  carryOut(observed, report({ state: "idle", sinceMs: 9_000 }), 4_000);
  assert.equal(observed.byId.get(seen.id)?.sinceMs, 4_000);
  assert.deepEqual([observed.counts.waiting, observed.counts.idle], [0, 1]);
});

test("who leaves is gone, and leaving twice is nothing", () => {
  const observed = emptyObserved();
  carryOut(observed, report({}), 1_000);
  const leave = { type: "observed.leave", observedId: seen.id } as const;
  const [event] = carryOut(observed, leave, 2_000);
  assert.equal(event?.type, "observed.left");
  assert.deepEqual(carryOut(observed, leave, 3_000), []);
  assert.equal(observed.byId.size, 0);
  assert.equal(observed.counts.working, 0);
});

test("there is a bound, and those who are known already may change at it", () => {
  const observed = emptyObserved();
  for (let number = 0; number < limits.observedMax; number++) {
    carryOut(observed, report({ id: observedId(`${number}`) }), 0);
  }
  const { refusal } = decide(observed, report({ id: observedId("more") }), 0);
  assert.equal(refusal?.code, "limit_reached");
  assert.equal(carryOut(observed, report({ id: observedId("7"), state: "idle" }), 0).length, 1);
});

test("what is observed survives with the snapshot, and publishes nothing", () => {
  const state = emptyState();
  const decision = decideAll(state, report({}), 1_000);
  assert(!decision.refusal);
  for (const event of decision.events) evolveAll(state, event);
  assert.equal(state.lastBusSequence, 0);
  const restoring = new Restoring();
  for (const section of capture(state)) {
    for (let index = 0; index < section.rows.length; index++) {
      restoring.add(section.name, printRow(section, index));
    }
  }
  assert.equal(describe(restoring.state), describe(state));
  assert.deepEqual(restoring.state.observed, state.observed);
});

function report(change: Partial<Observed>): ObservedCommand & { type: "observed.report" } {
  return { type: "observed.report", observed: { ...seen, ...change } };
}

function carryOut(
  observed: OwnObservedAgents,
  command: ObservedCommand,
  nowMs: number,
): readonly ObservedEvent[] {
  const decision = decide(observed, command, nowMs);
  assert(!decision.refusal);
  for (const event of decision.events) evolve(observed, event);
  return decision.events;
}
