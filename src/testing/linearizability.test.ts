import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type Asked,
  findTokenViolation,
  findViolation,
  type LeaseCall,
  type Seen,
} from "./linearizability.ts";
import { Random } from "./random.ts";

const ttlMs = 1_000;
const slackMs = 10;

/** Times are small numbers; a lease acquired at 100 ends at 1100. */
type Interval = readonly [startedAtMs: number, endedAtMs: number];

function call([startedAtMs, endedAtMs]: Interval, asked: Asked, seen: Seen): LeaseCall {
  return { startedAtMs, endedAtMs, asked, seen };
}

function acquired(when: Interval, holder: string, token: number, expiresAtMs: number): LeaseCall {
  const seen = { type: "leased", token: BigInt(token), expiresAtMs } as const;
  return call(when, { type: "acquire", holder, ttlMs }, seen);
}

function denied(
  when: Interval,
  holder: string,
  by: { readonly holder: string; readonly token: number; readonly expiresAtMs: number },
): LeaseCall {
  const seen = { type: "held", ...by, token: BigInt(by.token) } as const;
  return call(when, { type: "acquire", holder, ttlMs }, seen);
}

function renewed(when: Interval, holder: string, token: number, expiresAtMs: number): LeaseCall {
  const asked = { type: "renew", holder, token: BigInt(token), ttlMs } as const;
  return call(when, asked, { type: "leased", token: BigInt(token), expiresAtMs });
}

function notRenewed(
  when: Interval,
  holder: string,
  token: number,
  why: "not_found" | "mismatch",
): LeaseCall {
  const asked = { type: "renew", holder, token: BigInt(token), ttlMs } as const;
  return call(when, asked, { type: why });
}

function released(
  when: Interval,
  holder: string,
  token: number,
  seen: "released" | "not_found" | "mismatch" = "released",
): LeaseCall {
  return call(when, { type: "release", holder, token: BigInt(token) }, { type: seen });
}

function unanswered(when: Interval, asked: Asked): LeaseCall {
  return call(when, asked, { type: "unknown" });
}

const forever = Number.POSITIVE_INFINITY;
const acquireBy = (holder: string): Asked => ({ type: "acquire", holder, ttlMs });
const renewBy = (holder: string, token: bigint): Asked => ({
  type: "renew",
  holder,
  token,
  ttlMs,
});
const releaseBy = (holder: string, token: bigint): Asked => ({ type: "release", holder, token });

