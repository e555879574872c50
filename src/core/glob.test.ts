import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compileGlob, covers, findUncovered, matches } from "./glob.ts";
import { limits } from "./limits.ts";

const matching: readonly (readonly [pattern: string, target: string, expected: boolean])[] = [
  // ARCP-147 and the vectors of ARCP-149 that are about patterns alone.
  ["/w/**", "/w", true],
  ["/w/**", "/w/", true],
  ["/w/**", "/w/a/b", true],
  ["/w/**", "/wx", false],
  ["/w/*", "/w/a", true],
  ["/w/*", "/w/a/b", false],
  ["**", "a/b", true],
  ["*", "a/b", false],
  ["a?c", "abc", false],
  ["a?c", "a?c", true],
  ["s3://b/**.csv", "s3://b/x/y.csv", true],
  ["https://*.ex.com/**", "https://a.b.ex.com/x", true],
  ["search.*", "search.web", true],
  ["search.*", "search.web.deep", true],
  ["tier-fast/*", "tier-fast/a/b", false],
  ["pdf@*", "pdf@1.0", true],
  ["/w/**/x", "/w/x", true],
  ["/w/**/x", "/w/a/b/x", true],
  ["/w/**/x", "/w/ax", false],
  ["/w/**/x", "/wx", false],
  ["/w/**/x", "/w//x", true],
  // Nothing else is special.
  ["[ab]", "a", false],
  ["{a,b}", "a", false],
  ["{a,b}", "{a,b}", true],
  ["\\*", "*", false],
  ["\\*", "\\x", true],
  [".*", "a", false],
  ["a.b", "axb", false],
  ["A", "a", false],
  // Runs of stars, and where they stand.
  ["/w/***", "/w", true],
  ["/w/****/x", "/w/x", true],
  ["***", "a/b", true],
  ["/**", "", true],
  ["/**", "/", true],
  ["/**", "a", false],
  ["**/x", "x", false],
  ["**/x", "/x", true],
  ["**/x", "a/b/x", true],
  ["a/**b", "a/x/yb", true],
  ["a/**b", "ab", false],
  ["a**", "a/b", true],
  ["a**", "a", true],
  ["x/*/**", "x/a", true],
  ["x/*/**", "x/a/b/c", true],
  ["x/*/**", "x", false],
  ["x/*/**", "xa", false],
  ["/a/**/", "/a/", true],
  ["/a/**/", "/a/b/", true],
  ["/a/**/", "/a/b", false],
  // Tokens do not overlap: the second run here has no slash of its own in front.
  ["a/**/**", "a/", true],
  ["a/**/**", "a", false],
  ["a/**/**/b", "a/b", false],
  ["a/**/**/b", "a/x/b", true],
  ["", "", true],
  ["", "a", false],
  ["*", "", true],
  ["ab*ba", "aba", false],
  ["ab*ba", "abba", true],
  ["é*", "é𝄞", true],
  ["a*c", "a\nc", true],
];

for (const [pattern, target, expected] of matching) {
  test(`[ARCP-147] "${pattern}" ${expected ? "matches" : "does not match"} "${target}"`, () => {
    assert.equal(matches(compileGlob(pattern), target), expected);
    assert.equal(matchesNaively(pattern, target), expected);
  });
}

const patternOf = (letters: readonly string[], maxLength: number): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof(fc.constantFrom(...letters), fc.constantFrom("*", "**", "/", "/**", "/**/")), {
      maxLength,
    })
    .map((pieces) => pieces.join(""));

test("[ARCP-147] any pattern matches what the plain definition says it matches", () => {
  const pattern = patternOf(["a", "b", "?"], 9);
  const target = fc.string({ unit: fc.constantFrom("a", "b", "/", "?", "*"), maxLength: 10 });
  fc.assert(
    fc.property(pattern, target, (pattern, target) => {
      assert.equal(matches(compileGlob(pattern), target), matchesNaively(pattern, target));
    }),
    { numRuns: 20_000 },
  );
});

