import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deletePolicy, setPolicy } from "../testing/commands.ts";
import { Crowd } from "../testing/crowd.ts";
import {
  check,
  decide,
  emptyEntitlements,
  evolve,
  matches,
  type OwnEntitlements,
  type Policy,
  type PolicyCommand,
} from "./entitlements.ts";
import { type PolicyId, policyId } from "./ids.ts";
import { limits } from "./limits.ts";

const question = { subject: "agent:scraper", action: "call", resource: "tool:browser" };

test("where no policy applies the answer is no, and nobody is named", () => {
  assert.deepEqual(check(emptyEntitlements(), question), { allowed: false });
});

test("a policy applies only if all three parts match", () => {
  const entitlements = given(
    setPolicy("subject", "allow", "agent:parser call tool:browser"),
    setPolicy("action", "allow", "agent:scraper read tool:browser"),
    setPolicy("resource", "allow", "agent:scraper call tool:sql"),
  );
  assert.deepEqual(check(entitlements, question), { allowed: false });
});

test("a deny beats every allow, however narrow", () => {
  const entitlements = given(
    setPolicy("a", "allow", "agent:scraper call tool:browser"),
    setPolicy("z", "deny", "* * *"),
    setPolicy("b", "allow", "agent:* call tool:*"),
  );
  const answer = check(entitlements, question);
  assert.equal(answer.allowed, false);
  assert.equal(answer.decidedBy?.id, "z");
});

test("among several that decide alike, the one with the smallest id is named", () => {
  const allow = ["b", "a", "B", "10", "9"].map((id) => setPolicy(id, "allow", "* * *"));
  assert.equal(check(given(...allow), question).decidedBy?.id, "10");
  const deny = ["d2", "d1"].map((id) => setPolicy(id, "deny", "* * *"));
  assert.equal(check(given(...allow, ...deny), question).decidedBy?.id, "d1");
});

test("setting a policy again replaces all of it, and deleting it takes it back", () => {
  const entitlements = given(setPolicy("p", "allow", "* call *"), setPolicy("p", "deny", "x y z"));
  assert.equal(entitlements.policies.size, 1);
  assert.equal(check(entitlements, question).allowed, false);
  carryOut(entitlements, setPolicy("p", "allow", "* * *"));
  assert.equal(check(entitlements, question).allowed, true);
  carryOut(entitlements, deletePolicy("p"));
  assert.equal(check(entitlements, question).allowed, false);
});

test("deleting what is not there is no mistake, and no fact", () => {
  assert.deepEqual(decide(emptyEntitlements(), deletePolicy("p")), { events: [] });
});

test("a deleted policy is told as it was", () => {
  const entitlements = given(setPolicy("p", "allow", "a b c"));
  const decision = decide(entitlements, deletePolicy("p"));
  const policy = { id: "p", subject: "a", action: "b", resource: "c", effect: "allow" };
  assert.deepEqual(decision, { events: [{ type: "policy.deleted", policy }] });
});

test("there is a bound on policies, but one that exists may be replaced", () => {
  const policies = new Crowd<PolicyId, Policy>(limits.policiesMax);
  const full = { policies };
  const set = setPolicy("p", "allow", "a b c");
  assert.equal(decide(full, set).refusal?.code, "limit_reached");
  policies.set(policyId("p"), set.policy);
  assert.equal(decide(full, set).refusal, undefined);
});

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
  const startedMs = performance.now();
  assert.equal(matches(`${"a*".repeat(500)}b`, "a".repeat(1_024)), false);
  assert.equal(matches(`${"*a".repeat(500)}*b*`, "a".repeat(1_024)), false);
  assert(performance.now() - startedMs < 250, "a backtracking matcher would still be at it");
});

test("deny wins under any set of policies, in any order, and the smallest id is named", () => {
  const field = fc.constantFrom("*", "a", "b", "a*", "*b", "ab");
  const word = fc.constantFrom("a", "b", "ab", "");
  const policy = fc.record({
    id: fc.constantFrom("1", "2", "3", "4", "5", "10").map(policyId),
    subject: field,
    action: field,
    resource: field,
    effect: fc.constantFrom("allow", "deny"),
  });
  const asked = fc.record({ subject: word, action: word, resource: word });
  fc.assert(
    fc.property(fc.array(policy, { maxLength: 12 }), asked, (policies, asked) => {
      const entitlements = given(
        ...policies.map((policy) => ({ type: "policy.set", policy }) as const),
      );
      const kept = [...new Map(policies.map((policy) => [policy.id, policy])).values()];
      const applying = kept
        .filter((policy) =>
          (["subject", "action", "resource"] as const).every((part) =>
            matchesNaively(policy[part], asked[part]),
          ),
        )
        .sort((one, other) => (one.id < other.id ? -1 : 1));
      const denying = applying.find(({ effect }) => effect === "deny");
      const answer = check(entitlements, asked);
      assert.equal(answer.allowed, applying.length > 0 && !denying);
      assert.deepEqual(answer.decidedBy, denying ?? applying[0]);
    }),
    { numRuns: 2_000 },
  );
});

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

function carryOut(entitlements: OwnEntitlements, command: PolicyCommand): void {
  const decision = decide(entitlements, command);
  assert(!decision.refusal);
  for (const event of decision.events) evolve(entitlements, event);
}

function given(...commands: PolicyCommand[]): OwnEntitlements {
  const entitlements = emptyEntitlements();
  for (const command of commands) carryOut(entitlements, command);
  return entitlements;
}

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
  const startedMs = performance.now();
  for (let count = 0; count < 20; count++) assert(!matches(spiteful, "a".repeat(65_536)));
  assert(performance.now() - startedMs < 250, "20 of them took 500 ms before");
});