const good: Readonly<Record<string, readonly LeaseCall[]>> = {
  "nothing happened": [],
  "one after another": [
    acquired([0, 10], "ann", 1, 1_005),
    denied([20, 30], "bob", { holder: "ann", token: 1, expiresAtMs: 1_005 }),
    renewed([40, 50], "ann", 1, 1_045),
    released([60, 70], "ann", 1),
    acquired([80, 90], "bob", 2, 1_085),
  ],
  "two race, and the one that began later wins": [
    acquired([5, 30], "bob", 1, 1_020),
    denied([0, 40], "ann", { holder: "bob", token: 1, expiresAtMs: 1_020 }),
  ],
  "a release is overtaken by the acquisition it made possible": [
    acquired([0, 10], "ann", 1, 1_005),
    released([20, 60], "ann", 1),
    acquired([30, 50], "bob", 2, 1_040),
  ],
  "the holder acquires again, and its old token is dead": [
    acquired([0, 10], "ann", 1, 1_005),
    acquired([20, 30], "ann", 2, 1_025),
    notRenewed([40, 50], "ann", 1, "mismatch"),
    released([60, 70], "ann", 1, "mismatch"),
    renewed([80, 90], "ann", 2, 1_085),
  ],
  "a lease ends by itself": [
    acquired([0, 10], "ann", 1, 1_005),
    notRenewed([1_006, 1_016], "ann", 1, "not_found"),
    acquired([1_020, 1_030], "bob", 2, 2_025),
  ],
  "around its end a lease is found held and ended": [
    acquired([0, 10], "ann", 1, 1_005),
    denied([1_000, 1_010], "bob", { holder: "ann", token: 1, expiresAtMs: 1_005 }),
    acquired([1_000, 1_010], "cid", 2, 2_006),
  ],
  "a renewal may shorten a lease": [
    acquired([0, 10], "ann", 1, 1_005),
    renewed([20, 30], "ann", 1, 125),
    acquired([130, 140], "bob", 2, 1_135),
  ],
  "an unanswered acquisition took effect": [
    unanswered([0, forever], acquireBy("ann")),
    denied([20, 30], "bob", { holder: "ann", token: 7, expiresAtMs: 1_008 }),
    denied([40, 50], "cid", { holder: "ann", token: 7, expiresAtMs: 1_008 }),
    acquired([1_010, 1_020], "bob", 8, 2_015),
  ],
  "an unanswered acquisition never took effect": [
    unanswered([0, forever], acquireBy("ann")),
    acquired([20, 30], "bob", 1, 1_025),
  ],
  "an unanswered acquisition took effect late": [
    unanswered([0, forever], acquireBy("ann")),
    acquired([20, 30], "bob", 1, 1_025),
    released([40, 50], "bob", 1),
    denied([60, 70], "cid", { holder: "ann", token: 2, expiresAtMs: 1_055 }),
  ],
  "an unanswered acquisition took effect, and ended unseen": [
    unanswered([0, forever], acquireBy("ann")),
    acquired([995, 1_015], "bob", 9, 2_012),
  ],
  "an unanswered renewal took effect": [
    acquired([0, 10], "ann", 1, 1_005),
    unanswered([500, forever], renewBy("ann", 1n)),
    denied([1_200, 1_210], "bob", { holder: "ann", token: 1, expiresAtMs: 1_507 }),
  ],
  "an unanswered release took effect, or did not": [
    acquired([0, 10], "ann", 1, 1_005),
    unanswered([20, forever], releaseBy("ann", 1n)),
    denied([30, 40], "bob", { holder: "ann", token: 1, expiresAtMs: 1_005 }),
    acquired([50, 60], "bob", 2, 1_055),
  ],
  "several unanswered calls explain what followed": [
    acquired([0, 10], "ann", 1, 1_005),
    unanswered([20, 100], releaseBy("ann", 1n)),
    unanswered([20, 100], acquireBy("bob")),
    unanswered([20, 100], acquireBy("cid")),
    denied([200, 210], "ann", { holder: "cid", token: 2, expiresAtMs: 1_090 }),
  ],
};

