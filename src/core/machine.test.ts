import assert from "node:assert/strict";
import { test } from "node:test";
import { BareLoop, types } from "../testing/bare-loop.ts";
import {
  acquire,
  campaign,
  cancel,
  claim,
  complete,
  createTask,
  deregister,
  heartbeat,
  register,
  release,
  renew,
  requeue,
  resign,
  setPolicy,
  withdraw,
} from "../testing/commands.ts";
import { check } from "./entitlements.ts";
import type { Event } from "./events.ts";
import { agentId, taskId } from "./ids.ts";
import { type Command, countAgents, countTasks, nextDueAtMs, overdue, stirOf } from "./machine.ts";

const open: Command = { type: "plane.open", wallMicros: 0, isKept: true };

test("a death frees leases, then offices, then tasks, each in its own order", () => {
  const loop = new BareLoop();
  loop.accept(register("ada"));
  loop.accept(register("bob"));
  for (const task of ["zulu", "alpha", "mike"]) loop.accept(acquire(task, "ada"));
  loop.accept(acquire("bobs", "bob"));
  loop.accept(release("zulu", "ada", 1n));
  loop.accept(acquire("zulu", "ada"));
  for (const group of ["night", "early"]) loop.accept(campaign(group, "ada"));
  loop.accept(campaign("night", "bob"));
  for (const task of ["t1", "t2"]) loop.accept(createTask(task));
  for (const _ of ["t1", "t2"]) loop.accept(claim("ada"));

  const events = loop.accept(deregister("ada"));
  assert.deepEqual(events.map(inShort), [
    "agent.died ada",
    "lease.released alpha 2",
    "lease.released mike 3",
    "lease.released zulu 5",
    "election.left early",
    "leader.changed early nobody 2",
    "election.left night",
    "leader.changed night bob 2",
    "task.requeued t1",
    "task.requeued t2",
  ]);
  assert.deepEqual([...loop.state.leases.held.keys()], ["bobs"]);
  assert.equal(loop.refusal(acquire("alpha", "bob")), undefined, "what it held is free at once");
});

test("a dead agent can do nothing, and leaving twice is no mistake", () => {
  const loop = new BareLoop();
  loop.accept(register("ada"));
  loop.accept(deregister("ada"));
  assert.deepEqual(loop.accept(deregister("ada")), []);
  for (const command of [
    heartbeat("ada"),
    acquire("t", "ada"),
    campaign("g", "ada"),
    claim("ada"),
  ]) {
    assert.equal(loop.refusal(command), "agent_dead", command.type);
  }
});

test("an unknown agent can do nothing", () => {
  const loop = new BareLoop();
  for (const command of [
    heartbeat("ada"),
    deregister("ada"),
    acquire("t", "ada"),
    campaign("g", "ada"),
    claim("ada"),
  ]) {
    assert.equal(loop.refusal(command), "agent_not_found", command.type);
  }
  assert.equal(loop.events.length, 0);
});

test("who is silent goes unreachable, then dies, each at its time", () => {
  const loop = new BareLoop();
  loop.accept(register("ada", { ttlMs: 1_000 }));
  assert.deepEqual(loop.pass(10_000), [
    { atMs: 1_500, type: "agent.unreachable" },
    { atMs: 2_500, type: "agent.died" },
  ]);
});

test("with a ttl of one second, a beat each second never flaps", () => {
  const loop = new BareLoop();
  loop.accept(register("ada", { ttlMs: 1_000 }));
  for (let atMs = 1_000; atMs <= 60_000; atMs += 1_000) {
    assert.deepEqual(loop.pass(atMs + 100), []);
    loop.accept(heartbeat("ada"));
  }
});

