import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { agentId, claimByKey, type Event, type State, taskId } from "../core/index.ts";
import {
  acquire,
  cancel,
  claim,
  createTask,
  deregister,
  heartbeat,
  register,
  release,
} from "../testing/commands.ts";
import { HeldLog } from "../testing/held-log.ts";
import { isSettled, test as me, openPlane, type TestPlane, turns } from "../testing/test-plane.ts";
import { limits } from "./limits.ts";
import type { Plane } from "./plane.ts";
import type { WaitingCommand } from "./waiting.ts";

const nothing = (): void => {};
const forever = new AbortController().signal;
const reason = new Error("the client hung up");

test("whoever finds a lease held waits for it, and those who wait are served in order", async () => {
  await using opened = await openWith("ada", "bob", "eve", "dan");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"), acquire("u", "ada"));
  const [bob, eve, dan] = ["bob", "eve", "dan"].map((name) => waits(plane, acquire("t", name)));
  const other = waits(plane, acquire("u", "eve"));
  await given(plane, release("t", "ada", await tokenOf(plane, "t")));
  assert.equal(await bob, "bob");
  assert.equal(await isSettled(Promise.race([eve, dan, other])), false);
  await given(plane, release("t", "bob", await tokenOf(plane, "t")));
  assert.equal(await eve, "eve");
  await given(plane, deregister("eve"));
  assert.equal(await dan, "dan", "a death ends a lease as a release does");
  assert.equal(await other, "refused agent_dead", "and the waiting of who died");
});

test("a lease that ends is passed on at once: nobody slips in between", async () => {
  await using opened = await openWith("ada", "bob", "eve");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"));
  const token = await tokenOf(plane, "t");
  const bob = waits(plane, acquire("t", "bob"));
  const released = plane.submit(release("t", "ada", token), me, nothing);
  const eve = plane.submit(acquire("t", "eve"), me, nothing);
  assert.equal((await released).refusal, undefined);
  assert.equal((await eve).refusal?.lease?.holder, "bob");
  assert.equal(await bob, "bob");
});

test("a lease that expires goes to who waits, before whoever notices that it expired", async () => {
  await using opened = await openWith("ada", "bob", "eve");
  const { plane, clock } = opened;
  await given(plane, acquire("t", "ada", 1_000));
  const bob = waits(plane, acquire("t", "bob"));
  clock.leap(1_000);
  const eve = await plane.submit(acquire("t", "eve"), me, nothing);
  assert.equal(eve.refusal?.lease?.holder, "bob");
  assert.equal(await bob, "bob");
});

test("the lease of a holder that died goes to who waits, in the same append", async () => {
  const log = new HeldLog();
  await using opened = await openPlane({ log });
  const { plane } = opened;
  await given(plane, register("ada"), register("bob"), acquire("t", "ada"));
  const bob = waits(plane, acquire("t", "bob"));
  log.hold();
  const left = plane.submit(deregister("ada"), me, nothing);
  assert.equal(await isSettled(bob), false, "what is not durable is not told");
  assert.deepEqual(
    log.held[0]?.map(({ event }) => event.type),
    ["agent.died", "lease.released", "lease.acquired"],
  );
  await log.letAllThrough();
  assert.equal(await bob, "bob");
  await left;
});

test("an agent that waits twice for one task is not fenced off by itself", async () => {
  await using opened = await openWith("ada", "bob");
  const { plane, clock } = opened;
  await given(plane, register("eve", { ttlMs: 1_000 }), acquire("t", "ada"));
  const [first, second] = [waits(plane, acquire("t", "eve")), waits(plane, acquire("t", "eve"))];
  await given(plane, release("t", "ada", await tokenOf(plane, "t")));
  assert.equal(await first, "eve");
  const token = await tokenOf(plane, "t");
  clock.leap(1_500);
  await given(plane, heartbeat("eve"), heartbeat("bob"));
  assert.equal(await isSettled(second), false, "coming back is no reason to acquire again");
  assert.equal(await tokenOf(plane, "t"), token);
  await given(plane, release("t", "eve", token));
  assert.equal(await second, "eve");
});

