/**
 * Hands durable entries to those who watch. A watch starts at any sequence: it reads the log until it
 * has caught up, and from then on is handed what is committed. Each has a bounded queue; one that is
 * too slow is ended and told where to go on, and the others never notice.
 */
import type { Entry, Log } from "../log/index.ts";
import { limits } from "./limits.ts";

/** Why a watch gives nothing more. */
export type WatchEnd =
  /** Whoever watched closed it. */
  | { readonly code: "closed" }
  /** The plane shuts down. */
  | { readonly code: "unavailable" }
  /** Too slow. What it was given reaches to here. */
  | { readonly code: "lagged"; readonly resumeAfterSequence: number }
  /** As many watch as may. */
  | { readonly code: "limit_reached" }
  /** The log no longer reaches back that far, or never reached so far. */
  | { readonly code: "out_of_range"; readonly oldestSequence: number };

export type WatchOptions = {
  /** Give entries after this one; by default, those committed from now on. */
  readonly afterSequence?: number;
  readonly wants?: (entry: Entry) => boolean;
  /** Callers that are not trusted share half of the watches. True if absent. */
  readonly isTrusted?: boolean;
};

export class Feed {
  readonly #log: Log;
  readonly #watches = new Set<Watch>();
  /** Those that have caught up. */
  readonly #live = new Set<Watch>();
  readonly #taps = new Set<(entries: readonly Entry[]) => void>();
  /** Watches of callers that are not trusted. */
  #strangers = 0;
  #lastSequence: number;
  #isClosed = false;

  constructor(log: Log) {
    this.#log = log;
    this.#lastSequence = log.lastSequence;
  }

  /** How many watch. */
  get watchers(): number {
    return this.#watches.size;
  }

  /** The last entry that may be shown. */
  get lastSequence(): number {
    return this.#lastSequence;
  }

  /** `newestSequence` is the last one decided: who asks for more than that has another log in mind. */
  watch(options: WatchOptions & { readonly newestSequence?: number } = {}): Watch {
    const { afterSequence = this.#lastSequence, wants = () => true, isTrusted = true } = options;
    const { newestSequence = Number.POSITIVE_INFINITY } = options;
    const watch = new Watch({
      afterSequence,
      wants,
      catchUp: () => this.#catchUp(watch),
      onEnd: () => {
        this.#watches.delete(watch);
        this.#live.delete(watch);
        if (!isTrusted) this.#strangers -= 1;
      },
    });
    this.#watches.add(watch);
    if (!isTrusted) this.#strangers += 1;
    const { oldestSequence } = this.#log;
    if (this.#isClosed) watch.end({ code: "unavailable" });
    else if (this.#isFull) watch.end({ code: "limit_reached" });
    else if (afterSequence > newestSequence) watch.end({ code: "out_of_range", oldestSequence });
    else if (afterSequence >= this.#lastSequence) this.#live.add(watch);
    return watch;
  }

  get #isFull(): boolean {
    const { watchersMax } = limits;
    return this.#watches.size > watchersMax || this.#strangers > watchersMax / 2;
  }

  /** Entries that have just become durable, to everyone who has caught up. */
  offer(entries: readonly Entry[]): void {
    const last = entries.at(-1);
    if (!last) return;
    this.#lastSequence = last.sequence;
    for (const take of this.#taps) take(entries);
    for (const watch of this.#live) watch.offer(entries);
  }

  /** Everything from now on, without a queue in between. */
  tap(take: (entries: readonly Entry[]) => void): Disposable {
    this.#taps.add(take);
    return { [Symbol.dispose]: () => this.#taps.delete(take) };
  }

  close(): void {
    this.#isClosed = true;
    for (const watch of this.#watches) watch.end({ code: "unavailable" });
  }

  /** Reads on for a watch that is behind; joins it to the live ones when it has caught up. */
  async #catchUp(watch: Watch): Promise<void> {
    if (this.#live.has(watch)) return;
    const { oldestSequence } = this.#log;
    if (watch.afterSequence + 1 < oldestSequence) {
      watch.end({ code: "out_of_range", oldestSequence });
      return;
    }
    const entries = await this.#log.read(watch.afterSequence, limits.historyEntries);
    const [first] = entries;
    if (first && first.sequence > watch.afterSequence + 1) {
      // The log was cut while it was read.
      watch.end({ code: "out_of_range", oldestSequence: this.#log.oldestSequence });
      return;
    }
    watch.give(entries.filter((entry) => entry.sequence <= this.#lastSequence));
    const hasCaughtUp = watch.afterSequence >= this.#lastSequence;
    if (hasCaughtUp && this.#watches.has(watch)) this.#live.add(watch);
  }
}

type WatchParts = {
  readonly afterSequence: number;
  readonly wants: (entry: Entry) => boolean;
  readonly catchUp: () => Promise<void>;
  readonly onEnd: () => void;
};

/** One watcher's queue. Only one `next` may be waiting at a time. */
export class Watch {
  readonly #parts: WatchParts;
  #afterSequence: number;
  #deliveredSequence: number;
  #waiting: Entry[] = [];
  #bytes = 0;
  #end: WatchEnd | undefined;
  #wake: (() => void) | undefined;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#afterSequence = parts.afterSequence;
    this.#deliveredSequence = parts.afterSequence;
  }

  /** Everything up to here was offered. */
  get afterSequence(): number {
    return this.#afterSequence;
  }

  /** The entries that have come since the last call, at least one; or why there will be none. */
  async next(): Promise<
    | { readonly entries: readonly Entry[]; readonly end?: never }
    | { readonly end: WatchEnd; readonly entries?: never }
  > {
    while (this.#waiting.length === 0) {
      if (this.#end) return { end: this.#end };
      const before = this.#afterSequence;
      await this.#parts.catchUp();
      if (this.#waiting.length > 0 || this.#end || this.#afterSequence > before) continue;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
    const entries = this.#waiting;
    this.#waiting = [];
    this.#bytes = 0;
    this.#deliveredSequence = this.#afterSequence;
    return { entries };
  }

  /** What was just committed. Who had taken all that came before is not slow, however much it is. */
  offer(entries: readonly Entry[]): void {
    const isBehind = this.#waiting.length > 0;
    this.give(entries);
    const { watcherEntriesMax, watcherBytesMax } = limits;
    const isFull = this.#waiting.length > watcherEntriesMax || this.#bytes > watcherBytesMax;
    if (isBehind && isFull) {
      this.#waiting = [];
      this.end({ code: "lagged", resumeAfterSequence: this.#deliveredSequence });
    }
  }

  /** What it asked for: history comes in pieces that the log has bounded. */
  give(entries: readonly Entry[]): void {
    if (this.#end) return;
    for (const entry of entries) {
      if (entry.sequence <= this.#afterSequence) continue;
      this.#afterSequence = entry.sequence;
      if (!this.#parts.wants(entry)) continue;
      this.#waiting.push(entry);
      this.#bytes += entry.body.length;
    }
    if (this.#waiting.length > 0) this.#stir();
  }

  end(end: WatchEnd): void {
    if (this.#end) return;
    this.#end = end;
    this.#parts.onEnd();
    this.#stir();
  }

  close(): void {
    this.end({ code: "closed" });
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #stir(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
