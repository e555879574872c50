import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BareLoop } from "../testing/bare-loop.ts";
import {
  acquire,
  campaign,
  cancel,
  claim,
  complete,
  createTask,
  deletePolicy,
  deregister,
  extend,
  fail,
  heartbeat,
  register,
  release,
  renew,
  requeue,
  resign,
  setPolicy,
  unclaim,
} from "../testing/commands.ts";
import { check } from "./entitlements.ts";
import { parseEvent, printEvent } from "./events.ts";
import {
  type Command,
  countAgents,
  countTasks,
  emptyState,
  evolve,
  type OwnState,
  type State,
} from "./machine.ts";
import { hasLeft } from "./registry.ts";
import { capture, describe, printRow, Restoring } from "./snapshot.ts";

/** One step of a random life: time passes, then something is asked. */
type Step = { readonly afterMs: number; readonly command: Command };

const steps: fc.Arbitrary<Step[]> = fc.array(step(), { minLength: 1, maxLength: 60 });

test("a state that was written down and read again is the same state", () => {
  fc.assert(
    fc.property(steps, (steps) => {
      const { state } = live(steps);
      assert.equal(describe(restore(state)), describe(state));
    }),
    { numRuns: 500 },
  );
});

test("a restored state is written down, row for row, as the first one was", () => {
  fc.assert(
    fc.property(steps, (steps) => {
      const { state } = live(steps);
      assert.deepEqual(rowsOf(restore(state)), rowsOf(state));
    }),
    { numRuns: 500 },
  );
});

test("a restored state decides everything that follows as the first one does", () => {
  fc.assert(
    fc.property(steps, steps, (before, after) => {
      const one = live(before);
      const other = new BareLoop(restore(one.state));
      other.nowMs = one.nowMs;
      const told = one.events.length;
      for (const step of after) {
        // Of two ends in one millisecond either may come first, and it matters to who is elected and
        // queued then: such a life has two true continuations, and is left out.
        const ended = go(one, step).filter(({ type }) => type !== "lease.expired");
        fc.pre(new Set(ended.map(({ atMs }) => atMs)).size === ended.length);
        go(other, step);
      }
      assert.deepEqual(byTime(other.events), byTime(one.events.slice(told)));
      assert.equal(describe(other.state), describe(one.state));
    }),
    { numRuns: 500 },
  );
});

test("the same events give the same state, however they were carried", () => {
  fc.assert(
    fc.property(steps, (steps) => {
      const { events, state } = live(steps);
      const folded = emptyState();
      for (const event of events) evolve(folded, parseEvent(event.type, printEvent(event)));
      assert.equal(describe(folded), describe(state));
    }),
    { numRuns: 500 },
  );
});

test("folding from any snapshot on equals folding from the start", () => {
  fc.assert(
    fc.property(steps, fc.nat(), (steps, cut) => {
      const { events, state } = live(steps);
      const at = cut % (events.length + 1);
      const early = emptyState();
      for (const event of events.slice(0, at)) evolve(early, event);
      const resumed = restore(early);
      for (const event of events.slice(at)) evolve(resumed, event);
      assert.equal(describe(resumed), describe(state));
    }),
    { numRuns: 500 },
  );
});

test("a captured state does not move when the state does", () => {
  fc.assert(
    fc.property(steps, steps, (before, after) => {
      const loop = live(before);
      const captured = capture(loop.state);
      const then = rowsOf(loop.state);
      for (const step of after) go(loop, step);
      assert.deepEqual(
        captured.flatMap((section) => section.rows.map((_, at) => printRow(section, at))),
        then.map((row) => row.slice(row.indexOf(" ") + 1)),
      );
    }),
    { numRuns: 100 },
  );
});

test("the last heartbeats are kept with a snapshot, but do not make states differ", () => {
  const loop = new BareLoop();
  loop.accept(register("a"));
  const before = describe(loop.state);
  loop.at(7_000);
  loop.accept(heartbeat("a"));
  assert.equal(describe(loop.state), before);
  assert.deepEqual([...restore(loop.state).registry.heartbeats], [["a", 7_000]]);
});