test("an unreachable agent keeps its leases and offices, may acquire, and recovers with a beat", () => {
  const loop = new BareLoop();
  loop.accept(register("ada", { ttlMs: 10_000 }));
  loop.accept(acquire("t", "ada"));
  loop.accept(campaign("g", "ada"));
  loop.pass(11_000);
  assert.equal(loop.state.registry.agents.get(agentId("ada"))?.liveness, "unreachable");
  assert.equal(loop.state.leases.held.size, 1);
  assert.equal(loop.refusal(acquire("u", "ada")), undefined);
  assert.deepEqual(types(loop.accept(heartbeat("ada"))), ["agent.recovered"]);
  assert.deepEqual(loop.pass(21_499), []);
  assert.deepEqual(types(loop.at(21_500)), ["agent.unreachable"]);
});

test("only a beat keeps an agent alive, nothing else that it does", () => {
  const loop = new BareLoop();
  loop.accept(register("ada", { ttlMs: 10_000 }));
  loop.pass(9_000);
  loop.accept(acquire("t", "ada"));
  loop.accept(campaign("g", "ada"));
  assert.deepEqual(types(loop.at(10_500)), ["agent.unreachable"]);
});

test("an agent whose both deadlines passed unseen goes unreachable first, then dies", () => {
  const loop = new BareLoop();
  loop.accept(register("ada", { ttlMs: 1_000 }));
  assert.deepEqual(types(loop.at(100_000)), ["agent.unreachable", "agent.died"]);
});

test("an unreachable agent gets no task until it is heard of again", () => {
  const loop = new BareLoop();
  loop.accept(register("ada", { ttlMs: 1_000 }));
  loop.accept(createTask("t"));
  loop.at(2_000);
  assert.equal(loop.refusal(claim("ada")), "no_task");
  loop.accept(heartbeat("ada"));
  assert.deepEqual(types(loop.accept(claim("ada"))), ["task.claimed"]);
});

for (const { ttlMs, deadAfterMs } of [
  { ttlMs: 1_000, deadAfterMs: 150_000 },
  { ttlMs: 30_000, deadAfterMs: 150_000 },
  { ttlMs: 74_750, deadAfterMs: 150_000 },
  { ttlMs: 100_000, deadAfterMs: 200_500 },
]) {
  for (const again of [open, { type: "plane.resume" }] as const) {
    test(`after ${again.type}, an agent with ttl ${ttlMs} ms is missed and dies in its time`, () => {
      const loop = new BareLoop();
      loop.accept(register("ada", { ttlMs }));
      // The plane was away for an hour, in which nothing was looked at.
      loop.nowMs = 3_600_000;
      loop.decide(again);
      assert.deepEqual(loop.pass(10_000_000), [
        { atMs: 3_600_000 + ttlMs + 500, type: "agent.unreachable" },
        { atMs: 3_600_000 + deadAfterMs, type: "agent.died" },
      ]);
    });
  }
}

test("an agent that was unreachable when the plane went away still has its grace", () => {
  const loop = new BareLoop();
  loop.accept(register("ada", { ttlMs: 1_000 }));
  loop.pass(2_000);
  loop.nowMs = 3_600_000;
  loop.decide(open);
  assert.deepEqual(loop.pass(10_000_000), [{ atMs: 3_750_000, type: "agent.died" }]);
});

test("an agent that beats again after a restart is judged by its beats from then on", () => {
  const loop = new BareLoop();
  loop.accept(register("ada", { ttlMs: 1_000 }));
  loop.nowMs = 3_600_000;
  loop.decide(open);
  loop.nowMs = 3_600_700;
  loop.accept(heartbeat("ada"));
  assert.deepEqual(loop.pass(10_000_000), [
    { atMs: 3_602_200, type: "agent.unreachable" },
    { atMs: 3_603_200, type: "agent.died" },
  ]);
});

test("leases and claims that ran out while the plane was away end at once, with no grace", () => {
  const loop = new BareLoop();
  loop.accept(register("ada"));
  loop.accept(createTask("t", { claimMs: 50_000 }));
  loop.accept(acquire("lease", "ada", 40_000));
  loop.accept(claim("ada"));
  loop.nowMs = 3_600_000;
  loop.decide(open);
  assert.deepEqual(types(loop.at(3_600_000)), ["lease.expired", "task.requeued"]);
});

