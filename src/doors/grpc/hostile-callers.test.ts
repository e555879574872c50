/** Callers that take memory or connections which others need. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { constants } from "node:http2";
import { connect as connectSocket, type Socket } from "node:net";
import { test } from "node:test";
import { agentId as toAgentId } from "../../core/index.ts";
import { limits as planeLimits } from "../../plane/index.ts";
import {
  at,
  BareConnection,
  collect,
  type GrpcClient,
  openTestDoor,
  type Stream,
  statusOf,
  type TestDoor,
} from "../../testing/grpc-client.ts";
import { ByteBudget, type ByteBudgets, makeByteBudgets } from "../../transport/index.ts";
import type { AgentCard } from "../../wire/agentkeeper/index.ts";
import { PlaneServiceDefinition } from "../../wire/agentkeeper-ext/index.ts";
import { frame, type StatusName } from "../../wire/grpc/index.ts";
import { limits } from "./limits.ts";

const createPath = "/agentkeeper.v1.TaskService/CreateTask";
const getPath = "/agentkeeper.v1.TaskService/GetTask";
const findPath = "/agentkeeper.v1.RegistryService/Find";
const watchPath = "/agentkeeper.v1.RegistryService/Watch";
const checkPath = "/agentkeeper.v1.EntitlementsService/CheckPolicy";
/** Subject, action and resource are "a". */
const checkPolicy = frame(Buffer.from([0x0a, 1, 0x61, 0x12, 1, 0x61, 0x1a, 1, 0x61]));
const megabyte = 1_000_000;

test("only application/grpc and its encodings are gRPC", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const ask = async (contentType: string): Promise<number> => {
    const body = frame(Buffer.alloc(0));
    return (await bare.send(findPath, body, { "content-type": contentType })).httpStatus;
  };
  for (const evil of ["application/grpcevil", "application/grpc-web", "application/grpc+", ""]) {
    assert.equal(await ask(evil), 415, evil);
  }
  for (const suffix of ["", "+proto", ";charset=utf-8", "+proto; a=b"]) {
    assert.equal(await ask(`application/grpc${suffix}`), 200, suffix);
  }
});

test("a request that is not complete in time is ended, and the connection goes on", async () => {
  await using door = await openTestDoor({ door: { requestMs: 50 } });
  const bare = await door.bare();
  const silent = bare.begin(createPath);
  const halfway = bare.begin(createPath);
  halfway.write(announce(megabyte).subarray(0, 20_000));
  const watching = bare.begin(watchPath);
  watching.end(frame(Buffer.from([0x0a, 0])));
  for (const { status, message } of await Promise.all([silent, halfway].map(collect))) {
    assert.equal(status, "DEADLINE_EXCEEDED");
    assert.equal(message, "the request was not complete within 50 ms");
  }
  assert.equal((await bare.call(findPath, Buffer.alloc(0))).status, "OK");
  assert.equal(watching.closed, false, "a complete request may take as long as it likes");
});

