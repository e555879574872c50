import assert from "node:assert/strict";
import { test } from "node:test";
import type { Known } from "../wire/api/index.ts";
import { doingOf, knownFrom, spentBy, summaryOf, whereOf } from "./sighting-words.ts";
import { nowMs, seen } from "./testing.ts";

test("where it is: its directory and branch, and its machine if that is another", () => {
  assert.equal(whereOf(seen({ workspace: "/src/x" })), "/src/x");
  assert.equal(whereOf(seen({ workspace: "/src/x", branch: "main" })), "/src/x (main)");
  assert.equal(whereOf(seen({ host: "b" })), "host b");
  assert.equal(whereOf(seen({ host: "b", workspace: "/src/x" })), "b: /src/x");
  assert.equal(whereOf(seen({ host: "" })), "");
});

test("what it does, asks, or was at", () => {
  const doing = "delete 3 files?";
  assert.equal(doingOf(seen({ doing })), doing);
  assert.equal(doingOf(seen({ doing, state: "waiting" })), `asks: ${doing}`);
  assert.equal(doingOf(seen({ doing, state: "silent" })), `last: ${doing}`);
  assert.equal(doingOf(seen({ state: "idle", goal: "weekly summary" })), "goal: weekly summary");
  const hint = "tipstaff install pi";
  assert.equal(doingOf(seen({ state: "unknown", hint })), `${hint}, then restart it`);
  const known = { source: "process", state: "waiting", word: "waiting for permission prompt" };
  const asking = seen({ state: "waiting", known: [{ ...known, heardAtMs: 0 } as Known] });
  assert.equal(doingOf(asking), "permission prompt");
  const locked = {
    ...asking,
    known: [{ ...known, word: "auth-required", heardAtMs: 0 } as Known],
  };
  assert.equal(doingOf(locked), "wants to be signed in");
  assert.equal(doingOf({ ...locked, doing }), `wants to be signed in: ${doing}`);
});

test("how it is known, with what makes one look twice", () => {
  assert.equal(knownFrom(seen(), nowMs), "hook · 4 s ago");
  assert.equal(knownFrom(seen({ state: "silent" }), nowMs), "hook · 4 s ago, no progress since");
  const other: Known = { source: "file", state: "idle", word: "idle", heardAtMs: nowMs };
  const contradicted = seen({ known: [...seen().known, other], isContradicted: true });
  assert.equal(knownFrom(contradicted, nowMs), "hook · 4 s ago; file says idle");
});

test("what it spent, as far as that is known", () => {
  assert.equal(spentBy(seen()), "");
  const tokens = { input: 1_234_567, output: 45_400 };
  assert.equal(spentBy(seen({ tokens, costUsd: 3.1 })), "1.2M tokens in · 45k out · $3.10");
  assert.equal(
    spentBy(seen({ tokens: { input: 999_900, output: 999 } })),
    "1.0M tokens in · 999 out",
  );
  assert.equal(spentBy(seen({ costUsd: 0.001 })), "<$0.01");
});

test("a summary begins with what needs a person", () => {
  const states = ["waiting", "silent", "working", "working", "idle"] as const;
  const agents = states.map((state) => seen({ state }));
  assert.equal(summaryOf(agents), "1 waits for you · 1 silent · 5 agents");
  assert.equal(summaryOf([seen({ state: "failed" })]), "1 failed · 1 agent");
  assert.equal(
    summaryOf([seen({ state: "waiting" }), seen({ state: "waiting" })]),
    "2 wait for you · 2 agents",
  );
});
