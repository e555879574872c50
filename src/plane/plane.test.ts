import assert from "node:assert/strict";
import { test } from "node:test";
import { describe, type Event, type State } from "../core/index.ts";
import { LogError, MemoryLog } from "../log/index.ts";
import {
  acquire,
  campaign,
  claim,
  createTask,
  deregister,
  heartbeat,
  register,
  setPolicy,
} from "../testing/commands.ts";
import { HeldLog } from "../testing/held-log.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { SimulatedDisk } from "../testing/simulated-disk.ts";
import { SimulatedLog } from "../testing/simulated-log.ts";
import { isSettled, test as me, openPlane, turns } from "../testing/test-plane.ts";
import { limits } from "./limits.ts";
import type { Plane } from "./plane.ts";

const nothing = (): void => {};

test("a reply waits until what it tells is durable", async () => {
  const log = new HeldLog();
  await using opened = await openPlane({ log });
  log.hold();
  const reply = opened.plane.submit(register("ada"), me, (state) => state.registry.agents.size);
  assert.equal(await isSettled(reply), false);
  await log.letAllThrough();
  assert.deepEqual(await reply, { value: 1 });
});

test("what a caller sees is what was true when its command was decided", async () => {
  const log = new HeldLog();
  await using opened = await openPlane({ log });
  log.hold();
  const count = (state: State): number => state.registry.agents.size;
  const replies = ["a", "b", "c"].map((name) => opened.plane.submit(register(name), me, count));
  await log.letAllThrough();
  assert.deepEqual(await Promise.all(replies), [{ value: 1 }, { value: 2 }, { value: 3 }]);
});

test("a refusal, a read and a beat wait for what they may have seen", async () => {
  const log = new HeldLog();
  await using opened = await openPlane({ log });
  const { plane } = opened;
  for (const name of ["ada", "bob"]) await plane.submit(register(name), me, nothing);
  log.hold();
  const answers = [
    plane.submit(acquire("t", "ada"), me, nothing),
    plane.submit(acquire("t", "bob"), me, nothing),
    plane.read((state) => state.leases.held.size),
    plane.submit(heartbeat("ada"), me, nothing),
    plane.submit(claim("bob"), me, nothing),
  ];
  for (const answer of answers) assert.equal(await isSettled(answer), false);
  await log.letAllThrough();
  const [, refused, held] = await Promise.all(answers);
  assert.equal((refused as { refusal: { code: string } }).refusal.code, "lease_held");
  assert.equal(held, 1);
});

test("what is asked while an append is under way waits for the next one, if it changed or saw anything", async () => {
  const log = new HeldLog();
  await using opened = await openPlane({ log });
  const { plane } = opened;
  log.hold();
  const first = plane.submit(register("ada"), me, nothing);
  await turns();
  const second = plane.submit(register("bob"), me, nothing);
  const read = plane.read((state) => state.registry.agents.size);
  await log.letOneThrough();
  assert.equal(await isSettled(first), true);
  assert.equal(await isSettled(second), false);
  assert.equal(await isSettled(read), false, "it saw bob");
  await log.letAllThrough();
  assert.equal(await read, 2);
});

test("a plane at rest answers reads, beats and refusals without writing", async () => {
  const log = new HeldLog();
  await using opened = await openPlane({ log });
  const { plane } = opened;
  await plane.submit(register("ada"), me, nothing);
  const { appends } = log;
  assert.equal(await plane.read((state) => state.registry.agents.size), 1);
  assert.deepEqual(await plane.submit(heartbeat("ada"), me, nothing), { value: undefined });
  const refused = await plane.submit(heartbeat("nobody"), me, nothing);
  assert.equal(refused.refusal?.code, "agent_not_found");
  assert.equal(log.appends, appends);
});

test("nothing is shown to watchers before it is durable, nor what a view has already folded", async () => {
  const log = new HeldLog();
  const folded: Event[] = [];
  const view = { reset: nothing, apply: (event: Event): unknown => folded.push(event) };
  await using opened = await openPlane({ log, views: [view] });
  const { plane } = opened;
  folded.length = 0;
  using watch = plane.watch();
  const next = watch.next();
  log.hold();
  const reply = plane.submit(register("ada"), me, nothing);
  const looked = plane.read(() => folded.map(({ type }) => type));
  assert.equal(await isSettled(next), false);
  assert.equal(await isSettled(looked), false);
  assert.equal(plane.durableSequence, plane.lastSequence - 1);
  await log.letAllThrough();
  await reply;
  assert.equal((await next).entries?.[0]?.event.type, "agent.registered");
  assert.deepEqual(await looked, ["agent.registered"]);
  assert.equal(plane.durableSequence, plane.lastSequence);
});

