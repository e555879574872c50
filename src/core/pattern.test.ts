import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { find, makeNeedle, parsePattern } from "./pattern.ts";

test("patterns that mean the same are the same text", () => {
  for (const [pattern, text] of [
    ["**", "*"],
    ["a**b***", "a*b*"],
    ["***a", "*a"],
    ["a*b", "a*b"],
    ["a", "a"],
  ] as const) {
    assert.equal(parsePattern(pattern).text, text);
  }
});

test("a needle, long or short, is found where the engine finds it", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 5 });
  const needle = fc.tuple(letters, fc.integer({ min: 1, max: 12 }), letters);
  const makeText = (word: string, times: number, end: string): string => word.repeat(times) + end;
  fc.assert(
    fc.property(needle, fc.array(needle, { maxLength: 6 }), fc.nat(40), (needle, pieces, from) => {
      const wanted = makeText(...needle);
      const text = [...pieces, needle].map((piece) => makeText(...piece)).join("");
      assert.equal(find(makeNeedle(wanted), text, from), text.indexOf(wanted, from));
      assert.equal(find(makeNeedle(`${wanted}c`), text, from), -1);
    }),
    { numRuns: 2_000 },
  );
});

test("a spiteful needle is soon missed", () => {
  const spiteful = makeNeedle(`${"a".repeat(500)}b${"a".repeat(500)}`);
  const text = "a".repeat(65_536);
  const started = process.cpuUsage();
  for (let count = 0; count < 20; count++) assert.equal(find(spiteful, text, 0), -1);
  assert(process.cpuUsage(started).user < 250_000, "20 of them took 500 ms before");
});
