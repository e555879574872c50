/** Who watches sees what was asked for, once, in order, from then on; and what a slow reader costs. */
import assert from "node:assert/strict";
import { constants } from "node:http2";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { agentId as asAgentId, type Command, taskId, token } from "../../core/index.ts";
import {
  collect,
  type GrpcClient,
  headersOf,
  openTestDoor,
  type Payload,
  payloadOf,
  type Stream,
  type TestDoor,
} from "../../testing/grpc-client.ts";
import { HeldLog } from "../../testing/held-log.ts";
import {
  type AgentCard,
  AgentStatus,
  Event,
  PolicyEffect,
  TaskStatus,
  type Timestamp,
} from "../../wire/agentkeeper/index.ts";
import { frame } from "../../wire/grpc/index.ts";

const watchPath = "/agentkeeper.v1.RegistryService/Watch";
const startMs = 1_700_000_000_000;

/** Under the first words that AgentKeeper knows, there are these and no others. */
const legacyTopics = [
  "agent.registered",
  "agent.unreachable",
  "agent.died",
  "lease.acquired",
  "lease.renewed",
  "lease.expired",
  "lease.released",
  "leader.changed",
];

test("[AK-2.6.1-1] [AK-2.6.1-2] [AK-2.6.5-1] [AK-6-3] a story of every event there is: topics, payloads, numbers and times", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const all = client.watch({});
  const legacy = client.watch({ topics: ["agent.", "lease.", "leader."] });
  await Promise.all([all.begun, legacy.begun]);
  const seen = await tellStory(door, client, all);

  assert.deepEqual(
    seen.map(({ topic }) => topic),
    [
      "agent.registered",
      "lease.acquired",
      "lease.renewed",
      "leader.changed",
      "ext.policy.changed",
      "ext.policy.deleted",
      "task.created",
      "task.claimed",
      "task.failed",
      "task.claimed",
      "task.dead",
      "task.created",
      "task.claimed",
      "task.completed",
      "task.created",
      "task.claimed",
      "lease.expired",
      "agent.unreachable",
      "ext.agent.recovered",
      "agent.died",
      "leader.changed",
      "task.requeued",
      "agent.registered",
      "lease.acquired",
      "lease.released",
    ],
  );

  const kinds = seen.map((event) => [event.topic, Object.keys(payloadOf(event))[0]]);
  for (const [topic = "", kind] of kinds) {
    const word = topic.replace("ext.", "").split(".")[0] ?? "";
    const expected = { agent: "agent", lease: "lease", leader: "election", task: "task" }[word];
    assert.equal(kind, expected ?? "policy", topic);
  }

  const known = seen.filter(({ topic }) => legacyTopics.includes(topic));
  assert.deepEqual(await legacy.take(known.length), known);
  await client.fence();
  assert.deepEqual(legacy.waiting, []);
});

test("[AK-2.6.2-1] [AK-2.6.2-2] [AK-2.6.2-3] [AK-1.4-2] [AK-1.4-3] [AK-1.4-4] each event is whole: no gap, no missing time, no unspecified state", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  using all = client.watch({});
  await all.begun;
  const seen = await tellStory(door, client, all);

  const [first] = seen;
  assert(first && first.sequenceNumber > 0n);
  let beforeMs = startMs;
  for (const [index, event] of seen.entries()) {
    assert.equal(event.sequenceNumber, first.sequenceNumber + BigInt(index));
    const atMs = toMs(event.occurredAt);
    assert(atMs >= beforeMs && atMs <= door.clock.nowMs());
    beforeMs = atMs;
    checkWhole(event, payloadOf(event));
  }
  const statuses = seen.map((event) => payloadOf(event).agent?.status).filter(Boolean);
  assert.deepEqual(statuses, [
    AgentStatus.ALIVE,
    AgentStatus.UNREACHABLE,
    AgentStatus.ALIVE,
    AgentStatus.DEAD,
    AgentStatus.ALIVE,
  ]);
  const taskStatuses = seen.map((event) => payloadOf(event).task?.status).filter(Boolean);
  assert.deepEqual(taskStatuses, [
    TaskStatus.PENDING,
    TaskStatus.CLAIMED,
    TaskStatus.PENDING,
    TaskStatus.CLAIMED,
    TaskStatus.DEAD,
    TaskStatus.PENDING,
    TaskStatus.CLAIMED,
    TaskStatus.COMPLETED,
    TaskStatus.PENDING,
    TaskStatus.CLAIMED,
    TaskStatus.PENDING,
  ]);
});

