/** Decides when a snapshot is due, and lets one be written at a time. */
import { capture, type State } from "../core/index.ts";
import type { Log } from "../log/index.ts";
import { limits } from "./limits.ts";

type Parts = {
  readonly log: Log;
  /** Where the last one was made. */
  readonly lastSequence: number;
  readonly onFailure: ((cause: unknown) => void) | undefined;
};

export class Snapshots {
  readonly #parts: Parts;
  #lastSequence: number;
  #saving: Promise<void> | undefined;
  readonly #stopping = new AbortController();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#lastSequence = parts.lastSequence;
  }

  /** `state` is what the log stands for up to `sequence`, no more and no less. */
  consider(state: State, sequence: number): void {
    const { log, onFailure } = this.#parts;
    const isDue = sequence - this.#lastSequence >= limits.snapshotEntries;
    if (!isDue || this.#saving !== undefined || !log.isKept) return;
    this.#lastSequence = sequence;
    const { signal } = this.#stopping;
    this.#saving = log
      .saveSnapshot({ sequence, sections: capture(state) }, signal)
      .catch((cause: unknown) => {
        if (!signal.aborted) onFailure?.(cause);
      })
      .finally(() => {
        this.#saving = undefined;
      });
  }

  /** Gives up the one being written: the log has everything that is in it. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#saving;
  }
}