test("views fold first, then watchers hear, then the caller is answered", async () => {
  const order: string[] = [];
  const view = { reset: nothing, apply: (): unknown => order.push("view") };
  await using opened = await openPlane({ views: [view] });
  const { plane } = opened;
  order.length = 0;
  using watch = plane.watch();
  const heard = watch.next().then(() => order.push("watcher"));
  await turns();
  const answered = plane.submit(register("ada"), me, nothing).then(() => order.push("caller"));
  await Promise.all([heard, answered]);
  assert.deepEqual(order, ["view", "watcher", "caller"]);
});

test("the commands of one turn share one append, in their order", async () => {
  const log = new HeldLog();
  await using opened = await openPlane({ log });
  const { plane } = opened;
  const before = log.appends;
  const answered: number[] = [];
  const replies = Array.from({ length: 50 }, (_, index) =>
    plane.submit(register(`agent-${index}`), me, nothing).then(() => answered.push(index)),
  );
  await Promise.all(replies);
  assert.equal(log.appends, before + 1);
  assert.deepEqual(
    answered,
    Array.from({ length: 50 }, (_, index) => index),
  );
});

test("what comes while an append is under way shares the next one", async () => {
  const log = new HeldLog();
  await using opened = await openPlane({ log });
  const { plane } = opened;
  log.hold();
  const replies = [plane.submit(register("a"), me, nothing)];
  await turns();
  for (const name of ["b", "c", "d"]) {
    replies.push(plane.submit(register(name), me, nothing));
    await turns();
  }
  assert.deepEqual(
    log.held.map((entries) => entries.length),
    [1],
    "only one append at a time",
  );
  await log.letOneThrough();
  await turns();
  assert.deepEqual(
    log.held.map((entries) => entries.length),
    [3],
  );
  await log.letAllThrough();
  await Promise.all(replies);
});

test("a caller is stored with what it caused, and the plane with what it did itself", async () => {
  const log = new MemoryLog();
  await using opened = await openPlane({ log });
  const { plane, clock } = opened;
  await plane.submit(register("ada"), { actor: "someone" }, nothing);
  await plane.submit(acquire("t", "ada", 1_000), { actor: "another" }, nothing);
  clock.leap(1_000);
  plane.tick();
  await plane.settled();
  const actors = (await log.read(0, 10)).map(({ event, actor }) => `${event.type} by ${actor}`);
  assert.deepEqual(actors, [
    "plane.opened by system",
    "agent.registered by someone",
    "lease.acquired by another",
    "lease.expired by system",
  ]);
});

test("a plane whose log fails stops: it says so once, and acknowledges nothing", async () => {
  const log = new HeldLog();
  await using opened = await openPlane({ log });
  const { plane, faults } = opened;
  using watch = plane.watch();
  const next = watch.next();
  log.hold();
  const first = plane.submit(register("ada"), me, nothing);
  const read = plane.read((state) => state.registry.agents.size);
  await turns();
  const second = plane.submit(register("bob"), me, nothing);
  const cause = new LogError("cannot_write", "the disk is full");
  log.failOne(cause);
  for (const promise of [first, read, second, next]) assert.equal(await isSettled(promise), false);
  assert.deepEqual(faults, [cause]);
  assert.equal(log.held.length, 0, "it does not try again");
  const late = await plane.submit(register("cyd"), me, nothing);
  assert.equal(late.refusal?.code, "unavailable");
  const lateRead = plane.read((state) => state.registry.agents.size);
  assert.equal(await isSettled(lateRead), false, "it would show what may be lost");
});