test("[AK-2.6.2-4] without a data directory, numbers start at the wall clock in microseconds", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  using stream = client.watch({});
  await stream.begun;
  const agentId = await register(client, "one");
  assert.equal((await stream.next()).sequenceNumber, BigInt(startMs) * 1_000n + 1n);
  const { lease } = await client.acquireLease({ taskId: "t", agentId });
  assert.equal(lease?.token?.value, BigInt(startMs) * 1_000n + 1n);
});

test("[AK-2.6.3-1] topics are plain prefixes, an event comes once, and an empty text means all", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const watches = {
    exact: client.watch({ topics: ["agent.registered"] }),
    part: client.watch({ topics: ["agent.reg"] }),
    letter: client.watch({ topics: ["a"] }),
    twice: client.watch({ topics: ["agent.", "agent.registered", "agent.", "a"] }),
    several: client.watch({ topics: ["nothing.", "agent.registered", "lease."] }),
    all: client.watch({ topics: [] }),
    empty: client.watch({ topics: ["nothing.", ""] }),
    other: client.watch({ topics: ["lease."] }),
    longer: client.watch({ topics: ["agent.registered."] }),
    pattern: client.watch({ topics: ["agent.*", "*", ".*"] }),
    capital: client.watch({ topics: ["Agent."] }),
    inside: client.watch({ topics: ["registered", "gent."] }),
  };
  await Promise.all(Object.values(watches).map(({ begun }) => begun));
  await register(client, "one");
  await client.fence();
  const counts = Object.entries(watches).map(([name, { waiting }]) => [name, waiting.length]);
  assert.deepEqual(Object.fromEntries(counts), {
    exact: 1,
    part: 1,
    letter: 1,
    twice: 1,
    several: 1,
    all: 1,
    empty: 1,
    other: 0,
    longer: 0,
    pattern: 0,
    capital: 0,
    inside: 0,
  });
});

test("[AK-2.6.3-3] a watch has no history", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  await register(client, "before");
  using stream = client.watch({});
  await stream.begun;
  await register(client, "after");
  assert.equal(payloadOf(await stream.next()).agent?.card?.name, "after");
});

test("[AK-2.6.3-2] an event arrives within 50 ms", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  using stream = client.watch({});
  await stream.begun;
  // The machine may be busy with other things: the best of a few is what the door can do.
  let bestMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 10 && bestMs >= 50; round++) {
    const startedMs = performance.now();
    await Promise.all([register(client, "one"), stream.next()]);
    bestMs = Math.min(bestMs, performance.now() - startedMs);
  }
  assert(bestMs < 50, `${bestMs} ms`);
});

test("[AK-2.0-1] an event is handed to every watcher before the reply is sent", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const client = await door.connectWarm();
  const agentId = await register(client, "one");
  // On one connection the order of arrival is the order of sending.
  const order: string[] = [];
  const watch = bare.begin(watchPath);
  watch.end(frame(Buffer.alloc(0)));
  await headersOf(watch);
  watch.on("data", () => order.push("event"));
  const heartbeats = bare.begin("/agentkeeper.v1.RegistryService/Deregister");
  heartbeats.on("data", () => order.push("reply"));
  heartbeats.end(frame(Buffer.from(`\x0a\x20${agentId}`)));
  await collect(heartbeats);
  assert.deepEqual(order, ["event", "reply"]);
});

test("[AK-2.6.4-1] headers come at once, and mean that the watch has begun", async () => {
  await using door = await openTestDoor();
  const watcher = door.connect();
  const client = await door.connectWarm();
  for (let round = 0; round < 20; round++) {
    using stream = watcher.watch({ topics: ["agent.registered"] });
    using election = watcher.watchElection({ group: `g${round}` });
    await Promise.all([stream.begun, election.begun]);
    const agentId = await register(client, `agent-${round}`);
    await client.campaign({ group: `g${round}`, agentId });
    assert.equal(payloadOf(await stream.next()).agent?.agentId, agentId);
    assert.equal(payloadOf(await election.next()).election?.leaderAgentId, agentId);
  }
});

