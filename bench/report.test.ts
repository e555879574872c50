import assert from "node:assert/strict";
import { test } from "node:test";
import { median, spreadOf } from "./measure.ts";
import { printNumber, replaceBetweenMarkers, TableReport } from "./report.ts";

test("a table goes between its own markers and nothing else changes", () => {
  const document =
    "a\n<!-- one:begin -->\nold\n<!-- one:end -->\nb\n<!-- two:begin --><!-- two:end -->";
  assert.equal(
    replaceBetweenMarkers(document, "one", "new"),
    "a\n<!-- one:begin -->\n\nnew\n\n<!-- one:end -->\nb\n<!-- two:begin --><!-- two:end -->",
  );
});

test("a bench without markers is told to add them", () => {
  assert.throws(() => replaceBetweenMarkers("", "one", "new"), /add <!-- one:begin -->/);
});

test("rows may name different columns, and a missing cell is a dash", () => {
  const report = new TableReport("How fast?");
  report.add("first", { "per second": 12_345.6 });
  report.add("second", { "per second": 0.0123, engine: "memory" });
  const table = report.toMarkdown().split("\n").slice(2, 6);
  assert.deepEqual(table, [
    "|  | per second | engine |",
    "| --- | --: | --: |",
    "| first | 12,346 | – |",
    "| second | 0.012 | memory |",
  ]);
});

test("a percentile is a value that was measured", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.deepEqual(spreadOf(hundred), { p50: 50, p99: 99, max: 100 });
  assert.deepEqual(spreadOf([7]), { p50: 7, p99: 7, max: 7 });
});

test("the median of an even number of values lies between the middle two", () => {
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.equal(median([3, 1, 2]), 2);
});

test("a number is printed with the figures that mean something", () => {
  assert.deepEqual([4711.5, 42.21, 1.234, 0.0456, Number.NaN].map(printNumber), [
    "4,712",
    "42.2",
    "1.23",
    "0.046",
    "–",
  ]);
});
