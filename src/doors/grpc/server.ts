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
import { type Listening, listen, type Place } from "../../transport/index.ts";
import {
  frame,
  parseTimeoutMs,
  printStatusMessage,
  type StatusName,
  statusNumbers,
  Unframer,
} from "../../wire/grpc/index.ts";
import { limits } from "./limits.ts";

/** What the server does with one path. `Connection` is what the door keeps for each connection. */
export type Method<Connection> = {
  readonly path: string;
  /** Whether each message gets an answer of its own; else there is one message. */
  readonly isExchange: boolean;
  /**
   * A complete message has arrived. Called in the order in which messages arrive on a connection; the
   * promise resolves when the message is dealt with, and rejects only through a fault of ours.
   */
  readonly receive: (message: Buffer, call: ServerCall<Connection>) => Promise<void>;
};

type ServerOptions<Connection> = {
  readonly methods: readonly Method<Connection>[];
  readonly places: readonly Place[];
  readonly makeConnection: () => Connection;
  readonly onCall: (path: string, connection: Connection) => void;
  readonly onFault: (fault: unknown, path: string) => void;
};

const contentType = "application/grpc+proto";
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
  readonly #connections = new Map<ServerHttp2Session, Connection>();
  readonly #sockets = new Set<Socket>();
  readonly #calls = new Set<ServerCall<Connection>>();
  #listening: Listening = { servers: [], places: [] };
  #unframedBytes = 0;
  #isClosing = false;

  static async open<Connection>(
    options: ServerOptions<Connection>,
  ): Promise<GrpcServer<Connection>> {
    const server = new GrpcServer(options);
    server.#listening = await listen(() => server.#makeServer(), options.places);
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
    for (const server of this.#listening.servers) server.close();
    for (const call of this.#calls) {
      if (call.isWaiting) call.end("UNAVAILABLE", "the daemon is shutting down");
    }
    for (const session of this.#connections.keys()) session.close();
    const giveUpAtMs = performance.now() + limits.closingMs;
    while (this.#connections.size > 0 && performance.now() < giveUpAtMs) {
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
    server.maxConnections = limits.connectionsMax;
    // A peer that vanished without a word is noticed in the end, and its claims and watches forgotten.
    server.on("connection", (socket) => {
      socket.setKeepAlive(true, limits.keepAliveMs);
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    server.on("session", (session) => this.#greet(session));
    server.on("stream", (stream: ServerHttp2Stream, headers) => this.#begin(stream, headers));
    // A connection that ends in the middle, or never spoke HTTP/2 (a port probe), is ordinary.
    server.on("sessionError", () => {});
    server.on("unknownProtocol", (socket) => socket.destroy());
    return server;
  }

  #greet(session: ServerHttp2Session): void {
    this.#connections.set(session, this.#options.makeConnection());
    const impatience = setTimeout(() => session.destroy(), limits.prefaceMs);
    session.once("remoteSettings", () => {
      clearTimeout(impatience);
      session.setLocalWindowSize(limits.windowBytes);
    });
    session.once("close", () => {
      clearTimeout(impatience);
      this.#connections.delete(session);
    });
  }

  #begin(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    // A stream that is reset by its caller reports that as an error; the call's end is in `close`.
    stream.on("error", () => {});
    const connection =
      stream.session && this.#connections.get(stream.session as ServerHttp2Session);
    if (!connection) return;
    if (headers[":method"] !== "POST") return refuseHttp(stream, 405);
    if (!headers["content-type"]?.startsWith("application/grpc")) return refuseHttp(stream, 415);

    const call = new ServerCall(stream, connection, headers);
    this.#calls.add(call);
    stream.once("close", () => {
      this.#calls.delete(call);
      call.forget();
    });
    const path = headers[":path"] ?? "";
    const method = this.#methods.get(path);
    if (!method) return call.end("UNIMPLEMENTED", `unknown method ${path}`);
    this.#options.onCall(path, connection);
    if (this.#isClosing) return call.end("UNAVAILABLE", "the daemon is shutting down");
    const timeout = headers["grpc-timeout"];
    if (typeof timeout === "string") call.endAfterMs(parseTimeoutMs(timeout));
    this.#listenTo(stream, call, method);
  }

  #listenTo(
    stream: ServerHttp2Stream,
    call: ServerCall<Connection>,
    method: Method<Connection>,
  ): void {
    const unframer = new Unframer(limits.messageBytesMax);
    let received = 0;
    stream.on("data", (chunk: Buffer) => {
      if (call.isOver) return;
      const messages = unframer.push(chunk);
      switch (messages) {
        case "too_long":
          return call.end(
            "RESOURCE_EXHAUSTED",
            `a message may have ${limits.messageBytesMax} bytes`,
          );
        case "compressed":
          return call.end("UNIMPLEMENTED", "compressed messages are not supported");
      }
      received += messages.length;
      if (received > 1 && !method.isExchange) {
        return call.end("UNIMPLEMENTED", "the method takes one message");
      }
      this.#account(unframer, call);
      if (method.isExchange) this.#exchange(stream, method, messages, call);
      else for (const message of messages) this.#receive(method, message, call);
    });
    stream.once("close", () => {
      this.#unframedBytes -= unframer.countedBytes;
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

  /** Bodies that are not complete are kept until they are. All of them together have a bound. */
  #account(unframer: Unframer, call: ServerCall<Connection>): void {
    this.#unframedBytes += unframer.countBytes();
    if (this.#unframedBytes <= limits.unframedBytesMax) return;
    call.end("RESOURCE_EXHAUSTED", "too many requests are being sent; try again later");
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

  #receive(method: Method<Connection>, message: Buffer, call: ServerCall<Connection>): void {
    method.receive(message, call).catch((fault: unknown) => this.#fail(fault, method, call));
  }

  #fail(fault: unknown, method: Method<Connection>, call: ServerCall<Connection>): void {
    this.#options.onFault(fault, method.path);
    call.end("INTERNAL", "internal error");
  }
}

/** One call, from its headers to its status. Ending it twice is fine: the first end counts. */
export class ServerCall<Connection> {
  readonly connection: Connection;
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  #controller: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  #trailers: Record<string, string> = okTrailers;

  constructor(stream: ServerHttp2Stream, connection: Connection, headers: IncomingHttpHeaders) {
    this.#stream = stream;
    this.#headers = headers;
    this.connection = connection;
  }

  /** What the caller sent along under a name, if anything. */
  metadata(name: string): string | undefined {
    return this.#headers[name]?.toString();
  }

  /** Whether the caller can still be told anything. */
  get isOver(): boolean {
    // A stream that its caller reset is closed at once, and destroyed only later.
    return this.#isOver || this.#stream.closed || this.#stream.destroyed;
  }

  /** Whether something may go on for as long as the caller likes: a watch, a claim. */
  get isWaiting(): boolean {
    return this.#controller !== undefined;
  }

  /** Aborts when the call is over. Made only for who waits: most calls never do. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
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
    this.#stream.end(frame(message));
    // A long reply that nobody reads is not kept for ever.
    if (message.length <= limits.smallReplyBytes) return;
    this.#stream.setTimeout(limits.stalledMs, () => this.#stream.close(constants.NGHTTP2_CANCEL));
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
    if (this.isOver || this.#stream.write(frames)) return;
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
  }
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
