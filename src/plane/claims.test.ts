import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import type { Event, Refusal } from "../core/index.ts";
import {
  claim,
  complete,
  createTask,
  deregister,
  fail,
  heartbeat,
  register,
  unclaim,
} from "../testing/commands.ts";
import { HeldLog } from "../testing/held-log.ts";
import { isSettled, test as me, openPlane, turns } from "../testing/test-plane.ts";
import { limits } from "./limits.ts";
import type { Plane } from "./plane.ts";

const nothing = (): void => {};

test("a claim finds a task that is there, and waits for one that is not", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  await given(plane, register("ada"), createTask("t1"));
  assert.equal(await claims(plane, "ada"), "t1");
  const waiting = claims(plane, "ada");
  assert.equal(await isSettled(waiting), false);
  await given(plane, createTask("t2"));
  assert.equal(await waiting, "t2");
});

test("who has waited longest gets the next task, and each task has one claimant", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  await given(plane, register("ada"), register("bob"));
  const calls = ["ada", "bob", "ada", "bob"].map((name) => claims(plane, name));
  await given(plane, createTask("t1"));
  assert.equal(await calls[0], "t1");
  for (const call of calls.slice(1)) assert.equal(await isSettled(call), false);
  await given(plane, createTask("t2"), createTask("t3"), createTask("t4"));
  assert.deepEqual(await Promise.all(calls), ["t1", "t2", "t3", "t4"]);
});

test("who lacks the tools is passed over, and keeps its place", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  await given(plane, register("ada"), register("bob", { tools: ["sql"] }));
  const ada = claims(plane, "ada");
  const bob = claims(plane, "bob");
  await given(plane, createTask("needs-sql", { requiredTools: ["sql"] }));
  assert.equal(await bob, "needs-sql");
  const again = claims(plane, "bob");
  await given(plane, createTask("any"));
  assert.equal(await ada, "any");
  assert.equal(await isSettled(again), false);
});

test("whoever creates a task sees it pending, even if someone waited for it", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  await given(plane, register("ada"));
  const waiting = claims(plane, "ada");
  const stateOf = (_: unknown, events: readonly Event[]): unknown =>
    events.map((event) => event.type === "task.created" && event.task.state);
  const created = await plane.submit(createTask("t"), me, stateOf);
  assert.deepEqual(created, { value: ["pending"] });
  assert.equal(await waiting, "t");
});

test("a task that comes back goes to whoever waits: failed, expired, given back or orphaned", async () => {
  await using opened = await openPlane();
  const { plane, clock } = opened;
  await given(plane, register("ada"), register("bob", { ttlMs: 600_000 }));
  await given(plane, createTask("t", { maxRetries: 1, claimMs: 1_000 }));

  await claims(plane, "ada");
  let waiting = claims(plane, "bob");
  await given(plane, fail("t", "ada", "boom"));
  assert.equal(await waiting, "t");

  waiting = claims(plane, "ada");
  clock.leap(1_000);
  plane.tick();
  assert.equal(await waiting, "t", "bob's claim expired");

  waiting = claims(plane, "bob");
  await given(plane, unclaim("t", "ada", 3));
  assert.equal(await waiting, "t");

  await given(plane, unclaim("t", "bob", 4));
  await claims(plane, "ada");
  waiting = claims(plane, "bob");
  await given(plane, deregister("ada"));
  assert.equal(await waiting, "t");
});

test("a claim that is called off is forgotten, and the task goes to the next", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  await given(plane, register("ada"), register("bob"));
  const calling = new AbortController();
  const called = claims(plane, "ada", calling.signal);
  const waiting = claims(plane, "bob");
  const reason = new Error("the client hung up");
  calling.abort(reason);
  await assert.rejects(called, reason);
  await given(plane, createTask("t"));
  assert.equal(await waiting, "t");
});

test("a claim that was called off before it was made takes no task", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  await given(plane, register("ada"), createTask("t"));
  const reason = new Error("too late");
  const called = claims(plane, "ada", AbortSignal.abort(reason));
  await assert.rejects(called, reason);
  assert.equal(await plane.read((state) => [...state.tasks.byId.values()][0]?.state), "pending");
});

test("a claim that was called off before it had to wait does not wait", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  await given(plane, register("ada"));
  const called = claims(plane, "ada", AbortSignal.abort(new Error("too late")));
  called.catch(nothing);
  assert.equal(await isSettled(called), true);
});

test("a claim that was answered no longer listens to its signal", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  await given(plane, register("ada"));
  const { signal } = new AbortController();
  const waiting = claims(plane, "ada", signal);
  await given(plane, createTask("t"));
  assert.equal(await waiting, "t");
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("calling off a claim that was answered changes nothing", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  await given(plane, register("ada"));
  const calling = new AbortController();
  const waiting = claims(plane, "ada", calling.signal);
  await given(plane, createTask("t"));
  calling.abort(new Error("too late"));
  assert.equal(await waiting, "t");
});

test("an unreachable agent gets nothing until it beats, and then is first if it came first", async () => {
  await using opened = await openPlane();
  const { plane, clock } = opened;
  await given(plane, register("ada", { ttlMs: 1_000 }), register("bob", { ttlMs: 600_000 }));
  const ada = claims(plane, "ada");
  const bobs = [claims(plane, "bob"), claims(plane, "bob")];
  clock.leap(1_500);
  plane.tick();
  await given(plane, createTask("t1"));
  assert.equal(await bobs[0], "t1");
  assert.equal(await isSettled(ada), false);
  await given(plane, heartbeat("ada"), createTask("t2"));
  assert.equal(await ada, "t2");
  assert.equal(await isSettled(Promise.resolve(bobs[1])), false);
});

