/** The client against runtimes that forget jobs without a word. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualTime, settled } from "../../testing/manual-time.ts";
import { type Greeting, ScriptedRuntime } from "../../testing/scripted-runtime.ts";
import { answerType, isObject, type JsonObject } from "../../wire/arcp/index.ts";
import { ARCPClient, type SubmitOptions } from "./client.ts";
import type { JobHandle } from "./handle.ts";
import { limits } from "./limits.ts";

const refusal: Greeting = {
  type: "session.error",
  payload: { code: "RESUME_WINDOW_EXPIRED", message: "nothing to replay", retryable: false },
};

const lost = { code: "INTERNAL_ERROR", details: { lost: true } };

class Scene implements AsyncDisposable {
  readonly runtime: ScriptedRuntime;
  readonly client: ARCPClient;
  readonly time: ManualTime;

  private constructor(runtime: ScriptedRuntime, client: ARCPClient, time: ManualTime) {
    this.runtime = runtime;
    this.client = client;
    this.time = time;
  }

  /** Its runtime refuses a resume that has nothing to replay, and welcomes the second try. */
  static async open(
    features?: readonly string[],
    { welcome = {} }: { readonly welcome?: JsonObject } = {},
  ): Promise<Scene> {
    const runtime = new ScriptedRuntime({
      welcome,
      greet: ({ payload: { resume } }, count, self) => {
        const isEmpty = isObject(resume) && resume["last_event_seq"] !== 0 && count === 2;
        return isEmpty ? refusal : self.welcome();
      },
    });
    const time = new ManualTime();
    const options = {
      token: "secret",
      autoAck: false,
      time,
      ...(features && { features }),
    } as const;
    return new Scene(runtime, await ARCPClient.connect(runtime.dial, options), time);
  }

  async accepted(jobId: string, options: Partial<SubmitOptions> = {}): Promise<JobHandle> {
    const submitting = this.client.submit({ agent: "a", ...options });
    const more = { accepted_at: "2026-05-13T02:00:00Z" };
    await this.runtime.accept(await this.runtime.last("job.submit"), jobId, more);
    return submitting;
  }

  /** The connection is lost, and there is another. */
  async comeBack(): Promise<void> {
    await this.runtime.drop();
    await this.time.pass(1_000, 50);
    assert(this.client.isConnected);
  }

  /** Answers the last request for jobs. */
  async list(
    statuses: Readonly<Record<string, string>>,
    next_cursor: string | null = null,
  ): Promise<JsonObject> {
    const { id, payload } = await this.runtime.last("session.list_jobs");
    const jobs = Object.entries(statuses).map(([job_id, status]) => ({
      job_id,
      agent: "a",
      status,
      lease: {},
      created_at: "2026-05-13T02:00:00Z",
      last_event_seq: 1,
    }));
    await this.runtime.say("session.jobs", { request_id: id, jobs, next_cursor });
    return payload;
  }

  /** Answers the last subscribe: the job runs. */
  async confirmSubscribe(jobId: string): Promise<void> {
    const { id } = await this.runtime.last("job.subscribe");
    const facts = { job_id: jobId, agent: "a", lease: {}, subscribed_from: 0, replayed: false };
    const payload = { request_id: id, current_status: "running", ...facts };
    await this.runtime.say("job.subscribed", payload, { jobId });
  }

  async refuseSubscribe(code: string): Promise<void> {
    const { id } = await this.runtime.last("job.subscribe");
    await this.runtime.error(code, "refused", { request_id: id });
  }

  get asked(): number {
    return this.runtime.ofType("session.list_jobs").length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closing = this.client.close();
    await this.time.pass(500, 250);
    await closing;
  }
}

test("[ARCP-208] [ARCP-222] a job that the runtime forgot with the connection ends with an error, and so do its events", async () => {
  await using scene = await Scene.open();
  const { runtime, time } = scene;
  const [job, running] = [await scene.accepted("job_1"), await scene.accepted("job_2")];
  await runtime.event("job_1", "one");
  await runtime.event("job_2", "two");
  await scene.comeBack();
  assert.deepEqual(
    runtime.helloes.map(({ payload }) => Reflect.get(payload["resume"] ?? {}, "last_event_seq")),
    [undefined, 2, 1],
  );
  const events = job.events();
  assert.equal((await events.next()).value?.jobId, "job_1");
  const next = events.next();
  next.catch(() => {});
  await time.pass(limits.rollCallMs);
  const { filter } = await scene.list({ job_2: "running" });
  assert.deepEqual(filter, { created_after: "2026-05-13T01:00:00.000Z" });
  await assert.rejects(job.done, lost);
  await assert.rejects(next, lost);
  await runtime.result("job_2", 2, 3);
  assert.equal((await running.done).result, 2);
  await time.pass(60_000, 1_000);
  assert.equal(scene.asked, 1);
});

test("[ARCP-208] of a job that is said to have ended, the end is waited for, but not for ever", async () => {
  await using scene = await Scene.open();
  const { runtime, time } = scene;
  const [late, never] = [await scene.accepted("job_1"), await scene.accepted("job_2")];
  await scene.comeBack();
  for (let call = 1; call <= limits.rollCalls; call += 1) {
    await time.pass(limits.rollCallMs);
    assert.equal(scene.asked, call);
    if (call === 2) await runtime.result("job_1", 1, 1);
    await scene.list({ job_1: "success", job_2: "error" });
  }
  assert.equal((await late.done).result, 1);
  await assert.rejects(never.done, lost);
});

