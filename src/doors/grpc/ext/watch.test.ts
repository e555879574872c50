/** Whoever lost its connection goes on where it was, and can see that it missed nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryLog, SqliteLog } from "../../../log/index.ts";
import {
  at,
  type GrpcClient,
  openTestDoor,
  type Stream,
  type TestDoor,
} from "../../../testing/grpc-client.ts";
import { HeldLog } from "../../../testing/held-log.ts";
import { temporaryDirectory } from "../../../testing/temporary.ts";
import type { AgentCard } from "../../../wire/agentkeeper/index.ts";
import {
  PlaneServiceDefinition,
  type WatchRequest,
  type WatchResponse,
} from "../../../wire/agentkeeper-ext/index.ts";
import { frame } from "../../../wire/grpc/index.ts";

const { watch: method } = PlaneServiceDefinition.methods;
const path = "/agentkeeper.ext.v1.PlaneService/Watch";

test("[AK-6-7] a watch begins with a marker, and each event names the one before", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  await register(client, "early");
  const current = await busOf(door);
  using stream = watch(client, { topics: ["agent."] });
  assert.deepEqual(await marker(stream), { afterSequence: current, currentSequence: current });
  const agentId = await register(client, "ada");
  await client.createTask({ type: "not watched" });
  await client.deregister({ agentId });
  const [first, second] = [await next(stream), await next(stream)];
  assert.deepEqual(first, { topic: "agent.registered", at: current + 1n, previous: current });
  assert.deepEqual(second, { topic: "agent.died", at: current + 3n, previous: current + 1n });
});

test("[AK-6-6] a watch goes on after any sequence, through the past into the present", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const begun = await busOf(door);
  const agentId = await register(client, "ada");
  for (const taskId of ["t1", "t2", "t3"]) await client.acquireLease({ taskId, agentId });
  const current = await busOf(door);
  using stream = watch(client, { topics: ["lease."], afterSequence: begun + 2n });
  const told = await marker(stream);
  assert.deepEqual(told, { afterSequence: begun + 2n, currentSequence: current });
  assert.deepEqual(await next(stream), {
    topic: "lease.acquired",
    at: begun + 3n,
    previous: begun + 2n,
  });
  assert.equal((await next(stream)).at, begun + 4n);
  await client.acquireLease({ taskId: "t4", agentId });
  assert.deepEqual(await next(stream), {
    topic: "lease.acquired",
    at: begun + 5n,
    previous: begun + 4n,
  });
});

test("a watch goes on after a restart where it was before", async () => {
  await using place = await temporaryDirectory();
  let seen = 0n;
  {
    await using log = SqliteLog.open(place.path);
    await using door = await openTestDoor({ log });
    const client = await door.connectWarm();
    using stream = watch(client, { afterSequence: 0n });
    await marker(stream);
    await register(client, "ada");
    seen = (await next(stream)).at;
    await register(client, "bob");
  }
  await using log = SqliteLog.open(place.path);
  await using door = await openTestDoor({ log });
  const client = await door.connectWarm();
  using stream = watch(client, { afterSequence: seen });
  await marker(stream);
  assert.deepEqual(await next(stream), {
    topic: "agent.registered",
    at: seen + 1n,
    previous: seen,
  });
});

test("[AK-6-6] what is not kept any more, or is yet to come, is OUT_OF_RANGE with the oldest there is", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const begun = await busOf(door);
  await register(client, "ada");
  const bare = await door.bare();
  for (const afterSequence of [0n, begun - 1n, begun + 2n, 2n ** 64n - 1n]) {
    const request = method.requestType.encode({ topics: [], afterSequence }).finish();
    const { status, message, headers } = await bare.send(path, frame(request));
    assert.equal(status, "OUT_OF_RANGE", String(afterSequence));
    assert.equal(message, `the oldest event is ${begun + 1n}`);
    assert.equal(headers["oldest-sequence"], String(begun + 1n));
  }
});

test("a watch whose place is cut from the log while it reads is told the oldest there is", async () => {
  const log = new MemoryLog();
  await using door = await openTestDoor({ log });
  const client = await door.connectWarm();
  const begun = await busOf(door);
  await register(client, "ada");
  await register(client, "bob");
  // The log forgets everything but its last entry once the place was found.
  const { plane } = door;
  const findOnBus = plane.findOnBus.bind(plane);
  plane.findOnBus = async (busSequence) => {
    const found = await findOnBus(busSequence);
    Object.defineProperty(log, "oldestSequence", { value: log.lastSequence });
    return found;
  };
  using stream = watch(client, { afterSequence: begun });
  await marker(stream);
  const { status, message } = await stream.ended;
  assert.equal(status, "OUT_OF_RANGE");
  assert.equal(message, `the oldest event is ${begun + 2n}`);
});

test("what was decided before a watch began is not told after its marker, nor lost before it", async () => {
  const log = new HeldLog();
  await using door = await openTestDoor({ log });
  const client = await door.connectWarm();
  log.hold();
  const registering = register(client, "ada");
  while (log.held.length === 0) await new Promise(setImmediate);
  using stream = watch(client, {});
  await stream.begun;
  assert.deepEqual(stream.waiting, [], "the marker waits for what it has seen");
  await log.letAllThrough();
  const agentId = await registering;
  const { currentSequence } = await marker(stream);
  assert.equal(currentSequence, await busOf(door));
  await client.deregister({ agentId });
  assert.equal((await next(stream)).topic, "agent.died");
});

test("topics that are too many or too long are refused", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  for (const topics of [Array(1_001).fill("a"), ["t".repeat(1_025)]]) {
    using stream = watch(client, { topics });
    assert.equal((await stream.ended).status, "INVALID_ARGUMENT");
  }
});

function watch(client: GrpcClient, request: Partial<WatchRequest>): Stream<WatchResponse> {
  return client.stream(at(PlaneServiceDefinition, method))(request);
}

async function marker(
  stream: Stream<WatchResponse>,
): Promise<{ readonly afterSequence: bigint; readonly currentSequence: bigint }> {
  const { message } = await stream.next();
  assert.equal(message?.$case, "marker");
  return message.value;
}

async function next(
  stream: Stream<WatchResponse>,
): Promise<{ readonly topic: string; readonly at: bigint; readonly previous: bigint }> {
  const { message } = await stream.next();
  assert.equal(message?.$case, "event");
  const { event, previousSequence } = message.value;
  assert(event);
  return { topic: event.topic, at: event.sequenceNumber, previous: previousSequence };
}

async function busOf(door: TestDoor): Promise<bigint> {
  return BigInt(await door.plane.read((state) => state.lastBusSequence));
}

async function register(client: GrpcClient, name: string): Promise<string> {
  const rest = { description: "", version: "", capabilities: [], tools: [] };
  const card: AgentCard = { name, ...rest, metadata: new Map() };
  return (await client.register({ card, ttlSeconds: 600 })).agentId;
}
