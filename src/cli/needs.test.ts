import assert from "node:assert/strict";
import { test } from "node:test";
import type { Attention } from "../wire/api/index.ts";
import { describeNeeds, findNeed } from "./needs.ts";

const item: Attention = {
  kind: "task_dead",
  id: "3f2a0000",
  source: "registry",
  name: "read scan",
  sinceMs: 40_000,
  text: "failed for good: too dark",
};
const nowMs = 100_000;

test("each thing is listed with its kind, its age, why, and the id that clears it", () => {
  const text = describeNeeds({ items: [item], total: 1 }, { isDismissed: false, nowMs });
  assert.match(text, /^task failed +60 s +read scan +failed for good: too dark +3f2a0000$/m);
  assert.match(text, /^1 thing needs you · tipstaff needs dismiss <id> clears one$/m);
  const none = { items: [], total: 0 };
  assert.equal(describeNeeds(none, { isDismissed: false, nowMs }), "nothing needs you\n");
});

test("what is not listed is counted", () => {
  const text = describeNeeds({ items: [item], total: 3 }, { isDismissed: false, nowMs });
  assert.match(text, /^3 things need you · 2 more ·/m);
});

test("a dismissed thing says who dismissed it, and until when", () => {
  const dismissed = { by: "ada", atMs: 50_000, untilMs: 160_000 };
  const items = [{ ...item, dismissed }];
  const text = describeNeeds({ items, total: 1 }, { isDismissed: true, nowMs });
  assert.match(text, /by ada at \S+, until \S+/);
});

test("a thing goes by its id, the beginning of its id, or its name", () => {
  const other = { ...item, id: "3f2b0000", name: "payer", kind: "agent_waiting" } as const;
  for (const word of ["3f2a0000", "3f2a", "read scan"]) {
    assert.equal(findNeed([item, other], word), item, word);
  }
  assert.throws(() => findNeed([item, other], "3f2"), /3f2 is 2 things; give the id of one/);
  assert.throws(() => findNeed([item], "nothing"), /nothing that needs you is called nothing/);
});
