/** The gRPC server under callers that are odd, impatient, many, or gone. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { constants } from "node:http2";
import { connect as connectSocket, type Socket, type SocketConstructorOpts } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  BareConnection,
  collect,
  type GrpcClient,
  headersOf,
  openTestDoor,
  refusalOf,
  statusOf,
} from "../../testing/grpc-client.ts";
import { HeldLog } from "../../testing/held-log.ts";
import { type AgentCard, TaskStatus } from "../../wire/agentkeeper/index.ts";
import { RegisterRequest } from "../../wire/gen/agentkeeper/v1/agentkeeper.ts";
import { frame } from "../../wire/grpc/index.ts";

/** The preface of HTTP/2 and empty SETTINGS. */
const greeting = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const registerPath = "/agentkeeper.v1.RegistryService/Register";
const createPath = "/agentkeeper.v1.TaskService/CreateTask";
const claimPath = "/agentkeeper.v1.TaskService/ClaimTask";
const findPath = "/agentkeeper.v1.RegistryService/Find";

test("[AK-2.0-8c] a method or a service that does not exist is UNIMPLEMENTED", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  for (const path of [
    "/agentkeeper.v1.RegistryService/Unregister",
    "/agentkeeper.v1.NoService/Register",
    "/agentkeeper.v1.RegistryService/register",
    "/agentkeeper.v1.RegistryService/Register/",
    "/",
    `/${"x".repeat(4_000)}/Register`,
  ]) {
    const reply = await bare.call(path, Buffer.alloc(0));
    assert.equal(reply.status, "UNIMPLEMENTED", path);
    assert.equal(reply.httpStatus, 200);
  }
});

test("a status comes as one block of headers, with a content type", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const reply = await bare.call(registerPath, Buffer.alloc(0));
  assert.equal(reply.status, "INVALID_ARGUMENT");
  assert.match(String(reply.headers["content-type"]), /^application\/grpc/);
});

test("what is not gRPC is told so in HTTP's own words", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const wrongType = await bare.send(findPath, frame(Buffer.alloc(0)), {
    "content-type": "application/json",
  });
  assert.equal(wrongType.httpStatus, 415);
  const get = bare.session.request({ ":method": "GET", ":path": "/" });
  assert.equal((await collect(get)).httpStatus, 405);
  assert.equal((await bare.call(findPath, Buffer.alloc(0))).status, "OK");
});

test("[AK-1.4-8] a message may have 4,194,304 bytes, and is RESOURCE_EXHAUSTED with one more", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  // Bytes in the input, and a few around it. Too long an input is told only to who was read.
  const most = await refusalOf(client.createTask({ type: "t", input: Buffer.alloc(4_194_296) }));
  assert.equal(most?.status, "INVALID_ARGUMENT");
  assert.match(most.message, /input/);
  for (const size of [4_194_297, 5_000_000, 20_000_000]) {
    const over = client.createTask({ type: "t", input: Buffer.alloc(size) });
    assert.equal(await statusOf(over), "RESOURCE_EXHAUSTED");
  }
  assert.equal(await statusOf(client.createTask({ type: "t" })), "OK");
});

test("a length that is announced is enough to refuse it, and who never stops sending is cut off", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const stream = bare.begin(createPath);
  const reply = collect(stream);
  stream.write(Buffer.from("00ffffffff", "hex"));
  assert.equal((await withinMs(3_000, reply)).status, "RESOURCE_EXHAUSTED");
});

test("a compressed message is UNIMPLEMENTED", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const body = Buffer.from("01000000021234", "hex");
  const reply = await bare.send(findPath, body, { "grpc-encoding": "gzip" });
  assert.equal(reply.status, "UNIMPLEMENTED");
  assert.match(reply.message, /compress/);
});

