import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { printTimestamp, readTimestamp } from "./timestamps.ts";

test("a time is printed in UTC with milliseconds, and reads as the same", () => {
  assert.equal(printTimestamp(Date.UTC(2026, 4, 13, 19, 42, 13, 20)), "2026-05-13T19:42:13.020Z");
  fc.assert(
    fc.property(fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 }), (atMs) => {
      assert.equal(readTimestamp(printTimestamp(atMs)), atMs);
    }),
  );
  assert.throws(() => printTimestamp(253_402_300_800_000), RangeError);
  assert.throws(() => printTimestamp(Number.NaN), RangeError);
});

test("[ARCP-4] [PYC-7] [PY-54] [PY-55] times of others may have any fraction and any offset", () => {
  const atMs = Date.UTC(2026, 10, 15, 18, 59, 11);
  const rows: readonly (readonly [string, number])[] = [
    ["2026-11-15T18:59:11Z", atMs],
    ["2026-11-15T18:59:11.454364+00:00", atMs + 454.364],
    ["2026-11-15T18:59:11.454364Z", atMs + 454.364],
    ["2026-11-15T20:59:11+02:00", atMs],
    ["2026-11-15T13:29:11-05:30", atMs],
    ["2026-11-15t18:59:11.1z", atMs + 100],
    ["2026-11-15 18:59:11,123456789Z", atMs + 123.456],
    ["2024-02-29T00:00:00Z", Date.UTC(2024, 1, 29)],
    ["2016-12-31T23:59:60Z", Date.UTC(2017, 0, 1)],
  ];
  for (const [text, expected] of rows) assert.equal(readTimestamp(text), expected, text);
});

test("what is no time is none", () => {
  const rows = [
    "",
    "now",
    "2026-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:60:00Z",
    "2026-01-01T00:00:61Z",
    "2026-01-01T00:00:00",
    "2026-01-01",
    "2026-01-01T00:00:00+24:00",
    " 2026-01-01T00:00:00Z",
    `2026-01-01T00:00:00.${"0".repeat(100_000)}Z`,
  ];
  for (const text of rows) assert.equal(readTimestamp(text), undefined, text);
});
