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
    this.#saving = log
      .saveSnapshot({ sequence, sections: capture(state) })
      .catch((cause: unknown) => onFailure?.(cause))
      .finally(() => {
        this.#saving = undefined;
      });
  }

  async settled(): Promise<void> {
    await this.#saving;
  }
}
