/** The client against a runtime that says whatever a test tells it to. */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { ManualTime, settled } from "../../testing/manual-time.ts";
import { type ScriptedOptions, ScriptedRuntime } from "../../testing/scripted-runtime.ts";
import { pairMemoryTransports, type Transport } from "../../transport/index.ts";
import { isTraceId, type JsonObject } from "../../wire/arcp/index.ts";
import { ARCPClient, type SubmitOptions } from "./client.ts";
import type { ReceivedEvent } from "./event.ts";
import type { JobHandle } from "./handle.ts";
import { limits } from "./limits.ts";
import type { ClientOptions, Gap } from "./options.ts";

type Scene = AsyncDisposable & {
  readonly runtime: ScriptedRuntime;
  readonly client: ARCPClient;
  readonly time: ManualTime;
  readonly problems: string[];
  readonly broken: string[];
  readonly gaps: Gap[];
};

async function open(
  scripted: ScriptedOptions = {},
  options: Partial<ClientOptions> = {},
): Promise<Scene> {
  const runtime = new ScriptedRuntime(scripted);
  const time = new ManualTime();
  const problems: string[] = [];
  const broken: string[] = [];
  const gaps: Gap[] = [];
  const client = await ARCPClient.connect(runtime.dial, {
    token: "secret",
    autoAck: false,
    time,
    onProtocolError: (problem) => problems.push(problem),
    onSessionBroken: ({ code }) => broken.push(code),
    onGap: (gap) => gaps.push(gap),
    ...options,
  });
  const close = async (): Promise<void> => {
    const closing = client.close();
    // For the jobs of withdrawn submits, and for the runtime's farewell.
    await time.pass(500, 250);
    await closing;
  };
  return { runtime, client, time, problems, broken, gaps, [Symbol.asyncDispose]: close };
}

/** A job that the runtime has accepted. */
async function accepted(
  { runtime, client }: Scene,
  jobId = "job_1",
  options: Partial<SubmitOptions> = {},
): Promise<JobHandle> {
  const submitting = client.submit({ agent: "a", ...options });
  await runtime.accept(await runtime.last("job.submit"), jobId);
  return submitting;
}

/** It may reject before anybody asserts that it does. */
function expecting<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {});
  return promise;
}

async function texts(job: JobHandle): Promise<readonly unknown[]> {
  const said: unknown[] = [];
  for await (const { view } of job.events()) said.push(view?.kind === "thought" && view.text);
  return said;
}

test("[ARCP-55] [ARCP-49] all features are offered, and those that both know are in our order", async () => {
  const capabilities = { features: ["subscribe", "new-thing", "ack"], agents: [] };
  await using scene = await open({ welcome: { capabilities } });
  const { client, runtime } = scene;
  const offered = runtime.helloes[0]?.payload["capabilities"];
  assert(offered instanceof Object && "features" in offered);
  assert.equal(Array.isArray(offered.features) && offered.features.length, 11);
  assert.deepEqual(client.features, ["ack", "subscribe"]);
  await assert.rejects(client.listJobs(), { code: "INVALID_REQUEST" });
  assert.equal(runtime.ofType("session.list_jobs").length, 0);
});

test("[ARCP-53] what else a runtime advertises is for the client's user to see", async () => {
  const capabilities = { features: [], agents: [], "x-vendor.acme.search": { depth: 3 } };
  await using scene = await open({ welcome: { capabilities } });
  assert.deepEqual(scene.client.welcome.vendor, { "x-vendor.acme.search": { depth: 3 } });
});

test("[ARCP-56] a runtime that does not answer the hello is given up after 5 s", async () => {
  const runtime = new ScriptedRuntime({ greet: () => undefined });
  const time = new ManualTime();
  const connecting = expecting(ARCPClient.connect(runtime.dial, { token: "t", time }));
  await settled();
  await time.pass(4_999);
  assert.equal(runtime.transport.closed, false);
  await time.pass(1);
  await assert.rejects(connecting, { code: "TIMEOUT" });
  assert.equal(runtime.transport.closed, true);
});

test("[ARCP-57] [PY-50] a hello that is refused rejects with the runtime's own error", async () => {
  const payload = {
    code: "UNAUTHENTICATED",
    message: "invalid bearer token",
    retryable: false,
    details: null,
  };
  const runtime = new ScriptedRuntime({
    isPython: true,
    greet: () => ({ type: "session.error", payload }),
  });
  const connecting = ARCPClient.connect(runtime.dial, { token: "t" });
  await assert.rejects(connecting, { code: "UNAUTHENTICATED", message: "invalid bearer token" });
});

test("a link that ends before the welcome rejects the connect", async () => {
  const [ours, theirs] = pairMemoryTransports();
  const connecting = ARCPClient.connect(theirs, { token: "t" });
  await ours.close();
  await assert.rejects(connecting, { code: "INTERNAL_ERROR" });
});

test("[ARCP-211] every submit has a trace id of its own, and the handle knows it", async () => {
  await using scene = await open();
  const job = await accepted(scene);
  const [submit] = scene.runtime.ofType("job.submit");
  assert(submit?.traceId && isTraceId(submit.traceId));
  assert.equal(job.traceId, submit.traceId);
  await accepted(scene, "job_2");
  assert.notEqual(scene.runtime.ofType("job.submit")[1]?.traceId, submit.traceId);
  const given = "0123456789abcdef0123456789abcdef";
  assert.equal((await accepted(scene, "job_3", { traceId: given })).traceId, given);
  await assert.rejects(scene.client.submit({ agent: "a", traceId: "short" }), {
    code: "INVALID_REQUEST",
  });
});

test("[ARCP-107] a time limit that is no number is refused, not taken for no limit", async () => {
  await using scene = await open();
  for (const maxRuntimeSec of [Number.NaN, Number.POSITIVE_INFINITY, 0, -1]) {
    await assert.rejects(scene.client.submit({ agent: "a", maxRuntimeSec }), {
      code: "INVALID_REQUEST",
      message: `maxRuntimeSec must be a whole number of seconds, 1 or more, not ${maxRuntimeSec}`,
    });
  }
  assert.equal(scene.runtime.ofType("job.submit").length, 0);
});

test("[ARCP-212] cancel and bye have a reason, and the job is named on the envelope", async () => {
  const scene = await open();
  const { runtime, client, time } = scene;
  const job = await accepted(scene);
  const cancelling = job.cancel();
  const cancel = await runtime.last("job.cancel");
  assert.deepEqual([cancel.jobId, cancel.payload], ["job_1", { reason: "client.cancel" }]);
  await runtime.say(
    "job.cancelled",
    { job_id: "job_1", request_id: cancel.id },
    { jobId: "job_1" },
  );
  await cancelling;
  const subscribing = expecting(client.subscribe("job_2"));
  const subscribe = await runtime.last("job.subscribe");
  assert.deepEqual([subscribe.jobId, subscribe.payload["job_id"]], ["job_2", "job_2"]);
  const closing = client.close();
  const bye = await runtime.last("session.bye");
  assert.deepEqual(bye.payload, { reason: "client.close" });
  assert.equal(bye.sessionId, runtime.sessionId);
  await assert.rejects(subscribing, { code: "CANCELLED" });
  await time.pass(250);
  await closing;
});

test("[ARCP-207] [ARCP-122] a handle gives events in order as they came, with one spelling beside, and ends", async () => {
  await using scene = await open();
  const { runtime } = scene;
  const job = await accepted(scene);
  const reading = (async () => {
    const events: ReceivedEvent[] = [];
    for await (const event of job.events()) events.push(event);
    return events;
  })();
  await runtime.event("job_1", "one");
  const body = { tool_call_id: "c", name: "fetch", arguments: { url: "x" }, extra: 1 };
  const call = { kind: "tool_call", ts: "nonsense", body };
  await runtime.say("job.event", call, { jobId: "job_1", eventSeq: runtime.nextSeq() });
  await runtime.result("job_1", { ok: true });
  const [first, second, ...more] = await reading;
  assert.deepEqual(more, []);
  assert.equal(first?.eventSeq, 1);
  assert.deepEqual([second?.ts, second?.body], ["nonsense", body]);
  assert.deepEqual(second?.view, {
    kind: "tool_call",
    tool: "fetch",
    args: { url: "x" },
    callId: "c",
  });
  assert.deepEqual(await job.done, {
    final_status: "success",
    result: { ok: true },
    completed_at: "2026-05-13T00:00:00.000Z",
  });
});

test("[ARCP-208] done rejects with the error of the job, and nobody need look", async () => {
  await using scene = await open();
  const { runtime } = scene;
  const job = await accepted(scene);
  await accepted(scene, "job_2");
  const failed = { code: "TIMEOUT", message: "too long", final_status: "timed_out" };
  await runtime.say("job.error", failed, { jobId: "job_1", eventSeq: 1 });
  // Nobody awaits the second: that is no unhandled rejection.
  await runtime.say("job.error", failed, { jobId: "job_2", eventSeq: 2 });
  await assert.rejects(job.done, { code: "TIMEOUT", name: "TimeoutError", retryable: true });
  assert.deepEqual(await texts(job), []);
});

