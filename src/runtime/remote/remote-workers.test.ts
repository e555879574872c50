import assert from "node:assert/strict";
import { test } from "node:test";
import { type Handler, JobContext } from "../../arcp-context.ts";
import { limits as clientLimits } from "../../client/worker/limits.ts";
import { type WorkerAgent, WorkerProgram } from "../../client/worker/worker-program.ts";
import { costOf, type JobId, parseAmount, printDecimal, sessionId } from "../../core/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import type { Plane } from "../../plane/index.ts";
import { Cable } from "../../testing/cable.ts";
import { collectLines } from "../../testing/collected-lines.ts";
import { openSession } from "../../testing/commands.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { openPlane, turns } from "../../testing/test-plane.ts";
import { resultOf } from "../../testing/test-runtime.ts";
import { ArcpError } from "../../wire/arcp/index.ts";
import { WorkError } from "../errors.ts";
import { limits as runtimeLimits } from "../limits.ts";
import { type JobRequest, Runtime, type RuntimeOptions } from "../runtime.ts";
import { limits } from "./limits.ts";
import { RemoteWorkers, type RemoteWorkersOptions } from "./remote-workers.ts";

const graceMs = 60_000;

/** A runtime that workers come to, and that can be started anew on what it has kept. */
class Scene implements AsyncDisposable {
  readonly clock: ManualClock = new ManualClock();
  readonly #log: Log = new MemoryLog();
  #ids = 0;
  /** Commits that wait, if they are to. */
  held: (() => void)[] | undefined;
  plane!: Plane;
  runtime!: Runtime;
  workers!: RemoteWorkers;

  static async open(options: Partial<RemoteWorkersOptions> = {}): Promise<Scene> {
    const scene = new Scene();
    await scene.start(options);
    await scene.plane.submit(openSession("ada"), { actor: "test" }, () => undefined);
    return scene;
  }

