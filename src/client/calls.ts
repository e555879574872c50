/**
 * The one way to the daemon: an operation and its input become a request, its answer a value or a
 * `TipstaffError`. Whatever may be asked twice without doing harm is repeated while no daemon answers.
 */
import {
  type Answer,
  type ErrorBody,
  eventsPath,
  type Input,
  type OperationName,
  request,
} from "../wire/api/index.ts";
import type { Clock } from "./deadline.ts";
import { TipstaffError } from "./errors.ts";
import { type Message, MessageReader } from "./event-source.ts";
import { limits } from "./limits.ts";
import { retrying } from "./retry.ts";

/** As much of `fetch` as is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What every call takes. */
export type Cancellable = {
  /** Aborting it gives the call up; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
};

export type CallOptions = Cancellable & {
  /** Names this wish: asked again with the same key, the answer is about the same thing. */
  readonly key?: string | undefined;
  /** How long to ask again while no daemon answers; 0: once. */
  readonly patienceMs?: number | undefined;
  /** How long one attempt may take. */
  readonly attemptMs?: number | undefined;
};

export type OpenStream = {
  readonly reader: MessageReader;
  readonly messages: readonly Message[];
};

export type CallsOptions = {
  readonly url: string;
  readonly fetch: Fetch;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly patienceMs: number;
  /** Added where the daemon asks for a token. */
  readonly tokenHint: string;
};

/** Asked twice, these make two things, unless they have a key. */
const keyed: ReadonlySet<OperationName> = new Set<OperationName>([
  "registerAgent",
  "createTask",
  "acquireLease",
  "claimTask",
  "askQuestion",
  "answerQuestion",
]);
/** Asked twice, these are refused although the first was carried out. */
const once: ReadonlySet<OperationName> = new Set<OperationName>([
  "requeueTask",
  "openSession",
  "createLink",
]);

export class Calls {
  readonly url: string;
  readonly clock: Clock;
  /** The same id for all agents of this client, so that the loss of their process is shown as one row. */
  readonly processId: string = newKey();
  readonly #options: CallsOptions;
  readonly #closing = new AbortController();

  constructor(options: CallsOptions) {
    this.url = options.url;
    this.clock = options.clock;
    this.#options = options;
  }

  /** Rejects with a `TipstaffError`, or with the signal's reason. */
  async call<Name extends OperationName>(
    name: Name,
    input: Input<Name>,
    options: CallOptions = {},
  ): Promise<Answer<Name>> {
    const mayRepeat = !once.has(name) && (options.key !== undefined || !keyed.has(name));
    const { clock } = this;
    const { signal, patienceMs = this.#options.patienceMs } = options;
    if (!mayRepeat) return await this.#attempt(name, input, options);
    return await retrying(() => this.#attempt(name, input, options), { clock, patienceMs, signal });
  }

  /**
   * Opens the stream of events once, and resolves with what came first. It ends with the signal, or when the
   * client closes.
   */
  async openEvents(query: URLSearchParams, options: Cancellable): Promise<OpenStream> {
    const attempt = this.#begin(options.signal, limits.attemptMs);
    const headers = { ...this.#options.headers, Accept: "text/event-stream" };
    try {
      const response = await this.#send(`${eventsPath}?${query}`, { headers }, attempt);
      const kind = response.headers.get("Content-Type") ?? "";
      if (!response.ok) throw await this.#readError(response);
      if (!response.body || !kind.startsWith("text/event-stream")) throw this.#notOurs(response);
      const reader = new MessageReader(response.body, attempt);
      const messages = await reader.next();
      if (!messages) throw this.#notOurs(response);
      // From here on silence is measured between events.
      attempt.stopTimer();
      return { reader, messages };
    } catch (error) {
      const explained = this.#explain(error, options.signal, attempt);
      // Whatever still comes is not wanted.
      attempt.abort(explained);
      throw explained;
    }
  }

  get patienceMs(): number {
    return this.#options.patienceMs;
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Whatever is under way ends, and nothing more is asked. */
  close(): void {
    this.#closing.abort(new TipstaffError("closed", "the client is closed"));
  }

  async #attempt<Name extends OperationName>(
    name: Name,
    input: Input<Name>,
    { signal, key, attemptMs = limits.attemptMs }: CallOptions,
  ): Promise<Answer<Name>> {
    const { method, path, body } = request(name, input);
    const headers = {
      ...this.#options.headers,
      ...(body ? { "Content-Type": "application/json" } : {}),
      ...(key === undefined ? {} : { "Idempotency-Key": key }),
    };
    const attempt = this.#begin(signal, attemptMs);
    try {
      const init = body ? { method, headers, body: JSON.stringify(body) } : { method, headers };
      const response = await this.#send(path, init, attempt);
      if (!response.ok) throw await this.#readError(response);
      const text = await readBounded(response);
      // Where bytes become values: what the daemon says is what the vocabulary says.
      return (text === "" ? {} : parseObject(text, () => this.#notOurs(response))) as Answer<Name>;
    } catch (error) {
      throw this.#explain(error, signal, attempt);
    } finally {
      attempt.end();
    }
  }

  async #send(path: string, init: RequestInit, { signal }: Attempt): Promise<Response> {
    // A token is for this address: where it sends us on to, nobody has said.
    const rest = { signal, redirect: "manual", cache: "no-store" } as const;
    return await this.#options.fetch(this.url + path, { ...init, ...rest });
  }

  #begin(signal: AbortSignal | undefined, ms: number): Attempt {
    this.#closing.signal.throwIfAborted();
    signal?.throwIfAborted();
    return new Attempt([this.#closing.signal, ...(signal ? [signal] : [])], {
      ms,
      tooSlow: () => new TipstaffError("unreachable", `${this.url} did not answer within ${ms} ms`),
    });
  }

  /** Why there was no answer. */
  #explain(error: unknown, signal: AbortSignal | undefined, attempt: Attempt): unknown {
    if (signal?.aborted) return signal.reason;
    if (attempt.signal.aborted) return attempt.signal.reason;
    if (error instanceof TipstaffError) return error;
    const message = `no daemon answers at ${this.url}; start one with tipstaff up`;
    return new TipstaffError("unreachable", message, { cause: error });
  }

  async #readError(response: Response): Promise<TipstaffError> {
    const { status } = response;
    const isJson = response.headers.get("Content-Type")?.startsWith("application/json") ?? false;
    const text = isJson ? await readBounded(response) : "";
    if (!isJson) await response.body?.cancel();
    const body: Partial<ErrorBody> = isJson ? parseObject(text, () => this.#notOurs(response)) : {};
    const { code, message = "", lease, question } = body.error ?? {};
    if (typeof code === "string") {
      const hint = code === "token_required" ? this.#options.tokenHint : "";
      const retryAfterMs = readSeconds(response.headers.get("Retry-After"));
      return new TipstaffError(code, `${message}${hint}`, { lease, question, retryAfterMs });
    }
    // Something between us and the daemon speaks for it while it is away.
    const isAway = status === 502 || status === 503 || status === 504;
    if (isAway) return new TipstaffError("unavailable", `${this.url} answers ${status}`);
    return this.#notOurs(response);
  }

  #notOurs({ status }: Response): TipstaffError {
    const message = `${this.url} answers ${status}, but not as Tipstaff does; is it the right address?`;
    return new TipstaffError("bad_answer", message);
  }
}

/** One request under way: it ends with one of the signals given, when its time is up, or by hand. */
class Attempt {
  readonly #controller = new AbortController();
  readonly #signals: readonly AbortSignal[];
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #onAbort = (): void => {
    const reason = this.#signals.find((signal) => signal.aborted)?.reason;
    this.abort(reason);
  };