test("what is most overdue ends first", () => {
  const loop = new BareLoop();
  loop.accept(register("ada", { ttlMs: 5_000 }));
  loop.accept(createTask("t", { claimMs: 4_000 }));
  loop.accept(claim("ada"));
  loop.accept(acquire("late", "ada", 6_000));
  loop.accept(acquire("soon", "ada", 3_000));
  assert.deepEqual(loop.at(7_000).map(inShort), [
    "lease.expired soon 2",
    "task.requeued t",
    "agent.unreachable ada",
    "lease.expired late 1",
  ]);
});

test("a lease ends when its time has come, not a millisecond sooner", () => {
  const loop = new BareLoop();
  loop.accept(register("ada", { ttlMs: 600_000 }));
  loop.accept(acquire("t", "ada", 60_000));
  assert.deepEqual(loop.at(59_999), []);
  assert.equal(loop.refusal(renew("t", "ada", 1n)), undefined);
  assert.deepEqual(loop.at(119_998), []);
  assert.deepEqual(types(loop.at(119_999)), ["lease.expired"]);
  assert.equal(loop.refusal(renew("t", "ada", 1n)), "lease_not_found");
});

test("a ttl of 2^32 - 1 seconds is like any other", () => {
  const ttlMs = 4_294_967_295_000;
  const loop = new BareLoop();
  loop.accept(register("ada", { ttlMs }));
  loop.accept(acquire("t", "ada", ttlMs));
  assert.deepEqual(loop.at(ttlMs - 1), []);
  assert.deepEqual(types(loop.at(ttlMs)), ["lease.expired"]);
  assert.deepEqual(types(loop.at(ttlMs + 500)), ["agent.unreachable"]);
  assert.deepEqual(types(loop.at(2 * ttlMs + 499)), []);
  assert.deepEqual(types(loop.at(2 * ttlMs + 500)), ["agent.died"]);
});

test("the dead and the ended are forgotten after a day, and nothing is due then", () => {
  const dayMs = 86_400_000;
  const loop = new BareLoop();
  loop.accept(register("ada"));
  loop.accept(createTask("t"));
  loop.accept(claim("ada"));
  loop.accept(complete("t", "ada"));
  loop.accept(deregister("ada"));
  assert.deepEqual(loop.at(dayMs - 1), []);
  assert.deepEqual(types(loop.at(dayMs)), ["task.forgotten", "agent.forgotten"]);
  assert.equal(nextDueAtMs(loop.state), Number.POSITIVE_INFINITY);
  assert.equal(loop.refusal(deregister("ada")), "agent_not_found");
});

test("looking for what is overdue changes no fact", () => {
  const loop = new BareLoop();
  loop.accept(register("ada", { ttlMs: 1_000 }));
  loop.nowMs = 1_400;
  loop.accept(heartbeat("ada"));
  assert.equal(nextDueAtMs(loop.state), 1_500, "where it was filed");
  assert.equal(overdue(loop.state, 1_600), undefined);
  assert.equal(nextDueAtMs(loop.state), 2_900, "where it is filed now");
  assert.equal(loop.events.length, 1);
});

test("tokens start above the wall clock in microseconds, and never below what was given", () => {
  const loop = new BareLoop();
  loop.decide({ type: "plane.open", wallMicros: 1_000, isKept: true });
  loop.accept(register("ada"));
  loop.accept(acquire("t", "ada"));
  assert.equal(loop.state.leases.lastToken, 1_001n);
  loop.decide({ type: "plane.open", wallMicros: 500, isKept: true });
  loop.accept(acquire("u", "ada"));
  assert.equal(loop.state.leases.lastToken, 1_002n);
  loop.decide({ type: "plane.open", wallMicros: 1_700_000_000_000_000, isKept: true });
  loop.accept(acquire("v", "ada"));
  assert.equal(loop.state.leases.held.get(taskId("v"))?.token, 1_700_000_000_000_001n);
});

