/**
 * HTTP, for browsers, clients, Prometheus, load balancers and the command line. Sizes are checked first,
 * then who is speaking, then the rest is decoded. Whoever reaches the door may look at what agents told us;
 * to change something, or to see what is the user's alone, takes the local token.
 */
import { createServer, type Server, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, type HttpBindings, RequestError } from "@hono/node-server";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import type { Plane } from "../../plane/index.ts";
import {
  type ByteBudgets,
  ConnectionLimit,
  listen,
  makeByteBudgets,
  type Place,
} from "../../transport/index.ts";
import { eventsPath } from "../../wire/api/index.ts";
import { addApi, trustIn } from "./api.ts";
import type { Credentials } from "./credentials.ts";
import { decodeWatching, Hosts } from "./decode.ts";
import { errorBody, httpStatus, refuse } from "./errors.ts";
import { EventStream, type EventStreamOptions } from "./event-stream.ts";
import { limits } from "./limits.ts";
import type { Metrics } from "./metrics.ts";
import type { OperationParts } from "./operations.ts";
import { loadPage, type Page } from "./page.ts";
import { Peer } from "./peer.ts";
import type { Timeline } from "./timeline.ts";

export type HttpDoorOptions = {
  /** None: it answers only those who call `fetch`. */
  readonly places: readonly Place[];
  /** The budgets that all doors of the process share; the door makes its own if absent. */
  readonly budgets?: ByteBudgets;
  readonly about: OperationParts["about"];
  readonly metrics: Metrics;
  readonly timeline: Timeline;
  readonly credentials: Credentials;
  readonly find: OperationParts["find"];
  readonly ranking: OperationParts["ranking"];
  readonly lookAround: OperationParts["lookAround"];
  readonly lookClosely: OperationParts["lookClosely"];
  readonly taskLimits?: NonNullable<OperationParts["taskLimits"]>;
  readonly work: OperationParts["work"];
  readonly workersOf?: NonNullable<OperationParts["workersOf"]>;
  readonly submitJob?: NonNullable<OperationParts["submitJob"]>;
  /** Whether a load balancer should send callers here. */
  readonly isReady: () => boolean;
  /** Names, without a port, by which we may be called besides those of this machine; or any. */
  readonly hosts?: readonly string[] | "any";
  /** How long a request may take to say what it wants; `limits.requestMs` by default. */
  readonly requestMs?: number;
  /** We were wrong. The caller was told no more than that. */
  readonly onFault: (fault: unknown, path: string) => void;
};

export interface HttpDoor extends AsyncDisposable {
  /** Where it listens, with the ports it really has. */
  readonly places: readonly Place[];
  /** Answers a request of this process, as if it had come through a place. */
  fetch(request: Request): Promise<Response>;
}

/** Rejects with `ListenError` (`address_in_use`, `cannot_listen`) if a place cannot be had. */
export async function openHttpDoor(plane: Plane, options: HttpDoorOptions): Promise<HttpDoor> {
  const page = await loadPage();
  const streams = new EventStreams();
  const closing = new AbortController();
  const app = makeApp({ plane, options, page, streams, closing: closing.signal });
  const servers: Server[] = [];
  const budgets = options.budgets ?? makeByteBudgets();
  const { places } = await listen(() => {
    const server = makeServer(app, options, budgets);
    servers.push(server);
    return server;
  }, options.places);
  return new OpenDoor({ places, servers, streams, app, closing });
}

/** Node's request and response objects, and the connection; absent for in-process calls through `fetch`. */
type Bindings = Partial<HttpBindings> & {
  readonly peer?: Peer;
  /** Came by a way that only this user can take: any Host will do. */
  readonly isPrivate: boolean;
};
export type Env = { Bindings: Bindings };

/** On every answer: nothing is kept, framed, guessed, or readable by a page from elsewhere. */
const headers = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
} as const;

