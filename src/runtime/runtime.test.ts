import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import {
  costOf,
  type Job,
  type JobId,
  jobId,
  parseAmount,
  printDecimal,
  sessionId,
} from "../core/index.ts";
import { type Log, SqliteLog } from "../log/index.ts";
import type { Plane } from "../plane/index.ts";
import { openSession } from "../testing/commands.ts";
import type { ManualClock } from "../testing/manual-clock.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { openPlane, turns } from "../testing/test-plane.ts";
import type { Delegated, RunContext } from "./context.ts";
import { WorkError } from "./errors.ts";
import type { Handler } from "./in-process.ts";
import { limits } from "./limits.ts";
import { type Around, type JobRequest, Runtime, type RuntimeOptions } from "./runtime.ts";
import type { Worker } from "./worker.ts";

class Scene implements AsyncDisposable {
  readonly clock: ManualClock;
  readonly plane: Plane;
  readonly runtime: Runtime;

  private constructor(plane: Plane, runtime: Runtime, clock: ManualClock) {
    this.plane = plane;
    this.runtime = runtime;
    this.clock = clock;
  }

  static async open({
    log,
    ...options
  }: Partial<RuntimeOptions> & { readonly log?: Log } = {}): Promise<Scene> {
    const { plane, clock } = await openPlane(log && { log });
    const onFault = (fault: unknown): void => {
      throw fault;
    };
    let ids = 0;
    const newId = (kind: string): string => `${kind}_${++ids}`;
    const runtime = new Runtime({ plane, newId, onFault, ...options });
    await plane.submit(openSession("ada"), { actor: "test" }, () => undefined);
    return new Scene(plane, runtime, clock);
  }

  /** The job's events and how it ended, in words. */
  async run(handler: Handler, parts: Partial<JobRequest> = {}): Promise<readonly string[]> {
    using _agent = this.runtime.registerAgent("agent", handler);
    const id = await this.submit(parts);
    const outcome = await this.runtime.ending(id);
    const told = await this.told(id);
    if (outcome.status === "success")
      return [...told, `success ${outcome.result ?? outcome.streamed?.bytes}`];
    return [...told, `${outcome.status} ${outcome.failure.code} ${outcome.failure.message}`];
  }

  async submit(parts: Partial<JobRequest> = {}): Promise<JobId> {
    const { value, refusal } = await this.runtime.submit({
      agent: "agent",
      input: '{"x":1}',
      sessionId: sessionId("sess_ada"),
      principal: "ada",
      requestId: `request ${Math.random()}`,
      traceId: "1".repeat(32),
      ...parts,
    });
    if (refusal) assert.fail(refusal.message);
    return value.job.id;
  }

  async told(id: JobId): Promise<readonly string[]> {
    const told: string[] = [];
    for await (const { event } of this.plane.stream(`job/${id}`)) {
      if (event.type === "job.emitted") told.push(`${event.kind} ${event.body}`);
    }
    return told;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.runtime[Symbol.dispose]();
    await this.plane[Symbol.asyncDispose]();
  }
}

/** Takes jobs, and does nothing about them. */
function idle(id: string, jobsAtOnce: number): Worker {
  const offers = [{ name: "agent", isRepeatable: false }];
  const nothing = (): void => undefined;
  return { id, isRemote: false, offers, jobsAtOnce, run: nothing, cancel: nothing, drop: nothing };
}

const dollar = parseAmount("USD:1") ?? assert.fail();

const begun = 'status {"phase":"running"}';

test("[ARCP-87] [ARCP-105] a handler gets its input, says things, and its result is the job's", async () => {
  await using scene = await Scene.open();
  const told = await scene.run(async (input, context) => {
    void context.log("info", "hello", { input });
    await context.progress(1, { total: 2 });
    return { echoed: input };
  });
  assert.deepEqual(told, [
    begun,
    'log {"level":"info","message":"hello","attributes":{"input":{"x":1}}}',
    'progress {"current":1,"total":2}',
    'success {"echoed":{"x":1}}',
  ]);
});

test("[ARCP-105] a handler that throws fails the job in its own words; a result that is no JSON does too", async () => {
  await using scene = await Scene.open();
  const words = async (handler: Handler): Promise<string | undefined> =>
    (await scene.run(handler)).at(-1);
  assert.equal(
    await words(() => {
      throw new TypeError("boom");
    }),
    "error internal_error boom",
  );
  assert.equal(
    await words((_, context) => context.authorize("fs.read", "/etc/passwd")),
    'error permission_denied this job may not do that: fs.read of "/etc/passwd"',
  );
  assert.match((await words(() => 1n)) ?? "", /^error internal_error .*JSON/);
  assert.equal(await words(() => undefined), "success undefined");
  assert.equal(await words(() => null), "success null");
});

