import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deletePolicy, setPolicy } from "../testing/commands.ts";
import { Crowd } from "../testing/crowd.ts";
import {
  type AccessQuery,
  check,
  decide,
  emptyEntitlements,
  evolve,
  explain,
  type OwnEntitlements,
  type Policy,
  type PolicyCommand,
} from "./entitlements.ts";
import { type PolicyId, policyId } from "./ids.ts";
import { limits } from "./limits.ts";

const query = { subject: "agent:scraper", action: "call", resource: "tool:browser" };

test("where no policy applies the answer is no, and nobody is named", () => {
  assert.deepEqual(check(emptyEntitlements(), query), { allowed: false });
});

test("a policy applies only if all three parts match", () => {
  const entitlements = given(
    setPolicy("subject", "allow", "agent:parser call tool:browser"),
    setPolicy("action", "allow", "agent:scraper read tool:browser"),
    setPolicy("resource", "allow", "agent:scraper call tool:sql"),
  );
  assert.deepEqual(check(entitlements, query), { allowed: false });
});

test("a deny beats every allow, however narrow", () => {
  const entitlements = given(
    setPolicy("a", "allow", "agent:scraper call tool:browser"),
    setPolicy("z", "deny", "* * *"),
    setPolicy("b", "allow", "agent:* call tool:*"),
  );
  const answer = check(entitlements, query);
  assert.equal(answer.allowed, false);
  assert.equal(answer.decidedBy?.id, "z");
});

test("among several that decide alike, the one with the smallest id is named", () => {
  const allow = ["b", "a", "B", "10", "9"].map((id) => setPolicy(id, "allow", "* * *"));
  assert.equal(check(given(...allow), query).decidedBy?.id, "10");
  const deny = ["d2", "d1"].map((id) => setPolicy(id, "deny", "* * *"));
  assert.equal(check(given(...allow, ...deny), query).decidedBy?.id, "d1");
});

test("setting a policy again replaces all of it, and deleting it takes it back", () => {
  const entitlements = given(setPolicy("p", "allow", "* call *"), setPolicy("p", "deny", "x y z"));
  assert.equal(entitlements.policies.size, 1);
  assert.equal(check(entitlements, query).allowed, false);
  carryOut(entitlements, setPolicy("p", "allow", "* * *"));
  assert.equal(check(entitlements, query).allowed, true);
  carryOut(entitlements, deletePolicy("p"));
  assert.equal(check(entitlements, query).allowed, false);
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
  const full = { ...emptyEntitlements(), policies };
  const set = setPolicy("p", "allow", "a b c");
  assert.equal(decide(full, set).refusal?.code, "limit_reached");
  policies.set(policyId("p"), set.policy);
  assert.equal(decide(full, set).refusal, undefined);
});

test("any policies, set and deleted in any order, answer as if each of them were asked", () => {
  fc.assert(
    fc.property(fc.array(step(), { maxLength: 40 }), fc.array(asked(), { maxLength: 4 }), askAlike),
    { numRuns: 1_500 },
  );
});

test("so do policies whose patterns are next to each other", () => {
  // Letters that repeat, long runs of stars, parts around the lengths where the way of looking changes.
  const run = fc.tuple(fc.constantFrom("a", "b", "ab"), fc.constantFrom(1, 2, 3, 4, 8, 15, 17, 33));
  const literal = run.map(([letters, times]) => letters.repeat(times));
  const pieces = fc.array(literal, { minLength: 1, maxLength: 4 });
  const pattern = fc
    .tuple(pieces, fc.constantFrom("*", "", "**"), fc.boolean(), fc.boolean())
    .map(([parts, between, starts, ends]) =>
      [starts ? "*" : "", parts.join(between), ends ? "*" : ""].join(""),
    );
  const filler = fc.constantFrom("", "c", "c".repeat(1_024));
  const text = fc
    .tuple(pieces, filler, pieces)
    .map(([before, filled, after]) => [...before, filled, ...after].join(""));
  const commands = fc.array(step({ pattern, ids: 30 }), { minLength: 10, maxLength: 60 });
  const queries = fc.array(fc.oneof(asked(text), asked()), { minLength: 1, maxLength: 6 });
  fc.assert(fc.property(commands, queries, askAlike), { numRuns: 500 });
});

