import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Heartbeat, heard, look, said, startHeartbeat } from "./heartbeat.ts";

const start = startHeartbeat(0, 30_000);

/** Looks whenever a look is planned, up to this time. */
function run(from: Heartbeat, untilMs: number): { heartbeat: Heartbeat; told: readonly string[] } {
  const told: string[] = [];
  let heartbeat = from;
  while (heartbeat.lookAtMs <= untilMs) {
    const atMs = heartbeat.lookAtMs;
    const looked = look(heartbeat, atMs);
    heartbeat = looked.heartbeat;
    if (looked.verdict !== "fine") told.push(`${looked.verdict} at ${atMs / 1_000}s`);
    if (looked.verdict === "lost") break;
  }
  return { heartbeat, told };
}

test("[ARCP-70] [ARCP-71] who says nothing is pinged after one interval and lost after two", () => {
  assert.deepEqual(run(start, 120_000).told, ["ping at 30s", "lost at 60s"]);
});

test("[ARCP-69] any frame is life", () => {
  const pinged = run(start, 59_999).heartbeat;
  assert.deepEqual(run(heard(pinged, 59_999), 89_999).told, ["ping at 60s"]);
});

test("[ARCP-70] [PYR-17] who only listens is pinged, though we talk to it all the time", () => {
  let heartbeat = start;
  const told: string[] = [];
  for (let nowMs = 1_000; nowMs <= 70_000; nowMs += 1_000) {
    heartbeat = said(heartbeat, nowMs);
    if (nowMs === 35_000) heartbeat = heard(heartbeat, nowMs);
    const looked = look(heartbeat, nowMs);
    heartbeat = looked.heartbeat;
    if (looked.verdict !== "fine") told.push(`${looked.verdict} at ${nowMs / 1_000}s`);
  }
  assert.deepEqual(told, ["ping at 30s", "ping at 65s"]);
});

test("[ARCP-70] [ARCP-72] who talks to us all the time is pinged, so that it hears something", () => {
  const heartbeat = heard(start, 29_000);
  assert.deepEqual(run(heartbeat, 30_000).told, ["ping at 30s"]);
});

test("[ARCP-71] nobody is lost before a ping has been out for an interval", () => {
  // No look came for a long time: the first thing to do is to ask.
  const late = look(start, 200_000);
  assert.equal(late.verdict, "ping");
  assert.deepEqual(run(late.heartbeat, 400_000).told, ["lost at 230s"]);
});

test("[ARCP-73] after a stall, what has arrived is read before anyone is declared lost", () => {
  const pinged = look(start, 30_000).heartbeat;
  const stalled = look(pinged, 500_000);
  assert.equal(stalled.verdict, "fine");
  assert(stalled.heartbeat.lookAtMs <= 501_000);
  const answered = look(heard(stalled.heartbeat, 500_100), 501_000);
  assert.notEqual(answered.verdict, "lost");
  assert.equal(look(stalled.heartbeat, 501_000).verdict, "lost");
});

test("[ARCP-71] whoever answers every ping within an interval is never lost, and the next look is never in the past", () => {
  const steps = fc.array(
    fc.record({ afterMs: fc.integer({ min: 1, max: 40_000 }), hears: fc.boolean() }),
    { maxLength: 50 },
  );
  fc.assert(
    fc.property(steps, (given) => {
      let heartbeat = start;
      let nowMs = 0;
      for (const { afterMs, hears } of given) {
        nowMs += afterMs;
        const waitedMs = nowMs - (heartbeat.pingedAtMs ?? nowMs);
        if (hears || waitedMs >= 30_000) heartbeat = heard(heartbeat, nowMs);
        const looked = look(heartbeat, nowMs);
        assert.notEqual(looked.verdict, "lost");
        assert(looked.heartbeat.lookAtMs > nowMs);
        heartbeat = looked.heartbeat;
      }
    }),
  );
});
