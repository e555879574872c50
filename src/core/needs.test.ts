import assert from "node:assert/strict";
import { test } from "node:test";
import type { Decision } from "./decision.ts";
import { limits } from "./limits.ts";
import {
  type Dismissal,
  type DismissNeed,
  decide,
  dismissalOf,
  emptyNeeds,
  evolve,
  type NeedEvent,
  type OwnNeeds,
} from "./needs.ts";

const thing = { kind: "task_dead", id: "t1" } as const;
const dismissal: Dismissal = { ...thing, sinceMs: 1_000, by: "ada", atMs: 5_000 };

test("a dismissed item is hidden until the same happens again", () => {
  const needs = given({ type: "need.dismissed", dismissal });
  assert.equal(dismissalOf(needs, { ...thing, sinceMs: 1_000 }, 6_000), dismissal);
  assert.equal(dismissalOf(needs, { ...thing, sinceMs: 1_001 }, 6_000), undefined, "it is anew");
  assert.equal(dismissalOf(needs, { ...thing, id: "t2", sinceMs: 1_000 }, 6_000), undefined);
  const other = { ...thing, kind: "task_stuck", sinceMs: 1_000 };
  assert.equal(dismissalOf(needs, other, 6_000), undefined, "another kind of trouble");
});

test("a snoozed thing comes back when its time is over", () => {
  const decision = decide(emptyNeeds(), dismiss({ forMs: 60_000 }), 5_000);
  const snoozed = { ...dismissal, untilMs: 65_000 };
  assert.deepEqual(decision, { events: [{ type: "need.dismissed", dismissal: snoozed }] });
  const needs = given({ type: "need.dismissed", dismissal: snoozed });
  assert.equal(dismissalOf(needs, { ...thing, sinceMs: 1_000 }, 64_999), snoozed);
  assert.equal(dismissalOf(needs, { ...thing, sinceMs: 1_000 }, 65_000), undefined);
});

test("who dismissed it, and when, is in the event; a retry makes no second one", () => {
  const decision = decide(emptyNeeds(), dismiss(), 5_000);
  assert.deepEqual(decision, { events: [{ type: "need.dismissed", dismissal }] });
  const needs = given({ type: "need.dismissed", dismissal });
  assert.deepEqual(decide(needs, { ...dismiss(), by: "bob" }, 9_000), { events: [] });
  const anew = decide(needs, { ...dismiss(), sinceMs: 2_000 }, 9_000);
  assert.equal(countIn(anew), 1, "another occurrence is another dismissal");
  const snoozed = given({ type: "need.dismissed", dismissal: { ...dismissal, untilMs: 6_000 } });
  assert.equal(countIn(decide(snoozed, dismiss(), 7_000)), 1, "a snooze can become final");
});

test("a dismissal cannot cover what has not happened yet", () => {
  const refused = decide(emptyNeeds(), dismiss(), 999);
  assert.equal(refused.refusal?.code, "invalid_argument");
  assert.equal(countIn(decide(emptyNeeds(), dismiss(), 1_000)), 1, "what happens just now");
});

test("what was dismissed can be shown again", () => {
  const needs = given({ type: "need.dismissed", dismissal });
  const restored = { type: "need.restored", ...thing } as const;
  assert.deepEqual(decide(needs, { type: "need.restore", ...thing }, 0), { events: [restored] });
  evolve(needs, restored);
  assert.equal(needs.dismissals.size, 0);
  assert.deepEqual(decide(needs, { type: "need.restore", ...thing }, 0), { events: [] });
});

test("at the bound the oldest dismissal is forgotten", () => {
  const needs = emptyNeeds();
  const dismissed = (id: string): void =>
    evolve(needs, { type: "need.dismissed", dismissal: { ...dismissal, id } });
  for (let number = 0; number < limits.dismissalsMax; number++) dismissed(`t${number}`);
  dismissed("t0");
  assert.equal(needs.dismissals.size, limits.dismissalsMax, "dismissed again, it counts once");
  dismissed("new");
  assert.equal(needs.dismissals.size, limits.dismissalsMax);
  assert.equal(needs.dismissals.has("task_dead t1"), false);
  assert.equal(needs.dismissals.has("task_dead t0"), true);
});

function countIn(decision: Decision<NeedEvent>): number {
  return decision.refusal ? 0 : decision.events.length;
}

function dismiss(options: Partial<DismissNeed> = {}): DismissNeed {
  return { type: "need.dismiss", ...thing, sinceMs: 1_000, by: "ada", ...options };
}

function given(...events: NeedEvent[]): OwnNeeds {
  const needs = emptyNeeds();
  for (const event of events) evolve(needs, event);
  return needs;
}
