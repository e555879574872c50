/**
 * The log as it grows, entry by entry. A lost connection is healed where it broke off: no entry is left
 * out and none comes twice. Where that cannot be kept the watch ends and says so: with `gap` if the log
 * no longer reaches back so far, with `other_log` if it is not the same log any more.
 */
import type { Entry } from "../wire/api/index.ts";
import type { Calls, Cancellable } from "./calls.ts";
import { sleep } from "./deadline.ts";
import { TipstaffError } from "./errors.ts";
import type { Message, MessageReader } from "./event-source.ts";
import { pauseMs, retrying } from "./retry.ts";

export type WatchOptions = Cancellable & {
  /** Beginnings of topics or of types of entries, such as `lease.`; everything, if none is named. */
  readonly topics?: readonly string[] | undefined;
  /** Go on after this entry; from now on, if absent. */
  readonly afterSequence?: number | undefined;
  /** The log that `afterSequence` belongs to: in another the number means nothing. */
  readonly planeId?: string | undefined;
  /** Told whenever the connection is there, or is lost and being healed. */
  readonly onConnection?: ((connection: Connection) => void) | undefined;
};

export type Connection =
  | { readonly isLive: true }
  | { readonly isLive: false; readonly cause: TipstaffError };

export type Hello = {
  /** Names the log. */
  readonly planeId: string;
  /** The last entry there was when the watch began. */
  readonly sequence: number;
};

/** One consumer at a time. It reads only as fast as it is asked. */
export class Watch implements AsyncIterableIterator<Entry, undefined>, AsyncDisposable {
  /** Resolves when everything from here on will be seen; rejects if nothing will. */
  readonly ready: Promise<Hello>;
  readonly #calls: Calls;
  readonly #options: WatchOptions;
  readonly #closing = new AbortController();
  readonly #signal: AbortSignal;
  #planeId: string | undefined;
  #position: number | undefined;
  #connecting: Promise<MessageReader>;
  #reader: MessageReader | undefined;
  #messages: readonly Message[] = [];
  #taken = 0;
  #failures = 0;
  #isLive = false;

  constructor(calls: Calls, options: WatchOptions) {
    this.#calls = calls;
    this.#options = options;
    this.#planeId = options.planeId;
    this.#position = options.afterSequence;
    const { signal } = options;
    this.#signal = signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal;
    const { promise, resolve, reject } = Promise.withResolvers<Hello>();
    this.ready = promise;
    this.#connecting = this.#begin(resolve);
    this.#connecting.catch(reject);
    // Whoever iterates is told as well.
    promise.catch(() => {});
  }

  /** The entry up to which everything was seen. Keep it, with the log's id, to go on from here later. */
  get position(): number | undefined {
    return this.#position;
  }

  /** Resolves with the next entry. Rejects with `gap`, `other_log`, or the signal's reason. */
  async next(): Promise<IteratorResult<Entry, undefined>> {
    for (;;) {
      if (this.#closing.signal.aborted) return { value: undefined, done: true };
      const message = this.#messages[this.#taken];
      try {
        if (message) {
          this.#taken += 1;
          const entry = this.#take(message);
          if (entry) return { value: entry, done: false };
        } else {
          await this.#refill();
        }
      } catch (error) {
        if (this.#closing.signal.aborted) continue;
        // It ends with this, and does so once.
        this.#closing.abort();
        throw error;
      }
    }
  }

  /** Leaving a loop closes the watch. */
  async return(): Promise<IteratorResult<Entry, undefined>> {
    await this[Symbol.asyncDispose]();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new TipstaffError("closed", "the watch is closed"));
    await this.#connecting.catch(() => {});
  }

  async #refill(): Promise<void> {
    if (!this.#reader) {
      this.#reader = await this.#connecting;
      // What came along with the greeting is looked at first.
      return;
    }
    try {
      this.#messages = await this.#read(this.#reader);
      this.#taken = 0;
    } catch (error) {
      this.#reader = undefined;
      this.#connecting = this.#reconnect(error);
      this.#connecting.catch(() => {});
    }
  }