test("[ARCP-208] closing the client settles everything that waits", async () => {
  const scene = await open();
  const { client, time } = scene;
  const job = await accepted(scene);
  const iterating = job.events().next();
  const waiting = [
    job.done,
    job.collectChunks(),
    iterating,
    client.submit({ agent: "a" }),
    client.listJobs(),
    client.subscribe("job_9"),
    client.cancelJob("job_8"),
  ];
  const closing = client.close();
  for (const each of waiting) void expecting<unknown>(each);
  for (const each of waiting) await assert.rejects(each, { code: "CANCELLED" });
  await time.pass(250);
  await closing;
  await client.close();
  await assert.rejects(client.submit({ agent: "a" }), { code: "CANCELLED" });
  await assert.rejects(client.send({ type: "x-vendor.a.b", payload: {} }), { code: "CANCELLED" });
  assert.deepEqual([client.isClosed, scene.broken, time.timers], [true, [], 0]);
});

test("[ARCP-208] a transport that is lost for good settles everything that waits", async () => {
  const runtime = new ScriptedRuntime();
  const time = new ManualTime();
  const broken: string[] = [];
  const client = await ARCPClient.connect(await runtime.dial(), {
    token: "t",
    time,
    onSessionBroken: ({ code }) => broken.push(code),
  });
  const submitting = client.submit({ agent: "a" });
  await runtime.accept(await runtime.last("job.submit"), "job_1");
  const job = await submitting;
  const list = expecting(client.listJobs());
  await runtime.drop();
  await assert.rejects(job.done, { code: "HEARTBEAT_LOST" });
  await assert.rejects(list, { code: "HEARTBEAT_LOST" });
  await assert.rejects(texts(job), { code: "HEARTBEAT_LOST" });
  assert.deepEqual([broken, client.isClosed, time.timers], [["HEARTBEAT_LOST"], true, 0]);
});

test("[ARCP-59] a fatal error of the session settles everything with it; others leave it usable", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const job = await accepted(scene);
  await runtime.error("INTERNAL_ERROR", "a hiccup");
  await runtime.event("job_1", "still here");
  assert.equal(client.isClosed, false);
  await runtime.error("UNAUTHENTICATED", "your token was revoked");
  await assert.rejects(job.done, { code: "UNAUTHENTICATED" });
  assert.deepEqual([client.isClosed, scene.broken], [true, ["UNAUTHENTICATED"]]);
});

test("[ARCP-59] an error that is followed by a close is why the session ended", async () => {
  const runtime = new ScriptedRuntime();
  const client = await ARCPClient.connect(await runtime.dial(), { token: "t" });
  const list = expecting(client.listJobs());
  await runtime.error("INTERNAL_ERROR", "out of memory");
  await runtime.drop();
  await assert.rejects(list, { code: "INTERNAL_ERROR", message: "out of memory" });
});

test("a request that is never answered rejects after a minute", async () => {
  await using scene = await open();
  const { client, time, runtime } = scene;
  const list = expecting(client.listJobs());
  const subscribing = expecting(client.subscribe("job_9"));
  const submitting = expecting(client.submit({ agent: "a" }));
  const submit = await runtime.last("job.submit");
  await time.pass(60_000);
  await assert.rejects(list, { code: "TIMEOUT" });
  await assert.rejects(subscribing, { code: "TIMEOUT" });
  await assert.rejects(submitting, { code: "TIMEOUT" });
  // Nobody wants the job that comes of it after all.
  await runtime.accept(submit, "job_1");
  assert.equal((await runtime.last("job.cancel")).jobId, "job_1");
});

test("an error that the session got over is not why it ended later", async () => {
  const runtime = new ScriptedRuntime();
  const client = await ARCPClient.connect(await runtime.dial(), { token: "t" });
  await runtime.error("INTERNAL_ERROR", "a hiccup");
  await runtime.say("session.ping", { nonce: "p_1" });
  const list = expecting(client.listJobs());
  await runtime.drop();
  await assert.rejects(list, { code: "HEARTBEAT_LOST" });
});

test("while there is no connection no answer is overdue", async () => {
  await using scene = await open({ welcome: { resume_window_sec: 600 } });
  const { runtime, client, time } = scene;
  const list = client.listJobs();
  await settled();
  runtime.isReachable = false;
  await runtime.drop();
  await time.pass(90_000, 500);
  runtime.isReachable = true;
  await time.pass(10_000, 500);
  const { id } = await runtime.last("session.list_jobs");
  await runtime.say("session.jobs", { request_id: id, jobs: [] });
  assert.deepEqual((await list).jobs, []);
});

test("an answer to a question is sent again after a loss of the connection, as the same one", async () => {
  const capabilities = { features: ["subscribe"], "x-vendor.runctx.answer": {} };
  await using scene = await open({ welcome: { capabilities } });
  const { runtime, time } = scene;
  const job = await accepted(scene);
  const answering = job.answer("q_1", null);
  const first = await runtime.last("x-vendor.runctx.answer");
  const { idempotency_key, ...said } = first.payload;
  assert.deepEqual(said, { job_id: "job_1", question_id: "q_1", answer: null });
  await runtime.drop();
  await time.pass(10_000, 250);
  const again = await runtime.last("x-vendor.runctx.answer");
  assert.notEqual(again, first);
  assert.deepEqual(again.payload, first.payload);
  assert.equal(typeof idempotency_key, "string");
  const answered = { job_id: "job_1", question_id: "q_1", request_id: again.id };
  await runtime.say("x-vendor.runctx.answered", answered, { jobId: "job_1" });
  await answering;
  const details = { original_code: "question_closed" };
  const refusal = { code: "INVALID_REQUEST", message: "answered by bob", details };
  const late = assert.rejects(job.answer("q_1", "blue"), refusal);
  const { id } = await runtime.last("x-vendor.runctx.answer");
  await runtime.error("INVALID_REQUEST", "answered by bob", { request_id: id, details });
  await late;
  assert.deepEqual(scene.problems, []);
});

test("a runtime that does not advertise it is sent no answer", async () => {
  await using scene = await open();
  const job = await accepted(scene);
  await assert.rejects(job.answer("q_1", "blue"), { code: "INVALID_REQUEST" });
  assert.deepEqual(scene.runtime.ofType("x-vendor.runctx.answer"), []);
});

test("[ARCP-209] a submit that is aborted rejects, and the job that comes of it is cancelled", async () => {
  await using scene = await open();
  const { client, runtime } = scene;
  const controller = new AbortController();
  const submitting = client.submit({ agent: "a", signal: controller.signal });
  const submit = await runtime.last("job.submit");
  const reason = new Error("changed my mind");
  controller.abort(reason);
  await assert.rejects(submitting, { code: "CANCELLED", cause: reason });
  assert.equal(runtime.ofType("job.cancel").length, 0);
  await runtime.accept(submit, "job_1");
  assert.equal((await runtime.last("job.cancel")).jobId, "job_1");
  await assert.rejects(client.submit({ agent: "a", signal: controller.signal }), {
    code: "CANCELLED",
  });
  assert.equal(runtime.ofType("job.submit").length, 1);
});

test("[ARCP-209] [ARCP-80] close waits a moment for the job of a submit that was withdrawn, and cancels it", async () => {
  for (const isAnswered of [true, false]) {
    const scene = await open();
    const { client, runtime, time } = scene;
    const { signal, abort } = aborting(new Error("changed my mind"));
    void expecting(client.submit({ agent: "a", signal }));
    const submit = await runtime.last("job.submit");
    const listing = expecting(client.listJobs());
    await settled();
    abort();
    const closing = client.close();
    await assert.rejects(listing, { code: "CANCELLED" });
    await assert.rejects(client.listJobs(), { code: "CANCELLED" });
    assert.equal(client.isClosed, true);
    const before = runtime.received.length;
    if (isAnswered) await runtime.accept(submit, "job_1");
    else await time.pass(250);
    assert.deepEqual(
      runtime.received.slice(before).map(({ type, jobId }) => [type, jobId]),
      [...(isAnswered ? [["job.cancel", "job_1"]] : []), ["session.bye", undefined]],
    );
    await time.pass(250);
    await closing;
    assert.deepEqual([runtime.transport.closed, time.timers], [true, 0]);
  }
});

test("a connection that is lost while close waits breaks nothing", async () => {
  const { client, runtime, time, broken } = await open({}, { reconnect: false });
  const { signal, abort } = aborting(new Error("changed my mind"));
  void expecting(client.submit({ agent: "a", signal }));
  await settled();
  abort();
  const closing = client.close();
  await runtime.drop();
  await time.pass(250);
  await closing;
  assert.deepEqual([broken, time.timers], [[], 0]);
});