test("a restored state says who may do what, and takes policies back", () => {
  const loop = new BareLoop();
  loop.accept(setPolicy("p", "allow", "agent:* call tool:*"));
  loop.accept(setPolicy("q", "deny", "agent:a* call *"));
  const again = new BareLoop(restore(loop.state));
  const ask = (subject: string) => {
    const question = { subject, action: "call", resource: "tool:x" };
    return check(again.state.entitlements, question).decidedBy?.id;
  };
  assert.deepEqual(["agent:a", "agent:b", "b"].map(ask), ["q", "p", undefined]);
  again.accept(deletePolicy("q"));
  assert.equal(ask("agent:a"), "p");
});

test("the order in which the dead are forgotten survives", () => {
  const loop = new BareLoop();
  for (const name of ["a", "b", "c"]) loop.accept(register(name));
  for (const name of ["b", "c", "a"]) loop.accept(deregister(name));
  assert.deepEqual([...restore(loop.state).registry.dead], ["b", "c", "a"]);
});

test("the counters survive, also where nothing is left that was counted", () => {
  const loop = new BareLoop();
  loop.accept(register("a"));
  for (const task of ["t1", "t2"]) loop.accept(createTask(task));
  loop.accept(acquire("lease", "a"));
  for (const task of ["t1", "t2"]) {
    loop.accept(claim("a"));
    loop.accept(complete(task, "a"));
  }
  loop.accept(deregister("a"));
  loop.pass(90_000_000);
  const { tasks, leases, registry } = loop.state;
  assert.deepEqual([tasks.byId.size, leases.held.size, registry.agents.size], [0, 0, 0]);
  assert.equal(restore(loop.state).tasks.lastPlace, 2);
  assert.equal(restore(loop.state).leases.lastToken, 1n);
  assert.equal(describe(restore(loop.state)), describe(loop.state));
});

test("what is counted is right after a life and after a restoration", () => {
  fc.assert(
    fc.property(steps, (steps) => {
      const { state } = live(steps);
      const agents = { alive: 0, unreachable: 0, dead: 0, left: 0 };
      for (const agent of state.registry.agents.values()) {
        agents[agent.liveness] += 1;
        if (hasLeft(agent)) agents.left += 1;
      }
      const tasks = { delayed: 0, pending: 0, claimed: 0, completed: 0, dead: 0, cancelled: 0 };
      for (const task of state.tasks.byId.values()) tasks[task.state] += 1;
      for (const one of [state, restore(state)]) {
        assert.deepEqual(countAgents(one), agents);
        assert.deepEqual(countTasks(one), tasks);
      }
    }),
    { numRuns: 200 },
  );
});

test("a task that 0.1.0 wrote down has the defaults of what it did not know", () => {
  const old = `{"id":"t","type":"work","requiredTools":[],"maxRetries":0,"retryCount":0,"deliveries":2,
    "claimMs":60000,"createdAtMs":0,"failureReason":"","place":1,"state":"pending"}`;
  const restoring = new Restoring();
  restoring.add("task", old);
  const created = parseEvent("task.created", `{"task":${old},"input":""}`);
  assert(created.type === "task.created");
  for (const task of [created.task, ...restoring.state.tasks.byId.values()]) {
    const { priority, deliveriesMax, deliveriesForgiven, deliveries } = task;
    assert.deepEqual([priority, deliveriesMax, deliveriesForgiven, deliveries], [0, 0, 0, 2]);
  }
});

test("states that differ in one fact are described differently", () => {
  const one = live([{ afterMs: 0, command: register("a") }]);
  for (const command of [
    register("b"),
    acquire("t", "a"),
    campaign("g", "a"),
    setPolicy("p", "deny", "a b c"),
    createTask("t", { input: "x" }),
    deregister("a"),
  ]) {
    const other = live([
      { afterMs: 0, command: register("a") },
      { afterMs: 0, command },
    ]);
    assert.notEqual(describe(other.state), describe(one.state), command.type);
  }
});

