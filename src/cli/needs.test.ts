import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { test } from "node:test";
import { openTestDoor, testToken } from "../testing/http-door.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import type { Attention } from "../wire/api/index.ts";
import { describeNeeds, dismissNeeds, findNeed, restoreNeed, snoozeNeeds } from "./needs.ts";
import { tokenPath } from "./token.ts";

const item: Attention = {
  kind: "task_dead",
  id: "3f2a0000",
  source: "registry",
  name: "read scan",
  sinceMs: 40_000,
  text: "failed for good: too dark",
};
const nowMs = 100_000;

test("each item is listed with its kind, its age, its reason, and the id that clears it", () => {
  const text = describeNeeds({ items: [item], total: 1 }, { isDismissed: false, nowMs });
  assert.match(text, /^task failed +60 s +read scan +failed for good: too dark +3f2a0000$/m);
  assert.match(text, /^1 item needs you · tipstaff needs dismiss <id> clears one$/m);
  const none = { items: [], total: 0 };
  assert.equal(describeNeeds(none, { isDismissed: false, nowMs }), "nothing needs you\n");
});

test("items that are not listed are counted", () => {
  const text = describeNeeds({ items: [item], total: 3 }, { isDismissed: false, nowMs });
  assert.match(text, /^3 items need you · 2 more ·/m);
});

test("a dismissed item says who dismissed it, and until when", () => {
  const dismissed = { by: "ada", atMs: 50_000, untilMs: 160_000 };
  const items = [{ ...item, dismissed }];
  const text = describeNeeds({ items, total: 1 }, { isDismissed: true, nowMs });
  assert.match(text, /by ada at \S+, until \S+/);
});

test("an item is found by its id, the beginning of its id, or its name", () => {
  const other = { ...item, id: "3f2b0000", name: "payer", kind: "agent_waiting" } as const;
  for (const word of ["3f2a0000", "3f2a", "read scan"]) {
    assert.equal(findNeed([item, other], word), item, word);
  }
  assert.throws(() => findNeed([item, other], "3f2"), /2 items match 3f2; give the id of one/);
  assert.throws(() => findNeed([item], "nothing"), /no item has the id or name nothing/);
});

test("a snoozed item can be dismissed, and only a hidden item can be restored", async () => {
  await using to = await openTestDoor();
  await using directory = await temporaryDirectory();
  await writeFile(tokenPath(directory.path), testToken);
  const values = { "data-dir": directory.path, http: `127.0.0.1:${to.port}`, json: true };
  const { id: agentId } = await to.done("registerAgent", { card: { name: "payer" } });
  await to.done("askQuestion", { agentId, prompt: "Pay 5 EUR?" });
  const hidden = async () => (await to.done("getAttention", { dismissed: true })).items;

  await assert.rejects(
    restoreNeed(values, ["payer"]),
    /^Failure: payer is not dismissed or snoozed$/,
  );
  await assert.rejects(restoreNeed(values, ["mailer"]), /no item has the id or name mailer/);
  for (const tooFar of ["400d", "999ms"]) {
    const wrong = snoozeNeeds({ ...values, for: tooFar }, ["payer"]);
    await assert.rejects(wrong, /^Failure: --for must be from 1s to 365d$/);
  }
  await snoozeNeeds({ ...values, for: "1h" }, ["payer"]);
  assert.ok((await hidden())[0]?.dismissed?.untilMs);
  await dismissNeeds(values, ["payer"]);
  const [dismissed] = await hidden();
  assert.equal(dismissed?.dismissed?.untilMs, undefined);
  await restoreNeed(values, ["payer"]);
  assert.deepEqual(await hidden(), []);
});

test("--all clears also the items that do not fit into one answer of the daemon", async () => {
  await using to = await openTestDoor();
  await using directory = await temporaryDirectory();
  await writeFile(tokenPath(directory.path), testToken);
  const values = { "data-dir": directory.path, http: `127.0.0.1:${to.port}`, json: true };
  for (let number = 1; number <= 205; number++) {
    const { id: agentId } = await to.done("registerAgent", { card: { name: `agent-${number}` } });
    await to.done("heartbeat", { agentId, activity: { state: "waiting" } });
  }
  const { items, total } = await to.done("getAttention", {});
  assert(items.length < total, "one answer has all");
  await dismissNeeds({ ...values, all: true }, []);
  assert.equal((await to.done("getAttention", {})).total, 0);
});

test("dismiss and snooze without an item are usage errors, also without a daemon", async () => {
  await using directory = await temporaryDirectory();
  const values = { "data-dir": directory.path };
  for (const wrong of [
    dismissNeeds(values, []),
    snoozeNeeds({ ...values, all: true }, ["payer"]),
  ]) {
    await assert.rejects(wrong, { code: "mistake" });
  }
});

test("a question with a deadline says how much time is left", () => {
  const items = [{ ...item, kind: "question", expiresAtMs: nowMs + 40_000 }] as const;
  const text = describeNeeds({ items, total: 1 }, { isDismissed: false, nowMs });
  assert.match(text, /FOR +CLOSES IN +NAME/);
  assert.match(text, /60 s +40 s +read scan/);
});
