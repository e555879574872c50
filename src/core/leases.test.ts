import assert from "node:assert/strict";
import { test } from "node:test";
import { acquire, release, renew } from "../testing/commands.ts";
import { Crowd } from "../testing/crowd.ts";
import { refuse } from "./decision.ts";
import { agentId, type TaskId, taskId, token } from "./ids.ts";
import {
  decide,
  emptyLeases,
  endAllOf,
  evolve,
  type Lease,
  type LeaseEvent,
  type OwnLeases,
} from "./leases.ts";
import { limits } from "./limits.ts";

const scraper = agentId("scraper");

test("a free task is leased, with a token above every earlier one", () => {
  const leases = given(acquired("other", "parser", 41n));
  const decision = decide(leases, acquire("invoice-42", "scraper", 60_000), 1_000);
  const lease: Lease = {
    taskId: taskId("invoice-42"),
    holder: scraper,
    token: token(42n),
    ttlMs: 60_000,
    acquiredAtMs: 1_000,
    expiresAtMs: 61_000,
  };
  assert.deepEqual(decision, { events: [{ type: "lease.acquired", lease }] });
});

test("a task that is held is refused to others, and they see by whom", () => {
  const leases = given(acquired("invoice-42", "scraper", 1n));
  const { refusal } = decide(leases, acquire("invoice-42", "parser"), 10_000);
  assert.equal(refusal?.code, "lease_held");
  assert.equal(refusal?.message, "task invoice-42 is held by agent scraper for 50000 ms more");
  assert.equal(refusal?.lease?.holder, scraper);
});

test("the holder may acquire again, and its older token is fenced off", () => {
  const leases = given(acquired("invoice-42", "scraper", 1n));
  const again = decide(leases, acquire("invoice-42", "scraper", 5_000), 10_000);
  assert(!again.refusal);
  for (const event of again.events) evolve(leases, event);
  const held = leases.held.get(taskId("invoice-42"));
  assert.equal(held?.token, 2n);
  assert.equal(held?.expiresAtMs, 15_000);
  assert.deepEqual(
    decide(leases, renew("invoice-42", "scraper", 1n), 11_000),
    refuse("token_mismatch", "task invoice-42 changed hands; stop work on it"),
  );
});

test("the holder asks again with the key of its lease, and nothing changes", () => {
  const leases = given(acquired("invoice-42", "scraper", 1n));
  const first = decide(leases, acquire("invoice-43", "scraper", 5_000, "k1"), 0);
  assert(!first.refusal);
  for (const event of first.events) evolve(leases, event);
  assert.equal(leases.held.get(taskId("invoice-43"))?.key, "k1");
  const again = decide(leases, acquire("invoice-43", "scraper", 9_000, "k1"), 1_000);
  assert.deepEqual(again, { events: [] });
  for (const [task, key] of [
    ["invoice-43", "k2"],
    ["invoice-43", undefined],
    ["invoice-42", "k1"],
  ] as const) {
    const anew = decide(leases, acquire(task, "scraper", 5_000, key), 1_000);
    const [event] = anew.refusal ? [] : anew.events;
    assert.equal(event?.lease.token, 3n, `${task} ${key}`);
    assert.equal(event?.lease.key, key);
  }
  const other = decide(leases, acquire("invoice-43", "parser", 5_000, "k1"), 1_000);
  assert.equal(other.refusal?.code, "lease_held");
});

test("a renewed lease keeps its key", () => {
  const leases = emptyLeases();
  const first = decide(leases, acquire("t", "scraper", 5_000, "k"), 0);
  for (const event of first.refusal ? [] : first.events) evolve(leases, event);
  const renewed = decide(leases, renew("t", "scraper", 1n), 1_000);
  for (const event of renewed.refusal ? [] : renewed.events) evolve(leases, event);
  assert.deepEqual(decide(leases, acquire("t", "scraper", 1, "k"), 2_000), { events: [] });
});

test("a renewal moves the expiry, later or earlier, and nothing else", () => {
  const leases = given(acquired("invoice-42", "scraper", 1n));
  const before = leases.held.get(taskId("invoice-42"));
  const decision = decide(leases, renew("invoice-42", "scraper", 1n, 5_000), 10_000);
  const lease = { ...before, ttlMs: 5_000, expiresAtMs: 15_000 };
  assert.deepEqual(decision, { events: [{ type: "lease.renewed", lease }] });
});