test("a plane that stopped can be closed: who watches or waits is told", async () => {
  const log = new HeldLog();
  const { plane } = await openPlane({ log });
  await plane.submit(register("ada"), me, nothing);
  const watching = plane.watch().next();
  const { signal } = new AbortController();
  const waiting = plane.wait(claim("ada"), me, nothing, { signal });
  log.hold();
  plane.submit(register("bob"), me, nothing).catch(nothing);
  await turns();
  log.failOne(new LogError("cannot_write", "the disk is full"));
  await turns();
  await plane[Symbol.asyncDispose]();
  assert.equal(await isSettled(Promise.all([watching, waiting])), true);
  assert.deepEqual(await watching, { end: { code: "unavailable" } });
  assert.equal((await waiting).refusal?.code, "unavailable");
});

test("a plane whose log failed does not claim that all is durable", async () => {
  const log = new HeldLog();
  await using opened = await openPlane({ log });
  log.hold();
  opened.plane.submit(register("ada"), me, nothing).catch(nothing);
  const claimed: string[] = [];
  opened.plane.settled().then(
    () => claimed.push("durable"),
    () => {},
  );
  await turns();
  log.failOne(new LogError("cannot_write", "the disk is full"));
  await turns();
  assert.deepEqual(claimed, []);
});

test("of a decision that we could not carry out, nothing is in the log", async () => {
  const log = new MemoryLog();
  await using opened = await openPlane({ log });
  const { plane, faults } = opened;
  // Something that can be written down twice, when it is created and claimed, but not a third time.
  let prints = 0;
  const toJSON = (): unknown => {
    prints += 1;
    if (prints === 3) throw new Error("we were wrong");
    return [];
  };
  const requiredTools: readonly string[] = Object.assign([], { toJSON });
  await plane.submit(register("ada"), me, nothing);
  await plane.submit(acquire("t", "ada"), me, nothing);
  await plane.submit(createTask("task", { requiredTools }), me, nothing);
  await plane.submit(claim("ada"), me, nothing);
  const before = log.lastSequence;
  assert.throws(() => plane.submit(deregister("ada"), me, nothing), /we were wrong/);
  await turns();
  assert.equal(faults.length, 1);
  const torn = (await log.read(before, 10)).map(({ event }) => event.type);
  assert.deepEqual(torn, [], "a death without all that it entails");
});

test("a plane that cannot record that it was opened does not open", async () => {
  const log = new HeldLog();
  log.hold();
  const opening = openPlane({ log });
  await turns();
  log.failOne(new LogError("cannot_write", "the disk is full"));
  await assert.rejects(opening, { code: "cannot_write" });
});

test("what is overdue ends before the next command is decided", async () => {
  await using opened = await openPlane();
  const { plane, clock } = opened;
  for (const name of ["ada", "bob"]) await plane.submit(register(name), me, nothing);
  await plane.submit(acquire("t", "ada", 1_000), me, nothing);
  clock.leap(999);
  assert.equal((await plane.submit(acquire("t", "bob"), me, nothing)).refusal?.code, "lease_held");
  clock.leap(1);
  const acquired = await plane.submit(acquire("t", "bob"), me, (_, events) => events.length);
  assert.deepEqual(acquired, { value: 1 }, "the expiry is not among the caller's own events");
});

test("a look that comes much too late is a plane that was away: nobody dies of it", async () => {
  const log = new MemoryLog();
  await using opened = await openPlane({ log });
  const { plane, clock } = opened;
  await plane.submit(register("ada", { ttlMs: 1_000 }), me, nothing);
  await plane.submit(acquire("t", "ada", 60_000), me, nothing);
  clock.leap(3_600_000);
  plane.tick();
  await plane.settled();
  const since = (await log.read(3, 10)).map(({ event }) => event.type);
  assert.deepEqual(since, ["plane.resumed", "lease.expired"]);
  clock.leap(1_500);
  plane.tick();
  assert.equal(await livenessOf(plane, "ada"), "unreachable");
  await pass(opened, 148_400);
  assert.equal(await livenessOf(plane, "ada"), "unreachable");
  await pass(opened, 100);
  assert.equal(await livenessOf(plane, "ada"), "dead");
});

test("a look that is five seconds late is just late", async () => {
  const log = new MemoryLog();
  await using opened = await openPlane({ log });
  const { plane, clock } = opened;
  await plane.submit(register("ada", { ttlMs: 1_000 }), me, nothing);
  clock.leap(5_000);
  plane.tick();
  await plane.settled();
  const since = (await log.read(2, 10)).map(({ event }) => event.type);
  assert.deepEqual(since, ["agent.unreachable", "agent.died"]);
});