  async start(
    options: Partial<RemoteWorkersOptions> = {},
    onRuntime: Partial<RuntimeOptions> = {},
  ): Promise<void> {
    const { clock } = this;
    const onFault = (fault: unknown): void => {
      throw fault;
    };
    const afterTurn = (run: () => void): void => {
      if (this.held) this.held.push(run);
      else setImmediate(run);
    };
    ({ plane: this.plane } = await openPlane({ log: this.#log, clock, afterTurn }));
    this.runtime = new Runtime({ plane: this.plane, newId: this.newId, onFault, ...onRuntime });
    this.workers = new RemoteWorkers(this.runtime, {
      mayWork: () => true,
      graceMs,
      clock,
      ...options,
    });
  }

  readonly newId = (kind: string): string => `${kind}_${++this.#ids}`;

  async submit(parts: Partial<JobRequest> = {}): Promise<JobId> {
    const { value, refusal } = await this.runtime.submit({
      agent: "agent",
      input: '{"x":1}',
      sessionId: sessionId("sess_ada"),
      principal: "ada",
      requestId: this.newId("request"),
      traceId: "1".repeat(32),
      ...parts,
    });
    if (refusal) assert.fail(refusal.message);
    return value.job.id;
  }

  /** What a job said, how often it began, and how it ended, in words. */
  async told(id: JobId): Promise<readonly string[]> {
    const told: string[] = [];
    for await (const { event } of this.plane.stream(`job/${id}`)) {
      if (event.type === "job.emitted") told.push(`${event.kind} ${event.body}`);
      if (event.type !== "job.ended") continue;
      const { outcome } = event;
      told.push(outcome.status === "success" ? `${outcome.result}` : outcome.failure.code);
    }
    return told;
  }

  async pass(ms: number): Promise<void> {
    this.clock.leap(ms);
    this.plane.tick();
    await turns(10);
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

/** Handlers that wait until the test lets them go on. */
class Gate {
  readonly #waiting: (() => void)[] = [];
  starts = 0;

  readonly handler: Handler = async (_, context) => {
    this.starts += 1;
    await context.log("info", "one");
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await context.log("info", "two");
    return "done";
  };

  open(): void {
    for (const go of this.#waiting.splice(0)) go();
  }
}

function programOf(
  handler: Handler,
  { clock, ...more }: Partial<WorkerAgent> & { readonly clock?: ManualClock } = {},
): WorkerProgram {
  return new WorkerProgram({ offers: [{ name: "agent", handler, ...more }], jobsAtOnce: 2 }, clock);
}

const begun = 'status {"phase":"running"}';
const one = 'log {"level":"info","message":"one"}';
const two = 'log {"level":"info","message":"two"}';

test("a job goes to a worker elsewhere, with its grant, and what that says is the job's", async () => {
  await using scene = await Scene.open();
  const program = programOf(async (input, context) => {
    void context.progress(1, { total: 2 });
    await context.authorize("tool.call", "ask");
    await assert.rejects(context.authorize("tool.call", "rm"), { code: "PERMISSION_DENIED" });
    await assert.rejects(context.emitEvent("mood", {}), { code: "INVALID_REQUEST" });
    await context.metric({ name: "cost.model", value: 0.3, unit: "USD" });
    return { input, lease: context.lease, agent: context.agentRef, trace: context.traceContext };
  });
  new Cable(scene.workers, program);
  await turns();
  const lease = { "tool.call": ["ask"], "cost.budget": ["USD:1.00"] };
  const trace = { traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-03`, tracestate: "v=1" };
  const id = await scene.submit({ capabilities: lease, trace });
  await turns(20);
  assert.deepEqual(await scene.told(id), [
    begun,
    'progress {"current":1,"total":2}',
    'metric {"name":"cost.model","value":0.3,"unit":"USD"}',
    'metric {"name":"cost.budget.remaining","value":0.7,"unit":"USD"}',
    JSON.stringify({ input: { x: 1 }, lease, agent: "agent", trace }),
  ]);
  assert.equal(program.size, 0);
});

test("[ARCP-200] [PYR-18] a worker elsewhere knows what is left to spend, and how long pieces of its result may be", async () => {
  await using scene = await Scene.open();
  const chunk = { bytesMax: 4_096, printedBytesMax: 8_192 };
  scene.runtime.followers.add({ sessionId: sessionId("sess_ada") }, { pace: undefined, chunk });
  const program = programOf(async (_, context) => {
    const half = parseAmount("USD:0.50");
    assert(half);
    const before = context.budget;
    await context.metric({ name: "cost.model", value: 0.3, unit: "USD" });
    const set = await context.reserve(half);
    await set.settle(half);
    await context.log("info", JSON.stringify([before, context.budget]));
    await context.streamResult({ resultId: "res_1" }).write("x".repeat(10_000));
  });
  new Cable(scene.workers, program);
  await turns();
  const id = await scene.submit({ capabilities: { "cost.budget": ["USD:1.00"] } });
  await turns(40);
  const told = await scene.told(id);
  const before = { USD: { decimal: "1", value: 1 } };
  const after = { USD: { decimal: "0.20", value: 0.2 } };
  const message = JSON.stringify([before, after]);
  assert(told.includes(`log ${JSON.stringify({ level: "info", message })}`), told.join("\n"));
  const pieces = told.filter((line) => line.startsWith("result_chunk"));
  assert.deepEqual(
    pieces.map((line) => JSON.parse(line.slice("result_chunk ".length)).data.length),
    [4_096, 4_096, 1_808],
  );
});

test("a handler that throws, streams or delegates does so from elsewhere too", async () => {
  await using scene = await Scene.open();
  using _child = scene.runtime.registerAgent("child", (input) => ({ got: input }));
  const half = parseAmount("USD:0.60");
  assert(half);
  const program = programOf(async (input, context) => {
    if (input === "throw") throw new TypeError("boom");
    if (input === "stream") {
      await context.streamResult({ resultId: "res_1" }).write("all of it");
      return undefined;
    }
    if (input === "spend") {
      const first = await context.reserve(half);
      await assert.rejects(context.reserve(half), { code: "BUDGET_EXHAUSTED" });
      await first.settle();
      await context.reserve(half);
      return "spent";
    }
    const child = await context.delegate({ agent: "child", input: 7 });
    const wide = { agent: "child", leaseRequest: { "fs.read": ["/**"] } };
    await assert.rejects(context.delegate(wide), { code: "LEASE_SUBSET_VIOLATION" });
    return await child.done;
  });
  new Cable(scene.workers, program);
  await turns();
  const lastOf = async (input: string): Promise<string | undefined> => {
    const capabilities = { "agent.delegate": ["child"], "cost.budget": ["USD:1.00"] };
    const id = await scene.submit({ input: JSON.stringify(input), capabilities });
    await turns(60);
    return (await scene.told(id)).slice(-2).join("; ");
  };
  assert.match((await lastOf("throw")) ?? "", /; internal_error$/);
  assert.match((await lastOf("stream")) ?? "", /"data":"all of it".*"more":false\}; undefined$/);
  assert.match((await lastOf("spend")) ?? "", /"spent"$/);
  assert.match((await lastOf("delegate")) ?? "", /grant_too_wide.*; \{"got":7\}$/);
});

test("a job fails with the same code, words and details here and elsewhere, and so its parent sees", async () => {
  await using scene = await Scene.open();
  const { runtime } = scene;
  const failures: Readonly<Record<string, Handler>> = {
    budget_exhausted: (_, context) => context.reserve("USD:2.00"),
    permission_denied: (_, context) => context.authorize("tool.call", "rm"),
    "permission_denied of the agent's own": () => {
      throw new ArcpError("PERMISSION_DENIED", "not you", { details: { who: "you" } });
    },
    grant_too_wide: (_, context) =>
      context.delegate({ agent: "lost", leaseRequest: { "fs.read": ["/**"] } }),
    worker_lost: async (_, context) => await (await context.delegate({ agent: "lost" })).done,
    ask_timeout: (_, context) => context.ask("Sure?", { timeoutMs: 1 }),
    key_reused: (_, context) =>
      Promise.all(["One?", "Other?"].map((prompt) => context.ask(prompt, { key: "k" }))),
    invalid_argument: (_, context) => context.emitEvent("mood", {}),
    internal_error: () => {
      throw new TypeError("boom");
    },
    OUT_OF_INK: () => {
      throw new ArcpError("OUT_OF_INK", "no ink", { retryable: true, details: { tray: 2 } });
    },
  };
  const fail: Handler = (input, context) => failures[String(input)]?.(input, context);
  new Cable(scene.workers, programOf(fail, { name: "elsewhere" }));
  using _here = runtime.registerAgentWith((parts) => new JobContext(parts), "here", fail);
  using _lost = runtime.registerAgent("lost", () => {
    throw new WorkError("worker_lost", "its worker was lost");
  });
  type Seen = Pick<WorkError, "code" | "toldCode" | "message" | "retryable" | "details">;
  const seen: Seen[] = [];
  using _parent = runtime.registerAgent("parent", async (input, context) => {
    const { agent, failure } = input as { readonly agent: string; readonly failure: string };
    const child = await context.delegate({ agent, input: failure, capabilities });
    await child.done.catch(({ code, toldCode, message, retryable, details }: WorkError) => {
      const text = JSON.stringify({ code, toldCode, message, retryable, details });
      seen.push(JSON.parse(text.replaceAll(/question_\d+/g, "question")));
    });
  });
  const capabilities = { "agent.delegate": ["*"], "cost.budget": ["USD:1.00"] };
  await turns();
  for (const failure of Object.keys(failures)) {
    for (const agent of ["here", "elsewhere"]) {
      const input = JSON.stringify({ agent, failure });
      const ending = runtime.ending(await scene.submit({ agent: "parent", input, capabilities }));
      await turns(40);
      await scene.pass(1);
      await turns(40);
      await ending;
    }
    const [here, elsewhere] = seen.splice(0);
    assert.deepEqual(elsewhere, here);
    assert.equal(here?.toldCode, failure.split(" ")[0]);
  }
});

const timedOut = {
  status: "timed_out",
  failure: {
    code: "job_timed_out",
    message: "the job ran longer than its agent's limit of 1000 ms",
    isRetryable: true,
  },
};

test("a job elsewhere that runs longer than its agent's limit is told to stop, and ends as timed_out", async () => {
  await using scene = await Scene.open();
  const { clock } = scene;
  const { promise: returned, resolve: finish } = Promise.withResolvers<string>();
  let signal: AbortSignal | undefined;
  const handler: Handler = (_, context) => {
    ({ signal } = context);
    return returned;
  };
  const before = clock.sleepers;
  const cable = new Cable(scene.workers, programOf(handler, { clock, timeoutMs: 1_000 }));
  await turns();
  const ending = scene.runtime.ending(await scene.submit());
  await turns(10);
  await clock.pass(999);
  assert.equal(signal?.aborted, false);
  await clock.pass(1);
  assert.match(String(signal?.reason), /longer than its agent's limit of 1000 ms/);
  finish("too late");
  assert.deepEqual(await ending, timedOut);
  await turns(10);
  assert.equal(cable.passed.filter((type) => type === "error").length, 1);
  assert.equal(clock.sleepers, before, "nothing is left of the limit");
});

test("a handler elsewhere that does not return in time ends after the grace of a cancelled job, and once", async () => {
  await using scene = await Scene.open();
  const { clock } = scene;
  const { promise: returned, resolve: finish } = Promise.withResolvers<string>();
  const program = programOf(() => returned, { clock, timeoutMs: 1_000 });
  const cable = new Cable(scene.workers, program);
  await turns();
  const id = await scene.submit();
  const ending = scene.runtime.ending(id);
  await turns(10);
  // What the worker says while nobody listens is said on its next connection.
  cable.cut();
  await clock.pass(1_000 + runtimeLimits.cancelGraceMs);
  finish("far too late");
  await turns(10);
  const next = new Cable(scene.workers, program);
  await turns(20);
  assert.deepEqual(await ending, timedOut);
  assert.deepEqual(
    next.passed.filter((type) => ["error", "result"].includes(type)),
    ["error"],
  );
  assert.equal(program.size, 0);
});

test("a job elsewhere within its limit ends as it returns, and one that is dropped leaves no limit behind", async () => {
  await using scene = await Scene.open();
  const { clock } = scene;
  const before = clock.sleepers;
  const { promise: never } = Promise.withResolvers<void>();
  const handler: Handler = (input) => (input === "wait" ? never : "done");
  new Cable(scene.workers, programOf(handler, { clock, timeoutMs: 1_000 }));
  await turns();
  const quick = await scene.submit();
  await turns(10);
  assert.deepEqual(await scene.told(quick), [begun, '"done"']);
  const jobId = await scene.submit({ input: '"wait"' });
  await turns(10);
  assert.equal(clock.sleepers, before + 1);
  const cancel = { type: "job.cancel", jobId, reason: "enough", graceMs: 0 } as const;
  await scene.plane.submit(cancel, { actor: "test" }, () => undefined);
  await scene.pass(1);
  assert.deepEqual(await scene.told(jobId), [begun, "job_cancelled"]);
  assert.equal(clock.sleepers, before);
});

test("a worker whose agent has a limit that is not greater than zero is refused", () => {
  for (const timeoutMs of [0, -1, Number.NaN]) {
    assert.throws(() => programOf(() => 1, { timeoutMs }), RangeError);
  }
});

test("a job elsewhere may have more children than a worker may have requests and events on their way", async () => {
  await using scene = await Scene.open();
  const { promise: go, resolve: letGo } = Promise.withResolvers<void>();
  using _child = scene.runtime.registerAgent("child", () => go);
  const count = Math.max(limits.requestsMax, limits.unacknowledgedMax) + 1;
  const program = programOf(async (_, context) => {
    const children: Promise<unknown>[] = [];
    for (let at = 0; at < count; at += 1) {
      children.push((await context.delegate({ agent: "child", input: at })).done);
    }
    return (await Promise.all(children)).length;
  });
  new Cable(scene.workers, program);
  await turns();
  const id = await scene.submit({ capabilities: { "agent.delegate": ["child"] } });
  const ending = scene.runtime.ending(id);
  while (scene.plane.peek(({ jobs }) => jobs.byId.size) <= count) await turns(60);
  letGo();
  assert.equal(resultOf(await ending), count);
});

test("[ARCP-178] a job elsewhere may ask anew for a child that was interrupted, and for no other by the same name", async () => {
  await using scene = await Scene.open();
  using _child = scene.runtime.registerAgent("child", () => new Promise(() => {}));
  const wanted = { agent: "child", delegateId: "d1" };
  const program = programOf(async (_, context) => {
    const first = await context.delegate(wanted);
    await assert.rejects(context.delegate(wanted), { code: "INVALID_REQUEST" });
    await assert.rejects(first.done, { code: "INTERNAL_ERROR" });
    const second = await context.delegate(wanted);
    return first.jobId !== second.jobId;
  });
  new Cable(scene.workers, program);
  await turns();
  const id = await scene.submit({ capabilities: { "agent.delegate": ["child"] } });
  await turns(40);
  const child = scene.runtime.delegation.childOf(id, "d1") ?? assert.fail();
  const lose = { type: "job.orphan", jobId: child.id, graceMs: 0 } as const;
  await scene.plane.submit(lose, { actor: "test" }, () => undefined);
  scene.plane.tick();
  await turns(60);
  assert.equal((await scene.told(id)).at(-1), "true");
});

test("what a job elsewhere says and spends is its own doing, and not its worker's", async () => {
  await using scene = await Scene.open();
  const dollar = parseAmount("USD:1") ?? assert.fail();
  const actors = new Map<string, string>();
  using _tap = scene.plane.tap((entries) => {
    for (const { actor, event } of entries) actors.set(event.type, actor);
  });
  const program = programOf(async (_, context) => {
    await context.log("info", "one");
    const set = await context.reserve(dollar);
    await set.settle(dollar);
  });
  new Cable(scene.workers, program);
  await turns();
  const id = await scene.submit({ capabilities: { "cost.budget": ["USD:1.00"] } });
  await turns(40);
  for (const type of ["job.emitted", "job.reserved", "job.settled", "job.ended"]) {
    assert.equal(actors.get(type), `job/${id}`, type);
  }
});

test("what a tool elsewhere spends is counted at once and once, also after its job has ended", async () => {
  await using scene = await Scene.open();
  const late = Promise.withResolvers<void>();
  const program = programOf(async (_, context) => {
    await context.callTool({ tool: "ask", costMax: "USD:10" }, async (spend) => {
      spend("USD:4");
      await context.log("info", "one");
    });
    await context.callTool({ tool: "ask" }, async (spend) => {
      spend("USD:5");
      await late.promise;
      spend("USD:0.50");
    });
  });
  const cable = new Cable(scene.workers, program);
  await turns();
  const id = await scene.submit({ runMsMax: 5_000, capabilities: { "tool.call": ["ask"] } });
  await turns(40);
  const cost = (): string | undefined =>
    scene.plane.peek(({ jobs }) => costOf(jobs, id).map(({ total }) => printDecimal(total))[0]);
  assert.equal(cost(), "9");
  cable.cut();
  await turns(10);
  const second = new Cable(scene.workers, program);
  await turns(20);
  assert.equal(cost(), "9", "what was kept is not counted again");
  await scene.pass(5_000);
  assert.equal((await scene.told(id)).at(-1), "job_timed_out");
  late.resolve();
  await turns(20);
  assert.equal(cost(), "9.50");
  assert.deepEqual(second.refused, []);
});

test("a worker that was cut off goes on, and says again only what was not kept", async () => {
  await using scene = await Scene.open();
  const gate = new Gate();
  const program = programOf(gate.handler);
  const cable = new Cable(scene.workers, program);
  await turns();
  const id = await scene.submit();
  await turns(10);
  cable.cut();
  gate.open();
  await scene.pass(graceMs - 1);
  new Cable(scene.workers, program);
  await turns(20);
  assert.deepEqual(await scene.told(id), [begun, one, two, '"done"']);
  assert.equal(gate.starts, 1);
  await scene.pass(2 * graceMs);
  assert.equal(scene.workers.size, 1, "it is there");
});

test("a worker goes on when the runtime was started anew on its log", async () => {
  await using scene = await Scene.open();
  const gate = new Gate();
  const program = programOf(gate.handler);
  const cable = new Cable(scene.workers, program);
  await turns();
  const id = await scene.submit();
  await turns(10);
  await scene.stop();
  cable.cut();
  gate.open();
  await turns();
  await scene.start();
  await scene.pass(1_000);
  const second = new Cable(scene.workers, program);
  await turns(20);
  assert.deepEqual(await scene.told(id), [begun, one, two, '"done"']);
  assert.equal(gate.starts, 1);
  assert.deepEqual(second.refused, []);
  const next = await scene.submit();
  await turns(10);
  gate.open();
  await turns(10);
  assert.equal((await scene.told(next)).at(-1), '"done"', "it gets new work from the new runtime");
});

test("a job whose worker stays away is offered to another if it may be run again, and ends if not", async () => {
  for (const isIdempotent of [true, false]) {
    await using scene = await Scene.open();
    const [lost, other] = [new Gate(), new Gate()];
    const cable = new Cable(scene.workers, programOf(lost.handler, { isIdempotent }));
    await turns();
    const id = await scene.submit();
    await turns(10);
    cable.cut();
    new Cable(scene.workers, programOf(other.handler, { isIdempotent }));
    await turns(10);
    assert.equal(other.starts, 0, "it may come back");
    await scene.pass(graceMs);
    other.open();
    await turns(20);
    const told = await scene.told(id);
    assert.deepEqual(
      told,
      isIdempotent ? [begun, one, begun, one, two, '"done"'] : [begun, one, "worker_lost"],
    );
    await scene.pass(graceMs);
    assert.equal(scene.workers.size, 1, "who stayed away is forgotten");
  }
});

test("whoever runs the runtime is told of workers that are away, of jobs that lose theirs, and where an agent failed", async () => {
  const { logger, lines } = collectLines();
  await using scene = await Scene.open();
  await scene.stop();
  await scene.start({}, { logger });
  const offers = [
    { name: "again", handler: new Gate().handler, isIdempotent: true },
    { name: "once", handler: new Gate().handler },
  ];
  const cable = new Cable(scene.workers, new WorkerProgram({ offers, workerId: "wrk_of_test" }));
  await turns();
  const ids = [await scene.submit({ agent: "again" }), await scene.submit({ agent: "once" })];
  await turns(10);
  cable.cut();
  await scene.pass(graceMs);
  await scene.pass(graceMs);
  assert.deepEqual(
    lines.splice(0).map(({ level, message }) => `${level} ${message}`),
    [
      "info worker remote/worker/wrk_of_test is away",
      `warn ${ids[0]} has lost its worker, and is run again`,
      `warn ${ids[1]} has lost its worker, and has failed`,
      "warn worker remote/worker/wrk_of_test has not come back, and is forgotten",
    ],
  );
  const fails: Handler = (_, context) => {
    context.logger.info("about to fail");
    throw new Error("boom");
  };
  new Cable(
    scene.workers,
    new WorkerProgram({ offers: [{ name: "fails", handler: fails }], logger }),
  );
  await turns();
  const jobId = await scene.submit({ agent: "fails" });
  await turns(10);
  const about = { jobId, agent: "fails" };
  assert.deepEqual(lines, [
    { level: "info", message: "about to fail", fields: about },
    {
      level: "error",
      message: `agent fails failed in ${jobId}`,
      fields: { ...about, error: new Error("boom") },
    },
  ]);
});

test("a result of a worker elsewhere that is nested too deep to be read fails the job", async () => {
  await using scene = await Scene.open();
  const program = programOf(() => JSON.parse("[".repeat(8_000) + "]".repeat(8_000)));
  new Cable(scene.workers, program);
  await turns();
  const id = await scene.submit();
  await turns(20);
  assert.deepEqual(await scene.told(id), [begun, "internal_error"]);
});

test("a worker that is back and has a job no more loses it at once", async () => {
  await using scene = await Scene.open();
  const gate = new Gate();
  const offers = [{ name: "agent", handler: gate.handler, isIdempotent: true }];
  const workerId = "wrk_the_same_id";
  const cable = new Cable(scene.workers, new WorkerProgram({ offers, workerId }));
  await turns();
  const id = await scene.submit();
  await turns(10);
  cable.cut();
  new Cable(scene.workers, new WorkerProgram({ offers, workerId }));
  await turns(10);
  gate.open();
  await turns(20);
  assert.deepEqual(await scene.told(id), [begun, one, begun, one, two, '"done"']);
});

test("a job that never arrived is sent again to the process that it was meant for", async () => {
  await using scene = await Scene.open();
  const gate = new Gate();
  const program = programOf(gate.handler);
  const cable = new Cable(scene.workers, program);
  await turns();
  cable.flow(false);
  const id = await scene.submit();
  await turns(10);
  cable.cut();
  new Cable(scene.workers, program);
  await turns(10);
  gate.open();
  await turns(20);
  assert.deepEqual(await scene.told(id), [begun, one, two, '"done"']);
});

test("what a worker is told to forget has ended for good: a crash cannot bring it back", async () => {
  await using scene = await Scene.open();
  const gate = new Gate();
  const program = programOf(gate.handler);
  const cable = new Cable(scene.workers, program);
  await turns();
  await scene.submit();
  await turns(10);
  scene.held = [];
  gate.open();
  await turns(10);
  cable.cut();
  const second = new Cable(scene.workers, program);
  await turns(10);
  assert.deepEqual([second.passed, program.size], [["offer"], 1], "its end is decided, not kept");
  for (const commit of scene.held.splice(0)) commit();
  scene.held = undefined;
  await turns(10);
  assert.deepEqual([second.passed[1], program.size], ["welcome", 0]);
});

test("a child's job is lost with its pipes", async () => {
  await using scene = await Scene.open();
  const gate = new Gate();
  const cable = new Cable(scene.workers, programOf(gate.handler), { canReturn: false });
  await turns();
  const id = await scene.submit();
  await turns(10);
  cable.cut();
  await turns(10);
  assert.deepEqual(await scene.told(id), [begun, one, "worker_lost"]);
});

test("when the runtime stops, a child's job is lost, and what another has waits for it whole", async () => {
  await using scene = await Scene.open();
  const [child, other] = [new Gate(), new Gate()];
  const cables = [
    new Cable(scene.workers, programOf(child.handler, { name: "child" }), { canReturn: false }),
    new Cable(scene.workers, programOf(other.handler)),
  ];
  await turns();
  const lost = await scene.submit({ agent: "child" });
  const kept = await scene.submit();
  await turns(10);
  scene.workers[Symbol.dispose]();
  for (const cable of cables) cable.cut();
  await turns(10);
  assert.deepEqual(await scene.told(lost), [begun, one, "worker_lost"]);
  const job = await scene.plane.read(({ jobs }) => jobs.byId.get(kept));
  assert(job?.state === "running" && job.orphanedUntilMs === undefined);
});

test("the newer connection of a worker takes the place of the older; another's does not", async () => {
  await using scene = await Scene.open();
  const gate = new Gate();
  const program = programOf(gate.handler);
  const older = new Cable(scene.workers, program);
  await turns();
  const id = await scene.submit();
  await turns(10);
  older.flow(false);
  const newer = new Cable(scene.workers, program);
  await turns(10);
  older.flow(true);
  const { workerId } = program;
  const offers = [{ name: "agent", handler: () => "stolen" }];
  new Cable(scene.workers, new WorkerProgram({ offers, workerId }), { principal: "eve" });
  await turns(10);
  gate.open();
  await turns(20);
  assert.deepEqual(await scene.told(id), [begun, one, two, '"done"']);
  assert.deepEqual([older.refused, newer.refused], [[], []]);
  assert.equal(older.passed.at(-1), "refused");
});

test("an offer that arrives after that of a newer connection takes no job away", async () => {
  await using scene = await Scene.open();
  const gate = new Gate();
  const program = programOf(gate.handler);
  new Cable(scene.workers, program);
  await turns();
  const delayed = new Cable(scene.workers, program, { isFlowing: false });
  new Cable(scene.workers, program);
  await turns(10);
  const id = await scene.submit();
  await turns(10);
  delayed.flow(true);
  await turns(10);
  gate.open();
  await turns(20);
  assert.deepEqual(await scene.told(id), [begun, one, two, '"done"']);
  assert.equal(gate.starts, 1);
});

test("cancellation reaches a worker, also one that was cut off when it was asked for", async () => {
  await using scene = await Scene.open();
  const reasons: string[] = [];
  const program = programOf(
    (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          reasons.push(signal.reason.message);
          reject(signal.reason);
        });
      }),
  );
  const cable = new Cable(scene.workers, program);
  await turns();
  const [first, second] = [await scene.submit(), await scene.submit()];
  await turns(10);
  const cancel = async (jobId: JobId): Promise<void> => {
    const command = { type: "job.cancel", jobId, reason: "enough", graceMs: 30_000 } as const;
    await scene.plane.submit(command, { actor: "test" }, () => undefined);
  };
  await cancel(first);
  await turns(10);
  assert.equal((await scene.told(first)).at(-1), "job_cancelled");
  cable.cut();
  await cancel(second);
  new Cable(scene.workers, program);
  await turns(10);
  assert.equal((await scene.told(second)).at(-1), "job_cancelled");
  assert.deepEqual(reasons, ["enough", "enough"]);
});

test("a worker gets no more jobs than it takes at once, and none after it has said that it leaves", async () => {
  await using scene = await Scene.open();
  const gate = new Gate();
  const program = programOf(gate.handler);
  new Cable(scene.workers, program);
  await turns();
  for (let job = 0; job < 5; job += 1) await scene.submit();
  await turns(10);
  assert.equal(gate.starts, 2);
  const left = program.leave();
  await turns();
  gate.open();
  await left;
  await turns(10);
  assert.equal(gate.starts, 2);
});

test("who may not work is told so, and who makes no sense too", async () => {
  const mayWork = (principal: string): boolean => principal === "worker";
  await using scene = await Scene.open({ mayWork });
  const refusals: unknown[] = [];
  const say = (
    principal: string,
    ...frames: [string, Readonly<Record<string, unknown>>][]
  ): void => {
    const send = (_: string, { code }: Readonly<Record<string, unknown>>): void => {
      if (code !== undefined) refusals.push(code);
    };
    const attached = scene.workers.attach({ sessionId: "sess_1", principal, send });
    for (const [type, payload] of frames) {
      attached.receive(`x-vendor.tipstaff.worker.${type}`, payload);
    }
    attached.detached();
  };
  const worker_id = "wrk_12345678";
  const offers = [{ name: "agent" }];
  say("eve", ["offer", { worker_id, offers }]);
  say("worker", ["taken", { job_id: "job_1", attempt: 1 }]);
  say("worker", ["offer", { worker_id, offers: [{ name: "No Name" }] }]);
  say("worker", ["offer", { worker_id: "../..", offers }]);
  say("worker", ["offer", { worker_id, offers, jobs_at_once: 1e9 }]);
  say("worker", ["offer", { worker_id, offers }], ["offer", { worker_id, offers }]);
  assert.deepEqual(refusals, ["not_allowed", ...Array(5).fill("malformed")]);
  assert.deepEqual(scene.runtime.catalogue.list().length, 1);
  say("eve", ["offer", { worker_id, offers: [{ name: "agent", idempotent: true }] }]);
  const resolved = scene.runtime.catalogue.resolve("agent");
  assert.deepEqual(resolved, { agent: "agent", isRepeatable: false });
});

test("a job that is too long for its worker to read fails, and is not sent", async () => {
  await using scene = await Scene.open();
  const sent: string[] = [];
  const send = (type: string): void => void sent.push(type);
  const worker = scene.workers.attach({ sessionId: "sess_1", principal: "worker", send });
  worker.receive("x-vendor.tipstaff.worker.offer", {
    worker_id: "wrk_12345678",
    offers: [{ name: "agent" }],
    frame_bytes_max: 8_192,
  });
  await turns();
  // Two bytes each.
  const capabilities = { "tool.call": ["é".repeat(3_000)] };
  const id = await scene.submit({ capabilities });
  await turns();
  assert.deepEqual(await scene.told(id), [begun, "internal_error"]);
  assert.deepEqual(sent, ["x-vendor.tipstaff.worker.welcome"]);
});

test("a handler that never waits for its words is stopped before they fill the memory", async () => {
  await using scene = await Scene.open();
  let refused = "";
  const program = programOf(async (_, context) => {
    for (let word = 0; word < clientLimits.unsentMax + 2 * limits.unacknowledgedMax; word += 1) {
      void context.log("info", "x").catch((error: Error) => {
        refused = error.message;
      });
    }
    return "ok";
  });
  new Cable(scene.workers, program);
  await turns();
  const id = await scene.submit();
  await turns(60);
  const told = await scene.told(id);
  assert.match(refused, /wait for some of it/);
  assert.equal(told.at(-1), '"ok"');
  const kept = told.length - 2;
  assert(
    kept >= clientLimits.unsentMax && kept <= clientLimits.unsentMax + limits.unacknowledgedMax,
    `${kept}`,
  );
});

test("there are only so many agents; more workers for those that are there come in", async () => {
  await using scene = await Scene.open();
  const answers: string[] = [];
  const offer = (worker: number, names: number): void => {
    const send = (type: string, { code }: Readonly<Record<string, unknown>>): void =>
      void answers.push(String(code ?? type.split(".").at(-1)));
    const attached = scene.workers.attach({ sessionId: "sess_1", principal: "worker", send });
    const offers = Array.from({ length: 1_000 }, (_, at) => ({ name: `agent-${names}-${at}` }));
    const payload = { worker_id: `wrk_1234567${worker}`, offers };
    attached.receive("x-vendor.tipstaff.worker.offer", payload);
  };
  for (let worker = 0; worker < 10; worker += 1) offer(worker, worker);
  offer(10, 10);
  offer(11, 0);
  await turns();
  assert.deepEqual(answers.toSorted(), ["limit_reached", ...Array(11).fill("welcome")]);
});
