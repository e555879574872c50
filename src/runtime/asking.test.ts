import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { type JobId, openQuestionsOf, type Question, stateOfJob } from "../core/index.ts";
import { Random } from "../testing/random.ts";
import { SimulatedDisk } from "../testing/simulated-disk.ts";
import { SimulatedLog } from "../testing/simulated-log.ts";
import { turns } from "../testing/test-plane.ts";
import { resultOf, TestRuntime } from "../testing/test-runtime.ts";
import { checkEvent } from "../wire/work/index.ts";
import type { RunContext } from "./context.ts";
import { WorkError } from "./errors.ts";
import { limits } from "./limits.ts";
import type { Work } from "./worker.ts";

/** The questions that a job has open. */
async function openOf({ plane }: TestRuntime, jobId: JobId): Promise<readonly Question[]> {
  await turns();
  return await plane.read(({ questions }) => openQuestionsOf(questions, { of: "job", jobId }));
}

/** The only one. */
async function openOne(scene: TestRuntime, jobId: JobId): Promise<Question> {
  const [question, ...others] = await openOf(scene, jobId);
  assert(question && others.length === 0);
  return question;
}

async function answer({ plane }: TestRuntime, question: Question, said: unknown): Promise<void> {
  const command = {
    type: "question.answer",
    questionId: question.id,
    answer: JSON.stringify(said),
    by: { name: "bob" },
  } as const;
  const { refusal } = await plane.submit(command, { actor: "test" }, () => undefined);
  assert.equal(refusal, undefined);
}

async function stateOf({ plane }: TestRuntime, jobId: JobId): Promise<string> {
  return await plane.read((state) => {
    const job = state.jobs.byId.get(jobId);
    return job ? stateOfJob(state, job) : "gone";
  });
}

async function toldOf({ plane }: TestRuntime, jobId: JobId): Promise<readonly string[]> {
  const told: string[] = [];
  for await (const { event } of plane.stream(`job/${jobId}`)) {
    if (event.type === "job.emitted") told.push(`${event.kind} ${event.body}`);
  }
  return told;
}

/** What a call rejects with. */
async function failureOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  assert.fail("it did not reject");
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  const error = await failureOf(call);
  return error instanceof WorkError ? `${error.code}: ${error.message}` : String(error);
}

/** The questions of the one job that runs `handler`, answered as they come. */
async function converse(
  handler: (context: RunContext) => unknown,
  answers: readonly unknown[],
): Promise<{ readonly result: unknown; readonly asked: readonly Question[] }> {
  await using scene = await TestRuntime.open();
  const options = { mayRequestScope: true };
  using _agent = scene.runtime.registerAgent("agent", (_, context) => handler(context), options);
  const jobId = scene.ask();
  const ending = scene.runtime.ending(jobId);
  const asked: Question[] = [];
  for (const said of answers) {
    const question = await openOne(scene, jobId);
    asked.push(question);
    await answer(scene, question, said);
  }
  return { result: resultOf(await ending), asked };
}

test("a job that asks gets the answer as text, as one of the choices, or as the JSON that its schema allows", async () => {
  const schema = { type: "object", properties: { copies: { type: "integer" } } };
  const { result, asked } = await converse(
    async (context) => [
      await context.ask("Which title?"),
      await context.ask("Which colour?", { choices: ["red", "blue"], key: "colour" }),
      await context.ask("How many?", { schema, timeoutMs: 5_000.5 }),
    ],
    ["Yearly", "blue", { copies: 3 }],
  );
  assert.deepEqual(result, ["Yearly", "blue", { copies: 3 }]);
  assert.deepEqual(
    asked.map(({ key, expects, askedAtMs, expiresAtMs = 0 }) => [
      key,
      expects,
      expiresAtMs - askedAtMs,
    ]),
    [
      ["#1", { of: "text" }, limits.askTimeoutMs],
      ["colour", { of: "choice", choices: ["red", "blue"] }, limits.askTimeoutMs],
      ["#3", { of: "json", schema: JSON.stringify(schema) }, 5_001],
    ],
  );
});