test("[AK-2.6.3-6] a watch that is cancelled, however early, leaves nothing behind", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const bare = await door.bare();
  for (let round = 0; round < 200; round++) {
    const stream = bare.begin(watchPath);
    stream.end(frame(Buffer.alloc(0)));
    if (round % 3 === 1) await new Promise(setImmediate);
    if (round % 3 === 2) await headersOf(stream);
    stream.close(constants.NGHTTP2_CANCEL);
    if (round % 10 === 0) await register(client, `during-${round}`);
  }
  const streams = Array.from({ length: 50 }, () => client.watchElection({ group: "g" }));
  await Promise.all(streams.map(({ begun }) => begun));
  for (const stream of streams) stream.cancel();
  await register(client, "after");
  await eventually(() => door.plane.watchers === 0);
});

test("[AK-2.6.3-6] nothing arrives after a watch was cancelled", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const stream = client.watch({});
  await stream.begun;
  await register(client, "before");
  await stream.next();
  stream.cancel();
  assert.equal((await stream.ended).status, "CANCELLED");
  await register(client, "after");
  await client.fence();
  assert.deepEqual(stream.waiting, []);
});

test("[AK-2.6.3-4] [AK-2.6.3-7] days of silence end no watch and no waiting claim", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const agentId = await register(client, "worker", 2 ** 32 - 1);
  using stream = client.watch({});
  await stream.begun;
  const claim = client.claimTask({ agentId });
  await client.fence();
  door.clock.leap(20 * 86_400_000);
  await client.fence();
  const { task } = await client.createTask({ type: "work" });
  assert.equal((await claim).task?.id, task?.id);
  assert.equal((await stream.next()).topic, "task.created");
});

test("[AK-2.6.3-5] who reads too slowly gets no gap but an end, RESOURCE_EXHAUSTED, and the others never notice", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const agentId = await register(client, "busy");
  const { lease } = await client.acquireLease({ taskId: "t", agentId });
  const quick = client.watch({ topics: ["lease."] });
  await quick.begun;

  const bare = await door.bare();
  const slow = bare.begin(watchPath);
  slow.end(frame(Buffer.alloc(0)));
  await headersOf(slow);
  const renew: Command = {
    type: "lease.renew",
    taskId: taskId("t"),
    agentId: asAgentId(agentId),
    token: token(lease?.token?.value ?? 0n),
  };
  const count = 14_000;
  for (let done = 0; done < count; done++) {
    void door.plane.submit(renew, { actor: "test" }, () => undefined);
    if (done % 500 === 0) await door.plane.settled();
  }
  await door.plane.settled();
  // Ended, though nobody has read a byte of it yet.
  await eventually(() => door.plane.watchers === 1);
  assert.equal((await client.heartbeat({ agentId })) !== undefined, true);

  const { status, message, messages } = await collect(slow);
  assert.equal(status, "RESOURCE_EXHAUSTED");
  assert.match(message, /slowly/);
  const numbers = messages.map((bytes) => Event.decode(bytes).sequenceNumber);
  assert(numbers.length < count);
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => (numbers[0] ?? 0n) + BigInt(index)),
  );
  assert.equal((await quick.take(count)).length, count);
});

test("[AK-2.6.3-5] 16 MiB that nobody reads are too much as well", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const bare = await door.bare();
  const slow = bare.begin(watchPath);
  slow.end(frame(Buffer.alloc(0)));
  await headersOf(slow);
  const heavy = { ...card("heavy"), description: "x".repeat(60_000) };
  for (let count = 0; count < 600; count++) {
    const command: Command = {
      type: "agent.register",
      agentId: asAgentId(`${count}`.padStart(32, "0")),
      card: { ...heavy, metadata: [] },
      ttlMs: 3_600_000,
    };
    await door.plane.submit(command, { actor: "test" }, () => undefined);
  }
  await eventually(() => door.plane.watchers === 0);
  assert.equal((await collect(slow)).status, "RESOURCE_EXHAUSTED");
  assert.equal((await client.find({ limit: 1 })).agents.length, 1);
});

test("[AK-2.6.6-1] WatchElection shows the changes of one group, with the numbers and bytes of the bus", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const one = await register(client, "one");
  const two = await register(client, "two");
  const bus = client.watch({ topics: ["leader."] });
  const election = client.watchElection({ group: "g" });
  await Promise.all([bus.begun, election.begun]);
  for (const group of ["g", "other", "gg", "G"]) {
    await client.campaign({ group, agentId: one });
    await client.campaign({ group, agentId: two });
    await client.resign({ group, agentId: one });
  }
  const events = await bus.take(8);
  const ofGroup = events.filter((event) => payloadOf(event).election?.group === "g");
  assert.equal(ofGroup.length, 2);
  assert.deepEqual(await election.take(2), ofGroup);
  await client.fence();
  assert.deepEqual(election.waiting, []);
});

