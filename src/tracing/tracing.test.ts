import assert from "node:assert/strict";
import { after, test } from "node:test";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AlwaysOffSampler,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { turns } from "../testing/test-plane.ts";
import { resultOf, TestRuntime } from "../testing/test-runtime.ts";
import { type Pair, transportContract, until } from "../transport/contract.ts";
import { type Frame, pairMemoryTransports, type Transport } from "../transport/index.ts";
import { readTraceparent, traceHeadersKey, traceHeadersOf } from "../wire/arcp/index.ts";
import { jobSpans } from "./jobs.ts";
import { withTracing } from "./transport.ts";

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
after(() => context.disable());

const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
const tracer = provider.getTracer("test");

const traceId = "392b193cf3cefb1e7864ff0932afab10";
const spanId = "90ebdc8a3358ab63";
const frame = { arcp: "1.1", id: "msg_1", type: "session.ping", payload: {} };

function takeSpans(): readonly ReadableSpan[] {
  const spans = [...exporter.getFinishedSpans()];
  exporter.reset();
  return spans;
}

/** What arrives at the far end, which is not traced, of what the near end is told to send. */
async function sent(send: (near: Transport) => Promise<void>, how = tracer): Promise<Frame> {
  const [near, far] = pairMemoryTransports();
  const arrived = Promise.withResolvers<Frame>();
  far.onFrame(arrived.resolve);
  await send(withTracing(near, { tracer: how }));
  const received = await arrived.promise;
  await near.close();
  return received;
}

/** What the near end's handler is called with and in, of what the far end sends. */
async function received(
  text: string,
  handler: (frame: Frame) => unknown = () => undefined,
): Promise<ReadableSpan> {
  const [near, far] = pairMemoryTransports();
  withTracing(near, { tracer }).onFrame(handler);
  const isThere = (): boolean => exporter.getFinishedSpans().length > 0;
  await far.sendText(text);
  await until(isThere);
  await near.close();
  const [span] = takeSpans();
  assert(span);
  return span;
}

const noTracer = trace.getTracer("nobody traces");
transportContract("traced, where nobody traces", {
  farCanWait: true,
  makePair: async (): Promise<Pair> => {
    const [one, other] = pairMemoryTransports();
    const [near, far] = [one, other].map((end) => withTracing(end, { tracer: noTracer }));
    assert(near && far);
    return {
      near,
      far,
      lose: () => {
        for (const text = "x".repeat(68_000_000); !far.closed; ) far.sendText(text).catch(() => {});
      },
      [Symbol.asyncDispose]: async () => {
        await Promise.all([near.close(), far.close()]);
      },
    };
  },
});

for (const [how, send] of [
  ["as an object", (near: Transport, value: Frame) => near.send(value)],
  ["as text", (near: Transport, value: Frame) => near.sendText(JSON.stringify(value))],
] as const) {
  test(`[ARCP-181] [ARCP-183] a frame that is sent ${how} has a span, and carries its context`, async () => {
    const arrived = await sent((near) => send(near, frame));
    const [span, ...others] = takeSpans();
    assert(span && others.length === 0);
    const { traceId: ownId, spanId: ownSpan } = span.spanContext();
    const { extensions, trace_id, ...rest } = arrived;
    assert.deepEqual(rest, frame);
    assert.equal(trace_id, ownId);
    const { traceparent } = Reflect.get(Object(extensions), traceHeadersKey);
    assert.equal(readTraceparent(traceparent)?.spanId, ownSpan);
    assert.deepEqual(Object.keys(arrived), [
      "arcp",
      "id",
      "type",
      "trace_id",
      "extensions",
      "payload",
    ]);
    assert.equal(span.name, "arcp.send session.ping");
    assert.equal(span.kind, SpanKind.PRODUCER);
    assert.equal(span.attributes["arcp.trace_id"], ownId);
  });

  test(`a frame that is sent ${how} keeps the trace id and the extensions that it has`, async () => {
    const whole = {
      ...frame,
      trace_id: traceId,
      extensions: { optional: true, "x-vendor.acme.note": { payload: 1 } },
      payload: { text: ',"payload":{', extensions: 1 },
    };
    const arrived = await sent((near) => send(near, whole));
    takeSpans();
    const { [traceHeadersKey]: carried, ...others } = Object(arrived["extensions"]);
    assert.deepEqual({ ...arrived, extensions: others }, whole);
    assert.notEqual(readTraceparent(carried.traceparent)?.traceId, undefined);
  });
}