test("[ARCP-209] [ARCP-214] how a job ends that nobody wanted refuses no other submit", async () => {
  await using scene = await open();
  const { client, runtime } = scene;
  const { signal, abort } = aborting(new Error("changed my mind"));
  void expecting(client.submit({ agent: "a", signal }));
  const submit = await runtime.last("job.submit");
  abort();
  await runtime.accept(submit, "job_1");
  const submitting = client.submit({ agent: "b" });
  const other = await runtime.last("job.submit");
  const end = { code: "CANCELLED", message: "m", final_status: "cancelled" };
  await runtime.say("job.error", end, { jobId: "job_1", eventSeq: runtime.nextSeq() });
  await runtime.accept(other, "job_2");
  assert.equal((await submitting).jobId, "job_2");
});

test("[ARCP-209] a job that was asked for again under its key is not cancelled for the first who asked", async () => {
  await using scene = await open();
  const { client, runtime } = scene;
  const submit = async (signal?: AbortSignal) => {
    const submitting = expecting(client.submit({ agent: "a", idempotencyKey: "k", signal }));
    return { submitting, envelope: await runtime.last("job.submit") };
  };
  const [first, second] = [aborting(new Error("slow")), aborting(new Error("slower"))];
  const submits = [await submit(first.signal), await submit(second.signal), await submit()];
  const [one, two, three] = submits.map(({ envelope }) => envelope);
  assert(one && two && three);
  first.abort();
  second.abort();
  await runtime.accept(one, "job_1");
  await runtime.accept(three, "job_1");
  await runtime.accept(two, "job_1");
  await runtime.result("job_1", 7);
  const job = await submits[2]?.submitting;
  assert.equal((await job?.done)?.result, 7);
  assert.equal(runtime.ofType("job.cancel").length, 0);
});

test("[ARCP-209] a job that was asked for twice under its key is cancelled once both have withdrawn", async () => {
  await using scene = await open();
  const { client, runtime } = scene;
  const [first, second] = [aborting(new Error("slow")), aborting(new Error("slower"))];
  const submit = async ({ signal }: { readonly signal: AbortSignal }) => {
    void expecting(client.submit({ agent: "a", idempotencyKey: "k", signal }));
    return runtime.last("job.submit");
  };
  const one = await submit(first);
  first.abort();
  const two = await submit(second);
  await runtime.accept(one, "job_1");
  assert.equal(runtime.ofType("job.cancel").length, 0);
  second.abort();
  await runtime.accept(two, "job_1");
  assert.deepEqual(
    runtime.ofType("job.cancel").map(({ jobId }) => jobId),
    ["job_1"],
  );
});

test("[ARCP-209] a job that two have under one key is cancelled by the last of their signals", async () => {
  await using scene = await open();
  const { runtime } = scene;
  const [first, second] = [aborting(new Error("slow")), aborting(new Error("slower"))];
  const one = await accepted(scene, "job_1", { idempotencyKey: "k", signal: first.signal });
  await accepted(scene, "job_1", { idempotencyKey: "k", signal: second.signal });
  first.abort();
  await settled();
  assert.equal(runtime.ofType("job.cancel").length, 0);
  second.abort();
  assert.equal((await runtime.last("job.cancel")).jobId, "job_1");
  assert.equal(runtime.ofType("job.cancel").length, 1);
  // Who has withdrawn hears how it ends nevertheless.
  await runtime.result("job_1", 7);
  assert.equal((await one.done).result, 7);
});

test("[ARCP-209] a job that was left to who asks for it under its key is cancelled if that comes to nothing", async () => {
  await using scene = await open();
  const { client, runtime, time } = scene;
  const cancelled = () => runtime.ofType("job.cancel").map(({ jobId }) => jobId);
  for (const [jobId, key] of [
    ["job_1", "k"],
    ["job_2", "l"],
  ] as const) {
    const first = aborting(new Error("slow"));
    await accepted(scene, jobId, { idempotencyKey: key, signal: first.signal });
    const second = aborting(new Error("slower"));
    const isDetached = jobId === "job_1";
    if (isDetached) await runtime.drop();
    const again = { agent: "b", idempotencyKey: key, signal: second.signal };
    const submitting = expecting(client.submit(again));
    await settled();
    first.abort();
    await settled();
    assert(!cancelled().includes(jobId));
    if (isDetached) second.abort();
    else {
      const { id } = await runtime.last("job.submit");
      await runtime.error("DUPLICATE_KEY", "it was another request", { request_id: id });
    }
    await assert.rejects(submitting);
    await time.pass(250);
  }
  assert.deepEqual(cancelled(), ["job_1", "job_2"]);
});

test("a connect that is aborted rejects with the reason, whatever it waits for, and leaves nothing open", async () => {
  const reason = new Error("changed my mind");
  const silent = new ScriptedRuntime({ greet: () => undefined });
  const from = { session_id: "sess_1", resume_token: "rt_1", last_event_seq: 3 };
  for (const begin of [
    (options: ClientOptions) => ARCPClient.connect(silent.dial, options),
    (options: ClientOptions) => ARCPClient.resume(silent.dial, from, options),
  ]) {
    const { signal, abort } = aborting(reason);
    const time = new ManualTime();
    const connecting = expecting(begin({ token: "t", time, signal }));
    await settled();
    abort();
    await assert.rejects(connecting, reason);
    await settled();
    assert.equal(silent.transport.closed, true);
    assert.deepEqual([time.timers, getEventListeners(signal, "abort").length], [0, 0]);
  }
  const { signal, abort } = aborting(reason);
  const late = Promise.withResolvers<Transport>();
  const connecting = expecting(ARCPClient.connect(() => late.promise, { token: "t", signal }));
  abort();
  await assert.rejects(connecting, reason);
  const [transport] = pairMemoryTransports();
  late.resolve(transport);
  await settled();
  assert.equal(transport.closed, true);
  const never = (): never => assert.fail("it was dialled");
  await assert.rejects(ARCPClient.connect(never, { token: "t", signal }), reason);
});

test("a connect that is aborted right behind the welcome, or while it dials, leaves nothing open either", async () => {
  const reason = new Error("changed my mind");
  const outcomes = new Set<string>();
  for (let turns = 0; turns < 12; turns += 1) {
    const runtime = new ScriptedRuntime();
    const time = new ManualTime();
    const { signal, abort } = aborting(reason);
    const abortLater = async (): Promise<void> => {
      for (let turn = 0; turn < turns; turn += 1) await undefined;
      abort();
    };
    const dial = async (): Promise<Transport> => {
      const transport = await runtime.dial();
      const { onFrame } = transport;
      transport.onFrame = (take) =>
        onFrame.call(transport, (frame) => {
          take(frame);
          void abortLater();
        });
      return transport;
    };
    const connecting = expecting(ARCPClient.connect(dial, { token: "t", time, signal }));
    const client = await connecting.catch((error) => void assert.equal(error, reason));
    await time.pass(250);
    // It has a client that works, or nothing at all.
    assert.equal(client?.isConnected ?? false, client !== undefined, `${turns}`);
    assert.equal(runtime.transport.closed, client === undefined, `${turns}`);
    assert.equal(getEventListeners(signal, "abort").length, 0);
    outcomes.add(client ? "connected" : "aborted");
    const closing = client?.close();
    await time.pass(250);
    await closing;
  }
  assert.equal(outcomes.size, 2);
  const { signal, abort } = aborting(reason);
  const dial = (): Promise<Transport> => {
    abort();
    return new ScriptedRuntime().dial();
  };
  await assert.rejects(ARCPClient.connect(dial, { token: "t", signal }), reason);
});

test("once there is a session, the signal of the connect is nobody's any more", async () => {
  const { signal, abort } = aborting(new Error("too late"));
  await using scene = await open({}, { signal });
  abort();
  await settled();
  assert.deepEqual([scene.client.isClosed, getEventListeners(signal, "abort").length], [false, 0]);
});

function aborting(reason: Error): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(reason) };
}

test("whoever waits for a list, a subscription or a cancel waits as long as its signal lets it", async () => {
  await using scene = await open();
  const { client, runtime } = scene;
  const reason = new Error("enough");
  const { signal, abort } = aborting(reason);
  const ask = () => [
    client.listJobs({}, { signal }),
    client.subscribe("job_5", { signal }),
    client.cancelJob("job_6", { signal }),
  ];
  const waiting = ask();
  for (const each of waiting) void expecting<unknown>(each);
  const [list, subscribe] = await Promise.all([
    runtime.last("session.list_jobs"),
    runtime.last("job.subscribe"),
  ]);
  abort();
  for (const each of waiting) await assert.rejects(each, reason);
  assert.equal(getEventListeners(signal, "abort").length, 0);
  assert.equal((await runtime.last("job.unsubscribe")).payload["job_id"], "job_5");
  await runtime.say("session.jobs", { request_id: list.id, jobs: [] });
  await runtime.say("job.subscribed", subscribed(subscribe.id));
  const before = runtime.received.length;
  for (const each of ask()) await assert.rejects(each, reason);
  await settled();
  assert.equal(runtime.received.length, before);
});