test("those who follow a job are told that it waits, and that it goes on", async () => {
  await using scene = await TestRuntime.open();
  using _agent = scene.runtime.registerAgent("agent", (_, context) => context.ask("Sure?"));
  const jobId = scene.ask();
  const ending = scene.runtime.ending(jobId);
  const question = await openOne(scene, jobId);
  assert.equal(await stateOf(scene, jobId), "waiting");
  await answer(scene, question, "yes");
  assert.equal(resultOf(await ending), "yes");
  const body = { question_id: question.id, prompt: "Sure?", timeout_seconds: 180 };
  assert.deepEqual(await toldOf(scene, jobId), [
    'status {"phase":"running"}',
    `question ${JSON.stringify(body)}`,
    'status {"phase":"input_required","message":"Sure?"}',
    `question_closed {"question_id":"${question.id}","outcome":"answered","by":"bob"}`,
    'status {"phase":"running"}',
  ]);
});

test("the events that tell of a job's questions have the bodies that every protocol expects", async () => {
  await using scene = await TestRuntime.open();
  using _agent = scene.runtime.registerAgent(
    "agent",
    async (_, context) => {
      await context.ask("Which?", { choices: ["a", "b"] });
      await context.requestScope({ reason: "Read the logs?", read: ["logs/**"] });
    },
    { mayRequestScope: true },
  );
  const jobId = scene.ask();
  const ending = scene.runtime.ending(jobId);
  await answer(scene, await openOne(scene, jobId), "b");
  await answer(scene, await openOne(scene, jobId), { granted: true });
  assert.equal((await ending).status, "success");
  const kinds = new Set<string>();
  for await (const { event } of scene.plane.stream(`job/${jobId}`)) {
    if (event.type !== "job.emitted") continue;
    kinds.add(event.kind);
    assert.equal(checkEvent(event.kind, JSON.parse(event.body)), undefined, event.body);
  }
  assert.deepEqual([...kinds], ["status", "question", "question_closed", "scope_request"]);
});

test("an agent cannot emit events that tell of a question which does not exist", async () => {
  await using scene = await TestRuntime.open();
  const kinds = ["question", "scope_request", "question_closed", "x-vendor.runctx.question"];
  const body = { question_id: "q_x", prompt: "Sure?", request_id: "q_x", reason: "Sure?" };
  using _agent = scene.runtime.registerAgent("agent", async (_, context) => {
    const said: string[] = [];
    for (const kind of kinds) said.push(await codeOf(context.emitEvent(kind, body)));
    return said;
  });
  const jobId = scene.ask();
  const said = resultOf(await scene.runtime.ending(jobId));
  assert.deepEqual(
    said,
    kinds.map(
      (kind) => `invalid_argument: only a question emits ${kind}: call ask or requestScope`,
    ),
  );
  assert.deepEqual(await toldOf(scene, jobId), ['status {"phase":"running"}']);
});

test("a question that nobody answers in time rejects with ask_timeout, which fails the job in a way that can be retried", async () => {
  await using scene = await TestRuntime.open();
  using _agent = scene.runtime.registerAgent("agent", (_, context) => context.ask("Sure?"));
  const jobId = scene.ask();
  const ending = scene.runtime.ending(jobId);
  const { id } = await openOne(scene, jobId);
  scene.clock.leap(limits.askTimeoutMs);
  scene.plane.tick();
  assert.deepEqual(await ending, {
    status: "error",
    failure: {
      code: "ask_timeout",
      message: `question ${id} was not answered in time`,
      isRetryable: true,
      details: JSON.stringify({ question_id: id }),
    },
  });
});

