/**
 * Listens in on WebSocket connections without touching them: every byte goes on as it came, and what the server
 * says is read from a copy.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export type Tap = AsyncDisposable & {
  readonly port: number;
  /** All messages that the server has sent so far, on whichever connection. */
  readonly messages: readonly string[];
};

export async function openTap(serverPort: number): Promise<Tap> {
  const messages: string[] = [];
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(serverPort, "127.0.0.1");
    const ear = new Ear((message) => messages.push(message));
    far.on("data", (bytes: Buffer) => ear.hear(bytes));
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      open.add(from);
      from.setNoDelay();
      from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => open.delete(from));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    port: address.port,
    messages,
    async [Symbol.asyncDispose](): Promise<void> {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, "close");
    },
  };
}

const endOfHead = "\r\n\r\n";

/** Understands what a server sends: an HTTP answer, then frames without a mask (RFC 6455 §5.2). */
class Ear {
  readonly #tell: (message: string) => void;
  #waiting: Buffer = Buffer.alloc(0);
  #state: "head" | "frames" | "deaf" = "head";
  #parts: Buffer[] = [];

  constructor(tell: (message: string) => void) {
    this.#tell = tell;
  }

  hear(bytes: Buffer): void {
    if (this.#state === "deaf") return;
    this.#waiting = Buffer.concat([this.#waiting, bytes]);
    if (this.#state === "head") this.#hearHead();
    while (this.#state === "frames" && this.#hearFrame());
  }

  #hearHead(): void {
    const end = this.#waiting.indexOf(endOfHead);
    if (end < 0) return;
    const head = this.#waiting.toString("latin1", 0, end);
    // An ordinary answer has no frames; and of compressed ones this ear understands nothing.
    const isPlain = head.startsWith("HTTP/1.1 101 ") && !/^sec-websocket-extensions:/im.test(head);
    this.#state = isPlain ? "frames" : "deaf";
    this.#waiting = this.#waiting.subarray(end + endOfHead.length);
  }

  /** Whether there was a whole one. */
  #hearFrame(): boolean {
    const bytes = this.#waiting;
    const [first, second] = bytes;
    if (first === undefined || second === undefined) return false;
    const start = second < 126 ? 2 : second === 126 ? 4 : 10;
    if (bytes.length < start) return false;
    const length =
      start === 2 ? second : start === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    if (bytes.length < start + length) return false;
    this.#waiting = bytes.subarray(start + length);
    const [isLast, opcode] = [first >= 128, first % 16];
    // Text, or the rest of one; pings, pongs and closings say nothing here.
    if (opcode <= 1) this.#hearPart(bytes.subarray(start, start + length), { isLast });
    return true;
  }

  #hearPart(part: Buffer, { isLast }: { readonly isLast: boolean }): void {
    this.#parts.push(part);
    if (!isLast) return;
    this.#tell(Buffer.concat(this.#parts).toString("utf8"));
    this.#parts = [];
  }
}
