/**
 * The program's side of a worker: connects, says who it is and what it offers, and connects again when the
 * connection is lost, whoever's doing that was. Handlers run on meanwhile.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { connectWebSocket } from "../../transport/browser/index.ts";
import type { Transport } from "../../transport/index.ts";
import {
  ArcpError,
  type Envelope,
  type Heartbeat,
  heard,
  type JsonObject,
  look,
  printEnvelope,
  printFarewell,
  printHello,
  printPing,
  printPong,
  readEnvelope,
  readPing,
  readSessionError,
  readWelcome,
  said,
  startHeartbeat,
} from "../../wire/arcp/index.ts";
import { prefix, type RefusedCode } from "../../wire/worker/index.ts";
import { limits } from "./limits.ts";
import { type ProgramLink, WorkerProgram, type WorkerProgramOptions } from "./worker-program.ts";

/** An address is connected to again; a transport that is there already is used as long as it lasts. */
export type WorkerTarget = string | URL | Transport | (() => Promise<Transport> | Transport);

export type ConnectWorkerOptions = WorkerProgramOptions & {
  readonly token: string;
  /** What the runtime is told of this program. */
  readonly client?: { readonly name: string; readonly version: string };
  /** Ends it at once; jobs that it has are lost to it. To finish them first, dispose it. */
  readonly signal?: AbortSignal;
  /** Told of each connection that failed or was lost. There will be another. */
  readonly onLost?: (cause: unknown) => void;
};

export interface ConnectedWorker extends AsyncDisposable {
  readonly workerId: string;
  /** How many jobs it has. */
  readonly size: number;
  /** Resolves when it is over; rejects if it was sent away, or has no way to connect again. */
  readonly closed: Promise<void>;
  /** Takes no more jobs, and goes when those that it has are over. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Resolves when the runtime has taken its offer. Tries until then, unless it is refused. */
export async function connectWorker(
  target: WorkerTarget,
  options: ConnectWorkerOptions,
): Promise<ConnectedWorker> {
  const client = new WorkerClient(target, options);
  await client.ready;
  return client;
}

/** There is no use in trying again. */
class RefusedError extends Error {
  override readonly name = "RefusedError";
}

class WorkerClient implements ConnectedWorker {
  readonly closed: Promise<void>;
  readonly #ready = Promise.withResolvers<void>();
  readonly #target: WorkerTarget;
  readonly #options: ConnectWorkerOptions;
  readonly #program: WorkerProgram;
  readonly #ending = new AbortController();

