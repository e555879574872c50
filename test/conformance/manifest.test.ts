/** The manifest against the tests: every rule has its proof, and every citation its rule. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { rules } from "./agentkeeper.ts";

const citation = /\[(AK-[0-9A-Z.]+-[0-9A-Za-z]+)\]/g;
const sources = new Map(
  globSync(["src/**/*.test.ts", "test/**/*.test.ts", "test/**/test_*.py"])
    .map(
      (path) => [path.replaceAll("\\", "/"), withoutComments(readFileSync(path, "utf8"))] as const,
    )
    .toSorted(),
);

/** What a comment says is no proof. */
function withoutComments(text: string): string {
  return text.replaceAll(/^\s*(?:\/?\*|\/\/|#).*$|\s\/\/ .*$/gm, "");
}

test("every rule has an id of its own, and a section that the id names", () => {
  assert.equal(new Set(rules.map(({ id }) => id)).size, rules.length);
  for (const { id, section, rule } of rules) {
    assert.match(id, /^AK-[0-9A-Z.]+-[0-9A-Za-z]+$/);
    assert(id.startsWith(`AK-${section}-`));
    assert.match(rule, /\.$/, id);
  }
});

test("every rule is cited by the tests that are said to prove it, and by no others", () => {
  const problems: string[] = [];
  for (const { id, provenBy } of rules) {
    if (provenBy.length === 0) problems.push(`${id} has no proof`);
    const cited = [...sources].filter(([, text]) => text.includes(`[${id}]`)).map(([path]) => path);
    const named = provenBy.filter((proof) => !proof.includes(": "));
    for (const path of cited) if (!named.includes(path)) problems.push(`${path} cites ${id}`);
    for (const path of named) {
      if (!cited.includes(path)) problems.push(`${id}: ${path} does not cite it`);
    }
  }
  assert.deepEqual(problems, []);
});

test("tests that prove a rule without citing it are there", () => {
  const missing: string[] = [];
  for (const { id, provenBy } of rules) {
    for (const proof of provenBy.filter((each) => each.includes(": "))) {
      const [path = "", name = ""] = proof.split(/: (.*)/s);
      if (!sources.get(path)?.includes(name)) missing.push(`${id}: ${proof}`);
    }
  }
  assert.deepEqual(missing, []);
});

test("whatever is cited is in the manifest", () => {
  const known = new Set(rules.map(({ id }) => id));
  const unknown: string[] = [];
  for (const [path, text] of sources) {
    for (const [, id = ""] of text.matchAll(citation)) {
      if (!known.has(id)) unknown.push(`${path} cites ${id}`);
    }
  }
  assert.deepEqual(unknown, []);
});

test("what is not met says what is instead, and has a test that says so", () => {
  for (const { id, notMet, provenBy } of rules) {
    if (notMet === undefined) continue;
    assert.match(notMet, /\.$/, id);
    const proofs = provenBy.map((path) => sources.get(path) ?? "");
    assert(
      proofs.some((text) => text.includes(`[${id}] NOT MET`)),
      `${id} has no test that fails the day it is met`,
    );
  }
  for (const [path, text] of sources) {
    for (const [, id = ""] of text.matchAll(/\[(AK-[0-9A-Z.]+-[0-9A-Za-z]+)\] NOT MET/g)) {
      assert(rules.find((rule) => rule.id === id)?.notMet, `${path}: ${id} is marked as met`);
    }
  }
});