test("who cannot have the lease at all does not keep the others waiting", async () => {
  await using opened = await openWith("ada", "bob", "eve");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"));
  const bob = waits(plane, acquire("t", "bob"));
  const eve = waits(plane, acquire("t", "eve"));
  await given(plane, deregister("bob"));
  assert.equal(await bob, "refused agent_dead");
  await given(plane, deregister("ada"));
  assert.equal(await eve, "eve");
});

test("where the holder and the first in line die in one moment, the second has the lease", async () => {
  await using opened = await openWith("eve");
  const { plane, clock } = opened;
  await given(plane, register("ada", { ttlMs: 1_000 }), register("bob", { ttlMs: 1_100 }));
  await given(plane, acquire("t", "ada"));
  const bob = waits(plane, acquire("t", "bob"));
  const eve = waits(plane, acquire("t", "eve"));
  clock.leap(3_000);
  plane.tick();
  assert.equal(await bob, "refused agent_dead");
  assert.equal(await eve, "eve");
});

test("without a key, who lets go is forgotten at once", async () => {
  await using opened = await openWith("ada", "bob", "eve");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"));
  const calling = new AbortController();
  const bob = waits(plane, acquire("t", "bob"), calling.signal);
  const eve = waits(plane, acquire("t", "eve"));
  calling.abort(reason);
  await assert.rejects(bob, reason);
  await given(plane, release("t", "ada", await tokenOf(plane, "t")));
  assert.equal(await eve, "eve");
});

test("with a key, who lets go and comes back has kept its place", async () => {
  await using opened = await openWith("ada", "bob", "eve");
  const { plane, clock } = opened;
  await given(plane, acquire("t", "ada"));
  await letGo(plane, acquire("t", "bob", 60_000, "k"));
  const eve = waits(plane, acquire("t", "eve"));
  await pass(opened, limits.placeKeptMs - 1);
  const bob = waits(plane, acquire("t", "bob", 60_000, "k"));
  clock.leap(limits.placeKeptMs);
  plane.tick();
  await given(plane, release("t", "ada", await tokenOf(plane, "t")));
  assert.equal(await bob, "bob", "whoever is back is not timed any more");
  assert.equal(await isSettled(eve), false);
});

test("a place that nobody came back to in time goes to the next", async () => {
  await using opened = await openWith("ada", "bob", "eve");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"));
  await letGo(plane, acquire("t", "bob", 60_000, "k"));
  const eve = waits(plane, acquire("t", "eve"));
  await pass(opened, limits.placeKeptMs);
  const bob = waits(plane, acquire("t", "bob", 60_000, "k"));
  await given(plane, release("t", "ada", await tokenOf(plane, "t")));
  assert.equal(await eve, "eve");
  assert.equal(await isSettled(bob), false);
});

test("another key, another task or another agent is another place", async () => {
  await using opened = await openWith("ada", "bob", "eve");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"), acquire("u", "ada"));
  await letGo(plane, acquire("t", "bob", 60_000, "k"));
  const others = [
    waits(plane, acquire("t", "bob", 60_000, "other")),
    waits(plane, acquire("u", "bob", 60_000, "k")),
    waits(plane, acquire("t", "eve", 60_000, "k")),
  ];
  const back = waits(plane, acquire("t", "bob", 60_000, "k"));
  await given(plane, release("t", "ada", await tokenOf(plane, "t")));
  assert.equal(await back, "bob", "the place that was kept is first");
  assert.equal(await isSettled(Promise.race(others)), false);
  assert.equal((await holding(plane, "t"))?.key, "k");
});

