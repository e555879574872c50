/**
 * How long history lasts. The log is cut a slice at a time, when nothing waits to be committed, and
 * never faster than others can get their turn in between. State is not touched: whatever goes is behind
 * two snapshots.
 *
 * What a session may have to be told again, and what a job has said that is remembered, does not go for its age.
 * It does where all entries together take too much room, or one caller that never acknowledges anything would
 * fill the disk; who comes for it then is refused.
 */
import type { Log } from "../log/index.ts";
import { limits } from "./limits.ts";

/** What is kept: entries that are younger than this, as far as they take no more than this. */
export type Keep = { readonly ms: number; readonly bytes: number };

/** What there is of history, for people to read. */
export type Retained = {
  readonly oldestSequence: number;
  /** 0 if there is no entry. */
  readonly oldestAtMs: number;
  /** What the entries take: `keep.bytes` is about this. */
  readonly entriesBytes: number;
  /** What all files of the log take, snapshots and free room included; 0 in memory. */
  readonly diskBytes: number;
  readonly keep: Keep | { readonly entries: number };
};

type Parts = {
  readonly log: Log;
  readonly keep: Keep;
  /** The oldest entry that somebody may ask for. */
  readonly neededSequence: () => number;
  readonly onFailure: ((cause: unknown) => void) | undefined;
};

export class Retention {
  readonly #parts: Parts;
  #nextAtMs = 0;
  #cutting: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Begins a cut, if it is time to look whether there is something to cut. */
  consider(nowMs: number): void {
    if (nowMs < this.#nextAtMs || this.#cutting !== undefined) return;
    const { log, keep, neededSequence, onFailure } = this.#parts;
    this.#nextAtMs = Number.POSITIVE_INFINITY;
    const beforeMs = nowMs - keep.ms;
    // Who needs what is looked for only where it matters: there may be many sessions.
    const needed = log.oldestAtMs < beforeMs ? { neededSequence: neededSequence() } : {};
    this.#cutting = log
      .cut({ beforeMs, bytesMax: keep.bytes, ...needed })
      .then(
        (isDone) => {
          this.#nextAtMs = nowMs + (isDone ? limits.cutEveryMs : limits.cutPauseMs);
        },
        (cause: unknown) => {
          this.#nextAtMs = nowMs + limits.cutRetryMs;
          onFailure?.(cause);
        },
      )
      .finally(() => {
        this.#cutting = undefined;
      });
  }

  retained(): Retained {
    const { log, keep } = this.#parts;
    const { oldestSequence, oldestAtMs, entriesMax } = log;
    return {
      oldestSequence,
      oldestAtMs,
      ...log.size(),
      keep: entriesMax === undefined ? keep : { entries: entriesMax },
    };
  }

  /** Resolves when no cut is under way. */
  async close(): Promise<void> {
    await this.#cutting;
  }
}