function live(steps: readonly Step[]): BareLoop {
  const loop = new BareLoop();
  loop.decide({ type: "plane.open", wallMicros: 0, isKept: true });
  for (const step of steps) go(loop, step);
  return loop;
}

/** Answers what ended in the meantime. */
function go(loop: BareLoop, { afterMs, command }: Step): ReturnType<BareLoop["pass"]> {
  const ended = loop.pass(loop.nowMs + afterMs);
  loop.decide(command);
  return ended;
}

function restore(state: State): OwnState {
  const restoring = new Restoring();
  for (const section of capture(state)) {
    for (const at of section.rows.keys()) restoring.add(section.name, printRow(section, at));
  }
  return restoring.state;
}

function rowsOf(state: State): readonly string[] {
  return capture(state).flatMap((section) =>
    section.rows.map((_, at) => `${section.name} ${printRow(section, at)}`),
  );
}

/** Things that fall due in the same millisecond may end in either order: each is a fact of its own. */
function byTime(events: BareLoop["events"]): readonly string[] {
  return events.map((event) => `${event.type} ${printEvent(event)}`).sort();
}

function step(): fc.Arbitrary<Step> {
  const name = fc.constantFrom("a", "b", "c", "d");
  const task = fc.constantFrom("t1", "t2", "t3", "t4");
  const group = fc.constantFrom("g1", "g2");
  const presented = fc.bigInt({ min: 0n, max: 12n });
  const text = fc.constantFrom("", "x", "\u2028", "\ud800", "__proto__");
  const tools = fc.subarray(["sql", "http"]);
  const ttlMs = fc.constantFrom(500, 2_000, 60_000);
  const delayMs = fc.constantFrom(0, 1_000);
  const key = fc.constantFrom(undefined, "k1", "k2");
  const command: fc.Arbitrary<Command> = fc.oneof(
    fc
      .tuple(name, ttlMs, tools, fc.boolean())
      .map(([n, ttlMs, tools, reconnectsSoon]) => register(n, { ttlMs, tools, reconnectsSoon })),
    name.map(heartbeat),
    name.map(deregister),
    fc.tuple(task, name, ttlMs, key).map(([t, n, ms, key]) => acquire(t, n, ms, key)),
    fc.tuple(task, name, presented).map(([t, n, token]) => renew(t, n, token)),
    fc.tuple(task, name, presented).map(([t, n, token]) => release(t, n, token)),
    fc.tuple(group, name).map(([g, n]) => campaign(g, n)),
    fc.tuple(group, name).map(([g, n]) => resign(g, n)),
    fc.tuple(task, text).map(([id, s]) => setPolicy(id, "deny", `${s} b c`)),
    task.map(deletePolicy),
    fc
      .tuple(task, text, tools, fc.nat({ max: 1 }), fc.nat({ max: 2 }), delayMs)
      .map(([t, input, requiredTools, maxRetries, deliveriesMax, delayMs]) => {
        const asked = { input, requiredTools, maxRetries, deliveriesMax, delayMs };
        return createTask(t, { ...asked, priority: deliveriesMax - 1, claimMs: 3_000 });
      }),
    name.map((n) => claim(n)),
    fc.tuple(name, task).map(([n, key]) => claim(n, { types: ["work"], key })),
    fc
      .tuple(task, name, fc.integer({ min: 1, max: 2 }))
      .map(([t, n, token]) => unclaim(t, n, token)),
    fc.tuple(task, name).map(([t, n]) => extend(t, n)),
    fc.tuple(task, name, text).map(([t, n, output]) => complete(t, n, output)),
    fc
      .tuple(task, name, text, delayMs)
      .map(([t, n, reason, retryAfterMs]) => fail(t, n, reason, { retryAfterMs })),
    task.map(cancel),
    task.map(requeue),
    fc.constantFrom<Command[]>(
      { type: "plane.open", wallMicros: 3, isKept: true },
      { type: "plane.resume" },
    ),
  );
  const afterMs = fc.oneof({ weight: 20, arbitrary: fc.nat({ max: 3_000 }) }, fc.constant(90e6));
  return fc.record({ afterMs, command });
}
