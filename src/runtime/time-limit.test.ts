import assert from "node:assert/strict";
import { test } from "node:test";
import { type JobId, openQuestionsOf, stateOfJob } from "../core/index.ts";
import { isSettled, turns } from "../testing/test-plane.ts";
import { TestRuntime } from "../testing/test-runtime.ts";
import { limits } from "./limits.ts";

async function stateOf({ plane }: TestRuntime, jobId: JobId): Promise<string> {
  return await plane.read((state) => {
    const job = state.jobs.byId.get(jobId);
    return job ? stateOfJob(state, job) : "gone";
  });
}

async function answerOne({ plane }: TestRuntime, jobId: JobId): Promise<void> {
  await turns();
  const [question] = await plane.read(({ questions }) =>
    openQuestionsOf(questions, { of: "job", jobId }),
  );
  assert(question);
  const { id: questionId } = question;
  const by = { name: "bob" };
  const command = { type: "question.answer", questionId, answer: '"yes"', by } as const;
  const { refusal } = await plane.submit(command, { actor: "test" }, () => undefined);
  assert.equal(refusal, undefined);
  await turns();
}

test("the signal of a job that runs longer than its agent's limit aborts, and the job ends as timed_out when it returns", async () => {
  await using scene = await TestRuntime.open();
  const { promise: told, resolve } = Promise.withResolvers<unknown>();
  const { promise: returned, resolve: finish } = Promise.withResolvers<string>();
  using _agent = scene.runtime.registerAgent(
    "agent",
    (_, { signal }) => {
      signal.addEventListener("abort", () => resolve(signal.reason));
      return returned;
    },
    { timeoutMs: 1_000 },
  );
  const ending = scene.runtime.ending(scene.ask());
  await turns();
  await scene.clock.pass(999);
  assert.equal(await isSettled(told), false);
  await scene.clock.pass(1);
  assert.match(String(await told), /longer than its agent's limit of 1000 ms/);
  finish("too late");
  assert.deepEqual(await ending, {
    status: "timed_out",
    failure: {
      code: "job_timed_out",
      message: "the job ran longer than its agent's limit of 1000 ms",
      isRetryable: true,
    },
  });
});

test("a handler that does not return ends after the grace of a cancelled job", async () => {
  await using scene = await TestRuntime.open();
  const never = new Promise(() => undefined);
  using _agent = scene.runtime.registerAgent("agent", () => never, { timeoutMs: 1_000 });
  const jobId = scene.ask();
  const ending = scene.runtime.ending(jobId);
  await turns();
  await scene.clock.pass(1_000);
  await scene.clock.pass(limits.cancelGraceMs - 1);
  assert.equal(await stateOf(scene, jobId), "running");
  await scene.clock.pass(1);
  assert.equal((await ending).status, "timed_out");
});

test("a job within its limit ends as it returns, and nothing is left of the limit", async () => {
  await using scene = await TestRuntime.open();
  const before = scene.clock.sleepers;
  using _agent = scene.runtime.registerAgent("agent", () => "done", { timeoutMs: 1_000 });
  assert.equal((await scene.runtime.ending(scene.ask())).status, "success");
  assert.equal(scene.clock.sleepers, before);
});

test("the time in which a job waits for people does not count", async () => {
  await using scene = await TestRuntime.open();
  const { promise: began, resolve: begin } = Promise.withResolvers<void>();
  const { promise: worked, resolve: work } = Promise.withResolvers<void>();
  let signal: AbortSignal | undefined;
  using _agent = scene.runtime.registerAgent(
    "agent",
    async (_, context) => {
      signal = context.signal;
      await began;
      await Promise.all([context.ask("First?"), context.ask("Second?")]);
      await worked;
    },
    { timeoutMs: 1_000 },
  );
  const jobId = scene.ask();
  const ending = scene.runtime.ending(jobId);
  await turns();
  await scene.clock.pass(400);
  begin();
  for (const _ of ["First", "Second"]) {
    await turns();
    await scene.clock.pass(5_000);
    await answerOne(scene, jobId);
  }
  await scene.clock.pass(599);
  assert.equal(signal?.aborted, false);
  await scene.clock.pass(1);
  assert.equal(signal?.aborted, true);
  work();
  assert.equal((await ending).status, "timed_out");
});

test("a limit that is not greater than zero is refused", async () => {
  await using scene = await TestRuntime.open();
  for (const timeoutMs of [0, -1, Number.NaN]) {
    assert.throws(() => scene.runtime.registerAgent("agent", () => 1, { timeoutMs }), RangeError);
  }
});