test("unfinished requests that use up the budget close their connection; a complete one is answered", async () => {
  const budgets = budgetsOf({ unfinishedBytes: 8 * megabyte });
  await using door = await openTestDoor({ door: { budgets } });
  const client = await door.connectWarm();
  const hoarder = await door.bare();
  const gone = endOf(hoarder);
  for (let count = 0; count < 2; count += 1) {
    hoarder.begin(createPath).write(announce(4 * megabyte).subarray(0, 3 * megabyte));
  }
  await until(() => budgets.unfinished.heldBytes > 6 * megabyte);
  assert.equal(
    await statusOf(client.createTask({ type: "t", input: Buffer.alloc(megabyte) })),
    "OK",
  );
  // What is complete when it arrives was never held; this comes in pieces, and the hoarder has to go for it.
  const slow = await door.bare();
  const stream = slow.begin(createPath);
  const reply = collect(stream);
  const message = announce(4 * megabyte);
  for (let at = 0; at < message.length; at += megabyte / 2) {
    stream.write(message.subarray(at, at + megabyte / 2));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  stream.end();
  await gone;
  assert.equal((await reply).status, "INVALID_ARGUMENT", "it was read to its end");
  await until(() => budgets.unfinished.heldBytes === 0);
});

test("a connection over its share of unfinished requests is refused the next, and keeps the others", async () => {
  const budgets = budgetsOf({ unfinishedBytes: 20 * megabyte, unfinishedShare: 4 * megabyte });
  await using door = await openTestDoor({ door: { budgets } });
  const bare = await door.bare();
  const first = bare.begin(createPath);
  const message = createTask(2 * megabyte - 100);
  first.write(message.subarray(0, 1_900_000));
  await until(() => budgets.unfinished.heldBytes > 1_800_000);
  const second = bare.begin(createPath);
  second.write(announce(4 * megabyte).subarray(0, 3 * megabyte));
  assert.equal((await collect(second)).status, "RESOURCE_EXHAUSTED");
  first.end(message.subarray(1_900_000));
  assert.equal((await collect(first)).status, "OK");
});

test("a caller without a window is owed no more than heads of replies, and these are dropped after the stated time", async () => {
  const budgets = budgetsOf({ stalledMs: 400 });
  await using door = await openTestDoor({ door: { budgets } });
  const request = await largeTask(door);
  const bare = await BareConnection.open(door.port, { initialWindowSize: 0 });
  const streams = Array.from({ length: 100 }, () => bare.begin(getPath));
  const ends = streams.map((stream) => once(stream, "close"));
  for (const stream of streams) stream.end(request);
  let peakBytes = 0;
  const looking = setInterval(() => {
    peakBytes = Math.max(peakBytes, budgets.unread.heldBytes);
  }, 1);
  await Promise.race(ends);
  const most = limits.longCallsMax * (limits.callBytes + 1_000);
  assert(peakBytes > 0 && peakBytes < most, `${peakBytes} bytes were held`);
  await ends[0];
  assert.equal(streams[0]?.rstCode, constants.NGHTTP2_CANCEL);
  assert.equal(bare.session.closed, false, "the connection goes on");
  clearInterval(looking);
  bare.close();
  await until(() => budgets.unread.heldBytes === 0);
});

test("calls that wait behind unread replies are counted until they end, and too many are refused", async () => {
  const room = 40;
  const budgets = budgetsOf({ unfinishedShare: room * limits.callBytes });
  await using door = await openTestDoor({ door: { budgets } });
  const request = await largeTask(door, 100_000);
  const bare = await BareConnection.open(door.port, { initialWindowSize: 0 });
  for (let calls = 0; calls < limits.longCallsMax; calls += 1) bare.begin(getPath).end(request);
  // An empty request takes memory too while it waits. Twice, because the first ones must be forgotten when they end.
  for (let round = 0; round < 2; round += 1) {
    const streams = Array.from({ length: 3 * room }, () => bare.begin(findPath));
    const replies = streams.map(collect);
    for (const stream of streams) stream.end(frame(Buffer.alloc(0)));
    const refused = await Promise.all(replies.slice(room));
    for (const { status, message } of refused) {
      assert.equal(status, "RESOURCE_EXHAUSTED");
      assert.match(message, /wait for earlier replies to be read/);
    }
    assert.equal(budgets.unfinished.heldBytes, room * limits.callBytes);
    for (const stream of streams.slice(0, room)) stream.close(constants.NGHTTP2_CANCEL);
    await until(() => budgets.unfinished.heldBytes === 0);
  }
  const late = await bare.send(findPath, frame(Buffer.alloc(0)), { "grpc-timeout": "50m" });
  assert.equal(late.status, "DEADLINE_EXCEEDED");
  assert.equal(budgets.unfinished.heldBytes, 0);
  bare.close();
});

test("callers that stop reading at the same time are given up one by one, and others are served in between", async () => {
  // The checks are made here, and not by the timer.
  const budgets = budgetsOf({ stalledMs: 3_600_000, checkMs: 3_600_000 });
  await using door = await openTestDoor({ door: { budgets } });
  const crowd: BareConnection[] = [];
  const callsOfEach = 20;
  for (let count = 0; count < 30; count += 1) {
    const bare = await BareConnection.open(door.port, { initialWindowSize: 0 });
    crowd.push(bare);
    for (let calls = 0; calls < callsOfEach; calls += 1) bare.begin(checkPath).end(checkPolicy);
  }
  await until(() => budgets.unread.heldBytes > crowd.length * callsOfEach * limits.callBytes);
  for (let checks = 0; checks < 3; checks += 1) budgets.unread.check();
  let most = 0;
  for (let held = budgets.unread.heldBytes; held > 0; ) {
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, held - budgets.unread.heldBytes);
    held = budgets.unread.heldBytes;
  }
  // A stream is closed a moment after it was given up, so that two connections may fall into one turn.
  const mostCalls = Math.floor(most / limits.callBytes);
  assert(mostCalls <= 3 * callsOfEach, `${mostCalls} calls were ended in one turn`);
  for (const bare of crowd) bare.close();
});