test("a pattern of many words of bits matches as a short one does", () => {
  const piece = fc.oneof(
    fc.constantFrom("/**/", "/**", "*", "**", "/", "b"),
    fc.nat(40).map((times) => "a".repeat(times)),
  );
  // A target that the pattern was made for, and one that is off by a character somewhere.
  const filled = fc.array(
    fc.tuple(piece, fc.string({ unit: fc.constantFrom("a", "/", "b"), maxLength: 6 })),
    { minLength: 1, maxLength: 14 },
  );
  let matched = 0;
  fc.assert(
    fc.property(filled, fc.nat(), (pieces, at) => {
      const pattern = pieces.map(([piece]) => piece).join("");
      const whole = pieces.map(([piece, fill]) => fillIn(piece, fill)).join("");
      const off =
        whole.slice(0, at % (whole.length + 1)) + whole.slice((at % (whole.length + 1)) + 1);
      for (const target of [whole, off]) {
        const expected = matchesNaively(pattern, target);
        if (expected) matched++;
        assert.equal(matches(compileGlob(pattern), target), expected);
      }
    }),
    { numRuns: 400 },
  );
  assert(matched > 200, `only ${matched} of 800 matched`);
});

function fillIn(piece: string, fill: string): string {
  if (piece === "**") return fill;
  if (piece === "*") return fill.replaceAll("/", "");
  if (piece === "/**") return `/${fill}`;
  if (piece === "/**/") return `/${fill}/`;
  return piece;
}

test("a pattern matches the same wherever its steps fall into the words of bits", () => {
  for (let length = 20; length < 100; length++) {
    const letters = "a".repeat(length);
    const glob = compileGlob(`*${letters}/**/b*c/**`);
    for (const end of ["/bc", "/x/y/bxc", "/x/bc/", "/bc/x/y"]) {
      assert(matches(glob, `a${letters}${end}`), `${length} ${end}`);
    }
    for (const end of ["bc", "/xbc", "/b/c", "/bcx"]) {
      assert(!matches(glob, `a${letters}${end}`), `${length} ${end}`);
    }
  }
});

test("[ARCP-148] a spiteful pattern of the greatest length is soon missed", () => {
  const pattern = compileGlob(`**${"a*".repeat((limits.patternLengthMax - 4) / 2)}b*`);
  const target = "a".repeat(limits.targetLengthMax);
  assert.equal(pattern.text.length, limits.patternLengthMax);
  const started = process.cpuUsage();
  assert.equal(matches(pattern, target), false);
  assert(process.cpuUsage(started).user < 500_000);
});

const covering: readonly (readonly [
  parents: readonly string[],
  children: readonly string[],
  expected: boolean,
])[] = [
  // ARCP-164.
  [["/a/**"], ["/a/*", "/a", "/a/b/**"], true],
  [["/a/*"], ["/a/**"], false],
  [["/a/?"], ["/a/b"], false],
  [["/x/*"], ["/x/a**b"], false],
  [["search.*"], ["search.web"], true],
  [["gpt-4*"], ["gpt-4o-mini"], true],
  [["/a/*", "/b/*"], ["/a/x", "/b/y"], true],
  [["/a/x*"], ["/a/*"], false],
  [["**"], ["", "*", "**", "/a/**", "a/**/b", "[?]"], true],
  [["/a/**"], ["/a/**"], true],
  [["/w/***"], ["/w/**"], true],
  // Only the union covers these.
  [["a/**", "*"], ["*/**"], false],
  [["/a", "/a/*", "/a/*/**"], ["/a/**"], true],
  [["/a/**/b", "/a/b"], ["/a/**/b"], true],
  [["", "/**"], ["/**"], true],
  [["*", "*/**"], ["**"], true],
  [["*", "**/*"], ["**"], true],
  [["a*", "*b"], ["a*b"], true],
  [["a*c", "b*c"], ["*c"], false],
  [[], ["a"], false],
  [[], ["*"], false],
  [["/a/*/**"], ["/a/**"], false],
  [["/a/**/x"], ["/a/*/x"], true],
  [["/a/*/x"], ["/a/**/x"], false],
  // The second can begin with a slash, the first cannot.
  [["*a*"], ["**a*"], false],
];

for (const [parents, children, expected] of covering) {
  const verb = expected ? "cover" : "do not cover";
  test(`[ARCP-164] [${parents.join(" ")}] ${verb} [${children.join(" ")}]`, () => {
    const globs = parents.map(compileGlob);
    assert.equal(
      children.every((child) => covers(globs, compileGlob(child))),
      expected,
    );
  });
}

const shortTexts = listTexts(["a", "b", "/", "x"], 6);