function makeApp(parts: {
  readonly plane: Plane;
  readonly options: HttpDoorOptions;
  readonly page: Page;
  readonly streams: EventStreams;
  readonly closing: AbortSignal;
}): Hono<Env> {
  const { plane, options, page, streams, closing } = parts;
  const { about, metrics } = options;
  const app = new Hono<Env>();
  app.use(guard(new Hosts(options.hosts ?? []), options.credentials));

  app.get("/healthz", (context) => context.text("ok"));

  app.get("/readyz", (context) =>
    options.isReady() ? context.text("ready") : context.text("shutting down", 503),
  );

  app.get("/metrics", async (context) => {
    const text = await metrics.print(plane, options.work);
    return context.body(text, 200, { "Content-Type": metrics.contentType });
  });

  for (const route of page.routes) {
    app.get(route, (context) => {
      const file = page.find(context.req.path);
      return file ? context.body(file.body, file.status, file.headers) : context.notFound();
    });
  }

  addApi(app, { ...options, plane, closing });

  app.get(eventsPath, (context) => {
    const watching = decodeWatching(context.req.url, context.req.header("Last-Event-ID"));
    if (watching.refusal) return refuse(context, watching.refusal);
    const { maySee } = trustIn(context, options.credentials);
    const crowd = streams.refusal({ isTrusted: maySee });
    if (crowd !== undefined) return refuse(context, { code: "limit_reached", message: crowd });
    const contentType = { "Content-Type": "text/event-stream; charset=utf-8" };
    if (context.req.method === "HEAD") return context.body(null, 200, contentType);
    const stream = streams.open(plane, {
      planeId: about().planeId,
      afterSequence: watching.value.after,
      topics: watching.value.topics,
      maySee,
      ...accountFor(context.env),
      onFault: (fault) => options.onFault(fault, context.req.path),
    });
    tie(stream, context.env, context.req.raw.signal);
    return context.body(stream.body, 200, contentType);
  });

  refuseOtherMethods(app);
  app.notFound((context) =>
    refuse(context, { code: "not_found", message: "there is nothing here; try /" }),
  );
  app.onError((fault, context) => {
    options.onFault(fault, context.req.path);
    const message = "something went wrong here; the daemon's log says what";
    return refuse(context, { code: "internal", message });
  });
  return app;
}

/** Whoever asks for a path in a way it does not answer is told which it does. */
function refuseOtherMethods(app: Hono<Env>): void {
  const methods = new Map<string, string[]>();
  for (const { path, method } of app.routes) {
    if (method === "ALL") continue;
    const known = methods.get(path) ?? [];
    methods.set(path, [...known, ...(method === "GET" ? ["GET", "HEAD"] : [method])]);
  }
  for (const [path, allowed] of methods) {
    app.all(path, (context) => {
      context.header("Allow", allowed.join(", "));
      const message = `this path answers ${allowed.join(", ")} only`;
      return refuse(context, { code: "method_not_allowed", message });
    });
  }
}

function guard(hosts: Hosts, credentials: Credentials): MiddlewareHandler<Env> {
  return async (context, next) => {
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    const { incoming, isPrivate, peer } = context.env;
    if (peer && !peer.seat.isTrusted && credentials.hasToken(context.req.header("Authorization"))) {
      peer.seat.trust();
    }
    if ((incoming?.url?.length ?? 0) > limits.urlLengthMax) {
      const message = `the URL is longer than the limit of ${limits.urlLengthMax} characters`;
      return refuse(context, { code: "url_too_long", message });
    }
    if (!isPrivate && !hosts.has(context.req.url)) {
      const message = "not served under this name; use localhost, or allow the name";
      return refuse(context, { code: "wrong_host", message });
    }
    if (isFromElsewhere(context, hosts)) {
      const message = "pages from elsewhere may not call this door";
      return refuse(context, { code: "forbidden_origin", message });
    }
    return await next();
  };
}

