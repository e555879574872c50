/**
 * What a data directory keeps over a restart: AgentKeeper contract, section 4. The log is real, the
 * door is real, and time is ours, so that a night of downtime takes no time.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { describe } from "../../src/core/index.ts";
import { SqliteLog } from "../../src/log/index.ts";
import { type GrpcClient, openTestDoor, type TestDoor } from "../../src/testing/grpc-client.ts";
import { ManualClock } from "../../src/testing/manual-clock.ts";
import {
  type AgentCard,
  AgentStatus,
  PolicyEffect,
  TaskStatus,
} from "../../src/wire/agentkeeper/index.ts";

const second = 1_000;

test("[AK-4-2] agents, leases, offices, policies, tasks and numbers are what they were", async () => {
  await using world = new World();
  const { door, client } = await world.start();
  const agentId = await register(client, "survivor", 3_600);
  const dead = await register(client, "dead", 3_600);
  await client.deregister({ agentId: dead });
  await client.acquireLease({ taskId: "t", agentId, ttlSeconds: 3_600 });
  await client.campaign({ group: "g", agentId });
  await client.campaign({ group: "empty", agentId });
  await client.resign({ group: "empty", agentId });
  const policy = { id: "p", subject: "s", action: "a", resource: "r", effect: PolicyEffect.ALLOW };
  await client.setPolicy({ policy });
  for (const type of ["done", "failed", "claimed", "waiting"]) {
    await client.createTask({ type, input: Buffer.from(type), ttlSeconds: 3_600 });
  }
  const claimed = [];
  for (let count = 0; count < 3; count++) claimed.push((await client.claimTask({ agentId })).task);
  await client.completeTask({ taskId: claimed[0]?.id ?? "", agentId, output: Buffer.from("out") });
  await client.failTask({ taskId: claimed[1]?.id ?? "", agentId, reason: "why" });
  const before = await kept(door);

  await world.stop();
  const again = await world.start();
  assert.deepEqual(await kept(again.door), before);
  const { agent } = await again.client.getAgent({ agentId: dead });
  assert.equal(agent?.status, AgentStatus.DEAD);
  const { tasks } = await again.client.listTasks({ status: TaskStatus.COMPLETED });
  assert.deepEqual(tasks[0]?.output, Buffer.from("out"));
  const rival = await register(again.client, "rival", 3_600);
  const { acquired } = await again.client.acquireLease({ taskId: "t", agentId: rival });
  assert.equal(acquired, false);
  const { state } = await again.client.campaign({ group: "empty", agentId: rival });
  assert.equal(state?.term, 3n);
});

test("[AK-4-8] an agent keeps its id and its last heartbeat, and its clock starts anew", async () => {
  await using world = new World();
  const { client } = await world.start();
  const quick = await register(client, "quick", 2);
  const slow = await register(client, "slow", 100);
  const before = (await client.getAgent({ agentId: quick })).agent;
  await world.stop();
  world.clock.leap(8 * 3_600 * second);

  const { client: again } = await world.start();
  const after = (await again.getAgent({ agentId: quick })).agent;
  assert.deepEqual(after, before);
  await world.clock.pass(2.4 * second);
  assert.equal(await livenessOf(again, quick), AgentStatus.ALIVE);
  await world.clock.pass(0.1 * second);
  assert.equal(await livenessOf(again, quick), AgentStatus.UNREACHABLE);
  // Not before 150 s, because a client may take that long to find the way back.
  await world.clock.pass(147.4 * second);
  assert.equal(await livenessOf(again, quick), AgentStatus.UNREACHABLE);
  await world.clock.pass(0.1 * second);
  assert.equal(await livenessOf(again, quick), AgentStatus.DEAD);
  // Nor before twice its own ttl.
  await world.clock.pass(50.4 * second);
  assert.equal(await livenessOf(again, slow), AgentStatus.UNREACHABLE);
  await world.clock.pass(0.1 * second);
  assert.equal(await livenessOf(again, slow), AgentStatus.DEAD);
});

test("[AK-4-8] an agent that goes on beating after the restart is alive as if nothing had happened", async () => {
  await using world = new World();
  const { client } = await world.start();
  const agentId = await register(client, "beating", 2);
  const { lease } = await client.acquireLease({ taskId: "t", agentId, ttlSeconds: 3_600 });
  await world.stop();
  world.clock.leap(600 * second);
  const { client: again } = await world.start();
  for (let count = 0; count < 5; count++) {
    await world.clock.pass(2.4 * second);
    await again.heartbeat({ agentId });
    assert.equal(await livenessOf(again, agentId), AgentStatus.ALIVE);
  }
  await again.renewLease({ taskId: "t", agentId, token: lease?.token });
  // Once it has been heard, it is judged like any other.
  await world.clock.pass(4.5 * second);
  assert.equal(await livenessOf(again, agentId), AgentStatus.DEAD);
});

test("[AK-4-9] leases and claims whose time passed while it was down end right after the start, with their events", async () => {
  await using world = new World();
  const { client } = await world.start();
  const agentId = await register(client, "worker", 3_600);
  await client.acquireLease({ taskId: "short", agentId, ttlSeconds: 10 });
  await client.acquireLease({ taskId: "long", agentId, ttlSeconds: 3_600 });
  const { task } = await client.createTask({ type: "work", ttlSeconds: 20 });
  await client.claimTask({ agentId });
  await world.stop();
  world.clock.leap(60 * second);

  const { door, client: again } = await world.start();
  await world.clock.pass(0.25 * second);
  using watch = door.plane.watch({ afterSequence: 0 });
  const ended: string[] = [];
  while (ended.at(-1) !== "task.requeued") {
    const { entries = [], end } = await watch.next();
    assert.equal(end, undefined);
    for (const { event } of entries) ended.push(event.type);
  }
  const opened = ended.lastIndexOf("plane.opened");
  assert.deepEqual(ended.slice(opened + 1), ["lease.expired", "task.requeued"]);
  const rival = await register(again, "rival", 3_600);
  assert.equal((await again.acquireLease({ taskId: "short", agentId: rival })).acquired, true);
  assert.equal((await again.acquireLease({ taskId: "long", agentId: rival })).acquired, false);
  const { task: back } = await again.getTask({ taskId: task?.id ?? "" });
  assert.equal(back?.status, TaskStatus.PENDING);
});

test("[AK-2.6.2-4] the numbers of events go on without a gap", async () => {
  await using world = new World();
  const { client } = await world.start();
  using stream = client.watch({});
  await stream.begun;
  await register(client, "one", 3_600);
  const { sequenceNumber } = await stream.next();
  assert.equal(sequenceNumber, 1n);
  await world.stop();
  const { client: again } = await world.start();
  using next = again.watch({});
  await next.begun;
  await register(again, "two", 3_600);
  assert.equal((await next.next()).sequenceNumber, 2n);
});

test("[AK-2.2-3] [AK-2.2-21] tokens start above the clock and above all before, and the log says from where", async () => {
  await using world = new World();
  const { client } = await world.start();
  const agentId = await register(client, "one", 3_600);
  const first = await tokenOf(client, agentId);
  assert.equal(first, BigInt(world.clock.nowMs()) * 1_000n + 1n);
  await world.stop();

  world.clock.leap(10 * second);
  const next = await world.start();
  const later = await tokenOf(next.client, agentId);
  assert.equal(later, BigInt(world.clock.nowMs()) * 1_000n + 1n);
  await world.stop();

  // A machine whose clock is behind: what was stored counts.
  world.clock = new ManualClock(1_000_000);
  const { door, client: behind } = await world.start();
  const last = await tokenOf(behind, agentId);
  assert(last > later);
  const openings: bigint[] = [];
  using watch = door.plane.watch({ afterSequence: 0 });
  const { entries = [] } = await watch.next();
  for (const { event } of entries) {
    if (event.type === "plane.opened") openings.push(event.lastToken);
  }
  assert.deepEqual(openings, [first - 1n, later - 1n, last - 1n]);
});

test("[AK-4-10] watches and waiting claims are not kept: clients call again", async () => {
  await using world = new World();
  const { client } = await world.start();
  const agentId = await register(client, "worker", 3_600);
  const claim = client.claimTask({ agentId }).then(
    () => "answered",
    () => "ended",
  );
  await new Promise((resolve) => setTimeout(resolve, 60));
  await world.stop();
  assert.equal(await claim, "ended");
  const { client: again } = await world.start();
  const { task } = await again.createTask({ type: "work" });
  const { task: waiting } = await again.getTask({ taskId: task?.id ?? "" });
  assert.equal(waiting?.status, TaskStatus.PENDING);
});

test("[AK-4-3] events are kept for 30 days, and who asks for older ones is told, also after a restart", async () => {
  await using world = new World();
  const { client, door } = await world.start();
  const ancient = await register(client, "ancient", 3_600);
  for (let today = 0; today < 45; today++) {
    const policy = { id: "p", subject: `${today}`, action: "a", resource: "r" };
    await client.setPolicy({ policy: { ...policy, effect: PolicyEffect.ALLOW } });
    world.clock.leap(86_400 * second);
  }
  const tooOldMs = (): number => world.clock.nowMs() - 30 * 86_400 * second;
  while (door.plane.retained().oldestAtMs < tooOldMs()) await world.clock.pass(second);
  const { oldestSequence } = door.plane.retained();
  assert(oldestSequence > 10);
  await world.stop();

  const again = await world.start();
  using late = again.door.plane.watch({ afterSequence: 0 });
  assert.deepEqual((await late.next()).end, { code: "out_of_range", oldestSequence });
  using inTime = again.door.plane.watch({ afterSequence: oldestSequence - 1 });
  const { entries = [] } = await inTime.next();
  assert.equal(entries[0]?.sequence, oldestSequence);
  assert(entries[0].atMs >= tooOldMs(), "nothing younger has gone, and nothing older is left");
  assert.equal((await again.client.getAgent({ agentId: ancient })).agent?.agentId, ancient);
});

/** One data directory, and whatever is started on it, one after the other. */
class World implements AsyncDisposable {
  clock = new ManualClock();
  readonly #directory = mkdtempSync(join(tmpdir(), "tipstaff-restart-"));
  #open: { readonly door: TestDoor; readonly log: SqliteLog } | undefined;