const bad: Readonly<Record<string, readonly LeaseCall[]>> = {
  "two hold at once": [
    acquired([0, 10], "ann", 1, 1_005),
    acquired([20, 30], "bob", 2, 1_025),
    released([40, 50], "ann", 1),
  ],
  "two hold at once, and both renew": [
    acquired([0, 20], "ann", 1, 1_005),
    acquired([0, 20], "bob", 2, 1_006),
    renewed([30, 40], "ann", 1, 1_035),
    renewed([30, 40], "bob", 2, 1_035),
  ],
  "a token goes back": [
    acquired([0, 10], "ann", 5, 1_005),
    released([20, 30], "ann", 5),
    acquired([40, 50], "bob", 4, 1_045),
  ],
  "a token is given twice": [
    acquired([0, 10], "ann", 5, 1_005),
    released([20, 30], "ann", 5),
    acquired([40, 50], "bob", 5, 1_045),
  ],
  "a stale token is accepted for a renewal": [
    acquired([0, 10], "ann", 1, 1_005),
    acquired([20, 30], "ann", 2, 1_025),
    renewed([40, 50], "ann", 1, 1_045),
  ],
  "a stale token is accepted for a release": [
    acquired([0, 10], "ann", 1, 1_005),
    released([20, 30], "ann", 1),
    acquired([40, 50], "bob", 2, 1_045),
    released([60, 70], "ann", 1),
  ],
  "a valid token is refused": [
    acquired([0, 10], "ann", 1, 1_005),
    notRenewed([20, 30], "ann", 1, "mismatch"),
  ],
  "a release is lost": [
    acquired([0, 10], "ann", 1, 1_005),
    released([20, 30], "ann", 1),
    denied([40, 50], "bob", { holder: "ann", token: 1, expiresAtMs: 1_005 }),
  ],
  "an acquisition is lost": [
    acquired([0, 10], "ann", 1, 1_005),
    notRenewed([20, 30], "ann", 1, "not_found"),
  ],
  "a renewal is lost": [
    acquired([0, 10], "ann", 1, 1_005),
    renewed([900, 910], "ann", 1, 1_905),
    notRenewed([1_100, 1_110], "ann", 1, "not_found"),
  ],
  "a lease ends too early": [
    acquired([0, 10], "ann", 1, 1_005),
    acquired([900, 910], "bob", 2, 1_905),
  ],
  "a lease outlives its time": [
    acquired([0, 10], "ann", 1, 1_005),
    denied([1_100, 1_110], "bob", { holder: "ann", token: 1, expiresAtMs: 1_005 }),
  ],
  "a lease is renewed after its time": [
    acquired([0, 10], "ann", 1, 1_005),
    renewed([1_100, 1_110], "ann", 1, 2_105),
  ],
  "a refusal names a holder that never was": [
    acquired([0, 10], "ann", 1, 1_005),
    denied([20, 30], "bob", { holder: "cid", token: 1, expiresAtMs: 1_005 }),
  ],
  "a refusal tells another end than the grant": [
    acquired([0, 10], "ann", 1, 1_005),
    denied([20, 30], "bob", { holder: "ann", token: 1, expiresAtMs: 1_105 }),
  ],
  "a refusal comes out of nowhere": [
    denied([0, 10], "bob", { holder: "ann", token: 1, expiresAtMs: 1_005 }),
  ],
  "a call sees what was asked for only after it ended": [
    denied([0, 10], "bob", { holder: "ann", token: 1, expiresAtMs: 1_025 }),
    acquired([20, 30], "ann", 1, 1_025),
  ],
  "an unanswered acquisition is needed twice": [
    unanswered([0, forever], acquireBy("ann")),
    denied([20, 30], "bob", { holder: "ann", token: 1, expiresAtMs: 1_010 }),
    acquired([1_050, 1_060], "bob", 2, 2_055),
    released([1_070, 1_080], "bob", 2),
    denied([1_090, 1_100], "bob", { holder: "ann", token: 3, expiresAtMs: 2_085 }),
  ],
  "an unanswered call takes effect after its server was dead": [
    unanswered([0, 15], acquireBy("ann")),
    acquired([20, 30], "bob", 1, 1_025),
    released([40, 50], "bob", 1),
    denied([60, 70], "cid", { holder: "ann", token: 2, expiresAtMs: 1_055 }),
  ],
  "an unanswered acquisition takes effect with an old token": [
    acquired([0, 10], "bob", 5, 1_005),
    released([20, 30], "bob", 5),
    unanswered([40, forever], acquireBy("ann")),
    denied([60, 70], "cid", { holder: "ann", token: 5, expiresAtMs: 1_055 }),
  ],
  "an unanswered release takes effect, and is undone": [
    acquired([0, 10], "ann", 1, 1_005),
    unanswered([20, forever], releaseBy("ann", 1n)),
    notRenewed([30, 40], "ann", 1, "not_found"),
    renewed([50, 60], "ann", 1, 1_055),
  ],
};

describe("a history of calls is explained", () => {
  for (const [claim, history] of Object.entries(good)) {
    test(claim, () => assert.equal(findViolation(history, { slackMs }), undefined));
  }
});

describe("a history of calls cannot be explained", () => {
  for (const [claim, history] of Object.entries(bad)) {
    test(claim, () => assert.match(findViolation(history, { slackMs }) ?? "", /can be explained/));
  }
});