test("a thousand policies answer like one by one, also after most of them are gone", () => {
  const entitlements = emptyEntitlements();
  const teams = Array.from({ length: 340 }, (_, team) => team);
  for (const team of teams) {
    const tool = `tool:*-${team % 50}-*-${team % 7}`;
    carryOut(
      entitlements,
      setPolicy(`e${team}`, "allow", `agent:${team}-1 call tool:x-${team}-y-1`),
    );
    carryOut(entitlements, setPolicy(`p${team}`, "allow", `agent:${team}-* call *`));
    const effect = team % 3 === 0 ? "deny" : "allow";
    carryOut(entitlements, setPolicy(`i${team}`, effect, `agent:* call ${tool}`));
  }
  const queries = teams.map((team) => ({
    subject: `agent:${team}-1`,
    action: "call",
    resource: `tool:x-${team}-y-${team % 5}`,
  }));
  for (const query of queries) assertAlike(entitlements, query);
  for (const team of teams.filter((team) => team % 10 !== 0)) {
    for (const kind of ["e", "p", "i"]) carryOut(entitlements, deletePolicy(`${kind}${team}`));
  }
  assert.equal(entitlements.policies.size, 102);
  for (const query of queries) assertAlike(entitlements, query);
});

test("of many that say the same, whichever is deleted, the weightiest that is left decides", () => {
  const id = fc.integer({ min: 100, max: 999 }).map(String);
  const isDeny = fc.integer({ min: 0, max: 4 }).map((number) => number === 0);
  const many = fc.uniqueArray(fc.tuple(id, isDeny, fc.boolean()), {
    selector: ([id]) => id,
    maxLength: 40,
  });
  fc.assert(
    fc.property(many, fc.infiniteStream(fc.nat()), (many, chances) => {
      const entitlements = given(
        ...many.map(([id, isDeny, doesApply]) =>
          setPolicy(id, isDeny ? "deny" : "allow", doesApply ? "a* a* a*" : "b* a* a*"),
        ),
      );
      const ids = many.map(([id]) => id);
      while (ids.length > 0) {
        assertAlike(entitlements, { subject: "a", action: "a", resource: "a" });
        const [leaving = ""] = ids.splice(chances.next().value % ids.length, 1);
        carryOut(entitlements, deletePolicy(leaving));
      }
    }),
    { numRuns: 300 },
  );
});

test("an explanation names all that apply: the denies by id, then the allows by id", () => {
  const entitlements = given(
    setPolicy("b", "allow", "agent:* call *"),
    setPolicy("d", "deny", "* * tool:*"),
    setPolicy("a", "allow", "agent:scraper call tool:browser"),
    setPolicy("c", "deny", "* call *"),
    setPolicy("0", "deny", "* read *"),
  );
  const { applying, unnamed, ...answer } = explain(entitlements, query);
  assert.deepEqual(answer, check(entitlements, query));
  assert.equal(answer.decidedBy, applying[0]);
  assert.deepEqual(
    applying.map(({ id }) => id),
    ["c", "d", "a", "b"],
  );
  assert.equal(unnamed, 0);
});

test("where nothing applies there is nothing to explain", () => {
  const entitlements = given(setPolicy("a", "allow", "agent:parser * *"));
  assert.deepEqual(explain(entitlements, query), { allowed: false, applying: [], unnamed: 0 });
});

test("an explanation names so many, and says how many it leaves out", () => {
  const many = Array.from({ length: limits.explainedPoliciesMax + 20 }, (_, number) =>
    setPolicy(String(999 - number), number % 2 === 0 ? "deny" : "allow", "* * *"),
  );
  const { applying, unnamed } = explain(given(...many), query);
  assert.equal(applying.length, limits.explainedPoliciesMax);
  assert.equal(unnamed, 20);
  assert.deepEqual(applying, sorted(many.map(({ policy }) => policy)).slice(0, applying.length));
  assert.equal(explain(given(...many), query, 0).allowed, false);
});