test("nothing is given to who is away: the next in line has it, and the place is kept", async () => {
  await using opened = await openWith("ada", "bob", "eve");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"));
  await letGo(plane, acquire("t", "bob", 60_000, "k"));
  const eve = waits(plane, acquire("t", "eve"));
  await given(plane, release("t", "ada", await tokenOf(plane, "t")));
  assert.equal(await eve, "eve");
  const ada = waits(plane, acquire("t", "ada"));
  const bob = waits(plane, acquire("t", "bob", 60_000, "k"));
  await given(plane, release("t", "eve", await tokenOf(plane, "t")));
  assert.equal(await bob, "bob");
  assert.equal(await isSettled(ada), false);
});

test("what nobody else wanted is there for who comes back, unless it has it already", async () => {
  await using opened = await openWith("ada", "bob");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"), acquire("u", "ada"));
  for (const task of ["t", "u"]) await letGo(plane, acquire(task, "bob", 60_000, "k"));
  for (const task of ["t", "u"]) {
    await given(plane, release(task, "ada", await tokenOf(plane, task)));
    assert.equal(await holding(plane, task), undefined);
  }
  assert.equal(await waits(plane, acquire("t", "bob", 60_000, "k")), "bob");
  await given(plane, acquire("u", "bob"));
  const token = await tokenOf(plane, "u");
  const second = waits(plane, acquire("u", "bob", 60_000, "k"));
  assert.equal(await isSettled(second), false);
  assert.equal(await tokenOf(plane, "u"), token, "nobody is fenced off by itself");
});

test("who was granted a lease and did not hear of it finds it when it is back, unchanged", async () => {
  await using opened = await openWith("ada", "bob");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"));
  const unheard = waits(plane, acquire("t", "bob", 60_000, "k"));
  await given(plane, release("t", "ada", await tokenOf(plane, "t")));
  await unheard;
  const token = await tokenOf(plane, "t");
  const seen: (readonly Event[])[] = [];
  const back = await plane.wait(
    acquire("t", "bob", 60_000, "k"),
    me,
    (state, events) => {
      seen.push(events);
      return state.leases.held.get(taskId("t"));
    },
    { signal: forever },
  );
  assert.equal(back.value?.holder, "bob");
  assert.equal(back.value?.token, token);
  assert.deepEqual(seen, [[]]);
});

test("two who listen at one place are told the same", async () => {
  await using opened = await openWith("ada", "bob", "eve");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"));
  const calling = new AbortController();
  const old = waits(plane, acquire("t", "bob", 60_000, "k"), calling.signal);
  const eve = waits(plane, acquire("t", "eve"));
  const anew = waits(plane, acquire("t", "bob", 60_000, "k"));
  const third = waits(plane, acquire("t", "bob", 60_000, "k"));
  calling.abort(reason);
  await assert.rejects(old, reason);
  await given(plane, release("t", "ada", await tokenOf(plane, "t")));
  assert.equal(await anew, "bob");
  assert.equal(await third, "bob");
  assert.equal(await isSettled(eve), false);
});

test("a claim with a key keeps its place too, and its types are part of it", async () => {
  await using opened = await openWith("ada", "bob");
  const { plane } = opened;
  const wish = { types: ["mail"], key: "k" };
  await letGo(plane, claim("ada", wish));
  const bob = waits(plane, claim("bob"));
  const other = waits(plane, claim("ada", { types: ["print"], key: "k" }));
  const ada = waits(plane, claim("ada", wish));
  await given(plane, createTask("t", { taskType: "mail" }));
  assert.equal(await ada, "t");
  await given(plane, createTask("u", { taskType: "print" }));
  assert.equal(await bob, "u");
  assert.equal(await isSettled(other), false);
});

test("no task is claimed for who is away, and one that nobody took is there when it is back", async () => {
  await using opened = await openWith("ada", "bob");
  const { plane } = opened;
  await letGo(plane, claim("ada", { key: "k" }));
  const bob = waits(plane, claim("bob"));
  await given(plane, createTask("t", { deliveriesMax: 1 }));
  assert.equal(await bob, "t");
  await given(plane, createTask("u", { deliveriesMax: 1 }));
  assert.equal(await waits(plane, claim("ada", { key: "k" })), "u");
});

