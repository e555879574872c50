/**
 * Connects a worker's process to its runtime. The session is one of the ARCP client's (`client/arcp/lifeline.ts`): it
 * says hello, answers pings, notices silence, and resumes after a lost connection. On each connection the worker sends its
 * offer. Handlers keep running while there is no connection.
 */
import { ArcpError, type Envelope, isArcpError, readSessionError } from "../../wire/arcp/index.ts";
import { prefix, type RefusedCode } from "../../wire/worker/index.ts";
import { Lifeline, type SessionListener } from "../arcp/lifeline.ts";
import { type Settings, settle, type Target } from "../arcp/options.ts";
import { pauseMs } from "../arcp/resumption.ts";
import type { Timekeeper } from "../arcp/time.ts";
import { limits } from "./limits.ts";
import { type ProgramLink, WorkerProgram, type WorkerProgramOptions } from "./worker-program.ts";

/**
 * Where the runtime is: an address, or a function that makes a transport, is used for every connection. A transport is
 * used once: when it ends, so does the worker.
 */
export type WorkerTarget = Target;

export type ConnectWorkerOptions = WorkerProgramOptions & {
  readonly token: string;
  /** What the runtime is told of this program. */
  readonly client?: { readonly name: string; readonly version: string };
  /** Ends the worker at once; the jobs that it has are lost. To finish them first, dispose it. */
  readonly signal?: AbortSignal;
  /** Called when a connection fails or is lost and the worker will try again. */
  readonly onLost?: (cause: unknown) => void;
  /** For tests. */
  readonly time?: Timekeeper;
};

export interface ConnectedWorker extends AsyncDisposable {
  readonly workerId: string;
  /** How many jobs it has. */
  readonly size: number;
  /** Resolves when the worker has ended; rejects if it was refused, or cannot connect again. */
  readonly closed: Promise<void>;
  /** Takes no more jobs, and leaves when those that it has are over. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Resolves when the runtime has accepted the offer. Tries until then, unless the runtime refuses for good. */
export async function connectWorker(
  target: WorkerTarget,
  options: ConnectWorkerOptions,
): Promise<ConnectedWorker> {
  const client = new WorkerClient(target, options);
  await client.ready;
  return client;
}

/** The runtime's answer would be the same the next time. */
class RefusedError extends Error {
  override readonly name = "RefusedError";
}

class WorkerClient implements ConnectedWorker {
  readonly closed: Promise<void>;
  readonly #ready = Promise.withResolvers<void>();
  readonly #settings: Settings;
  readonly #onLost: (cause: unknown) => void;
  readonly #program: WorkerProgram;
  readonly #ending = new AbortController();