test("[ARCP-105] a job ends whatever its handler threw: details that JSON cannot carry are left out, words that are none too", async () => {
  await using scene = await Scene.open();
  const last = async (error: unknown): Promise<string | undefined> => {
    const told = await scene.run(() => {
      throw error;
    });
    return told.at(-1);
  };
  const itself: Record<string, unknown> = {};
  itself["itself"] = itself;
  const cyclic = new WorkError("permission_denied", "no", { details: itself });
  assert.equal(await last(cyclic), "error permission_denied no");
  const wordless = Object.assign(new Error(), { message: { text: "boom" } });
  assert.equal(await last(wordless), "error internal_error it failed");
  const badlyPut = Object.assign(new WorkError("job_timed_out", "x"), { message: 7 });
  assert.equal(await last(badlyPut), "error job_timed_out job_timed_out");
  assert.equal(await last("a bare text"), "error internal_error a bare text");
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  assert.equal(await last(proxy), "error internal_error it failed");
  const long = await last(new Error("x".repeat(1_000_000)));
  assert.equal(long?.length, "error internal_error ".length + limits.wordsLengthMax);
});

test("what no message can carry is refused, and a result of that kind fails its job", async () => {
  await using scene = await Scene.open();
  const long = "é".repeat(limits.bodyBytesMax / 2);
  let deep: unknown[] = [];
  for (let level = 0; level < 1_000; level += 1) deep = [deep];
  const refused = { code: "invalid_argument" };
  const told = await scene.run(async (_, context) => {
    await assert.rejects(context.log("info", long), refused);
    await assert.rejects(context.log("info", "x", { deep }), refused);
    await context.log("info", "fine");
  });
  const running = 'status {"phase":"running"}';
  assert.deepEqual(told, [running, 'log {"level":"info","message":"fine"}', "success undefined"]);
  const tooLong = "error internal_error the result is too large for one message";
  assert.deepEqual(await scene.run(() => long), [running, tooLong]);
  const tooDeep = "error internal_error the result is nested too deep";
  assert.deepEqual(await scene.run(() => deep), [running, tooDeep]);
  const streaming = await scene.run(async (_, context) => {
    const stream = context.streamResult();
    await assert.rejects(stream.finalize({ summary: {} as string }), refused);
    throw new Error("as it should");
  });
  assert.equal(streaming.at(-1), "error internal_error as it should");
});

test("amounts are given as they are written, and what is none is refused before it is kept", async () => {
  await using place = await temporaryDirectory();
  const kept = async (run: Handler): Promise<readonly string[]> => {
    await using log = SqliteLog.open(place.path);
    await using scene = await Scene.open({ log });
    return await scene.run(run, { capabilities: { "cost.budget": ["USD:1"] } });
  };
  const none = [
    "USD",
    "USD:-1",
    "",
    7,
    undefined,
    { currency: "USD" },
    { currency: "€", value: { units: 1n, scale: 2 } },
    { currency: "USD", value: { units: -500n, scale: 2 } },
    { currency: "USD", value: { units: 5, scale: 2 } },
    { currency: "USD", value: { units: 1n, scale: 1e9 } },
  ] as unknown[] as string[];
  const refused = { code: "invalid_argument" };
  const told = await kept(async (_, context) => {
    for (const each of none) await assert.rejects(context.reserve(each), refused);
    const open = await context.reserve("USD:0.60");
    for (const each of none) await assert.rejects(open.settle(each), refused);
    await assert.rejects(context.reserve("USD:0.50"), { code: "budget_exhausted" });
    await open.settle("USD:0.10", { currency: "USD", value: { units: 1n, scale: 1 } });
    return context.budget;
  });
  assert.match(told.at(-1) ?? "", /^success \{"USD":\{"decimal":"0.80","value":0.8\}\}$/);
  assert.equal((await kept(() => "read again")).at(-1), 'success "read again"');
});

test("[ARCP-121] [ARCP-122] [ARCP-156] words that are none are told to who says them, and to nobody else", async () => {
  await using scene = await Scene.open();
  const told = await scene.run(async (_, context) => {
    await assert.rejects(context.emitEvent("", {}), { code: "invalid_argument" });
    await assert.rejects(context.metric({ name: "x", value: Number.NaN }), {
      code: "invalid_argument",
      message: "body.value must be a finite number",
      details: { path: "body.value" },
    });
    await assert.rejects(context.metric({ name: "cost.x", value: -1, unit: "USD" }), {
      code: "invalid_argument",
    });
    return "ok";
  });
  assert.deepEqual(told, [begun, 'success "ok"']);
});