test("no message at all, a part of one, or two of them are refused and change nothing", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const one = frame(registration("a"));
  const before = await door.hashState();
  assert.equal((await bare.send(registerPath, Buffer.alloc(0))).status, "UNIMPLEMENTED");
  assert.equal((await bare.send(registerPath, one.subarray(0, 7))).status, "INVALID_ARGUMENT");
  assert.equal((await bare.send(registerPath, one.subarray(0, 3))).status, "INVALID_ARGUMENT");
  const two = Buffer.concat([one, frame(registration("b"))]);
  assert.equal((await bare.send(registerPath, two)).status, "UNIMPLEMENTED");
  await bare.call(findPath, Buffer.alloc(0));
  assert.equal(await door.hashState(), before);
});

test("a message may come in pieces, and its end without it", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const stream = bare.begin(registerPath);
  const reply = collect(stream);
  for (const byte of frame(registration("pieces"))) {
    stream.write(Buffer.from([byte]));
    await new Promise(setImmediate);
  }
  stream.end();
  assert.equal((await reply).status, "OK");
});

test("[AK-2.0-8b] a call that takes longer than its grpc-timeout is DEADLINE_EXCEEDED, and forgotten", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const agentId = await register(client, "worker");
  const bare = await door.bare();
  const body = frame(Buffer.from(`\x0a\x20${agentId}`));
  const reply = await bare.send(claimPath, body, { "grpc-timeout": "60m" });
  assert.equal(reply.status, "DEADLINE_EXCEEDED");
  const { task } = await client.createTask({ type: "work" });
  const { task: still } = await client.getTask({ taskId: task?.id ?? "" });
  assert.equal(still?.status, TaskStatus.PENDING);
});

test("[AK-2.0-8b] a timeout that is longer than timers can be does not fire at once", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  for (const timeout of ["99999999H", "2147484S", "99999999S"]) {
    const headers = { "grpc-timeout": timeout };
    const reply = await bare.send(registerPath, frame(registration("a")), headers);
    assert.equal(reply.status, "OK", timeout);
  }
});

test("a grpc-timeout that makes no sense is INVALID_ARGUMENT", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const reply = await bare.send(findPath, frame(Buffer.alloc(0)), { "grpc-timeout": "soon" });
  assert.equal(reply.status, "INVALID_ARGUMENT");
});

test("[AK-2.0-8a] [AK-2.5-22] a waiting claim that is cancelled is forgotten: the task is another's", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const agentId = await register(client, "worker");
  const giveUp = new AbortController();
  const cancelled = statusOf(client.claimTask({ agentId }, { signal: giveUp.signal }));
  await client.fence();
  const patient = client.claimTask({ agentId });
  await client.fence();
  giveUp.abort();
  assert.equal(await cancelled, "CANCELLED");
  await client.fence();
  const { task } = await client.createTask({ type: "work" });
  assert.equal((await patient).task?.id, task?.id);
  const { task: next } = await client.createTask({ type: "work" });
  const { task: still } = await client.getTask({ taskId: next?.id ?? "" });
  assert.equal(still?.status, TaskStatus.PENDING);
});

test("[AK-2.0-8a] [AK-2.5-22] a waiting claim whose connection is cut is forgotten", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const agentId = await register(client, "worker");
  const gone = await BareConnection.open(door.port);
  gone.begin(claimPath).end(frame(Buffer.from(`\x0a\x20${agentId}`)));
  await gone.call(findPath, Buffer.alloc(0));
  gone.close();
  await sleep(40);
  const { task } = await client.createTask({ type: "work" });
  const { task: still } = await client.getTask({ taskId: task?.id ?? "" });
  assert.equal(still?.status, TaskStatus.PENDING);
});