/** Whether a browser says that another site's page is asking. That page may link here, no more. */
function isFromElsewhere({ req }: Context<Env>, hosts: Hosts): boolean {
  const origin = req.header("Origin");
  if (origin !== undefined) return !hosts.hasOrigin(origin, req.url);
  // Browsers name no origin where the page could not read the answer anyway, as for an image.
  const site = req.header("Sec-Fetch-Site") ?? "none";
  return !["same-origin", "none"].includes(site) && req.header("Sec-Fetch-Mode") !== "navigate";
}

/** The stream ends with its connection, and is a watch that keeps the connection from being closed as idle. */
function tie(stream: EventStream, { outgoing, peer }: Bindings, signal: AbortSignal): void {
  peer?.seat.beginWatch();
  signal.addEventListener("abort", () => stream.end(), { once: true });
  if (signal.aborted) stream.end();
  if (!outgoing) return;
  outgoing.once("close", () => {
    stream.end();
    peer?.seat.endWatch();
  });
  if (outgoing.destroyed) stream.end();
}

/** Counts bytes that the stream has sent and the reader has not read. */
function accountFor({ outgoing, peer }: Bindings): Pick<EventStreamOptions, "onSend" | "onPull"> {
  if (!outgoing || !peer) return {};
  return {
    onSend: (bytes) => peer.unread.add(bytes),
    onPull: () => peer.unread.set(outgoing.writableLength),
  };
}

function makeServer(
  app: Hono<Env>,
  { onFault, requestMs = limits.requestMs }: HttpDoorOptions,
  budgets: ByteBudgets,
): Server {
  const server = createServer({
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: Math.min(limits.headersMs, requestMs),
    requestTimeout: requestMs,
    // How often it is looked at whether one of these has passed.
    connectionsCheckingInterval: Math.min(limits.checkEveryMs, requestMs),
    keepAliveTimeout: limits.keepAliveMs,
  });
  const peers = new WeakMap<Socket, Peer>();
  const places = new ConnectionLimit({ connectionsMax: limits.connectionsMax });
  server.on("connection", (socket: Socket) => {
    const isTrusted = typeof server.address() === "string";
    const seat = places.admit({ close: () => socket.destroy(), isTrusted });
    if (seat) peers.set(socket, new Peer(socket, seat, budgets));
    else socket.destroy();
  });
  const answer = getRequestListener(
    (request, env) => {
      const isPrivate = typeof server.address() === "string";
      const peer = peers.get(env.incoming.socket as Socket);
      return app.fetch(request, { ...env, isPrivate, ...(peer && { peer }) });
    },
    // The globals of whoever embeds us stay as they are.
    { overrideGlobalObjects: false, errorHandler: refuseMalformed },
  );
  server.on("clientError", refuseBytes);
  server.on("request", (incoming, outgoing) => {
    peers.get(incoming.socket)?.take(outgoing, () =>
      answer(incoming, outgoing).catch((fault: unknown) => {
        onFault(fault, incoming.url ?? "");
        outgoing.destroy();
      }),
    );
  });
  return server;
}

/** What is no request, or not a whole one in time, does not reach the app either. */
function refuseBytes(fault: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || fault.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const code = byteFaults.get(fault.code ?? "") ?? "invalid_argument";
  const body = JSON.stringify(errorBody(code, byteMessages[code]));
  const status = httpStatus[code];
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "Connection: close",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
  // Closed while more comes in, the connection would be reset before the caller could read this.
  socket.resume();
  setTimeout(() => socket.destroy(), limits.closingMs).unref();
}

type ByteFault = "invalid_argument" | "headers_too_long" | "too_slow";

const byteFaults: ReadonlyMap<string, ByteFault> = new Map([
  ["HPE_HEADER_OVERFLOW", "headers_too_long"],
  ["ERR_HTTP_REQUEST_TIMEOUT", "too_slow"],
]);
const byteMessages: Readonly<Record<ByteFault, string>> = {
  invalid_argument: "this is no HTTP request",
  headers_too_long: `a request line and its headers may have ${limits.headerBytesMax} bytes`,
  too_slow: "the request did not come in time",
};