test("[AK-2.6.6-2] a group that nobody knows yet can be watched", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  using election = client.watchElection({ group: "future" });
  await election.begun;
  const agentId = await register(client, "one");
  await client.campaign({ group: "future", agentId });
  assert.equal(payloadOf(await election.next()).election?.leaderAgentId, agentId);
});

test("[AK-2.6.6-4] who never campaigned is not told the present state", async () => {
  await using scene = await openElection();
  const { door, other } = scene;
  const fresh = await door.connectWarm();
  await assertNothingFirst(scene, fresh);
  await assertNothingFirst(scene, other);
});

test("[AK-2.6.6-5] [AK-1.4-7] a change between Campaign and WatchElection is told, once, with its own number", async () => {
  await using scene = await openElection();
  const { door, client, other, one } = scene;
  const bus = other.watch({ topics: ["leader."] });
  await bus.begun;
  await other.resign({ group: "g", agentId: one });
  const change = await bus.next();

  using election = client.watchElection({ group: "g" });
  assert.deepEqual(await election.next(), change);
  // Told is told: neither again on this stream, nor on another of the same connection.
  await assertNothingFirst(scene, client);
  // And what comes next is the next change.
  await other.campaign({ group: "g", agentId: one });
  await other.resign({ group: "g", agentId: scene.two });
  assert.deepEqual(await election.next(), await bus.next());
  assert.equal(door.faults.length, 0);
});

test("[AK-2.6.6-5] of several changes that were missed, the latest is told", async () => {
  await using scene = await openElection();
  const { client, other, one, two } = scene;
  await other.resign({ group: "g", agentId: one });
  await other.resign({ group: "g", agentId: two });
  using election = client.watchElection({ group: "g" });
  const { election: state } = payloadOf(await election.next());
  assert.deepEqual(state, { group: "g", leaderAgentId: "", term: 3n, electedAt: undefined });
  await client.fence();
  assert.deepEqual(election.waiting, []);
});

test("[AK-2.6.6-5] who heard of the change on another stream of the connection is not told again", async () => {
  await using scene = await openElection();
  const { client, other, one } = scene;
  using bus = client.watch({ topics: ["leader."] });
  await bus.begun;
  await other.resign({ group: "g", agentId: one });
  await bus.next();
  await assertNothingFirst(scene, client);
});

test("[AK-2.6.6-5] who campaigned again after the change knows of it", async () => {
  await using scene = await openElection();
  const { client, other, one, two } = scene;
  await other.resign({ group: "g", agentId: one });
  for (const agentId of [one, two]) {
    const { state } = await client.campaign({ group: "g", agentId });
    assert.equal(state?.term, 2n);
  }
  await assertNothingFirst(scene, client);
});

test("[AK-2.6.6-5] if one of two agents behind a connection knows and the other does not, it is told", async () => {
  await using scene = await openElection();
  const { client, other, one } = scene;
  const late = await register(client, "late");
  await other.resign({ group: "g", agentId: one });
  await client.campaign({ group: "g", agentId: late });
  using election = client.watchElection({ group: "g" });
  assert.equal(payloadOf(await election.next()).election?.term, 2n);
});

test("[AK-2.6.6-5] a change in another group is no reason to tell this one", async () => {
  await using scene = await openElection();
  const { client, other, one } = scene;
  await client.campaign({ group: "h", agentId: one });
  await other.resign({ group: "h", agentId: one });
  await assertNothingFirst(scene, client);
});

test("[AK-2.6.6-5] a change that is not durable yet is told once, when it is", async () => {
  const log = new HeldLog();
  await using scene = await openElection(log);
  const { client, other, one } = scene;
  log.hold();
  const resigning = other.resign({ group: "g", agentId: one });
  await other.fence();
  using election = client.watchElection({ group: "g" });
  await election.begun;
  await client.fence();
  assert.deepEqual(election.waiting, []);
  await log.letAllThrough();
  await resigning;
  assert.equal(payloadOf(await election.next()).election?.term, 2n);
  await client.fence();
  assert.deepEqual(election.waiting, []);
});

