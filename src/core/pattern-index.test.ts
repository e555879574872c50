import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parsePattern } from "./pattern.ts";
import { PatternIndex } from "./pattern-index.ts";

const wildcards: readonly (readonly [pattern: string, text: string, expected: boolean])[] = [
  ["", "", true],
  ["", "a", false],
  ["*", "", true],
  ["*", "anything: at/all.", true],
  ["**", "", true],
  ["a", "a", true],
  ["a", "A", false],
  ["a", "ab", false],
  ["a*", "a", true],
  ["a*", "ba", false],
  ["*a", "a", true],
  ["*a", "ab", false],
  ["a*a", "a", false],
  ["a*a", "aa", true],
  ["ab*ba", "aba", false],
  ["ab*ba", "abba", true],
  ["*ab*ab*", "abab", true],
  ["*ab*ab*", "aba", false],
  ["*abc*c", "abc", false],
  ["a**b", "ab", true],
  ["a*b*c", "aXbYbZc", true],
  ["a*b*c", "acb", false],
  ["tool:*", "tool:", true],
  ["tool:*", "tool", false],
  ["agent:*/read", "agent:a:b/c.d/read", true],
  // Nothing else is special, in either of them.
  ["a?c", "abc", false],
  ["[ab]", "a", false],
  [".*", "a", false],
  [".*", ".a", true],
  ["\\*", "*", false],
  ["\\*", "\\x", true],
  ["a", "*", false],
  ["a*", "a*", true],
  ["*", "*", true],
  ["(a+)+$", "aaaa", false],
];

for (const [pattern, text, expected] of wildcards) {
  test(`pattern "${pattern}" ${expected ? "matches" : "does not match"} "${text}"`, () => {
    assert.equal(matches(pattern, text), expected);
    assert.equal(matchesNaively(pattern, text), expected);
  });
}

test("any pattern matches what the plain definition says it matches", () => {
  const letters = fc.constantFrom("a", "b", "é", "\n", "𝄞");
  const pattern = fc.string({ unit: fc.oneof(letters, fc.constant("*")), maxLength: 12 });
  const text = fc.string({ unit: fc.oneof(letters, fc.constant("*")), maxLength: 16 });
  fc.assert(
    fc.property(pattern, text, (pattern, text) => {
      assert.equal(matches(pattern, text), matchesNaively(pattern, text));
    }),
    { numRuns: 20_000 },
  );
});

test("a pattern matches every text made from it by filling in the stars", () => {
  const part = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 4 });
  fc.assert(
    fc.property(fc.array(fc.tuple(part, part), { maxLength: 6 }), part, (pieces, tail) => {
      const pattern = `${pieces.map(([literal]) => `${literal}*`).join("")}${tail}`;
      const text = `${pieces.map(([literal, filled]) => literal + filled).join("")}${tail}`;
      assert(matches(pattern, text), `${pattern} on ${text}`);
    }),
    { numRuns: 5_000 },
  );
});

test("a hostile pattern is matched in no time", () => {
  const started = process.cpuUsage();
  assert.equal(matches(`${"a*".repeat(500)}b`, "a".repeat(1_024)), false);
  assert.equal(matches(`${"*a".repeat(500)}*b*`, "a".repeat(1_024)), false);
  assert(process.cpuUsage(started).user < 250_000, "a backtracking matcher would still be at it");
});

test("long parts are found where they are, and soon missed where they are not", () => {
  const long = `${"ab".repeat(60)}c${"ab".repeat(60)}`;
  for (const [text, isMatch] of [
    [long, true],
    [`ab${long}ab`, true],
    [`${"ab".repeat(90)}c${"ab".repeat(59)}`, false],
    [`${"ab".repeat(61)}c${"ab".repeat(61)}`, true],
    [`x${long.slice(1)}`, false],
  ] as const) {
    assert.equal(matches(`*${long}*`, text), isMatch, text);
    assert.equal(matches(`*${long}*${long}*`, `${text}-${text}`), isMatch, text);
  }
  const spiteful = `*${"a".repeat(500)}b${"a".repeat(500)}*`;
  const started = process.cpuUsage();
  for (let count = 0; count < 20; count++) assert(!matches(spiteful, "a".repeat(65_536)));
  assert(process.cpuUsage(started).user < 250_000, "20 of them took 500 ms before");
});

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

function matches(pattern: string, text: string): boolean {
  const index = new PatternIndex();
  index.add(pattern);
  index.match(text, 1);
  return index.matchedCount === 1;
}

/** The definition, word for word: a star is any run of characters. */
function matchesNaively(pattern: string, text: string): boolean {
  if (pattern === "") return text === "";
  const rest = pattern.slice(1);
  if (pattern[0] !== "*") return text[0] === pattern[0] && matchesNaively(rest, text.slice(1));
  for (let length = 0; length <= text.length; length++) {
    if (matchesNaively(rest, text.slice(length))) return true;
  }
  return false;
}
