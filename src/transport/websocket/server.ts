/**
 * WebSockets on an HTTP server: one that is there already, or one of our own. Whoever is refused learns it from an
 * HTTP answer, before anything is upgraded. Which protocol is spoken on them is the caller's business.
 */
import { createServer, type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { type ByteBudgets, bytesTakenFrom } from "../byte-budget.ts";
import { Channel } from "../channel.ts";
import { ConnectionLimit, type ConnectionSeat } from "../connection-limit.ts";
import { limits } from "../limits.ts";
import { listen, type Place, printPlace } from "../listen.ts";
import { type Link, type Transport, TransportError } from "../transport.ts";
import { UnfinishedFrames } from "../unfinished-frames.ts";
import { closeCodes } from "./close-codes.ts";
import { Handshakes } from "./handshakes.ts";
import { type Guard, type Refusal, refusalOf } from "./hosts.ts";
import { Pulse } from "./pulse.ts";
import { ServerSocket } from "./socket.ts";

export type UpgradeOptions = Guard & {
  /**
   * Whoever gets a transport here owns it. If this fails, the connection is closed with 1011. Where callers must show
   * a token, `welcome` is to be called once the peer has.
   */
  readonly onTransport: (
    transport: Transport,
    request: IncomingMessage,
    welcome: () => void,
  ) => unknown;
  /** What `onTransport` threw. */
  readonly onFault?: (fault: unknown) => void;
  /** Upgrade requests for this path are accepted. The query string is ignored. */
  readonly path: string;
  /** Of these, the first that a client offers is selected (RFC 6455 §4.2.2). None if absent. */
  readonly subprotocols?: readonly string[];
  /** Whether `/` will do as well. */
  readonly alsoRoot?: boolean;
  readonly frameBytesMax?: number;
  /** The same for the first one, which comes from who knows whom. As for all, if absent. */
  readonly firstFrameBytesMax?: number;
  /** Whether to compress for peers that offer it. It costs memory and time for each connection. */
  readonly compresses?: boolean;
  readonly connectionsMax?: number;
  /**
   * Whether callers must show a token before they are trusted: until then they share half of the connections, and
   * the one that has been idle longest is closed for the next. If absent, all are trusted from the start.
   */
  readonly showsToken?: boolean;
  /** Shared with the other doors of the process. If absent, each connection has a bound of its own only. */
  readonly budgets?: ByteBudgets;
  /** From one address. */
  readonly handshakesPerSecond?: number;
  readonly handshakeBurst?: number;
  readonly pingMs?: number;
  /** How long a frame may take to be complete. */
  readonly frameMs?: number;
};

export type Upgrades = AsyncDisposable & {
  readonly connections: number;
  /** Takes no more upgrades, says goodbye to all (1001 unless told otherwise), and leaves the server be. */
  close(reason?: string, code?: number): Promise<void>;
};

/** Takes the upgrades of one path and leaves those of others to other listeners, if there are any. */
export function attachUpgrade(server: Server, options: UpgradeOptions): Upgrades {
  return attach(server, options, new Seats(options));
}

/** The places that the connections of one server have. */
class Seats {
  readonly #limit: ConnectionLimit;
  readonly #bySocket = new WeakMap<Socket, ConnectionSeat>();

  constructor({ connectionsMax = limits.connectionsMax }: UpgradeOptions) {
    this.#limit = new ConnectionLimit({ connectionsMax });
  }

  /** The one that the connection has, or a new one, if there is one left. */
  take(socket: Socket): ConnectionSeat | undefined {
    const known = this.#bySocket.get(socket);
    if (known) return known;
    // A Unix socket has no address. Only this user can open it.
    const isTrusted = socket.remoteAddress === undefined;
    const seat = this.#limit.admit({ close: () => socket.destroy(), isTrusted });
    if (!seat) return undefined;
    this.#bySocket.set(socket, seat);
    socket.once("close", () => seat.leave());
    return seat;
  }
}

function attach(server: Server, options: UpgradeOptions, seats: Seats): Upgrades {
  const { path, subprotocols = [], alsoRoot = false } = options;
  const handshakes = new Handshakes({
    perSecond: options.handshakesPerSecond ?? limits.handshakesPerSecond,
    burst: options.handshakeBurst ?? limits.handshakeBurst,
    addressesMax: limits.addressesMax,
  });
  const pulse = new Pulse(options.pingMs ?? limits.pingMs);
  const open = new Set<Transport>();
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: options.frameBytesMax ?? limits.frameBytesMax,
    perMessageDeflate: options.compresses ?? false,
    ...notInTypes,
    handleProtocols: (offered) => subprotocols.find((name) => offered.has(name)) ?? false,
  });

  const refusal = (request: IncomingMessage): Refusal | undefined => {
    const refused = refusalOf(request.headers, options);
    if (refused) return refused;
    if (!handshakes.admit(request.socket.remoteAddress ?? "", performance.now())) {
      return { status: 429, message: "too many connections in a short time; try again later" };
    }
    return undefined;
  };

  const onUpgrade = (request: IncomingMessage, stream: Duplex, head: Buffer): void => {
    const [asked = ""] = (request.url ?? "").split("?", 1);
    if (asked !== path && !(alsoRoot && asked === "/")) {
      // Nobody else would answer, and the caller would wait for ever.
      if (server.listenerCount("upgrade") === 1) answer(stream, notFound);
      return;
    }
    const refused = refusal(request);
    if (refused) return answer(stream, refused);
    const seat = seats.take(request.socket);
    if (!seat) return answer(stream, tooMany);
    // Until the connection is closed.
    seat.beginRequest();
    sockets.handleUpgrade(request, stream, head, (socket) => greet(request, socket, seat));
  };

  const greet = (request: IncomingMessage, socket: WebSocket, seat: ConnectionSeat): void => {
    const stream = request.socket;
    let carrier: ServerSocket | undefined;
    const closeFor = (message: string) => () =>
      carrier?.destroy(new TransportError("peer_too_slow", message));
    const unread = options.budgets?.unread.open({
      close: closeFor("the peer did not read the frames that were sent to it"),
      takenBytes: () => bytesTakenFrom(stream),
    });
    const { frameMs = limits.frameMs } = options;
    const unfinished = new UnfinishedFrames({
      account: options.budgets?.unfinished.open({
        close: closeFor("the peer sends frames that it does not complete"),
      }),
      frameMs,
      giveUp: closeFor(`a frame was not complete within ${frameMs} ms`),
    });
    const makeCarrier = (channel: Channel): ServerSocket => {
      carrier = new ServerSocket(channel, socket, stream, options);
      pulse.watch(carrier);
      return carrier;
    };
    const transport = new Channel(linkOf(stream), makeCarrier, { unread, unfinished });
    const welcome = (): void => seat.trust();
    if (!options.showsToken) welcome();
    open.add(transport);
    socket.once("close", () => {
      open.delete(transport);
      if (carrier) pulse.unwatch(carrier);
    });
    Promise.try(options.onTransport, transport, request, welcome).catch((fault: unknown) => {
      options.onFault?.(fault);
      return transport.close("internal error", closeCodes.internal);
    });
  };

  const close: Upgrades["close"] = async (
    reason = "shutting down",
    code = closeCodes.goingAway,
  ) => {
    server.off("upgrade", onUpgrade);
    await Promise.all([...open].map((transport) => transport.close(reason, code)));
    pulse[Symbol.dispose]();
  };

  server.on("upgrade", onUpgrade);
  return {
    get connections() {
      return open.size;
    },
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

export type ServerOptions = Omit<UpgradeOptions, "alsoRoot"> & {
  /** 127.0.0.1 if absent. */
  readonly host?: string;
  /** Any free one if absent. */
  readonly port?: number;
  /** Several places at once, instead of one. */
  readonly places?: readonly Place[];
};

export type WebSocketServing = AsyncDisposable & {
  readonly port: number;
  /** Where clients connect. */
  readonly url: string;
  readonly places: readonly Place[];
  readonly connections: number;
  close(reason?: string, code?: number): Promise<void>;
};

/** A server that does nothing else. Rejects with a `ListenError` if a place is taken. */
export async function startWebSocketServer(options: ServerOptions): Promise<WebSocketServing> {
  const { host = "127.0.0.1", port: wanted = 0, path } = options;
  const all: { readonly server: Server; readonly upgrades: Upgrades }[] = [];
  const makeServer = (): Server => {
    const seats = new Seats(options);
    const server = createServer(slowness, (request, response) => {
      const [asked] = (request.url ?? "").split("?", 1);
      const known = asked === path || asked === "/" ? upgradeRequired : notFound;
      const { status, message } = refusalOf(request.headers, options) ?? known;
      response.writeHead(status, { "content-type": "text/plain", connection: "close" });
      response.end(`${message}\n`);
    });
    // A few more connections are accepted only to be refused with a message.
    server.maxConnections = (options.connectionsMax ?? limits.connectionsMax) + limits.refusedMax;
    server.on("connection", (socket: Socket) => void seats.take(socket));
    all.push({ server, upgrades: attach(server, { ...options, alsoRoot: true }, seats) });
    return server;
  };
  const { places } = await listen(makeServer, options.places ?? [{ host, port: wanted }]);
  const [first] = places;
  const place = first && "port" in first ? first : { host, port: wanted };
  const close: WebSocketServing["close"] = async (reason, code) => {
    await Promise.all(all.map((one) => closeOne(one, reason, code)));
  };
  return {
    port: place.port,
    url: `ws://${printPlace(place)}${path}`,
    places,
    get connections() {
      return all.reduce((sum, { upgrades }) => sum + upgrades.connections, 0);
    },
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

async function closeOne(
  { server, upgrades }: { readonly server: Server; readonly upgrades: Upgrades },
  reason: string | undefined,
  code: number | undefined,
): Promise<void> {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  await upgrades.close(reason, code);
  server.closeAllConnections();
  await closed.promise;
}

/** For a peer that says goodbye and then keeps the connection. `ws` knows it, its types do not. */
const notInTypes = { closeTimeout: limits.closeMs } as const;

/** For a peer that is slow to send its request. */
const slowness = {
  headersTimeout: limits.handshakeMs,
  requestTimeout: limits.handshakeMs,
  connectionsCheckingInterval: limits.handshakeMs / 2,
} as const;

const tooMany: Refusal = { status: 503, message: "too many connections; try again later" };
const notFound: Refusal = { status: 404, message: "there is nothing here" };
const upgradeRequired: Refusal = { status: 426, message: "this is a place for WebSockets" };

function answer(stream: Duplex, { status, message }: Refusal): void {
  // The peer may be gone already, and it is not ours to fail over that.
  stream.on("error", () => stream.destroy());
  stream.once("finish", () => stream.destroy());
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Connection: close",
    "Content-Type: text/plain",
    `Content-Length: ${Buffer.byteLength(message) + 1}`,
  ];
  stream.end(`${head.join("\r\n")}\r\n\r\n${message}\n`);
}

function linkOf(stream: Socket): Link {
  const { remoteAddress: address } = stream;
  const isEncrypted = "encrypted" in stream && stream.encrypted === true;
  // A Unix socket has no address.
  const isLocal = address === undefined || /^(?:::ffff:)?127\.|^::1$/.test(address);
  const link = { kind: "websocket", isPrivate: isEncrypted || isLocal } as const;
  return address === undefined ? link : { ...link, address };
}