test("what a real lease did is explained, and every false answer in it is found", () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const random = new Random(seed);
    const history = simulate(random, 60);
    assert.equal(findViolation(history, { slackMs: 0 }), undefined, `seed ${seed}`);
    const falsified = falsify(random, history);
    const violation = falsified && findViolation(falsified, { slackMs: 0 });
    if (falsified) assert.notEqual(violation, undefined, `seed ${seed}`);
  }
});

test("long histories with unanswered calls take moments", () => {
  const history = simulate(new Random(1), 5_000);
  const open = history.map((one, index) =>
    index % 1_000 === 500
      ? { ...one, seen: { type: "unknown" } as const, endedAtMs: forever }
      : one,
  );
  const startedMs = performance.now();
  assert.equal(findViolation(open, { slackMs: 0 }), undefined);
  assert(performance.now() - startedMs < 5_000);
});

test("tokens of all tasks come from one counter", () => {
  const grant = (token: bigint, startedAtMs: number, endedAtMs: number) => ({
    token,
    startedAtMs,
    endedAtMs,
  });
  const inOrder = [grant(1n, 0, 10), grant(3n, 5, 30), grant(2n, 8, 20), grant(9n, 31, 32)];
  assert.equal(findTokenViolation(inOrder), undefined);
  assert.match(findTokenViolation([grant(1n, 0, 9), grant(1n, 5, 9)]) ?? "", /twice/);
  assert.match(findTokenViolation([grant(2n, 0, 9), grant(1n, 10, 19)]) ?? "", /before/);
});

/** A lease that does what leases do, and callers whose calls overlap. */
function simulate(random: Random, calls: number): LeaseCall[] {
  const history: LeaseCall[] = [];
  const tokens = new Map<string, bigint>();
  let held: { holder: string; token: bigint; expiresAtMs: number } | undefined;
  let lastToken = 0n;
  let nowMs = 0;
  while (history.length < calls) {
    nowMs += random.between(1, 300);
    if (held && held.expiresAtMs <= nowMs) held = undefined;
    const holder = random.pick(["ann", "bob", "cid", "dan"]);
    const when = [nowMs - random.between(0, 400), nowMs + random.between(0, 400)] as const;
    const expiresAtMs = nowMs + ttlMs;
    const presented = { holder, token: tokens.get(holder) ?? 0n };
    const isOwn = held?.holder === holder && held.token === presented.token;
    const refused: Seen = held ? { type: "mismatch" } : { type: "not_found" };
    switch (random.pick(["acquire", "acquire", "renew", "release"])) {
      case "acquire":
        if (held && held.holder !== holder) {
          history.push(call(when, acquireBy(holder), { type: "held", ...held }));
          break;
        }
        lastToken += BigInt(random.between(1, 3));
        held = { holder, token: lastToken, expiresAtMs };
        tokens.set(holder, lastToken);
        history.push(
          call(when, acquireBy(holder), { type: "leased", token: lastToken, expiresAtMs }),
        );
        break;
      case "renew": {
        if (held && isOwn) held = { ...held, expiresAtMs };
        const seen: Seen = isOwn
          ? { type: "leased", token: presented.token, expiresAtMs }
          : refused;
        history.push(call(when, renewBy(holder, presented.token), seen));
        break;
      }
      case "release":
        if (isOwn) held = undefined;
        history.push(
          call(when, releaseBy(holder, presented.token), isOwn ? { type: "released" } : refused),
        );
        break;
    }
  }
  return history;
}

/** Lets one refusal name a lease that never was; undefined if nothing was refused. */
function falsify(random: Random, history: readonly LeaseCall[]): LeaseCall[] | undefined {
  const refusals = history.filter(({ seen }) => seen.type === "held");
  const victim = random.pickAny(refusals);
  if (victim?.seen.type !== "held") return undefined;
  const seen = { ...victim.seen, token: victim.seen.token + 1_000n };
  return history.map((one) => (one === victim ? { ...one, seen } : one));
}
