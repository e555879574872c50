/**
 * gRPC over node:http2, as much of it as the door needs: unary calls, server streams, and exchanges
 * (one answer to each message). It frames, limits, times out and ends calls; `method.ts` gives them
 * types, and what they mean is in `methods.ts`. Measured against @grpc/grpc-js it serves about half as many calls again on one core
 * (docs/decisions/0003).
 */
import {
  constants,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import {
  type ByteBudgets,
  ConnectionLimit,
  type Listening,
  listen,
  type Place,
} from "../../transport/index.ts";
import {
  frame,
  frameHead,
  type Pieces,
  parseTimeoutMs,
  printStatusMessage,
  type StatusName,
  statusNumbers,
  Unframer,
} from "../../wire/grpc/index.ts";
import { limits } from "./limits.ts";
import { cutOff, Peer } from "./peer.ts";

/** What the server does with one path. `Connection` is what the door keeps for each connection. */
export type Method<Connection> = {
  readonly path: string;
  /** Whether each message gets an answer of its own; else there is one message. */
  readonly isExchange: boolean;
  /** Whether the reply may be megabytes long. A connection has only a few such calls in progress at a time. */
  readonly isLong?: boolean;
  /**
   * A complete message has arrived. Called in the order in which messages arrive on a connection, except that calls
   * with long replies may wait and are then overtaken. The promise resolves when the message is dealt with, and
   * rejects only through a fault of ours.
   */
  readonly receive: (message: Buffer, call: ServerCall<Connection>) => Promise<void>;
};

type ServerOptions<Connection> = {
  readonly methods: readonly Method<Connection>[];
  readonly places: readonly Place[];
  readonly budgets: ByteBudgets;
  readonly makeConnection: () => Connection;
  /** Whether the `authorization` of a call contains the token, which is optional. */
  readonly isToken: (authorization: string) => boolean;
  /** How long a request may take to be complete. */
  readonly requestMs: number;
  /** For each listen address. */
  readonly connectionsMax: number;
  readonly onCall: (path: string, connection: Connection) => void;
  readonly onFault: (fault: unknown, path: string) => void;
};

const contentType = "application/grpc+proto";
/** With any encoding and parameters: a message that is no protobuf is refused when it is decoded. */
const grpcContentType = /^application\/grpc(?:\+[\w.-]+)?\s*(?:;|$)/i;
const replyHeaders = [
  ":status",
  "200",
  "content-type",
  contentType,
  "grpc-accept-encoding",
  "identity",
];
const okTrailers = { "grpc-status": "0" };
const waitForTrailers = { waitForTrailers: true, sendDate: false };
/** Timers overflow above this, and a call that may take longer has no limit worth the name. */
const timerMsMax = 2_147_483_647;
const endStream = { endStream: true, sendDate: false };

export class GrpcServer<Connection> implements AsyncDisposable {
  readonly #options: ServerOptions<Connection>;
  readonly #methods: ReadonlyMap<string, Method<Connection>>;
  readonly #peers = new Map<ServerHttp2Session, Peer<Connection>>();
  readonly #sockets = new Set<Socket>();
  #listening: Listening = { servers: [], places: [] };
  /** The socket whose HTTP/2 session is being made, because Node's session event does not contain it. */
  #arriving: Socket | undefined;
  #checking: NodeJS.Timeout | undefined;
  #isClosing = false;

  static async open<Connection>(
    options: ServerOptions<Connection>,
  ): Promise<GrpcServer<Connection>> {
    const server = new GrpcServer(options);
    server.#listening = await listen(() => server.#makeServer(), options.places);
    const everyMs = Math.min(limits.checkMs, options.requestMs);
    server.#checking = setInterval(() => server.#check(), everyMs).unref();
    return server;
  }

  private constructor(options: ServerOptions<Connection>) {
    this.#options = options;
    this.#methods = new Map(options.methods.map((method) => [method.path, method]));
  }

  get places(): readonly Place[] {
    return this.#listening.places;
  }

  /** Takes no more connections, ends the calls that wait, and lets the others be answered. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#checking);
    for (const server of this.#listening.servers) server.close();
    for (const [session, { calls }] of this.#peers) {
      for (const call of calls) {
        if (call.isWaiting) call.end("UNAVAILABLE", "the daemon is shutting down");
      }
      session.close();
    }
    const giveUpAtMs = performance.now() + limits.closingMs;
    while (this.#peers.size > 0 && performance.now() < giveUpAtMs) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    // A session that is destroyed still waits for its peer; a socket does not.
    for (const socket of this.#sockets) socket.destroy();
  }

  #makeServer(): Http2Server {
    const server = createServer({
      maxSessionMemory: limits.sessionMemoryMax,
      streamResetBurst: limits.streamResetBurst,
      streamResetRate: limits.streamResetRate,
      settings: {
        maxConcurrentStreams: limits.streamsMax,
        initialWindowSize: limits.windowBytes,
        enablePush: false,
      },
    });
    const places = new ConnectionLimit(this.#options);
    // Before Node's own listener, which makes the session at once.
    server.prependListener("connection", (socket: Socket) => {
      // Detects a peer that vanished without closing the connection, so that its claims and watches end.
      socket.setKeepAlive(true, limits.keepAliveMs);
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      this.#arriving = socket;
    });
    server.on("session", (session) => {
      if (this.#arriving) this.#greet(session, this.#arriving, places);
    });
    server.on("stream", (stream: ServerHttp2Stream, headers) => this.#begin(stream, headers));
    // A connection that ends in the middle, or never spoke HTTP/2 (a port probe), is ordinary.
    server.on("sessionError", () => {});
    server.on("unknownProtocol", (socket) => socket.destroy());
    return server;
  }

  #greet(session: ServerHttp2Session, socket: Socket, places: ConnectionLimit): void {
    // A Unix socket has no address. Only this user can open it.
    const isTrusted = socket.remoteAddress === undefined;
    const seat = places.admit({ close: () => peer?.cutOff(), isTrusted });
    const peer =
      seat &&
      new Peer({
        session,
        socket,
        seat,
        connection: this.#options.makeConnection(),
        budgets: this.#options.budgets,
      });
    if (!peer) return cutOff(session, socket);
    this.#peers.set(session, peer);
    const impatience = setTimeout(() => session.destroy(), limits.prefaceMs);
    session.once("remoteSettings", () => {
      clearTimeout(impatience);
      session.setLocalWindowSize(limits.windowBytes);
    });
    session.once("close", () => {
      clearTimeout(impatience);
      this.#peers.delete(session);
      peer.leave();
    });
  }

  /**
   * Ends calls whose requests are not complete in time, and connections that open streams which never become calls.
   */
  #check(): void {
    const { requestMs } = this.#options;
    const nowMs = performance.now();
    for (const peer of this.#peers.values()) {
      for (const call of peer.calls) {
        if (nowMs - call.awaitedSinceMs <= requestMs) continue;
        call.end("DEADLINE_EXCEEDED", `the request was not complete within ${requestMs} ms`);
      }
      peer.checkStreams();
    }
  }

  #begin(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    // A stream that is reset by its caller reports that as an error; the call's end is in `close`.
    stream.on("error", () => {});
    const peer = stream.session && this.#peers.get(stream.session as ServerHttp2Session);
    if (!peer) return;
    peer.see(stream.id ?? 0);
    const { authorization } = headers;
    if (authorization !== undefined && !peer.seat.isTrusted && this.#options.isToken(authorization))
      peer.seat.trust();
    if (headers[":method"] !== "POST") return refuseHttp(stream, 405);
    if (!isGrpc(headers["content-type"])) return refuseHttp(stream, 415);

    peer.seat.beginRequest();
    const { connection } = peer;
    const call = new ServerCall(stream, peer, headers);
    peer.calls.add(call);
    stream.once("close", () => {
      peer.calls.delete(call);
      peer.seat.endRequest();
      call.close();
    });
    const path = headers[":path"] ?? "";
    const method = this.#methods.get(path);
    if (!method) return call.end("UNIMPLEMENTED", `unknown method ${path}`);
    this.#options.onCall(path, connection);
    if (this.#isClosing) return call.end("UNAVAILABLE", "the daemon is shutting down");
    const timeout = headers["grpc-timeout"];
    if (typeof timeout === "string") call.endAfterMs(parseTimeoutMs(timeout));
    this.#listenTo(stream, { call, peer, method });
  }

  #listenTo(
    stream: ServerHttp2Stream,
    {
      call,
      peer,
      method,
    }: {
      readonly call: ServerCall<Connection>;
      readonly peer: Peer<Connection>;
      readonly method: Method<Connection>;
    },
  ): void {
    call.isAwaited = !method.isExchange;
    const unframer = new Unframer(limits.messageBytesMax);
    let received = 0;
    stream.on("data", (chunk: Buffer) => {
      if (call.isOver) return;
      const messages = unframer.push(chunk);
      switch (messages) {
        case "too_long":
          return call.end(
            "RESOURCE_EXHAUSTED",
            `the message is larger than the limit of ${limits.messageBytesMax} bytes`,
          );
        case "compressed":
          return call.end("UNIMPLEMENTED", "compressed messages are not supported");
      }
      received += messages.length;
      if (received > 1 && !method.isExchange) {
        return call.end("UNIMPLEMENTED", "the method takes one message");
      }
      const isComplete = !unframer.isTruncated;
      if (isComplete) call.isAwaited = false;
      else if (!call.isAwaited) call.isAwaited = true;
      const more = unframer.countBytes();
      if (more > 0) peer.unfinished.add(more);
      else if (more < 0) peer.unfinished.remove(-more);
      if (more > 0 && peer.unfinished.isOverShare) {
        const message = "this connection sends too many large requests at a time; send fewer";
        return call.end("RESOURCE_EXHAUSTED", message);
      }
      if (method.isExchange) this.#exchange(stream, method, messages, call);
      else for (const message of messages) this.#receive(method, message, { call, peer });
    });
    stream.once("close", () => {
      if (unframer.countedBytes > 0) peer.unfinished.remove(unframer.countedBytes);
    });
    stream.on("end", () => {
      if (call.isOver) return;
      if (unframer.isTruncated) {
        return call.end("INVALID_ARGUMENT", "the body ends in the middle of a message");
      }
      if (method.isExchange) return call.end("OK", "");
      if (received === 0) call.end("UNIMPLEMENTED", "the method takes one message");
    });
  }

  /** Answers one message after another, and reads no more until they are written. */
  #exchange(
    stream: ServerHttp2Stream,
    method: Method<Connection>,
    messages: readonly Buffer[],
    call: ServerCall<Connection>,
  ): void {
    stream.pause();
    const answer = async (): Promise<void> => {
      for (const message of messages) {
        if (!call.isOver) await method.receive(message, call);
      }
      stream.resume();
    };
    answer().catch((fault: unknown) => this.#fail(fault, method, call));
  }

  #receive(
    method: Method<Connection>,
    message: Buffer,
    { call, peer }: { readonly call: ServerCall<Connection>; readonly peer: Peer<Connection> },
  ): void {
    const receive = (): Promise<void> =>
      method.receive(message, call).catch((fault: unknown) => this.#fail(fault, method, call));
    if (!method.isLong) void receive();
    else peer.runLong(call, message.length, async () => (call.isOver ? undefined : receive()));
  }

  #fail(fault: unknown, method: Method<Connection>, call: ServerCall<Connection>): void {
    this.#options.onFault(fault, method.path);
    call.end("INTERNAL", "internal error");
  }
}