  constructor(target: WorkerTarget, options: ConnectWorkerOptions) {
    this.#target = target;
    this.#options = options;
    this.#program = new WorkerProgram(options);
    const { signal } = options;
    signal?.addEventListener("abort", this.#abort, { once: true });
    if (signal?.aborted) this.#abort();
    this.closed = this.#run().finally(() => signal?.removeEventListener("abort", this.#abort));
    this.closed.then(
      () => this.#ready.reject(new ArcpError("CANCELLED", "the worker has ended")),
      (error: unknown) => this.#ready.reject(error),
    );
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get workerId(): string {
    return this.#program.workerId;
  }

  get size(): number {
    return this.#program.size;
  }

  readonly #abort = (): void => this.#ending.abort();

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    let retryMs: number = limits.retryMsMin;
    while (!signal.aborted) {
      try {
        const transport = await this.#connect(signal);
        const isOver = Promise.withResolvers<void>();
        const session = new Session(transport, this.#program, {
          ...this.#options,
          onReady: () => {
            retryMs = limits.retryMsMin;
            this.#ready.resolve();
          },
          onOver: (cause) => (cause ? isOver.reject(cause) : isOver.resolve()),
        });
        const close = (): void => session.leave();
        signal.addEventListener("abort", close, { once: true });
        try {
          await isOver.promise;
        } finally {
          signal.removeEventListener("abort", close);
        }
      } catch (cause) {
        if (signal.aborted) break;
        if (cause instanceof RefusedError || isTransport(this.#target)) {
          this.#program.abandon(cause);
          throw cause;
        }
        this.#options.onLost?.(cause);
      }
      if (signal.aborted || isTransport(this.#target)) break;
      // Not all of a fleet at once.
      await sleep(retryMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {});
      retryMs = Math.min(2 * retryMs, limits.retryMsMax);
    }
    this.#program.abandon(new DOMException("the worker has ended", "AbortError"));
  }

  async #connect(signal: AbortSignal): Promise<Transport> {
    const target = this.#target;
    if (isTransport(target)) return target;
    if (typeof target === "function") return await target();
    return await connectWebSocket(target, { signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const over = this.closed.catch(() => undefined);
    await Promise.race([this.#program.leave(), over]);
    this.#ending.abort();
    await over;
  }
}

function isTransport(target: WorkerTarget): target is Transport {
  return typeof target === "object" && !(target instanceof URL);
}

type SessionOptions = Pick<ConnectWorkerOptions, "token" | "client"> & {
  readonly onReady: () => void;
  /** With what went wrong, if anything did. */
  readonly onOver: (cause?: unknown) => void;
};

/** One connection, from the hello on. */
class Session {
  readonly #transport: Transport;
  readonly #program: WorkerProgram;
  readonly #options: SessionOptions;
  readonly #tooLate: NodeJS.Timeout;
  #sessionId: string | undefined;
  #link: ProgramLink | undefined;
  #heartbeat: Heartbeat | undefined;
  #look: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(transport: Transport, program: WorkerProgram, options: SessionOptions) {
    this.#transport = transport;
    this.#program = program;
    this.#options = options;
    transport.onFrame((frame) => this.#receive(frame));
    transport.onClose((error, closing) => {
      this.#end(error ?? new Error(`the runtime has closed it: ${closing?.reason || "no reason"}`));
    });
    this.#tooLate = setTimeout(() => {
      this.#end(new Error("the runtime does not answer"));
    }, limits.handshakeMs);
    const { token, client = { name: "tipstaff-worker", version: "0.0.0" } } = options;
    const capabilities = { encodings: ["json"], features: ["heartbeat"], vendor: {} };
    this.#send("session.hello", printHello({ client, token, capabilities }));
  }

  leave(): void {
    if (this.#sessionId !== undefined) {
      this.#send("session.bye", printFarewell({ reason: "the worker has ended" }));
    }
    this.#end();
  }

  #receive(frame: unknown): void {
    if (this.#isOver) return;
    this.#heartbeat &&= heard(this.#heartbeat, performance.now());
    const { envelope } = readEnvelope(frame);
    if (!envelope) return;
    const { type, payload } = envelope;
    if (type.startsWith(prefix)) return this.#link?.receive(type, payload);
    switch (type) {
      case "session.welcome":
        return this.#welcome(envelope);
      case "session.error": {
        const { error } = readSessionError(envelope);
        const cause = ArcpError.fromPayload(error);
        // A runtime that knows nothing of workers does not learn it by being asked again.
        const isFinal = error.code === "UNAUTHENTICATED" || error.code === "INVALID_REQUEST";
        this.#end(isFinal ? new RefusedError(cause.message, { cause }) : cause);
        return;
      }
      case "session.ping": {
        const { value } = readPing(envelope);
        const receivedAtMs = Date.now();
        if (value) this.#send("session.pong", printPong({ pingNonce: value.nonce, receivedAtMs }));
        return;
      }
      case "session.bye":
      case "session.closed":
        this.#end(new Error("the runtime has said goodbye"));
        return;
      default:
    }
  }

  #welcome(envelope: Envelope): void {
    const { value } = readWelcome(envelope);
    if (!value || this.#sessionId !== undefined) return;
    this.#sessionId = value.sessionId;
    if (value.heartbeatIntervalSec !== undefined && value.features.includes("heartbeat")) {
      this.#heartbeat = startHeartbeat(performance.now(), value.heartbeatIntervalSec * 1_000);
      this.#planLook();
    }
    this.#link = this.#program.connect((type, payload) => this.#send(type, payload), {
      onWelcome: () => {
        clearTimeout(this.#tooLate);
        this.#options.onReady();
      },
      onRefused: (code, message) => {
        const isFinal = finalCodes.includes(code);
        this.#end(isFinal ? new RefusedError(message) : new Error(message));
      },
    });
  }

  #planLook(): void {
    if (!this.#heartbeat || this.#isOver) return;
    const inMs = Math.max(1, this.#heartbeat.lookAtMs - performance.now());
    this.#look = setTimeout(() => {
      if (!this.#heartbeat) return;
      const { heartbeat, verdict } = look(this.#heartbeat, performance.now());
      this.#heartbeat = heartbeat;
      if (verdict === "lost") return this.#end(new Error("the runtime is silent"));
      const ping = { nonce: randomUUID(), sentAtMs: Date.now() };
      if (verdict === "ping") this.#send("session.ping", printPing(ping));
      this.#planLook();
    }, inMs);
  }

  #send(type: string, payload: JsonObject): void {
    this.#heartbeat &&= said(this.#heartbeat, performance.now());
    const id = `msg_${randomUUID()}`;
    const frame = printEnvelope({ id, type, sessionId: this.#sessionId }, payload);
    // What cannot be sent is said again on the next connection.
    this.#transport.send(frame).catch((cause: unknown) => this.#end(cause));
  }

  #end(cause?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#tooLate);
    clearTimeout(this.#look);
    this.#link?.lost();
    void this.#transport.close().catch(() => {});
    this.#options.onOver(cause);
  }
}

/** Another process has this worker's id, or there is something that it may not do. */
const finalCodes: readonly RefusedCode[] = ["malformed", "not_allowed", "superseded"];
