/** Questions to people that jobs of workers in other processes ask. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Handler } from "../../arcp-context.ts";
import { type WorkerAgent, WorkerProgram } from "../../client/worker/worker-program.ts";
import { type JobId, openQuestionsOf, type Question, stateOfJob } from "../../core/index.ts";
import { MemoryLog } from "../../log/index.ts";
import type { Plane } from "../../plane/index.ts";
import { Cable } from "../../testing/cable.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { openPlane, turns } from "../../testing/test-plane.ts";
import { isArcpError, isObject, type JsonObject } from "../../wire/arcp/index.ts";
import { Runtime } from "../runtime.ts";
import { limits } from "./limits.ts";
import { RemoteWorkers } from "./remote-workers.ts";

const graceMs = 60_000;

/** A runtime that can be started again on the same log. */
class Scene implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly #log = new MemoryLog();
  #ids = 0;
  plane!: Plane;
  runtime!: Runtime;
  workers!: RemoteWorkers;

  static async open(): Promise<Scene> {
    const scene = new Scene();
    await scene.start();
    return scene;
  }

  async start(): Promise<void> {
    const { clock } = this;
    ({ plane: this.plane } = await openPlane({ log: this.#log, clock }));
    this.runtime = new Runtime({
      plane: this.plane,
      newId: (kind) => `${kind}_${++this.#ids}`,
      onFault: (fault) => {
        throw fault;
      },
    });
    this.workers = new RemoteWorkers(this.runtime, { mayWork: () => true, graceMs, clock });
  }

  async submit(input: unknown = null): Promise<JobId> {
    const request = { agent: "agent", input: JSON.stringify(input), principal: "ada" };
    const { value, refusal } = await this.runtime.submit(request);
    if (refusal) assert.fail(refusal.message);
    await turns(20);
    return value.job.id;
  }

  async openOf(jobId: JobId): Promise<readonly Question[]> {
    await turns(20);
    return this.plane.peek(({ questions }) => openQuestionsOf(questions, { of: "job", jobId }));
  }

  async openOne(jobId: JobId): Promise<Question> {
    const [question, ...others] = await this.openOf(jobId);
    assert(question && others.length === 0);
    return question;
  }

  async answer({ id: questionId }: Pick<Question, "id">, said: unknown): Promise<void> {
    const answer = { questionId, answer: JSON.stringify(said), by: { name: "bob" } };
    const command = { type: "question.answer", ...answer } as const;
    const { refusal } = await this.plane.submit(command, { actor: "test" }, () => undefined);
    assert.equal(refusal, undefined);
    await turns(20);
  }

  stateOf(jobId: JobId): string {
    return this.plane.peek((state) => {
      const job = state.jobs.byId.get(jobId);
      return job ? stateOfJob(state, job) : "gone";
    });
  }

  async resultOf(jobId: JobId): Promise<unknown> {
    await turns(20);
    for await (const { event } of this.plane.stream(`job/${jobId}`)) {
      if (event.type !== "job.ended") continue;
      const { outcome } = event;
      if (outcome.status === "success") return JSON.parse(outcome.result ?? "null");
      return outcome.failure.code;
    }
    return "unfinished";
  }

  async pass(ms: number): Promise<void> {
    this.clock.leap(ms);
    this.plane.tick();
    await turns(20);
  }

  async stop(): Promise<void> {
    this.workers[Symbol.dispose]();
    this.runtime[Symbol.dispose]();
    await this.plane[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

function programOf(
  handler: Handler,
  {
    jobsAtOnce = 2,
    clock,
    ...agent
  }: Partial<WorkerAgent> & { readonly jobsAtOnce?: number; readonly clock?: ManualClock } = {},
): WorkerProgram {
  return new WorkerProgram({ offers: [{ name: "agent", handler, ...agent }], jobsAtOnce }, clock);
}

/** The code that a call rejects with, and the one of ours behind it. */
async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (!isArcpError(error)) return String(error);
    const original = error.details?.["original_code"] ?? error.details?.["path"] ?? "";
    return `${error.code} ${original}`.trim();
  }
  return assert.fail("it did not reject");
}

test("the time in which a job elsewhere waits for people does not count for its agent's limit", async () => {
  await using scene = await Scene.open();
  const { clock } = scene;
  const { promise: began, resolve: begin } = Promise.withResolvers<void>();
  const { promise: worked, resolve: work } = Promise.withResolvers<void>();
  let signal: AbortSignal | undefined;
  const handler: Handler = async (_, context) => {
    ({ signal } = context);
    await began;
    await Promise.all([
      context.ask("First?", { timeoutMs: 600_000 }),
      context.ask("Second?", { timeoutMs: 600_000 }),
    ]);
    await worked;
  };
  const program = programOf(handler, { clock, timeoutMs: 1_000 });
  let cable = new Cable(scene.workers, program);
  await turns();
  const jobId = await scene.submit();
  await clock.pass(400);
  begin();
  for (const _ of ["First", "Second"]) {
    const [question] = await scene.openOf(jobId);
    await scene.pass(5_000);
    // A lost connection does not end the pause.
    cable.cut();
    await scene.pass(5_000);
    cable = new Cable(scene.workers, program);
    await turns(20);
    await scene.answer(question ?? assert.fail(), "yes");
  }
  await clock.pass(599);
  assert.equal(signal?.aborted, false);
  await clock.pass(1);
  assert.equal(signal?.aborted, true);
  work();
  assert.equal(await scene.resultOf(jobId), "job_timed_out");
});

const sure: Handler = (_, context) => context.ask("Sure?");

test("a job elsewhere asks, waits, and gets the answer as text, as one of the choices, or as JSON", async () => {
  await using scene = await Scene.open();
  const schema = { type: "object", properties: { copies: { type: "integer" } } };
  const program = programOf(async (_, context) => [
    await context.ask("Which title?"),
    await context.ask("Which colour?", { choices: ["red", "blue"], key: "colour" }),
    await context.ask("How many?", { schema, timeoutMs: 16_100 }),
  ]);
  new Cable(scene.workers, program);
  await turns();
  const jobId = await scene.submit();
  const first = await scene.openOne(jobId);
  assert.equal(scene.stateOf(jobId), "waiting");
  assert.deepEqual([first.key, first.expects, first.principal], ["#1", { of: "text" }, "ada"]);
  await scene.answer(first, "Yearly");
  const second = await scene.openOne(jobId);
  assert.deepEqual(second.expects, { of: "choice", choices: ["red", "blue"] });
  assert.equal(second.key, "colour");
  await scene.answer(second, "blue");
  const third = await scene.openOne(jobId);
  assert.deepEqual(third.expects, { of: "json", schema: JSON.stringify(schema) });
  assert.equal((third.expiresAtMs ?? 0) - third.askedAtMs, 16_100);
  await scene.answer(third, { copies: 3 });
  assert.deepEqual(await scene.resultOf(jobId), ["Yearly", "blue", { copies: 3 }]);
});

test("a scope is granted or denied elsewhere too, to an agent that its worker offers with mayRequestScope", async () => {
  await using scene = await Scene.open();
  const request = { reason: "Read?", read: ["logs/**"], writePrefix: "out/", ttlSeconds: 30 };
  const ask: Handler = async (_, context) => [
    await context.requestScope(request),
    await codeOf(context.requestScope(request)),
  ];
  new Cable(scene.workers, programOf(ask, { mayRequestScope: true }));
  await turns();
  const jobId = await scene.submit();
  const first = await scene.openOne(jobId);
  await scene.answer(first, { granted: true });
  await scene.answer(await scene.openOne(jobId), { granted: false, reason: "not those" });
  const granted = { requestId: first.id, read: ["logs/**"], writePrefix: "out/" };
  const expiresAt = new Date(scene.clock.nowMs() + 30_000).toISOString();
  assert.deepEqual(await scene.resultOf(jobId), [
    { ...granted, mode: "read_only", expiresAt },
    "PERMISSION_DENIED",
  ]);
});

/** A worker that is not ours: the test sends its frames. */
async function attachByHand(scene: Scene): Promise<{
  readonly told: readonly { readonly type: string; readonly payload: JsonObject }[];
  readonly say: (type: string, payload: JsonObject) => void;
}> {
  const told: { readonly type: string; readonly payload: JsonObject }[] = [];
  const worker = scene.workers.attach({
    sessionId: "sess_worker",
    principal: "worker",
    send: (type, payload) => told.push({ type: type.split(".").at(-1) ?? "", payload }),
  });
  const say = (type: string, payload: JsonObject): void =>
    worker.receive(`x-vendor.tipstaff.worker.${type}`, payload);
  say("offer", { worker_id: "by-hand-1", offers: [{ name: "agent" }], jobs_at_once: 50 });
  await turns(20);
  return { told, say };
}

test("the runtime itself refuses a scope to an agent that was offered without, whatever its worker says", async () => {
  await using scene = await Scene.open();
  const { told, say } = await attachByHand(scene);
  const jobId = await scene.submit();
  const held = { job_id: jobId, attempt: 1 };
  const scope = { key: "more", reason: "more", read_patterns: ["**"] };
  say("request_scope", { ...held, request_id: "1", ...scope });
  say("ask", { ...held, request_id: "2", key: "k", prompt: 7 });
  say("ask", { ...held, request_id: "3", prompt: "no key?" });
  say("ask", { ...held, request_id: "4", key: "k", prompt: "a", timeout_seconds: "5" });
  say("ask", { ...held, request_id: "5", key: "x".repeat(1_000), prompt: "a" });
  await turns(20);
  const errors = told
    .filter(({ type }) => type === "answer")
    .map(({ payload }) => JSON.stringify(payload))
    .sort();
  for (const [at, path] of ["may not request", "prompt", "key", "timeoutMs", "key"].entries()) {
    assert.match(errors[at] ?? "", new RegExp(`"request_id":"${at + 1}","error":.*${path}`));
  }
  assert.equal(
    scene.plane.peek(({ questions }) => questions.byId.size),
    0,
  );
  // A mistake of an agent is no reason to send its worker away.
  assert(!told.some(({ type }) => type === "refused"));
  say("ask", { ...held, request_id: "6", key: "k", prompt: "Sure?" });
  await scene.answer(await scene.openOne(jobId), "yes");
  const { value } = told.at(-1)?.payload ?? {};
  assert(isObject(value) && value["answer"] === "yes");
});

test("one worker waits for so many answers and no more, also under one key", async () => {
  await using scene = await Scene.open();
  const { told, say } = await attachByHand(scene);
  const jobs: JobId[] = [];
  for (let at = 0; at < 50; at += 1) jobs.push(await scene.submit());
  for (let at = 0; at <= limits.waitsMax; at += 1) {
    const held = { job_id: jobs[at % jobs.length], attempt: 1 };
    say("ask", { ...held, request_id: String(at), key: "k", prompt: "Sure?" });
  }
  await turns(20);
  const answers = told.filter(({ type }) => type === "answer").map(({ payload }) => payload);
  assert.equal(answers.length, 1);
  const [{ request_id, error } = {}] = answers;
  assert.equal(request_id, String(limits.waitsMax));
  assert(isObject(error) && isObject(error["details"]));
  assert.equal(error["details"]["original_code"], "limit_reached");
});

test("an agent elsewhere is told in ARCP's codes what is no question, and that nobody answered", async () => {
  await using scene = await Scene.open();
  const bad = (value: unknown): never => value as never;
  const program = programOf(async (_, context) => [
    await codeOf(context.ask(" ")),
    await codeOf(context.ask("a", { choices: bad("red") })),
    await codeOf(context.ask("a", { timeoutMs: Number.POSITIVE_INFINITY })),
    await codeOf(context.requestScope({ reason: "more" })),
    await codeOf(context.ask("Sure?", { key: "sure", timeoutMs: 1_000 })),
    await codeOf(context.ask("Really?", { key: "sure" })),
  ]);
  new Cable(scene.workers, program);
  await turns();
  const jobId = await scene.submit();
  await scene.openOne(jobId);
  await scene.pass(1_000);
  assert.deepEqual(await scene.resultOf(jobId), [
    "INVALID_REQUEST prompt",
    "INVALID_REQUEST choices",
    "INVALID_REQUEST timeoutMs",
    "PERMISSION_DENIED",
    "INTERNAL_ERROR ask_timeout",
    "DUPLICATE_KEY",
  ]);
});

test("a job elsewhere that waits leaves its slot to another, and takes one again before that one is followed by others", async () => {
  await using scene = await Scene.open();
  const steps: string[] = [];
  const release = Promise.withResolvers<void>();
  const handler: Handler = async (input, context) => {
    if (input === "asks") {
      steps.push(`goes on with ${await context.ask("Sure?")}`);
      return;
    }
    steps.push(`${input} began`);
    await release.promise;
  };
  new Cable(scene.workers, programOf(handler, { jobsAtOnce: 1 }));
  await turns();
  const asking = await scene.submit("asks");
  const question = await scene.openOne(asking);
  await scene.submit("one");
  await scene.submit("two");
  assert.deepEqual(steps, ["one began"]);
  await scene.answer(question, "yes");
  assert.deepEqual(steps, ["one began"]);
  release.resolve();
  await turns(60);
  assert.deepEqual(steps, ["one began", "goes on with yes", "two began"]);
});

test("the caller's signal withdraws a question of a job elsewhere", async () => {
  await using scene = await Scene.open();
  const patience = new AbortController();
  const program = programOf(async (_, context) => [
    await codeOf(context.ask("Sure?", { key: "sure", signal: patience.signal })),
    await codeOf(context.ask("Sure?", { key: "sure" })),
    await codeOf(context.ask("And now?", { signal: patience.signal })),
  ]);
  new Cable(scene.workers, program);
  await turns();
  const jobId = await scene.submit();
  const { id } = await scene.openOne(jobId);
  patience.abort(new Error("enough"));
  assert.deepEqual(await scene.resultOf(jobId), [
    "Error: enough",
    "INVALID_REQUEST question_closed",
    "Error: enough",
  ]);
  const closed = scene.plane.peek(({ questions }) => questions.byId.get(id));
  assert(closed?.state === "closed" && closed.reason === "withdrawn");
});

test("a cancelled job elsewhere unwinds at once, also while others have its slot", async () => {
  await using scene = await Scene.open();
  const steps: string[] = [];
  const handler: Handler = async (input, context) => {
    if (input !== "asks") return new Promise(() => {});
    return await context.ask("Sure?").catch((error: unknown) => {
      steps.push(String(error));
      throw error;
    });
  };
  new Cable(scene.workers, programOf(handler, { jobsAtOnce: 1 }));
  await turns();
  const jobId = await scene.submit("asks");
  await scene.openOne(jobId);
  await scene.submit("works");
  const cancel = { type: "job.cancel", jobId, reason: "no more", graceMs: 1_000 } as const;
  await scene.plane.submit(cancel, { actor: "test" }, () => undefined);
  assert.equal(await scene.resultOf(jobId), "job_cancelled");
  assert.deepEqual(steps, ["AbortError: no more"]);
});

test("an answer that comes while the connection is lost is there when the worker is back", async (context) => {
  await using scene = await Scene.open();
  const program = programOf(sure);
  const cable = new Cable(scene.workers, program);
  const { mock } = context.mock.method(scene.runtime, "askPerson");
  await turns();
  const jobId = await scene.submit();
  const { id } = await scene.openOne(jobId);
  cable.cut();
  for (let again = 0; again < 3; again += 1) {
    const next = new Cable(scene.workers, program);
    assert.equal((await scene.openOne(jobId)).id, id);
    next.cut();
  }
  assert.equal(mock.callCount(), 1, "each connection waits for the same answer");
  await scene.answer({ id }, "yes");
  assert.equal(await scene.resultOf(jobId), "unfinished");
  new Cable(scene.workers, program);
  assert.equal(await scene.resultOf(jobId), "yes");
});

test("a worker goes on waiting while its runtime restarts, and gets an answer from before, and one from after", async () => {
  await using scene = await Scene.open();
  const program = programOf(async (_, context) => [
    await context.ask("First?"),
    await context.ask("Second?"),
  ]);
  const cable = new Cable(scene.workers, program);
  await turns();
  const jobId = await scene.submit();
  const first = await scene.openOne(jobId);
  // The answer is stored, and the worker never hears of it from this process.
  cable.flow(false);
  await scene.answer(first, "one");
  await scene.stop();
  cable.cut();
  await scene.start();
  const second = new Cable(scene.workers, program);
  const open = await scene.openOne(jobId);
  assert.equal(open.prompt, "Second?");
  await scene.stop();
  await turns(20);
  second.cut();
  await scene.start();
  new Cable(scene.workers, program);
  const again = await scene.openOne(jobId);
  assert.deepEqual([again.id, again.expiresAtMs], [open.id, open.expiresAtMs]);
  assert.equal(scene.stateOf(jobId), "waiting");
  await scene.answer(again, "two");
  assert.deepEqual(await scene.resultOf(jobId), ["one", "two"]);
});

test("after a restart of the runtime, jobs that wait have given their slots up again", async () => {
  await using scene = await Scene.open();
  const begun: unknown[] = [];
  const handler: Handler = async (input, context) => {
    if (input === "asks") return await context.ask("Sure?");
    begun.push(input);
    return "done";
  };
  const program = programOf(handler, { jobsAtOnce: 1 });
  const cable = new Cable(scene.workers, program);
  await turns();
  const asking = await scene.submit("asks");
  await scene.openOne(asking);
  await scene.stop();
  cable.cut();
  await scene.start();
  new Cable(scene.workers, program);
  await scene.openOne(asking);
  await scene.submit("works");
  assert.deepEqual(begun, ["works"]);
});

test("a job that lost its worker runs elsewhere, and keeps its open question", async () => {
  await using scene = await Scene.open();
  const cable = new Cable(scene.workers, programOf(sure, { isIdempotent: true }));
  await turns();
  const jobId = await scene.submit();
  const { id } = await scene.openOne(jobId);
  cable.cut();
  await scene.pass(graceMs);
  assert.equal((await scene.openOne(jobId)).id, id);
  new Cable(scene.workers, programOf(sure, { isIdempotent: true }));
  const again = await scene.openOne(jobId);
  assert(again.id === id && again.asker.of === "job" && again.asker.attempt === 2);
  await scene.answer(again, "yes");
  assert.equal(await scene.resultOf(jobId), "yes");
});

test("a worker that leaves still gets the answers that its jobs wait for", async () => {
  await using scene = await Scene.open();
  const program = programOf(sure);
  new Cable(scene.workers, program);
  await turns();
  const jobId = await scene.submit();
  const question = await scene.openOne(jobId);
  const left = program.leave();
  await turns();
  await scene.answer(question, "yes");
  await left;
  assert.equal(await scene.resultOf(jobId), "yes");
});
