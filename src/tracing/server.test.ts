/** Traces from whoever asks to whoever does the work, through a whole server. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { ARCPServer } from "../arcp-server.ts";
import { until } from "../transport/contract.ts";
import { type Frame, pairMemoryTransports, type Transport } from "../transport/index.ts";
import { readTraceparent, traceHeadersKey } from "../wire/arcp/index.ts";
import { jobSpans } from "./jobs.ts";
import { withTracing } from "./transport.ts";

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
after(() => context.disable());

const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
const tracer = provider.getTracer("test");

const jobTrace = "0123456789abcdef0123456789abcdef";
const askedIn = "392b193cf3cefb1e7864ff0932afab10";
const traceparent = `00-${askedIn}-90ebdc8a3358ab63-03`;

const envelope = (type: string, payload: Frame, more: Frame = {}): Frame => ({
  arcp: "1.1",
  id: `msg_01HZ0000000000000000000${type.length}AB`,
  type,
  ...more,
  payload,
});

const hello = envelope("session.hello", {
  client: { name: "test", version: "1" },
  auth: { scheme: "bearer", token: "demo-token" },
  capabilities: { encodings: ["json"], features: [] },
});

/** Says hello, asks for one job, and hears everything until its result. */
async function ask(client: Transport, more: Frame): Promise<readonly Frame[]> {
  const heard: Frame[] = [];
  client.onFrame((frame) => heard.push(frame));
  await client.send(hello);
  await until(() => heard.length > 0);
  const session = { session_id: heard[0]?.["session_id"] };
  await client.send(envelope("job.submit", { agent: "echo" }, { ...session, ...more }));
  await until(() => heard.at(-1)?.["type"] === "job.result");
  return heard;
}

async function serve(
  more: Frame,
): Promise<{ readonly spans: readonly ReadableSpan[]; readonly heard: readonly Frame[] }> {
  exporter.reset();
  await using server = await ARCPServer.open({
    bearer: { "demo-token": "demo" },
    around: jobSpans(tracer),
    wrap: (transport) => withTracing(transport, { tracer }),
  });
  server.registerAgent("echo", (_, { traceContext }) => traceContext);
  const [near, far] = pairMemoryTransports();
  server.accept(near);
  const heard = await ask(far, more);
  await far.close();
  return { spans: exporter.getFinishedSpans(), heard };
}

function named(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const span = spans.find((one) => one.name === name);
  assert(span, `${name} is not among ${spans.map((one) => one.name).join(", ")}`);
  return span;
}

const resultIn = (heard: readonly Frame[]): unknown =>
  Reflect.get(Object(heard.at(-1)?.["payload"]), "result");

test("a job that was asked for within a trace is part of it, and its agent knows where", async () => {
  const { spans, heard } = await serve({
    trace_id: jobTrace,
    extensions: { [traceHeadersKey]: { traceparent } },
  });
  const [received, job] = ["arcp.recv job.submit", "arcp.job echo"].map((name) =>
    named(spans, name),
  );
  for (const span of [received, job]) {
    assert.equal(span?.spanContext().traceId, askedIn);
    assert.equal(span.parentSpanContext?.spanId, "90ebdc8a3358ab63");
    assert.equal(span.attributes["arcp.trace_id"], jobTrace);
  }
  const told = readTraceparent(Reflect.get(Object(resultIn(heard)), "traceparent"));
  assert.equal(told?.spanId, job?.spanContext().spanId);
  const frames = heard.filter(({ type }) => String(type).startsWith("job."));
  assert.deepEqual(new Set(frames.map(({ trace_id }) => trace_id)), new Set([jobTrace]));
});

test("every frame of a traced server carries context, and what it says of a job is in the job's trace", async () => {
  const { spans, heard } = await serve({ trace_id: jobTrace });
  for (const { extensions } of heard) {
    const carried = Reflect.get(Object(extensions), traceHeadersKey);
    assert(readTraceparent(Object(carried).traceparent));
  }
  assert.equal(named(spans, "arcp.job echo").spanContext().traceId, jobTrace);
  assert.equal(named(spans, "arcp.send job.event").spanContext().traceId, jobTrace);
  assert.equal(named(spans, "arcp.send job.result").spanContext().traceId, jobTrace);
});

test("[ARCP-85] a submit without a trace id is given that of its context", async () => {
  const carried = await serve({ extensions: { [traceHeadersKey]: { traceparent } } });
  assert.equal(carried.heard.at(-1)?.["trace_id"], askedIn);
  const whole = await serve({ trace_id: traceparent });
  assert.equal(whole.heard.at(-1)?.["trace_id"], askedIn);
  const job = named(whole.spans, "arcp.job echo");
  assert.equal(job.parentSpanContext?.spanId, "90ebdc8a3358ab63");
  assert.match(String((await serve({})).heard.at(-1)?.["trace_id"]), /^[0-9a-f]{32}$/);
});