test("and so does whoever waits for a connection, a job or a streamed result", async () => {
  await using scene = await open();
  const { client, runtime, time } = scene;
  const job = await accepted(scene, "job_1");
  await runtime.drop();
  const reason = new Error("enough");
  const { signal, abort } = aborting(reason);
  const ask = () => [
    client.send({ type: "x-vendor.a.b", payload: {} }, { signal }),
    job.cancel("no need", { signal }),
    job.collectChunks({ signal }),
  ];
  const waiting = ask();
  for (const each of waiting) void expecting<unknown>(each);
  await settled();
  abort();
  for (const each of [...waiting, ...ask()]) await assert.rejects(each, reason);
  assert.equal(getEventListeners(signal, "abort").length, 0);
  await time.pass(250);
  assert.deepEqual(
    runtime.received.slice(-2).map(({ type }) => type),
    ["job.submit", "session.hello"],
  );
  await runtime.result("job_1", 7);
  assert.equal((await job.done).result, 7);
});

test("[ARCP-215] the refusal of what nobody waits for any more refuses nothing else", async () => {
  await using scene = await open();
  const { client, runtime } = scene;
  const { signal, abort } = aborting(new Error("enough"));
  void expecting(client.subscribe("job_5", { signal }));
  abort();
  const subscribing = client.subscribe("job_6");
  const { id } = await runtime.last("job.subscribe");
  await runtime.error("JOB_NOT_FOUND", "there is no such job");
  await runtime.say("job.subscribed", { ...subscribed(id), job_id: "job_6" });
  assert.equal((await subscribing).jobId, "job_6");
});

test("history that nobody waits for any more is not told to those who saw it happen", async () => {
  await using scene = await open();
  const { client, runtime } = scene;
  const job = await accepted(scene, "job_5");
  await runtime.event("job_5", "one");
  const { signal, abort } = aborting(new Error("enough"));
  void expecting(client.subscribe("job_5", { history: true, signal }));
  const { id } = await runtime.last("job.subscribe");
  abort();
  await runtime.say("job.subscribed", subscribed(id, { replayed: true, subscribed_from: 2 }));
  await runtime.event("job_5", "one");
  await runtime.result("job_5", 1);
  assert.deepEqual(await texts(job), ["one"]);
});

test("after a loss, lists and subscriptions that nobody waits for are not asked for again; a cancel is", async () => {
  await using scene = await open();
  const { client, runtime, time } = scene;
  const { signal, abort } = aborting(new Error("enough"));
  void expecting(client.listJobs({}, { signal }));
  void expecting(client.subscribe("job_5", { signal }));
  void expecting(client.cancelJob("job_6", { signal }));
  await settled();
  abort();
  await runtime.drop();
  const before = runtime.received.length;
  await time.pass(250);
  assert.deepEqual(
    runtime.received.slice(before).map(({ type }) => type),
    ["session.hello", "job.cancel"],
  );
});

test("[ARCP-142] who leaves a job while there is no connection has left it after a resume, unless somebody is back", async () => {
  await using scene = await open();
  const { client, runtime, time } = scene;
  const subscribe = async (jobId: string) => {
    const subscribing = client.subscribe(jobId);
    const { id } = await runtime.last("job.subscribe");
    await runtime.say("job.subscribed", { ...subscribed(id), job_id: jobId });
    return subscribing;
  };
  const jobs = [await subscribe("job_1"), await subscribe("job_2")];
  const { signal, abort } = aborting(new Error("enough"));
  void expecting(client.subscribe("job_3", { signal }));
  await settled();
  await runtime.drop();
  for (const job of jobs) job.unsubscribe();
  abort();
  void expecting(client.subscribe("job_2"));
  await settled();
  assert.equal(runtime.ofType("job.unsubscribe").length, 0);
  const unsubscribed = () =>
    runtime.ofType("job.unsubscribe").map((each) => each.payload["job_id"]);
  await time.pass(250);
  assert.deepEqual(unsubscribed(), ["job_1", "job_3"]);
  await runtime.drop();
  await time.pass(250);
  assert.deepEqual(unsubscribed(), ["job_1", "job_3"]);
});

test("submits that were given up leave room for others, however many there are", async () => {
  await using scene = await open();
  const { client } = scene;
  const wishes = Array.from({ length: limits.pendingMax }, () => {
    const controller = new AbortController();
    void expecting(client.submit({ agent: "a", signal: controller.signal }));
    return controller;
  });
  await assert.rejects(client.listJobs(), { code: "INTERNAL_ERROR" });
  for (const wish of wishes) wish.abort();
  await accepted(scene, "job_1");
});

test("[ARCP-209] a job that was accepted is cancelled by its signal, once it is over by nothing", async () => {
  await using scene = await open();
  const { runtime } = scene;
  const first = new AbortController();
  const second = new AbortController();
  await accepted(scene, "job_1", { signal: first.signal });
  await accepted(scene, "job_2", { signal: second.signal });
  await runtime.result("job_2", null);
  assert.equal(getEventListeners(second.signal, "abort").length, 0);
  first.abort();
  second.abort();
  await settled();
  assert.deepEqual(
    runtime.ofType("job.cancel").map(({ jobId }) => jobId),
    ["job_1"],
  );
});

test("[ARCP-210] 1,024 events wait for someone to ask; the first that is left says how many are gone", async () => {
  await using scene = await open();
  const { runtime } = scene;
  const job = await accepted(scene);
  const all = await accepted(scene, "job_2");
  const reading = texts(all);
  for (let index = 1; index <= 1_030; index += 1) {
    const jobId = index % 2 === 0 ? "job_2" : "job_1";
    const payload = { kind: "thought", body: { text: String(index) } };
    const frame = { arcp: "1.1", id: "m", type: "job.event", job_id: jobId, event_seq: index };
    void runtime.transport.send({ ...frame, payload });
  }
  for (let index = 1_031; index <= 2_060; index += 1) {
    const payload = { kind: "thought", body: { text: String(index) } };
    const frame = { arcp: "1.1", id: "m", type: "job.event", job_id: "job_1", event_seq: index };
    void runtime.transport.send({ ...frame, payload });
  }
  await settled();
  await runtime.result("job_1", null, 2_061);
  await runtime.result("job_2", null, 2_062);
  const events: ReceivedEvent[] = [];
  for await (const event of job.events()) events.push(event);
  assert.equal(events.length, 1_024);
  assert.equal(events[0]?.droppedBefore, 515 + 1_030 - 1_024);
  assert(events.slice(1).every(({ droppedBefore }) => droppedBefore === 0));
  assert.equal((await reading).length, 515);
});

test("[ARCP-210] each handler is awaited before the next frame is handed over, and may ask meanwhile", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const heard: string[] = [];
  const off = client.on("x-vendor.acme.news", async ({ payload }) => {
    heard.push(`begin ${payload["n"]}`);
    const page = await client.listJobs();
    heard.push(`end ${payload["n"]} ${page.jobs.length}`);
  });
  await runtime.say("x-vendor.acme.news", { n: 1 });
  await runtime.say("x-vendor.acme.news", { n: 2 });
  assert.deepEqual(heard, ["begin 1"]);
  for (const n of [1, 2]) {
    const { id } = await runtime.last("session.list_jobs");
    await runtime.say("session.jobs", { request_id: id, jobs: [], next_cursor: null });
    assert.equal(heard.includes(`end ${n} 0`), true);
  }
  assert.deepEqual(heard, ["begin 1", "end 1 0", "begin 2", "end 2 0"]);
  off();
  await runtime.say("x-vendor.acme.news", { n: 3 });
  assert.equal(heard.length, 4);
});

test("[ARCP-191] vendors' frames go both ways; one that nobody knows is reported unless it may be dropped", async () => {
  await using scene = await open();
  const { runtime, client, problems } = scene;
  const extensions = { "x-vendor.acme.key": 1 };
  await client.send({ type: "x-vendor.acme.hello", payload: { a: 1 }, extensions });
  const hello = await runtime.last("x-vendor.acme.hello");
  assert.deepEqual([hello.payload, hello.extensions], [{ a: 1 }, extensions]);
  assert.equal(hello.sessionId, runtime.sessionId);
  await runtime.say("x-vendor.acme.other", {}, { extensions: { optional: true } });
  assert.deepEqual(problems, []);
  await runtime.say("x-vendor.acme.other", {});
  assert.equal(problems.length, 1);
});

test("[ARCP-12] [ARCP-17] what is no frame is reported and dropped, what is unknown is ignored", async () => {
  await using scene = await open();
  const { runtime, problems } = scene;
  const job = await accepted(scene);
  await runtime.sayRaw({ arcp: "2.0", id: "x", type: "job.event" });
  await runtime.sayRaw({ nothing: true });
  await runtime.say("job.accepted", { agent: "a" });
  await runtime.say("session.jobs", { jobs: "no" });
  assert.equal(problems.length, 4);
  await runtime.say("session.brand_new", { x: 1 });
  await runtime.say("job.result", { final_status: "success" }, { jobId: "job_unknown" });
  assert.equal(problems.length, 4);
  await runtime.result("job_1", 1);
  assert.equal((await job.done).result, 1);
});