/** A request whose address makes no sense does not reach the app. */
function refuseMalformed(fault: unknown): Response {
  if (!(fault instanceof RequestError)) throw fault;
  const body = errorBody("invalid_argument", "the address or the Host header cannot be read");
  return Response.json(body, { status: httpStatus.invalid_argument, headers });
}

/** The open streams of a door. */
class EventStreams {
  readonly #open = new Set<EventStream>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /**
   * Why another event stream may not be opened; undefined if it may. Half of them are reserved for callers that show
   * the token.
   */
  refusal({ isTrusted }: { readonly isTrusted: boolean }): string | undefined {
    const { eventStreamsMax } = limits;
    if (this.#open.size >= eventStreamsMax) {
      return `${eventStreamsMax} event streams are open already; close one`;
    }
    const strangersMax = eventStreamsMax / 2;
    const strangers = this.#open.values().filter(({ maySee }) => !maySee);
    if (isTrusted || strangers.toArray().length < strangersMax) return undefined;
    return `${strangersMax} event streams without the token are open already; show the token, or close one`;
  }

  open(plane: Plane, options: Omit<EventStreamOptions, "onEnd">): EventStream {
    const stream = new EventStream(plane, { ...options, onEnd: () => this.#drop(stream) });
    this.#open.add(stream);
    this.#timer ??= setInterval(() => this.#comment(), limits.commentEveryMs);
    if (this.#isClosed) stream.end();
    return stream;
  }

  close(): void {
    this.#isClosed = true;
    for (const stream of this.#open) stream.end();
  }

  #comment(): void {
    for (const stream of this.#open) stream.comment();
  }

  #drop(stream: EventStream): void {
    this.#open.delete(stream);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

class OpenDoor implements HttpDoor {
  readonly places: readonly Place[];
  readonly #servers: readonly Server[];
  readonly #streams: EventStreams;
  readonly #app: Hono<Env>;
  readonly #closing: AbortController;
  /** Answers under way for this process. */
  readonly #answering = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor(parts: {
    readonly places: readonly Place[];
    readonly servers: readonly Server[];
    readonly streams: EventStreams;
    readonly app: Hono<Env>;
    readonly closing: AbortController;
  }) {
    this.places = parts.places;
    this.#servers = parts.servers;
    this.#streams = parts.streams;
    this.#app = parts.app;
    this.#closing = parts.closing;
  }

  async fetch(request: Request): Promise<Response> {
    if (this.#closing.signal.aborted) {
      const body = errorBody("unavailable", "the door is closed");
      return Response.json(body, { status: httpStatus.unavailable, headers });
    }
    const answer = Promise.resolve(this.#app.fetch(request, { isPrivate: true }));
    this.#answering.add(answer);
    try {
      return await answer;
    } finally {
      this.#answering.delete(answer);
    }
  }

  /**
   * Takes no more connections, answers who waits, ends event streams, and cuts off what is not answered
   * soon.
   */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const closed = this.#servers.map(
      (server) => new Promise<unknown>((resolve) => server.close(resolve)),
    );
    this.#closing.abort();
    this.#streams.close();
    // Connections are kept open for a next request; those that have answered their last are let go.
    const letGo = setInterval(() => {
      for (const server of this.#servers) server.closeIdleConnections();
    }, 10);
    const { promise: late, resolve: giveUp } = Promise.withResolvers<void>();
    const cutOff = setTimeout(() => {
      for (const server of this.#servers) server.closeAllConnections();
      giveUp();
    }, limits.closingMs);
    await Promise.all([...closed, Promise.race([Promise.allSettled(this.#answering), late])]);
    clearInterval(letGo);
    clearTimeout(cutOff);
  }
}
