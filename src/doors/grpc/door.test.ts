/**
 * The 22 methods through a real door, called by an independent client: what each answers, and with
 * which status it refuses. Time stands still unless a test moves it.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type GrpcClient,
  openTestDoor,
  payloadOf,
  refusalOf,
  statusOf,
  type TestDoor,
} from "../../testing/grpc-client.ts";
import {
  type AgentCard,
  AgentStatus,
  type Event,
  type Policy,
  PolicyEffect,
  type Task,
  TaskStatus,
  type Timestamp,
} from "../../wire/agentkeeper/index.ts";

const nobody = "0".repeat(32);
const startMs = 1_700_000_000_000;

type Scene = AsyncDisposable & { readonly door: TestDoor; readonly client: GrpcClient };

test("[AK-2.1-1] [AK-2.1-13] [AK-2.1-15] whoever registers is alive under a new id of 32 hex digits", async () => {
  await using scene = await open();
  const { client } = scene;
  const { agentId } = await client.register({ card: card("scraper") });
  assert.match(agentId, /^[0-9a-f]{32}$/);
  const { agent } = await client.getAgent({ agentId });
  assert.equal(agent?.agentId, agentId);
  assert.equal(agent.status, AgentStatus.ALIVE);
  assert.equal(toMs(agent.registeredAt), startMs);
  assert.equal(toMs(agent.lastHeartbeatAt), startMs);
});

test("[AK-2.1-16] [AK-1.4-6] [AK-2.0-6d] a card comes back as it was given: tools in order, capabilities, any metadata", async () => {
  await using scene = await open();
  const { client } = scene;
  const given: AgentCard = {
    name: "ünïcode 😀",
    description: "does\nthings",
    version: "1.0.0-rc.1",
    capabilities: [
      { name: "browse", description: "opens pages" },
      { name: "browse", description: "again" },
    ],
    tools: ["z", "a", "z"],
    metadata: new Map([
      ["__proto__", "polluted"],
      ["constructor", ""],
      ["", "empty key"],
    ]),
  };
  const { agentId } = await client.register({ card: given });
  assert.deepEqual((await client.getAgent({ agentId })).agent?.card, given);
  assert.deepEqual((await client.find({})).agents[0]?.card, given);
});

test("[AK-2.1-24] a name may be registered twice: two agents, and the first is untouched", async () => {
  await using scene = await open();
  const { client } = scene;
  const first = await register(client, "scraper");
  const second = await register(client, "scraper");
  assert.notEqual(first, second);
  assert.equal(await livenessOf(client, first), AgentStatus.ALIVE);
  await client.deregister({ agentId: second });
  assert.equal(await livenessOf(client, first), AgentStatus.ALIVE);
});

test("[AK-2.1-17] Register without a card or a name is INVALID_ARGUMENT", async () => {
  await using scene = await open();
  const { client } = scene;
  const noCard = await refusalOf(client.register({}));
  assert.equal(noCard?.status, "INVALID_ARGUMENT");
  assert.match(noCard.message, /card/);
  const noName = await refusalOf(client.register({ card: card("") }));
  assert.equal(noName?.status, "INVALID_ARGUMENT");
  assert.match(noName.message, /card\.name/);
});

test("[AK-2.1-14] [AK-1-3] a ttl of 0 is one of 30 s", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "default", { ttlSeconds: 0 });
  await door.clock.pass(30_400);
  assert.equal(await livenessOf(client, agentId), AgentStatus.ALIVE);
  await door.clock.pass(100);
  assert.equal(await livenessOf(client, agentId), AgentStatus.UNREACHABLE);
});

test("[AK-2.1-2] [AK-2.1-3] [AK-2.1-4] [AK-2.1-6] an agent falls silent, is heard of again, and dies of a longer silence", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "quiet", { ttlSeconds: 2 });
  using stream = client.watch({});
  await stream.begun;

  await door.clock.pass(2_499, 499);
  assert.equal(await livenessOf(client, agentId), AgentStatus.ALIVE);
  await door.clock.pass(1);
  assert.equal(await livenessOf(client, agentId), AgentStatus.UNREACHABLE);

  await client.heartbeat({ agentId });
  assert.equal(await livenessOf(client, agentId), AgentStatus.ALIVE);
  const { agent } = await client.getAgent({ agentId });
  assert.equal(toMs(agent?.lastHeartbeatAt), startMs + 2_500);

  await door.clock.pass(4_499, 499);
  assert.equal(await livenessOf(client, agentId), AgentStatus.UNREACHABLE);
  await door.clock.pass(1);
  assert.equal(await livenessOf(client, agentId), AgentStatus.DEAD);
  const refusal = await refusalOf(client.heartbeat({ agentId }));
  assert.equal(refusal?.status, "NOT_FOUND");
  assert.equal(await livenessOf(client, agentId), AgentStatus.DEAD);

  const topics = (await stream.take(4)).map(({ topic }) => topic);
  assert.deepEqual(topics, [
    "agent.unreachable",
    "ext.agent.recovered",
    "agent.unreachable",
    "agent.died",
  ]);
});

test("[AK-2.1-8] an agent whose two deadlines passed unseen is unreachable first, then dead", async () => {
  await using scene = await open();
  const { door, client } = scene;
  await register(client, "quiet", { ttlSeconds: 2 });
  using stream = client.watch({ topics: ["agent."] });
  await stream.begun;
  door.clock.leap(4_900);
  const topics = (await stream.take(2)).map(({ topic }) => topic);
  assert.deepEqual(topics, ["agent.unreachable", "agent.died"]);
});

test("[AK-2.1-9] a daemon that was away for more than 5 s declares nobody dead on its return", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "patient", { ttlSeconds: 1 });
  const lost = await register(client, "lost", { ttlSeconds: 1 });
  door.clock.leap(3_600_000);
  assert.equal(await livenessOf(client, agentId), AgentStatus.ALIVE);
  await client.heartbeat({ agentId });
  await door.clock.pass(1_400);
  assert.equal(await livenessOf(client, agentId), AgentStatus.ALIVE);
  await door.clock.pass(100);
  assert.equal(await livenessOf(client, lost), AgentStatus.UNREACHABLE);
  await door.clock.pass(148_400);
  assert.equal(await livenessOf(client, lost), AgentStatus.UNREACHABLE);
  await door.clock.pass(100);
  assert.equal(await livenessOf(client, lost), AgentStatus.DEAD);
});

test("[AK-2.0-7c] [AK-2.1-27] Find does not show an agent whose deadline has just passed", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "quiet", { ttlSeconds: 2 });
  const other = await register(client, "lively", { ttlSeconds: 60 });
  // The timer has not run yet: Find itself is what brings the time up to date.
  door.clock.leap(2_500);
  const { agents } = await client.find({});
  assert.deepEqual(
    agents.map((agent) => agent.agentId),
    [other],
  );
  assert.equal(await livenessOf(client, agentId), AgentStatus.UNREACHABLE);
});

test("[AK-2.0-1] [AK-2.1-27] Find after a Deregister on the same connection does not show the dead", async () => {
  await using scene = await open();
  const { client } = scene;
  const agentId = await register(client, "leaver");
  const [, { agents }] = await Promise.all([client.deregister({ agentId }), client.find({})]);
  assert.deepEqual(agents, []);
});

test("[AK-2.0-1] Find after a Heartbeat on the same connection shows whom it brought back", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "back", { ttlSeconds: 2 });
  await door.clock.pass(2_500);
  assert.equal(await livenessOf(client, agentId), AgentStatus.UNREACHABLE);
  const [, { agents }] = await Promise.all([client.heartbeat({ agentId }), client.find({})]);
  assert.deepEqual(
    agents.map((agent) => agent.agentId),
    [agentId],
  );
});

test("[AK-2.1-18] only Heartbeat keeps an agent alive", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "busy", { ttlSeconds: 2 });
  for (let second = 0; second < 3; second++) {
    await client.acquireLease({ taskId: "t", agentId });
    await client.campaign({ group: "g", agentId });
    await door.clock.pass(900);
  }
  assert.equal(await livenessOf(client, agentId), AgentStatus.UNREACHABLE);
});

test("[AK-2.1-5] [AK-2.1-20] [AK-2.1-22] Deregister is death at once, and a second one is no error and no event", async () => {
  await using scene = await open();
  const { client } = scene;
  const agentId = await register(client, "leaver");
  using stream = client.watch({ topics: ["agent."] });
  await stream.begun;
  await client.deregister({ agentId });
  assert.equal(await livenessOf(client, agentId), AgentStatus.DEAD);
  await client.deregister({ agentId });
  await register(client, "next");
  const topics = (await stream.take(2)).map(({ topic }) => topic);
  assert.deepEqual(topics, ["agent.died", "agent.registered"]);
});

test("[AK-2.0-4] [AK-2.0-5] [AK-2.1-19] [AK-2.1-21] [AK-2.1-23] acting as an agent that is unknown or dead is NOT_FOUND, and says which", async () => {
  await using scene = await open();
  const { client } = scene;
  const dead = await register(client, "dead");
  await client.deregister({ agentId: dead });
  const acts = [
    (agentId: string) => client.heartbeat({ agentId }),
    (agentId: string) => client.acquireLease({ taskId: "t", agentId }),
    (agentId: string) => client.campaign({ group: "g", agentId }),
    (agentId: string) => client.claimTask({ agentId }),
  ];
  for (const act of acts) {
    const unknown = await refusalOf(act(nobody));
    assert.equal(unknown?.status, "NOT_FOUND");
    assert.equal(unknown.message, `agent not found: ${nobody}`);
    const gone = await refusalOf(act(dead));
    assert.equal(gone?.status, "NOT_FOUND");
    assert.equal(gone.message, `agent is dead: ${dead}`);
  }
  assert.equal(await statusOf(client.getAgent({ agentId: dead })), "OK");
  assert.equal(await statusOf(client.deregister({ agentId: dead })), "OK");
  assert.equal(await statusOf(client.getAgent({ agentId: nobody })), "NOT_FOUND");
  assert.equal(await statusOf(client.deregister({ agentId: nobody })), "NOT_FOUND");
});

test("[AK-2.1-23] [AK-2.1-26] the dead are forgotten after 24 hours, and the living never", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const dead = await register(client, "dead");
  const living = await register(client, "living", { ttlSeconds: 2 ** 32 - 1 });
  await client.deregister({ agentId: dead });
  door.clock.leap(86_400_000 - 1);
  assert.equal(await statusOf(client.getAgent({ agentId: dead })), "OK");
  door.clock.leap(1);
  assert.equal(await statusOf(client.getAgent({ agentId: dead })), "NOT_FOUND");
  door.clock.leap(30 * 86_400_000);
  assert.equal(await livenessOf(client, living), AgentStatus.ALIVE);
});

test("[AK-2.1-10] [AK-2.1-11] [AK-2.1-12] death frees everything before the first event, and tells it in order", async () => {
  await using scene = await open();
  const { client } = scene;
  const dying = await register(client, "dying");
  const heir = await register(client, "heir");
  for (const taskId of ["b", "c", "a"]) await client.acquireLease({ taskId, agentId: dying });
  // Acquired again: the token of b is now the largest.
  await client.acquireLease({ taskId: "b", agentId: dying });
  for (const group of ["g2", "g10", "g1"]) {
    await client.campaign({ group, agentId: dying });
    await client.campaign({ group, agentId: heir });
  }
  await client.campaign({ group: "alone", agentId: dying });
  const { task } = await client.createTask({ type: "work" });
  await client.claimTask({ agentId: dying });
  const waiting = statusOf(client.claimTask({ agentId: dying }));
  await settle();

  using stream = client.watch({});
  await stream.begun;
  await client.deregister({ agentId: dying });
  const died = await stream.next();
  assert.equal(died.topic, "agent.died");
  // Whoever hears of the death finds everything free.
  assert.equal((await client.acquireLease({ taskId: "a", agentId: heir })).acquired, true);
  const { state } = await client.campaign({ group: "g1", agentId: heir });
  assert.equal(state?.leaderAgentId, heir);
  assert.equal((await client.getTask({ taskId: task?.id ?? "" })).task?.status, TaskStatus.PENDING);
  assert.equal(await waiting, "NOT_FOUND");

  const rest = await stream.take(8);
  assert.deepEqual(
    rest.map(({ topic }) => topic),
    [
      "lease.released",
      "lease.released",
      "lease.released",
      "leader.changed",
      "leader.changed",
      "leader.changed",
      "leader.changed",
      "task.requeued",
    ],
  );
  const numbers = [died, ...rest].map(({ sequenceNumber }) => sequenceNumber);
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => died.sequenceNumber + BigInt(index)),
  );
  assert.deepEqual(rest.map(subjectOf), ["c", "a", "b", "alone", "g1", "g10", "g2", task?.id]);
});

test("[AK-2.1-28] Find keeps agents that have every tool asked for, spelled exactly so", async () => {
  await using scene = await open();
  const { client } = scene;
  const both = await register(client, "both", { tools: ["browser", "http"] });
  await register(client, "one", { tools: ["browser"] });
  await register(client, "other", { tools: ["Browser", "http", "browser "] });
  assert.deepEqual(await found(client, { tools: ["browser", "http"] }), [both]);
  assert.deepEqual(await found(client, { tools: ["nothing"] }), []);
  assert.equal((await found(client, { tools: [] })).length, 3);
});

test("[AK-2.1-29] [AK-2.1-33] a query orders and does not remove; words count in any inflection", async () => {
  await using scene = await open();
  const { client } = scene;
  const web = await register(client, "a", { description: "Browses web pages fetches URLs" });
  const sql = await register(client, "b", { description: "Runs SQL queries reads database" });
  assert.deepEqual(await found(client, { query: "browse the web and fetch pages" }), [web, sql]);
  assert.deepEqual(await found(client, { query: "read a database with sql query" }), [sql, web]);
});

test("[AK-2.1-34] a query meets name, description, tools, capabilities and metadata values", async () => {
  await using scene = await open();
  const { client } = scene;
  const empty = card("x");
  const cards: Record<string, AgentCard> = {
    zeppelin: { ...empty, name: "zeppelin" },
    quartz: { ...empty, description: "polishes quartz" },
    trombone: { ...empty, tools: ["play_trombone"] },
    origami: { ...empty, capabilities: [{ name: "foldOrigami", description: "" }] },
    sextant: { ...empty, capabilities: [{ name: "", description: "reads a sextant" }] },
    marmalade: { ...empty, metadata: new Map([["kind", "marmalade"]]) },
  };
  for (const given of Object.values(cards)) await client.register({ card: given });
  for (const [query, given] of Object.entries(cards)) {
    const { agents } = await client.find({ query, limit: 1 });
    assert.deepEqual(agents[0]?.card, given, query);
  }
});

test("[AK-2.1-30] [AK-2.1-32] equals come newest first, then by id, and always in the same order", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const twins = async () => [await register(client, "twin"), await register(client, "twin")].sort();
  const older = await twins();
  await door.clock.pass(1);
  const newer = await twins();
  for (let round = 0; round < 3; round++) {
    assert.deepEqual(await found(client, {}), [...newer, ...older]);
    assert.deepEqual(await found(client, { query: "  " }), [...newer, ...older]);
    assert.deepEqual(await found(client, { query: "unlike" }), [...newer, ...older]);
  }
});

test("[AK-2.1-31] Find gives 10 unless told otherwise, and never more than 1,000", async () => {
  await using scene = await open();
  const { client } = scene;
  const names = Array.from({ length: 1_001 }, (_, index) => `agent-${index}`);
  await Promise.all(names.map((name) => register(client, name)));
  assert.equal((await found(client, { limit: 0 })).length, 10);
  assert.equal((await found(client, { limit: 3 })).length, 3);
  assert.equal((await found(client, { limit: 1_000 })).length, 1_000);
  assert.equal((await found(client, { limit: 5_000 })).length, 1_000);
  assert.equal((await found(client, { limit: 2 ** 32 - 1 })).length, 1_000);
});

test("[AK-2.1-32] among 1,000 agents, 99 of 100 queries are answered within 20 ms", async () => {
  await using scene = await open();
  const { client } = scene;
  const words = ["fetch", "page", "query", "database", "invoice", "parse", "image", "mail"];
  const names = Array.from({ length: 1_000 }, (_, index) => index);
  await Promise.all(
    names.map((index) =>
      register(client, `agent-${index}`, {
        description: `${words[index % 8]} and ${words[(index >> 3) % 8]} things ${index}`,
        tools: [`tool-${index % 10}`],
      }),
    ),
  );
  // The machine may be busy with other things: the best of a few rounds is what the door can do.
  const slowestOf100 = async (): Promise<number> => {
    const tookMs: number[] = [];
    for (let round = 0; round < 100; round++) {
      const startedMs = performance.now();
      await client.find({ query: `${words[round % 8]} ${words[(round * 3) % 8]}`, limit: 10 });
      tookMs.push(performance.now() - startedMs);
    }
    return tookMs.sort((one, other) => one - other)[98] ?? 0;
  };
  let bestMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5 && bestMs >= 20; round++) {
    bestMs = Math.min(bestMs, await slowestOf100());
  }
  assert(bestMs < 20, `${bestMs} ms`);
});

test("[AK-2.2-1] [AK-2.2-2] [AK-2.2-4] [AK-2.2-5] a lease has one holder; who comes second is told whose it is", async () => {
  await using scene = await open();
  const { client } = scene;
  const one = await register(client, "one");
  const two = await register(client, "two");
  const first = await client.acquireLease({ taskId: "t", agentId: one, ttlSeconds: 5 });
  assert.equal(first.acquired, true);
  assert.equal(first.lease?.taskId, "t");
  assert.equal(first.lease.holderAgentId, one);
  assert.equal(toMs(first.lease.acquiredAt), startMs);
  assert.equal(toMs(first.lease.expiresAt), startMs + 5_000);
  const token = tokenOf(first.lease);
  assert(token > 0n);

  using stream = client.watch({ topics: ["lease."] });
  await stream.begun;
  const second = await client.acquireLease({ taskId: "t", agentId: two });
  assert.deepEqual(second, { acquired: false, lease: first.lease });
  // No event of the refusal: the next one is of the next acquisition, whose token is the next.
  const other = await client.acquireLease({ taskId: "u", agentId: two });
  assert.equal(tokenOf(other.lease), token + 1n);
  const event = await stream.next();
  assert.equal(subjectOf(event), "u");
});

test("[AK-2.2-6] the holder may acquire again: a new token, new times, and the old token is dead", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "one");
  const { lease: old } = await client.acquireLease({ taskId: "t", agentId, ttlSeconds: 5 });
  await door.clock.pass(1_000);
  const { lease, acquired } = await client.acquireLease({ taskId: "t", agentId, ttlSeconds: 5 });
  assert.equal(acquired, true);
  assert.equal(tokenOf(lease), tokenOf(old) + 1n);
  assert.equal(toMs(lease?.acquiredAt), startMs + 1_000);
  assert.equal(toMs(lease?.expiresAt), startMs + 6_000);
  const renewal = client.renewLease({ taskId: "t", agentId, token: old?.token });
  assert.equal(await statusOf(renewal), "PERMISSION_DENIED");
  const release = client.releaseLease({ taskId: "t", agentId, token: old?.token });
  assert.equal(await statusOf(release), "PERMISSION_DENIED");
  await client.releaseLease({ taskId: "t", agentId, token: lease?.token });
});

test("[AK-2.2-7] [AK-1-3] a lease without a ttl lasts 60 s", async () => {
  await using scene = await open();
  const { client } = scene;
  const agentId = await register(client, "one");
  const { lease } = await client.acquireLease({ taskId: "t", agentId });
  assert.equal(toMs(lease?.expiresAt), startMs + 60_000);
});

test("[AK-2.2-8] [AK-2.2-19] an unreachable agent keeps its leases and may acquire more", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "quiet", { ttlSeconds: 2 });
  const rival = await register(client, "rival");
  await client.acquireLease({ taskId: "t", agentId, ttlSeconds: 60 });
  await door.clock.pass(2_500);
  assert.equal(await livenessOf(client, agentId), AgentStatus.UNREACHABLE);
  assert.equal((await client.acquireLease({ taskId: "t", agentId: rival })).acquired, false);
  assert.equal((await client.acquireLease({ taskId: "u", agentId })).acquired, true);
});

test("[AK-2.0-3] [AK-2.0-6a] [AK-2.2-9] AcquireLease: what is empty is told before who is unknown", async () => {
  await using scene = await open();
  const { client } = scene;
  const agentId = await register(client, "one");
  const noTask = await refusalOf(client.acquireLease({ agentId: nobody }));
  assert.equal(noTask?.status, "INVALID_ARGUMENT");
  assert.match(noTask.message, /task_id/);
  const noAgent = await refusalOf(client.acquireLease({ taskId: "t" }));
  assert.equal(noAgent?.status, "INVALID_ARGUMENT");
  assert.match(noAgent.message, /agent_id/);
  // Held by another: still, an unknown agent is unknown.
  await client.acquireLease({ taskId: "t", agentId });
  assert.equal(await statusOf(client.acquireLease({ taskId: "t", agentId: nobody })), "NOT_FOUND");
});

test("[AK-2.2-10] renewing moves the end, also closer, and nothing else", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "one");
  const { lease: old } = await client.acquireLease({ taskId: "t", agentId, ttlSeconds: 60 });
  await door.clock.pass(1_000);
  using stream = client.watch({ topics: ["lease."] });
  await stream.begun;
  const named = { taskId: "t", agentId, token: old?.token };
  const { lease } = await client.renewLease({ ...named, ttlSeconds: 2 });
  assert.deepEqual(lease, { ...old, expiresAt: fromMs(startMs + 3_000) });
  assert.equal((await stream.next()).topic, "lease.renewed");
  const { lease: longer } = await client.renewLease({ ...named, ttlSeconds: 600 });
  assert.equal(toMs(longer?.expiresAt), startMs + 601_000);
});

test("[AK-2.2-11] renewing without a ttl asks for as long as last time", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "one");
  const { lease } = await client.acquireLease({ taskId: "t", agentId, ttlSeconds: 7 });
  const named = { taskId: "t", agentId, token: lease?.token };
  await door.clock.pass(1_000);
  const once = await client.renewLease(named);
  assert.equal(toMs(once.lease?.expiresAt), startMs + 8_000);
  await client.renewLease({ ...named, ttlSeconds: 9 });
  const twice = await client.renewLease(named);
  assert.equal(toMs(twice.lease?.expiresAt), startMs + 10_000);
});

test("[AK-2.2-12] [AK-2.2-15] [AK-2.0-4] another token, another agent or no token at all is PERMISSION_DENIED", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "one");
  const other = await register(client, "two");
  const { lease } = await client.acquireLease({ taskId: "t", agentId });
  const { lease: newer } = await client.acquireLease({ taskId: "u", agentId: other });
  const before = await door.hashState();
  for (const call of [client.renewLease, client.releaseLease]) {
    for (const wrong of [
      { taskId: "t", agentId, token: newer?.token },
      { taskId: "t", agentId, token: { value: 0n } },
      { taskId: "t", agentId, token: { value: 2n ** 64n - 1n } },
      { taskId: "t", agentId },
      { taskId: "t", agentId: other, token: lease?.token },
      { taskId: "t", agentId: nobody, token: lease?.token },
    ]) {
      assert.equal(await statusOf(call(wrong)), "PERMISSION_DENIED");
    }
  }
  assert.equal(await door.hashState(), before);
});

test("[AK-2.2-13] [AK-2.2-16] [AK-2.0-4] a lease that never was, expired, was released or lost its holder is NOT_FOUND", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "one");
  const dying = await register(client, "dying");
  const released = await client.acquireLease({ taskId: "released", agentId });
  await client.releaseLease({ taskId: "released", agentId, token: released.lease?.token });
  const expired = await client.acquireLease({ taskId: "expired", agentId, ttlSeconds: 1 });
  await door.clock.pass(1_000);
  const orphan = await client.acquireLease({ taskId: "orphan", agentId: dying });
  await client.deregister({ agentId: dying });
  for (const call of [client.renewLease, client.releaseLease]) {
    for (const gone of [
      { taskId: "never", agentId, token: { value: 1n } },
      { taskId: "released", agentId, token: released.lease?.token },
      { taskId: "expired", agentId, token: expired.lease?.token },
      { taskId: "orphan", agentId: dying, token: orphan.lease?.token },
    ]) {
      assert.equal(await statusOf(call(gone)), "NOT_FOUND");
    }
    assert.equal(await statusOf(call({ agentId, token: { value: 1n } })), "INVALID_ARGUMENT");
    assert.equal(await statusOf(call({ taskId: "t", token: { value: 1n } })), "INVALID_ARGUMENT");
  }
});

test("[AK-2.0-7c] [AK-2.2-17] a lease ends at its time, whether or not the timer has looked", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "one");
  const rival = await register(client, "rival");
  const { lease } = await client.acquireLease({ taskId: "t", agentId, ttlSeconds: 3 });
  using stream = client.watch({ topics: ["lease."] });
  await stream.begun;
  door.clock.leap(2_999);
  assert.equal((await client.acquireLease({ taskId: "t", agentId: rival })).acquired, false);
  door.clock.leap(1);
  const taken = await client.acquireLease({ taskId: "t", agentId: rival });
  assert.equal(taken.acquired, true);
  const late = client.renewLease({ taskId: "t", agentId, token: lease?.token });
  assert.equal(await statusOf(late), "PERMISSION_DENIED");
  const [expired, acquired] = await stream.take(2);
  assert.equal(expired?.topic, "lease.expired");
  assert.equal(acquired?.topic, "lease.acquired");
});

test("[AK-2.2-14] [AK-2.2-18] [AK-2.2-20] each token ends once: expired, released, or superseded without a word", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "one");
  const dying = await register(client, "dying");
  using stream = client.watch({ topics: ["lease."] });
  await stream.begun;
  await client.acquireLease({ taskId: "again", agentId });
  const again = await client.acquireLease({ taskId: "again", agentId });
  await client.releaseLease({ taskId: "again", agentId, token: again.lease?.token });
  await client.acquireLease({ taskId: "short", agentId, ttlSeconds: 1 });
  await client.acquireLease({ taskId: "orphan", agentId: dying });
  await client.deregister({ agentId: dying });
  await door.clock.pass(1_000);
  const events = await stream.take(7);
  const tokens = events.map((event) => tokenOf(payloadOf(event).lease));
  const first = tokens[0] ?? 0n;
  const story = events.map(
    (event, index) => `${event.topic} ${subjectOf(event)} ${(tokens[index] ?? 0n) - first}`,
  );
  assert.deepEqual(story, [
    "lease.acquired again 0",
    "lease.acquired again 1",
    "lease.released again 1",
    "lease.acquired short 2",
    "lease.acquired orphan 3",
    "lease.released orphan 3",
    "lease.expired short 2",
  ]);
});

test("[AK-2.3-1] [AK-2.3-2] [AK-2.3-3] the first candidate leads; who comes later waits, and everyone is told the state", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const one = await register(client, "one");
  const two = await register(client, "two");
  using stream = client.watch({ topics: ["leader."] });
  await stream.begun;
  const { state } = await client.campaign({ group: "g", agentId: one });
  assert.deepEqual(state, {
    group: "g",
    leaderAgentId: one,
    term: 1n,
    electedAt: fromMs(startMs),
  });
  await door.clock.pass(1_000);
  assert.deepEqual(await client.campaign({ group: "g", agentId: two }), { state });
  assert.deepEqual(await client.campaign({ group: "g", agentId: one }), { state });
  assert.deepEqual(payloadOf(await stream.next()).election, state);
  await settle();
  assert.deepEqual(stream.waiting, []);
});

test("[AK-2.3-4] [AK-2.3-8] [AK-2.3-10] a leader that resigns is succeeded at once by the earliest, in the next term", async () => {
  await using scene = await open();
  const { client } = scene;
  const [one, two, three] = [
    await register(client, "one"),
    await register(client, "two"),
    await register(client, "three"),
  ];
  for (const agentId of [one, two, three]) await client.campaign({ group: "g", agentId });
  await client.resign({ group: "g", agentId: one });
  const afterOne = await client.campaign({ group: "g", agentId: two });
  assert.equal(afterOne.state?.leaderAgentId, two);
  assert.equal(afterOne.state.term, 2n);
  // Who campaigns again after resigning stands at the end.
  await client.campaign({ group: "g", agentId: one });
  await client.resign({ group: "g", agentId: two });
  const afterTwo = await client.campaign({ group: "g", agentId: one });
  assert.equal(afterTwo.state?.leaderAgentId, three);
  assert.equal(afterTwo.state.term, 3n);
});

test("[AK-2.3-5] [AK-2.3-6] resigning without an office changes no leader, and is no error", async () => {
  await using scene = await open();
  const { client } = scene;
  const one = await register(client, "one");
  const two = await register(client, "two");
  const three = await register(client, "three");
  await client.campaign({ group: "g", agentId: one });
  await client.campaign({ group: "g", agentId: two });
  await client.campaign({ group: "g", agentId: three });
  using stream = client.watch({ topics: ["leader."] });
  await stream.begun;
  await client.resign({ group: "g", agentId: two });
  await client.resign({ group: "g", agentId: two });
  await client.resign({ group: "g", agentId: nobody });
  await client.resign({ group: "unknown", agentId: one });
  await client.resign({ group: "g", agentId: one });
  const { state } = await client.campaign({ group: "g", agentId: three });
  assert.equal(state?.leaderAgentId, three);
  assert.equal(state.term, 2n);
  await stream.next();
  await settle();
  assert.deepEqual(stream.waiting, []);
});

test("[AK-2.3-7] [AK-2.3-8] an unreachable leader stays; a dead one is succeeded by the earliest that is alive", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const leader = await register(client, "leader", { ttlSeconds: 2 });
  const quiet = await register(client, "quiet", { ttlSeconds: 3 });
  const lively = await register(client, "lively", { ttlSeconds: 60 });
  for (const agentId of [leader, quiet, lively]) await client.campaign({ group: "g", agentId });
  await client.campaign({ group: "h", agentId: leader });
  await client.campaign({ group: "h", agentId: quiet });
  await door.clock.pass(4_000);
  assert.equal(await livenessOf(client, leader), AgentStatus.UNREACHABLE);
  assert.equal(await livenessOf(client, quiet), AgentStatus.UNREACHABLE);
  const { state } = await client.campaign({ group: "g", agentId: lively });
  assert.equal(state?.leaderAgentId, leader);
  await door.clock.pass(500);
  const after = await client.campaign({ group: "g", agentId: lively });
  assert.equal(after.state?.leaderAgentId, lively);
  // Nobody alive is left in h: the earliest that is only unreachable takes over.
  const other = await client.campaign({ group: "h", agentId: lively });
  assert.equal(other.state?.leaderAgentId, quiet);
});

test("[AK-2.3-9] [AK-2.3-12] when the last candidate leaves, the group goes on without a leader, one term later", async () => {
  await using scene = await open();
  const { client } = scene;
  const one = await register(client, "one");
  const two = await register(client, "two");
  await client.campaign({ group: "g", agentId: one });
  using stream = client.watchElection({ group: "g" });
  await stream.begun;
  await client.resign({ group: "g", agentId: one });
  assert.deepEqual(payloadOf(await stream.next()).election, {
    group: "g",
    leaderAgentId: "",
    term: 2n,
    electedAt: undefined,
  });
  const { state } = await client.campaign({ group: "g", agentId: two });
  assert.equal(state?.term, 3n);
  assert.equal(state.leaderAgentId, two);
});

test("[AK-2.3-11] [AK-2.6.6-3] elections without a group or an agent are INVALID_ARGUMENT", async () => {
  await using scene = await open();
  const { client } = scene;
  const agentId = await register(client, "one");
  for (const call of [client.campaign, client.resign]) {
    const noGroup = await refusalOf(call({ agentId }));
    assert.equal(noGroup?.status, "INVALID_ARGUMENT");
    assert.match(noGroup.message, /group/);
    assert.equal(await statusOf(call({ group: "g" })), "INVALID_ARGUMENT");
  }
  using stream = client.watchElection({});
  assert.equal((await stream.ended).status, "INVALID_ARGUMENT");
});

test("[AK-2.4-4] [AK-2.4-5] [AK-2.4-6] deny beats allow, nothing means no, and the reason names the policy", async () => {
  await using scene = await open();
  const { client } = scene;
  const ask = (resource: string): Promise<unknown> =>
    client.checkPolicy({ subject: "agent:a", action: "call", resource });
  assert.deepEqual(await ask("tool:x"), { allowed: false, reason: "no matching policy" });
  await client.setPolicy({ policy: policy("b", { effect: PolicyEffect.ALLOW }) });
  await client.setPolicy({ policy: policy("a", { effect: PolicyEffect.ALLOW }) });
  assert.deepEqual(await ask("tool:x"), { allowed: true, reason: 'allowed by policy "a"' });
  await client.setPolicy({ policy: policy("z", { resource: "tool:x" }) });
  await client.setPolicy({ policy: policy("y", { resource: "tool:*" }) });
  assert.deepEqual(await ask("tool:x"), { allowed: false, reason: 'denied by policy "y"' });
  await client.deletePolicy({ id: "y" });
  assert.deepEqual(await ask("tool:x"), { allowed: false, reason: 'denied by policy "z"' });
  assert.deepEqual(await ask("tool:other"), { allowed: true, reason: 'allowed by policy "a"' });
});

test("[AK-2.4-7] setting a policy again replaces all of it, at once", async () => {
  await using scene = await open();
  const { client } = scene;
  const first = policy("p", { subject: "agent:old", effect: PolicyEffect.ALLOW });
  const second = policy("p", { subject: "agent:new", effect: PolicyEffect.ALLOW });
  assert.deepEqual(await client.setPolicy({ policy: first }), { policy: first });
  assert.deepEqual(await client.setPolicy({ policy: second }), { policy: second });
  assert.deepEqual((await client.listPolicies({})).policies, [second]);
  const asked = { action: "call", resource: "tool:x" };
  assert.equal((await client.checkPolicy({ ...asked, subject: "agent:old" })).allowed, false);
  assert.equal((await client.checkPolicy({ ...asked, subject: "agent:new" })).allowed, true);
});

test("[AK-2.4-8] a policy with a missing field or effect is INVALID_ARGUMENT, which names it", async () => {
  await using scene = await open();
  const { client } = scene;
  assert.equal(await statusOf(client.setPolicy({})), "INVALID_ARGUMENT");
  for (const field of ["id", "subject", "action", "resource"] as const) {
    const refusal = await refusalOf(client.setPolicy({ policy: { ...policy("p"), [field]: "" } }));
    assert.equal(refusal?.status, "INVALID_ARGUMENT");
    assert.match(refusal.message, new RegExp(`policy\\.${field}`));
  }
  for (const effect of [PolicyEffect.UNSPECIFIED, 3 as PolicyEffect, PolicyEffect.UNRECOGNIZED]) {
    const refusal = await refusalOf(client.setPolicy({ policy: { ...policy("p"), effect } }));
    assert.equal(refusal?.status, "INVALID_ARGUMENT");
    assert.match(refusal.message, /effect/);
  }
  assert.deepEqual((await client.listPolicies({})).policies, []);
});

test("[AK-2.4-9] deleting a policy that is not there is no error; deleting none is", async () => {
  await using scene = await open();
  const { client } = scene;
  await client.setPolicy({ policy: policy("p") });
  await client.deletePolicy({ id: "p" });
  await client.deletePolicy({ id: "p" });
  assert.deepEqual((await client.listPolicies({})).policies, []);
  assert.equal(await statusOf(client.deletePolicy({})), "INVALID_ARGUMENT");
});

test("[AK-2.4-10] policies are listed by the text of their subject, in the order of their ids", async () => {
  await using scene = await open();
  const { client } = scene;
  await client.setPolicy({ policy: policy("b", { subject: "agent:*" }) });
  await client.setPolicy({ policy: policy("c", { subject: "agent:x" }) });
  await client.setPolicy({ policy: policy("B", { subject: "user:agent:" }) });
  await client.setPolicy({ policy: policy("a", { subject: "agent:" }) });
  const idsOf = async (subjectPrefix: string): Promise<readonly string[]> =>
    (await client.listPolicies({ subjectPrefix })).policies.map(({ id }) => id);
  assert.deepEqual(await idsOf(""), ["B", "a", "b", "c"]);
  assert.deepEqual(await idsOf("agent:"), ["a", "b", "c"]);
  // A star is a character here, and stands only where it was written.
  assert.deepEqual(await idsOf("agent:*"), ["b"]);
  assert.deepEqual(await idsOf("*"), []);
});

test("[AK-2.4-11] CheckPolicy takes empty fields as they are", async () => {
  await using scene = await open();
  const { client } = scene;
  assert.deepEqual(await client.checkPolicy({}), { allowed: false, reason: "no matching policy" });
  const all = policy("p", { subject: "*", action: "*", resource: "*" });
  await client.setPolicy({ policy: { ...all, effect: PolicyEffect.ALLOW } });
  assert.equal((await client.checkPolicy({})).allowed, true);
});

test("[AK-2.4-12] policies advise: nothing else is refused because of them", async () => {
  await using scene = await open();
  const { client } = scene;
  const all = policy("p", { subject: "*", action: "*", resource: "*" });
  await client.setPolicy({ policy: all });
  const agentId = await register(client, "one");
  assert.equal((await client.acquireLease({ taskId: "t", agentId })).acquired, true);
  assert.equal(await statusOf(client.campaign({ group: "g", agentId })), "OK");
  await client.createTask({ type: "work" });
  assert.equal(await statusOf(client.claimTask({ agentId })), "OK");
});

test("[AK-2.5-1] [AK-2.5-3] [AK-2.5-8] [AK-2.5-11] [AK-2.5-16] a task is created, claimed and completed", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "worker", { tools: ["sql"] });
  const { task: created } = await client.createTask({
    type: "report",
    input: Buffer.from([0, 0xff]),
    requiredTools: ["sql"],
    maxRetries: 2,
  });
  const pending: Task = {
    id: created?.id ?? "",
    type: "report",
    input: Buffer.from([0, 0xff]),
    output: Buffer.alloc(0),
    status: TaskStatus.PENDING,
    requiredTools: ["sql"],
    maxRetries: 2,
    retryCount: 0,
    claimedByAgentId: "",
    failureReason: "",
    createdAt: fromMs(startMs),
    claimedAt: undefined,
    completedAt: undefined,
    claimToken: 0n,
    claimExpiresAt: undefined,
    deliveryCount: 0,
  };
  assert.match(pending.id, /^[0-9a-f]{32}$/);
  assert.deepEqual(created, pending);
  await door.clock.pass(1_000);
  const claimed: Task = {
    ...pending,
    status: TaskStatus.CLAIMED,
    claimedByAgentId: agentId,
    claimedAt: fromMs(startMs + 1_000),
    claimToken: 1n,
    claimExpiresAt: fromMs(startMs + 61_000),
    deliveryCount: 1,
  };
  assert.deepEqual(await client.claimTask({ agentId }), { task: claimed });
  await door.clock.pass(1_000);
  await client.completeTask({ taskId: pending.id, agentId, output: Buffer.from("done") });
  const { task } = await client.getTask({ taskId: pending.id });
  assert.deepEqual(task, {
    ...claimed,
    status: TaskStatus.COMPLETED,
    output: Buffer.from("done"),
    completedAt: fromMs(startMs + 2_000),
    claimToken: 0n,
    claimExpiresAt: undefined,
  });
});

test("[AK-2.5-3] [AK-2.5-7] a claim waits until there is a task, and its creator is still told PENDING", async () => {
  await using scene = await open();
  const { client } = scene;
  const agentId = await register(client, "worker");
  const claim = client.claimTask({ agentId });
  await settle();
  const { task } = await client.createTask({ type: "work" });
  assert.equal(task?.status, TaskStatus.PENDING);
  assert.equal((await claim).task?.id, task.id);
});

test("[AK-2.5-4] [AK-2.5-20] [AK-2.5-27] a task waits for ever, a claim for its ttl, and then the task goes back uncounted", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "worker", { ttlSeconds: 2 ** 32 - 1 });
  const { task } = await client.createTask({ type: "work", ttlSeconds: 5 });
  const taskId = task?.id ?? "";
  door.clock.leap(40 * 86_400_000);
  await client.claimTask({ agentId });
  await door.clock.pass(4_900);
  assert.equal((await client.getTask({ taskId })).task?.status, TaskStatus.CLAIMED);
  await door.clock.pass(100);
  const { task: back } = await client.getTask({ taskId });
  assert.deepEqual(back, { ...task, deliveryCount: 1 });
  const late = client.completeTask({ taskId, agentId });
  assert.equal(await statusOf(late), "FAILED_PRECONDITION");
});

test("[AK-2.5-4] [AK-1-3] a claim without a ttl lasts 60 s", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "worker", { ttlSeconds: 600 });
  const { task } = await client.createTask({ type: "work" });
  await client.claimTask({ agentId });
  await door.clock.pass(59_900);
  assert.equal((await client.getTask({ taskId: task?.id ?? "" })).task?.status, TaskStatus.CLAIMED);
  await door.clock.pass(100);
  assert.equal((await client.getTask({ taskId: task?.id ?? "" })).task?.status, TaskStatus.PENDING);
});

test("[AK-2.5-6] a task goes only to an agent with all the tools it asks for", async () => {
  await using scene = await open();
  const { client } = scene;
  const plain = await register(client, "plain");
  const half = await register(client, "half", { tools: ["sql"] });
  const full = await register(client, "full", { tools: ["mail", "sql", "http"] });
  const claims = [plain, half, full].map((agentId) => client.claimTask({ agentId }));
  await settle();
  const { task: hard } = await client.createTask({ type: "a", requiredTools: ["sql", "mail"] });
  assert.equal((await claims[2])?.task?.id, hard?.id);
  const { task: easy } = await client.createTask({ type: "b" });
  assert.equal((await claims[0])?.task?.id, easy?.id);
  const { task: sql } = await client.createTask({ type: "c", requiredTools: ["sql", "sql"] });
  assert.equal((await claims[1])?.task?.id, sql?.id);
});

test("[AK-2.5-9] the oldest task goes first, to who has waited longest, and to nobody else", async () => {
  await using scene = await open();
  const { client } = scene;
  const agentId = await register(client, "worker");
  const created: string[] = [];
  for (const type of ["a", "b", "c"]) {
    created.push((await client.createTask({ type })).task?.id ?? "");
  }
  const claimed: string[] = [];
  for (let count = 0; count < 3; count++) {
    claimed.push((await client.claimTask({ agentId })).task?.id ?? "");
  }
  assert.deepEqual(claimed, created);

  const answered: number[] = [];
  const waiting = [0, 1, 2].map(async (place) => {
    await client.claimTask({ agentId });
    answered.push(place);
  });
  await settle();
  for (let count = 0; count < 3; count++) {
    await client.createTask({ type: "next" });
    await settle();
    assert.equal(answered.length, count + 1);
  }
  await Promise.all(waiting);
  assert.deepEqual(answered, [0, 1, 2]);
});

test("[AK-2.5-10] ClaimTask: empty is INVALID_ARGUMENT, and dying while waiting is NOT_FOUND", async () => {
  await using scene = await open();
  const { door, client } = scene;
  assert.equal(await statusOf(client.claimTask({})), "INVALID_ARGUMENT");
  const leaver = await register(client, "leaver");
  const silent = await register(client, "silent", { ttlSeconds: 1 });
  const left = refusalOf(client.claimTask({ agentId: leaver }));
  const lost = refusalOf(client.claimTask({ agentId: silent }));
  await settle();
  await client.deregister({ agentId: leaver });
  assert.equal((await left)?.status, "NOT_FOUND");
  await door.clock.pass(2_500);
  assert.equal((await lost)?.message, `agent is dead: ${silent}`);
});

test("[AK-2.5-12] completing again with the same output is a lost reply, with another a mistake", async () => {
  await using scene = await open();
  const { client } = scene;
  const agentId = await register(client, "worker");
  const other = await register(client, "other");
  const { task } = await client.createTask({ type: "work" });
  const taskId = task?.id ?? "";
  await client.claimTask({ agentId });
  const output = Buffer.from("done");
  await client.completeTask({ taskId, agentId, output });
  assert.equal(await statusOf(client.completeTask({ taskId, agentId, output })), "OK");
  const changed = client.completeTask({ taskId, agentId, output: Buffer.from("else") });
  assert.equal(await statusOf(changed), "FAILED_PRECONDITION");
  const stolen = client.completeTask({ taskId, agentId: other, output });
  assert.equal(await statusOf(stolen), "FAILED_PRECONDITION");
  assert.deepEqual((await client.getTask({ taskId })).task?.output, output);
});

test("[AK-2.5-13] [AK-2.5-15] [AK-2.0-3] only the claimant ends a task, and only while it is claimed", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "worker");
  const other = await register(client, "other");
  const { task } = await client.createTask({ type: "work" });
  const taskId = task?.id ?? "";
  for (const call of [client.completeTask, client.failTask]) {
    assert.equal(await statusOf(call({ agentId })), "INVALID_ARGUMENT");
    assert.equal(await statusOf(call({ taskId })), "INVALID_ARGUMENT");
    assert.equal(await statusOf(call({ taskId: nobody, agentId })), "NOT_FOUND");
    assert.equal(await statusOf(call({ taskId, agentId })), "FAILED_PRECONDITION");
  }
  await client.claimTask({ agentId });
  const before = await door.hashState();
  for (const call of [client.completeTask, client.failTask]) {
    assert.equal(await statusOf(call({ taskId, agentId: other })), "PERMISSION_DENIED");
    assert.equal(await statusOf(call({ taskId, agentId: nobody })), "PERMISSION_DENIED");
  }
  assert.equal(await door.hashState(), before);
  assert.equal(await statusOf(client.getTask({ taskId: nobody })), "NOT_FOUND");
  assert.equal(await statusOf(client.getTask({})), "INVALID_ARGUMENT");
});

test("[AK-2.5-14] [AK-2.5-19] a task that fails is tried max_retries times more, at the end of the queue, then dead", async () => {
  await using scene = await open();
  const { client } = scene;
  const agentId = await register(client, "worker");
  const { task } = await client.createTask({ type: "work", maxRetries: 1 });
  const taskId = task?.id ?? "";
  const { task: other } = await client.createTask({ type: "other" });
  await client.claimTask({ agentId });
  await client.failTask({ taskId, agentId, reason: "first" });
  const { task: retried } = await client.getTask({ taskId });
  assert.deepEqual(retried, { ...task, retryCount: 1, failureReason: "first", deliveryCount: 1 });

  assert.equal((await client.claimTask({ agentId })).task?.id, other?.id);
  assert.equal((await client.claimTask({ agentId })).task?.id, taskId);
  await client.failTask({ taskId, agentId, reason: "second" });
  const { task: dead } = await client.getTask({ taskId });
  assert.equal(dead?.status, TaskStatus.DEAD);
  assert.equal(dead.retryCount, 1);
  assert.equal(dead.failureReason, "second");
  assert.equal(dead.claimedByAgentId, agentId);
  assert.equal(dead.completedAt, undefined);
  assert.equal(await statusOf(client.failTask({ taskId, agentId })), "FAILED_PRECONDITION");
});

test("[AK-2.5-14] with no retries, the first failure is final", async () => {
  await using scene = await open();
  const { client } = scene;
  const agentId = await register(client, "worker");
  const { task } = await client.createTask({ type: "work" });
  await client.claimTask({ agentId });
  await client.failTask({ taskId: task?.id ?? "", agentId });
  assert.equal((await client.getTask({ taskId: task?.id ?? "" })).task?.status, TaskStatus.DEAD);
});

test("[AK-2.5-20] [AK-2.5-21] a dead claimant's task goes back uncounted, and again and again", async () => {
  await using scene = await open();
  const { client } = scene;
  const { task } = await client.createTask({ type: "work" });
  for (let count = 0; count < 3; count++) {
    const agentId = await register(client, `worker-${count}`);
    assert.equal((await client.claimTask({ agentId })).task?.id, task?.id);
    await client.deregister({ agentId });
    const { task: back } = await client.getTask({ taskId: task?.id ?? "" });
    assert.deepEqual(back, { ...task, deliveryCount: count + 1 });
  }
});

test("[AK-2.5-2] [AK-2.5-17] tasks are listed by state and creation; none is ever FAILED", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "worker");
  const ids: string[] = [];
  for (const type of ["completed", "dead", "claimed", "pending"]) {
    ids.push((await client.createTask({ type })).task?.id ?? "");
    await door.clock.pass(1);
  }
  for (let count = 0; count < 3; count++) await client.claimTask({ agentId });
  const [completed = "", dead = "", claimed = "", pending = ""] = ids;
  await client.completeTask({ taskId: completed, agentId });
  await client.failTask({ taskId: dead, agentId });
  const listed = async (status: TaskStatus): Promise<readonly string[]> =>
    (await client.listTasks({ status })).tasks.map(({ id }) => id);
  assert.deepEqual(await listed(TaskStatus.UNSPECIFIED), ids);
  assert.deepEqual(await listed(TaskStatus.PENDING), [pending]);
  assert.deepEqual(await listed(TaskStatus.CLAIMED), [claimed]);
  assert.deepEqual(await listed(TaskStatus.COMPLETED), [completed]);
  assert.deepEqual(await listed(TaskStatus.DEAD), [dead]);
  assert.deepEqual(await listed(TaskStatus.FAILED), []);
  assert.deepEqual(await listed(17 as TaskStatus), []);
});

test("[AK-2.5-17] tasks created at the same time are listed by id", async () => {
  await using scene = await open();
  const { client } = scene;
  const created = await Promise.all(
    Array.from({ length: 20 }, () => client.createTask({ type: "work" })),
  );
  const ids = created.map(({ task }) => task?.id ?? "").sort();
  const { tasks } = await client.listTasks({});
  assert.deepEqual(
    tasks.map(({ id }) => id),
    ids,
  );
});

test("[AK-2.5-24] one agent may hold several claims and wait for more", async () => {
  await using scene = await open();
  const { client } = scene;
  const agentId = await register(client, "worker");
  const claims = Array.from({ length: 5 }, () => client.claimTask({ agentId }));
  await settle();
  for (let count = 0; count < 5; count++) await client.createTask({ type: "work" });
  const ids = (await Promise.all(claims)).map(({ task }) => task?.id);
  assert.equal(new Set(ids).size, 5);
  assert.equal((await client.listTasks({ status: TaskStatus.CLAIMED })).tasks.length, 5);
});

test("[AK-2.5-25] an unreachable agent's claims stay open, and get a task when it is heard of again", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "quiet", { ttlSeconds: 2 });
  const claim = client.claimTask({ agentId });
  await settle();
  await door.clock.pass(2_500);
  const { task } = await client.createTask({ type: "work" });
  const other = client.claimTask({ agentId });
  await settle();
  assert.equal((await client.getTask({ taskId: task?.id ?? "" })).task?.status, TaskStatus.PENDING);
  await client.heartbeat({ agentId });
  assert.equal((await claim).task?.id, task?.id);
  const { task: next } = await client.createTask({ type: "work" });
  assert.equal((await other).task?.id, next?.id);
});

test("[AK-2.5-26] a claim is no lease: a lease on the task's id comes and goes beside it", async () => {
  await using scene = await open();
  const { client } = scene;
  const agentId = await register(client, "worker");
  using stream = client.watch({ topics: ["lease."] });
  await stream.begun;
  const { task } = await client.createTask({ type: "work" });
  const taskId = task?.id ?? "";
  await client.claimTask({ agentId });
  assert.deepEqual(stream.waiting, []);
  const { lease } = await client.acquireLease({ taskId, agentId });
  await client.releaseLease({ taskId, agentId, token: lease?.token });
  await client.completeTask({ taskId, agentId });
  const topics = (await stream.take(2)).map(({ topic }) => topic);
  assert.deepEqual(topics, ["lease.acquired", "lease.released"]);
});

test("[AK-2.5-27] ended tasks are forgotten after 24 hours", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const agentId = await register(client, "worker");
  const { task } = await client.createTask({ type: "work", input: Buffer.from("x") });
  const { task: waiting } = await client.createTask({ type: "work" });
  await client.claimTask({ agentId });
  await client.completeTask({ taskId: task?.id ?? "", agentId });
  door.clock.leap(86_400_000 - 1);
  assert.equal(await statusOf(client.getTask({ taskId: task?.id ?? "" })), "OK");
  door.clock.leap(1);
  assert.equal(await statusOf(client.getTask({ taskId: task?.id ?? "" })), "NOT_FOUND");
  assert.equal(await statusOf(client.getTask({ taskId: waiting?.id ?? "" })), "OK");
});

test("[AK-2.0-7a] ttls of 2^32-1 seconds are 136 years, not a moment", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const ttlSeconds = 2 ** 32 - 1;
  const agentId = await register(client, "tortoise", { ttlSeconds });
  const { lease } = await client.acquireLease({ taskId: "t", agentId, ttlSeconds });
  assert.equal(toMs(lease?.expiresAt), startMs + ttlSeconds * 1_000);
  const { task } = await client.createTask({ type: "work", ttlSeconds, maxRetries: ttlSeconds });
  assert.equal(task?.maxRetries, ttlSeconds);
  await client.claimTask({ agentId });
  await client.renewLease({ taskId: "t", agentId, token: lease?.token, ttlSeconds });
  door.clock.leap(100 * 365 * 86_400_000);
  assert.equal(await livenessOf(client, agentId), AgentStatus.ALIVE);
  const rival = await register(client, "rival");
  assert.equal((await client.acquireLease({ taskId: "t", agentId: rival })).acquired, false);
  const { task: still } = await client.getTask({ taskId: task.id });
  assert.equal(still?.status, TaskStatus.CLAIMED);
});

test("[AK-2.0-6a] every id that is required is INVALID_ARGUMENT when empty, and named", async () => {
  await using scene = await open();
  const { client } = scene;
  const expected: readonly (readonly [RegExp, Promise<unknown>])[] = [
    [/agent_id/, client.heartbeat({})],
    [/agent_id/, client.deregister({})],
    [/agent_id/, client.getAgent({})],
    [/agent_id/, client.claimTask({})],
    [/task_id/, client.renewLease({ agentId: nobody })],
    [/agent_id/, client.releaseLease({ taskId: "t" })],
    [/task_id/, client.completeTask({ agentId: nobody })],
    [/agent_id/, client.failTask({ taskId: "t" })],
    [/task_id/, client.getTask({})],
    [/type/, client.createTask({})],
    [/id/, client.deletePolicy({})],
  ];
  for (const [named, call] of expected) {
    const refusal = await refusalOf(call);
    assert.equal(refusal?.status, "INVALID_ARGUMENT");
    assert.match(refusal.message, named);
  }
});

test("[AK-2.0-8d] a fault of ours is INTERNAL, says nothing of our insides, and the door goes on", async () => {
  const door = await openTestDoor({
    find: () => {
      throw new Error("the secret index is broken");
    },
  });
  const client = door.connect();
  const refusal = await refusalOf(client.find({}));
  assert.equal(refusal?.status, "INTERNAL");
  assert.doesNotMatch(refusal.message, /secret/);
  assert.equal(door.faults.length, 1);
  assert.equal(await statusOf(client.listTasks({})), "OK");
  door.faults.length = 0;
  await door[Symbol.asyncDispose]();
});

test("[AK-3.5-2] every call of the 22 is counted when it begins, whatever comes of it", async () => {
  await using scene = await open();
  const { door, client } = scene;
  const before = door.calls.length;
  await refusalOf(client.heartbeat({ agentId: nobody }));
  using stream = client.watch({});
  await stream.begun;
  assert.deepEqual(door.calls.slice(before), [
    "/agentkeeper.v1.RegistryService/Heartbeat",
    "/agentkeeper.v1.RegistryService/Watch",
  ]);
});

async function open(): Promise<Scene> {
  await using opened = new AsyncDisposableStack();
  const door = opened.use(await openTestDoor());
  const client = await door.connectWarm();
  const closing = opened.move();
  return { door, client, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

/** Lets calls that are on their way arrive, and answers come back. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 20));
}

function card(name: string): AgentCard {
  return { name, description: "", version: "", capabilities: [], tools: [], metadata: new Map() };
}

async function register(
  client: GrpcClient,
  name: string,
  {
    ttlSeconds = 3_600,
    tools = [],
    description = "",
  }: {
    readonly ttlSeconds?: number;
    readonly tools?: string[];
    readonly description?: string;
  } = {},
): Promise<string> {
  const reply = await client.register({ card: { ...card(name), tools, description }, ttlSeconds });
  return reply.agentId;
}

async function livenessOf(client: GrpcClient, agentId: string): Promise<AgentStatus | undefined> {
  return (await client.getAgent({ agentId })).agent?.status;
}

async function found(
  client: GrpcClient,
  question: Parameters<GrpcClient["find"]>[0],
): Promise<readonly string[]> {
  return (await client.find(question)).agents.map(({ agentId }) => agentId);
}

/** Which task, group or agent an event is about. */
function subjectOf(event: Event): string | undefined {
  const { agent, lease, election, task } = payloadOf(event);
  return agent?.agentId ?? lease?.taskId ?? election?.group ?? task?.id;
}

function policy(id: string, given: Partial<Policy> = {}): Policy {
  const all = { subject: "agent:*", action: "call", resource: "tool:*", effect: PolicyEffect.DENY };
  return { id, ...all, ...given };
}

function tokenOf(
  lease: { readonly token: { readonly value: bigint } | undefined } | undefined,
): bigint {
  assert(lease?.token);
  return lease.token.value;
}

function toMs(timestamp: Timestamp | undefined): number {
  assert(timestamp, "the timestamp must be set");
  return Number(timestamp.seconds) * 1_000 + timestamp.nanos / 1_000_000;
}

function fromMs(ms: number): Timestamp {
  return { seconds: BigInt(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1_000_000 };
}
