/**
 * The client's end of a WebSocket, on the one that browsers and Node both have. That one cannot stop
 * reading, tells nobody when it has sent something, and may close only with 1000 or a code of one's own.
 */
import { type Carrier, Channel } from "../channel.ts";
import { limits } from "../limits.ts";
import { type Closing, Malformed, type Transport, TransportError } from "../transport.ts";
import { errorOf, fitReason } from "./close-codes.ts";

export type ConnectOptions = {
  readonly signal?: AbortSignal;
  readonly handshakeMs?: number;
  readonly frameBytesMax?: number;
};

/** Rejects with the signal's reason, or with `cannot_connect`. */
export async function connectWebSocket(
  url: string | URL,
  {
    signal,
    handshakeMs = limits.handshakeMs,
    frameBytesMax = limits.frameBytesMax,
  }: ConnectOptions = {},
): Promise<Transport> {
  signal?.throwIfAborted();
  const socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  const address = new URL(url);
  const link = { kind: "websocket", isPrivate: isPrivate(address) } as const;
  // Before anything can arrive, so that nothing is missed.
  const transport = new Channel(
    link,
    (channel) => new ClientSocket(channel, socket, frameBytesMax),
  );
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const tooLate = setTimeout(() => {
    const message = `no connection to ${printAddress(address)} within ${handshakeMs} ms`;
    reject(new TransportError("cannot_connect", message));
  }, handshakeMs);
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  socket.addEventListener("open", () => resolve(), { once: true });
  socket.addEventListener("close", () => {
    const message = `no WebSocket could be opened at ${printAddress(address)}`;
    reject(new TransportError("cannot_connect", message));
  });
  try {
    await promise;
    return transport;
  } catch (error) {
    socket.close();
    throw error;
  } finally {
    clearTimeout(tooLate);
    signal?.removeEventListener("abort", abort);
  }
}

/** How often to look whether something was sent, while somebody waits for that. */
const lookMs = 5;

class ClientSocket implements Carrier {
  readonly #channel: Channel;
  readonly #socket: WebSocket;
  readonly #frameBytesMax: number;
  #isPaused = false;
  #isLooking = false;
  #error: TransportError | undefined;

  constructor(channel: Channel, socket: WebSocket, frameBytesMax: number) {
    this.#channel = channel;
    this.#socket = socket;
    this.#frameBytesMax = frameBytesMax;
    socket.addEventListener("message", ({ data }) => this.#receive(data));
    socket.addEventListener("close", ({ code, reason }) => {
      channel.ended(this.#error ?? errorOf(code, reason), { code, reason });
    });
    // What an error was, the close event says.
    socket.addEventListener("error", () => {});
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  get queuedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  write(text: string): void {
    this.#socket.send(text);
    if (this.queuedBytes > limits.queuedBytesLow) this.#look();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
  }

  end({ code, reason }: Closing): void {
    // 1008 becomes 4008: a code of one's own, because no other is allowed.
    this.#socket.close(code === 1000 ? code : 3000 + code, fitReason(reason));
  }

  destroy(error: TransportError): void {
    this.#error ??= error;
    const closing = {
      code: 3000 + (error.code === "too_big" ? 1009 : 1008),
      reason: error.message,
    };
    if (this.isOpen) this.#socket.close(closing.code, fitReason(closing.reason));
    // A goodbye would wait for the peer.
    this.#channel.ended(this.#error, closing);
  }

  #receive(data: unknown): void {
    const arrival = this.#read(data);
    this.#channel.receive(arrival);
    if (arrival instanceof Malformed && arrival.code === "too_big") {
      this.destroy(new TransportError("too_big", "the peer sent too large a frame"));
    } else if (this.#isPaused && this.#channel.waitingBytes > limits.unreadBytesMax) {
      this.destroy(
        new TransportError("reader_too_slow", "frames come faster than they are handled"),
      );
    }
  }

  #read(data: unknown): string | Malformed {
    // In UTF-16 units, which are never more than the bytes were: what is too big by this surely is.
    if (typeof data === "string") return data.length > this.#frameBytesMax ? tooBig() : data;
    if (!(data instanceof ArrayBuffer)) return new Malformed("not_utf8", "the message is not text");
    if (data.byteLength > this.#frameBytesMax) return tooBig();
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(data);
    } catch {
      return new Malformed("not_utf8", "the message is binary, and not UTF-8");
    }
  }

  /** No event tells when something was sent. */
  #look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    setTimeout(() => {
      this.#isLooking = false;
      this.#channel.wrote();
      if (this.isOpen && this.queuedBytes > limits.queuedBytesLow) this.#look();
    }, lookMs);
  }
}

function tooBig(): Malformed {
  return new Malformed("too_big", "the message is larger than allowed");
}

/** Without what may be secret: a password, or a token in the query. */
function printAddress({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`;
}

function isPrivate({ protocol, hostname }: URL): boolean {
  const isLocal = /^(?:localhost|127\.[0-9.]+|\[::1\])$/.test(hostname);
  return protocol === "wss:" || protocol === "https:" || isLocal;
}