test("a claim of which its claimant did not hear is found again by its key", async () => {
  await using opened = await openWith("ada");
  const { plane } = opened;
  const unheard = waits(plane, claim("ada", { key: "k" }));
  await given(plane, createTask("t"));
  await unheard;
  const look = ({ tasks }: State): string | undefined => claimByKey(tasks, agentId("ada"), "k")?.id;
  const back = await plane.wait(claim("ada", { key: "k" }), me, look, { signal: forever });
  assert.equal(back.value, "t");
});

test("a place that is withdrawn is given up at once, and whoever listens is told why it waited", async () => {
  await using opened = await openWith("ada", "bob", "eve");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"));
  await letGo(plane, acquire("t", "bob", 60_000, "k"));
  const eve = plane.wait(acquire("t", "eve", 1, "k"), me, nothing, { signal: forever });
  const claiming = waits(plane, claim("bob", { key: "k" }));
  await plane.withdraw({ agentId: agentId("bob"), key: "other" }, me);
  assert.equal(await isSettled(claiming), false);
  await plane.withdraw({ agentId: agentId("bob"), key: "k" }, me);
  assert.equal(await claiming, "refused no_task");
  await plane.withdraw({ agentId: agentId("eve"), key: "k" }, me);
  assert.equal((await eve).refusal?.lease?.holder, "ada");
  await given(plane, release("t", "ada", await tokenOf(plane, "t")));
  assert.equal(await holding(plane, "t"), undefined, "nobody is left in line");
});

test("what was granted under a key that is withdrawn goes to the next in line, in the same append", async () => {
  const log = new HeldLog();
  await using opened = await openPlane({ log });
  const { plane } = opened;
  await given(plane, register("ada"), register("bob"), createTask("work"));
  await given(plane, acquire("t", "ada", 60_000, "k"), acquire("u", "ada", 60_000, "other"));
  await given(plane, claim("ada", { key: "k" }), acquire("v", "ada", 60_000, "k"));
  const second = waits(plane, claim("ada", { types: ["work"], key: "k2" }));
  const lease = waits(plane, acquire("t", "bob"));
  log.hold();
  const withdrawn = plane.withdraw({ agentId: agentId("ada"), key: "k" }, me);
  assert.equal(await isSettled(withdrawn), false, "what is not durable is not told");
  assert.deepEqual(
    log.held[0]?.map(({ event }) => event.type),
    ["lease.released", "lease.released", "task.requeued", "lease.acquired", "task.claimed"],
  );
  await log.letAllThrough();
  assert.deepEqual(await withdrawn, { value: {} });
  assert.deepEqual([await lease, await second], ["bob", "work"]);
  assert.equal((await holding(plane, "u"))?.holder, "ada", "another key is another wish");
  assert.equal(await holding(plane, "v"), undefined);
});

test("withdrawing never acquires: a second place of the holder is only given up", async () => {
  await using opened = await openWith("ada", "bob");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"));
  const [first, second] = ["k1", "k2"].map((key) => waits(plane, acquire("t", "bob", 60_000, key)));
  await given(plane, release("t", "ada", await tokenOf(plane, "t")));
  assert.equal(await first, "bob");
  const token = await tokenOf(plane, "t");
  await plane.withdraw({ agentId: agentId("bob"), key: "k2" }, me);
  assert.equal(await second, "refused lease_held");
  assert.equal(await tokenOf(plane, "t"), token);
});

test("an agent that dies loses its places, kept or not", async () => {
  await using opened = await openWith("ada", "bob", "eve");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"));
  await letGo(plane, acquire("t", "bob", 60_000, "k"));
  const bob = waits(plane, acquire("t", "bob"));
  const eve = waits(plane, acquire("t", "eve"));
  await given(plane, deregister("bob"));
  assert.equal(await bob, "refused agent_dead");
  await given(plane, release("t", "ada", await tokenOf(plane, "t")));
  assert.equal(await eve, "eve");
});