test("[PYC-18] [PY-54] [ARCP-69] a ping is answered at once, with its nonce", async () => {
  await using scene = await open();
  const { runtime } = scene;
  await runtime.say("session.ping", { nonce: "p_1", sent_at: "2026-11-15T18:59:11.454364+00:00" });
  assert.equal((await runtime.last("session.pong")).payload["ping_nonce"], "p_1");
});

test("[ARCP-72] [ARCP-73] silence is asked about after an interval, and after two the connection is given up", async () => {
  let lost = 0;
  await using scene = await open(
    { welcome: { heartbeat_interval_sec: 10 } },
    { onHeartbeatLost: () => (lost += 1) },
  );
  const { runtime, client, time } = scene;
  const job = await accepted(scene);
  await time.pass(9_999);
  assert.equal(runtime.ofType("session.ping").length, 0);
  await time.pass(1);
  assert.equal(runtime.ofType("session.ping").length, 1);
  const ping = await runtime.last("session.ping");
  await runtime.say("session.pong", { ping_nonce: ping.payload["nonce"] });
  await time.pass(10_000);
  await time.pass(9_999);
  assert.deepEqual([lost, client.isConnected], [0, true]);
  const silent = runtime.transport;
  await time.pass(1, 1);
  assert.equal(lost, 1);
  assert.equal(silent.closed, true);
  // It comes back, and the job goes on.
  await time.pass(250);
  assert.equal(runtime.helloes.length, 2);
  await runtime.result("job_1", "fine");
  assert.equal((await job.done).result, "fine");
});

test("[ARCP-80] close says bye, or close if it is told so, and waits 250 ms for the runtime", async () => {
  for (const closeMessage of ["bye", "close"] as const) {
    const scene = await open({}, { closeMessage });
    let isClosed = false;
    const closing = scene.client.close("enough").then(() => (isClosed = true));
    const farewell = await scene.runtime.last(`session.${closeMessage}`);
    assert.deepEqual(farewell.payload, { reason: "enough" });
    await scene.time.pass(249);
    assert.equal(isClosed, false);
    await scene.time.pass(1);
    await closing;
    assert.equal(scene.runtime.transport.closed, true);
  }
});

test("[PYC-5] to the Python runtime it never says close", async () => {
  const scene = await open({ isPython: true }, { closeMessage: "close" });
  const closing = scene.client.close();
  await scene.runtime.last("session.bye");
  assert.equal(scene.runtime.ofType("session.close").length, 0);
  await scene.time.pass(250);
  await closing;
});

test("[ARCP-80] the runtime's farewell closes our side; one that only stops is waited for", async () => {
  const superseded = await open();
  const job = await accepted(superseded);
  await superseded.runtime.say("session.bye", { reason: "superseded" });
  await assert.rejects(job.done, { code: "CANCELLED" });
  assert.equal(superseded.client.isClosed, true);
  assert.equal(superseded.runtime.transport.closed, true);
  await using stopping = await open();
  const kept = await accepted(stopping);
  await stopping.runtime.say("session.bye", { reason: "shutdown" });
  assert.equal(stopping.client.isClosed, false);
  await stopping.time.pass(250);
  await stopping.runtime.result("job_1", 1);
  assert.equal((await kept.done).result, 1);
});

test("[ARCP-216] events that precede the answer to a subscribe are kept for it", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const subscribing = client.subscribe("job_5", { history: true });
  const { id } = await runtime.last("job.subscribe");
  await runtime.event("job_5", "old");
  await runtime.event("job_5", "older");
  await runtime.say("job.subscribed", subscribed(id, { replayed: true, subscribed_from: 2 }));
  const watched = await subscribing;
  assert.deepEqual([watched.currentStatus, watched.replayed], ["running", true]);
  await runtime.event("job_5", "new");
  await runtime.result("job_5", 1);
  assert.deepEqual(await texts(watched), ["old", "older", "new"]);
  assert.equal((await watched.done).result, 1);
});

function subscribed(requestId: string, more: JsonObject = {}): JsonObject {
  return {
    request_id: requestId,
    job_id: "job_5",
    current_status: "running",
    agent: "a",
    lease: {},
    subscribed_from: 0,
    replayed: false,
    ...more,
  };
}

test("[ARCP-136] what happens while the answer to a subscribe is under way is in the history once", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const job = await accepted(scene, "job_5");
  const subscribing = client.subscribe("job_5", { history: true });
  const { id } = await runtime.last("job.subscribe");
  await runtime.event("job_5", "one");
  await runtime.say("job.subscribed", subscribed(id, { replayed: true, subscribed_from: 2 }));
  await runtime.event("job_5", "one");
  await runtime.result("job_5", 1);
  assert.deepEqual(await texts(job), ["one"]);
  assert.deepEqual(await texts(await subscribing), ["one"]);
});

test("[ARCP-136] [ARCP-141] a job that ends before the answer to a subscribe is told whole after it", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const job = await accepted(scene, "job_5");
  const subscribing = client.subscribe("job_5", { history: true });
  const { id } = await runtime.last("job.subscribe");
  await runtime.event("job_5", "one");
  await runtime.result("job_5", 1);
  await runtime.say("job.subscribed", subscribed(id, { replayed: true, subscribed_from: 4 }));
  await runtime.event("job_5", "one");
  await runtime.result("job_5", 1);
  const watched = await subscribing;
  assert.deepEqual(await texts(job), ["one"]);
  assert.deepEqual(await texts(watched), ["one"]);
  assert.equal((await watched.done).result, 1);
  await watched.cancel();
});

test("[ARCP-142] whoever unsubscribes hears no more, and the runtime is told once nobody is left", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const watch = async () => {
    const subscribing = client.subscribe("job_5");
    await runtime.say("job.subscribed", subscribed((await runtime.last("job.subscribe")).id));
    return subscribing;
  };
  const first = await watch();
  const second = await watch();
  await runtime.event("job_5", "both");
  first.unsubscribe();
  await settled();
  assert.equal(runtime.ofType("job.unsubscribe").length, 0);
  await assert.rejects(first.done, { code: "CANCELLED" });
  assert.deepEqual(await texts(first), ["both"]);
  second.unsubscribe();
  assert.deepEqual((await runtime.last("job.unsubscribe")).payload, { job_id: "job_5" });
  // What was on its way refuses no submit.
  const submitting = client.submit({ agent: "a" });
  const submit = await runtime.last("job.submit");
  await runtime.say(
    "job.error",
    { code: "TIMEOUT", message: "m" },
    { jobId: "job_5", eventSeq: 2 },
  );
  await runtime.accept(submit, "job_6");
  assert.equal((await submitting).jobId, "job_6");
});

test("[ARCP-142] a caller that submitted a job can stop following it, also where the runtime has no subscriptions", async () => {
  for (const features of [["subscribe"], []]) {
    await using scene = await open({}, { features });
    const { runtime, client } = scene;
    const submitting = client.submit({ agent: "a" });
    await runtime.accept(await runtime.last("job.submit"), "job_1");
    {
      using job = await submitting;
      void assert.rejects(job.done, { code: "CANCELLED" });
    }
    await settled();
    const told = runtime.ofType("job.unsubscribe").map(({ payload }) => payload);
    assert.deepEqual(told, features.length === 0 ? [] : [{ job_id: "job_1" }]);
    // The handle of a job that has ended has nothing to unsubscribe from.
    const second = client.submit({ agent: "a" });
    await runtime.accept(await runtime.last("job.submit"), "job_2");
    using job = await second;
    await runtime.result("job_2", 1);
    await job.done;
    job.unsubscribe();
    await settled();
    assert.equal(runtime.ofType("job.unsubscribe").length, told.length);
  }
});

test("[ARCP-142] a subscription ends with the block that it was made in", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const subscribing = client.subscribe("job_5");
  await runtime.say("job.subscribed", subscribed((await runtime.last("job.subscribe")).id));
  let done: Promise<unknown>;
  {
    using watched = await subscribing;
    done = watched.done;
  }
  await assert.rejects(done, { code: "CANCELLED" });
  assert.deepEqual((await runtime.last("job.unsubscribe")).payload, { job_id: "job_5" });
});

test("[ARCP-136] history that the submitter asks for is not told twice to those who saw it happen", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const job = await accepted(scene, "job_5");
  await runtime.event("job_5", "one");
  const subscribing = client.subscribe("job_5", { history: true });
  const { id } = await runtime.last("job.subscribe");
  await runtime.say("job.subscribed", subscribed(id, { replayed: true, subscribed_from: 2 }));
  await runtime.event("job_5", "one");
  await runtime.event("job_5", "two");
  await runtime.result("job_5", 1);
  assert.deepEqual(await texts(job), ["one", "two"]);
  assert.deepEqual(await texts(await subscribing), ["one", "two"]);
});