test("a command notices that the plane was away, just as a look does", async () => {
  const log = new MemoryLog();
  await using opened = await openPlane({ log });
  await opened.plane.submit(register("ada", { ttlMs: 1_000 }), me, nothing);
  opened.clock.leap(5_001);
  const beat = await opened.plane.submit(heartbeat("ada"), me, nothing);
  assert.equal(beat.refusal, undefined);
  assert.deepEqual(
    (await log.read(2, 10)).map(({ event }) => event.type),
    ["plane.resumed"],
  );
});

test("what a start left to verify is verified with pauses, and damage is told once", async () => {
  const checks = [{ isDone: false }, { isDone: false, problem: "an index" }, { isDone: true }];
  const log = Object.assign(new MemoryLog(), {
    checkMore: () => checks.shift() ?? assert.fail("all is verified"),
  });
  const problems: string[] = [];
  const onDamage = (problem: string): void => {
    problems.push(problem);
  };
  await using opened = await openPlane({ log, onDamage });
  assert.equal(checks.length, 2);
  for (const [ms, left] of [
    [limits.checkPauseMs - 1, 2],
    [1, 1],
    [limits.checkPauseMs, 0],
    [3_600, 0],
  ] as const) {
    opened.clock.leap(ms);
    opened.plane.tick();
    await opened.plane.settled();
    assert.equal(checks.length, left);
  }
  assert.deepEqual(problems, ["an index"]);
});

test("time does not go back, whatever the clock says", async () => {
  let nowMs = 1_000_000;
  const clock = Object.assign(new ManualClock(), { nowMs: () => nowMs });
  const log = new MemoryLog();
  await using opened = await openPlane({ log, clock });
  await opened.plane.submit(register("ada"), me, nothing);
  nowMs = 400_000;
  await opened.plane.submit(register("bob"), me, nothing);
  nowMs = 1_000_001;
  await opened.plane.submit(register("cyd"), me, nothing);
  assert.deepEqual(
    (await log.read(0, 10)).map(({ atMs }) => atMs),
    [1_000_000, 1_000_000, 1_000_000, 1_000_001],
  );
});

test("a log from a machine whose clock was ahead is continued in its own time", async () => {
  const disk = new SimulatedDisk();
  {
    await using ahead = await openPlane({
      log: SimulatedLog.open({ disk }),
      clock: new ManualClock(2_000_000),
    });
    await ahead.plane.submit(register("ada", { ttlMs: 1_000 }), me, nothing);
  }
  const log = SimulatedLog.open({ disk });
  await using opened = await openPlane({ log, clock: new ManualClock(1_000_000) });
  const { plane, clock } = opened;
  await plane.submit(register("bob", { ttlMs: 1_000 }), me, nothing);
  await plane.submit(acquire("t", "bob", 700), me, nothing);
  const dueInMs = plane.nextDueAtMs() - clock.nowMs();
  assert(dueInMs >= 699 && dueInMs <= 701, `the next deadline is in ${dueInMs} ms`);
  const times = (await log.read(0, 10)).map(({ atMs }) => atMs);
  assert.deepEqual(
    times,
    times.toSorted((one, other) => one - other),
  );
  assert((times.at(-1) ?? 0) >= 2_000_000);
});

test("an agent that made the last entry of such a log still gets its grace", async () => {
  const disk = new SimulatedDisk();
  {
    await using ahead = await openPlane({
      log: SimulatedLog.open({ disk }),
      clock: new ManualClock(2_000_000),
    });
    await ahead.plane.submit(register("ada", { ttlMs: 1_000 }), me, nothing);
  }
  const log = SimulatedLog.open({ disk });
  await using opened = await openPlane({ log, clock: new ManualClock(1_000_000) });
  await pass(opened, 140_000);
  assert.equal(await livenessOf(opened.plane, "ada"), "unreachable");
});

