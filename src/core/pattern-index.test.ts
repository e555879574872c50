import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
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

test("long parts are found where they are, and missed where they are not", () => {
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
});

test("long parts that begin alike are told apart, and found again further on", () => {
  const index = new PatternIndex();
  const shared = "tools-of-the-same-family-";
  const patterns = ["a", "b", "ab", "ba"].flatMap((end) => [
    `*${shared}${end}*`,
    `*${shared}${end}*${shared}${end}*`,
    `*-${shared}a*${shared}${end}-*`,
  ]);
  for (const pattern of patterns) index.add(pattern);
  const words = ["a", "b", "ab", "ba", "x"].map((end) => `-${shared}${end}-`);
  const texts = words.flatMap((one) => words.map((other) => [one, other]));
  for (const filler of ["", "-".repeat(1_024)]) {
    for (const text of texts.map((pair) => pair.join(filler))) {
      assert.deepEqual(matchedBy(index, text), patternsMatching(patterns, text));
    }
  }
});

test("a long text leaves nothing behind for a short one", () => {
  const index = new PatternIndex();
  const part = "tools-of-the-same-family";
  index.add(`*${part}*${part}*`);
  assert.deepEqual(matchedBy(index, `${"-".repeat(2_000)}${part.slice(0, -1)}`), []);
  assert.equal(matchedBy(index, `${part} ${part}`).length, 1);
  assert.equal(matchedBy(index, `${part}${"-".repeat(2_000)}${part}`).length, 1);
  assert.deepEqual(matchedBy(index, `${part}${"-".repeat(2_000)}`), []);
  assert.equal(matchedBy(index, `${part} ${part}`).length, 1);
});

test("what was removed matches no more, and what it shared with others still does", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 5 });
  const steps = fc.array(fc.tuple(letters, fc.boolean()), { maxLength: 30 });
  fc.assert(
    fc.property(steps, fc.array(letters, { maxLength: 5 }), (steps, texts) => {
      const index = new PatternIndex();
      const added: ReturnType<PatternIndex["add"]>[] = [];
      for (const [pattern, isRemoval] of steps) {
        const leaving = isRemoval ? added.shift() : undefined;
        if (leaving) index.remove(leaving);
        else added.push(index.add(pattern));
      }
      const patterns = [...new Set(added.map(({ text }) => text))];
      for (const text of texts) {
        assert.deepEqual(matchedBy(index, text), patternsMatching(patterns, text));
      }
    }),
    { numRuns: 2_000 },
  );
});

let turn = 0;

function matchedBy(index: PatternIndex, text: string): readonly string[] {
  index.match(text, ++turn);
  return index.matched
    .slice(0, index.matchedCount)
    .map((known) => known.text)
    .sort();
}

function patternsMatching(patterns: readonly string[], text: string): readonly string[] {
  return patterns.filter((pattern) => matchesNaively(pattern, text)).sort();
}

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
