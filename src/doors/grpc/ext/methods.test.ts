/** The extension at a real door, with a client that is not ours. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  at,
  type GrpcClient,
  openTestDoor,
  refusalOf,
  statusOf,
  type TestDoor,
  type TestDoorOptions,
} from "../../../testing/grpc-client.ts";
import { HeldLog } from "../../../testing/held-log.ts";
import { isSettled } from "../../../testing/test-plane.ts";
import {
  type AgentCard,
  AgentStatus,
  type Lease,
  TaskStatus,
  type Timestamp,
} from "../../../wire/agentkeeper/index.ts";
import { PlaneServiceDefinition, TaskState } from "../../../wire/agentkeeper-ext/index.ts";

const startMs = 1_700_000_000_000;

test("[AK-6-16] the server says what it is and what it can do", async () => {
  await using scene = await open();
  await agent(scene, "ada");
  const info = await scene.ext.getServerInfo({});
  assert.equal(info.version, "test");
  assert.equal(info.isKept, false);
  assert(info.features.includes("waiting-leases"));
  const current = await scene.door.plane.read((state) => state.lastBusSequence);
  assert.equal(info.currentSequence, BigInt(current));
});

test("[AK-6-15] a heartbeat tells by when the next one is needed", async () => {
  await using scene = await open();
  const { ext, door, client } = scene;
  const agentId = await agent(scene, "ada", { ttlSeconds: 10 });
  await door.clock.pass(4_000);
  const beat = await ext.heartbeat({ agentId });
  assert.equal(beat.status, AgentStatus.ALIVE);
  assert.equal(toMs(beat.unreachableAt), startMs + 4_000 + 10_500);
  assert.equal(toMs(beat.deadAt), startMs + 4_000 + 20_500);
  assert.equal(await statusOf(ext.heartbeat({ agentId: "f".repeat(32) })), "NOT_FOUND");
  await client.deregister({ agentId });
  assert.equal(await statusOf(ext.heartbeat({ agentId })), "NOT_FOUND");
});

test("[AK-6-14] whoever stands in line is given the lease when it is free, in order", async () => {
  await using scene = await open();
  const { ext, client } = scene;
  const [ada = "", bob = "", eve = ""] = await agents(scene, "ada", "bob", "eve");
  const { lease } = await client.acquireLease({ taskId: "t", agentId: ada });
  const refused = await ext.acquireLease({ taskId: "t", agentId: bob });
  assert.equal(refused.acquired, false, "without time to wait it is told at once");
  assert.equal(refused.lease?.holderAgentId, ada);
  const bobs = ext.acquireLease({ taskId: "t", agentId: bob, waitMs: 60_000, ttlMs: 5_000n });
  await waitingIn(scene, 1);
  const eves = ext.acquireLease({ taskId: "t", agentId: eve, waitMs: 60_000 });
  await waitingIn(scene, 2);
  await client.releaseLease({ taskId: "t", agentId: ada, token: lease?.token });
  const held = await bobs;
  assert.equal(held.acquired, true);
  assert.equal(held.lease?.holderAgentId, bob);
  assert.equal(toMs(held.lease?.expiresAt), startMs + 5_000);
  assert.equal(await isSettled(eves), false);
  await scene.door.clock.pass(5_000);
  assert.equal((await eves).lease?.holderAgentId, eve);
});

test("who has waited for long enough is told who holds it", async () => {
  await using scene = await open();
  const { ext, client } = scene;
  const [ada = "", bob = ""] = await agents(scene, "ada", "bob");
  await client.acquireLease({ taskId: "t", agentId: ada });
  const late = await ext.acquireLease({ taskId: "t", agentId: bob, waitMs: 20 });
  assert.equal(late.acquired, false);
  assert.equal(late.lease?.holderAgentId, ada);
});

test("[AK-6-8] an acquire that is asked for again with its key is the same lease", async () => {
  await using scene = await open();
  const { ext, client } = scene;
  const [ada = "", bob = ""] = await agents(scene, "ada", "bob");
  const asked = { taskId: "t", agentId: ada, idempotencyKey: "k" };
  const { lease } = await ext.acquireLease(asked);
  assert.deepEqual(await ext.acquireLease(asked), { acquired: true, lease });
  assert.deepEqual(await ext.acquireLease({ ...asked, waitMs: 1_000 }), { acquired: true, lease });
  const metadata = { "idempotency-key": "k" };
  const legacy = await client.acquireLease({ taskId: "t", agentId: ada }, { metadata });
  assert.deepEqual(
    legacy,
    { acquired: true, lease },
    "AgentKeeper's own call takes it as metadata",
  );
  const other = await ext.acquireLease({ ...asked, agentId: bob });
  assert.equal(other.acquired, false);
  const anew = await client.acquireLease({ taskId: "t", agentId: ada });
  assert.notEqual(anew.lease?.token?.value, lease?.token?.value);
});

test("with a key, who hangs up and comes back has kept its place; without, it is given up", async () => {
  await using scene = await open();
  const { ext, client } = scene;
  const [ada = "", bob = "", eve = "", dan = ""] = await agents(scene, "ada", "bob", "eve", "dan");
  const { lease } = await client.acquireLease({ taskId: "t", agentId: ada });
  await hangUp(scene, { taskId: "t", agentId: eve, waitMs: 60_000 });
  const asked = { taskId: "t", agentId: bob, waitMs: 60_000, idempotencyKey: "k" };
  await hangUp(scene, asked);
  const eves = ext.acquireLease({ taskId: "t", agentId: eve, waitMs: 60_000 });
  await waitingIn(scene, 2);
  const bobs = ext.acquireLease(asked);
  const dans = ext.acquireLease({ taskId: "t", agentId: dan, waitMs: 60_000 });
  await waitingIn(scene, 3);
  await client.releaseLease({ taskId: "t", agentId: ada, token: lease?.token });
  assert.equal((await bobs).lease?.holderAgentId, bob);
  const again = await ext.acquireLease(asked);
  assert.deepEqual(again.lease, (await bobs).lease, "who asks again is told the same");
  await ext.withdraw({ agentId: bob, idempotencyKey: "k" });
  assert.equal((await eves).lease?.holderAgentId, eve, "what was withdrawn is free");
  await client.deregister({ agentId: eve });
  assert.equal((await dans).lease?.holderAgentId, dan);
});

test("a place that is withdrawn is not served", async () => {
  await using scene = await open();
  const { ext, client } = scene;
  const [ada = "", bob = ""] = await agents(scene, "ada", "bob");
  const { lease } = await client.acquireLease({ taskId: "t", agentId: ada });
  await hangUp(scene, { taskId: "t", agentId: bob, waitMs: 60_000, idempotencyKey: "k" });
  const claiming = ext.claimTask({ agentId: bob, waitMs: 60_000, idempotencyKey: "k" });
  await waitingIn(scene, 2);
  await ext.withdraw({ agentId: bob, idempotencyKey: "k" });
  assert.equal((await claiming).task, undefined);
  await client.releaseLease({ taskId: "t", agentId: ada, token: lease?.token });
  assert.equal((await ext.checkToken({ taskId: "t", token: 1n })).lease, undefined);
  await client.createTask({ type: "work" });
  await ext.claimTask({ agentId: bob, idempotencyKey: "k" });
  await ext.withdraw({ agentId: bob, idempotencyKey: "k" });
  assert.equal((await ext.claimTask({ agentId: ada })).claimToken, 2n, "it went back");
});

test("an agent that dies in line is told", async () => {
  await using scene = await open();
  const { ext, client } = scene;
  const [ada = "", bob = ""] = await agents(scene, "ada", "bob");
  await client.acquireLease({ taskId: "t", agentId: ada });
  const bobs = ext.acquireLease({ taskId: "t", agentId: bob, waitMs: 60_000 });
  const refused = statusOf(bobs);
  await waitingIn(scene, 1);
  await client.deregister({ agentId: bob });
  assert.equal(await refused, "NOT_FOUND");
});

test("[AK-6-13] a store can ask whether a token is still the one that counts", async () => {
  await using scene = await open();
  const { ext, client } = scene;
  const [ada = ""] = await agents(scene, "ada");
  const { lease: first } = await client.acquireLease({ taskId: "t", agentId: ada });
  const { lease: second } = await client.acquireLease({ taskId: "t", agentId: ada });
  const old = await ext.checkToken({ taskId: "t", token: first?.token?.value ?? 0n });
  assert.deepEqual(old, { isCurrent: false, lease: second });
  const now = await ext.checkToken({ taskId: "t", token: second?.token?.value ?? 0n });
  assert.deepEqual(now, { isCurrent: true, lease: second });
  const none = await ext.checkToken({ taskId: "other", token: 0n });
  assert.deepEqual(none, { isCurrent: false, lease: undefined });
});

test("[AK-6-11] a task has priority, delay and a delivery limit, and AgentKeeper sees what it knows of them", async () => {
  await using scene = await open();
  const { ext, client, door } = scene;
  const [ada = ""] = await agents(scene, "ada");
  const { task: made } = await ext.createTask({
    type: "work",
    input: Buffer.from("in"),
    priority: -7,
    delayMs: 2_000n,
    maxDeliveries: 1,
    claimMs: 1_500n,
  });
  assert.equal(made?.state, TaskState.DELAYED);
  assert.equal(made.priority, -7);
  assert.equal(made.maxDeliveries, 1);
  assert.equal(toMs(made.readyAt), startMs + 2_000);
  const taskId = made.task?.id ?? "";
  assert.equal((await client.getTask({ taskId })).task?.status, TaskStatus.PENDING);
  assert.equal((await ext.claimTask({ agentId: ada })).task, undefined, "not yet");
  await door.clock.pass(2_000);
  const claimed = await ext.claimTask({ agentId: ada });
  assert.equal(claimed.task?.task?.id, taskId);
  assert.deepEqual(claimed.task?.task?.input, Buffer.from("in"));
  assert.equal(claimed.claimToken, 1n);
  assert.equal(toMs(claimed.claimExpiresAt), startMs + 3_500);
  const { task: legacy } = await client.getTask({ taskId });
  assert.equal(legacy?.claimToken, 1n);
  assert.equal(toMs(legacy?.claimExpiresAt), startMs + 3_500);
  await door.clock.pass(1_500);
  const { tasks } = await ext.listTasks({ state: TaskState.DEAD });
  assert.equal(tasks[0]?.task?.failureReason, "delivered once and never ended");
  assert.equal(toMs(tasks[0]?.endedAt), startMs + 3_500);
  assert.equal(tasks[0]?.task?.input.length, 0, "a list has no bytes in it");
});

test("[AK-6-10] a claim is extended, completed and failed with its token, and no other", async () => {
  await using scene = await open();
  const { ext, door } = scene;
  const [ada = ""] = await agents(scene, "ada");
  const { task } = await ext.createTask({ type: "work", claimMs: 1_000n, maxRetries: 3 });
  const taskId = task?.task?.id ?? "";
  const mine = { taskId, agentId: ada };
  await ext.claimTask({ agentId: ada });
  await door.clock.pass(1_000);
  await ext.claimTask({ agentId: ada });
  const old = { ...mine, claimToken: 1n };
  for (const call of [ext.extendClaim(old), ext.completeTask(old), ext.failTask(old)]) {
    assert.equal(await statusOf(call), "FAILED_PRECONDITION");
  }
  assert.equal(
    await statusOf(ext.failTask({ ...mine, claimToken: 2n ** 63n })),
    "FAILED_PRECONDITION",
  );
  const extended = await ext.extendClaim({ ...mine, claimToken: 2n, claimMs: 9_000n });
  assert.equal(toMs(extended.claimExpiresAt), startMs + 10_000);
  const failed = await ext.failTask({
    ...mine,
    claimToken: 2n,
    reason: "busy",
    retryAfterMs: 500n,
  });
  assert.equal(failed.task?.state, TaskState.DELAYED);
  const again = await ext.failTask({ ...mine, claimToken: 2n, reason: "busy", retryAfterMs: 500n });
  assert.deepEqual(again, failed, "a lost reply is told again");
  await door.clock.pass(500);
  await ext.claimTask({ agentId: ada });
  await ext.completeTask({ ...mine, claimToken: 3n, output: Buffer.from("out") });
  await ext.completeTask({ ...mine, claimToken: 3n, output: Buffer.from("out") });
});

test("[AK-6-9] claims wait for their types, and a claim that is asked for again is the same", async () => {
  await using scene = await open();
  const { ext } = scene;
  const [ada = ""] = await agents(scene, "ada");
  await ext.createTask({ type: "print" });
  const asked = { agentId: ada, types: ["mail"], waitMs: 60_000, idempotencyKey: "k" };
  const waiting = ext.claimTask(asked);
  await waitingIn(scene, 1);
  await ext.createTask({ type: "mail" });
  const claimed = await waiting;
  assert.equal(claimed.task?.task?.type, "mail");
  assert.deepEqual(await ext.claimTask(asked), claimed);
  assert.deepEqual(await ext.claimTask({ ...asked, waitMs: 20 }), claimed);
  const late = await ext.claimTask({ agentId: ada, types: ["mail"], waitMs: 20 });
  assert.equal(late.task, undefined);
});

test("what was granted to a caller who is gone goes back, and is no delivery", async () => {
  const log = new HeldLog();
  await using scene = await open({ log });
  const { ext, client, door } = scene;
  const [ada = "", bob = ""] = await agents(scene, "ada", "bob");
  const { lease } = await client.acquireLease({ taskId: "t", agentId: bob });
  const calling = new AbortController();
  const { signal } = calling;
  const gone = [
    statusOf(ext.claimTask({ agentId: ada, waitMs: 60_000 }, { signal })),
    statusOf(ext.acquireLease({ taskId: "t", agentId: ada, waitMs: 60_000 }, { signal })),
  ];
  await waitingIn(scene, 2);
  log.hold();
  const created = client.createTask({ type: "work" });
  const released = client.releaseLease({ taskId: "t", agentId: bob, token: lease?.token });
  await waitingIn(scene, 0);
  // Both are granted, but not durable: nobody was told yet.
  calling.abort();
  assert.deepEqual(await Promise.all(gone), ["CANCELLED", "CANCELLED"]);
  // Whatever comes after the two hang-ups on the same connection comes after them at the door, too.
  assert.equal(await statusOf(ext.claimTask({})), "INVALID_ARGUMENT");
  await log.letAllThrough();
  await Promise.all([created, released]);
  const { task: claimed } = await client.claimTask({ agentId: bob });
  assert.equal(claimed?.claimToken, 2n);
  const task = await door.plane.read(({ tasks }) => [...tasks.byId.values()][0]);
  assert.equal(task?.deliveriesForgiven, 1);
  assert.equal((await ext.checkToken({ taskId: "t" })).lease, undefined);
});

test("[AK-6-11] a task is cancelled and requeued", async () => {
  await using scene = await open();
  const { ext, client } = scene;
  const [ada = ""] = await agents(scene, "ada");
  const { task } = await ext.createTask({ type: "work" });
  const taskId = task?.task?.id ?? "";
  assert.equal(await statusOf(ext.requeueTask({ taskId })), "FAILED_PRECONDITION");
  const cancelled = await ext.cancelTask({ taskId });
  assert.equal(cancelled.task?.state, TaskState.CANCELLED);
  assert.equal((await client.getTask({ taskId })).task?.status, TaskStatus.DEAD);
  assert.equal((await client.listTasks({ status: TaskStatus.DEAD })).tasks.length, 1);
  assert.equal((await ext.requeueTask({ taskId })).task?.state, TaskState.PENDING);
  await ext.claimTask({ agentId: ada });
  await client.completeTask({ taskId, agentId: ada });
  assert.equal(await statusOf(ext.cancelTask({ taskId })), "FAILED_PRECONDITION");
  assert.equal(await statusOf(ext.cancelTask({ taskId: "none" })), "NOT_FOUND");
});

test("[AK-6-8] registering and creating again with the same key makes nothing new", async () => {
  await using scene = await open();
  const { ext, client } = scene;
  const metadata = { "idempotency-key": "order-7" };
  const asked = { card: card("ada"), ttlSeconds: 60 };
  const first = await client.register(asked, { metadata });
  assert.match(first.agentId, /^[0-9a-f]{32}$/);
  assert.deepEqual(await client.register(asked, { metadata }), first);
  assert.notEqual((await client.register(asked)).agentId, first.agentId);
  const other = client.register({ ...asked, ttlSeconds: 61 }, { metadata });
  assert.equal(await statusOf(other), "ALREADY_EXISTS");
  await client.deregister({ agentId: first.agentId });
  assert.equal(await statusOf(client.register(asked, { metadata })), "NOT_FOUND", "it is dead");

  const work = { type: "work", input: Buffer.from("in") };
  const made = await client.createTask(work, { metadata });
  assert.deepEqual(await client.createTask(work, { metadata }), made);
  const changed = client.createTask({ ...work, maxRetries: 1 }, { metadata });
  assert.equal(await statusOf(changed), "ALREADY_EXISTS");
  const same = await ext.createTask({ ...work, idempotencyKey: "order-7" });
  assert.equal(same.task?.task?.id, made.task?.id);
  assert.equal((await client.listTasks({})).tasks.length, 1);
});

test("a key that is empty or too long is refused", async () => {
  await using scene = await open();
  const { ext, client } = scene;
  for (const key of ["", "k".repeat(1_025)]) {
    const metadata = { "idempotency-key": key };
    for (const call of [
      client.register({ card: card("ada") }, { metadata }),
      client.createTask({ type: "work" }, { metadata }),
      client.acquireLease({ taskId: "t", agentId: "a" }, { metadata }),
    ]) {
      const refusal = await refusalOf(call);
      assert.equal(refusal?.status, "INVALID_ARGUMENT");
      assert.match(refusal.message, /idempotency-key/);
    }
  }
  const long = { idempotencyKey: "k".repeat(1_025) };
  for (const call of [
    ext.acquireLease({ taskId: "t", agentId: "a", ...long }),
    ext.createTask({ type: "work", ...long }),
    ext.claimTask({ agentId: "a", ...long }),
    ext.withdraw({ agentId: "a", ...long }),
    ext.withdraw({ agentId: "a" }),
  ]) {
    assert.equal(await statusOf(call), "INVALID_ARGUMENT");
  }
});

test("times, priorities and types out of bounds are refused, naming the field", async () => {
  await using scene = await open();
  const { ext } = scene;
  const long = 4_294_967_295_001n;
  for (const [field, call] of [
    ["ttl_ms", ext.acquireLease({ taskId: "t", agentId: "a", ttlMs: long })],
    ["claim_ms", ext.createTask({ type: "w", claimMs: long })],
    ["delay_ms", ext.createTask({ type: "w", delayMs: 2n ** 64n - 1n })],
    ["priority", ext.createTask({ type: "w", priority: 101 })],
    ["priority", ext.createTask({ type: "w", priority: -101 })],
    ["claim_ms", ext.extendClaim({ taskId: "t", agentId: "a", claimMs: long })],
    ["retry_after_ms", ext.failTask({ taskId: "t", agentId: "a", retryAfterMs: long })],
    ["types", ext.claimTask({ agentId: "a", types: Array(1_001).fill("t") })],
    ["type", ext.claimTask({ agentId: "a", types: [""] })],
    ["page_token", ext.listAgents({ pageToken: "*" })],
    ["page_token", ext.listTasks({ pageToken: "*" })],
    ["status", ext.listAgents({ status: 9 as AgentStatus })],
    ["state", ext.listTasks({ state: 9 as TaskState })],
    ["agent_id", ext.claimTask({})],
    ["task_id", ext.checkToken({})],
  ] as const) {
    const refusal = await refusalOf(call);
    assert.equal(refusal?.status, "INVALID_ARGUMENT", field);
    assert(refusal.message.includes(field), refusal.message);
  }
});

test("[AK-6-12] lists come in pages, each of what it asks for", async () => {
  await using scene = await open();
  const { ext, client } = scene;
  const ids = await agents(scene, "a", "b", "c");
  const [first = "", second = ""] = ids;
  await client.deregister({ agentId: first });
  for (const group of ["g1", "g2", "g3"]) await client.campaign({ group, agentId: second });
  for (const taskId of ["l1", "l2"]) await client.acquireLease({ taskId, agentId: second });

  const page = await ext.listAgents({ pageSize: 2 });
  const rest = await ext.listAgents({ pageSize: 2, pageToken: page.nextPageToken });
  const seen = [...page.agents, ...rest.agents].map(({ agentId }) => agentId);
  assert.deepEqual(seen, ids.toSorted());
  assert.equal(rest.nextPageToken, "");
  const dead = await ext.listAgents({ status: AgentStatus.DEAD });
  assert.deepEqual(
    dead.agents.map(({ agentId }) => agentId),
    [first],
  );
  const { leases, nextPageToken } = await ext.listLeases({ pageSize: 1 });
  assert.deepEqual(leases.map(idOf), ["l1"]);
  assert.deepEqual((await ext.listLeases({ pageToken: nextPageToken })).leases.map(idOf), ["l2"]);
  assert.equal((await ext.listLeases({ holderAgentId: first })).leases.length, 0);
  const { elections } = await ext.listElections({});
  assert.deepEqual(
    elections.map(({ group, leaderAgentId }) => [group, leaderAgentId]),
    ["g1", "g2", "g3"].map((group) => [group, second]),
  );
});

test("when the door closes, whoever stands in line is told", async () => {
  await using scene = await open();
  const { ext, client, door } = scene;
  const [ada = "", bob = ""] = await agents(scene, "ada", "bob");
  await client.acquireLease({ taskId: "t", agentId: ada });
  const bobs = statusOf(ext.acquireLease({ taskId: "t", agentId: bob, waitMs: 60_000 }));
  await waitingIn(scene, 1);
  await door.closeDoor();
  assert.equal(await bobs, "UNAVAILABLE");
});

function extensionOf(client: GrpcClient) {
  const service = PlaneServiceDefinition;
  const { methods } = service;
  return {
    getServerInfo: client.unary(at(service, methods.getServerInfo)),
    heartbeat: client.unary(at(service, methods.heartbeat)),
    listAgents: client.unary(at(service, methods.listAgents)),
    acquireLease: client.unary(at(service, methods.acquireLease)),
    checkToken: client.unary(at(service, methods.checkToken)),
    listLeases: client.unary(at(service, methods.listLeases)),
    listElections: client.unary(at(service, methods.listElections)),
    createTask: client.unary(at(service, methods.createTask)),
    claimTask: client.unary(at(service, methods.claimTask)),
    extendClaim: client.unary(at(service, methods.extendClaim)),
    completeTask: client.unary(at(service, methods.completeTask)),
    failTask: client.unary(at(service, methods.failTask)),
    cancelTask: client.unary(at(service, methods.cancelTask)),
    requeueTask: client.unary(at(service, methods.requeueTask)),
    listTasks: client.unary(at(service, methods.listTasks)),
    withdraw: client.unary(at(service, methods.withdraw)),
  };
}

type Scene = AsyncDisposable & {
  readonly door: TestDoor;
  readonly client: GrpcClient;
  readonly ext: ReturnType<typeof extensionOf>;
};

async function open(options: TestDoorOptions = {}): Promise<Scene> {
  const door = await openTestDoor(options);
  const client = await door.connectWarm();
  return {
    door,
    client,
    ext: extensionOf(client),
    [Symbol.asyncDispose]: () => door[Symbol.asyncDispose](),
  };
}

async function agent(
  { client }: Scene,
  name: string,
  { ttlSeconds = 600 }: { readonly ttlSeconds?: number } = {},
): Promise<string> {
  return (await client.register({ card: card(name), ttlSeconds })).agentId;
}

async function agents(scene: Scene, ...names: readonly string[]): Promise<readonly string[]> {
  return await Promise.all(names.map((name) => agent(scene, name)));
}

/** Stands in line, and hangs up once it does. */
async function hangUp(
  scene: Scene,
  request: Parameters<Scene["ext"]["acquireLease"]>[0],
): Promise<void> {
  const calling = new AbortController();
  const before = scene.door.plane.waiting;
  const called = statusOf(scene.ext.acquireLease(request, { signal: calling.signal }));
  await waitingIn(scene, before + 1);
  calling.abort();
  assert.equal(await called, "CANCELLED");
  const isKept = request.idempotencyKey !== undefined;
  await waitingIn(scene, isKept ? before + 1 : before);
}

/** Until so many stand in line. */
async function waitingIn({ door }: Scene, count: number): Promise<void> {
  while (door.plane.waiting !== count) await new Promise(setImmediate);
}

function card(name: string): AgentCard {
  return { name, description: "", version: "", capabilities: [], tools: [], metadata: new Map() };
}

function toMs(timestamp: Timestamp | undefined): number {
  return Number(timestamp?.seconds ?? 0n) * 1_000 + (timestamp?.nanos ?? 0) / 1_000_000;
}

function idOf({ taskId }: Lease): string {
  return taskId;
}
