import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { type Question, questionId } from "../core/index.ts";
import { answerQuestion, askAsAgent, deregister, register } from "../testing/commands.ts";
import { HeldLog } from "../testing/held-log.ts";
import { isSettled, test as me, openPlane, type TestPlane } from "../testing/test-plane.ts";
import type { Plane } from "./plane.ts";

const id = questionId("q_captcha");
const nothing = (): void => {};

async function openAsking(
  options: Parameters<typeof openPlane>[0] = {},
  timeoutMs?: number,
): Promise<TestPlane> {
  const opened = await openPlane(options);
  await opened.plane.submit(register("scraper"), me, nothing);
  const parts = timeoutMs === undefined ? {} : { timeoutMs };
  await opened.plane.submit(askAsAgent("scraper", "captcha", parts), me, nothing);
  return opened;
}

function waits(plane: Plane, signal = new AbortController().signal): Promise<string> {
  return plane
    .untilClosed(id, { signal })
    .then(({ refusal, value }) => refusal?.code ?? tell(value));
}

function tell(question: Question | undefined): string {
  if (question?.state === "answered") return question.answer;
  return question?.state === "closed" ? question.reason : String(question?.state);
}

test("all who wait for a question are told its answer, and those who come later too", async () => {
  await using opened = await openAsking();
  const { plane } = opened;
  const both = [waits(plane), waits(plane)];
  assert.equal(await isSettled(Promise.race(both)), false);
  await plane.submit(answerQuestion("captcha", "x7"), me, nothing);
  assert.deepEqual(await Promise.all(both), ['"x7"', '"x7"']);
  assert.equal(await waits(plane), '"x7"');
});

test("an answer is told only when it is durable", async () => {
  const log = new HeldLog();
  await using opened = await openAsking({ log });
  const { plane } = opened;
  const waiting = waits(plane);
  log.hold();
  const answered = plane.submit(answerQuestion("captcha", "x7"), me, nothing);
  assert.equal(await isSettled(waiting), false);
  assert.equal(await isSettled(waits(plane)), false, "also to who asks only now");
  await log.letAllThrough();
  await answered;
  assert.equal(await waiting, '"x7"');
});

test("a deadline and the end of the asker are told as well", async () => {
  await using timed = await openAsking({}, 1_000);
  const late = waits(timed.plane);
  timed.clock.leap(1_000);
  timed.plane.tick();
  assert.equal(await late, "timed_out");

  await using left = await openAsking();
  const alone = waits(left.plane);
  await left.plane.submit(deregister("scraper"), me, nothing);
  assert.equal(await alone, "asker_ended");
});

test("who hangs up leaves nothing behind, and a plane that closes answers who waits", async () => {
  const opened = await openAsking();
  const { plane } = opened;
  const calling = new AbortController();
  const gone = waits(plane, calling.signal);
  calling.abort(new Error("hung up"));
  await assert.rejects(gone, /hung up/);
  await assert.rejects(waits(plane, calling.signal), /hung up/);

  const patient = new AbortController();
  const waiting = waits(plane, patient.signal);
  await opened[Symbol.asyncDispose]();
  assert.equal(await waiting, "unavailable");
  assert.equal(getEventListeners(patient.signal, "abort").length, 0);
  assert.equal(await waits(plane), "unavailable");
});

test("a question that is not there is not waited for", async () => {
  await using opened = await openPlane();
  assert.equal(await waits(opened.plane), "undefined");
});