test("[ARCP-208] [ARCP-96] a keyed retry that is accepted with the id of a forgotten job ends with an error", async () => {
  await using scene = await Scene.open();
  const { runtime, time } = scene;
  const first = await scene.accepted("job_1", { idempotencyKey: "k" });
  await runtime.result("job_1", 1);
  assert.equal((await first.done).result, 1);
  const again = await scene.accepted("job_1", { idempotencyKey: "k" });
  const other = await scene.accepted("job_2", { idempotencyKey: "other" });
  await time.pass(2 * limits.rollCallMs, limits.rollCallMs);
  await scene.list({ job_2: "pending" });
  await scene.refuseSubscribe("JOB_NOT_FOUND");
  await assert.rejects(again.done, lost);
  await time.pass(60_000, 1_000);
  assert.equal(scene.asked, 1, "of the job that is there nobody asks again");
  await runtime.result("job_2", 2);
  assert.equal((await other.done).result, 2);
});

test("a keyed retry of a job that was created hours ago is not lost, also not after a resume", async () => {
  await using scene = await Scene.open();
  const { runtime, time } = scene;
  const job = await scene.accepted("job_1", { idempotencyKey: "k" });
  for (const before of [async () => {}, () => scene.comeBack()]) {
    await before();
    await time.pass(2 * limits.rollCallMs, limits.rollCallMs);
    await scene.list({});
    await scene.confirmSubscribe("job_1");
  }
  await runtime.result("job_1", 1, 1);
  assert.equal((await job.done).result, 1);
  assert.deepEqual([scene.asked, runtime.ofType("job.subscribe").length], [2, 2]);
});

test("a job with a key that says something within the first second is not asked for, but after a resume it is", async () => {
  await using scene = await Scene.open();
  const { runtime, time } = scene;
  const job = await scene.accepted("job_1", { idempotencyKey: "k" });
  await runtime.event("job_1", "one");
  await time.pass(60_000, 1_000);
  assert.equal(scene.asked, 0);
  await scene.comeBack();
  await runtime.event("job_1", "two", 2);
  await time.pass(limits.rollCallMs);
  await scene.list({});
  await scene.refuseSubscribe("JOB_NOT_FOUND");
  await assert.rejects(job.done, lost);
});

test("a runtime of ours is not asked for a job with a key: it forgets none", async () => {
  const capabilities = { encodings: ["json"], features: ["list_jobs"], [answerType]: {} };
  await using scene = await Scene.open(undefined, { welcome: { capabilities } });
  await scene.accepted("job_1", { idempotencyKey: "k" });
  await scene.time.pass(60_000, 1_000);
  assert.equal(scene.asked, 0);
});

test("a job without a key that nothing was heard of is not asked for, nor one that has ended", async () => {
  await using scene = await Scene.open();
  await scene.accepted("job_1");
  const keyed = await scene.accepted("job_2", { idempotencyKey: "k" });
  await scene.runtime.result("job_2", 2);
  await keyed.done;
  await scene.time.pass(60_000, 1_000);
  assert.equal(scene.asked, 0);
});

test("a list that is longer than one page is read to its end", async () => {
  await using scene = await Scene.open();
  const { time } = scene;
  const [one, two] = [await scene.accepted("job_1"), await scene.accepted("job_2")];
  await scene.comeBack();
  await time.pass(limits.rollCallMs);
  await scene.list({ job_2: "running" }, "more");
  await settled();
  const { cursor } = await scene.list({ job_3: "running" });
  assert.equal(cursor, "more");
  await assert.rejects(one.done, lost);
  const gone = two.done.then(
    () => true,
    () => true,
  );
  assert.equal(await Promise.race([gone, settled().then(() => false)]), false);
});

test("[ARCP-67] a job of others that is not listed is subscribed to again; only if that is refused is it lost", async () => {
  for (const isThere of [true, false]) {
    await using scene = await Scene.open();
    const { runtime, client, time } = scene;
    const subscribing = client.subscribe("job_1");
    await scene.confirmSubscribe("job_1");
    const job = await subscribing;
    await scene.comeBack();
    await time.pass(limits.rollCallMs);
    await scene.list({});
    assert.equal(runtime.ofType("job.subscribe").length, 2);
    if (isThere) {
      await scene.confirmSubscribe("job_1");
      await runtime.result("job_1", 1, 1);
      assert.equal((await job.done).result, 1);
    } else {
      await scene.refuseSubscribe("JOB_NOT_FOUND");
      await assert.rejects(job.done, lost);
    }
  }
});

test("[ARCP-208] a runtime that lists no jobs is asked for one by a subscription", async () => {
  for (const code of ["JOB_NOT_FOUND", "PERMISSION_DENIED"] as const) {
    await using scene = await Scene.open(["subscribe"]);
    const { runtime, time } = scene;
    const job = await scene.accepted("job_1");
    await scene.comeBack();
    await time.pass(limits.rollCallMs);
    await scene.refuseSubscribe(code);
    if (code === "JOB_NOT_FOUND") {
      await assert.rejects(job.done, lost);
    } else {
      await runtime.result("job_1", 1, 1);
      assert.equal((await job.done).result, 1);
    }
    assert.equal(scene.asked, 0);
  }
});

test("[ARCP-208] where a runtime neither lists jobs nor lets them be followed, a job ends with the client", async () => {
  let job: JobHandle;
  {
    await using scene = await Scene.open([]);
    job = await scene.accepted("job_1");
    await scene.comeBack();
    await scene.time.pass(60_000, 1_000);
    assert.equal(scene.runtime.ofType("job.subscribe").length, 0);
  }
  await assert.rejects(job.done, { code: "CANCELLED" });
});