test("[AK-2.5-22] [AK-2.5-23] a cancellation and a new task in one breath do not lose the task", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const agentId = await register(client, "worker");
  const bare = await door.bare();
  await bare.call(findPath, Buffer.alloc(0));
  await sleep(30);
  for (let round = 0; round < 50; round++) {
    const claim = bare.begin(claimPath);
    claim.end(frame(Buffer.from(`\x0a\x20${agentId}`)));
    await bare.call(findPath, Buffer.alloc(0));
    claim.close(constants.NGHTTP2_CANCEL);
    const create = bare.call(createPath, Buffer.from("\x0a\x04work"));
    if (round % 2 === 0) await new Promise(setImmediate);
    assert.equal((await create).status, "OK");
    await bare.call(findPath, Buffer.alloc(0));
    const { tasks } = await client.listTasks({ status: TaskStatus.PENDING });
    assert.equal(tasks.length, 1, `round ${round}`);
    await client.claimTask({ agentId });
  }
});

test("[AK-2.5-23] [AK-2.0-2] a task claimed for a caller who is gone returns to the head of the queue", async () => {
  const log = new HeldLog();
  await using door = await openTestDoor({ log });
  const client = await door.connectWarm();
  const agentId = await register(client, "worker");
  const { task: first } = await client.createTask({ type: "first" });
  await client.createTask({ type: "second" });
  using stream = client.watch({ topics: ["task."] });
  await stream.begun;

  log.hold();
  const giveUp = new AbortController();
  const claim = statusOf(client.claimTask({ agentId }, { signal: giveUp.signal }));
  await client.fence();
  // Decided, but not durable: nobody may have heard of it.
  assert.deepEqual(stream.waiting, []);
  giveUp.abort();
  assert.equal(await claim, "CANCELLED");
  await client.fence();
  await log.letAllThrough();

  const topics = (await stream.take(2)).map(({ topic }) => topic);
  assert.deepEqual(topics, ["task.claimed", "task.requeued"]);
  assert.equal((await client.claimTask({ agentId })).task?.id, first?.id);
});

test("a caller who is gone gives back its own claim, and no later one of the same agent", async () => {
  const log = new HeldLog();
  await using door = await openTestDoor({ log });
  const client = await door.connectWarm();
  const agentId = await register(client, "worker");
  const { task } = await client.createTask({ type: "work", maxRetries: 1 });
  const taskId = task?.id ?? "";
  log.hold();
  const giveUp = new AbortController();
  const lost = statusOf(client.claimTask({ agentId }, { signal: giveUp.signal }));
  while (log.held.length === 0) await new Promise(setImmediate);
  giveUp.abort();
  assert.equal(await lost, "CANCELLED");
  const failed = client.failTask({ taskId, agentId, reason: "from elsewhere" });
  const again = client.claimTask({ agentId });
  while (door.plane.lastSequence < log.lastSequence + 3) await new Promise(setImmediate);
  await log.letAllThrough();
  await failed;
  assert.equal((await again).task?.claimToken, 2n);
  const { task: found } = await client.getTask({ taskId });
  assert.equal(found?.status, TaskStatus.CLAIMED);
});

test("[AK-2.0-2] no reply, no read and no refusal leaves before what it may have seen is durable", async () => {
  const log = new HeldLog();
  await using door = await openTestDoor({ log });
  const client = await door.connectWarm();
  const agentId = await register(client, "holder");
  const rival = await register(client, "rival");
  log.hold();
  const answered: string[] = [];
  const calls = {
    acquire: client.acquireLease({ taskId: "t", agentId }),
    refusal: client.acquireLease({ taskId: "t", agentId: rival }),
    read: client.getAgent({ agentId }),
    wrong: refusalOf(client.renewLease({ taskId: "t", agentId: rival })),
  };
  const all = Object.entries(calls).map(async ([name, call]) => {
    await call;
    answered.push(name);
  });
  await client.fence();
  assert.deepEqual(answered, []);
  await log.letAllThrough();
  await Promise.all(all);
  assert.equal((await calls.refusal).acquired, false);
  assert.equal((await calls.wrong)?.status, "PERMISSION_DENIED");
});

