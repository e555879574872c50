/**
 * A third of the policies is exact, a third ends its subject in `*`, a third has two `*` inside its
 * resource. They come in families of thirty around one question, an agent that wants to call a tool, and
 * ten of each family apply to it.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  type AccessQuery,
  check,
  emptyState,
  evolve,
  type OwnState,
  type Policy,
  policyId,
} from "../src/core/index.ts";
import { median, type Spread, spreadOf } from "./measure.ts";
import { printNumber, type Report, type Row } from "./report.ts";

export const question = "How long does it take to say who may do what, and to change it?";

const rounds = 9;

type Rule = readonly [subject: string, action: string, resource: string];

export async function run(report: Report): Promise<void> {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const timer = time({ times: 200_000 }, () => undefined);
  for (const count of [1_000, 10_000, 100_000]) {
    const { policies, questions } = families(count);
    report.say(`${count} policies`);
    collect();
    const before = process.memoryUsage();
    const state = given(policies);
    collect();
    const after = process.memoryUsage();
    const heap = after.heapUsed - before.heapUsed;
    const buffers = after.arrayBuffers - before.arrayBuffers;
    const label = `${print(count)} policies`;
    const ask = (turn: number): unknown => check(state.entitlements, pick(questions, turn));
    report.add(`${label}: check`, {
      ...timeInRounds(ask),
      "index bytes a policy": (heap + buffers) / count,
    });
    const set = (turn: number): void =>
      evolve(state, { type: "policy.changed", policy: pick(policies, turn) });
    report.add(`${label}: set another in its place`, asRow(time({ times: 100_000 }, set)));
    const toggle = (turn: number): void => {
      const policy = pick(policies, turn >> 1);
      evolve(state, { type: turn % 2 === 0 ? "policy.deleted" : "policy.changed", policy });
    };
    report.add(`${label}: delete one, or set it anew`, asRow(time({ times: 100_000 }, toggle)));
  }
  for (const [label, hostile] of hostileCases()) {
    report.say(label);
    const state = given(hostile.policies);
    const ask = (): unknown => check(state.entitlements, hostile.query);
    report.add(`100,000 policies, ${label}`, asRow(time({ times: hostile.times }, ask)));
  }
  report.note(
    `Each time is of one call, between two readings of the clock, which by themselves take ${printNumber(timer.p50)} µs (p99 ${printNumber(timer.p99)} µs); that is in the times. As many calls as are timed came before, uncounted. Checks: ${rounds} rounds of 100,000, medians but for the maximum.`,
  );
  report.note(
    "A set that replaces takes the old policy out of the index and puts the new one in. The bytes are for the index and the map of policies; the policies themselves were there before.",
  );
}

/** Families, shuffled, so that neighbours in memory are not neighbours in meaning. */
function families(count: number): {
  policies: readonly Policy[];
  questions: readonly AccessQuery[];
} {
  const policies: Policy[] = [];
  const questions: AccessQuery[] = [];
  for (let family = 0; policies.length < count; family++) {
    const subject = `agent:team-${family}-worker-${family % 7}`;
    const resource = `tool:web-x${family}-fetch-y${family % 9}`;
    if (policies.length + 30 <= count) questions.push({ subject, action: "call", resource });
    const rules = [
      ...exact(subject, resource),
      ...prefixed(family, resource),
      ...inner(family, `y${family % 9}`),
    ];
    for (const [index, rule] of rules.entries()) {
      // In every other family the last one that applies is a deny, and so are those that do not apply.
      const isDeny = index % 10 >= 4 || (index === 23 && family % 2 === 1);
      const id = `${(Math.imul(policies.length, 0x9e37_79b1) >>> 0).toString(36)}-${policies.length}`;
      policies.push(makePolicy(id, rule, isDeny ? "deny" : "allow"));
    }
  }
  const kept = policies.slice(0, count);
  return { policies: shuffle(kept).map(flatten), questions: questions.map(flatten) };
}

/** Ten of which three apply. */
function exact(subject: string, resource: string): readonly Rule[] {
  const others = Array.from({ length: 7 }, (_, index): Rule => {
    return [subject, index % 2 === 0 ? "read" : "call", `tool:other-${index}`];
  });
  return [[subject, "call", resource], [subject, "*", resource], [subject, "call", "*"], ...others];
}

/** Ten of which three apply. */
function prefixed(family: number, resource: string): readonly Rule[] {
  const others = Array.from({ length: 7 }, (_, index): Rule => {
    return [`agent:team-${family}-z${index}*`, "call", "tool:*"];
  });
  return [
    [`agent:team-${family}-*`, "call", resource],
    [`agent:team-${family}-*`, "call", "tool:*"],
    [`agent:team-${family}-work*`, "*", "*"],
    ...others,
  ];
}