  async start(): Promise<{ readonly door: TestDoor; readonly client: GrpcClient }> {
    const log = SqliteLog.open(this.#directory);
    const door = await openTestDoor({ log, clock: this.clock });
    this.#open = { door, log };
    return { door, client: await door.connectWarm() };
  }

  async stop(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.door[Symbol.asyncDispose]();
    await open?.log[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.#directory, { recursive: true });
  }
}

/** The state without what every opening sets anew. */
async function kept(door: TestDoor): Promise<readonly string[]> {
  const lines = (await door.plane.read(describe)).split("\n");
  return lines.filter((line) => !line.startsWith("counters "));
}

async function register(client: GrpcClient, name: string, ttlSeconds: number): Promise<string> {
  return (await client.register({ card: card(name), ttlSeconds })).agentId;
}

async function livenessOf(client: GrpcClient, agentId: string): Promise<AgentStatus | undefined> {
  return (await client.getAgent({ agentId })).agent?.status;
}

async function tokenOf(client: GrpcClient, agentId: string): Promise<bigint> {
  const { lease } = await client.acquireLease({ taskId: "t", agentId, ttlSeconds: 3_600 });
  assert(lease?.token);
  return lease.token.value;
}

function card(name: string): AgentCard {
  return { name, description: "", version: "", capabilities: [], tools: [], metadata: new Map() };
}