test("when the plane closes, whoever waits for a lease is told", async () => {
  const { plane } = await openWith("ada", "bob");
  await given(plane, acquire("t", "ada"));
  const bob = waits(plane, acquire("t", "bob"));
  await letGo(plane, acquire("t", "bob", 60_000, "k"));
  await turns();
  await plane[Symbol.asyncDispose]();
  assert.equal(await bob, "refused unavailable");
  assert.equal(await waits(plane, acquire("t", "bob")), "refused unavailable");
  const late = await plane.withdraw({ agentId: agentId("bob"), key: "k" }, me);
  assert.equal(late.refusal?.code, "unavailable");
});

test("places that are kept count towards the bound, and those that are given up do not", async () => {
  await using opened = await openWith("ada", "bob");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"));
  // Each its own: a signal looks through all its listeners for every one that is added.
  const signals = Array.from({ length: limits.waitingMax - 2 }, () => new AbortController().signal);
  const refusals = signals.map((signal) =>
    plane.wait(acquire("t", "bob"), me, nothing, { signal }),
  );
  await letGo(plane, acquire("t", "bob", 60_000, "k"));
  const last = waits(plane, acquire("t", "bob"));
  assert.equal(await waits(plane, acquire("t", "bob")), "refused limit_reached");
  await plane.withdraw({ agentId: agentId("bob"), key: "k" }, me);
  const fitting = waits(plane, acquire("t", "bob"));
  assert.equal(await isSettled(fitting), false);
  assert.equal(await waits(plane, acquire("t", "bob")), "refused limit_reached");
  await given(plane, deregister("bob"));
  assert.equal(await last, "refused agent_dead");
  assert.equal((await refusals[0])?.refusal?.code, "agent_dead");
  for (const signal of signals.slice(0, 3)) {
    assert.equal(getEventListeners(signal, "abort").length, 0);
  }
});

test("where no new place is to be had, whoever returns still finds its own", async () => {
  await using opened = await openWith("ada", "bob");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"));
  await letGo(plane, acquire("t", "bob", 60_000, "k"));
  const fill = (count: number, key?: string) =>
    Array.from({ length: count }, () => {
      const { signal } = new AbortController();
      return plane.wait(acquire("t", "bob", 60_000, key), me, nothing, { signal });
    });
  fill(limits.waitingMax - plane.waiting);
  assert.equal(await waits(plane, acquire("t", "bob")), "refused limit_reached");
  const [back] = fill(1, "k");
  assert.equal(plane.waiting, limits.waitingMax, "it was counted already");
  const [again] = fill(1, "k");
  assert.equal(await isSettled(again ?? Promise.resolve()), false, "before we saw the first leave");
  fill(limits.listenersMax - plane.waiting, "k");
  assert.equal(await waits(plane, acquire("t", "bob", 60_000, "k")), "refused limit_reached");
  await given(plane, deregister("bob"));
  assert.equal((await back)?.refusal?.code, "agent_dead");
});

test("callers that are not trusted have half of the places, also of those that are kept for them", async () => {
  await using opened = await openWith("ada", "bob");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"));
  const stranger = { isTrusted: false };
  const isRefused = async (options = {}): Promise<boolean> => {
    const waiting = plane.wait(acquire("t", "bob"), me, nothing, { signal: forever, ...options });
    return (await isSettled(waiting)) && (await waiting).refusal?.code === "limit_reached";
  };
  const calling = new AbortController();
  const kept = plane.wait(acquire("t", "bob", 60_000, "k"), me, nothing, {
    signal: calling.signal,
    ...stranger,
  });
  const waiting = Array.from({ length: limits.waitingMax / 2 - 1 }, () => {
    const { signal } = new AbortController();
    return plane.wait(acquire("t", "bob"), me, nothing, { signal, ...stranger });
  });
  assert.equal(await isRefused(stranger), true);
  calling.abort(reason);
  await assert.rejects(kept, reason);
  assert.equal(await isRefused(stranger), true, "its place is kept, and counts");
  assert.equal(await isRefused(), false, "the other half is there for whoever is trusted");
  await plane.withdraw({ agentId: agentId("bob"), key: "k" }, me);
  assert.equal(await isRefused(stranger), false);
  assert.equal(await isRefused(stranger), true);
  await given(plane, release("t", "ada", await tokenOf(plane, "t")));
  assert.equal((await waiting[0])?.refusal, undefined);
  assert.equal(await isRefused(stranger), false, "one was served");
});

