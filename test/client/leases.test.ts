/** Agents and their leases, through the client. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import type { Agent, Lease } from "../../src/client/index.ts";
import { until, within } from "../e2e/processes.ts";
import { MovableClock, openPlane, turns } from "./plane.ts";

const patienceMs = 15_000;

test("one holds, the other is told who; the later holder has the larger token", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using scraper = await client.register({ name: "scraper" });
  await using parser = await client.register({ name: "parser" });
  let first: bigint;
  {
    await using lease = await scraper.acquire("invoice-42");
    first = lease.token;
    assert.equal(lease.isHeld, true);
    await assert.rejects(
      parser.acquire("invoice-42"),
      (error: Error & { lease?: { holder: string; holderName: string } }) => {
        assert.equal("code" in error && error.code, "lease_held");
        assert.equal(error.lease?.holder, scraper.id);
        assert.equal(error.lease?.holderName, "scraper");
        return true;
      },
    );
    assert.equal((await client.leases.check("invoice-42", first)).isCurrent, true);
  }
  await using lease = await parser.acquire("invoice-42");
  assert(lease.token > first);
  assert.equal((await client.leases.check("invoice-42", first)).isCurrent, false);
});

test("of two leases of one agent on one task only the later is held", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "scraper" });
  await using older = await agent.acquire("invoice-42");
  await using newer = await agent.acquire("invoice-42");
  assert.deepEqual([older.isHeld, newer.isHeld], [false, true]);
  assert.match(String(older.signal.reason), /this agent acquired it again/);
  await older.release();
  assert.equal((await client.leases.check("invoice-42", newer.token)).isCurrent, true);
});

test("what was granted in an answer that cannot be read is given back", async (t) => {
  await using plane = await openPlane(t);
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const answer = await plane.daemon.fetch(new Request(url, init));
    if (!url.endsWith("/acquire")) return answer;
    return new Response("<html>", { headers: { "Content-Type": "text/html" } });
  };
  await using client = await plane.connect({ fetch });
  await using agent = await client.register({ name: "scraper" });
  await using watch = client.watch({ topics: ["lease."] });
  await watch.ready;
  await assert.rejects(agent.acquire("invoice-42", { ttlMs: 60_000 }), { code: "bad_answer" });
  for (const type of ["lease.acquired", "lease.released"]) {
    const { value } = await within(patienceMs, watch.next(), type);
    assert.equal(value?.type, type);
  }
  assert.equal((await client.agents.get(agent.id)).liveness, "alive", "not by its death");
});

test("acquirers that wait get it in the order in which they came", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using holder = await client.register({ name: "holder" });
  const held = await holder.acquire("invoice-42");
  const order: string[] = [];
  const waiting: Promise<void>[] = [];
  for (const name of ["a", "b", "c", "d"]) {
    const agent = await client.register({ name });
    waiting.push(take(agent, order));
    await turns();
  }
  await held.release();
  await within(patienceMs, Promise.all(waiting), "all four");
  assert.deepEqual(order, ["a", "b", "c", "d"]);
});

async function take(agent: Agent, order: string[]): Promise<void> {
  await using _ = await agent.acquire("invoice-42", { wait: true });
  order.push(agent.name);
}

test("whoever gives up waiting leaves the line at once, and is told its own reason", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using holder = await client.register({ name: "holder" });
  await using impatient = await client.register({ name: "impatient" });
  await using patient = await client.register({ name: "patient" });
  const held = await holder.acquire("invoice-42");
  const stopping = new AbortController();
  const givenUp = impatient.acquire("invoice-42", { wait: true, signal: stopping.signal });
  await turns();
  const waiting = patient.acquire("invoice-42", { wait: true });
  await turns();
  assert.equal(plane.unanswered("/acquire"), 2);
  const reason = new Error("lunch");
  stopping.abort(reason);
  await assert.rejects(givenUp, reason);
  await until(() => plane.answered("/withdraw") === 1, "it to leave the line");
  await held.release();
  await using lease = await within(patienceMs, waiting, "the lease");
  assert.equal((await client.leases.get("invoice-42")).holder, patient.id);
  assert.equal(lease.isHeld, true);
});

test("a wait that is over ends with lease_held, and nothing is granted afterwards", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using holder = await client.register({ name: "holder" });
  await using waiter = await client.register({ name: "waiter" });
  const held = await holder.acquire("invoice-42");
  await assert.rejects(waiter.acquire("invoice-42", { wait: 80 }), { code: "lease_held" });
  await until(() => plane.answered("/withdraw") === 1, "it to leave the line");
  await held.release();
  await assert.rejects(client.leases.get("invoice-42"), { code: "lease_not_found" });
});

test("a lease granted after a wait longer than its ttl is held for its whole ttl", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using holder = await client.register({ name: "holder" });
  await using waiter = await client.register({ name: "waiter" });
  const held = await holder.acquire("invoice-42");
  const startedMs = performance.now();
  const waiting = waiter.acquire("invoice-42", { wait: true, ttlMs: 300 });
  await until(() => performance.now() - startedMs > 400, "more than its ttl to pass");
  await held.release();
  await using lease = await within(patienceMs, waiting, "the lease");
  assert.equal(lease.isHeld, true);
});

test("a lease is renewed for as long as the block lasts", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "holder" });
  await using lease = await agent.acquire("invoice-42", { ttlMs: 300 });
  const { expiresAtMs } = await client.leases.get("invoice-42");
  await until(() => Date.now() > expiresAtMs + 300, "two ttls to pass");
  assert.equal(lease.isHeld, true);
  assert.equal((await client.leases.check("invoice-42", lease.token)).isCurrent, true);
});

test("whoever acquires for the same agent elsewhere fences it off, which the next renewal tells", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "holder" });
  await using older = await agent.acquire("invoice-42", { ttlMs: 900 });
  const lost = once(older.signal, "abort");
  const newer = await client.call("acquireLease", { taskId: "invoice-42", agentId: agent.id });
  await within(patienceMs, lost, "the older copy to be told");
  assert.equal(older.isHeld, false);
  assert.equal(older.signal.reason.code, "lease_lost");
  assert.equal(older.signal.reason.cause.code, "token_mismatch");
  // The end of the block of the older one must not release the newer one.
  await older[Symbol.asyncDispose]();
  assert.equal((await client.leases.check("invoice-42", BigInt(newer.token))).isCurrent, true);
});

test("a process that slept past the ttl holds nothing, whatever the daemon believes", async (t) => {
  await using plane = await openPlane(t);
  const clock = new MovableClock();
  await using client = await plane.connect({ clock });
  await using agent = await client.register({ name: "laptop", ttlMs: 60_000 });
  const lease = await agent.acquire("invoice-42", { ttlMs: 60_000 });
  clock.sleep(60_000);
  assert.equal(lease.isHeld, false);
  assert.equal(lease.signal.aborted, true);
  const renewed = await client.call("listEntries", { type: ["lease.renewed"] });
  await lease[Symbol.asyncDispose]();
  assert.equal(renewed.rows.length, 0);
  await assert.rejects(client.leases.get("invoice-42"), { code: "lease_not_found" });
});

test("an agent that slept is alive if the daemon says so, and dead if it says so", async (t) => {
  await using plane = await openPlane(t);
  const clock = new MovableClock();
  await using client = await plane.connect({ clock });
  await using agent = await client.register({ name: "laptop", ttlMs: 60_000 });
  await using other = await client.register({ name: "other", ttlMs: 60_000 });
  const lease = await other.acquire("invoice-42", { ttlMs: 86_400_000 });
  await client.call("deregisterAgent", { agentId: other.id });
  clock.sleep(120_000);
  assert.equal(agent.isAlive, false, "until it has asked it cannot know");
  const reason = await within(patienceMs, other.died, "the dead one to be told");
  assert.equal(reason.code, "agent_dead");
  assert.equal(other.signal.aborted, true);
  assert.equal(lease.isHeld, false);
  assert.equal(lease.signal.aborted, true);
  await until(() => agent.isAlive, "the other to hear that it lives");
  assert.equal(agent.signal.aborted, false);
});

test("aborting any call rejects with the reason given, and leaves nothing behind", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "x" });
  const reason = new Error("changed my mind");
  const signal = AbortSignal.abort(reason);
  const calls: readonly (() => Promise<unknown>)[] = [
    () => client.overview({ signal }),
    () => client.register({ name: "y", signal }),
    () => client.find("y", { signal }),
    () => agent.acquire("t", { signal }),
    () => agent.acquire("t", { signal, wait: true }),
    () => agent.campaign("g", { signal }),
    () => agent.claim({ signal, wait: true }),
    () => agent.report({ state: "idle" }, { signal }),
    () => client.tasks.claim(agent, { signal }).next(),
    () => client.watch({ signal }).next(),
    () => client.agents.list({ signal }).next(),
    () => client.tasks.create({ type: "t", signal }),
  ];
  for (const call of calls) await assert.rejects(call(), reason);
  const { counts } = await client.overview();
  assert.deepEqual([counts.leases, counts.elections, counts.tasks.pending], [0, 0, 0]);
});

test("closing the client lets its agents leave, and ends what is under way", async (t) => {
  await using plane = await openPlane(t);
  await using onlooker = await plane.connect();
  const client = await plane.connect();
  const agent = await client.register({ name: "x" });
  const other = await client.register({ name: "y" });
  const lease: Lease = await agent.acquire("t");
  const waiting = other.acquire("t", { wait: true });
  const watching = client.watch({ topics: ["policy."] }).next();
  const ends = Promise.allSettled([waiting, watching]);
  await client[Symbol.asyncDispose]();
  const [waited, watched] = await within(patienceMs, ends, "everything to end");
  assert.equal(waited.status, "rejected");
  assert.equal(watched.status, "rejected");
  assert.equal(lease.isHeld, false);
  assert.deepEqual((await onlooker.overview()).counts.agents, {
    alive: 0,
    unreachable: 0,
    dead: 2,
    left: 2,
  });
  await assert.rejects(client.overview(), { code: "closed" });
  await client[Symbol.asyncDispose]();
});

test("without a token one may look, and is told where a token would be", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect({ token: "wrong" });
  assert.equal((await client.overview()).counts.leases, 0);
  await assert.rejects(client.register({ name: "x" }), { code: "token_required" });
});