test("[ARCP-163] what is covered has no exception, and what is not has the one that is named", () => {
  const seen = { covered: 0, uncovered: 0 };
  const piece = fc.constantFrom("a", "b", "*", "**", "/", "/**", "/**/");
  const parents = fc.array(fc.array(piece, { maxLength: 5 }), { minLength: 1, maxLength: 4 });
  // A child is mostly a parent that was changed a little: others are seldom covered.
  const change = fc.record({ at: fc.nat(5), to: fc.constantFrom("", "a", "*", "/b", "**", "a*") });
  const changes = fc.array(change, { maxLength: 3 });
  fc.assert(
    fc.property(parents, changes, (parents, changes) => {
      const pieces: string[] = [...(parents[0] ?? [])];
      for (const { at, to } of changes) pieces[Math.min(at, pieces.length)] = to;
      const texts = parents.map((parent) => parent.join(""));
      const child = pieces.join("");
      seen[isCoveredForSure(texts.slice(1), child) ? "covered" : "uncovered"]++;
      isCoveredForSure([...texts].reverse(), child);
    }),
    { numRuns: 1_500 },
  );
  assert(seen.covered > 150 && seen.uncovered > 150, JSON.stringify(seen));
});

/** What `findUncovered` says, after it was held against the plain definition. */
function isCoveredForSure(parents: readonly string[], child: string): boolean {
  const globs = parents.map(compileGlob);
  const glob = compileGlob(child);
  const uncovered = findUncovered(globs, glob, { stepsLeft: limits.coverStepsMax });
  if (uncovered) {
    const { example } = uncovered;
    assert(example !== undefined, "no pattern here is long enough for the bound");
    assert(matchesNaively(child, example), `${example} is not of ${child}`);
    assert(!parents.some((parent) => matchesNaively(parent, example)), example);
    return false;
  }
  for (const text of shortTexts) {
    const isMatched = !matches(glob, text) || globs.some((parent) => matches(parent, text));
    assert(isMatched, `[${parents.join(" ")}] do not match ${text} of ${child}`);
  }
  return true;
}

test("[ARCP-163] a walk that takes too long is given up, and then nothing is covered", () => {
  const pair = ["*!", "**/**!"].map(compileGlob);
  const child = compileGlob("**!");
  assert(covers(pair, child), "it has a slash or it has none");
  // These never match what ends so, but which of their letters came by is 2 to the power of 20 sets.
  const noise = [..."abcdefghijklmnopqrst"].map((letter) => compileGlob(`**${letter}**?`));
  const started = process.cpuUsage();
  assert.deepEqual(findUncovered([...noise, ...pair], child, { stepsLeft: 1e12 }), {});
  assert.equal(covers([...noise, ...pair], child), false);
  assert(process.cpuUsage(started).user < 10_000_000);
  assert.deepEqual(findUncovered(pair, child, { stepsLeft: 10 }), {});
  assert(covers([...noise, ...pair, compileGlob("**!*")], child), "one parent is enough");
});

/** The table, word by word, by trying everything. */
function matchesNaively(pattern: string, target: string): boolean {
  const memo = new Map<number, boolean>();
  const isMatch = (at: number, from: number): boolean => {
    const key = at * 10_000 + from;
    const known = memo.get(key);
    if (known !== undefined) return known;
    const answer = tryAt(pattern.slice(at), target.slice(from), at, from);
    memo.set(key, answer);
    return answer;
  };
  const tryAt = (left: string, rest: string, at: number, from: number): boolean => {
    if (left === "") return rest === "";
    const [whole = "", before = "", after = ""] = /^(\/)?\*{2,}(\/)?/.exec(left) ?? [];
    const ends = Array.from({ length: rest.length + 1 }, (_, length) => length);
    if (before && after) {
      const lengths = ends.filter((length) => {
        const taken = rest.slice(0, length);
        return taken === "/" || /^\/.*\/$/s.test(taken);
      });
      return lengths.some((length) => isMatch(at + whole.length, from + length));
    }
    if (before && whole === left) return rest === "" || rest.startsWith("/");
    const stars = /^\*+/.exec(left)?.[0].length ?? 0;
    if (stars > 0) {
      const lengths = ends.filter((length) => stars > 1 || !rest.slice(0, length).includes("/"));
      return lengths.some((length) => isMatch(at + stars, from + length));
    }
    return left[0] === rest[0] && isMatch(at + 1, from + 1);
  };
  return isMatch(0, 0);
}

function listTexts(letters: readonly string[], lengthMax: number): readonly string[] {
  const texts = [""];
  for (const text of texts) {
    if (text.length < lengthMax) texts.push(...letters.map((letter) => text + letter));
  }
  return texts;
}