  constructor(target: WorkerTarget, options: ConnectWorkerOptions) {
    const { signal, onLost = () => {} } = options;
    this.#settings = settingsOf(target, options);
    this.#onLost = onLost;
    this.#program = new WorkerProgram(options);
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

  /** One session after the other: each reconnects by itself, until it ends or the runtime refuses the offer. */
  async #run(): Promise<void> {
    const { signal } = this.#ending;
    const { canReconnect, time } = this.#settings;
    let failures = 0;
    const onReady = (): void => {
      failures = 0;
      this.#ready.resolve();
    };
    while (!signal.aborted) {
      const session = new WorkerSession(this.#settings, this.#program, onReady, this.#onLost);
      try {
        await session.run(signal);
      } catch (error) {
        if (signal.aborted) break;
        const cause = isFinal(error) ? new RefusedError(error.message, { cause: error }) : error;
        if (cause instanceof RefusedError || !canReconnect) {
          this.#program.abandon(cause);
          throw cause;
        }
        this.#onLost(cause);
      }
      await time.sleep(pauseMs(failures), signal).catch(() => {});
      failures += 1;
    }
    this.#program.abandon(new DOMException("the worker has ended", "AbortError"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const over = this.closed.catch(() => undefined);
    await Promise.race([this.#program.leave(), over]);
    this.#ending.abort();
    await over;
  }
}

function settingsOf(
  target: WorkerTarget,
  { token, client, time: given }: ConnectWorkerOptions,
): Settings {
  const settings = settle(target, {
    token,
    time: given,
    client: client ?? { name: "tipstaff-worker", version: "0.0.0" },
    features: ["heartbeat"],
    autoAck: false,
    handshakeTimeoutMs: limits.handshakeMs,
  });
  const { time } = settings;
  const patient: Timekeeper = {
    nowMs: () => time.nowMs(),
    later: (run, ms) => time.later(run, ms),
    sleep: (ms, signal) => time.sleep(Math.min(ms, limits.pauseMsMax), signal),
  };
  return { ...settings, time: patient };
}

/** One ARCP session, over any number of connections. */
class WorkerSession implements SessionListener {
  /** A worker subscribes to no jobs, so its session has no numbered events. */
  readonly lastEventSeq = 0;
  readonly #settings: Settings;
  readonly #program: WorkerProgram;
  readonly #onReady: () => void;
  readonly #onLost: (cause: unknown) => void;
  readonly #lifeline: Lifeline;
  readonly #over = Promise.withResolvers<void>();
  #link: ProgramLink | undefined;
  #stopTimer: () => void = () => {};
  /** Why we left; undefined if we did not, or because the worker has ended. */
  #refusal: Error | undefined;
  #closing: Promise<void> | undefined;

  constructor(
    settings: Settings,
    program: WorkerProgram,
    onReady: () => void,
    onLost: (cause: unknown) => void,
  ) {
    this.#settings = settings;
    this.#program = program;
    this.#onReady = onReady;
    this.#onLost = onLost;
    this.#lifeline = new Lifeline(settings, this, undefined);
    this.#over.promise.catch(() => {});
  }

  /** Resolves when the session was closed because of the signal; rejects with the reason for any other end. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#lifeline.open(signal);
    const leave = (): void => this.#leave();
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    try {
      await this.#over.promise;
    } finally {
      signal.removeEventListener("abort", leave);
      await this.#closing;
    }
  }

  #leave(refusal?: Error): void {
    this.#refusal = refusal;
    this.#closing ??= this.#lifeline.close(refusal?.message ?? "the worker has ended");
  }

  attached(): void {
    const { time, handshakeMs } = this.#settings;
    this.#stopTimer = time.later(() => {
      const message = `the runtime did not answer the offer within ${handshakeMs} ms`;
      this.#lifeline.leave(new ArcpError("TIMEOUT", message));
    }, handshakeMs);
    this.#link = this.#program.connect((type, payload) => this.#lifeline.say({ type, payload }), {
      onWelcome: () => {
        this.#stopTimer();
        this.#onReady();
      },
      onRefused: (code, message) => {
        this.#leave(finalCodes.includes(code) ? new RefusedError(message) : new Error(message));
      },
    });
  }

  detached(cause: unknown): void {
    this.#stopTimer();
    this.#link?.lost();
    this.#link = undefined;
    // If the session ends, the code that waits for its end reports that.
    queueMicrotask(() => {
      if (!this.#lifeline.isEnded) this.#onLost(cause);
    });
  }

  received(envelope: Envelope): void {
    const { type, payload } = envelope;
    if (type.startsWith(prefix)) this.#link?.receive(type, payload);
    if (type !== "session.error") return;
    const error = ArcpError.fromPayload(readSessionError(envelope).error);
    if (isFinal(error)) this.#leave(error);
    else this.#lifeline.complained(error);
  }

  /** A newer runtime may send messages that this version does not know. */
  malformed(): void {}

  /** The runtime finds the worker's jobs by the worker's id, not by its session. */
  forgotten(): void {}

  ended(error: ArcpError, { wasClosedHere }: { readonly wasClosedHere: boolean }): void {
    if (this.#refusal) this.#over.reject(this.#refusal);
    else if (wasClosedHere) this.#over.resolve();
    else this.#over.reject(error);
  }
}

/** The token is wrong, or the runtime knows nothing of workers. */
function isFinal(error: unknown): error is ArcpError {
  return isArcpError(error) && ["UNAUTHENTICATED", "INVALID_REQUEST"].includes(error.code);
}

/** Another process has this worker's id, or the worker asks for what it may not have. */
const finalCodes: readonly RefusedCode[] = ["malformed", "not_allowed", "superseded"];
