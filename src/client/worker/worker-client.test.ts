import assert from "node:assert/strict";
import { test } from "node:test";
import type { Handler } from "../../arcp-context.ts";
import { ManualTime, settled } from "../../testing/manual-time.ts";
import { ScriptedRuntime } from "../../testing/scripted-runtime.ts";
import { ArcpError, type Envelope, type JsonObject } from "../../wire/arcp/index.ts";
import { prefix } from "../../wire/worker/index.ts";
import { limits } from "./limits.ts";
import { type ConnectedWorker, connectWorker } from "./worker-client.ts";

/** A worker and the runtime that a test speaks for. */
class Scene {
  readonly time = new ManualTime();
  readonly runtime: ScriptedRuntime;
  readonly lost: unknown[] = [];
  readonly connecting: Promise<ConnectedWorker>;
  readonly ending = new AbortController();

  constructor(runtime: ScriptedRuntime = new ScriptedRuntime(), handler: Handler = () => "done") {
    this.runtime = runtime;
    this.connecting = connectWorker(runtime.dial, {
      token: "t",
      workerId: "worker-1",
      offers: [{ name: "agent", handler }],
      signal: this.ending.signal,
      onLost: (cause) => this.lost.push(cause),
      time: this.time,
    });
    this.connecting.catch(() => {});
  }

  offers(): readonly JsonObject[] {
    return this.said("offer").map(({ payload }) => payload);
  }

  said(type: string): readonly Envelope[] {
    return this.runtime.ofType(prefix + type);
  }

  async say(type: string, payload: JsonObject): Promise<void> {
    await settled();
    await this.runtime.say(prefix + type, payload);
  }

  async welcome(jobs: readonly JsonObject[] = []): Promise<void> {
    await this.say("welcome", { jobs, unacknowledged_max: 10, grace_sec: 60 });
  }

  async job(jobId: string): Promise<void> {
    const rest = { agent: "agent", input: null, principal: "ada", session_id: "s", trace_id: "t" };
    await this.say("job", { job_id: jobId, attempt: 1, lease: {}, budget: {}, ...rest });
  }

  /** As long as the longest pause between two attempts. */
  async pause(): Promise<void> {
    await this.time.pass(limits.pauseMsMax);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ending.abort();
    await settled();
    await this.time.pass(1_000);
  }
}

test("after a lost connection a worker resumes its session and names the jobs that it has", async () => {
  const { promise: finished, resolve: finish } = Promise.withResolvers<string>();
  await using scene = new Scene(undefined, () => finished);
  const { runtime } = scene;
  await scene.welcome();
  const worker = await scene.connecting;
  await scene.job("job-1");
  assert.equal(worker.size, 1);
  await runtime.drop();
  finish("kept while nobody listens");
  await scene.pause();
  assert.equal(scene.lost.length, 1, "the loss is told");
  const [first, second] = runtime.helloes;
  assert.equal(first?.payload["resume"], undefined);
  assert.deepEqual(second?.payload["resume"], {
    session_id: runtime.sessionId,
    resume_token: "rt_1",
    last_event_seq: 0,
  });
  assert.deepEqual(scene.offers()[1]?.["has"], [{ job_id: "job-1", attempt: 1 }]);
  assert.equal(scene.said("result").length, 0, "nothing is said before the welcome");
  await scene.welcome([{ job_id: "job-1", attempt: 1, verdict: "continue", worker_seq: 0 }]);
  assert.equal(scene.said("result")[0]?.payload["result"], "kept while nobody listens");
});

test("every failed attempt to come back is told, and the next one is never far away", async () => {
  await using scene = new Scene();
  const { runtime } = scene;
  await scene.welcome();
  await scene.connecting;
  runtime.isReachable = false;
  await runtime.drop();
  // For longer than the session can be resumed.
  for (let pauses = 0; pauses < 30; pauses += 1) await scene.pause();
  assert(scene.lost.length >= 30, `${scene.lost.length} were told`);
  runtime.isReachable = true;
  await scene.pause();
  assert.equal(scene.offers().length, 2);
});

test("a runtime that forgot the session gets a new one", async () => {
  const runtime = new ScriptedRuntime({
    greet: (hello, count, scripted) =>
      hello.payload["resume"] === undefined
        ? scripted.welcome(count, { session_id: `session-${count}` })
        : { type: "session.error", payload: { code: "RESUME_WINDOW_EXPIRED", message: "gone" } },
  });
  await using scene = new Scene(runtime);
  await scene.welcome();
  await scene.connecting;
  await runtime.drop();
  await scene.pause();
  await scene.pause();
  assert.equal(scene.offers().length, 2);
});

test("a ping is answered, and a silent runtime is left", async () => {
  const runtime = new ScriptedRuntime({ welcome: { heartbeat_interval_sec: 10 } });
  await using scene = new Scene(runtime);
  await scene.welcome();
  await scene.connecting;
  await runtime.say("session.ping", { nonce: "n-1", sent_at: "2026-05-13T00:00:00Z" });
  assert.equal(runtime.ofType("session.pong")[0]?.payload["ping_nonce"], "n-1");
  await scene.time.pass(30_000, 1_000);
  assert(runtime.ofType("session.ping").length > 0, "it asks before it leaves");
  assert.equal(scene.offers().length, 2, "it has another connection");
});