test("each kind of our own has its rule, and any other kind is carried unchanged", async () => {
  await using scene = await Scene.open();
  const told = await scene.run(async (_, context) => {
    await context.artifact({ uri: "file:///a", name: "a", mimeType: "text/plain", sizeBytes: 3 });
    await context.textDelta("once upon");
    await context.error("the mirror is slow");
    await context.emitEvent("progress", { message: "nearly there" });
    await context.emitEvent("mood", ["any", { json: null }]);
    const refused: readonly (readonly [kind: string, body: unknown])[] = [
      ["progress", {}],
      ["progress", { current: -1 }],
      ["artifact", { name: "a" }],
      ["text_delta", { text: 7 }],
      ["error", { message: "no", code: 7 }],
      ["tool_result", { call_id: "c", error: { code: "", message: "no", retryable: false } }],
    ];
    for (const [kind, body] of refused) {
      await assert.rejects(context.emitEvent(kind, body), { code: "invalid_argument" }, kind);
    }
    return "ok";
  });
  assert.deepEqual(told.slice(1), [
    'artifact {"name":"a","uri":"file:///a","mime_type":"text/plain","size_bytes":3}',
    'text_delta {"text":"once upon"}',
    'error {"message":"the mirror is slow","code":null}',
    'progress {"message":"nearly there"}',
    'mood ["any",{"json":null}]',
    'success "ok"',
  ]);
});

test("what a tool reports as spent is counted, with costMax and without, also where the tool fails", async () => {
  await using scene = await Scene.open();
  const told = await scene.run(
    async (_, context) => {
      await context.callTool({ tool: "ask" }, (spend) => spend("USD:0.02"));
      await context.callTool({ tool: "ask", costMax: "USD:0.50" }, (spend) => spend("USD:0.10"));
      const failing = context.callTool({ tool: "ask" }, (spend) => {
        spend("USD:0.30");
        spend("EUR:1");
        throw new Error("upstream is down");
      });
      await assert.rejects(failing, /upstream is down/);
      await context.callTool({ tool: "ask" }, () => "free");
      return context.budget;
    },
    { capabilities: { "cost.budget": ["USD:1.00"], "tool.call": ["ask"] } },
  );
  assert.equal(told.at(-1), 'success {"USD":{"decimal":"0.58","value":0.58}}');
});

test("what a tool reports as spent is counted at once, though its job ends before the tool does", async () => {
  await using scene = await Scene.open();
  const unwound = Promise.withResolvers<void>();
  using _agent = scene.runtime.registerAgent("agent", async (_, context) => {
    const call = async (costMax?: string): Promise<void> => {
      const tool = { tool: "ask", ...(costMax !== undefined && { costMax }) };
      await context.callTool(tool, async (spend) => {
        spend("USD:5");
        spend("EUR:2");
        await once(context.signal, "abort");
        spend("USD:0.50");
      });
    };
    await Promise.allSettled([call(), call("USD:10")]);
    unwound.resolve();
  });
  const id = await scene.submit({ runMsMax: 5_000, capabilities: { "tool.call": ["ask"] } });
  const ending = scene.runtime.ending(id);
  await turns(10);
  const costs = (): readonly string[] =>
    scene.plane.peek(({ jobs }) =>
      costOf(jobs, id).map(({ currency, total }) => `${currency} ${printDecimal(total)}`),
    );
  assert.deepEqual(costs(), ["USD 10", "EUR 4"]);
  scene.clock.leap(5_000);
  scene.plane.tick();
  assert.equal((await ending).status, "timed_out");
  await unwound.promise;
  // 5.50 by the first call; all that was set aside for the second one, which its end has counted.
  assert.deepEqual(costs(), ["USD 15.50", "EUR 4"]);
});