  constructor(
    signals: readonly AbortSignal[],
    { ms, tooSlow }: { readonly ms: number; readonly tooSlow: () => TipstaffError },
  ) {
    this.#signals = signals;
    this.#timer = setTimeout(() => this.abort(tooSlow()), ms);
    for (const signal of signals) signal.addEventListener("abort", this.#onAbort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.end();
    this.#controller.abort(reason);
  }

  stopTimer(): void {
    clearTimeout(this.#timer);
  }

  /** Lets go of the signals, which may live much longer. */
  end(): void {
    this.stopTimer();
    for (const signal of this.#signals) signal.removeEventListener("abort", this.#onAbort);
  }
}

/** The whole body as text, unless it is too long. */
async function readBounded(response: Response): Promise<string> {
  const announced = Number(response.headers.get("Content-Length") ?? Number.NaN);
  if (announced <= limits.answerBytesMax) return await response.text();
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  const reader = response.body?.getReader();
  for (let next = await reader?.read(); next?.value; next = await reader?.read()) {
    length += next.value.length;
    if (length > limits.answerBytesMax) {
      await reader?.cancel();
      const message = `an answer is longer than ${limits.answerBytesMax} bytes`;
      throw new TipstaffError("bad_answer", message);
    }
    text += decoder.decode(next.value, { stream: true });
  }
  return text + decoder.decode();
}

function parseObject(text: string, notOurs: () => TipstaffError): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Told below, as everything that is no answer of ours.
  }
  throw notOurs();
}

function readSeconds(text: string | null): number | undefined {
  if (text === null || !/^\d{1,5}$/.test(text)) return undefined;
  return Math.min(Number(text) * 1_000, limits.retryAfterMsMax);
}

/** A key nobody else uses. `crypto.randomUUID` is not there on pages without TLS. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A token or term, from the decimal text of the wire. */
export function readCounter(text: unknown, what: string): bigint {
  if (typeof text === "string" && /^\d{1,20}$/.test(text)) return BigInt(text);
  throw new TipstaffError("bad_answer", `the daemon sent no ${what}`);
}

export function readText(text: unknown, what: string): string {
  if (typeof text === "string") return text;
  throw new TipstaffError("bad_answer", `the daemon sent no ${what}`);
}

/** A time to live that timers may be set by. */
export function readTtl(ms: unknown, what: string): number {
  if (typeof ms === "number" && ms > 0 && Number.isFinite(ms)) return ms;
  throw new TipstaffError("bad_answer", `the daemon sent no ${what}`);
}