test("[ARCP-120] duplicates are dropped", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const job = await accepted(scene);
  for (const [text, seq] of [
    ["one", 1],
    ["two", 2],
    ["again", 2],
    ["again", 1],
  ] as const) {
    await runtime.event("job_1", text, seq);
  }
  await runtime.result("job_1", null, 3);
  assert.deepEqual(await texts(job), ["one", "two"]);
  assert.deepEqual([client.lastEventSeq, scene.broken], [3, []]);
});

test("[ARCP-120] [ARCP-218] a gap is told once and filled by a resume from the last contiguous number", async () => {
  await using scene = await open();
  const { runtime, time } = scene;
  const job = await accepted(scene);
  await runtime.event("job_1", "one", 1);
  await runtime.event("job_1", "three", 3);
  assert.deepEqual(scene.broken, ["INTERNAL_ERROR"]);
  await time.pass(250);
  assert.deepEqual(resumeOf(runtime, 1), {
    session_id: runtime.sessionId,
    resume_token: "rt_1",
    last_event_seq: 1,
  });
  await runtime.event("job_1", "two", 2);
  await runtime.event("job_1", "three", 3);
  await runtime.result("job_1", null, 4);
  assert.deepEqual(await texts(job), ["one", "two", "three"]);
  assert.deepEqual([scene.broken.length, scene.gaps], [1, []]);
});

test("[ARCP-120] a gap that no resume fills is told, and what comes after it is delivered", async () => {
  await using scene = await open();
  const { runtime, time } = scene;
  const job = await accepted(scene);
  await runtime.event("job_1", "three", 3);
  await time.pass(250);
  await runtime.event("job_1", "three", 3);
  await runtime.result("job_1", null, 4);
  assert.deepEqual(await texts(job), ["three"]);
  assert.equal(runtime.helloes.length, 2);
  assert.deepEqual(
    scene.gaps.map(({ lastEventSeq }) => lastEventSeq),
    [0],
  );
});

function resumeOf(runtime: ScriptedRuntime, hello: number): unknown {
  return runtime.helloes[hello]?.payload["resume"];
}

test("[PYC-21] [ARCP-218] [ARCP-219] handles and subscriptions stay valid over lost connections, with the newest token", async () => {
  await using scene = await open();
  const { runtime, client, time } = scene;
  const job = await accepted(scene);
  const subscribing = client.subscribe("job_5");
  await runtime.say("job.subscribed", subscribed((await runtime.last("job.subscribe")).id));
  const watched = await subscribing;
  await runtime.event("job_1", "one");
  for (const count of [1, 2]) {
    await runtime.drop();
    assert.equal(client.isConnected, false);
    runtime.isReachable = false;
    await time.pass(30_000, 100);
    runtime.isReachable = true;
    await time.pass(10_000, 100);
    assert.equal(client.isConnected, true);
    const resume = { session_id: runtime.sessionId, last_event_seq: count * 2 - 1 };
    assert.deepEqual(resumeOf(runtime, count), { ...resume, resume_token: `rt_${count}` });
    await runtime.event("job_5", `watched ${count}`);
    await runtime.event("job_1", `own ${count}`);
  }
  await runtime.result("job_1", 1);
  await runtime.result("job_5", 5);
  assert.deepEqual(await texts(job), ["one", "own 1", "own 2"]);
  assert.deepEqual(await texts(watched), ["watched 1", "watched 2"]);
  assert.deepEqual([(await job.done).result, (await watched.done).result], [1, 5]);
  assert.deepEqual([scene.broken, scene.gaps], [[], []]);
});

test("[ARCP-219] a resume that failed on the way leaves the token as it was", async () => {
  await using scene = await open({
    greet: (_hello, count, runtime) => (count === 2 ? undefined : runtime.welcome()),
  });
  const { runtime, time } = scene;
  await runtime.drop();
  await time.pass(6_000, 250);
  await time.pass(10_000, 250);
  assert.equal(runtime.helloes.length, 3);
  const tokens = [1, 2].map((hello) => JSON.stringify(resumeOf(runtime, hello)));
  assert.equal(tokens[0], tokens[1]);
});

test("[ARCP-220] a submit without an answer is sent again under its id, if the runtime would know it again", async () => {
  await using scene = await open();
  const { runtime, client, time } = scene;
  await accepted(scene);
  const submitting = client.submit({ agent: "a", input: 7 });
  const submit = await runtime.last("job.submit");
  await runtime.drop();
  await time.pass(250);
  const again = await runtime.last("job.submit");
  assert.equal(runtime.ofType("job.submit").length, 3);
  assert.deepEqual(
    [again.id, again.payload, again.traceId],
    [submit.id, submit.payload, submit.traceId],
  );
  await runtime.accept(again, "job_2");
  assert.equal((await submitting).jobId, "job_2");
});

test("[ARCP-220] what is replayed of a job before its acceptance is told again is not lost, its end included", async () => {
  await using scene = await open();
  const { runtime, client, time } = scene;
  await accepted(scene);
  const [good, bad] = [client.submit({ agent: "good" }), client.submit({ agent: "bad" })];
  await settled();
  await runtime.drop();
  await time.pass(250);
  const [, , , first, second] = runtime.ofType("job.submit");
  assert(first && second);
  await runtime.event("job_2", "one");
  await runtime.event("job_3", "two");
  await runtime.result("job_2", 2);
  const failed = { code: "TIMEOUT", message: "too long" };
  await runtime.say("job.error", failed, { jobId: "job_3", eventSeq: runtime.nextSeq() });
  await runtime.accept(first, "job_2");
  await runtime.accept(second, "job_3");
  assert.deepEqual(await texts(await good), ["one"]);
  assert.equal((await (await good).done).result, 2);
  assert.deepEqual(await texts(await bad), ["two"]);
  await assert.rejects((await bad).done, { code: "TIMEOUT" });
});

test("[ARCP-208] [ARCP-220] a submit whose answer was lost has what its job said before the answer comes again", async () => {
  await using scene = await open();
  const { runtime, client, time } = scene;
  await accepted(scene);
  const traceId = "2".repeat(32);
  const submitting = client.submit({ agent: "a", traceId });
  await settled();
  await runtime.drop();
  await time.pass(250);
  const about = { jobId: "job_2", traceId };
  const payload = { kind: "thought", ts: "2026-05-13T00:00:00Z", body: { text: "one" } };
  await runtime.say("job.event", payload, { ...about, eventSeq: runtime.nextSeq() });
  const end = { final_status: "success", result: 7, completed_at: "2026-05-13T00:00:00Z" };
  await runtime.say("job.result", end, { ...about, eventSeq: runtime.nextSeq() });
  await runtime.accept(await runtime.last("job.submit"), "job_2");
  const job = await submitting;
  assert.deepEqual(await texts(job), ["one"]);
  assert.equal((await job.done).result, 7);
  await job.cancel();
});

test("[ARCP-214] [ARCP-220] and so has one whose job failed, which is no refusal of it", async () => {
  await using scene = await open();
  const { runtime, client, time } = scene;
  const submitting = client.submit({ agent: "a", idempotencyKey: "k" });
  await settled();
  await runtime.drop();
  await time.pass(250);
  await runtime.event("job_2", "one");
  const failure = { final_status: "error", code: "TIMEOUT", message: "late", retryable: true };
  await runtime.say("job.error", failure, { jobId: "job_2", eventSeq: runtime.nextSeq() });
  await runtime.accept(await runtime.last("job.submit"), "job_2");
  const job = await submitting;
  assert.deepEqual(await texts(job), ["one"]);
  await assert.rejects(job.done, { code: "TIMEOUT" });
});

test("[ARCP-220] nor is it lost where somebody here follows the same job, and nobody has it twice", async () => {
  await using scene = await open();
  const { runtime, client, time } = scene;
  await accepted(scene);
  const traceId = "2".repeat(32);
  const submitting = client.submit({ agent: "a", traceId });
  await settled();
  await runtime.drop();
  await time.pass(250);
  const submit = await runtime.last("job.submit");
  const subscribing = client.subscribe("job_2");
  const { id } = await runtime.last("job.subscribe");
  await runtime.say("job.subscribed", { ...subscribed(id), job_id: "job_2" });
  const payload = { kind: "thought", ts: "2026-05-13T00:00:00Z", body: { text: "one" } };
  await runtime.say("job.event", payload, { jobId: "job_2", traceId, eventSeq: runtime.nextSeq() });
  await runtime.accept(submit, "job_2");
  await runtime.event("job_2", "two");
  await runtime.result("job_2", 7);
  assert.deepEqual(await texts(await submitting), ["one", "two"]);
  assert.deepEqual(await texts(await subscribing), ["one", "two"]);
});

test("[ARCP-220] otherwise it rejects, unless it has an idempotency key", async () => {
  await using scene = await open();
  const { runtime, client, time } = scene;
  const plain = expecting(client.submit({ agent: "a" }));
  const keyed = client.submit({ agent: "b", idempotencyKey: "k" });
  await settled();
  await runtime.drop();
  await time.pass(250);
  await assert.rejects(plain, { code: "HEARTBEAT_LOST" });
  const again = await runtime.last("job.submit");
  assert.equal(runtime.ofType("job.submit").length, 3);
  await runtime.accept(again, "job_2");
  assert.equal((await keyed).jobId, "job_2");
});

