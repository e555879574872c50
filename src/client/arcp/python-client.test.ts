/** What the published Python runtime does and others do not, frame by frame. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualTime, settled } from "../../testing/manual-time.ts";
import { ScriptedRuntime } from "../../testing/scripted-runtime.ts";
import type { Envelope } from "../../wire/arcp/index.ts";
import { ARCPClient, type SubmitOptions } from "./client.ts";
import type { JobHandle } from "./handle.ts";
import { limits } from "./limits.ts";
import type { ClientOptions } from "./options.ts";

type Scene = AsyncDisposable & {
  readonly runtime: ScriptedRuntime;
  readonly client: ARCPClient;
  readonly time: ManualTime;
  readonly signals: string[];
};

async function open(options: Partial<ClientOptions> = {}): Promise<Scene> {
  const runtime = new ScriptedRuntime({ isPython: true });
  const time = new ManualTime();
  const signals: string[] = [];
  const client = await ARCPClient.connect(runtime.dial, {
    token: "secret",
    time,
    onProtocolError: (problem) => signals.push(problem),
    onSessionBroken: ({ code }) => signals.push(code),
    onGap: () => signals.push("gap"),
    ...options,
  });
  const close = async (): Promise<void> => {
    const closing = client.close();
    await time.pass(400, 50);
    await closing;
  };
  return { runtime, client, time, signals, [Symbol.asyncDispose]: close };
}

async function accepted(
  { runtime, client }: Scene,
  jobId: string,
  options: Partial<SubmitOptions> = {},
): Promise<JobHandle> {
  const submitting = client.submit({ agent: "a", ...options });
  await runtime.accept(await runtime.last("job.submit"), jobId);
  return submitting;
}

async function texts(job: JobHandle): Promise<readonly unknown[]> {
  const said: unknown[] = [];
  for await (const { view } of job.events()) said.push(view?.kind === "thought" && view.text);
  return said;
}

function expecting<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {});
  return promise;
}

async function answerSubscribe(
  { runtime }: Scene,
  { id, payload }: Envelope,
  currentStatus = "running",
  counts = 0,
): Promise<void> {
  await runtime.say("job.subscribed", {
    request_id: id,
    job_id: payload["job_id"],
    current_status: currentStatus,
    agent: "a",
    lease: {},
    subscribed_from: counts,
    replayed: counts,
  });
}

test("[PYC-6] [PY-51] an error without a request refuses the oldest one; jobs that run go on", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const running = await accepted(scene, "job_1");
  const first = expecting(client.submit({ agent: "summarize@9.9.9" }));
  const second = expecting(client.submit({ agent: "summarize" }));
  await settled();
  const message = "unknown agent version: summarize@9.9.9";
  await runtime.error("AGENT_VERSION_NOT_AVAILABLE", message, { details: null });
  await assert.rejects(first, { code: "AGENT_VERSION_NOT_AVAILABLE", message });
  await runtime.accept(await runtime.last("job.submit"), "job_2");
  assert.equal((await second).jobId, "job_2");
  await runtime.result("job_1", 1, 1);
  assert.equal((await running.done).result, 1);
});

test("[PY-65] what it cannot read it calls an internal error, and that is told once", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const submitting = expecting(client.submit({ agent: "a", input: 1 }));
  await settled();
  await runtime.error("INTERNAL_ERROR", "3 validation errors\nfor X", { retryable: true });
  await assert.rejects(submitting, { code: "INTERNAL_ERROR" });
  assert.equal(runtime.ofType("job.submit").length, 1);
});

test("[PYC-7] [PY-52] budgets that are texts are read as amounts", async () => {
  await using scene = await open();
  const submitting = scene.client.submit({ agent: "caller" });
  const submit = await scene.runtime.last("job.submit");
  await scene.runtime.accept(submit, "job_1", { budget: { USD: "USD:1.00" } });
  assert.deepEqual((await submitting).budget, { USD: 1 });
});

test("[PYC-8] [PY-53] [PY-64] a result that says it was cancelled or too late is a failure", async () => {
  await using scene = await open();
  const { runtime } = scene;
  for (const [status, code] of [
    ["cancelled", "CANCELLED"],
    ["timed_out", "TIMEOUT"],
  ] as const) {
    const job = await accepted(scene, status);
    const payload = { final_status: status, completed_at: "2026-11-15T18:59:32.694817Z" };
    await runtime.say("job.result", payload, { jobId: status, eventSeq: runtime.nextSeq() });
    await assert.rejects(job.done, { code });
  }
  const job = await accepted(scene, "empty");
  await runtime.say("job.result", { final_status: "success" }, { jobId: "empty", eventSeq: 3 });
  assert.equal((await job.done).result, null);
});

test("[PYC-8] [PY-57] what comes of a job after its end is dropped", async () => {
  await using scene = await open();
  const { runtime } = scene;
  const job = await accepted(scene, "job_1");
  const error = { code: "LEASE_EXPIRED", message: "m" };
  await runtime.say("job.error", error, { jobId: "job_1", eventSeq: 1 });
  await runtime.event("job_1", "late", 2);
  await assert.rejects(job.done, { code: "LEASE_EXPIRED" });
  assert.deepEqual(await texts(job), []);
  assert.deepEqual([scene.client.lastEventSeq, scene.signals], [2, []]);
});

test("[PYC-10] [PY-56] a retry gets the first answers again, under their old ids, and a handle of its own", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const id = "01M7HTAF5PP0XTWNH99HNF0YT8";
  const accept = async (submit: Envelope, eventSeq: number) => {
    const { id: requestId } = submit;
    const answer = { job_id: "job_1", agent: "a", lease: {}, request_id: requestId };
    await runtime.say("job.accepted", answer, { id, jobId: "job_1" });
    const payload = { final_status: "success", result: 7 };
    await runtime.say("job.result", payload, { id: `${id}R`, jobId: "job_1", eventSeq });
  };
  for (const eventSeq of [1, 2]) {
    const submitting = client.submit({ agent: "a", idempotencyKey: "k" });
    await accept(await runtime.last("job.submit"), eventSeq);
    const job = await submitting;
    assert.equal(job.jobId, "job_1");
    assert.equal((await job.done).result, 7);
  }
});

test("[PYC-11] [PYC-13] [PY-60] [PY-59] own and subscribed events are counted apart, and none is lost", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const job = await accepted(scene, "B");
  const subscribing = client.subscribe("A", { history: true });
  const subscribe = await runtime.last("job.subscribe");
  const say = async (frames: string): Promise<void> => {
    for (const frame of frames.split(" ")) {
      await runtime.event(frame.charAt(0), frame, Number(frame.slice(1)));
    }
  };
  await say("B1 A1 A2 A3 A4");
  await answerSubscribe(scene, subscribe, "running", 4);
  await say("A5 B2 A6 B3 A7");
  await runtime.result("B", "b", 4);
  await say("A8");
  await runtime.result("A", "a", 9);
  const watched = await subscribing;
  assert.equal(watched.replayed, true);
  assert.deepEqual(await texts(job), ["B1", "B2", "B3"]);
  assert.deepEqual(await texts(watched), ["A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8"]);
  assert.deepEqual([(await job.done).result, (await watched.done).result], ["b", "a"]);
  assert.deepEqual([client.lastEventSeq, scene.signals], [4, []]);
});

test("[PYC-11] what still comes of a subscription that is over is counted where it belongs", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const subscribing = client.subscribe("A");
  await answerSubscribe(scene, await runtime.last("job.subscribe"));
  (await subscribing).unsubscribe();
  await runtime.event("A", "late", 7);
  assert.deepEqual([client.lastEventSeq, scene.signals], [0, []]);
});

test("[PYC-12] [PY-61] a job that is followed where it was submitted comes twice, and is told once to each", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const job = await accepted(scene, "J");
  await runtime.event("J", "one", 1);
  await runtime.event("J", "two", 2);
  const subscribing = client.subscribe("J");
  await answerSubscribe(scene, await runtime.last("job.subscribe"));
  const watched = await subscribing;
  for (const [text, ownSeq, seq] of [
    ["three", 3, 1],
    ["four", 4, 2],
  ] as const) {
    await runtime.event("J", text, ownSeq);
    await runtime.event("J", text, seq);
  }
  await runtime.result("J", 1, 5);
  await runtime.result("J", 1, 3);
  assert.deepEqual(await texts(job), ["one", "two", "three", "four"]);
  assert.deepEqual(await texts(watched), ["three", "four"]);
  assert.deepEqual([(await job.done).result, (await watched.done).result], [1, 1]);
  assert.equal(client.lastEventSeq, 5);
});

test("[PYC-15] [PY-62] after a resume every job that runs is asked for; what ended meanwhile is lost, and said to be", async () => {
  await using scene = await open();
  const { runtime, time } = scene;
  const going = await accepted(scene, "going");
  const gone = await accepted(scene, "gone");
  await runtime.event("going", "before", 1);
  await runtime.drop();
  await time.pass(400, 50);
  const [first, second] = runtime.ofType("job.subscribe");
  assert(first && second);
  assert.deepEqual(
    [first, second].map(({ payload }) => payload),
    ["going", "gone"].map((jobId) => ({ job_id: jobId, history: false })),
  );
  // What it had written to the old connection comes first, in the session's count.
  await runtime.event("going", "replayed", 2);
  await answerSubscribe(scene, first);
  await answerSubscribe(scene, second, "success");
  await runtime.event("going", "after", 1);
  await runtime.result("going", 1, 2);
  assert.deepEqual(await texts(going), ["before", "replayed", "after"]);
  assert.equal((await going.done).result, 1);
  await assert.rejects(gone.done, {
    code: "INTERNAL_ERROR",
    retryable: true,
    details: { lost: true },
  });
  assert.equal(scene.client.lastEventSeq, 2);
});

test("[PYC-15] where nothing can be subscribed to, what ran at the loss is lost", async () => {
  await using scene = await open({ features: [] });
  const job = await accepted(scene, "job_1");
  await scene.runtime.drop();
  await scene.time.pass(400, 50);
  await assert.rejects(job.done, { code: "INTERNAL_ERROR", details: { lost: true } });
});

test("[PYC-16] only a submit with a key is sent again", async () => {
  await using scene = await open();
  const { runtime, client, time } = scene;
  await accepted(scene, "job_1");
  await runtime.result("job_1", 1, 1);
  const plain = expecting(client.submit({ agent: "a" }));
  const keyed = client.submit({ agent: "b", idempotencyKey: "k" });
  await settled();
  await runtime.drop();
  await time.pass(400, 50);
  await assert.rejects(plain, { code: "HEARTBEAT_LOST" });
  const again = await runtime.last("job.submit");
  assert.equal(again.payload["agent"], "b");
  await runtime.accept(again, "job_2");
  assert.equal((await keyed).jobId, "job_2");
});

test("[PYC-17] [PY-66] a job that another session of ours runs is subscribed to, its past included", async () => {
  await using scene = await open();
  const { runtime, client } = scene;
  const submitting = client.submit({ agent: "a", idempotencyKey: "k" });
  const { id } = await runtime.last("job.submit");
  const answer = { job_id: "job_1", agent: "a", lease: {}, request_id: id };
  await runtime.say("job.accepted", answer, { jobId: "job_1", sessionId: "sess_elsewhere" });
  const subscribe = await runtime.last("job.subscribe");
  assert.deepEqual(subscribe.payload, { job_id: "job_1", history: true });
  await runtime.event("job_1", "past", 1);
  await answerSubscribe(scene, subscribe, "running", 1);
  await runtime.event("job_1", "now", 2);
  await runtime.result("job_1", 1, 3);
  const job = await submitting;
  assert.deepEqual(await texts(job), ["past", "now"]);
  assert.equal((await job.done).result, 1);
  assert.equal(client.lastEventSeq, 0);
});

test("[PYC-9] a cancelled job that waits for a slot never ends; it is asked about, and settled", async () => {
  await using scene = await open();
  const { runtime, time } = scene;
  const job = await accepted(scene, "job_1");
  let isTaken = false;
  const cancelling = job.cancel("r").then(() => (isTaken = true));
  await time.pass(1_999);
  assert.equal(runtime.ofType("session.list_jobs").length, 0);
  await time.pass(1);
  const answer = async (status: string): Promise<void> => {
    const { id } = await runtime.last("session.list_jobs");
    const jobs = [{ job_id: "job_1", agent: "a", status, submitted_at: "2026-11-15T18:59:32Z" }];
    await runtime.say("session.jobs", { request_id: id, jobs });
  };
  await answer("running");
  await cancelling;
  assert.equal(isTaken, true);
  await time.pass(2_000);
  await answer("pending");
  await assert.rejects(job.done, { code: "CANCELLED" });
});

test("[PYC-9] a runtime whose list of jobs has no end is not asked for all of it", async () => {
  await using scene = await open();
  const { runtime, time } = scene;
  const job = await accepted(scene, "job_1");
  const cancelling = job.cancel();
  await time.pass(limits.cancelGraceMs);
  const asked = (): number => runtime.ofType("session.list_jobs").length;
  for (let pages = 0; asked() > pages && pages < 2 * limits.pagesMax; pages += 1) {
    const { id } = await runtime.last("session.list_jobs");
    await runtime.say("session.jobs", { request_id: id, jobs: [], next_cursor: "more" });
  }
  await cancelling;
  assert.equal(asked(), limits.pagesMax);
});

test("[PYC-9] an agent that swallows the cancel ends as it likes", async () => {
  await using scene = await open();
  const { runtime } = scene;
  const job = await accepted(scene, "job_1");
  const cancelling = job.cancel();
  await runtime.last("job.cancel");
  await runtime.result("job_1", "all the same", 1);
  await cancelling;
  assert.equal((await job.done).result, "all the same");
});

test("[PYC-1] a client that is told what the runtime is does not look", async () => {
  await using scene = await open({ peer: "spec" });
  const { runtime, client } = scene;
  // The oldest, and not the one that is meant.
  void expecting(client.listJobs());
  const second = expecting(client.submit({ agent: "b" }));
  await settled();
  await runtime.error("AGENT_NOT_AVAILABLE", "unknown agent: b");
  await assert.rejects(second, { code: "AGENT_NOT_AVAILABLE" });
});

test("what is read there is acknowledged only if it is wanted: it would be gone for all who come later", async () => {
  for (const [autoAck, acks] of [
    [undefined, 0],
    [true, 1],
  ] as const) {
    await using scene = await open(autoAck === undefined ? {} : { autoAck });
    await accepted(scene, "job_1");
    await scene.runtime.event("job_1", "one", 1);
    await scene.time.pass(250);
    assert.equal(scene.runtime.ofType("session.ack").length, acks);
  }
});

test("[PYC-19] a list of one agent has its jobs of all versions, though it finds none by the bare name", async () => {
  await using scene = await open();
  const { client, runtime } = scene;
  const answer = async (agents: readonly string[], cursor?: string): Promise<unknown> => {
    const { id, payload } = await runtime.last("session.list_jobs");
    const status = "running";
    const jobs = agents.map((agent) => ({ job_id: `job of ${agent}`, agent, status }));
    await runtime.say("session.jobs", { request_id: id, jobs, next_cursor: cursor });
    return payload;
  };
  const filter = { status: ["running"] };
  const listing = client.listJobs({ ...filter, agent: "summarize" }, { limit: 3 });
  assert.deepEqual(await answer(["summarizer@1", "sum"], "3"), { filter, limit: 3 });
  const second = await answer(["summarize@1.0.0", "other", "summarize@2.0.0"], "6");
  assert.deepEqual(second, { filter, limit: 3, cursor: "3" });
  const { jobs, nextCursor } = await listing;
  assert.deepEqual(
    jobs.map(({ agent }) => agent),
    ["summarize@1.0.0", "summarize@2.0.0"],
  );
  assert.equal(nextCursor, "6");
  const unversioned = client.listJobs({ agent: "summarize" });
  assert.deepEqual(await answer(["summarize"]), {});
  assert.equal((await unversioned).jobs.length, 1);
  // One version of it is asked for as it is.
  const one = client.listJobs({ agent: "summarize@1.0.0" });
  assert.deepEqual(await answer(["summarize@1.0.0"]), { filter: { agent: "summarize@1.0.0" } });
  assert.equal((await one).jobs.length, 1);
});

test("[PYC-19] it is not asked for pages without end", async () => {
  await using scene = await open();
  const { client, runtime } = scene;
  const listing = client.listJobs({ agent: "summarize" });
  const asked = (): number => runtime.ofType("session.list_jobs").length;
  await settled();
  for (let pages = 0; asked() > pages && pages < 2 * limits.pagesMax; pages += 1) {
    const { id } = await runtime.last("session.list_jobs");
    await runtime.say("session.jobs", { request_id: id, jobs: [], next_cursor: "more" });
  }
  assert.deepEqual(await listing, { jobs: [], nextCursor: "more" });
  assert.equal(asked(), limits.pagesMax);
});

test("[PYC-4] a message that is too large for it is refused here, and nothing is sent", async () => {
  await using scene = await open();
  const submitting = scene.client.submit({ agent: "a", input: "x".repeat(1_048_576) });
  await assert.rejects(submitting, { code: "INVALID_REQUEST" });
  assert.equal(scene.runtime.ofType("job.submit").length, 0);
});