test("two costs of 1e308 are refused, and every event of the job can be read again", async () => {
  await using scene = await Scene.open();
  const told = await scene.run(
    async (_, context) => {
      for (let call = 1; call <= 2; call += 1) {
        await assert.rejects(context.metric({ name: "cost.model", value: 1e308, unit: "USD" }), {
          code: "invalid_argument",
          message: /above the limit of 1000000000000000/,
        });
      }
      await context.metric({ name: "cost.model", value: 1e15, unit: "USD" });
      await context.metric({ name: "cost.model", value: 1e15, unit: "USD" });
      return "ok";
    },
    { capabilities: { "cost.budget": ["USD:1.00"] } },
  );
  const rests = told.flatMap((line) => /remaining","value":(-?[\d.]+)/.exec(line)?.[1] ?? []);
  assert.deepEqual(rests, ["-999999999999999", "-1999999999999999"]);
  for (const line of told.slice(0, -1)) JSON.parse(line.slice(line.indexOf("{")));
});

test("[ARCP-157] [ARCP-158] four calls of 30 cents run on a dollar, the rest is told, and the fifth is refused", async () => {
  await using scene = await Scene.open();
  const told = await scene.run(
    async (_, context) => {
      for (let call = 1; call <= 5; call += 1) {
        await context.authorize("tool.call", "ask");
        await context.metric({ name: "cost.model", value: 0.3, unit: "USD" });
      }
    },
    { capabilities: { "cost.budget": ["USD:1.00"], "tool.call": ["ask"] } },
  );
  const rests = told.flatMap((line) => /remaining","value":(-?[\d.]+)/.exec(line)?.[1] ?? []);
  assert.deepEqual(rests, ["0.7", "0.4", "0.1", "-0.2"]);
  assert.match(told.at(-1) ?? "", /^error budget_exhausted/);
  assert.equal(told.filter((line) => line.includes('"cost.model"')).length, 4);
});

test("[ARCP-146] [ARCP-201] a tool that is not allowed is told as called and refused; one that is, as called and done", async () => {
  await using scene = await Scene.open();
  const costMax = parseAmount("USD:0.60");
  assert(costMax);
  const told = await scene.run(
    async (_, context) => {
      await assert.rejects(
        context.callTool({ tool: "rm" }, () => 0),
        { code: "permission_denied" },
      );
      const both = await Promise.allSettled([
        context.callTool({ tool: "ask", costMax }, () => "yes"),
        context.callTool({ tool: "ask", costMax }, () => "too much"),
      ]);
      return both.map(({ status }) => status);
    },
    { capabilities: { "cost.budget": ["USD:1.00"], "tool.call": ["ask"] } },
  );
  assert.match(told[1] ?? "", /^tool_call \{"tool":"rm","call_id":"call_\d+"\}$/);
  assert.match(told[2] ?? "", /^tool_result .*"permission_denied"/);
  assert.equal(told.at(-1), 'success ["fulfilled","rejected"]');
});

test("what a tool threw is what is heard, though the job is over by then; what cannot be settled then is attempt_over", async () => {
  await using scene = await Scene.open();
  const heard: unknown[] = [];
  const { promise: unwound, resolve } = Promise.withResolvers<void>();
  const told = scene.run(
    async (_, context) => {
      const { signal } = context;
      const open = await context.reserve(dollar);
      const broken = context.callTool({ tool: "ask", costMax: dollar }, async () => {
        await once(signal, "abort");
        throw new Error("the tool broke");
      });
      await broken.catch((error: Error) => heard.push(error.message));
      await open.settle(dollar).catch((error: WorkError) => heard.push(error.code));
      const late = context.callTool({ tool: "ask", costMax: dollar }, () => heard.push("called"));
      await late.catch((error: WorkError) => heard.push(error.code));
      resolve();
    },
    {
      runMsMax: 5_000,
      capabilities: { "cost.budget": ["USD:3.00"], "tool.call": ["ask"] },
    },
  );
  await turns(10);
  scene.clock.leap(5_000);
  scene.plane.tick();
  assert.match((await told).at(-1) ?? "", /^timed_out/);
  await unwound;
  assert.deepEqual(heard, ["the tool broke", "attempt_over", "attempt_over"]);
});

test("[ARCP-124] [ARCP-127] a streamed result is told in pieces, the last of which says so; what is returned beside it is left out", async () => {
  await using scene = await Scene.open();
  const told = await scene.run(async (_, context) => {
    const stream = context.streamResult({ resultId: "res_1" });
    await stream.write("one ");
    await stream.write(new TextEncoder().encode("two"));
    return "not this";
  });
  assert.match(
    told[2] ?? "",
    /^log \{"level":"warn","message":"what the agent returned is left out/,
  );
  assert.deepEqual(told.toSpliced(2, 1).slice(1), [
    'result_chunk {"result_id":"res_1","chunk_seq":0,"data":"one ","encoding":"utf8","more":true}',
    'result_chunk {"result_id":"res_1","chunk_seq":1,"data":"dHdv","encoding":"base64","more":false}',
    "success 7",
  ]);
});

test("[ARCP-200] an agent knows what is left to spend, exactly and as a number", async () => {
  await using scene = await Scene.open();
  const told = await scene.run(
    async (_, context) => {
      const before = context.budget;
      await context.metric({ name: "cost.model", value: 0.42, unit: "USD" });
      await context.metric({ name: "cost.model", value: 2, unit: "credits" });
      return [before, context.budget];
    },
    { capabilities: { "cost.budget": ["USD:0.30", "USD:0.1", "credits:1"] } },
  );
  const before = { USD: { decimal: "0.40", value: 0.4 }, credits: { decimal: "1", value: 1 } };
  const after = { USD: { decimal: "-0.02", value: -0.02 }, credits: { decimal: "-1", value: -1 } };
  assert.equal(told.at(-1), `success ${JSON.stringify([before, after])}`);
});

test("[ARCP-160] an upstream's limit for spending is a spent budget, of a tool and of the job", async () => {
  const isSpendLimit = (error: unknown): boolean =>
    error instanceof Error && error.message.startsWith("429 quota");
  await using scene = await Scene.open({ isSpendLimit });
  const told = await scene.run(
    (_, context) =>
      context.callTool({ tool: "ask" }, () => {
        throw new Error("429 quota exceeded");
      }),
    { capabilities: { "tool.call": ["ask"] } },
  );
  assert.match(told[2] ?? "", /"code":"budget_exhausted".*"retryable":false/);
  assert.equal(told.at(-1), "error budget_exhausted 429 quota exceeded");
  const ended = await scene.run(() => {
    throw new Error("429 quota exceeded");
  });
  assert.equal(ended.at(-1), "error budget_exhausted 429 quota exceeded");
  const other = await scene.run(() => {
    throw new Error("429 slow down");
  });
  assert.equal(other.at(-1), "error internal_error 429 slow down");
});

test("a cancelled job aborts its handler and ends when that has unwound", async () => {
  await using scene = await Scene.open();
  const unwound: string[] = [];
  const waiting: Handler = (_, { signal }: RunContext) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => {
        unwound.push(String(signal.reason.message));
        reject(signal.reason);
      });
    });
  using _agent = scene.runtime.registerAgent("agent", waiting);
  const id = await scene.submit();
  await turn();
  const cancel = { type: "job.cancel", jobId: id, reason: "enough", graceMs: 30_000 } as const;
  await scene.plane.submit(cancel, { actor: "test" }, () => undefined);
  const outcome = await scene.runtime.ending(id);
  assert.equal(outcome.status, "cancelled");
  assert.deepEqual(unwound, ["enough"]);
});

