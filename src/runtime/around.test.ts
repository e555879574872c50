import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { turns } from "../testing/test-plane.ts";
import { resultOf, TestRuntime } from "../testing/test-runtime.ts";
import { traceHeadersOf } from "../wire/arcp/index.ts";
import type { RunContext } from "./context.ts";
import type { Around, AttemptOutcome } from "./runtime.ts";
import type { Work, Worker } from "./worker.ts";

const traceId = "392b193cf3cefb1e7864ff0932afab10";
const trace = { traceparent: `00-${traceId}-90ebdc8a3358ab63-03`, tracestate: "vendor=1" };

test("a job is run inside of what the runtime was given, until it has ended", async () => {
  const heard: unknown[] = [];
  const around: Around = async (job, run) => {
    heard.push(`before ${job.agent}`);
    const { status } = await run();
    heard.push(`after ${status}`);
  };
  await using scene = await TestRuntime.open({ around });
  await scene.run(() => heard.push("within"));
  await scene.run(() => Promise.reject(new Error("no")));
  assert.deepEqual(heard, [
    "before agent",
    "within",
    "after success",
    "before agent",
    "after error",
  ]);
});

test("what it is run inside of hears how the job ended, not what its handler came to", async () => {
  const { promise: ended, resolve } = Promise.withResolvers<AttemptOutcome>();
  await using scene = await TestRuntime.open({
    around: async (_, run) => resolve(await run()),
  });
  const running = scene.run(() => new Promise(() => {}), { runMsMax: 1_000 });
  await turns();
  scene.clock.leap(1_000);
  scene.plane.tick();
  assert.equal((await running).status, "timed_out");
  assert.equal((await ended).status, "timed_out");
});

test("what an attempt is run inside of ends with it, though the job is offered again", async () => {
  const heard: string[] = [];
  const around: Around = async ({ attempt }, run) => {
    heard.push(`${attempt} ${(await run()).status}`);
  };
  await using scene = await TestRuntime.open({ around });
  const works: Work[] = [];
  const worker: Worker = {
    id: "elsewhere",
    isRemote: true,
    offers: [{ name: "agent", isRepeatable: true }],
    jobsAtOnce: 1,
    run: (work) => void works.push(work),
    cancel: () => undefined,
    drop: () => undefined,
  };
  using _worker = scene.runtime.addWorker(worker);
  const jobId = scene.ask();
  await turns();
  scene.plane.carryOut({ type: "job.orphan", jobId, graceMs: 0 }, { actor: "test" }, () => 0);
  scene.plane.tick();
  await turns();
  assert.deepEqual(heard, ["1 lost"]);
  await works[1]?.attempt.end({ status: "success" });
  await turns();
  assert.deepEqual(heard, ["1 lost", "2 success"]);
});

test("a job that has ended before it could be run is not run", async () => {
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const heard: string[] = [];
  const around: Around = async (_, run) => {
    await ready;
    heard.push((await run()).status);
  };
  await using scene = await TestRuntime.open({ around });
  const running = scene.run(() => heard.push("ran"), { runMsMax: 1_000 });
  await turns();
  scene.clock.leap(1_000);
  scene.plane.tick();
  await running;
  resolve();
  await turns();
  assert.deepEqual(heard, ["timed_out"]);
});

test("a job that is cancelled before it could be run is told so when it is", async () => {
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const around: Around = async (_, run) => {
    await ready;
    await run();
  };
  await using scene = await TestRuntime.open({ around });
  let reason: unknown;
  const running = scene.run(async (_, { signal }) => {
    await once(signal, "abort");
    reason = signal.reason.message;
  });
  await turns();
  const jobId = scene.plane.peek(({ jobs }) => [...jobs.byId.keys()].at(-1)) ?? assert.fail();
  const cancel = { type: "job.cancel", jobId, reason: "enough", graceMs: 30_000 } as const;
  scene.plane.carryOut(cancel, { actor: "test" }, () => undefined);
  await turns();
  resolve();
  await running;
  assert.equal(reason, "enough");
});

const faulty: Readonly<Record<string, Around>> = {
  "throws at once": () => {
    throw new Error("faulty");
  },
  "rejects without having run it": () => Promise.reject(new Error("faulty")),
  "rejects after having run it": async (_, run) => {
    await run();
    throw new Error("faulty");
  },
  "runs it twice": (_, run) => Promise.all([run(), run()]),
  "forgets to run it": () => undefined,
};

for (const [what, around] of Object.entries(faulty)) {
  test(`a job is run once inside of something that ${what}`, async () => {
    const faults: unknown[] = [];
    await using scene = await TestRuntime.open({ around, onFault: (fault) => faults.push(fault) });
    let runs = 0;
    assert.equal(resultOf(await scene.run(() => ++runs)), 1);
    await turns();
    assert.equal(faults.length, /throws|rejects/.test(what) ? 1 : 0);
  });
}

test("[ARCP-184] a job knows where in its trace it was asked for, and passes it on", async () => {
  await using scene = await TestRuntime.open();
  using _child = scene.runtime.registerAgent("child", (_, { traceContext }) => traceContext);
  const handler = async (_: unknown, context: RunContext): Promise<unknown> => {
    const told = await context.callTool({ tool: "t" }, (_spend, toTool) => toTool);
    const { done } = await context.delegate({ agent: "child" });
    return [context.traceContext, told, await done];
  };
  const capabilities = { "tool.call": ["t"], "agent.delegate": ["child"] };
  const asked = await scene.run(handler, { traceId, trace, capabilities });
  assert.deepEqual(resultOf(asked), [trace, trace, trace]);
  const bare = await scene.run(handler, { traceId, capabilities });
  assert.deepEqual(
    resultOf(bare),
    Array.from({ length: 3 }, () => traceHeadersOf(traceId)),
  );
});

test("who runs jobs inside of something may know better where in a trace they are", async () => {
  let spans = 0;
  const better = (): { readonly traceparent: string } => ({
    traceparent: `00-${traceId}-${String(++spans).padStart(16, "0")}-01`,
  });
  await using scene = await TestRuntime.open({ around: (_, run) => run(better) });
  using _child = scene.runtime.registerAgent("child", () => undefined);
  const outcome = await scene.run(
    async (_, context) => {
      const { jobId } = await context.delegate({ agent: "child" });
      return [context.traceContext.traceparent.slice(36, 52), jobId];
    },
    { traceId, trace, capabilities: { "agent.delegate": ["child"] } },
  );
  const [span, childId] = resultOf(outcome) as [string, string];
  assert.equal(Number(span), 2);
  const child = await scene.plane.read(({ jobs }) =>
    [...jobs.byId.values()].find(({ id }) => id === childId),
  );
  assert.equal(child?.trace?.traceparent.slice(36, 52), "0".repeat(15) + 1);
});