test("a scope is granted for a time, or denied with a reason, and an agent must be registered for it", async () => {
  const request = { reason: "Read the logs?", read: ["logs/**"], mode: "read_only" } as const;
  const ask = async (context: RunContext): Promise<unknown> => [
    await context.requestScope({ ...request, writePrefix: "out/", ttlSeconds: 30 }),
    await codeOf(context.requestScope(request)),
    await codeOf(context.requestScope(request)),
  ];
  const { result, asked } = await converse(ask, [
    { granted: true },
    { granted: false, reason: "not those" },
    { granted: false },
  ]);
  const [first] = asked;
  assert(first);
  const expiresAt = new Date(first.askedAtMs + 30_000).toISOString();
  const granted = { requestId: first.id, read: ["logs/**"], writePrefix: "out/" };
  assert.deepEqual(result, [
    { ...granted, mode: "read_only", expiresAt },
    "permission_denied: not those",
    "permission_denied: a person denied the scope",
  ]);
  assert.equal(first.expiresAtMs, first.askedAtMs + limits.scopeRequestTimeoutMs);
  await using scene = await TestRuntime.open();
  const outcome = await scene.run((_, context) => codeOf(context.requestScope(request)));
  assert.match(
    String(resultOf(outcome)),
    /^permission_denied: agent agent may not request a scope/,
  );
});

test("what is no question is refused, and nothing is asked", async () => {
  await using scene = await TestRuntime.open();
  const nested = JSON.parse("[".repeat(8_000) + "]".repeat(8_000));
  const bad = (value: unknown): never => value as never;
  const options = { mayRequestScope: true };
  using _agent = scene.runtime.registerAgent(
    "agent",
    async (_, context) => [
      await codeOf(context.ask(" ")),
      await codeOf(context.ask(bad(7))),
      await codeOf(context.ask("a", { choices: [] })),
      await codeOf(context.ask("a", { schema: { default: nested } })),
      await codeOf(context.ask("a", { choices: bad("red") })),
      await codeOf(context.ask("a", bad({ choices: ["b"], schema: {} }))),
      await codeOf(context.ask("a", { schema: { pattern: "(a+)+" } })),
      await codeOf(context.ask("a", { timeoutMs: Number.NaN })),
      await codeOf(context.ask("a", { timeoutMs: bad("5") })),
      await codeOf(context.ask("a", { key: "" })),
      await codeOf(context.requestScope({ reason: " " })),
      await codeOf(context.requestScope({ reason: "a", mode: bad("all") })),
      await codeOf(context.requestScope({ reason: "a", ttlSeconds: 0 })),
    ],
    options,
  );
  const jobId = scene.ask();
  const said = resultOf(await scene.runtime.ending(jobId));
  assert(Array.isArray(said) && said.every((line) => line.startsWith("invalid_argument: ")));
  const paths = said.map((line: string) => line.split(": ")[1]);
  assert.deepEqual(paths, [
    ...[
      "prompt",
      "prompt",
      "choices",
      "schema",
      "choices",
      "schema",
      "schema",
      "timeoutMs",
      "timeoutMs",
    ],
    ...["key", "reason", "mode", "scope.ttlMs"],
  ]);
  assert.deepEqual(await toldOf(scene, jobId), ['status {"phase":"running"}']);
});

test("the caller's signal withdraws a question; asked again under its key, it stays closed", async () => {
  await using scene = await TestRuntime.open();
  const patience = new AbortController();
  using _agent = scene.runtime.registerAgent("agent", async (_, context) => [
    await codeOf(context.ask("Sure?", { key: "sure", signal: patience.signal })),
    await codeOf(context.ask("Sure?", { key: "sure" })),
    await codeOf(context.ask("Really?", { key: "sure" })),
    await codeOf(context.ask("Sure?", { signal: patience.signal })),
  ]);
  const jobId = scene.ask();
  const { id } = await openOne(scene, jobId);
  patience.abort(new Error("enough"));
  assert.deepEqual(resultOf(await scene.runtime.ending(jobId)), [
    "Error: enough",
    `question_closed: question ${id} was closed: withdrawn`,
    `key_reused: the key sure was used for question ${id}, which asks something else`,
    "Error: enough",
  ]);
  const told = await toldOf(scene, jobId);
  assert(told.includes(`question_closed {"question_id":"${id}","outcome":"withdrawn"}`));
});

