/** Work, through the client. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import type { Client } from "../../src/client/index.ts";
import { until, within } from "../e2e/processes.ts";
import { MovableClock, openPlane, turns } from "./plane.ts";

const patienceMs = 15_000;

test("a worker claims one task after the other and completes them", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "worker", tools: ["ocr"] });
  const ids: string[] = [];
  for (const page of [1, 2, 3]) {
    const task = { type: "read", input: { page }, requiredTools: ["ocr"] };
    ids.push((await client.tasks.create(task)).id);
  }
  await client.tasks.create({ type: "other", input: 4 });
  for await (const task of client.tasks.claim(agent, { types: ["read"] })) {
    const { page } = task.input.json<{ page: number }>();
    assert.deepEqual([task.id, task.type, task.deliveries], [ids[page - 1], "read", 1]);
    await task.complete({ text: `page ${page}` });
    if (page === 3) break;
  }
  const outputs = await Promise.all(ids.map((id) => client.tasks.get(id)));
  assert.deepEqual(
    outputs.map(({ state, output }) => [state, output.json()]),
    [1, 2, 3].map((page) => ["completed", { text: `page ${page}` }]),
  );
  assert.equal((await states(client)).pending, 1);
});

test("a task that is left by going on, by break or by throwing has failed, and says why", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "worker" });
  for (let number = 0; number < 3; number++) await client.tasks.create({ type: "x" });
  const leave = async (): Promise<void> => {
    let number = 0;
    for await (const _ of client.tasks.claim(agent)) {
      number += 1;
      if (number === 1) continue;
      break;
    }
    for await (const _ of client.tasks.claim(agent)) throw new Error("broken");
  };
  await assert.rejects(leave(), /broken/);
  assert.equal((await states(client)).dead, 3);
  for await (const { failureReason } of client.tasks.list({ state: ["dead"] })) {
    assert.equal(failureReason, "the worker left it without completing or failing it");
  }
});

test("a failed task is retried, at once or later, as often as it may be", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "worker" });
  const { id } = await client.tasks.create({ type: "x", maxRetries: 2 });
  const first = await agent.claim();
  await first?.fail("too dark");
  const second = await agent.claim();
  assert.equal(second?.deliveries, 2);
  await second.fail("too bright", { retryAfterMs: 60_000 });
  assert.equal(await agent.claim(), undefined);
  const { state, failureReason, retryCount } = await client.tasks.get(id);
  assert.deepEqual([state, failureReason, retryCount], ["delayed", "too bright", 2]);
});

test("a worker that is stopped gives its task back unharmed", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "worker" });
  const { id } = await client.tasks.create({ type: "x" });
  const stopping = new AbortController();
  const work = (async () => {
    for await (const _ of client.tasks.claim(agent, { signal: stopping.signal })) {
      stopping.abort(new Error("shutting down"));
    }
  })();
  await assert.rejects(work, /shutting down/);
  await until(async () => (await states(client)).pending === 1, "the task to be back");
  const { retryCount, failureReason } = await client.tasks.get(id);
  assert.deepEqual([retryCount, failureReason], [0, ""]);
});

test("a claim that is not wanted any more takes no task with it", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "worker" });
  const stopping = new AbortController();
  const claiming = agent.claim({ wait: true, signal: stopping.signal });
  await turns();
  stopping.abort(new Error("never mind"));
  await assert.rejects(claiming, /never mind/);
  await until(() => plane.answered("/withdraw") === 1, "it to leave the line");
  await client.tasks.create({ type: "x" });
  assert.equal((await states(client)).pending, 1);
});

test("a claim lasts as long as the work does", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "worker" });
  const { id } = await client.tasks.create({ type: "x", claimMs: 300 });
  await using task = await agent.claim();
  const startedMs = performance.now();
  await until(() => performance.now() - startedMs > 700, "more than two claims' time to pass");
  assert.equal(task?.signal.aborted, false);
  await task?.complete();
  assert.equal((await client.tasks.get(id)).deliveries, 1);
});

test("whoever works on a cancelled task is told at once", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "worker" });
  const { id } = await client.tasks.create({ type: "x" });
  for await (const task of client.tasks.claim(agent)) {
    const told = once(task.signal, "abort");
    // The stream of news may still be opening; then the next extension would tell, 20 s later.
    await until(() => plane.unanswered("/events") + plane.answered("/events") > 0, "the news");
    await turns();
    await client.tasks.cancel(id);
    await within(5_000, told, "the worker to be told");
    assert.equal(task.signal.reason.code, "claim_lost");
    assert.match(task.signal.reason.message, /cancelled/);
    await assert.rejects(task.complete("too late"), { code: "claim_lost" });
    break;
  }
  assert.equal((await client.tasks.get(id)).state, "cancelled");
});

test("a completion that comes too late is refused and changes nothing", async (t) => {
  await using plane = await openPlane(t);
  const clock = new MovableClock();
  await using client = await plane.connect({ clock });
  await using late = await client.register({ name: "late", ttlMs: 86_000_000 });
  await using quick = await client.register({ name: "quick", ttlMs: 86_000_000 });
  const { id } = await client.tasks.create({ type: "x", claimMs: 200 });
  const mine = await late.claim();
  assert(mine);
  // As a process that sleeps: by its own clock the time is up, so it extends no more.
  clock.sleep(1_000);
  assert.equal(mine.signal.aborted, true);
  const theirs = await quick.claim({ wait: patienceMs });
  assert.equal(theirs?.id, id);
  await assert.rejects(mine.complete("old news"), { code: "claim_lost" });
  await theirs.complete("news");
  assert.equal((await client.tasks.get(id)).output.json(), "news");
});

test("what has ended cannot be ended again", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "worker" });
  const { id } = await client.tasks.create({ type: "x" });
  await using task = await agent.claim();
  await task?.complete(1);
  await assert.rejects(async () => task?.fail("no"), { code: "closed" });
  assert.equal((await client.tasks.get(id)).state, "completed");
});

test("a task created twice with one key is one task; with another input it is refused", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  const one = await client.tasks.create({ type: "x", input: 1, key: "order-7" });
  const again = await client.tasks.create({ type: "x", input: 1, key: "order-7" });
  assert.equal(again.id, one.id);
  await assert.rejects(client.tasks.create({ type: "x", input: 2, key: "order-7" }), {
    code: "key_reused",
  });
  assert.equal((await states(client)).pending, 1);
});

test("a dead task gets another chance", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "worker" });
  const { id } = await client.tasks.create({ type: "x" });
  await (await agent.claim())?.fail("no");
  assert.equal((await client.tasks.get(id)).state, "dead");
  await client.tasks.requeue(id);
  await using task = await agent.claim();
  await task?.complete(Uint8Array.of(1, 2, 3));
  assert.deepEqual((await client.tasks.get(id)).output.bytes, Uint8Array.of(1, 2, 3));
});

async function states(client: Client) {
  return (await client.overview()).counts.tasks;
}