test("[ARCP-107] a job that ran too long has ended, whatever its handler does", async () => {
  await using scene = await Scene.open();
  let signal: AbortSignal | undefined;
  using _agent = scene.runtime.registerAgent("agent", (_, context) => {
    signal = context.signal;
    return new Promise(() => {});
  });
  const id = await scene.submit({ runMsMax: 5_000 });
  await turn();
  const ending = scene.runtime.ending(id);
  scene.clock.leap(5_000);
  scene.plane.tick();
  assert.equal((await ending).status, "timed_out");
  assert.equal(signal?.aborted, true);
});

test("[ARCP-107] a job that waits for an agent that is gone does so no longer than it may take", async () => {
  await using scene = await Scene.open();
  const agent = scene.runtime.registerAgent("agent", () => "done", { jobsAtOnce: 0 });
  const id = await scene.submit({ runMsMax: 5_000 });
  agent[Symbol.dispose]();
  const ending = scene.runtime.ending(id);
  scene.clock.leap(5_000);
  scene.plane.tick();
  assert.equal((await ending).status, "timed_out");
});

test("[ARCP-176] [ARCP-178] [ARCP-146] delegation is awaited, stays within the grant, and what is refused is told", async () => {
  await using scene = await Scene.open();
  using _child = scene.runtime.registerAgent("child", (input) => ({ got: input }));
  const told = await scene.run(
    async (_, context) => {
      const child = await context.delegate({ agent: "child", input: 7 });
      const got = await child.done;
      await assert.rejects(context.delegate({ agent: "agent" }), { code: "permission_denied" });
      const wide = { agent: "child", capabilities: { "fs.read": ["/**"] }, delegateId: "d9" };
      await assert.rejects(context.delegate(wide), { code: "grant_too_wide" });
      return got;
    },
    { capabilities: { "agent.delegate": ["child"] } },
  );
  assert.match(told[1] ?? "", /^delegate \{"delegate_id":"delegate_\d+","agent":"child","input":7/);
  assert.equal(told.filter((line) => line.startsWith("tool_result")).length, 2);
  const [, printed = ""] = /"child_job_id":"([^"]+)"/.exec(told[1] ?? "") ?? [];
  const child = await scene.plane.read(({ jobs }) => jobs.byId.get(jobId(printed)));
  assert.equal(child?.agent, "child", "the job that was told is the one that ran");
  assert.equal(told.at(-1), 'success {"got":7}');
});

test("jobs wait for a worker with room, oldest first", async () => {
  await using scene = await Scene.open();
  const begun: unknown[] = [];
  const gates: (() => void)[] = [];
  const handler: Handler = (input) => {
    begun.push(input);
    return new Promise<void>((resolve) => gates.push(resolve));
  };
  using _agent = scene.runtime.registerAgent("agent", handler, { jobsAtOnce: 2 });
  const ids = await Promise.all(["1", "2", "3"].map((input) => scene.submit({ input })));
  await turn();
  assert.deepEqual(begun, [1, 2]);
  gates[0]?.();
  await scene.runtime.ending(ids[0] ?? ("" as JobId));
  await turn();
  await turn();
  assert.deepEqual(begun, [1, 2, 3]);
});