test("a job that is cancelled while it waits rejects with the reason of its signal", async () => {
  await using scene = await TestRuntime.open();
  const thrown: unknown[] = [];
  using _agent = scene.runtime.registerAgent("agent", async (_, context) => {
    const error = await failureOf(context.ask("Sure?"));
    thrown.push(error === context.signal.reason, await codeOf(context.ask("And now?")));
    throw error;
  });
  const jobId = scene.ask();
  const ending = scene.runtime.ending(jobId);
  const { id } = await openOne(scene, jobId);
  const cancel = { type: "job.cancel", jobId, reason: "no more", graceMs: 1_000 } as const;
  await scene.plane.submit(cancel, { actor: "test" }, () => undefined);
  assert.equal((await ending).status, "cancelled");
  assert.deepEqual(thrown, [true, "AbortError: no more"]);
  const ended = await scene.plane.read(({ questions }) => questions.byId.get(id));
  assert(ended?.state === "closed" && ended.reason === "asker_ended");
});

test("a job that waits for a person leaves its slot to others, and takes one again before it goes on", async () => {
  await using scene = await TestRuntime.open();
  const steps: string[] = [];
  const release = Promise.withResolvers<void>();
  using _agent = scene.runtime.registerAgent(
    "agent",
    async (input, context) => {
      if (input === "works") {
        steps.push("another began");
        await release.promise;
        steps.push("another ended");
        return;
      }
      const said = await context.ask("Sure?");
      steps.push(`${input} goes on with ${said}`);
    },
    { jobsAtOnce: 1 },
  );
  const asking = scene.ask({ input: '"asks"' });
  const ending = scene.runtime.ending(asking);
  const question = await openOne(scene, asking);
  const working = scene.runtime.ending(scene.ask({ input: '"works"' }));
  const last = scene.runtime.ending(scene.ask({ input: '"works"' }));
  await turns();
  await answer(scene, question, "yes");
  await turns();
  assert.deepEqual(steps, ["another began"]);
  release.resolve();
  await Promise.all([working, ending, last]);
  // Whoever has begun goes on before anybody else begins.
  assert.deepEqual(steps, [
    "another began",
    "another ended",
    "asks goes on with yes",
    "another began",
    "another ended",
  ]);
});

test("a cancelled job unwinds without waiting for a slot", async () => {
  await using scene = await TestRuntime.open();
  const steps: string[] = [];
  const release = Promise.withResolvers<void>();
  using _agent = scene.runtime.registerAgent(
    "agent",
    async (input, context) => {
      steps.push(`${input} began`);
      if (input === "asks") await context.ask("Sure?").finally(() => steps.push("asks unwinds"));
      else await release.promise;
    },
    { jobsAtOnce: 1 },
  );
  const asking = scene.ask({ input: '"asks"' });
  const ending = scene.runtime.ending(asking);
  const question = await openOne(scene, asking);
  const working = scene.runtime.ending(scene.ask({ input: '"works"' }));
  await turns();
  await answer(scene, question, "yes");
  await turns();
  const cancel = { type: "job.cancel", jobId: asking, reason: "no", graceMs: 1_000 } as const;
  await scene.plane.submit(cancel, { actor: "test" }, () => undefined);
  assert.equal((await ending).status, "cancelled");
  assert.deepEqual(steps, ["asks began", "works began", "asks unwinds"]);
  release.resolve();
  await working;
});