/** Ten of which four apply. */
function inner(family: number, end: string): readonly Rule[] {
  const others = Array.from({ length: 6 }, (_, index): Rule => {
    return ["agent:*", "call", `tool:*-x${family}-*-q${index}`];
  });
  return [
    ["*", "call", `tool:*-x${family}-*-${end}`],
    ["agent:*", "call", `tool:*-x${family}-*${end}`],
    ["agent:*", "*", `tool:w*-x${family}-*-${end}`],
    ["agent:*", "call", `tool:*x${family}-*-${end}`],
    ...others,
  ];
}

type Hostile = {
  readonly policies: readonly Policy[];
  readonly query: AccessQuery;
  readonly times: number;
};

/** What someone would set, or ask, to make a check slow. */
function hostileCases(): readonly (readonly [label: string, hostile: Hostile])[] {
  const long = "a".repeat(900);
  const numbers = Array.from({ length: 5_800 }, (_, number) => `-${number}`).join("");
  const half = numbers.slice(0, 32_000);
  const make = (times: number, subject: string, pattern: (number: number) => string): Hostile => ({
    times,
    query: flatten({ subject, action: "call", resource: "tool:browser" }),
    policies: Array.from({ length: 100_000 }, (_, number) =>
      flatten(makePolicy(`${number}`, [pattern(number), "call", "*"], "allow")),
    ),
  });
  /** A larger number before a smaller one. */
  const backwards = (number: number): string =>
    `*-${320 + (number % 320)}-*-${Math.floor(number / 320)}-*`;
  return [
    ["all the same", make(20_000, "agent:a", () => "agent:*")],
    ["a head of 900 letters each", make(5_000, `${long}77-a`, (number) => `${long}${number}-*`)],
    ["`*-7`", make(20_000, "agent-77", (number) => `*-${number}`)],
    ["`*-7-*`", make(20_000, "agent-77-a", (number) => `*-${number}-*`)],
    ["`*-7-*`, 64 KiB of numbers", make(50, half + half, (number) => `*-${number}-*`)],
    ["`*-9-*-7-*`, 32 KiB of numbers, none matches", make(50, half, backwards)],
    ["`*-9-*-7-*`, 32 KiB of numbers twice, all match", make(2, half + half, backwards)],
    ["18 stars, 1 KiB", make(20, "ab-".repeat(341), (number) => `*${letters(number)}*`)],
    [
      "18 stars, 64 KiB, none matches",
      make(5, "b".repeat(32_000) + "a".repeat(32_000), (number) => `*${letters(number)}*`),
    ],
  ];
}

/** The number in ones and zeros, as letters between stars. */
function letters(number: number): string {
  const bits = [...number.toString(2).padStart(17, "0")];
  return bits.map((bit) => (bit === "0" ? "a" : "b")).join("*");
}

function makePolicy(
  id: string,
  [subject, action, resource]: Rule,
  effect: Policy["effect"],
): Policy {
  return { id: policyId(id), subject, action, resource, effect };
}

function given(policies: readonly Policy[]): OwnState {
  const state = emptyState();
  for (const policy of policies) evolve(state, { type: "policy.changed", policy });
  return state;
}

/** Times each call. The turn says which one it is. */
function time({ times }: { readonly times: number }, work: (turn: number) => unknown): Spread {
  for (let turn = 0; turn < times; turn++) work(turn);
  const durations = new Float64Array(times);
  for (let turn = 0; turn < times; turn++) {
    const start = performance.now();
    work(turn);
    durations[turn] = (performance.now() - start) * 1_000;
  }
  return spreadOf([...durations]);
}

/**
 * The median of the rounds for each figure but the maximum, because a neighbour on the same core doubles a
 * time this short; and beside it what the rounds had, so that one can see whether there was a neighbour.
 */
function timeInRounds(work: (turn: number) => unknown): Row {
  const spreads = Array.from({ length: rounds }, () => time({ times: 100_000 }, work));
  const p99s = spreads.map(({ p99 }) => p99);
  const range = `${printNumber(Math.min(...p99s))} to ${printNumber(Math.max(...p99s))}`;
  const p50 = median(spreads.map(({ p50 }) => p50));
  const max = Math.max(...spreads.map(({ max }) => max));
  return { ...asRow({ p50, p99: median(p99s), max }), "p99 of the rounds": range };
}

function asRow({ p50, p99, max }: Spread): Row {
  return { "p50 µs": p50, "p99 µs": p99, "max µs": max };
}

/** One after the other, but far apart. */
function pick<Value>(values: readonly Value[], turn: number): Value {
  const value = values[(turn * 7_919) % values.length];
  if (value === undefined) throw new Error("there is nothing to pick from");
  return value;
}

/** As a door hands it over: texts that were decoded, not put together. */
function flatten<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value));
}

/** Always the same disorder. */
function shuffle<Value>(values: readonly Value[]): readonly Value[] {
  return values
    .map((value, index) => ({ value, at: Math.imul(index + 1, 0x85eb_ca6b) }))
    .sort((one, other) => one.at - other.at)
    .map(({ value }) => value);
}

function print(count: number): string {
  return count.toLocaleString("en-US");
}
