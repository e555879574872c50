/** One transport from the hello to its end. A session that is resumed has had several. */
import type { Transport } from "../../transport/browser/index.ts";
import {
  ArcpError,
  type Envelope,
  type Hello,
  printEnvelope,
  printHello,
  readEnvelope,
  readSessionError,
  readWelcome,
  type Welcome,
} from "../../wire/arcp/index.ts";
import { mintId } from "./chance.ts";
import type { Request } from "./pending.ts";
import type { Timekeeper } from "./time.ts";

/** Who is told of a connection. Frames come in order, each before the next. */
export interface Receiver {
  /** Before any frame that follows it. */
  welcomed(connection: Connection, welcome: Welcome, envelope: Envelope): void;
  received(envelope: Envelope): void;
  malformed(problem: string): void;
  /** Once, and only after a welcome. */
  lost(connection: Connection, cause: ArcpError): void;
}

export type OpenOptions = {
  readonly hello: Hello;
  readonly handshakeMs: number;
  readonly time: Timekeeper;
  readonly signal: AbortSignal;
};

type Opening = PromiseWithResolvers<Connection>;

export class Connection {
  readonly isLine: boolean;
  readonly #transport: Transport;
  readonly #receiver: Receiver;
  /** Undefined once there is a welcome, or there will be none. */
  #opening: Opening | undefined;
  #isOver = false;
  #onOver: () => void = () => {};

  /**
   * Rejects with what the runtime says instead of a welcome, with `TIMEOUT`, or with `INTERNAL_ERROR` if the
   * connection ends before; the transport is closed then.
   */
  static async open(
    transport: Transport,
    receiver: Receiver,
    { hello, handshakeMs, time, signal }: OpenOptions,
  ): Promise<Connection> {
    const opening: Opening = Promise.withResolvers();
    const connection = new Connection(transport, receiver, opening);
    const stopTimer = time.later(() => {
      opening.reject(new ArcpError("TIMEOUT", `no welcome within ${handshakeMs} ms`));
    }, handshakeMs);
    const abort = (): void => opening.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      const request = { type: "session.hello", payload: printHello(hello) };
      connection.send(printText(mintId("envelope"), request));
      return await opening.promise;
    } catch (error) {
      connection.#opening = undefined;
      connection.#isOver = true;
      // The reason is known; how the transport takes it is of no interest.
      transport.close("no session").catch(() => {});
      throw error;
    } finally {
      stopTimer();
      signal.removeEventListener("abort", abort);
    }
  }

  private constructor(transport: Transport, receiver: Receiver, opening: Opening) {
    this.#transport = transport;
    this.#receiver = receiver;
    this.#opening = opening;
    this.isLine = transport.link.kind === "stdio";
    transport.onFrame((frame) => {
      const { envelope, problem } = readEnvelope(frame);
      if (problem) receiver.malformed(problem.message);
      else this.#take(envelope);
    });
    transport.onMalformed(({ message }) => receiver.malformed(message));
    transport.onFault((fault) => receiver.malformed(`a frame could not be handled: ${fault}`));
    transport.onClose((error, closing) => {
      const why = error?.message || closing?.reason || "the other side closed it";
      this.#ended(
        new ArcpError("HEARTBEAT_LOST", `the connection ended: ${why}`, { cause: error }),
      );
    });
  }

  /** What could not be sent any more is known by the end of the transport. */
  send(text: string): void {
    this.#transport.sendText(text).catch(() => {});
  }

  /** Sends what is queued, and no frame comes any more. Resolves when the link is down. */
  async close(reason: string): Promise<void> {
    this.#isOver = true;
    await this.#transport.close(reason);
  }

  /** Resolves when the other side has closed it, or after a while. */
  async closedByPeer(ms: number, time: Timekeeper): Promise<void> {
    if (this.#transport.closed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stopTimer = time.later(resolve, ms);
    this.#onOver = resolve;
    await promise;
    stopTimer();
  }

  #take(envelope: Envelope): void {
    const opening = this.#opening;
    if (!opening) {
      this.#receiver.received(envelope);
      return;
    }
    if (envelope.type === "session.error") {
      opening.reject(ArcpError.fromPayload(readSessionError(envelope).error));
      return;
    }
    if (envelope.type !== "session.welcome") return;
    const welcome = readWelcome(envelope);
    if (welcome.problem) {
      const message = `the welcome cannot be read: ${welcome.problem.message}`;
      opening.reject(new ArcpError("INVALID_REQUEST", message));
      return;
    }
    this.#opening = undefined;
    opening.resolve(this);
    // At once: what follows the welcome may be in the same read.
    this.#receiver.welcomed(this, welcome.value, envelope);
  }

  #ended(cause: ArcpError): void {
    this.#onOver();
    const opening = this.#opening;
    if (opening) {
      const { message } = cause;
      opening.reject(new ArcpError("INTERNAL_ERROR", `no session: ${message}`, { cause }));
      return;
    }
    if (this.#isOver) return;
    this.#isOver = true;
    this.#receiver.lost(this, cause);
  }
}

/** Throws `INVALID_REQUEST` for what JSON cannot say. */
export function printText(
  id: string,
  request: Request & { readonly sessionId?: string | undefined },
): string {
  const { type, sessionId, jobId, traceId, extensions, payload } = request;
  const head = { id, type, sessionId, jobId, traceId, extensions };
  try {
    return JSON.stringify(printEnvelope(head, payload));
  } catch (cause) {
    const message = `the payload of ${type} cannot be said in JSON`;
    throw new ArcpError("INVALID_REQUEST", message, { cause });
  }
}