test("the bus sequence goes on where the log is kept, and starts at the wall clock where not", () => {
  const loop = new BareLoop();
  loop.decide({ type: "plane.open", wallMicros: 1_000, isKept: true });
  loop.accept(register("ada"));
  assert.equal(loop.state.lastBusSequence, 1);
  loop.decide({ type: "plane.open", wallMicros: 1_000, isKept: true });
  assert.equal(loop.state.lastBusSequence, 1);
  loop.decide({ type: "plane.open", wallMicros: 1_000, isKept: false });
  assert.equal(loop.state.lastBusSequence, 1_000);
});

test("the bus counts what is published and nothing else", () => {
  const loop = new BareLoop();
  loop.accept(register("ada"));
  assert.equal(loop.state.lastBusSequence, 1);
  loop.accept(heartbeat("ada"));
  assert.equal(loop.state.lastBusSequence, 1);
  loop.accept(campaign("g", "ada"));
  assert.equal(loop.state.lastBusSequence, 2, "the candidacy is not published, the change is");
  loop.accept(resign("g", "ada"));
  assert.equal(loop.state.lastBusSequence, 3);
  assert.equal([...loop.state.elections.groups.values()][0]?.busSequence, 3);
});

test("a refused command leaves no trace", () => {
  const loop = new BareLoop();
  loop.accept(register("ada"));
  loop.accept(register("bob"));
  loop.accept(acquire("t", "ada"));
  loop.accept(setPolicy("p", "allow", "* * *"));
  const before = loop.events.length;
  assert.equal(loop.refusal(acquire("t", "bob")), "lease_held");
  assert.equal(loop.refusal(release("t", "bob", 1n)), "token_mismatch");
  assert.equal(loop.refusal(claim("bob")), "no_task");
  assert.equal(loop.events.length, before);
  assert.equal(loop.state.leases.lastToken, 1n);
  const asked = { subject: "a", action: "b", resource: "c" };
  assert.equal(check(loop.state.entitlements, asked).allowed, true);
});

test("a claim with the key of a claim that one has changes nothing, also for who is unreachable", () => {
  const loop = new BareLoop();
  loop.accept(register("ada", { ttlMs: 1_000 }));
  for (const task of ["t", "u"]) loop.accept(createTask(task));
  assert.deepEqual(types(loop.accept(claim("ada", { key: "k" }))), ["task.claimed"]);
  assert.deepEqual(loop.accept(claim("ada", { key: "k" })), []);
  loop.at(1_500);
  assert.deepEqual(loop.accept(claim("ada", { key: "k" })), []);
  assert.equal(loop.refusal(claim("ada", { key: "other" })), "no_task");
  loop.accept(deregister("ada"));
  assert.equal(loop.refusal(claim("ada", { key: "k" })), "agent_dead");
});

test("a key that is withdrawn gives back all that was granted under it, and nothing else", () => {
  const loop = new BareLoop();
  for (const command of [
    register("ada"),
    register("bob"),
    acquire("z", "ada", 60_000, "k"),
    acquire("a", "ada", 60_000, "k"),
    acquire("other", "ada", 60_000, "k2"),
    acquire("bobs", "bob", 60_000, "k"),
    ...["first", "second", "third"].map((id) => createTask(id)),
    claim("ada", { key: "k" }),
    claim("ada"),
    claim("bob", { key: "k" }),
  ]) {
    loop.accept(command);
  }
  const before = loop.state.tasks.byId.get(taskId("first"));
  const events = loop.accept(withdraw("ada", "k"));
  assert.deepEqual(types(events), ["lease.released", "lease.released", "task.requeued"]);
  assert.deepEqual([...loop.state.leases.held.keys()], ["other", "bobs"]);
  const after = loop.state.tasks.byId.get(taskId("first"));
  assert.equal(after?.state, "pending");
  assert.equal(after.place, before?.place, "at its old place");
  assert.equal(after.deliveriesForgiven, 1, "and it is no delivery");
  assert.equal(countTasks(loop.state).claimed, 2);
  assert.deepEqual(loop.accept(withdraw("ada", "k")), [], "twice is no mistake");
  assert.deepEqual(loop.accept(withdraw("nobody", "k")), []);
});