test("text is marked in its right place, whatever it holds", async () => {
  const texts: readonly Frame[] = [
    { ...frame, id: 'a{b,"payload":' },
    { ...frame, trace_id: null },
    { ...frame, extensions: null },
    { ...frame, extensions: "x" },
    { payload: { payload: { x: 1 } }, arcp: "1.1", type: "late" },
    { odd: { a: 1, payload: 2 }, payload: { deep: [{ a: 1, payload: 3 }] } },
    { type: "no payload" },
    {},
  ];
  for (const value of texts) {
    const arrived = await sent((near) => near.sendText(JSON.stringify(value)));
    const { extensions, trace_id, ...rest } = arrived;
    const { extensions: _, trace_id: __, ...expected } = value;
    assert.deepEqual(rest, expected);
    assert.match(String(trace_id), /^[0-9a-f]{32}$/);
    assert.notEqual(Reflect.get(Object(extensions), traceHeadersKey), undefined);
  }
  takeSpans();
});

test("what is sent within a span is below it; nothing is added where nobody traces", async () => {
  const above = tracer.startSpan("above");
  const within = trace.setSpan(context.active(), above);
  await sent((near) => context.with(within, () => near.send(frame)));
  above.end();
  const [span] = takeSpans();
  assert.equal(span?.parentSpanContext?.spanId, above.spanContext().spanId);
  assert.deepEqual(await sent((near) => near.send(frame), noTracer), frame);
  const text = JSON.stringify({ ...frame, odd: 1 });
  assert.deepEqual(await sent((near) => near.sendText(text), noTracer), { ...frame, odd: 1 });
});

test("a trace that is not recorded goes on as one that is not", async () => {
  const off = new TracerProvider({ sampler: new AlwaysOffSampler() }).getTracer("off");
  const arrived = await sent((near) => near.send(frame), off);
  const { traceparent } = Reflect.get(Object(arrived["extensions"]), traceHeadersKey);
  assert.equal(readTraceparent(traceparent)?.flags, 0);
});

test("what a loop sends after the frame that started it is in the trace that it names", async () => {
  const ended = tracer.startSpan("ended");
  ended.end();
  takeSpans();
  const within = trace.setSpan(context.active(), ended);
  const named = { ...frame, trace_id: traceId };
  await sent((near) => context.with(within, () => near.send(named)));
  const [span] = takeSpans();
  assert.equal(span?.spanContext().traceId, traceId);
  await sent((near) => context.with(within, () => near.send(frame)));
  assert.equal(takeSpans()[0]?.parentSpanContext, undefined);
  const sameTrace = { ...frame, trace_id: ended.spanContext().traceId };
  await sent((near) => context.with(within, () => near.send(sameTrace)));
  assert.equal(takeSpans()[0]?.parentSpanContext?.spanId, ended.spanContext().spanId);
});

test("[ARCP-181] [ARCP-183] a frame that is received has a span below the one that sent it, and is handled inside", async () => {
  const state = { traceparent: `00-${traceId}-${spanId}-03`, tracestate: "vendor=some" };
  const carried = { ...frame, trace_id: "1".repeat(32), extensions: { [traceHeadersKey]: state } };
  let active: string | undefined;
  const span = await received(JSON.stringify(carried), async (got) => {
    assert.deepEqual(got, carried);
    await turns();
    active = trace.getActiveSpan()?.spanContext().spanId;
  });
  assert.equal(span.name, "arcp.recv session.ping");
  assert.equal(span.kind, SpanKind.CONSUMER);
  assert.equal(span.spanContext().spanId, active);
  assert.equal(span.spanContext().traceId, traceId);
  assert.equal(span.parentSpanContext?.spanId, spanId);
  assert.equal(span.parentSpanContext?.isRemote, true);
  assert.equal(span.parentSpanContext?.traceFlags, 3);
  assert.equal(span.spanContext().traceState?.get("vendor"), "some");
});