/** One of everything, in an order that a test can rely on. */
async function tellStory(
  door: TestDoor,
  client: GrpcClient,
  all: Stream<Event>,
): Promise<readonly Event[]> {
  const agentId = await register(client, "hero", 10);
  const { lease } = await client.acquireLease({ taskId: "t", agentId, ttlSeconds: 5 });
  await client.renewLease({ taskId: "t", agentId, token: lease?.token });
  await client.campaign({ group: "g", agentId });
  const policy = { id: "p", subject: "s", action: "a", resource: "r", effect: PolicyEffect.DENY };
  await client.setPolicy({ policy });
  await client.deletePolicy({ id: "p" });
  const input = Buffer.from("secret input");
  const { task: failing } = await client.createTask({ type: "failing", maxRetries: 1, input });
  for (const reason of ["once", "twice"]) {
    await client.claimTask({ agentId });
    await client.failTask({ taskId: failing?.id ?? "", agentId, reason });
  }
  const { task: working } = await client.createTask({ type: "working", input });
  await client.claimTask({ agentId });
  const output = Buffer.from("secret output");
  await client.completeTask({ taskId: working?.id ?? "", agentId, output });
  await client.createTask({ type: "orphaned", input });
  await client.claimTask({ agentId });
  await door.clock.pass(10_500);
  await client.heartbeat({ agentId });
  await client.deregister({ agentId });
  const other = await register(client, "other");
  const { lease: short } = await client.acquireLease({ taskId: "u", agentId: other });
  await client.releaseLease({ taskId: "u", agentId: other, token: short?.token });
  return await all.take(25);
}

function checkWhole({ topic }: Event, { agent, lease, election, policy, task }: Payload): void {
  if (agent) {
    assert(agent.status >= AgentStatus.ALIVE && agent.status <= AgentStatus.DEAD);
    assert(toMs(agent.registeredAt) >= startMs);
    assert(toMs(agent.lastHeartbeatAt) >= startMs);
    assert.notEqual(agent.card?.name, "");
  }
  if (lease) {
    assert(toMs(lease.acquiredAt) >= startMs);
    assert(toMs(lease.expiresAt) > startMs);
    assert((lease.token?.value ?? 0n) > 0n);
    assert.equal(lease.holderAgentId.length, 32);
  }
  if (election) {
    assert.equal(election.electedAt === undefined, election.leaderAgentId === "");
    assert(election.term > 0n);
  }
  if (policy) assert(policy.effect > PolicyEffect.UNSPECIFIED);
  if (task) {
    assert(task.status >= TaskStatus.PENDING && task.status <= TaskStatus.DEAD);
    assert(toMs(task.createdAt) >= startMs);
    assert.equal(task.input.length + task.output.length, 0, topic);
  }
}

type ElectionScene = AsyncDisposable & {
  readonly door: TestDoor;
  /** On whose connection `one` and `two` campaigned in group g; `one` leads, in term 1. */
  readonly client: GrpcClient;
  /** Another connection, on which nobody campaigned. */
  readonly other: GrpcClient;
  readonly one: string;
  readonly two: string;
};

async function openElection(log?: HeldLog): Promise<ElectionScene> {
  await using opened = new AsyncDisposableStack();
  const door = opened.use(await openTestDoor(log ? { log } : {}));
  const client = await door.connectWarm();
  const other = await door.connectWarm();
  const one = await register(client, "one");
  const two = await register(client, "two");
  await client.campaign({ group: "g", agentId: one });
  await client.campaign({ group: "g", agentId: two });
  const closing = opened.move();
  return { door, client, other, one, two, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

/** The first thing a new WatchElection of g says is the next change, not the present state. */
async function assertNothingFirst({ other }: ElectionScene, client: GrpcClient): Promise<void> {
  using election = client.watchElection({ group: "g" });
  await election.begun;
  await other.find({});
  await client.fence();
  assert.deepEqual(election.waiting, []);
}

function card(name: string): AgentCard {
  return { name, description: "", version: "", capabilities: [], tools: [], metadata: new Map() };
}

async function register(client: GrpcClient, name: string, ttlSeconds = 3_600): Promise<string> {
  return (await client.register({ card: card(name), ttlSeconds })).agentId;
}

async function eventually(claim: () => boolean, patienceMs = 3_000): Promise<void> {
  const givesUpAtMs = performance.now() + patienceMs;
  while (!claim()) {
    assert(performance.now() < givesUpAtMs, `not within ${patienceMs} ms`);
    await sleep(5);
  }
}

function toMs(timestamp: Timestamp | undefined): number {
  assert(timestamp, "the timestamp must be set");
  const { seconds, nanos } = timestamp;
  assert(nanos >= 0 && nanos <= 999_999_999);
  return Number(seconds) * 1_000 + nanos / 1_000_000;
}