test("a job with two open questions leaves its slot to others until both are closed", async () => {
  await using scene = await TestRuntime.open();
  const steps: string[] = [];
  const release = Promise.withResolvers<void>();
  using _agent = scene.runtime.registerAgent(
    "agent",
    async (input, context) => {
      if (input === "works") {
        steps.push("another began");
        await release.promise;
        steps.push("another ended");
        return;
      }
      const ask = async (prompt: string): Promise<void> => {
        steps.push(`${prompt} ${await context.ask(prompt)}`);
      };
      await Promise.all([ask("first?"), ask("second?")]);
    },
    { jobsAtOnce: 1 },
  );
  const asking = scene.ask({ input: '"asks"' });
  const ending = scene.runtime.ending(asking);
  const [first, second] = await openOf(scene, asking);
  assert(first && second);
  await answer(scene, first, "one");
  await turns();
  const working = scene.runtime.ending(scene.ask({ input: '"works"' }));
  await turns();
  assert.deepEqual(steps, ["first? one", "another began"]);
  await answer(scene, second, "two");
  await turns();
  release.resolve();
  await Promise.all([working, ending]);
  assert.deepEqual(steps, ["first? one", "another began", "another ended", "second? two"]);
});

test("a job that asks again while it waits for a slot gives up its place in the queue for slots", async () => {
  await using scene = await TestRuntime.open();
  const steps: string[] = [];
  const release = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const more = Promise.withResolvers<void>();
  using _agent = scene.runtime.registerAgent(
    "agent",
    async (input, context) => {
      if (typeof input === "number") {
        steps.push(`job ${input} began`);
        await release[input === 0 ? 0 : 1].promise;
        return;
      }
      const ask = async (prompt: string): Promise<void> => {
        steps.push(`${prompt} ${await context.ask(prompt)}`);
      };
      await Promise.all([ask("first?"), more.promise.then(() => ask("second?"))]);
    },
    { jobsAtOnce: 1 },
  );
  const asking = scene.ask({ input: '"asks"' });
  const ending = scene.runtime.ending(asking);
  const first = await openOne(scene, asking);
  const working = [0, 1].map((input) => scene.runtime.ending(scene.ask({ input: `${input}` })));
  await turns();
  await answer(scene, first, "one");
  await turns();
  assert.deepEqual(steps, ["job 0 began"], "the worker is full");
  more.resolve();
  const second = await openOne(scene, asking);
  assert.deepEqual(steps, ["job 0 began", "first? one"]);
  release[0].resolve();
  await turns();
  assert.deepEqual(steps, ["job 0 began", "first? one", "job 1 began"]);
  release[1].resolve();
  await Promise.all(working);
  await answer(scene, second, "two");
  await ending;
  assert.equal(steps.at(-1), "second? two");
});

test("an attempt that ended while its question was being stored frees no slot of the next attempt", async () => {
  await using scene = await TestRuntime.open();
  const works: Work[] = [];
  using _worker = scene.runtime.addWorker({
    id: "elsewhere",
    isRemote: true,
    offers: [{ name: "agent", isRepeatable: true }],
    jobsAtOnce: 1,
    run: (work) => void works.push(work),
    cancel: () => undefined,
    drop: () => undefined,
  });
  const jobId = scene.ask();
  await turns();
  const [{ attempt } = assert.fail("the job did not start")] = works;
  const signals = { signal: new AbortController().signal, given: undefined };
  const wish = { key: "k", prompt: "Sure?", expects: { of: "text" }, timeoutMs: 1_000 } as const;
  const asked = codeOf(scene.runtime.askPerson(attempt, wish, signals));
  scene.plane.carryOut({ type: "job.orphan", jobId, graceMs: 0 }, { actor: "test" }, () => 0);
  scene.plane.tick();
  await turns();
  scene.ask();
  await turns();
  assert.deepEqual(
    works.map(({ job }) => `${job.id} ${job.attempt}`),
    [`${jobId} 1`, `${jobId} 2`],
    "the worker has room for one job",
  );
  assert.match(await asked, /^attempt_over: /);
});