test("a thousand who wait for one lease are served in order, each at the cost of one", async () => {
  await using opened = await openWith("ada", "bob");
  const { plane } = opened;
  await given(plane, acquire("t", "ada"));
  const served: number[] = [];
  const names = Array.from({ length: 1_000 }, (_, at) => `w${at}`);
  for (const name of names) await given(plane, register(name));
  const calls = names.map(async (name, at) => {
    await waits(plane, acquire("t", name));
    served.push(at);
    await given(plane, release("t", name, await tokenOf(plane, "t")));
  });
  await given(plane, release("t", "ada", await tokenOf(plane, "t")));
  await Promise.all(calls);
  assert.deepEqual(served, [...names.keys()]);
});

test("a task that is cancelled goes to nobody who waits", async () => {
  await using opened = await openWith("ada");
  const { plane } = opened;
  await given(plane, createTask("t", { delayMs: 1_000 }), cancel("t"));
  const ada = waits(plane, claim("ada"));
  await pass(opened, 2_000);
  assert.equal(await isSettled(ada), false);
});

test("a delayed task goes to who waits when its time has come", async () => {
  await using opened = await openWith("ada");
  const { plane } = opened;
  await given(plane, createTask("t", { delayMs: 1_000 }));
  const ada = waits(plane, claim("ada"));
  await pass(opened, 999);
  assert.equal(await isSettled(ada), false);
  await pass(opened, 1);
  assert.equal(await ada, "t");
});

async function openWith(...names: readonly string[]): Promise<TestPlane> {
  const opened = await openPlane();
  for (const name of names) await given(opened.plane, register(name, { ttlMs: 600_000 }));
  return opened;
}

/** Time passes as it does with a timer. */
async function pass({ plane, clock }: TestPlane, ms: number): Promise<void> {
  clock.leap(ms);
  plane.tick();
  await turns();
}

/** Carries out commands that must be accepted. */
async function given(plane: Plane, ...commands: Parameters<Plane["submit"]>[0][]): Promise<void> {
  for (const command of commands) {
    const { refusal } = await plane.submit(command, me, nothing);
    assert.equal(refusal, undefined);
  }
}

/** Who holds the lease then, or which task was claimed; or why not. */
async function waits(
  plane: Plane,
  command: WaitingCommand,
  signal: AbortSignal = forever,
): Promise<string> {
  const look = (_: State, [event]: readonly Event[]): string => {
    if (event && "lease" in event) return event.lease.holder;
    return event && "task" in event ? event.task.id : "no event";
  };
  const { value, refusal } = await plane.wait(command, me, look, { signal });
  return refusal ? `refused ${refusal.code}` : value;
}

/** Waits, and hangs up before it is served. */
async function letGo(plane: Plane, command: WaitingCommand): Promise<void> {
  const calling = new AbortController();
  const waiting = waits(plane, command, calling.signal);
  await turns();
  calling.abort(reason);
  await assert.rejects(waiting, reason);
}

async function holding(
  plane: Plane,
  task: string,
): Promise<{ readonly holder: string; readonly key?: string; readonly token: bigint } | undefined> {
  return await plane.read(({ leases }) => leases.held.get(taskId(task)));
}

async function tokenOf(plane: Plane, task: string): Promise<bigint> {
  return (await holding(plane, task))?.token ?? 0n;
}
