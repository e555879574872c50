import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Clock, now } from "./deadline.ts";
import { TipstaffError } from "./errors.ts";
import { Hold } from "./hold.ts";

// The timers of a hold do not keep a program running; these tests wait for them.
const running = setInterval(() => {}, 1_000);
after(() => clearInterval(running));

/** Stands still until it is moved; the two clocks may be moved apart. */
class SplitClock implements Clock {
  #monotonicMs = 5_000;
  #wallMs = 1_700_000_000_000;
  monotonicMs(): number {
    return this.#monotonicMs;
  }
  wallMs(): number {
    return this.#wallMs;
  }
  pass(ms: number): void {
    this.#monotonicMs += ms;
    this.#wallMs += ms;
  }
  /** As after a suspend: the monotonic clock stood still. */
  leap(ms: number): void {
    this.#wallMs += ms;
  }
}

/** A renewal that waits to be answered. The next is not. */
function pendingRenewal() {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<number>();
  let calls = 0;
  const renew = (): Promise<number> => {
    calls += 1;
    asked.resolve();
    return calls === 1 ? answer.promise : new Promise(() => {});
  };
  return { renew, asked: asked.promise, answer, calls: () => calls };
}

function holdOf(clock: Clock, ttlMs: number, renew: () => Promise<number>): Hold {
  return new Hold({
    clock,
    since: now(clock),
    ttlMs,
    renew,
    finalCodes: ["token_mismatch"],
    toLoss: (cause) => new TipstaffError("lease_lost", "lost", { cause }),
  });
}

const never = (): Promise<number> => Promise.reject(new Error("nobody should ask"));

test("time that passes on the wall alone counts: a suspended holder holds nothing when it wakes", () => {
  const clock = new SplitClock();
  const hold = holdOf(clock, 60_000, never);
  clock.leap(59_000);
  assert.equal(hold.isHeld, true);
  clock.leap(1_000);
  assert.equal(hold.isHeld, false);
  assert.equal(hold.signal.aborted, true);
  assert.equal(hold.signal.reason.code, "lease_lost");
});

test("the signal alone, read first, knows as well", () => {
  const clock = new SplitClock();
  const hold = holdOf(clock, 60_000, never);
  clock.leap(60_000);
  assert.equal(hold.signal.aborted, true);
});

test("time that passes on the monotonic clock alone counts: setting the wall back prolongs nothing", () => {
  const clock = new SplitClock();
  const hold = holdOf(clock, 60_000, never);
  clock.pass(60_000);
  clock.leap(-3_600_000);
  assert.equal(hold.isHeld, false);
});

test("what is held for certain is a little less than what was granted", () => {
  const clock = new SplitClock();
  const hold = holdOf(clock, 60_000, never);
  clock.pass(59_937);
  assert.equal(hold.isHeld, true);
  clock.pass(1);
  assert.equal(hold.isHeld, false);
});

test("a renewal counts from before it was asked for, not from its answer", async () => {
  const clock = new SplitClock();
  const renewal = pendingRenewal();
  const hold = holdOf(clock, 60_000, renewal.renew);
  clock.pass(20_000);
  await renewal.asked;
  clock.pass(30_000);
  renewal.answer.resolve(60_000);
  await new Promise(setImmediate);
  clock.pass(29_900);
  assert.equal(hold.isHeld, true, "79.9 s after it began, 59.9 s after it was renewed");
  clock.pass(100);
  assert.equal(hold.isHeld, false);
});

test("an answer that comes after the time was up revives nothing", async () => {
  const clock = new SplitClock();
  const renewal = pendingRenewal();
  const hold = holdOf(clock, 60_000, renewal.renew);
  clock.pass(20_000);
  await renewal.asked;
  clock.pass(40_000);
  // Nobody has looked meanwhile: the answer itself is what comes too late.
  renewal.answer.resolve(60_000);
  await new Promise(setImmediate);
  assert.equal(hold.isHeld, false);
  assert.equal(hold.signal.aborted, true);
  assert.equal(renewal.calls(), 1);
});

test("a refusal ends it at once", async () => {
  const clock = new SplitClock();
  const renewal = pendingRenewal();
  const hold = holdOf(clock, 60_000, renewal.renew);
  clock.pass(20_000);
  await renewal.asked;
  const refusal = new TipstaffError("token_mismatch", "changed hands");
  renewal.answer.reject(refusal);
  await new Promise(setImmediate);
  assert.equal(hold.isHeld, false);
  assert.equal(hold.signal.reason.cause, refusal);
});

test("a renewal that fails is tried again, and the hold lasts as long as it was granted", async () => {
  const clock = new SplitClock();
  const third = Promise.withResolvers<void>();
  let calls = 0;
  const hold = holdOf(clock, 60_000, () => {
    calls += 1;
    if (calls === 3) third.resolve();
    return Promise.reject(new TipstaffError("unreachable", "away"));
  });
  clock.pass(20_000);
  const moving = setInterval(() => clock.pass(100), 10);
  await third.promise;
  clearInterval(moving);
  assert.equal(hold.isHeld, true);
  clock.pass(40_000);
  assert.equal(hold.isHeld, false);
});

test("a process whose event loop stood still past the ttl knows it at the first look", async () => {
  const clock: Clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
  let calls = 0;
  const hold = holdOf(clock, 300, async () => {
    calls += 1;
    return 300;
  });
  assert.equal(hold.isHeld, true);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 350);
  assert.equal(hold.isHeld, false);
  assert.equal(hold.signal.aborted, true);
  const before = calls;
  await new Promise((resolve) => setTimeout(resolve, 120));
  assert.equal(calls, before, "no renewal is asked for after that");
  assert.equal(hold.isHeld, false);
});

test("what was ended is not lost", () => {
  const clock = new SplitClock();
  const hold = holdOf(clock, 60_000, never);
  hold.end();
  clock.pass(120_000);
  assert.equal(hold.isHeld, false);
  assert.equal(hold.signal.aborted, false);
});