  /** The first connection is worth no more patience than any call; a broken one is healed for ever. */
  async #begin(resolve: (hello: Hello) => void): Promise<MessageReader> {
    const { clock, patienceMs } = this.#calls;
    const options = { clock, patienceMs, signal: this.#signal };
    const { reader, hello } = await retrying(() => this.#connect(), options);
    resolve(hello);
    return reader;
  }

  async #reconnect(error: unknown): Promise<MessageReader> {
    for (let cause = error; ; ) {
      this.#signal.throwIfAborted();
      if (!(cause instanceof TipstaffError) || !cause.retryable) throw cause;
      this.#tell({ isLive: false, cause });
      this.#failures += 1;
      await sleep(Math.max(pauseMs(this.#failures), cause.retryAfterMs ?? 0), this.#signal);
      try {
        return (await this.#connect()).reader;
      } catch (next) {
        cause = next;
      }
    }
  }

  async #connect(): Promise<{ readonly reader: MessageReader; readonly hello: Hello }> {
    const query = new URLSearchParams();
    for (const topic of this.#options.topics ?? []) query.append("topic", topic);
    if (this.#position !== undefined) query.set("after", String(this.#position));
    const opened = await this.#calls.openEvents(query, { signal: this.#signal });
    const { reader } = opened;
    const [first, ...rest] = opened.messages;
    const hello = first?.event === "hello" ? readHello(first) : undefined;
    if (!first || !hello) {
      reader.close();
      throw new TipstaffError(
        "bad_answer",
        `${this.#calls.url} sends events, but not as Tipstaff does`,
      );
    }
    try {
      this.#greet(hello, first.id);
    } catch (error) {
      reader.close();
      throw error;
    }
    this.#messages = rest;
    this.#taken = 0;
    this.#tell({ isLive: true });
    return { reader, hello };
  }

  async #read(reader: MessageReader): Promise<readonly Message[]> {
    try {
      const messages = await reader.next();
      if (messages) return messages;
    } catch (cause) {
      this.#signal.throwIfAborted();
      if (cause instanceof TipstaffError) throw cause;
      throw new TipstaffError("unreachable", "the stream of events broke off", { cause });
    }
    throw new TipstaffError("unreachable", `${this.#calls.url} ended the stream of events`);
  }

  #greet({ planeId, sequence }: Hello, id: string): void {
    if (this.#planeId !== undefined && this.#planeId !== planeId) {
      const message = `${this.#calls.url} serves another log now; look at the state anew and watch from there`;
      throw new TipstaffError("other_log", message, { resumeAfter: sequence });
    }
    this.#planeId = planeId;
    this.#position ??= readSequence(id) ?? sequence;
  }

  #tell(connection: Connection): void {
    if (this.#isLive === connection.isLive) return;
    this.#isLive = connection.isLive;
    this.#options.onConnection?.(connection);
  }

  #take(message: Message): Entry | undefined {
    switch (message.event) {
      case "hello":
        return undefined;
      case "at":
        this.#move(readSequence(message.id));
        return undefined;
      case "reset":
        throw this.#gap(message);
      default: {
        const entry = readEntry(message);
        // What was seen is not seen again, whatever the sender believes.
        if (this.#position !== undefined && entry.sequence <= this.#position) return undefined;
        this.#move(entry.sequence);
        return entry;
      }
    }
  }

  #move(sequence: number | undefined): void {
    this.#failures = 0;
    if (sequence !== undefined) this.#position = Math.max(this.#position ?? 0, sequence);
  }

  #gap({ data }: Message): TipstaffError {
    const oldestSequence = readNumber(parse(data), "oldestSequence") ?? 0;
    const resumeAfter = Math.max(0, oldestSequence - 1);
    const message = `entries after ${this.#position} are no longer kept; the oldest is ${oldestSequence}`;
    return new TipstaffError("gap", message, { oldestSequence, resumeAfter });
  }
}

function readHello({ data }: Message): Hello | undefined {
  const said = parse(data);
  const sequence = readNumber(said, "sequence");
  const planeId = said instanceof Object && "planeId" in said ? said.planeId : undefined;
  if (typeof planeId !== "string" || sequence === undefined) return undefined;
  return { planeId, sequence };
}

/** Where bytes become values: an entry has at least its sequence and its type. */
function readEntry({ data }: Message): Entry {
  const entry = parse(data);
  if (readNumber(entry, "sequence") !== undefined && "type" in (entry as object)) {
    return entry as Entry;
  }
  throw new TipstaffError("bad_answer", "the daemon sent an event that cannot be read");
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

function readNumber(value: unknown, field: string): number | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const found: unknown = Reflect.get(value, field);
  return Number.isSafeInteger(found) ? Number(found) : undefined;
}

function readSequence(id: string): number | undefined {
  return /^\d{1,16}$/.test(id) ? Number(id) : undefined;
}