test("an offer without an answer is sent again on another connection", async () => {
  await using scene = new Scene();
  await settled();
  await scene.time.pass(limits.handshakeMs);
  await scene.pause();
  assert.equal(scene.offers().length, 2);
  await scene.welcome();
  assert.equal((await scene.connecting).workerId, "worker-1");
});

test("a refusal that may pass is tried again, with growing pauses and a farewell each time", async () => {
  await using scene = new Scene();
  for (let refusals = 0; refusals < 3; refusals += 1) {
    await scene.say("refused", {
      code: "limit_reached",
      message: "10000 workers are there already",
    });
    await scene.pause();
    await scene.pause();
  }
  assert.equal(scene.runtime.ofType("session.bye").length, 3);
  assert.deepEqual(
    scene.lost.map((cause) => cause instanceof Error && cause.message),
    Array(3).fill("10000 workers are there already"),
  );
  await scene.welcome();
  await scene.connecting;
});

for (const code of ["malformed", "not_allowed", "superseded"]) {
  test(`a worker that is refused with ${code} does not try again`, async () => {
    await using scene = new Scene();
    await scene.say("refused", { code, message: "no" });
    await scene.pause();
    await assert.rejects(scene.connecting, { name: "RefusedError", message: "no" });
    await scene.pause();
    assert.equal(scene.runtime.helloes.length, 1);
    assert.deepEqual(scene.lost, []);
  });
}

test("a wrong token is final", async () => {
  const payload = { code: "UNAUTHENTICATED", message: "unknown token", retryable: false };
  const runtime = new ScriptedRuntime({ greet: () => ({ type: "session.error", payload }) });
  await using scene = new Scene(runtime);
  await assert.rejects(scene.connecting, { name: "RefusedError", message: "unknown token" });
});

test("a runtime that knows nothing of workers is not asked again", async () => {
  await using scene = new Scene();
  await settled();
  await scene.runtime.error("INVALID_REQUEST", "unknown message type");
  await scene.pause();
  await assert.rejects(scene.connecting, { name: "RefusedError", message: "unknown message type" });
  assert.equal(scene.runtime.helloes.length, 1);
});

test("a worker on a transport of its own ends with it", async () => {
  const runtime = new ScriptedRuntime();
  const transport = await runtime.dial();
  const connecting = connectWorker(transport, {
    token: "t",
    offers: [{ name: "agent", handler: () => undefined }],
  });
  await settled();
  await runtime.say(`${prefix}welcome`, { jobs: [], unacknowledged_max: 10, grace_sec: 60 });
  const worker = await connecting;
  const closed = assert.rejects(worker.closed, { code: "HEARTBEAT_LOST" });
  await runtime.drop();
  await closed;
});

test("a worker that is disposed finishes its job, says goodbye and has ended", async () => {
  const { promise: finished, resolve: finish } = Promise.withResolvers<string>();
  await using scene = new Scene(undefined, () => finished);
  await scene.welcome();
  const worker = await scene.connecting;
  await scene.job("job-1");
  const disposed = worker[Symbol.asyncDispose]();
  await settled();
  assert.equal(scene.said("leave").length, 1);
  assert.equal(scene.runtime.ofType("session.bye").length, 0, "not before its job is over");
  finish("done");
  await settled();
  await scene.say("ack", { job_id: "job-1", attempt: 1, worker_seq: 1 });
  await scene.time.pass(1_000);
  await disposed;
  await worker.closed;
  assert.equal(scene.runtime.ofType("session.bye").length, 1);
});

test("what no message can carry is refused to the handler, and is not sent", async () => {
  const refusals: unknown[] = [];
  const tooLarge = "the message is larger than the limit of 16773120 bytes";
  // Fewer characters than a message may have bytes, and more bytes.
  const large = "ä".repeat(9_000_000);
  const handler: Handler = async (_, ctx) => {
    const attempts: readonly (() => Promise<unknown>)[] = [
      () => ctx.log("info", large),
      () => ctx.authorize("net.fetch", large),
      () => ctx.delegate({ agent: "other", input: large }),
      () => ctx.delegate({ agent: "other", leaseRequest: { "net.fetch": [large] } }),
    ];
    for (const attempt of attempts) {
      await Promise.try(attempt).catch((error: unknown) => refusals.push(error));
    }
    throw new ArcpError("INTERNAL_ERROR", large, { details: { large } });
  };
  await using scene = new Scene(undefined, handler);
  await scene.welcome();
  await scene.connecting;
  await scene.job("job-1");
  for (let turns = 0; turns < 50 && scene.said("error").length === 0; turns += 1) await settled();
  assert.deepEqual(
    refusals.map((error) => error instanceof Error && error.message),
    // The runtime's own check comes first for events and inputs.
    ["this is too large for one message", tooLarge, "this is too large for one message", tooLarge],
  );
  const [failure] = scene.said("error");
  assert(failure);
  assert(
    JSON.stringify(failure.payload).length < 10_000,
    "the error is truncated to fit into a frame",
  );
  assert.equal(scene.runtime.helloes.length, 1, "the connection holds");
});
