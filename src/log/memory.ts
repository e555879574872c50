/** A log that ends with the process: for tests, and for daemons without a data directory. */
import { randomUUID } from "node:crypto";
import { printEvent, type SectionName } from "../core/index.ts";
import type { Entry } from "./entry.ts";
import { limits } from "./limits.ts";
import { type Log, LogError, type LogSize } from "./log.ts";

/** An entry without what can be made again: of many small ones that is half. */
type Kept = Omit<Entry, "sequence" | "body"> & { readonly bodyLength: number };

export class MemoryLog implements Log {
  readonly id: string = randomUUID();
  readonly isKept = false;
  readonly entriesMax: number = limits.memoryEntriesMax;
  readonly warnings: readonly string[] = [];
  /** What is forgotten leaves its place behind; places are done away with now and then. */
  #entries: (Kept | undefined)[] = [];
  #forgotten = 0;
  #bytes = 0;
  #lastSequence = 0;

  get oldestSequence(): number {
    return this.#lastSequence - (this.#entries.length - this.#forgotten) + 1;
  }

  get oldestAtMs(): number {
    return this.#entries[this.#forgotten]?.atMs ?? 0;
  }

  get lastSequence(): number {
    return this.#lastSequence;
  }

  get lastAtMs(): number {
    return this.#entries.at(-1)?.atMs ?? 0;
  }

  async append(entries: readonly Entry[], expectedSequence: number): Promise<void> {
    if (expectedSequence !== this.#lastSequence) {
      throw new LogError(
        "conflict",
        `expected ${expectedSequence} to be the last entry, it is ${this.#lastSequence}`,
      );
    }
    for (const { busSequence, atMs, actor, stream, event, body } of entries) {
      this.#entries.push({ busSequence, atMs, actor, stream, event, bodyLength: body.length });
      this.#bytes += body.length;
    }
    this.#lastSequence += entries.length;
    this.#forget();
  }

  async read(afterSequence: number, limit: number): Promise<readonly Entry[]> {
    return this.#collect(afterSequence, limit, () => true);
  }

  async readStream(
    stream: string,
    afterSequence: number,
    limit: number,
  ): Promise<readonly Entry[]> {
    return this.#collect(afterSequence, limit, (entry) => entry.stream === stream);
  }

  async readStreamBack(
    stream: string,
    beforeSequence: number,
    limit: number,
  ): Promise<readonly Entry[]> {
    const newest = Math.min(beforeSequence - 1, this.#lastSequence);
    const reading = new Reading(limit);
    for (let sequence = newest; sequence >= this.oldestSequence; sequence -= 1) {
      if (reading.isFull) break;
      const kept = this.#entries[this.#placeOf(sequence)];
      if (kept?.stream === stream) reading.add(sequence, kept);
    }
    return reading.entries;
  }

  #collect(
    afterSequence: number,
    limit: number,
    wants: (entry: Kept) => boolean,
  ): readonly Entry[] {
    const reading = new Reading(limit);
    let sequence = Math.max(afterSequence + 1, this.oldestSequence);
    for (; sequence <= this.#lastSequence && !reading.isFull; sequence += 1) {
      const kept = this.#entries[this.#placeOf(sequence)];
      if (kept && wants(kept)) reading.add(sequence, kept);
    }
    return reading.entries;
  }

  #placeOf(sequence: number): number {
    return this.#entries.length - 1 - (this.#lastSequence - sequence);
  }

  /** Nothing to save: what this log forgets, the state still has, and both end together. */
  async saveSnapshot(): Promise<void> {}

  async loadSnapshot(_onRow: (name: SectionName, row: string) => void): Promise<number> {
    return 0;
  }

  /** It has bounds of its own. */
  async cut(): Promise<boolean> {
    return true;
  }

  size(): LogSize {
    return { entriesBytes: this.#bytes, diskBytes: 0 };
  }

  /** The last one stays, however large it is: it has the time of the log. */
  #forget(): void {
    const { memoryEntriesMax, memoryBytesMax } = limits;
    while (
      this.#entries.length - this.#forgotten > memoryEntriesMax ||
      (this.#bytes > memoryBytesMax && this.#forgotten < this.#entries.length - 1)
    ) {
      this.#bytes -= this.#entries[this.#forgotten]?.bodyLength ?? 0;
      this.#entries[this.#forgotten] = undefined;
      this.#forgotten += 1;
    }
    // When half of them are empty: so each entry is moved once, on average.
    if (this.#forgotten < this.#entries.length / 2) return;
    this.#entries = this.#entries.slice(this.#forgotten);
    this.#forgotten = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Entries made whole again, as many as one read may give. */
class Reading {
  readonly entries: Entry[] = [];
  readonly #limit: number;
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.entries.length >= this.#limit || this.#bytes > limits.readBytesMax;
  }

  add(sequence: number, { bodyLength, ...kept }: Kept): void {
    this.entries.push({ sequence, ...kept, body: printEvent(kept.event) });
    this.#bytes += bodyLength;
  }
}