test("a renewal without a ttl takes the last one that was given", () => {
  const leases = given(acquired("invoice-42", "scraper", 1n));
  const shortened = decide(leases, renew("invoice-42", "scraper", 1n, 5_000), 10_000);
  assert(!shortened.refusal);
  for (const event of shortened.events) evolve(leases, event);
  const decision = decide(leases, renew("invoice-42", "scraper", 1n), 12_000);
  assert.equal(decision.refusal ? undefined : decision.events[0]?.lease.expiresAtMs, 17_000);
});

for (const say of [renew, release]) {
  test(`whoever ${say.name}s needs the token and must be the holder`, () => {
    const leases = given(acquired("invoice-42", "scraper", 7n));
    const code = (name: string, presented: bigint): string | undefined =>
      decide(leases, say("invoice-42", name, presented), 1).refusal?.code;
    assert.equal(code("scraper", 7n), undefined);
    assert.equal(code("scraper", 6n), "token_mismatch", "an older token");
    assert.equal(code("scraper", 8n), "token_mismatch", "a token nobody has");
    assert.equal(code("scraper", 0n), "token_mismatch", "no token");
    assert.equal(code("parser", 7n), "token_mismatch", "another agent with the right token");
  });

  test(`there is nothing to ${say.name} on a task that is free`, () => {
    const { refusal } = decide(emptyLeases(), say("invoice-42", "scraper", 1n), 0);
    assert.equal(refusal?.code, "lease_not_found");
  });
}

test("a released task is free, and its token is not given again", () => {
  const leases = given(acquired("invoice-42", "scraper", 1n));
  const decision = decide(leases, release("invoice-42", "scraper", 1n), 10);
  assert(!decision.refusal);
  for (const event of decision.events) evolve(leases, event);
  const next = decide(leases, acquire("invoice-42", "parser"), 20);
  assert.equal(next.refusal ? undefined : next.events[0]?.lease.token, 2n);
});

test("tokens beyond 2^53 stay exact", () => {
  const leases = given(acquired("a", "scraper", 2n ** 63n));
  const decision = decide(leases, acquire("b", "scraper"), 0);
  assert.equal(decision.refusal ? undefined : decision.events[0]?.lease.token, 2n ** 63n + 1n);
});

test("a death frees all that the agent held, oldest token first, and nothing of others", () => {
  const leases = given(
    acquired("c", "scraper", 1n),
    acquired("a", "scraper", 2n),
    acquired("b", "parser", 3n),
    acquired("c", "scraper", 4n),
  );
  const freed = endAllOf(leases, scraper);
  assert.deepEqual(
    freed.map((event) => [event.type, event.lease.taskId, event.lease.token]),
    [
      ["lease.released", "a", 2n],
      ["lease.released", "c", 4n],
    ],
  );
  for (const event of freed) evolve(leases, event);
  assert.deepEqual([...leases.held.keys()], ["b"]);
  assert.deepEqual([...leases.byHolder.keys()], ["parser"]);
  assert.deepEqual(endAllOf(leases, scraper), []);
});

test("an ended lease leaves nothing behind but the token counter", () => {
  const leases = given(acquired("a", "scraper", 5n));
  const lease = leases.held.get(taskId("a"));
  assert(lease);
  evolve(leases, { type: "lease.expired", lease });
  assert.deepEqual([leases.held.size, leases.byHolder.size, leases.due.size], [0, 0, 0]);
  assert.equal(leases.lastToken, 5n);
});

test("there is a bound on leases, but whoever holds one may acquire it again", () => {
  const held = new Crowd<TaskId, Lease>(limits.leasesMax);
  const full = { ...emptyLeases(), held };
  assert.equal(decide(full, acquire("a", "scraper"), 0).refusal?.code, "limit_reached");
  held.set(taskId("a"), acquired("a", "scraper", 1n).lease);
  assert.equal(decide(full, acquire("a", "scraper"), 0).refusal, undefined);
});

function acquired(task: string, name: string, value: bigint): LeaseEvent {
  const lease: Lease = {
    taskId: taskId(task),
    holder: agentId(name),
    token: token(value),
    ttlMs: 60_000,
    acquiredAtMs: 0,
    expiresAtMs: 60_000,
  };
  return { type: "lease.acquired", lease };
}

function given(...events: LeaseEvent[]): OwnLeases {
  const leases = emptyLeases();
  for (const event of events) evolve(leases, event);
  return leases;
}