test("policies that all begin alike, or with a star, or with many, are answered in no time", () => {
  const rules: readonly ((number: number) => `${string} ${string} ${string}`)[] = [
    (number) => `agent:${"a".repeat(900)}-${number}* call *`,
    (number) => `*-${number} call *`,
    (number) => `*-${number}-* call *`,
    (number) => `${stars(number)} call *`,
    () => "agent:* call *",
  ];
  const subject = `agent:${"a".repeat(900)}-77${"-a".repeat(500)}-77`;
  for (const rule of rules) {
    const entitlements = given(
      ...Array.from({ length: 5_000 }, (_, number) =>
        setPolicy(`${number}`, "allow", rule(number)),
      ),
    );
    const started = process.cpuUsage();
    for (let times = 0; times < 5; times++) {
      const { applying } = explain(entitlements, { ...query, subject });
      assert(applying.length > 0);
    }
    assert(process.cpuUsage(started).user < 1_500_000, `${rule(7)} takes too long`);
    assertAlike(entitlements, { ...query, subject });
  }
});

/** `a*b*a*…`, another one for each number. */
function stars(number: number): string {
  const letters = [...number.toString(2)].map((bit) => (bit === "0" ? "a" : "-"));
  return `*${letters.join("*")}*${"a*".repeat(100)}`;
}

type Step = { readonly isDelete: boolean; readonly policy: Policy };

function step({
  pattern = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 6 }),
  ids = 12,
}: {
  readonly pattern?: fc.Arbitrary<string>;
  readonly ids?: number;
} = {}): fc.Arbitrary<Step> {
  const field = fc.oneof({ weight: 3, arbitrary: pattern }, fc.constantFrom("*", "a", "ab"));
  return fc.record({
    isDelete: fc.integer({ min: 0, max: 3 }).map((number) => number === 0),
    policy: fc.record({
      id: fc.integer({ min: 1, max: ids }).map((id) => policyId(String(id))),
      subject: field,
      action: fc.oneof(fc.constantFrom("*", "a"), field),
      resource: fc.oneof(fc.constantFrom("*", "ab*"), field),
      effect: fc.constantFrom("allow", "allow", "deny"),
    }),
  });
}

function asked(
  text: fc.Arbitrary<string> = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 8 }),
): fc.Arbitrary<AccessQuery> {
  return fc.record({ subject: text, action: fc.constantFrom("a", "ab", ""), resource: text });
}

/** Also in between: what was deleted must not answer, and asking must leave nothing behind. */
function askAlike(steps: readonly Step[], queries: readonly AccessQuery[]): void {
  const entitlements = emptyEntitlements();
  for (const [index, { isDelete, policy }] of steps.entries()) {
    carryOut(entitlements, isDelete ? deletePolicy(policy.id) : { type: "policy.set", policy });
    const query = queries[index % queries.length];
    if (query) assertAlike(entitlements, query);
  }
  for (const query of queries) assertAlike(entitlements, query);
}

/** The rules, word for word: every policy is asked. */
function assertAlike(entitlements: OwnEntitlements, query: AccessQuery): void {
  const applying = sorted(
    [...entitlements.policies.values()].filter((policy) =>
      (["subject", "action", "resource"] as const).every((field) =>
        matches(policy[field], query[field]),
      ),
    ),
  );
  const [deciding] = applying;
  const answer = check(entitlements, query);
  assert.equal(answer.allowed, deciding?.effect === "allow");
  assert.equal(answer.decidedBy, deciding);
  const explained = explain(entitlements, query, applying.length);
  assert.deepEqual(explained, { ...answer, applying, unnamed: 0 });
}

function matches(pattern: string, text: string): boolean {
  const [head = "", ...parts] = pattern.split("*");
  const tail = parts.pop();
  if (tail === undefined) return text === pattern;
  if (!text.startsWith(head)) return false;
  let from = head.length;
  for (const part of parts) {
    const found = text.indexOf(part, from);
    if (found < 0) return false;
    from = found + part.length;
  }
  return text.length - tail.length >= from && text.endsWith(tail);
}

function sorted(policies: readonly Policy[]): Policy[] {
  return policies.toSorted((one, other) => {
    if (one.effect !== other.effect) return one.effect === "deny" ? -1 : 1;
    return one.id < other.id ? -1 : 1;
  });
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