/** One call, from its headers to its status. Ending it twice is fine: the first end counts. */
export class ServerCall<Connection> {
  readonly peer: Peer<Connection>;
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  #controller: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  #isForgotten = false;
  #trailers: Record<string, string> = okTrailers;
  /** What the caller has not read of this call. */
  #unreadBytes = 0;
  /** What is held until the caller has all of a long reply. */
  #keptBytes = 0;
  /** Continues a long reply whose piece was taken. */
  #delivered: (() => void) | undefined;
  /** Since when the rest of the request is awaited; never, if nothing is. */
  #awaitedSinceMs = Number.POSITIVE_INFINITY;

  constructor(stream: ServerHttp2Stream, peer: Peer<Connection>, headers: IncomingHttpHeaders) {
    this.#stream = stream;
    this.#headers = headers;
    this.peer = peer;
  }

  get connection(): Connection {
    return this.peer.connection;
  }

  /** Whether its connection has shown the token, or is a Unix socket. */
  get isTrusted(): boolean {
    return this.peer.seat.isTrusted;
  }

  get awaitedSinceMs(): number {
    return this.#isOver ? Number.POSITIVE_INFINITY : this.#awaitedSinceMs;
  }

  /** Whether the call cannot begin before the caller has sent more. */
  set isAwaited(isAwaited: boolean) {
    this.#awaitedSinceMs = isAwaited ? performance.now() : Number.POSITIVE_INFINITY;
  }

