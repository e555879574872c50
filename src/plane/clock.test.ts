import assert from "node:assert/strict";
import { test } from "node:test";
import { acquire, register } from "../testing/commands.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { isSettled, test as me, openPlane, turns } from "../testing/test-plane.ts";
import { SteadyClock } from "./clock.ts";
import { keepTime } from "./keep-time.ts";
import { limits } from "./limits.ts";

const nothing = (): void => {};

test("the steady clock tells the wall time in whole milliseconds", () => {
  const clock = new SteadyClock();
  const nowMs = clock.nowMs();
  assert(Number.isInteger(nowMs));
  assert(Math.abs(nowMs - Date.now()) < 1_000);
});

test("when the wall clock is set back, time goes on", (context) => {
  const clock = new SteadyClock();
  const before = clock.nowMs();
  const wall = Date.now();
  context.mock.method(Date, "now", () => wall - 3_600_000);
  const first = clock.nowMs();
  assert(first >= before);
  const second = clock.nowMs();
  assert(second >= first && second - before < 10_000);
});

test("when the wall clock jumps ahead, as after a sleep, time jumps with it", (context) => {
  const clock = new SteadyClock();
  const before = clock.nowMs();
  const wall = Date.now();
  context.mock.method(Date, "now", () => wall + 3_600_000);
  assert(clock.nowMs() >= before + 3_599_000);
});

test("waiting for a time that has come does not wait, and can be called off", async () => {
  const clock = new SteadyClock();
  const calling = new AbortController();
  await clock.until(clock.nowMs() - 5, calling.signal);
  const waiting = clock.until(clock.nowMs() + 3_600_000, calling.signal);
  calling.abort(new Error("enough"));
  await assert.rejects(waiting);
});

test("[ARCP-108] a time further away than a timer can count is waited for like any other", async () => {
  const clock = new SteadyClock();
  const calling = new AbortController();
  const longMs = 2 ** 31 + 60_000;
  const first = clock.until(clock.nowMs() + longMs, calling.signal).then(() => "it came");
  const soon = clock.until(clock.nowMs() + 20, calling.signal).then(() => "not yet");
  assert.equal(await Promise.race([first, soon]), "not yet");
  calling.abort(new Error("enough"));
  await assert.rejects(first);
});

test("the timer ends what falls due, and stops when it is told to", async () => {
  await using opened = await openPlane();
  const { plane, clock } = opened;
  const stopping = new AbortController();
  const keeping = keepTime(plane, clock, stopping.signal);
  await plane.submit(register("ada", { ttlMs: 600_000 }), me, nothing);
  await plane.submit(acquire("t", "ada", 60_000), me, nothing);
  await clock.pass(59_900);
  assert.equal(await plane.read((state) => state.leases.held.size), 1);
  using watch = plane.watch();
  await clock.pass(100);
  await turns();
  assert.equal((await watch.next()).entries?.[0]?.event.type, "lease.expired");
  stopping.abort(new Error("enough"));
  await keeping;
  assert.equal(clock.sleepers, 0);
});

test("a deadline that a command moves closer is not slept through", async () => {
  await using opened = await openPlane();
  const { plane, clock } = opened;
  const stopping = new AbortController();
  const keeping = keepTime(plane, clock, stopping.signal);
  await turns();
  await plane.submit(register("ada"), me, nothing);
  await plane.submit(acquire("t", "ada", 1), me, nothing);
  using watch = plane.watch();
  await clock.pass(limits.sleepMsMax);
  await turns();
  const expired = (await watch.next()).entries?.[0];
  assert.equal(expired?.event.type, "lease.expired");
  stopping.abort(new Error("enough"));
  await keeping;
});

test("the timer of a plane that has closed does not spin", async () => {
  const { plane, clock } = await openPlane({ clock: new ManualClock() });
  await plane.submit(register("ada"), me, nothing);
  await plane.submit(acquire("t", "ada", 1), me, nothing);
  await plane[Symbol.asyncDispose]();
  clock.leap(1_000);
  const stopping = new AbortController();
  let looks = 0;
  const counted = Object.assign(plane, { tick: () => void looks++ });
  const keeping = keepTime(counted, clock, stopping.signal);
  await turns(10);
  stopping.abort(new Error("enough"));
  assert.equal(await isSettled(keeping), true);
  assert(looks <= 2, `it looked ${looks} times although no time passed`);
});
