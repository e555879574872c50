/** Times and amounts as people say them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ago,
  bytesOf,
  countOf,
  forHowLong,
  grouped,
  heardAgo,
  left,
  parseDuration,
} from "./times.ts";

test("a duration has one unit, the one to act on", () => {
  const cases: readonly (readonly [number, string])[] = [
    [-5, "0 s"],
    [0, "0 s"],
    [12_000, "12 s"],
    [119_000, "119 s"],
    [120_000, "2 min"],
    [3 * 3_600_000, "3 h"],
    [30 * 86_400_000, "30 days"],
  ];
  for (const [ms, text] of cases) assert.equal(forHowLong(ms), text);
});

test("what is over says so, and never counts below zero", () => {
  assert.equal(ago(1_000, 13_000), "12 s ago");
  assert.equal(left(42_000, 1_000), "41 s left");
  assert.equal(left(1_000, 1_000), "over");
  assert.equal(left(0, 1_000), "over");
});

test("an agent that was not heard since the restart is never shown with an old time", () => {
  assert.equal(heardAgo({ heardAtMs: 1_000 }, 13_000), "12 s ago");
  const unheard = { heardAtMs: 1_000, unheardSinceMs: 10_000 };
  assert.equal(heardAgo(unheard, 13_000), "not heard since the restart");
});

test("amounts are grouped, and one is one", () => {
  assert.equal(grouped(0), "0");
  assert.equal(grouped(999), "999");
  assert.equal(grouped(1_000), "1,000");
  assert.equal(grouped(12_345_678), "12,345,678");
  assert.equal(countOf(1, "agent"), "1 agent");
  assert.equal(countOf(2, "policy", "policies"), "2 policies");
  assert.equal(bytesOf(999), "999 bytes");
  assert.equal(bytesOf(1_234), "1.2 kB");
  assert.equal(bytesOf(4_000_000_000), "4.0 GB");
});

test("a duration that is typed has a unit; what has none is refused rather than guessed", () => {
  const cases: readonly (readonly [string, number | undefined])[] = [
    ["250ms", 250],
    ["30s", 30_000],
    ["1.5s", 1_500],
    ["5m", 300_000],
    ["5 min", 300_000],
    ["2h", 7_200_000],
    ["1d", 86_400_000],
    ["30", 30_000],
    ["", undefined],
    ["-5s", undefined],
    ["5 weeks", undefined],
    ["1e3s", undefined],
    ["99999999999s", undefined],
  ];
  for (const [text, ms] of cases) assert.equal(parseDuration(text), ms, text);
});
