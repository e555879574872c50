/** The server's end of a WebSocket, on `ws`. */
import { isUtf8 } from "node:buffer";
import type { Socket } from "node:net";
import type { RawData, WebSocket } from "ws";
import type { Carrier, Channel } from "../channel.ts";
import { type Closing, Malformed, TransportError } from "../transport.ts";
import { errorOf, fitReason } from "./close-codes.ts";
import type { Watched } from "./pulse.ts";

export class ServerSocket implements Carrier, Watched {
  readonly #channel: Channel;
  readonly #socket: WebSocket;
  readonly #stream: Socket;
  #isCorked = false;
  #error: TransportError | undefined;

  /** `stream` is what the WebSocket runs on. */
  constructor(channel: Channel, socket: WebSocket, stream: Socket) {
    this.#channel = channel;
    this.#socket = socket;
    this.#stream = stream;
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
    return this.#socket.bufferedAmount;
  }

  get bytesRead(): number {
    return this.#stream.bytesRead;
  }

  get isPaused(): boolean {
    return this.#socket.isPaused;
  }

  write(text: string): void {
    this.#cork();
    this.#socket.send(text, this.#wrote);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  end({ code, reason }: Closing): void {
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

  /** All frames of one turn go out in one write; `ws` alone makes one for each. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#stream.cork();
    process.nextTick(this.#uncork);
  }

  readonly #uncork = (): void => {
    this.#isCorked = false;
    this.#stream.uncork();
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

/** Of a server's sockets `ws` gives one buffer for each message, unless told otherwise. */
function textOf(data: RawData, isBinary: boolean): string | Malformed {
  if (isBinary && Buffer.isBuffer(data) && !isUtf8(data)) {
    return new Malformed("not_utf8", "the message is binary, and not UTF-8");
  }
  return data.toString();
}