test("[ARCP-209] [ARCP-220] a submit that was withdrawn is not sent again; its job, if there is one, is cancelled when it is heard of", async () => {
  await using scene = await open();
  const { runtime, client, time } = scene;
  await accepted(scene);
  const { signal, abort } = aborting(new Error("changed my mind"));
  const withdrawn = [1, 2].map(() => expecting(client.submit({ agent: "a", signal })));
  await settled();
  const [, submit] = runtime.ofType("job.submit");
  assert(submit?.traceId);
  abort();
  await runtime.drop();
  await time.pass(250);
  for (const each of withdrawn) await assert.rejects(each, { code: "CANCELLED" });
  assert.equal(runtime.ofType("job.submit").length, 3);
  // The first has arrived, the second has not.
  const hear = (jobId: string, traceId: string | undefined) =>
    runtime.say(
      "job.event",
      { kind: "thought", body: { text: "x" } },
      { jobId, traceId, eventSeq: runtime.nextSeq() },
    );
  await hear("job_1", submit.traceId);
  await hear("job_8", "8".repeat(32));
  assert.equal(runtime.ofType("job.cancel").length, 0);
  await hear("job_2", submit.traceId);
  await hear("job_2", submit.traceId);
  assert.deepEqual(
    runtime.ofType("job.cancel").map(({ jobId }) => jobId),
    ["job_2"],
  );
  // How it ends is of no concern to others.
  const submitting = client.submit({ agent: "b" });
  const other = await runtime.last("job.submit");
  const end = { code: "CANCELLED", message: "m", final_status: "cancelled" };
  await runtime.say("job.error", end, { jobId: "job_2", eventSeq: runtime.nextSeq() });
  await runtime.accept(other, "job_3");
  assert.equal((await submitting).jobId, "job_3");
});

test("[ARCP-209] [ARCP-220] a job that shares its trace with others is not taken for the one that was withdrawn", async () => {
  await using scene = await open();
  const { runtime, client, time } = scene;
  const traceId = "2".repeat(32);
  const { signal, abort } = aborting(new Error("changed my mind"));
  void expecting(client.submit({ agent: "a", traceId, signal }));
  await settled();
  await runtime.drop();
  abort();
  await time.pass(250);
  const payload = { kind: "thought", body: { text: "x" } };
  await runtime.say("job.event", payload, { jobId: "job_2", traceId, eventSeq: runtime.nextSeq() });
  assert.equal(runtime.ofType("job.submit").length, 1);
  assert.equal(runtime.ofType("job.cancel").length, 0);
});

test("[ARCP-209] [ARCP-220] one with a key is sent again, because that finds its job, which is cancelled", async () => {
  await using scene = await open();
  const { runtime, client, time } = scene;
  const { signal, abort } = aborting(new Error("changed my mind"));
  void expecting(client.submit({ agent: "a", idempotencyKey: "k", signal }));
  await settled();
  abort();
  await runtime.drop();
  await time.pass(250);
  const [first, again] = runtime.ofType("job.submit");
  assert(first && again);
  assert.deepEqual([again.id, again.payload], [first.id, first.payload]);
  await runtime.accept(again, "job_2");
  assert.equal((await runtime.last("job.cancel")).jobId, "job_2");
});

test("[ARCP-209] [ARCP-221] and so it is where the runtime has forgotten the session", async () => {
  const greet: ScriptedOptions["greet"] = (_, count, runtime) => {
    const payload = { code: "RESUME_WINDOW_EXPIRED", message: "gone", retryable: false };
    if (count === 2) return { type: "session.error", payload };
    return runtime.welcome(count, count > 2 ? { session_id: "sess_9" } : {});
  };
  await using scene = await open({ greet });
  const { runtime, client, time } = scene;
  const { signal, abort } = aborting(new Error("changed my mind"));
  const withdrawn = ["k", undefined].map((idempotencyKey) =>
    expecting(client.submit({ agent: "a", idempotencyKey, signal })),
  );
  await settled();
  abort();
  await runtime.drop();
  await time.pass(1_000, 250);
  assert.equal(client.sessionId, "sess_9");
  for (const each of withdrawn) await assert.rejects(each, { code: "CANCELLED" });
  const [, , again, ...more] = runtime.ofType("job.submit");
  assert(again);
  assert.deepEqual([again.payload["idempotency_key"], more.length], ["k", 0]);
  await runtime.accept(again, "job_2");
  assert.equal((await runtime.last("job.cancel")).jobId, "job_2");
});

test("[ARCP-220] what is asked while there is no connection waits for one; lists and cancels are asked again", async () => {
  await using scene = await open();
  const { runtime, client, time } = scene;
  const list = client.listJobs();
  const first = await runtime.last("session.list_jobs");
  await runtime.drop();
  const submitting = client.submit({ agent: "late" });
  const sending = client.send({ type: "x-vendor.a.b", payload: {} });
  await time.pass(250);
  const again = await runtime.last("session.list_jobs");
  assert.notEqual(again.id, first.id);
  await runtime.say("session.jobs", { request_id: again.id, jobs: [], next_cursor: null });
  assert.deepEqual(await list, { jobs: [], nextCursor: undefined });
  await sending;
  await runtime.last("x-vendor.a.b");
  await runtime.accept(await runtime.last("job.submit"), "job_3");
  assert.equal((await submitting).jobId, "job_3");
});

const refusal = {
  type: "session.error",
  payload: { code: "RESUME_WINDOW_EXPIRED", message: "gone", retryable: false },
};

test("[ARCP-221] a refused resume rejects what was open, tells of the gap, and a fresh session goes on", async () => {
  await using scene = await open({
    greet: (hello, count, runtime) => {
      if (hello.payload["resume"]) return refusal;
      return runtime.welcome(count, { session_id: `sess_${count}` });
    },
  });
  const { runtime, client, time } = scene;
  const job = await accepted(scene);
  await runtime.event("job_1", "one");
  const list = expecting(client.listJobs());
  await settled();
  await runtime.drop();
  const late = client.submit({ agent: "late" });
  await time.pass(1_000, 50);
  await assert.rejects(job.done, { code: "RESUME_WINDOW_EXPIRED" });
  await assert.rejects(texts(job), { code: "RESUME_WINDOW_EXPIRED" });
  await assert.rejects(list, { code: "RESUME_WINDOW_EXPIRED" });
  assert.deepEqual(
    scene.gaps.map(({ lastEventSeq, cause }) => [lastEventSeq, cause.code]),
    [[1, "RESUME_WINDOW_EXPIRED"]],
  );
  // Once as it was, once from one event before (ARCP-222), then without.
  assert.deepEqual(
    runtime.helloes.map(
      ({ payload }) => payload["resume"] && Reflect.get(payload["resume"], "last_event_seq"),
    ),
    [undefined, 1, 0, undefined],
  );
  assert.equal(client.sessionId, "sess_4");
  assert.equal(client.lastEventSeq, 0);
  await runtime.accept(await runtime.last("job.submit"), "job_2");
  await runtime.result("job_2", 2, 1);
  assert.equal((await (await late).done).result, 2);
  assert.deepEqual(scene.broken, []);
});

test("[ARCP-208] a callback that throws keeps nobody from being told", async (t) => {
  const thrown: unknown[] = [];
  const note = (fault: unknown): void => {
    thrown.push(fault);
  };
  const before = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", note);
  t.after(() => {
    process.off("uncaughtException", note);
    for (const listener of before) process.on("uncaughtException", listener);
  });
  const fault = new Error("mine");
  const runtime = new ScriptedRuntime();
  const client = await ARCPClient.connect(await runtime.dial(), {
    token: "t",
    onSessionBroken: () => {
      throw fault;
    },
  });
  const list = expecting(client.listJobs());
  await runtime.drop();
  await assert.rejects(list, { code: "HEARTBEAT_LOST" });
  await settled();
  assert.deepEqual(thrown, [fault]);
});

test("[ARCP-221] without a fresh session the client is closed by a refused resume", async () => {
  await using scene = await open(
    { greet: (hello, _count, runtime) => (hello.payload["resume"] ? refusal : runtime.welcome()) },
    { reconnect: { freshSession: false } },
  );
  const { runtime, client, time } = scene;
  await runtime.drop();
  await time.pass(1_000, 50);
  assert.deepEqual([client.isClosed, scene.broken], [true, ["RESUME_WINDOW_EXPIRED"]]);
  await assert.rejects(client.submit({ agent: "a" }), { code: "RESUME_WINDOW_EXPIRED" });
  assert.equal(time.timers, 0);
});

test("[ARCP-221] a runtime that opens another session instead of resuming has refused", async () => {
  await using scene = await open({
    greet: (_hello, count, runtime) => runtime.welcome(count, { session_id: `sess_${count}` }),
  });
  const job = await accepted(scene);
  await scene.runtime.drop();
  await scene.time.pass(250);
  await assert.rejects(job.done, { code: "RESUME_WINDOW_EXPIRED" });
  assert.equal(scene.gaps.length, 1);
  assert.equal(scene.client.sessionId, "sess_2");
});

