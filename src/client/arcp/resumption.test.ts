import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualTime } from "../../testing/manual-time.ts";
import { ArcpError } from "../../wire/arcp/index.ts";
import { peers } from "./python-peer.ts";
import { pauseMs, type Resumption, resume } from "./resumption.ts";

type Answer = "welcome" | Error;

function start(answers: readonly Answer[], more: Partial<Resumption> = {}) {
  const time = new ManualTime();
  const tried: (number | undefined)[] = [];
  const resuming = resume({
    attempt: async (from) => {
      const answer = answers[tried.length] ?? new Error("nobody is there");
      tried.push(from);
      if (answer !== "welcome") throw answer;
    },
    lastEventSeq: 7,
    windowMs: 60_000,
    traits: peers.spec,
    time,
    signal: new AbortController().signal,
    ...more,
  });
  resuming.catch(() => {});
  return { time, tried, resuming };
}

const unreachable = new Error("nobody is there");
const refusal = new ArcpError("RESUME_WINDOW_EXPIRED", "gone");

test("[ARCP-218] the way back is tried again and again, from the last contiguous number", async () => {
  const { time, tried, resuming } = start([unreachable, unreachable, "welcome"]);
  await time.pass(60_000, 250);
  await resuming;
  assert.deepEqual(tried, [7, 7, 7]);
});

test("[ARCP-218] pauses double from 250 ms to 10 s, each shortened at random", () => {
  for (const [failures, longest] of [
    [0, 250],
    [1, 500],
    [5, 8_000],
    [6, 10_000],
    [1_000, 10_000],
  ] as const) {
    const pauses = Array.from({ length: 200 }, () => pauseMs(failures));
    assert(pauses.every((pause) => pause >= 0 && pause <= longest));
    assert(Math.max(...pauses) > longest / 2 && Math.min(...pauses) < longest / 2);
  }
});

test("[ARCP-218] after the resume window there is no way back", async () => {
  const { time, tried, resuming } = start([]);
  await time.pass(59_000, 250);
  const before = tried.length;
  assert(before > 5);
  await time.pass(22_000, 250);
  await assert.rejects(resuming, { code: "RESUME_WINDOW_EXPIRED" });
  // It is not refused, so that the trick for empty replays is none here.
  assert(tried.every((from) => from === 7));
});

test("[ARCP-222] a refusal may mean that there was nothing to replay: once more, from one event before", async () => {
  const { time, tried, resuming } = start([unreachable, refusal, unreachable, "welcome"]);
  await time.pass(60_000, 250);
  await resuming;
  assert.deepEqual(tried, [7, 7, 6, 6]);
});

test("[ARCP-222] it is tried once, and not from before the first event", async () => {
  const twice = start([refusal, refusal, "welcome"]);
  await twice.time.pass(10_000, 250);
  await assert.rejects(twice.resuming, { code: "RESUME_WINDOW_EXPIRED" });
  assert.deepEqual(twice.tried, [7, 6]);
  const first = start([refusal, "welcome"], { lastEventSeq: 0 });
  await first.time.pass(10_000, 250);
  await assert.rejects(first.resuming, { code: "RESUME_WINDOW_EXPIRED" });
  assert.deepEqual(first.tried, [0]);
});

test("[PYC-14] [PY-63] the Python runtime's refusal is one, and is not tried again", async () => {
  const denied = new ArcpError("PERMISSION_DENIED", "no resumable session for session_id='s'");
  const { time, tried, resuming } = start([denied, "welcome"], { traits: peers.python });
  await time.pass(10_000, 250);
  await assert.rejects(resuming, { code: "RESUME_WINDOW_EXPIRED" });
  assert.deepEqual(tried, [7]);
});

test("a token that is not good any more is no reason to try again", async () => {
  const { time, tried, resuming } = start([new ArcpError("UNAUTHENTICATED", "bad token")]);
  await time.pass(10_000, 250);
  await assert.rejects(resuming, { code: "UNAUTHENTICATED" });
  assert.equal(tried.length, 1);
});

test("whoever closes the client ends the wait", async () => {
  const controller = new AbortController();
  const { time, tried, resuming } = start([], { signal: controller.signal });
  await time.pass(1_000, 250);
  controller.abort(new Error("closed"));
  await assert.rejects(resuming, /closed/);
  const before = tried.length;
  await time.pass(60_000, 250);
  assert.equal(tried.length, before);
});
