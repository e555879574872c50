import assert from "node:assert/strict";
import { test } from "node:test";
import { Timeline } from "./timeline.ts";

const stepMs = 10_000;

function timelineAt(startMs: number): { readonly timeline: Timeline; now: number } {
  const clock = { now: startMs };
  return Object.assign(clock, { timeline: new Timeline(() => clock.now) });
}

test("what happens is counted in the step in which it happens", () => {
  const at = timelineAt(5 * stepMs);
  at.timeline.observeCall(1);
  at.timeline.observeCommit({ entries: 3, ms: 2 });
  at.now += 2 * stepMs;
  at.timeline.observeCall(4);
  at.timeline.observeCall(4);
  assert.deepEqual(at.timeline.print(), {
    stepMs,
    startAtMs: 5 * stepMs,
    events: [3, 0, 0],
    calls: [1, 0, 2],
    p50Ms: [1, null, 4],
    p99Ms: [1, null, 4],
    commitP99Ms: [2, null, null],
  });
});

test("a call that waited for something counts, but not for how long", () => {
  const at = timelineAt(0);
  at.timeline.observeCall();
  const { calls, p99Ms } = at.timeline.print();
  assert.deepEqual([calls, p99Ms], [[1], [null]]);
});

test("latencies are told within a fifth of what they were", () => {
  for (const ms of [0.05, 0.3, 1, 2.5, 17, 90, 333, 1_500, 60_000]) {
    const at = timelineAt(0);
    for (let count = 0; count < 99; count++) at.timeline.observeCall(ms);
    at.timeline.observeCall(ms * 10);
    const { p50Ms, p99Ms } = at.timeline.print();
    for (const told of [p50Ms[0], p99Ms[0]]) {
      assert(typeof told === "number" && told / ms < 1.2 && told / ms > 0.8, `${ms}: ${told}`);
    }
  }
  const at = timelineAt(0);
  for (const ms of [0, -1, Number.POSITIVE_INFINITY, 1e12]) at.timeline.observeCall(ms);
  assert.equal(at.timeline.print().calls[0], 4);
});

test("an hour is kept, also when nothing happened in it", () => {
  const at = timelineAt(0);
  at.timeline.observeCall(1);
  at.now += 359 * stepMs;
  assert.equal(at.timeline.print().calls[0], 1);
  at.now += stepMs;
  const { startAtMs, calls } = at.timeline.print();
  assert.deepEqual([startAtMs, calls.length, calls[0]], [stepMs, 360, 0]);
  at.now += 1_000_000 * stepMs;
  assert.equal(at.timeline.print().calls.length, 360);
});

test("a clock that is set back loses nothing and adds no step", () => {
  const at = timelineAt(10 * stepMs);
  at.timeline.observeCall(1);
  at.now = 3 * stepMs;
  at.timeline.observeCall(1);
  const { startAtMs, calls } = at.timeline.print();
  assert.deepEqual([startAtMs, calls], [10 * stepMs, [2]]);
});