test("[ARCP-206] a client may be made first and connected later, once", async () => {
  const runtime = new ScriptedRuntime();
  const client = new ARCPClient({ token: "t", authScheme: "bearer" });
  assert.deepEqual([client.isConnected, client.isClosed], [false, false]);
  const early = { code: "INVALID_REQUEST", message: /not connected/ };
  await assert.rejects(client.submit({ agent: "a" }), early);
  assert.throws(() => client.sessionId, early);
  const refusing = new ScriptedRuntime({ greet: () => refusal });
  await assert.rejects(client.connect(refusing.dial), { code: "RESUME_WINDOW_EXPIRED" });

  assert.equal((await client.connect(runtime.dial)).sessionId, runtime.sessionId);
  assert.equal(client.isConnected, true);
  const again = { code: "INVALID_REQUEST", message: /has a session already/ };
  await assert.rejects(client.connect(runtime.dial), again);
  await assert.rejects(client.resume(runtime.dial, client.resumeFrom), again);
  const { resumeFrom } = client;
  await client.close();
  await assert.rejects(client.connect(runtime.dial), { code: "CANCELLED" });

  const later = new ARCPClient({ token: "t" });
  assert.equal((await later.resume(runtime.dial, resumeFrom)).sessionId, resumeFrom.session_id);
  await later.close();
  const never = new ARCPClient({ token: "t" });
  await never.close();
  assert.equal(never.isClosed, true);
});

test("[ARCP-206] the logger gets a line for each call of a callback that reports a problem", async () => {
  const lines: string[] = [];
  const logger = {
    warn: (message: string) => {
      lines.push(message);
    },
  };
  await using scene = await open({}, { logger });
  await scene.runtime.say("x-vendor.acme.unknown", {});
  assert.equal(scene.problems.length, 1);
  assert.deepEqual(lines, ["the runtime sent something that is not a valid frame"]);
});

test("[ARCP-206] a session is taken up elsewhere from what the client says of it", async () => {
  const first = await open();
  await accepted(first);
  await first.runtime.event("job_1", "one");
  const { resumeFrom } = first.client;
  assert.deepEqual(resumeFrom, {
    session_id: first.runtime.sessionId,
    resume_token: "rt_1",
    last_event_seq: 1,
  });
  const heard: unknown[] = [];
  const on = {
    "job.event": ({ eventSeq }: { readonly eventSeq?: number | undefined }) => heard.push(eventSeq),
  };
  const client = await ARCPClient.resume(first.runtime.dial, resumeFrom, { token: "t", on });
  assert.deepEqual(resumeOf(first.runtime, 1), resumeFrom);
  await first.runtime.event("job_1", "again", 1);
  await first.runtime.event("job_1", "two", 2);
  assert.deepEqual([heard, client.lastEventSeq], [[2], 2]);
  const gone = new ScriptedRuntime({ greet: () => refusal });
  const resuming = ARCPClient.resume(gone.dial, resumeFrom, { token: "t" });
  await assert.rejects(resuming, { code: "RESUME_WINDOW_EXPIRED" });
  const other = new ScriptedRuntime({ welcome: { session_id: "sess_other" } });
  const another = ARCPClient.resume(other.dial, resumeFrom, { token: "t" });
  await assert.rejects(another, { code: "RESUME_WINDOW_EXPIRED" });
  await client.close();
  await first[Symbol.asyncDispose]();
});

test("[ARCP-222] a session that is taken up with nothing to replay is asked for from one event before", async () => {
  const runtime = new ScriptedRuntime({
    greet: (_hello, count, self) => (count === 1 ? refusal : self.welcome()),
  });
  const from = { session_id: runtime.sessionId, resume_token: "rt_0", last_event_seq: 4 };
  const heard: unknown[] = [];
  const on = {
    "job.event": ({ eventSeq }: { readonly eventSeq?: number | undefined }) => heard.push(eventSeq),
  };
  const options = { token: "t", on, reconnect: false } as const;
  const client = await ARCPClient.resume(runtime.dial, from, options);
  assert.deepEqual(resumeOf(runtime, 1), { ...from, last_event_seq: 3 });
  await runtime.event("job_1", "seen", 4);
  await runtime.event("job_1", "new", 5);
  assert.deepEqual(heard, [5]);
  await client.close();
});

test("[ARCP-222] but once only where that would be no use: over a link that is there, or with a runtime known to be Python's", async () => {
  const from = { session_id: "sess_1", resume_token: "rt_0", last_event_seq: 4 };
  const runtime = new ScriptedRuntime({ greet: () => refusal });
  const over = ARCPClient.resume(await runtime.dial(), from, { token: "t" });
  await assert.rejects(over, { code: "RESUME_WINDOW_EXPIRED" });
  const python = new ScriptedRuntime({ isPython: true, greet: () => refusal });
  const resuming = ARCPClient.resume(python.dial, from, { token: "t", peer: "python" });
  await assert.rejects(resuming, { code: "RESUME_WINDOW_EXPIRED" });
  assert.deepEqual([runtime.helloes.length, python.helloes.length], [1, 1]);
});

test("[ARCP-78] what a reader has not come to yet is not acknowledged", async () => {
  await using scene = await open({}, { autoAck: true });
  const { runtime, time } = scene;
  const job = await accepted(scene);
  const events = job.events();
  for (const text of ["one", "two", "three"]) await runtime.event("job_1", text);
  await events.next();
  await time.pass(250);
  assert.equal((await runtime.last("session.ack")).payload["last_processed_seq"], 1);
  await events.next();
  await events.next();
  await time.pass(250);
  assert.equal((await runtime.last("session.ack")).payload["last_processed_seq"], 3);
});

test("[ARCP-128] a streamed result is put together from its pieces, and is whole or an error", async () => {
  await using scene = await open();
  const { runtime } = scene;
  const chunk = (jobId: string, body: JsonObject) =>
    runtime.say(
      "job.event",
      { kind: "result_chunk", body: { result_id: "r", ...body } },
      { jobId, eventSeq: runtime.nextSeq() },
    );
  const end = (jobId: string, size: number) =>
    runtime.say(
      "job.result",
      { final_status: "success", result_id: "r", result_size: size },
      { jobId, eventSeq: runtime.nextSeq() },
    );
  const text = await accepted(scene, "text");
  await chunk("text", { chunk_seq: 0, data: "Grüße ", more: true });
  await chunk("text", { chunk_seq: 1, data: "an alle", encoding: "utf8", more: false });
  await end("text", 15);
  assert.equal(await text.collectChunks(), "Grüße an alle");
  assert.equal((await text.done).result_id, "r");
  const bytes = await accepted(scene, "bytes");
  const collecting = bytes.collectChunks();
  await chunk("bytes", { chunk_seq: 0, data: "AAEC", encoding: "base64", more: true });
  await chunk("bytes", { chunk_seq: 1, data: "", more: false });
  await end("bytes", 3);
  assert.deepEqual(await collecting, new Uint8Array([0, 1, 2]));
  const torn = await accepted(scene, "torn");
  await chunk("torn", { chunk_seq: 1, data: "x", more: false });
  await end("torn", 1);
  await assert.rejects(torn.collectChunks(), { code: "INTERNAL_ERROR" });
  const short = await accepted(scene, "short");
  await chunk("short", { chunk_seq: 0, data: "x", more: false });
  await end("short", 2);
  await assert.rejects(short.collectChunks(), { code: "INTERNAL_ERROR" });
  // Its worker was lost before the end, and it was run again.
  const again = await accepted(scene, "again");
  await chunk("again", { result_id: "first", chunk_seq: 0, data: "lost", more: false });
  await chunk("again", { chunk_seq: 0, data: "found", more: false });
  await end("again", 5);
  assert.equal(await again.collectChunks(), "found");
});

test("[ARCP-54] a result that came whole is as good as one that was streamed", async () => {
  await using scene = await open();
  const text = await accepted(scene, "text");
  await scene.runtime.result("text", "all of it");
  assert.equal(await text.collectChunks(), "all of it");
  const bytes = await accepted(scene, "bytes");
  await scene.runtime.result("bytes", { encoding: "base64", data: "AAEC" });
  assert.deepEqual(await bytes.collectChunks(), new Uint8Array([0, 1, 2]));
  const neither = await accepted(scene, "neither");
  await scene.runtime.result("neither", { a: 1 });
  await assert.rejects(neither.collectChunks(), { code: "INVALID_REQUEST" });
});

test("[ARCP-33] what no runtime would read is refused here, and nothing is sent, nor sent again", async () => {
  await using scene = await open();
  const input = "é".repeat(limits.messageBytesMax / 2);
  await assert.rejects(scene.client.submit({ agent: "a", input }), { code: "INVALID_REQUEST" });
  assert.equal(scene.runtime.ofType("job.submit").length, 0);
  assert(scene.client.isConnected);
});