  get isAwaited(): boolean {
    return this.#awaitedSinceMs < Number.POSITIVE_INFINITY;
  }

  /** What the caller sent along under a name, if anything. */
  metadata(name: string): string | undefined {
    return this.#headers[name]?.toString();
  }

  /** Whether the caller can still be told anything. */
  get isOver(): boolean {
    // A stream that its caller reset is closed at once, and destroyed only later.
    return this.#isOver || this.#isGone;
  }

  get #isGone(): boolean {
    return this.#stream.closed || this.#stream.destroyed;
  }

  /** Whether something may go on for as long as the caller likes: a watch, a claim. */
  get isWaiting(): boolean {
    return this.#controller !== undefined;
  }

  /** Aborts when the call is over. Made only for who waits: most calls never do. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (!this.#isForgotten) this.peer.seat.beginWatch();
    }
    if (this.isOver) this.#controller.abort();
    return this.#controller.signal;
  }

  /** Runs something once the call is over; at once if it is already. */
  whenOver(run: () => void): void {
    const { signal } = this;
    if (signal.aborted) run();
    else signal.addEventListener("abort", run, { once: true });
  }

  /** The reply of a unary call, and its end. */
  reply(message: Uint8Array): void {
    if (this.isOver) return;
    this.begin();
    this.#isOver = true;
    this.#stream.end(frame(message), this.#wrote);
    this.#hold(message.length + limits.callBytes);
  }

  /**
   * The same for a reply of any length: each piece is printed when the caller has taken the one before. Resolves when
   * the caller has taken all of it, or is gone.
   */
  async replyInPieces({ length, heldBytes, print }: Pieces): Promise<void> {
    if (length <= limits.pieceBytes) return this.reply(Buffer.concat([...print()], length));
    if (this.isOver) return;
    this.begin();
    this.#isOver = true;
    this.#keptBytes = limits.callBytes + heldBytes;
    this.#hold(this.#keptBytes);
    // Sent alone: nothing else is held for a caller whose flow control window is 0.
    await this.#deliver(frameHead(length));
    for (const piece of piecesIn(print())) {
      await this.peer.unread.turn();
      if (this.#isGone) return;
      await this.#deliver(piece);
    }
    if (!this.#isGone) this.#stream.end();
  }

  /** Resolves when the bytes have passed the caller's flow control window, or the caller is gone. */
  #deliver(bytes: Uint8Array): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#isGone) return Promise.resolve();
    this.#delivered = resolve;
    this.#stream.write(bytes, () => {
      this.#release(this.#keptBytes);
      resolve();
    });
    this.#hold(bytes.length);
    return promise;
  }

  /** Sends the headers: the caller then knows that it is being served. */
  begin(): void {
    if (this.isOver || this.#stream.headersSent) return;
    this.#stream.once("wantTrailers", () => {
      if (!this.#stream.closed && !this.#stream.destroyed)
        this.#stream.sendTrailers(this.#trailers);
    });
    this.#stream.respond(replyHeaders, waitForTrailers);
  }

  /** Writes framed messages of a stream; resolves when there is room for more, or nobody to read it. */
  async write(frames: Uint8Array): Promise<void> {
    if (this.isOver) return;
    const hasRoom = this.#stream.write(frames, this.#wrote);
    this.#hold(frames.length);
    if (hasRoom) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stream.once("drain", resolve);
    this.#stream.once("close", resolve);
    await promise;
    this.#stream.off("drain", resolve);
    this.#stream.off("close", resolve);
  }

  /** `more` goes along with the status. */
  end(status: StatusName, message: string, more: Readonly<Record<string, string>> = {}): void {
    if (this.isOver) return;
    this.#isOver = true;
    this.forget();
    const code = String(statusNumbers[status]);
    const trailers: Record<string, string> = { ...more, "grpc-status": code };
    if (message !== "") trailers["grpc-message"] = printStatusMessage(message);
    this.#hold(limits.callBytes);
    if (this.#stream.headersSent) {
      this.#trailers = trailers;
      this.#stream.end();
      return;
    }
    const headers = { ":status": 200, "content-type": contentType, ...trailers };
    this.#stream.respond({ ...headers, "grpc-accept-encoding": "identity" }, endStream);
    letGo(this.#stream);
  }

  endAfterMs(timeoutMs: number | undefined): void {
    if (timeoutMs === undefined) return this.end("INVALID_ARGUMENT", "grpc-timeout is malformed");
    if (timeoutMs > timerMsMax) return;
    const message = `the call took longer than ${timeoutMs} ms`;
    this.#timer = setTimeout(() => this.end("DEADLINE_EXCEEDED", message), timeoutMs);
  }

  /** The call is over: whoever works for it may stop. */
  forget(): void {
    clearTimeout(this.#timer);
    this.#controller?.abort();
    if (this.#isForgotten) return;
    this.#isForgotten = true;
    this.peer.stopWaiting(this);
    if (this.#controller) this.peer.seat.endWatch();
  }

  /** The caller does not read the answer: what is left of it is dropped. A stream that goes on is not. */
  giveUp(): void {
    if (this.#isOver) this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  /** The stream is closed: nothing of it is held any more. */
  close(): void {
    this.forget();
    this.#release(0);
    this.#delivered?.();
  }

  #hold(bytes: number): void {
    this.#unreadBytes += bytes;
    this.peer.unread.add(bytes);
  }

  #release(leftBytes: number): void {
    const taken = this.#unreadBytes - leftBytes;
    if (taken <= 0) return;
    this.#unreadBytes = leftBytes;
    this.peer.unread.remove(taken);
  }

  readonly #wrote = (): void => this.#release(this.#stream.writableLength);
}

/** Joins pieces until they have at least `limits.pieceBytes`. None is encoded before it is asked for. */
function* piecesIn(printed: Iterable<Uint8Array>): Generator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let length = 0;
  for (const bytes of printed) {
    waiting.push(bytes);
    length += bytes.length;
    if (length < limits.pieceBytes) continue;
    yield Buffer.concat(waiting, length);
    waiting = [];
    length = 0;
  }
  if (length > 0) yield Buffer.concat(waiting, length);
}

function isGrpc(given: string | undefined): boolean {
  // What gRPC clients send; no other text needs to be fast.
  return given === "application/grpc" || grpcContentType.test(given ?? "");
}

function refuseHttp(stream: ServerHttp2Stream, status: number): void {
  if (stream.closed || stream.destroyed) return;
  stream.respond({ ":status": status }, endStream);
  letGo(stream);
}

/**
 * Ends a stream whose caller goes on sending after it was answered. Not at once: a reset that overtakes
 * the status would leave the caller without one. What arrives meanwhile is dropped.
 */
function letGo(stream: ServerHttp2Stream): void {
  stream.resume();
  const linger = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), limits.lingerMs);
  stream.once("close", () => clearTimeout(linger));
}