test("a caller that reads is answered, however much it asks for at once", async () => {
  const budgets = budgetsOf({ unreadBytes: 100 * megabyte, unreadShare: 2 * megabyte });
  await using door = await openTestDoor({ door: { budgets } });
  const request = await largeTask(door);
  const bare = await door.bare();
  const replies = await Promise.all(Array.from({ length: 50 }, () => bare.send(getPath, request)));
  assert(
    replies.every(
      ({ status, messages }) => status === "OK" && Number(messages[0]?.length) > megabyte,
    ),
  );
  await until(() => budgets.unread.heldBytes === 0);
});

test("when unread replies exceed the budget, one of their connections is closed and others are answered", async () => {
  const budgets = budgetsOf({ unreadBytes: 1.2 * megabyte });
  await using door = await openTestDoor({ door: { budgets } });
  const request = await largeTask(door);
  const codes: number[] = [];
  const gone = Promise.withResolvers<void>();
  // Three times eight pieces: more than the budget has.
  for (let count = 0; count < 3; count += 1) {
    // Room for the head of a reply: a piece is then printed, and not taken.
    const unread = await BareConnection.open(door.port, { initialWindowSize: 1_000 });
    unread.session.on("goaway", (code) => codes.push(code));
    unread.session.once("close", () => gone.resolve());
    for (let calls = 0; calls < 20; calls += 1) unread.begin(getPath).end(request);
  }
  await gone.promise;
  assert.deepEqual(codes, [constants.NGHTTP2_ENHANCE_YOUR_CALM]);
  const bare = await door.bare();
  assert.equal((await bare.send(getPath, request)).status, "OK");
});

test("at the limit the connection that was idle longest is closed; watches and the token keep theirs", async () => {
  const isToken = (given: string): boolean => given === "Bearer secret";
  await using door = await openTestDoor({ door: { connectionsMax: 8, isToken } });
  const open = async (): Promise<BareConnection & { readonly gone: Promise<unknown> }> => {
    const bare = await door.bare();
    return Object.assign(bare, { gone: endOf(bare) });
  };
  const trusted = await open();
  const shown = { authorization: "Bearer secret" };
  assert.equal((await trusted.send(findPath, frame(Buffer.alloc(0)), shown)).status, "OK");
  const watching = await open();
  watching.begin(watchPath).end(frame(Buffer.from([0x0a, 0])));
  await until(() => door.plane.watchers === 1);
  const used = await open();
  await used.call(findPath, Buffer.alloc(0));
  const silent = [await open(), await open(), await open()];
  await silent[0]?.gone;
  await open();
  await silent[1]?.gone;
  for (const alive of [trusted, watching, used]) {
    assert.equal((await alive.call(findPath, Buffer.alloc(0))).status, "OK");
  }
});

