/** The list of ARCP's requirements against the tests: who is said to prove a row cites it. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { rules, vectors } from "./arcp.ts";
import { printPage } from "./arcp-page.ts";

const own = "test/conformance/arcp-manifest.test.ts";
const citation = /\b(?:ARCP|PYR|PYC|PYA|PY)-\d+\b/g;
/** What a comment says is no proof. */
const comment = /^\s*(?:\/?\*|\/\/|#).*$|\s\/\/ .*$/gm;
const suites = ["src/**/*.test.ts", "src/**/contract.ts", "test/**/*.test.ts", "test/**/test_*.py"];
const sources = new Map(
  globSync(suites)
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path !== own)
    .toSorted()
    .map((path) => [path, readFileSync(path, "utf8").replaceAll(comment, "")] as const),
);
/** What each test file cites. */
const citations = new Map(
  [...sources].map(([path, text]) => [path, new Set(text.match(citation))] as const),
);
const rows = [...rules, ...vectors];

function numbered(name: string, first: number, last: number): readonly string[] {
  return Array.from({ length: last - first + 1 }, (_, index) => `${name}-${first + index}`);
}

test("every requirement and every vector of the contracts is on the list", () => {
  assert.deepEqual(
    rules.map(({ id }) => id),
    [
      ...numbered("ARCP", 1, 237),
      ...numbered("PYR", 1, 24),
      ...numbered("PYC", 1, 21),
      ...numbered("PYA", 1, 7),
    ],
  );
  assert.deepEqual(
    vectors.map(({ id }) => id),
    [
      ...numbered("PY", 1, 12),
      ...numbered("PY", 20, 27),
      ...numbered("PY", 30, 48),
      ...numbered("PY", 50, 66),
      ...numbered("PY", 70, 75),
    ],
  );
  for (const { id, rule } of rules) assert.match(rule, /\.$/, id);
});

test("whatever is said to prove a row cites it", () => {
  const problems = rows.flatMap(({ id, provenBy }) =>
    provenBy
      .filter((path) => !citations.get(path)?.has(id))
      .map((path) => `${id}: ${path} does not cite it`),
  );
  assert.deepEqual(problems, []);
});

test("whatever is cited is on the list", () => {
  const known = new Set(rows.map(({ id }) => id));
  const unknown = [...citations].flatMap(([path, cited]) =>
    [...cited].filter((id) => !known.has(id)).map((id) => `${path} cites ${id}`),
  );
  assert.deepEqual(unknown, []);
});

test("every row has a proof", (context) => {
  assert.deepEqual(
    rows.filter(({ provenBy }) => provenBy.length === 0).map(({ id }) => id),
    [],
  );
  for (const { id, provenBy } of rows) {
    const found = [...citations].filter(
      ([path, cited]) => cited.has(id) && !provenBy.includes(path),
    );
    for (const [path] of found) context.diagnostic(`${id} can also be proven by ${path}`);
  }
});

test("what is not met says what is instead, and has a test that says so", () => {
  const marked = new Map<string, string>();
  for (const [path, text] of sources) {
    for (const [, id = ""] of text.matchAll(/\[((?:ARCP|PYR|PYC|PYA|PY)-\d+)\] NOT MET/g)) {
      marked.set(id, path);
    }
  }
  for (const { id, notMet, provenBy } of rows) {
    const path = marked.get(id);
    if (notMet === undefined) {
      assert.equal(path, undefined, `${id} is met, but ${path} says that it is not`);
      continue;
    }
    assert.match(notMet, /\.$/, id);
    assert(path !== undefined, `${id} has no test that fails the day it is met`);
    assert(provenBy.includes(path), `${id}: ${path}`);
  }
});

test("the page says what the list says", () => {
  assert.equal(
    readFileSync("docs/conformance/arcp.md", "utf8"),
    printPage(),
    "run node tools/conformance.ts",
  );
});