test("a restart keeps every fact, and tokens and bus go on", async () => {
  const disk = new SimulatedDisk();
  const clock = new ManualClock();
  let before = "";
  let bus = 0;
  {
    await using opened = await openPlane({ log: SimulatedLog.open({ disk }), clock });
    const { plane } = opened;
    for (const command of [
      register("ada"),
      acquire("t", "ada"),
      campaign("g", "ada"),
      setPolicy("p", "allow", "a b c"),
      createTask("task", { input: "aW4=" }),
      claim("ada"),
    ]) {
      await plane.submit(command, me, nothing);
    }
    before = await plane.read(describe);
    bus = await plane.read((state) => state.lastBusSequence);
  }
  await using opened = await openPlane({ log: SimulatedLog.open({ disk }), clock });
  const after = await opened.plane.read(describe);
  const facts = (text: string): readonly string[] =>
    text.split("\n").filter((line) => !line.startsWith("counters"));
  assert.deepEqual(facts(after), facts(before));
  assert.equal(await opened.plane.read((state) => state.lastBusSequence), bus);
  const tokenOf = (state: State): bigint => state.leases.lastToken;
  const first = BigInt(/"token":"(\d+)"/.exec(before)?.[1] ?? 0);
  const { value } = await opened.plane.submit(acquire("u", "ada"), me, tokenOf);
  assert(value !== undefined && value > first);
});

test("a plane does not open on a log of which something is missing or damaged", async () => {
  class Holed extends MemoryLog {
    override get oldestSequence(): number {
      return 2;
    }
  }
  const holed = new Holed();
  {
    const whole = new MemoryLog();
    await using opened = await openPlane({ log: whole });
    await opened.plane.submit(register("ada"), me, nothing);
    await holed.append(await whole.read(0, 10), 0);
  }
  await assert.rejects(openPlane({ log: holed }), { code: "damaged", message: /entries 1 to 1/ });

  class Damaged extends MemoryLog {
    override async read(): Promise<never> {
      throw new LogError("damaged", "entry 1 of the log is damaged");
    }
  }
  const damaged = new Damaged();
  await damaged.append(await holed.read(1, 1), 0);
  await assert.rejects(openPlane({ log: damaged }), { code: "damaged" });
});

test("a view starts from the whole state", async () => {
  const disk = new SimulatedDisk();
  {
    await using opened = await openPlane({ log: SimulatedLog.open({ disk }) });
    await opened.plane.submit(register("ada"), me, nothing);
  }
  const seen: number[] = [];
  const view = {
    reset: (state: State): unknown => seen.push(state.registry.agents.size),
    apply: nothing,
  };
  await using _opened = await openPlane({ log: SimulatedLog.open({ disk }), views: [view] });
  assert.deepEqual(seen, [1]);
});

test("closing commits and answers what was decided, and refuses what comes", async () => {
  const log = new HeldLog();
  const opened = await openPlane({ log });
  const { plane } = opened;
  log.hold();
  const reply = plane.submit(register("ada"), me, (state) => state.registry.agents.size);
  const closing = plane[Symbol.asyncDispose]();
  const late = await plane.submit(register("bob"), me, nothing);
  assert.equal(late.refusal?.code, "unavailable");
  assert.equal(await isSettled(closing), false, "it waits for what is in flight");
  await turns();
  await log.letAllThrough();
  assert.deepEqual(await reply, { value: 1 });
  await closing;
  await plane[Symbol.asyncDispose]();
  assert.equal(log.lastSequence, 2);
  assert.equal(await plane.read((state) => state.registry.agents.size), 1);
});

test("whoever closes a plane that is closing waits as well", async () => {
  const log = new HeldLog();
  const { plane } = await openPlane({ log });
  log.hold();
  const reply = plane.submit(register("ada"), me, nothing);
  const first = plane[Symbol.asyncDispose]();
  const second = plane[Symbol.asyncDispose]();
  assert.equal(await isSettled(second), false);
  await log.letAllThrough();
  await Promise.all([reply, first, second]);
});

test("a plane is told how much each commit wrote", async () => {
  const commits: number[] = [];
  await using opened = await openPlane({ onCommit: ({ entries }) => commits.push(entries) });
  await Promise.all(["a", "b"].map((name) => opened.plane.submit(register(name), me, nothing)));
  assert.deepEqual(commits, [1, 2]);
});

type Opened = Awaited<ReturnType<typeof openPlane>>;

/** Lets time pass with a look every 100 ms, as the timer would. */
async function pass({ plane, clock }: Opened, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    clock.leap(Math.min(left, 100));
    plane.tick();
  }
  await plane.settled();
}

function livenessOf(plane: Plane, name: string): Promise<string | undefined> {
  return plane.read((state) => {
    const agents = [...state.registry.agents.values()];
    return agents.find(({ card }) => card.name === name)?.liveness;
  });
}
