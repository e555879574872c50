/** A log that ends with the process: for tests, and for daemons without a data directory. */
import { randomUUID } from "node:crypto";
import type { SectionName } from "../core/index.ts";
import type { Entry } from "./entry.ts";
import { limits } from "./limits.ts";
import { type Log, LogError } from "./log.ts";

export class MemoryLog implements Log {
  readonly id: string = randomUUID();
  readonly isKept = false;
  readonly warnings: readonly string[] = [];
  #entries: Entry[] = [];
  #lastSequence = 0;

  get oldestSequence(): number {
    return this.#lastSequence - Math.min(this.#entries.length, limits.memoryEntriesMax) + 1;
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
    for (const entry of entries) this.#entries.push(entry);
    this.#lastSequence += entries.length;
    // Cutting at twice the bound moves each entry at most once.
    if (this.#entries.length >= 2 * limits.memoryEntriesMax) {
      this.#entries = this.#entries.slice(-limits.memoryEntriesMax);
    }
  }

  async read(afterSequence: number, limit: number): Promise<readonly Entry[]> {
    const from = Math.max(afterSequence + 1, this.oldestSequence);
    const start = this.#entries.length - (this.#lastSequence - from + 1);
    const entries: Entry[] = [];
    let bytes = 0;
    for (const entry of this.#entries.slice(start, start + limit)) {
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

  async [Symbol.asyncDispose](): Promise<void> {}
}