test("an agent that beats again is given what it could not have before", async () => {
  await using opened = await openPlane();
  const { plane, clock } = opened;
  await given(plane, register("ada", { ttlMs: 1_000 }));
  const ada = claims(plane, "ada");
  clock.leap(1_500);
  plane.tick();
  await given(plane, createTask("t"));
  assert.equal(await isSettled(ada), false);
  await given(plane, heartbeat("ada"));
  assert.equal(await ada, "t");
});

test("an agent that dies while it waits is told, on every call of its own and on no other", async () => {
  await using opened = await openPlane();
  const { plane, clock } = opened;
  await given(plane, register("ada", { ttlMs: 1_000 }), register("bob", { ttlMs: 600_000 }));
  const adas = [refusedClaim(plane, "ada"), refusedClaim(plane, "ada")];
  const bob = claims(plane, "bob");
  clock.leap(2_500);
  plane.tick();
  assert.deepEqual(
    (await Promise.all(adas)).map((refusal) => refusal?.code),
    ["agent_dead", "agent_dead"],
  );
  assert.equal(await isSettled(bob), false);
});

test("who is unknown or dead does not wait", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  assert.equal((await refusedClaim(plane, "nobody"))?.code, "agent_not_found");
  await given(plane, register("ada"), deregister("ada"));
  assert.equal((await refusedClaim(plane, "ada"))?.code, "agent_dead");
});

test("a claim is answered only when it is durable", async () => {
  const log = new HeldLog();
  await using opened = await openPlane({ log });
  const { plane } = opened;
  await given(plane, register("ada"), register("bob"));
  const waiting = claims(plane, "ada");
  log.hold();
  const created = plane.submit(createTask("t"), me, nothing);
  const dead = refusedClaim(plane, "bob");
  const gone = plane.submit(deregister("bob"), me, nothing);
  for (const answer of [waiting, created, dead, gone]) {
    assert.equal(await isSettled(answer), false);
  }
  assert.equal(log.held[0]?.length, 3, "created, claimed, died: one append");
  await log.letAllThrough();
  assert.equal(await waiting, "t");
  assert.equal((await dead)?.code, "agent_dead");
});

test("when the plane closes, waiting claims are told", async () => {
  const { plane } = await openPlane();
  await given(plane, register("ada"));
  const waiting = refusedClaim(plane, "ada");
  await turns();
  await plane[Symbol.asyncDispose]();
  assert.equal((await waiting)?.code, "unavailable");
  assert.equal((await refusedClaim(plane, "ada"))?.code, "unavailable");
});

test("there is a bound on waiting claims, and it is told", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  await given(plane, register("ada"));
  const waiting = Array.from({ length: limits.waitingMax }, () =>
    plane.wait(claim("ada"), me, nothing, { signal: new AbortController().signal }),
  );
  assert.equal((await refusedClaim(plane, "ada"))?.code, "limit_reached");
  await given(plane, createTask("t"));
  assert.equal((await waiting[0])?.refusal, undefined);
  const again = refusedClaim(plane, "ada");
  assert.equal(await isSettled(again), false, "one place is free");
});

test("a caller that cannot make sense of its answer harms nobody who waits", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  await given(plane, register("ada"));
  const waiting = claims(plane, "ada");
  const confused = (): never => {
    throw new Error("we were wrong");
  };
  // Whether it is told at once or by its promise is all the same here.
  await assert.rejects(async () => plane.submit(createTask("t"), me, confused), /we were wrong/);
  assert.equal(await isSettled(waiting), true, "there is a task, and it was not asked");
  assert.equal(await waiting, "t");
});

test("one that waits and cannot make sense of its answer harms nobody else", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  await given(plane, register("ada"), register("bob"));
  const confused = (): never => {
    throw new Error("we were wrong");
  };
  const broken = plane.wait(claim("ada"), me, confused, { signal: forever });
  const told = assert.rejects(broken, /we were wrong/);
  const waiting = claims(plane, "bob");
  await given(plane, createTask("t1"), createTask("t2"));
  assert.equal(await isSettled(waiting), true);
  assert.equal(await waiting, "t2");
  assert.equal(await isSettled(told), true, "it hears of its own mistake");
});

test("a completed task goes to nobody", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  await given(plane, register("ada"), createTask("t"));
  await claims(plane, "ada");
  const waiting = claims(plane, "ada");
  await given(plane, complete("t", "ada"));
  assert.equal(await isSettled(waiting), false);
});

/** Carries out commands that must be accepted. */
async function given(plane: Plane, ...commands: Parameters<Plane["submit"]>[0][]): Promise<void> {
  for (const command of commands) {
    const { refusal } = await plane.submit(command, me, nothing);
    assert.equal(refusal, undefined);
  }
}

const forever = new AbortController().signal;

/** The id of the task that the agent gets. */
async function claims(plane: Plane, name: string, signal = forever): Promise<string | undefined> {
  const outcome = await plane.wait(
    claim(name),
    me,
    (_, events) => events.flatMap((event) => ("task" in event ? [event.task.id] : []))[0],
    { signal },
  );
  assert.equal(outcome.refusal, undefined);
  return outcome.value;
}

async function refusedClaim(plane: Plane, name: string): Promise<Refusal | undefined> {
  const outcome = await plane.wait(claim(name), me, nothing, { signal: forever });
  return outcome.refusal;
}
