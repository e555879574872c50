import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sighting } from "../wire/api/index.ts";
import { seen } from "./testing.ts";
import { Judge } from "./wait.ts";

test("until one waits for a person: any of those that are meant", () => {
  const judge = new Judge("waiting", undefined);
  assert.equal(judge.look([seen(), seen({ id: "b", state: "idle" })]), undefined);
  const waiting = seen({ id: "b", state: "waiting" });
  assert.deepEqual(judge.look([seen(), waiting]), [waiting]);
  assert.equal(new Judge("waiting", "c").look([waiting]), undefined);
  assert.deepEqual(new Judge("waiting", "b").look([waiting]), [waiting]);
  assert.deepEqual(new Judge("waiting", "codex").look([waiting]), [waiting]);
});

test("until all are idle: who works, waits, is silent or failed is not", () => {
  const idle = seen({ id: "i", state: "idle" });
  for (const state of ["working", "waiting", "silent", "failed", "lost"] as const) {
    assert.equal(new Judge("idle", undefined).look([idle, seen({ state })]), undefined, state);
  }
  assert.deepEqual(new Judge("idle", undefined).look([idle]), [idle]);
  const unknown = seen({ state: "unknown" });
  assert.deepEqual(new Judge("idle", undefined).look([idle, unknown]), [idle]);
});

test("until all are done: idle, failed, lost, ended or gone, once they were there", () => {
  const judge = new Judge("done", "codex");
  assert.equal(judge.look([]), undefined);
  const working = seen();
  assert.equal(judge.look([working]), undefined);
  assert.deepEqual(judge.look([]), [working]);
  assert.equal(new Judge("done", "codex").look([seen({ state: "unknown" })]), undefined);
  const failed = seen({ state: "failed" });
  assert.deepEqual(new Judge("done", undefined).look([failed]), [failed]);
  assert.deepEqual(new Judge("done", undefined).look([]), []);
});

test("where nobody is there to wait for, that is said once", () => {
  const told = (until: "waiting" | "idle" | "done", agents: readonly Sighting[], name?: string) => {
    const lines: string[] = [];
    const judge = new Judge(until, name, (text) => lines.push(text));
    judge.look(agents);
    judge.look(agents);
    return lines.join("");
  };
  assert.equal(told("waiting", []), "there are no agents yet; waiting for one that waits\n");
  for (const until of ["idle", "done"] as const) {
    assert.equal(told(until, []), "there are no agents; there is nothing to wait for\n");
    const unknown = [seen({ state: "unknown" })];
    assert.match(told(until, unknown), /^no agent says what it does; /);
    assert.equal(told(until, [], "pi"), "there is no agent pi yet; waiting for it\n");
    assert.equal(told(until, [seen()]), "");
  }
});

test("what has not come about is said", () => {
  assert.equal(new Judge("waiting", undefined).missing, "no agent waited for you");
  const judge = new Judge("idle", "codex");
  assert.equal(judge.missing, "no agent codex was seen");
  judge.look([seen()]);
  assert.equal(judge.missing, "codex was not idle");
});