test("what falls due of a task: its readiness, its claim, its letter's end", () => {
  const loop = new BareLoop();
  loop.accept(register("ada", { ttlMs: 1_000_000 }));
  loop.accept(createTask("t", { delayMs: 1_000, claimMs: 2_000, deliveriesMax: 1 }));
  assert.deepEqual(loop.pass(1_000), [{ atMs: 1_000, type: "task.ready" }]);
  loop.accept(claim("ada"));
  assert.deepEqual(loop.pass(3_000), [{ atMs: 3_000, type: "task.dead" }]);
  loop.accept(requeue("t"));
  loop.accept(cancel("t"));
  const told = loop.pass(3_000 + 86_400_000).filter(({ type }) => type.startsWith("task."));
  assert.deepEqual(told, [{ atMs: 3_000 + 86_400_000, type: "task.forgotten" }]);
});

test("agents and tasks are counted without counting them", () => {
  const loop = new BareLoop();
  for (const name of ["ada", "bob", "eve"]) loop.accept(register(name, { ttlMs: 1_000 }));
  loop.accept(deregister("eve"));
  loop.at(1_500);
  loop.accept(heartbeat("ada"));
  loop.accept(createTask("t"));
  loop.accept(createTask("u", { delayMs: 5 }));
  assert.deepEqual(countAgents(loop.state), { alive: 1, unreachable: 1, dead: 1, left: 1 });
  const none = { claimed: 0, completed: 0, dead: 0, cancelled: 0 };
  const counts = countTasks(loop.state);
  assert.deepEqual(counts, { ...none, pending: 1, delayed: 1 });
  loop.accept(claim("ada"));
  assert.equal(counts.pending, 1, "what was counted does not change");
  loop.pass(90_000_000_000);
  assert.deepEqual(countAgents(loop.state), { alive: 0, unreachable: 0, dead: 0, left: 0 });
});

test("whoever waits asks again when a task, a lease or its own agent may be why", () => {
  const loop = new BareLoop();
  for (const name of ["ada", "bob"]) loop.accept(register(name, { ttlMs: 1_000 }));
  loop.accept(acquire("l1", "ada", 500));
  loop.accept(acquire("l2", "ada"));
  loop.accept(acquire("l3", "bob"));
  loop.accept(release("l3", "bob", 3n));
  loop.accept(createTask("later", { delayMs: 600 }));
  loop.accept(createTask("t"));
  loop.accept(claim("bob"));
  loop.pass(1_500);
  loop.accept(heartbeat("ada"));
  loop.accept(deregister("ada"));
  loop.accept(deregister("bob"));
  const stirring = loop.events.flatMap((event) => {
    const stir = stirOf(event);
    return stir ? [`${inShort(event)}: ${Object.values(stir).join(" ")}`] : [];
  });
  assert.deepEqual(stirring, [
    "lease.released l3 3: lease l3",
    "task.created t: tasks",
    "lease.expired l1 1: lease l1",
    "task.ready later: tasks",
    "agent.recovered ada: recovered ada",
    "agent.died ada: dead ada",
    "lease.released l2 2: lease l2",
    "agent.died bob: dead bob",
    "task.requeued t: tasks",
  ]);
});

function inShort(event: Event): string {
  if ("lease" in event) return `${event.type} ${event.lease.taskId} ${event.lease.token}`;
  if ("agent" in event) return `${event.type} ${event.agent.id}`;
  if ("task" in event) return `${event.type} ${event.task.id}`;
  if (event.type === "leader.changed") {
    return `${event.type} ${event.group} ${event.leader ?? "nobody"} ${event.term}`;
  }
  if ("group" in event) return `${event.type} ${event.group}`;
  return event.type;
}