test("jobs that are called off while they wait are in nobody's way, however many they are", async () => {
  await using scene = await Scene.open();
  const gates: (() => void)[] = [];
  const begun: unknown[] = [];
  const handler: Handler = (input) => {
    begun.push(input);
    return new Promise<void>((resolve) => gates.push(resolve));
  };
  using _agent = scene.runtime.registerAgent("agent", handler, { jobsAtOnce: 1 });
  const first = await scene.submit({ input: "1" });
  for (let count = 0; count < 5_000; count += 1) {
    const id = jobId(`off_${count}`);
    const submitted = scene.submit({ jobId: id, input: "2" });
    const cancel = { type: "job.cancel", jobId: id, reason: "no", graceMs: 0 } as const;
    scene.plane.carryOut(cancel, { actor: "test" }, () => undefined);
    if (count % 1_000 === 999) await submitted;
  }
  await scene.submit({ input: "3" });
  gates[0]?.();
  await scene.runtime.ending(first);
  await turn();
  await turn();
  assert.deepEqual(begun, [1, 3]);
});

test("a job that is cancelled as it starts is told so when it runs", async () => {
  await using scene = await Scene.open();
  using _agent = scene.runtime.registerAgent(
    "agent",
    (_, { signal }) =>
      new Promise((_resolve, reject) => {
        const unwind = (): void => reject(signal.reason);
        if (signal.aborted) unwind();
        else signal.addEventListener("abort", unwind);
      }),
  );
  const submitted = scene.submit();
  // What is decided is seen at once; to wait until it is kept would be too late for this.
  const jobId = scene.plane.peek(({ jobs }) => [...jobs.byId.keys()].at(-1));
  assert(jobId);
  const ending = scene.runtime.ending(jobId);
  const cancel = { type: "job.cancel", jobId, reason: "no", graceMs: 30_000 } as const;
  await scene.plane.submit(cancel, { actor: "test" }, () => undefined);
  await submitted;
  assert.equal((await ending).status, "cancelled");
});

