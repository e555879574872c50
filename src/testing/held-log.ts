/**
 * A log whose appends can be held back, so that a test can stand in the moment in which something is
 * decided but not yet durable, and look around. What is let through goes to a log that is real.
 */
import type { CutBounds, Entry, Log, LogSize, Snapshot } from "../log/index.ts";
import { MemoryLog } from "../log/index.ts";

type Held = {
  readonly entries: readonly Entry[];
  readonly expectedSequence: number;
  readonly resolve: (stored: Promise<void>) => void;
  readonly reject: (cause: unknown) => void;
};

export class HeldLog implements Log {
  readonly #log: Log;
  readonly #held: Held[] = [];
  #isHolding = false;
  #appends = 0;

  constructor(log: Log = new MemoryLog()) {
    this.#log = log;
  }

  /** From now on, appends wait. */
  hold(): void {
    this.#isHolding = true;
  }

  /** The entries of each append that waits. */
  get held(): readonly (readonly Entry[])[] {
    return this.#held.map(({ entries }) => entries);
  }

  /** How many appends there were, held ones included. */
  get appends(): number {
    return this.#appends;
  }

  /** Stores what the oldest waiting append brought. */
  async letOneThrough(): Promise<void> {
    const held = this.#held.shift();
    if (!held) throw new Error("no append is waiting");
    const stored = this.#log.append(held.entries, held.expectedSequence);
    held.resolve(stored);
    await stored;
  }

  /** Appends wait no longer. */
  async letAllThrough(): Promise<void> {
    this.#isHolding = false;
    while (this.#held.length > 0) await this.letOneThrough();
  }

  /** The oldest waiting append fails; nothing of it is stored. */
  failOne(cause: unknown): void {
    this.#held.shift()?.reject(cause);
  }

  append(entries: readonly Entry[], expectedSequence: number): Promise<void> {
    this.#appends += 1;
    if (!this.#isHolding) return this.#log.append(entries, expectedSequence);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#held.push({ entries, expectedSequence, resolve, reject });
    return promise;
  }

  get id(): string {
    return this.#log.id;
  }

  get oldestSequence(): number {
    return this.#log.oldestSequence;
  }

  get oldestAtMs(): number {
    return this.#log.oldestAtMs;
  }

  get lastSequence(): number {
    return this.#log.lastSequence;
  }

  get lastAtMs(): number {
    return this.#log.lastAtMs;
  }

  get isKept(): boolean {
    return this.#log.isKept;
  }

  get warnings(): readonly string[] {
    return this.#log.warnings;
  }

  read(afterSequence: number, limit: number): Promise<readonly Entry[]> {
    return this.#log.read(afterSequence, limit);
  }

  readStream(stream: string, afterSequence: number, limit: number): Promise<readonly Entry[]> {
    return this.#log.readStream(stream, afterSequence, limit);
  }

  readStreamBack(stream: string, beforeSequence: number, limit: number): Promise<readonly Entry[]> {
    return this.#log.readStreamBack(stream, beforeSequence, limit);
  }

  saveSnapshot(snapshot: Snapshot, signal?: AbortSignal): Promise<void> {
    return this.#log.saveSnapshot(snapshot, signal);
  }

  loadSnapshot(onRow: Parameters<Log["loadSnapshot"]>[0]): Promise<number> {
    return this.#log.loadSnapshot(onRow);
  }

  cut(bounds: CutBounds): Promise<boolean> {
    return this.#log.cut(bounds);
  }

  size(): LogSize {
    return this.#log.size();
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#log[Symbol.asyncDispose]();
  }
}