test("[AK-1.4-9] 1,200 claims wait on one connection, beside calls that do not", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const agentId = await register(client, "worker");
  const claims = Array.from({ length: 1_200 }, () => client.claimTask({ agentId }));
  using stream = client.watch({ topics: ["task.created"] });
  await stream.begun;
  assert.equal(await statusOf(client.heartbeat({ agentId })), "OK");
  const types = Array.from({ length: 1_200 }, (_, index) => `work-${index}`);
  await Promise.all(types.map((type) => client.createTask({ type })));
  const claimed = new Set((await Promise.all(claims)).map(({ task }) => task?.id));
  assert.equal(claimed.size, 1_200);
  assert.equal((await stream.take(1_200)).length, 1_200);
});

test("[AK-2.6.4-2] calls of one connection are carried out in the order in which they arrive", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const agentId = await register(client, "one");
  const taskIds = Array.from({ length: 300 }, (_, index) => `t${index}`);
  const replies = await Promise.all(
    taskIds.map((taskId) => client.acquireLease({ taskId, agentId })),
  );
  const tokens = replies.map(({ lease }) => lease?.token?.value ?? 0n);
  const [first = 0n] = tokens;
  assert.deepEqual(
    tokens,
    tokens.map((_, index) => first + BigInt(index)),
  );
});

test("[AK-1.1-1] [AK-3.2-4] HTTP/1, garbage, half a greeting and bare connections harm nobody", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  for (let count = 0; count < 50; count++) (await openSocket(door.port)).destroy();
  for (const bytes of [
    "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "POST /agentkeeper.v1.RegistryService/Find HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\0\0\0\0\0\0\0\0\0",
    `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${"\xff".repeat(1_000)}`,
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "\0".repeat(100_000),
  ]) {
    const socket = await openSocket(door.port);
    const closed = once(socket, "close");
    socket.resume();
    socket.write(Buffer.from(bytes, "latin1"));
    if (bytes.includes("HTTP/1.1")) await withinMs(2_000, closed);
    else await Promise.race([closed, sleep(50)]);
    socket.destroy();
  }
  const half = await openSocket(door.port);
  half.write("PRI * HT");
  assert.equal(await statusOf(client.find({})), "OK");
  assert.equal(await statusOf(door.connect().find({})), "OK");
  half.destroy();
  assert.deepEqual(door.faults, []);
});

test("[AK-2.6.3-7] PINGs are answered, however many", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  let answered = 0;
  for (let count = 0; count < 2_000; count++) {
    await new Promise<void>((resolve, reject) => {
      bare.session.ping((error) => {
        answered += 1;
        if (error) reject(error);
        else resolve();
      });
    });
  }
  assert.equal(answered, 2_000);
  assert.equal((await bare.call(findPath, Buffer.alloc(0))).status, "OK");
});

test("thousands of calls that are cancelled as soon as they are made leave nothing behind", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const agentId = await register(client, "worker");
  for (let round = 0; round < 20; round++) {
    const giveUp = new AbortController();
    const calls = Array.from({ length: 100 }, () =>
      statusOf(client.claimTask({ agentId }, { signal: giveUp.signal })),
    );
    // A client that cancels in the same turn sends no reset, whatever the server.
    await sleep(round % 5);
    giveUp.abort();
    assert.deepEqual(new Set(await Promise.all(calls)), new Set(["CANCELLED"]));
  }
  const { task } = await client.createTask({ type: "work" });
  await client.fence();
  const { task: still } = await client.getTask({ taskId: task?.id ?? "" });
  assert.equal(still?.status, TaskStatus.PENDING);
});

test("[AK-2.0-8e] [AK-2.5-10] [AK-2.6.3-4] closing ends every open call with UNAVAILABLE within a second", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const agentId = await register(client, "worker");
  const watch = client.watch({});
  const election = client.watchElection({ group: "g" });
  await Promise.all([watch.begun, election.begun]);
  const claims = Array.from({ length: 50 }, () => statusOf(client.claimTask({ agentId })));
  await client.fence();

  const startedMs = performance.now();
  await door.closeDoor();
  assert(performance.now() - startedMs < 1_000);
  assert.equal((await watch.ended).status, "UNAVAILABLE");
  assert.equal((await election.ended).status, "UNAVAILABLE");
  assert.deepEqual(new Set(await Promise.all(claims)), new Set(["UNAVAILABLE"]));
  assert.equal(await statusOf(client.find({})), "UNAVAILABLE");
  await assert.rejects(openSocket(door.port), { code: "ECONNREFUSED" });
});