test("[ARCP-10] [ARCP-183] without context a frame is below the trace that it names, or begins one", async () => {
  const parentOf = async (parts: Frame): Promise<string | undefined> => {
    const { parentSpanContext: above } = await received(JSON.stringify({ ...frame, ...parts }));
    return above && `${above.traceId} ${above.spanId}`;
  };
  const named = `${traceId} ${readTraceparent(traceHeadersOf(traceId).traceparent)?.spanId}`;
  assert.equal(await parentOf({ trace_id: traceId }), named);
  assert.equal(await parentOf({ trace_id: `00-${traceId}-${spanId}-03` }), `${traceId} ${spanId}`);
  const broken = { [traceHeadersKey]: { traceparent: "nonsense" } };
  assert.equal(await parentOf({ trace_id: traceId, extensions: broken }), named);
  for (const trace_id of [undefined, null, 1, "", "0".repeat(32), "nonsense"]) {
    assert.equal(await parentOf({ trace_id }), undefined);
  }
});

test("[ARCP-182] spans tell what a frame is about, and nothing of tokens, inputs and results", async () => {
  const submit = {
    ...frame,
    type: "job.submit",
    session_id: "sess_1",
    trace_id: traceId,
    payload: {
      agent: "echo",
      input: { secret: 1 },
      lease_request: { "tool.call": ["a"], "fs.read": ["/b"] },
      lease_constraints: { expires_at: "2099-01-01T00:00:00Z" },
    },
  };
  const { attributes: asked } = await received(JSON.stringify(submit));
  assert.deepEqual(asked, {
    "arcp.direction": "in",
    "arcp.type": "job.submit",
    "arcp.id": "msg_1",
    "arcp.session_id": "sess_1",
    "arcp.trace_id": traceId,
    "arcp.agent": "echo",
    "arcp.lease.capabilities": "fs.read,tool.call",
    "arcp.lease.expires_at": "2099-01-01T00:00:00Z",
  });
  const accepted = {
    ...frame,
    type: "job.accepted",
    job_id: "job_1",
    event_seq: 7,
    payload: { lease: { "cost.budget": ["USD:1"] }, budget: { USD: 1 }, token: "secret" },
  };
  await sent((near) => near.sendText(JSON.stringify(accepted)));
  const [span] = takeSpans();
  const { "arcp.trace_id": _, ...told } = span?.attributes ?? {};
  assert.deepEqual(told, {
    "arcp.direction": "out",
    "arcp.type": "job.accepted",
    "arcp.id": "msg_1",
    "arcp.job_id": "job_1",
    "arcp.event_seq": 7,
    "arcp.lease.capabilities": "cost.budget",
    "arcp.budget.remaining": '{"USD":1}',
  });
});

test("errors are recorded, set the status of the span, and go on to whom they concern", async () => {
  for (const handler of [
    () => {
      throw new Error("no");
    },
    () => Promise.reject(new Error("no")),
  ]) {
    const { status, events } = await received(JSON.stringify(frame), handler);
    assert.deepEqual(status, { code: SpanStatusCode.ERROR, message: "no" });
    assert.equal(events[0]?.name, "exception");
  }
  const [near, far] = pairMemoryTransports();
  const faults: unknown[] = [];
  const traced = withTracing(near, { tracer });
  traced.onFault((fault) => faults.push(fault));
  traced.onFrame(() => Promise.reject("just words"));
  await far.send(frame);
  await until(() => faults.length > 0);
  await traced.close();
  takeSpans();
  const cycle: Record<string, unknown> = {};
  cycle["payload"] = { budget: cycle };
  await assert.rejects(traced.send(cycle), { code: "not_sendable" });
  await assert.rejects(traced.sendText("{}"), { code: "closed" });
  assert.deepEqual(
    takeSpans().map(({ status }) => status.code),
    [SpanStatusCode.ERROR, SpanStatusCode.ERROR],
  );
});