test("when every connection without the token has a watch, a caller with the token can still connect", async () => {
  const isToken = (given: string): boolean => given === "Bearer secret";
  await using door = await openTestDoor({ door: { connectionsMax: 8, isToken } });
  const watching = await Promise.all(Array.from({ length: 4 }, () => door.bare()));
  for (const bare of watching) bare.begin(watchPath).end(frame(Buffer.from([0x0a, 0])));
  await until(() => door.plane.watchers === 4);
  const shown = { authorization: "Bearer secret" };
  for (let count = 0; count < 4; count += 1) {
    const trusted = await door.bare();
    assert.equal((await trusted.send(findPath, frame(Buffer.alloc(0)), shown)).status, "OK");
  }
  assert.equal(door.plane.watchers, 3, "the watch that came last made room");
});

test("half of the watches and of the calls that wait are kept for callers that show the token", async () => {
  const isToken = (given: string): boolean => given === "Bearer secret";
  await using door = await openTestDoor({ door: { isToken } });
  const { plane } = door;
  const client = await door.connectWarm();
  const { agentId } = await client.register({ card: card("ada") });
  const stranger = { isTrusted: false };
  for (let count = 0; count < planeLimits.watchersMax / 2; count += 1) plane.watch(stranger);
  const claim = { type: "task.claim", agentId: toAgentId(agentId) } as const;
  for (let count = 0; count < planeLimits.waitingMax / 2; count += 1) {
    const { signal } = new AbortController();
    void plane.wait(claim, { actor: "local" }, () => undefined, { signal, ...stranger });
  }
  const trusted = await door.connectWarm();
  await trusted.find({}, { metadata: { authorization: "Bearer secret" } });
  const { watch } = PlaneServiceDefinition.methods;
  const watches = (one: GrpcClient): readonly Stream<unknown>[] => [
    one.watch({ topics: [""] }),
    one.watchElection({ group: "g" }),
    one.stream(at(PlaneServiceDefinition, watch))({ topics: [""] }),
  ];
  const { claimTask } = PlaneServiceDefinition.methods;
  const waits = (one: GrpcClient, signal?: AbortSignal): readonly Promise<StatusName>[] => {
    const options = signal ? { signal } : {};
    const claimWaiting = one.unary(at(PlaneServiceDefinition, claimTask));
    return [
      statusOf(one.claimTask({ agentId }, options)),
      statusOf(claimWaiting({ agentId, waitMs: 60_000 }, options)),
    ];
  };
  for (const { ended } of watches(client)) {
    assert.equal((await ended).status, "RESOURCE_EXHAUSTED");
  }
  assert.deepEqual(await Promise.all(waits(client)), ["RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED"]);
  const { watchers, waiting } = plane;
  watches(trusted);
  const calling = new AbortController();
  const waited = waits(trusted, calling.signal);
  await until(() => plane.watchers === watchers + 3 && plane.waiting === waiting + 2);
  calling.abort();
  assert.deepEqual(await Promise.all(waited), ["CANCELLED", "CANCELLED"]);
});

test("headers that unpack to more than is allowed close the connection", async () => {
  await using door = await openTestDoor({ door: { requestMs: 20 } });
  for (const isMixed of [false, true]) {
    const { socket, gone } = greet(door.port);
    const bombs = isMixed ? limits.unseenStreamsMax + 2 : 1;
    for (let count = 0; count < bombs; count += 1) {
      socket.write(headersFrame(4 * count + 1, bomb));
      // Ordinary calls in between do not hide them.
      if (isMixed) socket.write(headersFrame(4 * count + 3, pseudoHeaders));
    }
    await gone;
  }
  assert.equal(await statusOf(door.connect().find({})), "OK");
});