test("[AK-3.2-6] closing leaves no connection open, not even to callers who neither read nor hang up", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const agentId = await register(client, "one");
  const bare = await door.bare();
  const stream = bare.begin("/agentkeeper.v1.RegistryService/Watch");
  stream.end(frame(Buffer.alloc(0)));
  await headersOf(stream);
  stream.pause();
  const calls = Array.from({ length: 1_000 }, () => client.acquireLease({ taskId: "t", agentId }));
  await Promise.all(calls);
  // To the other side a suspended process looks like this: it is there, and does nothing.
  using silent = await openSocket(door.port);
  using suspended = await openSocket(door.port, { allowHalfOpen: true });
  suspended.write(greeting);
  for (const socket of [silent, suspended]) socket.resume();
  const cutOff = Promise.all(
    [silent, suspended].map((socket) => new Promise((resolve) => socket.once("close", resolve))),
  );
  const startedMs = performance.now();
  await door.closeDoor();
  const tookMs = performance.now() - startedMs;
  assert(tookMs < 1_800, `${tookMs} ms`);
  // Something must fail for it to notice: it only ever writes.
  suspended.write("x");
  await sleep(20);
  suspended.write("x");
  await withinMs(1_000, cutOff);
});

test("closing twice is fine", async () => {
  await using door = await openTestDoor();
  await door.closeDoor();
  await door.closeDoor();
});

function registration(name: string): Uint8Array {
  return RegisterRequest.encode({ card: card(name), ttlSeconds: 0 }).finish();
}

async function register(client: GrpcClient, name: string): Promise<string> {
  return (await client.register({ card: card(name), ttlSeconds: 3_600 })).agentId;
}

function card(name: string): AgentCard {
  return { name, description: "", version: "", capabilities: [], tools: [], metadata: new Map() };
}

async function openSocket(
  port: number,
  options: SocketConstructorOpts = {},
): Promise<Socket & Disposable> {
  const socket = connectSocket({ port, host: "127.0.0.1", ...options });
  await once(socket, "connect");
  socket.on("error", () => {});
  return Object.assign(socket, { [Symbol.dispose]: () => socket.destroy() });
}

async function withinMs<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  const giveUp = new AbortController();
  const late = sleep(ms, undefined, { signal: giveUp.signal }).then(() => {
    throw new Error(`not within ${ms} ms`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([promise, late]);
  } finally {
    giveUp.abort();
  }
}

test("a call that its caller resets at once, as if nothing were wrong, harms nobody", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  for (const delayMs of [0, 5, 50]) {
    using socket = await openSocket(door.port);
    socket.write(greeting);
    await sleep(delayMs);
    socket.write(
      Buffer.concat([requestHeaders("/grpc.health.v1.Health/Check"), resetWithoutError]),
    );
    await sleep(20);
  }
  assert.equal((await register(client, "still served")).length, 32);
});

/** HEADERS of a gRPC request on stream 1, written out: no field is compressed. */
function requestHeaders(path: string): Buffer {
  const fields = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "localhost"],
    ["content-type", "application/grpc"],
  ];
  const block = Buffer.concat(
    fields.flatMap(([name = "", value = ""]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value),
    ]),
  );
  const endHeaders = 4;
  return Buffer.concat([Buffer.from([0, 0, block.length, 1, endHeaders, 0, 0, 0, 1]), block]);
}

/** RST_STREAM of stream 1 with code 0. */
const resetWithoutError = Buffer.from([0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
