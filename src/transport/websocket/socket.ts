/** The server's end of a WebSocket, on `ws`. */
import { isUtf8 } from "node:buffer";
import type { Socket } from "node:net";
import type { RawData, WebSocket } from "ws";
import type { Carrier, Channel } from "../channel.ts";
import { type Closing, Malformed, TransportError } from "../transport.ts";
import { closeCodes, errorOf, fitReason } from "./close-codes.ts";
import type { Watched } from "./pulse.ts";

export class ServerSocket implements Carrier, Watched {
  readonly #channel: Channel;
  readonly #socket: WebSocket;
  readonly #stream: Socket;
  /** Written in this turn. */
  #texts: string[] = [];
  #textUnits = 0;
  #error: TransportError | undefined;
  /** What has come of the first message, and how long it may be. */
  #firstBytes = 0;
  readonly #firstBytesMax: number;

  /** `stream` is what the WebSocket runs on. */
  constructor(
    channel: Channel,
    socket: WebSocket,
    stream: Socket,
    {
      firstFrameBytesMax = Number.POSITIVE_INFINITY,
    }: { readonly firstFrameBytesMax?: number } = {},
  ) {
    this.#channel = channel;
    this.#firstBytesMax = firstFrameBytesMax;
    this.#socket = socket;
    this.#stream = stream;
    // Behind the listener of `ws`, so that a message that ends in a chunk was seen before the chunk is counted.
    stream.on("data", this.#countFirst);
    stream.on("data", this.#countPart);
    socket.once("message", () => {
      stream.off("data", this.#countFirst);
      this.#firstBytes = Number.NEGATIVE_INFINITY;
    });
    socket.on("message", (data, isBinary) => channel.receive(textOf(data, isBinary)));
    socket.on("error", (cause: NodeJS.ErrnoException) => this.#fail(cause));
    socket.on("close", (code, reason) => {
      const closing = { code, reason: reason.toString() };
      channel.ended(this.#error ?? errorOf(code, closing.reason), closing);
    });
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  get queuedBytes(): number {
    return this.#socket.bufferedAmount + this.#textUnits;
  }

  get bytesRead(): number {
    return this.#stream.bytesRead;
  }

  get isPaused(): boolean {
    return this.#socket.isPaused;
  }

  write(text: string): void {
    if (this.#texts.length === 0) process.nextTick(this.#flush);
    this.#texts.push(text);
    this.#textUnits += text.length;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  end({ code, reason }: Closing): void {
    this.#flush();
    this.#socket.close(code, fitReason(reason));
  }

  destroy(error: TransportError): void {
    this.#error ??= error;
    this.#socket.terminate();
  }

  ping(): void {
    if (this.isOpen) this.#socket.ping();
  }

  lose(): void {
    this.destroy(new TransportError("lost", "the peer answers no pings"));
  }

  readonly #wrote = (): void => this.#channel.wrote();

  readonly #countPart = (): void => this.#channel.receivePart(incompleteBytesOf(this.#socket));

  /** `ws` has one limit for all messages, and collects what is below it however long that takes. */
  readonly #countFirst = (chunk: Buffer): void => {
    this.#firstBytes += chunk.length;
    if (this.#firstBytes <= this.#firstBytesMax) return;
    this.#stream.off("data", this.#countFirst);
    this.#error ??= new TransportError("too_big", "the peer's first frame is larger than allowed");
    this.#socket.close(closeCodes.tooBig);
    // Not after the peer's goodbye, which comes behind the rest of that frame.
    this.#stream.destroySoon();
  };

  /** All frames of one turn go out in one write of one piece; `ws` alone makes two for each. */
  readonly #flush = (): void => {
    const texts = this.#texts;
    if (texts.length === 0) return;
    this.#texts = [];
    this.#textUnits = 0;
    if (!this.isOpen) return;
    if (this.#socket.extensions === "") this.#stream.write(framesOf(texts), this.#wrote);
    else for (const text of texts) this.#socket.send(text, this.#wrote);
  };

  /** `ws` says goodbye by itself, with the code that fits. */
  #fail(cause: NodeJS.ErrnoException): void {
    if (cause.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") {
      this.#channel.receive(new Malformed("too_big", "the message is larger than allowed"));
      this.#error ??= new TransportError("too_big", "the peer sent too large a frame", { cause });
    } else if (cause.code === "WS_ERR_INVALID_UTF8") {
      this.#channel.receive(new Malformed("not_utf8", "the message is not UTF-8"));
      this.#error ??= new TransportError("protocol", "the peer sent text that is no UTF-8", {
        cause,
      });
    } else if (cause.code?.startsWith("WS_ERR_")) {
      this.#error ??= new TransportError("protocol", cause.message, { cause });
    } else {
      this.#error ??= new TransportError("lost", "the connection broke", { cause });
    }
  }
}

/**
 * The received part of an incomplete message. `ws` has no public field for it; without these undocumented fields
 * nothing is counted.
 */
function incompleteBytesOf(socket: WebSocket): number {
  const receiver: unknown = Reflect.get(socket, "_receiver");
  if (typeof receiver !== "object" || receiver === null) return 0;
  const bufferedBytes: unknown = Reflect.get(receiver, "_bufferedBytes");
  const fragmentBytes: unknown = Reflect.get(receiver, "_messageLength");
  if (typeof bufferedBytes !== "number" || typeof fragmentBytes !== "number") return 0;
  return bufferedBytes + fragmentBytes;
}

/** Of a server's sockets `ws` gives one buffer for each message, unless told otherwise. */
function textOf(data: RawData, isBinary: boolean): string | Malformed {
  if (isBinary && Buffer.isBuffer(data) && !isUtf8(data)) {
    return new Malformed("not_utf8", "the message is binary, and not UTF-8");
  }
  return data.toString();
}

/** Text messages as RFC 6455 §5.2 frames them: whole, and not masked, because a server sends them. */
function framesOf(texts: readonly string[]): Buffer {
  const sizes = texts.map((text) => Buffer.byteLength(text));
  let bytes = 0;
  for (const size of sizes) bytes += size + (size < 126 ? 2 : size < 65_536 ? 4 : 10);
  const frames = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const [index, text] of texts.entries()) {
    const size = sizes[index] ?? 0;
    frames[at] = 0x81;
    if (size < 126) {
      frames[at + 1] = size;
      at += 2;
    } else if (size < 65_536) {
      frames[at + 1] = 126;
      at = frames.writeUInt16BE(size, at + 2);
    } else {
      frames[at + 1] = 127;
      at = frames.writeUInt32BE(size, frames.writeUInt32BE(0, at + 2));
    }
    at += frames.write(text, at);
  }
  return frames;
}
