/** A log that ends with the process: for tests, and for daemons without a data directory. */
import { randomUUID } from "node:crypto";
import type { SectionName } from "../core/index.ts";
import type { Entry } from "./entry.ts";
import { limits } from "./limits.ts";
import { type Log, LogError, type LogSize } from "./log.ts";

export class MemoryLog implements Log {
  readonly id: string = randomUUID();
  readonly isKept = false;
  readonly entriesMax: number = limits.memoryEntriesMax;
  readonly warnings: readonly string[] = [];
  /** What is forgotten leaves its place behind; places are done away with now and then. */
  #entries: (Entry | undefined)[] = [];
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
    for (const entry of entries) {
      this.#entries.push(entry);
      this.#bytes += entry.body.length;
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
    const entries: Entry[] = [];
    let bytes = 0;
    const newest = Math.min(beforeSequence - 1, this.#lastSequence);
    let place = this.#entries.length - 1 - (this.#lastSequence - newest);
    for (; place >= this.#forgotten && entries.length < limit; place -= 1) {
      const entry = this.#entries[place];
      if (entry?.stream !== stream) continue;
      entries.push(entry);
      bytes += entry.body.length;
      if (bytes > limits.readBytesMax) break;
    }
    return entries;
  }

  #collect(
    afterSequence: number,
    limit: number,
    wants: (entry: Entry) => boolean,
  ): readonly Entry[] {
    const from = Math.max(afterSequence + 1, this.oldestSequence);
    const entries: Entry[] = [];
    let bytes = 0;
    let place = this.#entries.length - (this.#lastSequence - from + 1);
    for (; place < this.#entries.length && entries.length < limit; place += 1) {
      const entry = this.#entries[place];
      if (!entry || !wants(entry)) continue;
      entries.push(entry);
      bytes += entry.body.length;
      if (bytes > limits.readBytesMax) break;
    }
    return entries;
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
      this.#bytes -= this.#entries[this.#forgotten]?.body.length ?? 0;
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