test("spans can be called otherwise", async () => {
  const [one, other] = pairMemoryTransports();
  const options = { tracer, sendSpanName: "out", recvSpanName: "in" };
  withTracing(other, options).onFrame(() => undefined);
  await withTracing(one, options).send(frame);
  await until(() => exporter.getFinishedSpans().length === 2);
  await one.close();
  const names = takeSpans().map(({ name }) => name);
  assert.deepEqual(names, ["out session.ping", "in session.ping"]);
});

test("[ARCP-185] a job is a span below where it was asked for, above the agent's own, and above its children", async () => {
  await using scene = await TestRuntime.open({ around: jobSpans(tracer) });
  using _child = scene.runtime.registerAgent("child", () => "done");
  const asked = { traceparent: `00-${traceId}-${spanId}-03` };
  const outcome = await scene.run(
    async (_, job) => {
      const before = job.traceContext.traceparent;
      const own = tracer.startSpan("own");
      await context.with(trace.setSpan(context.active(), own), async () => {
        const { done } = await job.delegate({ agent: "child" });
        assert.equal(await done, "done");
      });
      own.end();
      return before;
    },
    { trace: asked, traceId: "1".repeat(32), capabilities: { "agent.delegate": ["child"] } },
  );
  await turns();
  const spans = takeSpans();
  const named = (name: string): ReadableSpan => {
    const span = spans.find((one) => one.name === name);
    assert(span, `no span is called ${name}`);
    return span;
  };
  const [job, own, child] = ["arcp.job agent", "own", "arcp.job child"].map(named);
  assert(job && own && child);
  assert.equal(job.parentSpanContext?.spanId, spanId);
  assert.equal(own.parentSpanContext?.spanId, job.spanContext().spanId);
  assert.equal(child.parentSpanContext?.spanId, own.spanContext().spanId);
  assert.equal(readTraceparent(String(resultOf(outcome)))?.spanId, job.spanContext().spanId);
  assert.equal(job.attributes["arcp.final_status"], "success");
  assert.equal(job.status.code, SpanStatusCode.UNSET);
});

test("a job's span ends as the job did, in the job's trace if nothing else is known", async () => {
  await using scene = await TestRuntime.open({ around: jobSpans(tracer) });
  const ends = async (
    handler: () => unknown,
    parts: Parameters<TestRuntime["run"]>[1] = { runMsMax: 1_000 },
  ): Promise<readonly unknown[]> => {
    const running = scene.run(handler, { traceId, ...parts });
    await turns();
    scene.clock.leap(1_000);
    scene.plane.tick();
    await running;
    await turns();
    const [span, ...others] = takeSpans();
    assert(span && others.length === 0);
    assert.equal(span.spanContext().traceId, traceId);
    const { "arcp.final_status": final, "arcp.error.code": code } = span.attributes;
    return [final, code, span.status.code];
  };
  const { ERROR, UNSET } = SpanStatusCode;
  assert.deepEqual(await ends(() => 1), ["success", undefined, UNSET]);
  const fails = (): never => {
    throw new Error("no");
  };
  assert.deepEqual(await ends(fails), ["error", "internal_error", ERROR]);
  const endless = (): Promise<never> => new Promise(() => {});
  assert.deepEqual(await ends(endless), ["timed_out", "job_timed_out", ERROR]);
  const expiresAt = new Date(scene.clock.nowMs() + 1_000).toISOString();
  assert.deepEqual(await ends(endless, { expiresAt }), ["error", "grant_expired", ERROR]);
});

test("a job's span ends though what runs the job fails", async () => {
  const job = { id: "job_1", agent: "agent", sessionIds: ["sess_1"], traceId, attempt: 1 } as const;
  const around = jobSpans(tracer);
  await assert.rejects(
    around(job, () => Promise.reject(new Error("no"))),
    { message: "no" },
  );
  assert.deepEqual(
    takeSpans().map(({ name, status }) => [name, status.code, status.message]),
    [["arcp.job agent", SpanStatusCode.ERROR, "no"]],
  );
});
