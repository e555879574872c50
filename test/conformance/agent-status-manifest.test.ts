/** The list of rules for status files against the tests: who is said to prove a rule cites it. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { rules, vectors } from "./agent-status.ts";

const own = "test/conformance/agent-status-manifest.test.ts";
/** In the name of a test, or in a table that names are made of: what a comment says is no proof. */
const citation = /(?<=["`[]|, )(?:AS|TV)-\d+\b(?=["`\],:])/g;
const comment = /^\s*(?:\/?\*|\/\/|#).*$|\s\/\/ .*$/gm;
const suites = ["src/**/*.test.ts", "src/**/contract.ts", "test/**/*.test.ts", "test/**/test_*.py"];
const sources = new Map(
  globSync(suites)
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path !== own)
    .toSorted()
    .map((path) => [path, readFileSync(path, "utf8")] as const),
);
/** What each test file cites. */
const citations = new Map([...sources].map(([path, text]) => [path, citedIn(text)] as const));
const rows = [...rules, ...vectors];

function citedIn(text: string): ReadonlySet<string> {
  return new Set(text.replaceAll(comment, "").match(citation));
}

function citing(id: string): readonly string[] {
  return [...citations].filter(([, cited]) => cited.has(id)).map(([path]) => path);
}

test("every rule and every vector of the contract is on the list", () => {
  const numbered = (name: string, last: number): readonly string[] =>
    Array.from({ length: last }, (_, index) => `${name}-${index + 1}`);
  assert.deepEqual(
    rules.map(({ id }) => id),
    numbered("AS", 96),
  );
  assert.deepEqual(
    vectors.map(({ id }) => id),
    numbered("TV", 44),
  );
  for (const { id, rule } of rules) assert.match(rule, /\.$/, id);
});

test("whatever is said to prove a rule cites it", () => {
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

test("every rule has its proof", (context) => {
  const unproven = rows.filter(({ provenBy }) => provenBy.length === 0).map(({ id }) => id);
  for (const id of unproven) {
    const found = citing(id);
    if (found.length > 0) context.diagnostic(`${id} can be proven by ${found.join(", ")}`);
  }
  assert.deepEqual(unproven, []);
});

test("a comment is no proof, and neither is a test that nobody runs", () => {
  assert.deepEqual(
    [
      ...citedIn(
        'test("[AS-1] a claim", () => {});\n["TV-2", "x"],\n// AS-3\n/** [AS-4] */\nf(); // [AS-5]',
      ),
    ],
    ["AS-1", "TV-2"],
  );
  const unrun = [...sources].flatMap(([path, text]) =>
    /\b(?:test|describe|it)\.(?:skip|todo)\(|\b(?:skip|todo): (?:true|")/.test(text) ? [path] : [],
  );
  assert.deepEqual(unrun, []);
});