test("[ARCP-197] a job that may be repeated is left to the next process when this one closes, though its handler unwinds", async () => {
  await using scratch = await temporaryDirectory();
  await using log = SqliteLog.open(scratch.path);
  await using scene = await Scene.open({ log });
  const unwinding: Handler = (_, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  using _again = scene.runtime.registerAgent("again", unwinding, { isIdempotent: true });
  using _once = scene.runtime.registerAgent("once", unwinding);
  const again = await scene.submit({ agent: "again" });
  const once = await scene.submit({ agent: "once" });
  await turn();
  await scene.runtime.close({ graceMs: 1_000 });
  const states = await scene.plane.read(({ jobs }) =>
    [again, once].map((id) => jobs.byId.get(id)?.state),
  );
  assert.deepEqual(states, ["running", "ended"]);
});

test("[ARCP-197] what a job is run inside of ends when the runtime closes, also where the job goes on", async () => {
  await using scratch = await temporaryDirectory();
  await using log = SqliteLog.open(scratch.path);
  const heard: string[] = [];
  const around: Around = async ({ agent }, run) => {
    heard.push(`${agent} ${(await run()).status}`);
  };
  await using scene = await Scene.open({ log, around });
  const endless: Handler = () => new Promise(() => {});
  using _again = scene.runtime.registerAgent("again", endless, { isIdempotent: true });
  using _elsewhere = scene.runtime.addWorker({ ...idle("elsewhere", 1), isRemote: true });
  await scene.submit({ agent: "again" });
  await scene.submit({ agent: "agent" });
  await turns();
  await scene.runtime.close({ graceMs: 0 });
  await turns();
  assert.deepEqual(heard.sort(), ["again lost", "agent lost"]);
});

test("[ARCP-197] nothing is heard of an attempt that was left to the next process, but what its work cost", async () => {
  await using scratch = await temporaryDirectory();
  await using log = SqliteLog.open(scratch.path);
  await using scene = await Scene.open({ log });
  const refused: unknown[] = [];
  const { promise: unwound, resolve } = Promise.withResolvers<void>();
  using _child = scene.runtime.registerAgent("child", () => new Promise(() => {}));
  using _agent = scene.runtime.registerAgent(
    "agent",
    async (_, context) => {
      const child = await context.delegate({ agent: "child" });
      const open = await context.reserve(dollar);
      await once(context.signal, "abort");
      const deeds: readonly (() => Promise<unknown>)[] = [
        () => context.authorize("tool.call", "ask"),
        () => context.reserve(dollar),
        () => context.delegate({ agent: "child" }),
        () => child.cancel(),
        () => context.rotateCredential("cred", "newer"),
      ];
      for (const deed of deeds) await deed().catch(({ code }: WorkError) => refused.push(code));
      await context.log("info", "still here");
      await open.settle();
      resolve();
    },
    { isIdempotent: true },
  );
  const capabilities = { "tool.call": ["ask"], "agent.delegate": ["*"], "cost.budget": ["USD:2"] };
  const id = await scene.submit({ capabilities });
  await turns();
  await scene.runtime.close({ graceMs: 0 });
  await unwound;
  assert.deepEqual(refused, Array(5).fill("attempt_over"));
  assert.deepEqual(
    (await scene.told(id)).filter((line) => line.startsWith("log")),
    [],
  );
  const left = await scene.plane.read(({ jobs }) => ({
    state: jobs.byId.get(id)?.state,
    children: jobs.children.get(id)?.size,
    reserved: jobs.reservations.get(id)?.size,
  }));
  assert.deepEqual(left, { state: "running", children: 1, reserved: undefined });
});

test("an attempt that was lost cancels no children, whether the job has ended, waits or runs again", async () => {
  await using scene = await Scene.open();
  const children: Delegated[] = [];
  const ask: Handler = async (_, context) => {
    children.push(await context.delegate({ agent: "child", delegateId: "d1" }));
    return await new Promise(() => {});
  };
  using _child = scene.runtime.registerAgent("child", () => new Promise(() => {}));
  const agent = scene.runtime.registerAgent("agent", ask, { isIdempotent: true });
  const id = await scene.submit({ capabilities: { "agent.delegate": ["*"] } });
  await turns();
  const [{ jobId: childId, cancel } = assert.fail()] = children;
  const isLeftAlone = async (): Promise<void> => {
    await assert.rejects(cancel("no"), { code: "attempt_over" });
    const child = scene.plane.peek(({ jobs }) => jobs.byId.get(jobId(childId)));
    assert.equal(child?.state === "running" && child.cancelling, undefined);
  };
  agent[Symbol.dispose]();
  const lose = { type: "job.orphan", jobId: id, graceMs: 0 } as const;
  await scene.plane.submit(lose, { actor: "test" }, () => undefined);
  scene.plane.tick();
  await turns();
  assert.equal(
    scene.plane.peek(({ jobs }) => jobs.byId.get(id)?.state),
    "pending",
  );
  await isLeftAlone();
  using _again = scene.runtime.registerAgent("agent", ask, { isIdempotent: true });
  await turns();
  assert.equal(children.length, 2, "it runs again");
  await isLeftAlone();
  const outcome = { status: "success" } as const;
  const end = { type: "job.end", jobId: id, attempt: 2, outcome } as const;
  await scene.plane.submit(end, { actor: "test" }, () => undefined);
  await isLeftAlone();
});

test("[ARCP-178] a job that is run again is given the child that it asked for before by the same name", async () => {
  await using scratch = await temporaryDirectory();
  const capabilities = { "agent.delegate": ["*"] };
  const ids: string[] = [];
  const { promise: bothAsked, resolve: asked } = Promise.withResolvers<void>();
  {
    await using log = SqliteLog.open(scratch.path);
    await using scene = await Scene.open({ log });
    using _child = scene.runtime.registerAgent("child", () => "done once");
    using _agent = scene.runtime.registerAgent(
      "agent",
      async (_, context) => {
        const child = await context.delegate({ agent: "child", delegateId: "d1" });
        ids.push(child.jobId);
        await child.done;
        await context.delegate({ agent: "child", delegateId: "d2" });
        asked();
        return await new Promise(() => {});
      },
      { isIdempotent: true },
    );
    await scene.submit({ jobId: jobId("job_parent"), capabilities });
    await bothAsked;
    await scene.runtime.close({ graceMs: 0 });
  }
  await using log = SqliteLog.open(scratch.path);
  await using scene = await Scene.open({ log, newId: (kind) => `${kind}_again_${Math.random()}` });
  const ending = scene.runtime.ending(jobId("job_parent"));
  using _child = scene.runtime.registerAgent("child", () => "done again");
  using _other = scene.runtime.registerAgent("other", () => "another");
  using _agent = scene.runtime.registerAgent("agent", async (_, context) => {
    const twice = { agent: "child", delegateId: "d1" };
    const other = context.delegate({ agent: "other", delegateId: "d2" });
    await assert.rejects(other, { code: "invalid_argument" }, "the name is another agent's");
    const child = await context.delegate(twice);
    ids.push(child.jobId);
    await assert.rejects(context.delegate(twice), { code: "invalid_argument" });
    return await child.done;
  });
  assert.deepEqual(await ending, { status: "success", result: '"done once"' });
  assert.equal(ids[0], ids[1]);
  const told = await scene.told(jobId("job_parent"));
  const children = told.flatMap(
    (line) => /^delegate .*"child_job_id":"(.*)"/.exec(line)?.[1] ?? [],
  );
  assert.deepEqual([children[0], children[3]], [ids[0], ids[0]], "it is said which one it is");
});

test("[ARCP-178] [ARCP-197] a job that is run again is given a new child for one that the restart interrupted, and none for one that somebody cancelled", async () => {
  const parent: Handler = async (_, context) => {
    const child = await context.delegate({ agent: "child", delegateId: "d1" });
    return await child.done;
  };
  const unwinding: Handler = (_, { signal }) => once(signal, "abort");
  const deaf: Handler = () => new Promise(() => {});
  const crash = async (): Promise<void> => undefined;
  const close = ({ runtime }: Scene): Promise<void> => runtime.close({ graceMs: 1_000 });
  const cancel = async ({ plane, runtime }: Scene): Promise<void> => {
    const { id } = runtime.delegation.childOf(jobId("job_parent"), "d1") ?? assert.fail();
    const command = { type: "job.cancel", jobId: id, reason: "no", graceMs: 1_000 } as const;
    await plane.submit(command, { actor: "test" }, () => undefined);
  };
  const ends = [
    { child: unwinding, end: close },
    { child: deaf, end: crash },
    { child: deaf, end: cancel },
  ];
  const outcomes: unknown[] = [];
  for (const { child, end } of ends) {
    await using scratch = await temporaryDirectory();
    {
      await using log = SqliteLog.open(scratch.path);
      await using scene = await Scene.open({ log });
      using _child = scene.runtime.registerAgent("child", child);
      using _agent = scene.runtime.registerAgent("agent", parent, { isIdempotent: true });
      const capabilities = { "agent.delegate": ["*"] };
      await scene.submit({ jobId: jobId("job_parent"), capabilities });
      await turns();
      await end(scene);
    }
    await using log = SqliteLog.open(scratch.path);
    await using scene = await Scene.open({ log, newId: (kind) => `${kind}_again` });
    const ending = scene.runtime.ending(jobId("job_parent"));
    using _child = scene.runtime.registerAgent("child", () => "done");
    using _agent = scene.runtime.registerAgent("agent", parent, { isIdempotent: true });
    const outcome = await ending;
    const children = await scene.plane.read(({ jobs }) => jobs.children.get(jobId("job_parent")));
    outcomes.push([outcome.status, children?.size]);
  }
  assert.deepEqual(outcomes, [
    ["success", 2],
    ["success", 2],
    ["error", 1],
  ]);
});

test("jobs go to the worker that has the most room", async () => {
  await using scene = await Scene.open();
  const had = new Map<string, number>();
  const worker = (id: string, jobsAtOnce: number): Worker => ({
    ...idle(id, jobsAtOnce),
    run: () => void had.set(id, (had.get(id) ?? 0) + 1),
  });
  using _one = scene.runtime.addWorker(worker("one", 10));
  using _other = scene.runtime.addWorker(worker("other", 2));
  for (let count = 0; count < 6; count += 1) await scene.submit();
  assert.deepEqual(Object.fromEntries(had), { one: 5, other: 1 });
});

test("a job ends though whoever is told of its failure fails too", async () => {
  const faults: unknown[] = [];
  const fails = (): never => {
    throw new Error("full disk");
  };
  const logger = { debug: fails, info: fails, warn: fails, error: fails };
  const onFault = (fault: unknown): void => void faults.push(fault);
  await using scene = await Scene.open({ logger, onAgentError: fails, onFault });
  const told = await scene.run((_, context) => {
    context.logger.info("about to");
    throw new Error("boom");
  });
  assert.equal(told.at(-1), "error internal_error boom");
  assert.equal(faults.length, 1);
});

test("[ARCP-160] who cannot say whether a limit is reached has not said so, and the job ends", async () => {
  const faults: unknown[] = [];
  const isSpendLimit = (): never => {
    throw new Error("cannot tell");
  };
  const onFault = (fault: unknown): void => void faults.push(fault);
  await using scene = await Scene.open({ isSpendLimit, onFault });
  const told = await scene.run(
    (_, context) =>
      context.callTool({ tool: "ask" }, () => {
        throw new Error("boom");
      }),
    { capabilities: { "tool.call": ["ask"] } },
  );
  assert.match(told[2] ?? "", /^tool_result .*"code":"internal_error","message":"boom"/);
  assert.equal(told.at(-1), "error internal_error boom");
  assert.deepEqual(faults.map(String), Array(2).fill("Error: cannot tell"));
});

test("[ARCP-105] what a handler threw is told to who runs it, unless it is an error of the protocol", async () => {
  const told: string[] = [];
  const onAgentError = (error: unknown, { agent }: Job): void => {
    told.push(`${agent}: ${error instanceof Error && error.stack?.includes("runtime.test.ts")}`);
  };
  await using scene = await Scene.open({ onAgentError });
  await scene.run(() => {
    throw new Error("boom");
  });
  await scene.run(() => {
    throw new WorkError("permission_denied", "no");
  });
  assert.deepEqual(told, ["agent: true"]);
});