test("headers that unpack to more than is allowed close the connection, also if more of them follow", {
  timeout: 10_000,
}, async () => {
  const checkMs = 20;
  await using door = await openTestDoor({ door: { requestMs: checkMs } });
  const { socket, gone } = greet(door.port);
  let streamId = 1;
  const sending = setInterval(() => {
    socket.write(headersFrame(streamId, bomb));
    streamId += 2;
  }, checkMs / 2);
  await gone.finally(() => clearInterval(sending));
});

/** The preface of HTTP/2 and empty SETTINGS. */
const greeting = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/** POST, http, the path /, and an authority. */
const pseudoHeaders = Buffer.from("838684410161", "hex");

/** A header of 4 kB that is then named 12,000 times: 48 MB out of 16 kB. */
const bomb = Buffer.concat([
  pseudoHeaders,
  Buffer.from("4001787fbd1d", "hex"),
  Buffer.alloc(3_900, "a"),
  Buffer.alloc(12_000, 0xbe),
]);

/** Connects, and reads whatever comes. */
function greet(port: number): { readonly socket: Socket; readonly gone: Promise<unknown> } {
  const socket = connectSocket(port, "127.0.0.1");
  socket.on("error", () => {});
  const gone = once(socket, "close");
  socket.resume();
  socket.write(greeting);
  return { socket, gone };
}

/** A frame of complete headers of a request without a body. */
function headersFrame(streamId: number, block: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(block.length, 0, 3);
  head[3] = 1;
  head[4] = 5;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, block]);
}

/** A message of so many bytes that says nothing. */
function announce(bytes: number): Buffer {
  return frame(Buffer.alloc(bytes));
}

function createTask(inputBytes: number): Buffer {
  const head = Buffer.from([0x0a, 1, 0x74, 0x12, 0, 0, 0]);
  for (let index = 4, left = inputBytes; index < 7; index += 1, left >>>= 7) {
    head[index] = (left & 0x7f) | (index < 6 ? 0x80 : 0);
  }
  return frame(Buffer.concat([head, Buffer.alloc(inputBytes)]));
}

function card(name: string): AgentCard {
  return { name, description: "", version: "", capabilities: [], tools: [], metadata: new Map() };
}

/** Makes a task of so many bytes, and answers with the request for it. */
async function largeTask(door: TestDoor, bytes = megabyte): Promise<Buffer> {
  const client = await door.connectWarm();
  const { task } = await client.createTask({ type: "t", input: Buffer.alloc(bytes) });
  const id = Buffer.from(task?.id ?? "");
  return frame(Buffer.concat([Buffer.from([0x0a, id.length]), id]));
}

function budgetsOf(given: {
  readonly unreadBytes?: number;
  readonly unreadShare?: number;
  readonly stalledMs?: number;
  readonly checkMs?: number;
  readonly unfinishedBytes?: number;
  readonly unfinishedShare?: number;
}): ByteBudgets {
  const { unread, unfinished } = makeByteBudgets();
  const { unreadBytes, unreadShare, stalledMs, unfinishedBytes, unfinishedShare } = given;
  return {
    unread: new ByteBudget({
      ...unread.options,
      bytesMax: unreadBytes ?? unread.options.bytesMax,
      shareBytes: unreadShare ?? unread.options.shareBytes,
      stalledMs: stalledMs ?? 30_000,
      checkMs: given.checkMs ?? 50,
    }),
    unfinished: new ByteBudget({
      ...unfinished.options,
      bytesMax: unfinishedBytes ?? unfinished.options.bytesMax,
      shareBytes: unfinishedShare ?? unfinished.options.shareBytes,
    }),
  };
}

/** Resolves when the connection is closed, with an error or without. */
function endOf({ session }: BareConnection): Promise<void> {
  return new Promise((resolve) => session.once("close", () => resolve()));
}

async function until(look: () => boolean): Promise<void> {
  while (!look()) await new Promise((resolve) => setTimeout(resolve, 2));
}
