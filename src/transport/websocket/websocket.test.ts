/** WebSockets over real sockets, on this machine. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import { connect, createServer as createTcpServer, type Socket } from "node:net";
import { test } from "node:test";
import { WebSocket as Peer } from "ws";
import { ByteBudget, makeByteBudgets } from "../byte-budget.ts";
import { collect, endOf, type Pair, settled, transportContract, until } from "../contract.ts";
import type { Malformed, Transport } from "../transport.ts";
import { connectWebSocket } from "./client.ts";
import { closeCodes, fitReason } from "./close-codes.ts";
import { Handshakes } from "./handshakes.ts";
import { parseHostHeader } from "./hosts.ts";
import { Pulse } from "./pulse.ts";
import { attachUpgrade, type ServerOptions, startWebSocketServer } from "./server.ts";

transportContract("WebSocket, server", {
  farCanWait: false,
  makePair: async (): Promise<Pair> => {
    await using scene = await open();
    const pair = await scene.pair();
    return { near: pair.server, far: pair.client, lose: pair.lose, ...scene.keep() };
  },
});

transportContract("WebSocket, client", {
  farCanWait: true,
  makePair: async (): Promise<Pair> => {
    await using scene = await open();
    const pair = await scene.pair();
    return { near: pair.client, far: pair.server, lose: pair.lose, ...scene.keep() };
  },
});

test("[ARCP-27] the server's queue grows when a peer stops reading, and drains when it goes on", async () => {
  await using scene = await open();
  const peer = await scene.peer();
  const server = await scene.next();
  peer.pause();
  const text = "x".repeat(65_000);
  for (let n = 0; n < 512; n += 1) await server.send({ n, text });
  await settled(() => server.queuedBytes);
  assert(server.queuedBytes > 16_777_216);
  let isDrained = false;
  const drained = server.drained().then(() => {
    isDrained = true;
  });
  await new Promise(setImmediate);
  assert.equal(isDrained, false);
  let next = 0;
  const all = Promise.withResolvers<void>();
  peer.on("message", (data) => {
    assert.equal(JSON.parse(data.toString()).n, next);
    next += 1;
    if (next === 512) all.resolve();
  });
  peer.resume();
  await drained;
  await all.promise;
  await settled(() => server.queuedBytes);
  assert.equal(server.queuedBytes, 0);
});

test("a peer that takes nothing at all is given up, and the server goes on", async () => {
  await using scene = await open();
  const peer = await scene.peer();
  const server = await scene.next();
  const ended = endOf(server);
  peer.pause();
  const text = "x".repeat(1_000_000);
  let failures = 0;
  for (let n = 0; n < 100; n += 1) await server.send({ n, text }).catch(() => (failures += 1));
  assert(failures > 0);
  assert.equal((await ended).error?.code, "peer_too_slow");
  const { client } = await scene.pair();
  assert.equal(client.closed, false);
});

test("a flood that nobody handles stays with whoever sends it", async () => {
  await using scene = await open();
  const { client, server, socketOfServer } = await scene.pair();
  const text = JSON.stringify({ text: "x".repeat(60_000) });
  for (let n = 0; n < 1_000; n += 1) await client.sendText(text);
  await until(() => socketOfServer.bytesRead > 1_000_000);
  await settled(() => socketOfServer.bytesRead);
  assert(socketOfServer.bytesRead < 2_000_000, `${socketOfServer.bytesRead} bytes were read`);
  assert.equal((await collect(server, 1_000)).length, 1_000);
});

test("closing waits neither for a handler that is stuck nor for frames that nobody wants", async () => {
  await using scene = await open();
  const { client, server, socketOfServer } = await scene.pair();
  const stuck = Promise.withResolvers<void>();
  server.onFrame(() => stuck.promise);
  const [here, there] = [endOf(server), endOf(client)];
  const text = JSON.stringify({ text: "x".repeat(60_000) });
  for (let n = 0; n < 200; n += 1) await client.sendText(text);
  await until(() => socketOfServer.bytesRead > 1_000_000);
  await settled(() => socketOfServer.bytesRead);
  await server.close("enough");
  stuck.resolve();
  assert.equal((await here).error, undefined);
  assert.deepEqual((await there).closing, { code: 1000, reason: "enough" });
});

test("a peer that hangs up on our goodbye does as it was told", async () => {
  await using scene = await open();
  const stream = await scene.shake();
  const server = await scene.next();
  const ended = endOf(server);
  stream.on("data", () => stream.destroy());
  await server.close();
  assert.equal((await ended).error, undefined);
});

test("[ARCP-28] a frame is one JSON object in one text message, nothing around it", async () => {
  await using scene = await open();
  const peer = await scene.peer();
  const server = await scene.next();
  const received: unknown[] = [];
  peer.on("message", (data, isBinary) => received.push([String(data), isBinary]));
  await Promise.all([server.send({ n: 1, text: "ü" }), server.sendText('{"n":2}')]);
  await until(() => received.length === 2);
  assert.deepEqual(received, [
    ['{"n":1,"text":"ü"}', false],
    ['{"n":2}', false],
  ]);
});

test("[PYC-20] [ARCP-29] a client asks for the path that it was given, and offers no subprotocol", async () => {
  const asked: unknown[] = [];
  const http = createServer();
  http.on("upgrade", (request, socket) => {
    asked.push([request.url, request.headers["sec-websocket-protocol"]]);
    socket.destroy();
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const address = http.address();
  assert(address !== null && typeof address === "object");
  const url = `ws://127.0.0.1:${address.port}/arcp`;
  await assert.rejects(connectWebSocket(url), { code: "cannot_connect" });
  http.close();
  assert.deepEqual(asked, [["/arcp", undefined]]);
});

test("of the sub-protocols that a client offers, the server selects the first of its own list", async () => {
  await using scene = await open({ subprotocols: ["chat.v2", "chat"] });
  const taken: string[] = [];
  for (const offer of [[], ["chat"], ["chat", "chat.v2"], ["other", "chat"]]) {
    taken.push((await scene.peer({ offer })).protocol);
  }
  assert.deepEqual(taken, ["", "chat", "chat.v2", "chat"]);
  const { headers } = await scene.ask({ "sec-websocket-protocol": "other, mqtt" });
  assert.equal(headers["sec-websocket-protocol"], undefined);
});

test("a server without sub-protocols selects none, whatever is offered", async () => {
  await using scene = await open();
  for (const offered of ["arcp", "arcp.v1.1, chat"]) {
    const { statusCode, headers } = await scene.ask({ "sec-websocket-protocol": offered });
    assert.deepEqual([statusCode, headers["sec-websocket-protocol"]], [101, undefined]);
  }
});

test("a server of its own takes its path and /, with any query, and answers 404 elsewhere", async () => {
  await using scene = await open({ path: "/chat" });
  const statuses: unknown[] = [];
  for (const path of ["/chat", "/chat?a=b", "/", "/?x", "/chat/", "/other", "//", "/CHAT"]) {
    statuses.push((await scene.ask({}, path)).statusCode);
  }
  assert.deepEqual(statuses, [101, 101, 101, 101, 404, 404, 404, 404]);
});

test("[ARCP-30] a mounted handler leaves other upgrades alone, unless nobody else would answer", async () => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address && typeof address === "object");
  const attached = attachUpgrade(server, { path: "/arcp", onTransport: () => {} });
  const ask = (path: string) => upgrade(address.port, {}, path);
  assert.equal((await ask("/other")).statusCode, 404);
  assert.equal((await ask("/")).statusCode, 404);
  server.on("upgrade", (request, socket) => {
    if (request.url === "/other") socket.end("HTTP/1.1 418 \r\nContent-Length: 0\r\n\r\n");
  });
  assert.equal((await ask("/other")).statusCode, 418);
  assert.equal((await ask("/arcp")).statusCode, 101);
  await until(() => attached.connections === 0);
  await attached.close();
  assert.equal(server.listenerCount("upgrade"), 1);
  server.close();
  server.closeAllConnections();
});

test("[ARCP-31] a Host header is compared without its port and case, and brackets stay", () => {
  const hosts: readonly (readonly [string | undefined, string | undefined])[] = [
    ["localhost", "localhost"],
    ["LocalHost:7777", "localhost"],
    ["127.0.0.1:7777", "127.0.0.1"],
    ["[::1]:7777", "[::1]"],
    ["[::1]", "[::1]"],
    ["[FE80::1]:1", "[fe80::1]"],
    ["example.org:", "example.org"],
    [undefined, undefined],
    ["", undefined],
    [":7777", undefined],
    ["::1", undefined],
    ["[::1", undefined],
    ["a b", undefined],
    ["localhost:77:77", undefined],
    ["localhost:evil", undefined],
  ];
  for (const [header, host] of hosts) assert.equal(parseHostHeader(header), host, String(header));
});

test("[ARCP-31] [ARCP-231] a wrong host is 403 and none is 400, as text, for upgrades and for requests", async () => {
  await using scene = await open({ allowedHosts: ["LOCALHOST", "[::1]"] });
  const answers: unknown[] = [];
  for (const host of ["localhost:1", "[::1]:99", "evil.example", "localhost.evil.example"]) {
    const { statusCode, headers } = await scene.ask({ host });
    answers.push(statusCode, headers["content-type"]);
  }
  const [no, text] = [403, "text/plain"];
  assert.deepEqual(answers, [101, undefined, 101, undefined, no, text, no, text]);
  const bare = await scene.raw(
    "GET /arcp HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
  );
  assert.match(bare, /^HTTP\/1\.1 400 [\s\S]*Content-Type: text\/plain/);
  const plain = await fetch(scene.url.replace("ws:", "http:"));
  assert.deepEqual([plain.status, plain.headers.get("content-type")], [no, text]);
});

test("[ARCP-31] an origin that is not on the list is refused; no origin is no page, and passes", async () => {
  await using scene = await open({ allowedOrigins: ["http://localhost:9090"] });
  const statuses: unknown[] = [];
  for (const headers of [
    {},
    { origin: "http://localhost:9090" },
    { origin: "http://evil.example" },
  ]) {
    statuses.push((await scene.ask(headers)).statusCode);
  }
  statuses.push((await scene.ask({ origin: "null" })).statusCode);
  assert.deepEqual(statuses, [101, 101, 403, 403]);
});

test("pages of some hosts may connect, from any port of theirs; those of others may not", async () => {
  await using scene = await open({ allowedOriginHosts: ["localhost", "[::1]"] });
  const statuses: unknown[] = [];
  for (const origin of [
    "http://localhost:3000",
    "https://[::1]:8443",
    "http://localhost.evil.example",
    "https://evil.example",
    "null",
  ]) {
    statuses.push((await scene.ask({ origin })).statusCode);
  }
  statuses.push((await scene.ask({})).statusCode);
  assert.deepEqual(statuses, [101, 101, 403, 403, 403, 101]);
});

test("an ordinary request learns what this place is for", async () => {
  await using scene = await open();
  const at = (path: string) => fetch(new URL(path, scene.url.replace("ws:", "http:")));
  assert.deepEqual([(await at("/arcp")).status, (await at("/x")).status], [426, 404]);
});

test("[ARCP-32] binary messages are read as text if they are, and malformed if not", async () => {
  await using scene = await open();
  const peer = await scene.peer();
  const server = await scene.next();
  const seen: unknown[] = [];
  const all = Promise.withResolvers<void>();
  server.onMalformed(({ code }: Malformed) => seen.push(code));
  server.onFrame(({ n }) => {
    seen.push(n);
    if (n === 2) all.resolve();
  });
  peer.send(Buffer.from('{"n":"ü"}'), { binary: true });
  peer.send(Buffer.from([0x7b, 0xff, 0x7d]), { binary: true });
  peer.send(Buffer.from("[1]"), { binary: true });
  peer.send('{"n":2}');
  await all.promise;
  assert.deepEqual(seen, ["ü", "not_utf8", "not_an_object", 2]);
  const answer = once(peer, "message");
  await server.send({ n: 1 });
  assert.equal((await answer)[1], false, "we sent binary");
});

test("[ARCP-32] a client reads binary messages alike", async () => {
  await using scene = await open();
  const { client, socketOfServer } = await scene.pair();
  const seen: unknown[] = [];
  const all = Promise.withResolvers<void>();
  client.onMalformed(({ code }) => seen.push(code));
  client.onFrame(({ n }) => {
    seen.push(n);
    if (n === 2) all.resolve();
  });
  // Frames by hand, as the server itself never sends binary: FIN and opcode 2, then opcode 1.
  socketOfServer.write(Buffer.concat([Buffer.from([0x82, 7]), Buffer.from('{"n":1}')]));
  socketOfServer.write(Buffer.from([0x82, 1, 0xff]));
  socketOfServer.write(Buffer.concat([Buffer.from([0x81, 7]), Buffer.from('{"n":2}')]));
  await all.promise;
  assert.deepEqual(seen, [1, "not_utf8", 2]);
});

test("[ARCP-33] a message over the limit is told as malformed and closes with 1009", async () => {
  await using scene = await open({ frameBytesMax: 1_000 });
  const peer = await scene.peer();
  const server = await scene.next();
  const seen: unknown[] = [];
  server.onMalformed(({ code }) => seen.push(code));
  server.onFrame(({ text }) => seen.push(String(text).length));
  const ended = endOf(server);
  const closed = once(peer, "close");
  const fitting = JSON.stringify({ text: "x".repeat(989) });
  assert.equal(fitting.length, 1_000);
  peer.send(fitting);
  peer.send(`${fitting} `);
  peer.send(fitting);
  assert.equal((await closed)[0], 1009);
  assert.equal((await ended).error?.code, "too_big");
  assert.deepEqual(seen, [989, "too_big"]);
});

test("a first message may have a limit of its own, which ends who only begins one; later ones are as long as ever", async () => {
  await using scene = await open({ firstFrameBytesMax: 1_000 });
  const stranger = await scene.peer();
  const unknown = endOf(await scene.next());
  const closed = once(stranger, "close");
  stranger.send("x".repeat(600), { fin: false });
  stranger.send("x".repeat(600), { fin: false });
  assert.equal((await unknown).error?.code, "too_big");
  assert.equal((await closed)[0], 1009);

  const peer = await scene.peer();
  const server = await scene.next();
  const lengths: number[] = [];
  const all = Promise.withResolvers<void>();
  server.onFrame(({ text }) => {
    lengths.push(String(text).length);
    if (lengths.length === 2) all.resolve();
  });
  peer.send(JSON.stringify({ text: "x".repeat(100) }));
  peer.send(JSON.stringify({ text: "x".repeat(100_000) }));
  await all.promise;
  assert.deepEqual(lengths, [100, 100_000]);
});

test("frames that are not complete share a budget; the connection that holds the most is closed for others", async () => {
  const budgets = makeByteBudgets();
  const unfinished = new ByteBudget({ ...budgets.unfinished.options, bytesMax: 1_000_000 });
  await using scene = await open({ budgets: { ...budgets, unfinished } });
  const hoarder = await scene.peer();
  const closed = endOf(await scene.next());
  // Whole fragments of a message, and a ping between them, which completes nothing.
  for (const length of [300_000, 400_000]) {
    hoarder.send("x".repeat(length), { fin: false });
    hoarder.ping();
  }
  await until(() => unfinished.heldBytes >= 700_000);
  const peer = await scene.peer();
  const server = await scene.next();
  const frame = collect(server, 1);
  const message = JSON.stringify({ text: "y".repeat(400_000) });
  peer.send(message.slice(0, 350_000), { fin: false });
  assert.equal((await closed).error?.code, "peer_too_slow");
  peer.send(message.slice(350_000), { fin: true });
  assert.equal(String((await frame)[0]?.["text"]).length, 400_000);
  await until(() => unfinished.heldBytes === 0);
});

test("what has come of one frame counts before the frame is complete, and frames that nobody handles count too", async () => {
  const budgets = makeByteBudgets();
  await using scene = await open({ budgets });
  const socket = await scene.shake();
  const server = await scene.next();
  // A masked text frame of 65,535 bytes, of which 30,000 come.
  socket.write(Buffer.concat([Buffer.from("81feffff00000000", "hex"), Buffer.alloc(30_000, "1")]));
  await until(() => budgets.unfinished.heldBytes >= 30_000);
  socket.write(Buffer.alloc(35_535, "1"));
  await until(() => budgets.unfinished.heldBytes === 65_535);
  const malformed = Promise.withResolvers<Malformed>();
  server.onMalformed(malformed.resolve);
  server.onFrame(() => {});
  assert.equal((await malformed.promise).code, "not_an_object");
  assert.equal(budgets.unfinished.heldBytes, 0);
  socket.destroy();
});

test("a frame that is not complete in time closes its connection; a peer that is silent keeps its own", async () => {
  await using scene = await open({ frameMs: 50 });
  const silent = await scene.pair();
  const peer = await scene.peer();
  const ended = endOf(await scene.next());
  peer.send("{", { fin: false });
  const { error } = await ended;
  assert.equal(error?.message, "a frame was not complete within 50 ms");
  const frame = collect(silent.server, 1);
  await silent.client.send({ n: 1 });
  assert.deepEqual(await frame, [{ n: 1 }]);
});

test("[ARCP-33] NOT MET: a client over its limit closes with a code of its own, for 1009 is not allowed to it", async () => {
  await using scene = await open();
  const { client, server } = await scene.pair({ frameBytesMax: 1_000 });
  const [here, there] = [endOf(client), endOf(server)];
  const seen: unknown[] = [];
  client.onMalformed(({ code }) => seen.push(code));
  client.onFrame(() => seen.push("frame"));
  await server.sendText(JSON.stringify({ text: "x".repeat(990) }));
  assert.equal((await here).error?.code, "too_big");
  assert.equal((await there).closing?.code, 4009);
  assert.deepEqual(seen, ["too_big"]);
});

test("[ARCP-34] compression is declined by default, and spoken if asked for", async () => {
  await using plain = await open();
  assert.equal((await plain.peer()).extensions, "");
  await using compressing = await open({ compresses: true });
  const peer = await compressing.peer();
  const server = await compressing.next();
  assert.equal(peer.extensions, "permessage-deflate");
  const frames = collect(server, 1);
  const text = "x".repeat(100_000);
  peer.send(JSON.stringify({ text }));
  assert.deepEqual(await frames, [{ text }]);
  const answer = once(peer, "message");
  await server.send({ text });
  assert.equal(JSON.parse(String((await answer)[0])).text, text);
});

test("[ARCP-35] the peer hears the code and as much of the reason as fits", async () => {
  await using scene = await open();
  for (const code of Object.values(closeCodes)) {
    const peer = await scene.peer();
    const server = await scene.next();
    const closed = once(peer, "close");
    await server.close("ü".repeat(100), code);
    const [heard, reason] = await closed;
    assert.deepEqual([heard, String(reason)], [code, "ü".repeat(61)]);
  }
  assert.equal(fitReason("short"), "short");
});

test("[ARCP-35] codes of the peer say whether something was wrong, and no code says no", async () => {
  await using scene = await open();
  const heard: unknown[] = [];
  for (const code of [1000, 1001, undefined, 1008, 1009, 1011, 4000]) {
    const peer = await scene.peer();
    const ended = endOf(await scene.next());
    peer.close(code, code === undefined ? "" : "why");
    const { error, closing } = await ended;
    heard.push([closing?.code, error?.code]);
  }
  assert.deepEqual(heard, [
    [1000, undefined],
    [1001, undefined],
    [1005, undefined],
    [1008, "refused"],
    [1009, "too_big"],
    [1011, "refused"],
    [4000, "refused"],
  ]);
});

test("text that is no UTF-8 ends the connection with 1007, and what breaks the protocol with 1002", async () => {
  await using scene = await open();
  for (const [bytes, code, error] of [
    [[0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28], 1007, "protocol"],
    [[0xff, 0x80, 0, 0, 0, 0], 1002, "protocol"],
  ] as const) {
    const stream = await scene.shake();
    const server = await scene.next();
    server.onFrame(() => assert.fail("this is no frame"));
    const ended = endOf(server);
    stream.write(Buffer.from(bytes));
    const [answer] = await once(stream, "data");
    assert.equal(answer.readUInt16BE(2), code);
    stream.destroy();
    assert.equal((await ended).error?.code, error);
  }
});

test("[ARCP-37] one address may make so many handshakes a second, after a burst", () => {
  const handshakes = new Handshakes({ perSecond: 10, burst: 3, addressesMax: 2 });
  const admitted = (address: string, atMs: number): boolean => handshakes.admit(address, atMs);
  assert.deepEqual(
    [0, 0, 0, 0, 50, 100, 101].map((atMs) => admitted("a", atMs)),
    [true, true, true, false, false, true, false],
  );
  assert.equal(admitted("b", 101), true);
  assert.equal(admitted("a", 101), false);
  // The third address makes the one heard of longest ago be forgotten: b, not a.
  assert.equal(admitted("c", 101), true);
  assert.equal(admitted("a", 101), false);
  assert.equal(admitted("a", 1_000_000), true);
});

test("[ARCP-37] too many handshakes are 429, too many connections 503, and both pass", async () => {
  await using hasty = await open({ handshakesPerSecond: 0, handshakeBurst: 2 });
  const statuses: unknown[] = [];
  for (let n = 0; n < 3; n += 1) statuses.push((await hasty.ask({})).statusCode);
  await using full = await open({ connectionsMax: 1 });
  const peer = await full.peer();
  statuses.push((await full.ask({})).statusCode);
  peer.close();
  await until(() => full.connections() === 0);
  statuses.push((await full.ask({})).statusCode);
  assert.deepEqual(statuses, [101, 101, 429, 503, 101]);
});

test("a peer that answers no pings is lost; one that answers stays, however silent", async () => {
  await using scene = await open({ pingMs: 10 });
  const stream = await scene.shake();
  const deadEnd = endOf(await scene.next());
  const peer = await scene.peer();
  const alive = await scene.next();
  let pings = 0;
  peer.on("ping", () => {
    pings += 1;
  });
  assert.equal((await deadEnd).error?.code, "lost");
  await until(() => pings > 5);
  assert.equal(alive.closed, false);
  stream.destroy();
});

test("pings are for silent peers that we read from, and a late beat judges nobody", () => {
  let nowMs = 0;
  using pulse = new Pulse(1_000, () => nowMs);
  const told: string[] = [];
  const peer = {
    bytesRead: 0,
    isPaused: false,
    ping: () => told.push("ping"),
    lose: () => told.push("lose"),
  };
  pulse.watch(peer);
  const beat = (afterMs = 1_000): number => {
    nowMs += afterMs;
    pulse.beat();
    return told.length;
  };
  peer.bytesRead = 10;
  assert.equal(beat(), 0);
  assert.equal(beat(), 1);
  peer.isPaused = true;
  assert.equal(beat(), 1);
  peer.isPaused = false;
  for (const count of [2, 3, 4]) assert.equal(beat(), count);
  assert.equal(beat(60_000), 4);
  beat();
  assert.deepEqual(told, ["ping", "ping", "ping", "ping", "lose"]);
  pulse.unwatch(peer);
  assert.equal(beat(), 5);
});

test("[ARCP-230] closing detaches, says goodbye to all with 1001 and takes no more", async () => {
  await using scene = await open();
  const peers = [await scene.peer(), await scene.peer()];
  const ended = endOf(await scene.next());
  const closed = Promise.all(peers.map((peer) => once(peer, "close")));
  await scene.close();
  for (const [code] of await closed) assert.equal(code, 1001);
  assert.equal((await ended).error, undefined);
  await assert.rejects(connectWebSocket(scene.url), { code: "cannot_connect" });
  await scene.close();
});

test("whoever fails to welcome a transport closes it with 1011, and the server goes on", async () => {
  const faults: unknown[] = [];
  for (const onTransport of [
    () => {
      throw new Error("thrown");
    },
    () => Promise.reject(new Error("rejected")),
  ]) {
    await using server = await startWebSocketServer({
      path: "/arcp",
      onTransport,
      onFault: (fault) => faults.push(fault),
    });
    const peer = new Peer(server.url);
    assert.equal((await once(peer, "close"))[0], 1011);
  }
  assert.deepEqual(faults, [new Error("thrown"), new Error("rejected")]);
});

test("what arrives with the handshake is not lost", async () => {
  await using scene = await open();
  const mask = Buffer.from([0x81, 0x87, 0, 0, 0, 0]);
  const stream = await scene.shake(Buffer.concat([mask, Buffer.from('{"n":1}')]));
  assert.deepEqual(await collect(await scene.next(), 1), [{ n: 1 }]);
  stream.destroy();
});

test("connecting can be called off, ends after a while, and says when nobody is there", async () => {
  const silent = createTcpServer(() => {});
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const address = silent.address();
  assert(address && typeof address === "object");
  const url = `ws://127.0.0.1:${address.port}/arcp`;
  const reason = new Error("never mind");
  const signal = AbortSignal.abort(reason);
  await assert.rejects(connectWebSocket(url, { signal }), reason);
  const controller = new AbortController();
  const connecting = connectWebSocket(url, { signal: controller.signal });
  controller.abort(reason);
  await assert.rejects(connecting, reason);
  await assert.rejects(connectWebSocket(url, { handshakeMs: 20 }), { code: "cannot_connect" });
  silent.close();
  await assert.rejects(connectWebSocket("ws://ann:secret@127.0.0.1:9/arcp?token=secret"), {
    code: "cannot_connect",
    message: "no WebSocket could be opened at ws://127.0.0.1:9/arcp",
  });
  await using scene = await open({ allowedHosts: ["elsewhere"] });
  await assert.rejects(connectWebSocket(scene.url), { code: "cannot_connect" });
});

test("a client that is too far behind gives the connection up, and still hears what it has", async () => {
  await using scene = await open();
  const { client, server } = await scene.pair();
  const go = Promise.withResolvers<void>();
  let heard = 0;
  client.onFrame(() => {
    heard += 1;
    return go.promise;
  });
  const ended = endOf(client);
  const text = JSON.stringify({ text: "x".repeat(1_000_000) });
  for (let n = 0; n < 80 && !server.closed; n += 1) {
    await server.sendText(text).catch(() => {});
    await server.drained();
  }
  await until(() => client.closed);
  go.resolve();
  assert.equal((await ended).error?.code, "reader_too_slow");
  assert(heard > 60 && heard < 80, `${heard} were heard`);
});

test("[ARCP-38] a transport knows what it runs over", async () => {
  await using scene = await open();
  const { client, server } = await scene.pair();
  assert.deepEqual(server.link, { kind: "websocket", isPrivate: true, address: "127.0.0.1" });
  assert.deepEqual(client.link, { kind: "websocket", isPrivate: true });
});

type Scene = AsyncDisposable & {
  readonly url: string;
  readonly connections: () => number;
  /** The transport of the server for the next that connects. */
  readonly next: () => Promise<Transport>;
  readonly peer: (options?: { readonly offer?: string[] }) => Promise<Peer>;
  readonly pair: (options?: { readonly frameBytesMax?: number }) => Promise<{
    readonly client: Transport;
    readonly server: Transport;
    readonly socketOfServer: Socket;
    readonly lose: () => void;
  }>;
  readonly ask: (headers: Record<string, string>, path?: string) => Promise<IncomingMessage>;
  /** What is answered to these bytes. */
  readonly raw: (text: string) => Promise<string>;
  /** A socket after its handshake, which speaks by hand. */
  readonly shake: (head?: Buffer) => Promise<Socket>;
  readonly close: () => Promise<void>;
  /** Hands the scene over: it no longer ends with the block. */
  readonly keep: () => AsyncDisposable;
};