/** A runtime whose process is killed: of what its disk has not synced, an arbitrary part survives. */
async function startOn(disk: SimulatedDisk): Promise<{ scene: TestRuntime; kill: () => void }> {
  let isKilled = false;
  const later = (run: () => void): void => {
    if (!isKilled) queueMicrotask(run);
  };
  const newId = (kind: string): string => `${kind}_${randomUUID()}`;
  const scene = await TestRuntime.open({ log: SimulatedLog.open({ disk, later }), newId });
  const kill = (): void => {
    isKilled = true;
    disk.crash(new Random(1));
  };
  return { scene, kill };
}

test("after a kill, a job that runs again gets its stored answers in their order, and keeps its open question", async () => {
  const disk = new SimulatedDisk();
  const ask = async (_: unknown, context: RunContext): Promise<unknown> => [
    await context.ask("First?"),
    await context.ask("Second?"),
    await context.ask("Third?"),
  ];
  const first = await startOn(disk);
  first.scene.runtime.registerAgent("agent", ask, { isIdempotent: true });
  const jobId = first.scene.ask();
  await answer(first.scene, await openOne(first.scene, jobId), "one");
  const open = await openOne(first.scene, jobId);
  assert.equal(open.prompt, "Second?");
  first.kill();
  const second = await startOn(disk);
  second.scene.runtime.registerAgent("agent", ask, { isIdempotent: true });
  const ending = second.scene.runtime.ending(jobId);
  const again = await openOne(second.scene, jobId);
  assert.deepEqual(
    [again.id, again.askedAtMs, again.expiresAtMs],
    [open.id, open.askedAtMs, open.expiresAtMs],
  );
  assert(again.asker.of === "job" && again.asker.attempt === 2);
  await answer(second.scene, again, "two");
  await answer(second.scene, await openOne(second.scene, jobId), "three");
  assert.deepEqual(resultOf(await ending), ["one", "two", "three"]);
  const asked = (await toldOf(second.scene, jobId)).filter((line) => line.startsWith("question {"));
  assert.equal(asked.length, 3);
  await second.scene[Symbol.asyncDispose]();
});

test("after a kill, a question of a job that cannot run again is closed with that reason", async () => {
  const disk = new SimulatedDisk();
  const first = await startOn(disk);
  first.scene.runtime.registerAgent("agent", (_, context) => context.ask("Sure?"));
  const jobId = first.scene.ask();
  const { id } = await openOne(first.scene, jobId);
  first.kill();
  const { scene } = await startOn(disk);
  const closed = await scene.plane.read(({ questions }) => questions.byId.get(id));
  assert(closed?.state === "closed" && closed.reason === "cannot_run_again");
  await scene[Symbol.asyncDispose]();
});

test("a runtime that closes leaves the open question of a job that runs again", async () => {
  const disk = new SimulatedDisk();
  const first = await startOn(disk);
  const ask = (_: unknown, context: RunContext): Promise<string> => context.ask("Sure?");
  first.scene.runtime.registerAgent("agent", ask, { isIdempotent: true });
  const jobId = first.scene.ask();
  const { id } = await openOne(first.scene, jobId);
  await first.scene.runtime.close({ graceMs: 0 });
  await first.scene[Symbol.asyncDispose]();
  const { scene } = await startOn(disk);
  scene.runtime.registerAgent("agent", ask, { isIdempotent: true });
  const ending = scene.runtime.ending(jobId);
  const again = await openOne(scene, jobId);
  assert.equal(again.id, id);
  await answer(scene, again, "yes");
  assert.equal(resultOf(await ending), "yes");
  await scene[Symbol.asyncDispose]();
});

test("a runtime that closes ends a job that cannot run again, and closes its question with that reason", async () => {
  await using scene = await TestRuntime.open();
  scene.runtime.registerAgent("agent", (_, context) => context.ask("Sure?"));
  const jobId = scene.ask();
  const { id } = await openOne(scene, jobId);
  await scene.runtime.close({ graceMs: 1_000 });
  const closed = await scene.plane.read(({ questions }) => questions.byId.get(id));
  assert(closed?.state === "closed" && closed.reason === "cannot_run_again");
  assert.equal(await stateOf(scene, jobId), "ended");
});