async function open(options: Partial<ServerOptions> = {}): Promise<Scene> {
  const arrived: { readonly transport: Transport; readonly request: IncomingMessage }[] = [];
  const server = await startWebSocketServer({
    path: "/arcp",
    ...options,
    onTransport: (transport, request) => arrived.push({ transport, request }),
  });
  const peers: Peer[] = [];
  let isKept = false;
  const close = async (): Promise<void> => {
    for (const peer of peers) peer.resume();
    await server.close();
    for (const peer of peers) peer.terminate();
  };
  const arrival = async () => {
    await until(() => arrived.length > 0);
    const next = arrived.shift();
    assert(next);
    return next;
  };
  return {
    url: server.url,
    connections: () => server.connections,
    next: async () => (await arrival()).transport,
    peer: async ({ offer = [] } = {}) => {
      const peer = new Peer(server.url, offer);
      peers.push(peer);
      await once(peer, "open");
      return peer;
    },
    pair: async (options) => {
      const client = await connectWebSocket(server.url, options);
      const { transport, request } = await arrival();
      const socketOfServer = request.socket;
      const lose = (): void => {
        socketOfServer.resetAndDestroy();
      };
      return { client, server: transport, socketOfServer, lose };
    },
    ask: (headers, path = "/arcp") => upgrade(server.port, headers, path),
    raw: async (text) => {
      const socket = connect(server.port, "127.0.0.1");
      socket.write(text);
      let answer = "";
      for await (const chunk of socket) answer += chunk;
      return answer;
    },
    shake: async (head = Buffer.alloc(0)) => {
      const socket = connect(server.port, "127.0.0.1");
      const key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13";
      const start = "GET /arcp HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket";
      socket.write(Buffer.concat([Buffer.from(`${start}\r\n${key}\r\n\r\n`), head]));
      const [answer] = await once(socket, "data");
      assert.match(String(answer), /^HTTP\/1\.1 101 /);
      return socket;
    },
    close,
    keep: () => {
      isKept = true;
      return { [Symbol.asyncDispose]: close };
    },
    [Symbol.asyncDispose]: async () => {
      if (!isKept) await close();
    },
  };
}

/** The answer to an upgrade; a connection that comes of it is dropped at once. */
async function upgrade(
  port: number,
  headers: Record<string, string>,
  path: string,
): Promise<IncomingMessage> {
  const asking = request({
    port,
    host: "127.0.0.1",
    agent: false,
    path,
    headers: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
      ...headers,
    },
  });
  const answered = Promise.withResolvers<IncomingMessage>();
  asking.on("response", (response) => {
    response.resume();
    answered.resolve(response);
  });
  asking.on("upgrade", (response, socket) => {
    socket.destroy();
    answered.resolve(response);
  });
  asking.on("error", answered.reject);
  asking.end();
  return answered.promise;
}
