/** Decides when a snapshot is due, and lets one be written at a time. */
import { capture, type State } from "../core/index.ts";
import type { Entry, Log } from "../log/index.ts";
import { limits } from "./limits.ts";
import type { Keep } from "./retention.ts";

/** What the last snapshot does not have. */
export type Since = {
  /** Where it was made. */
  readonly sequence: number;
  /** The time of the first entry since; undefined if there is none. */
  readonly firstAtMs: number | undefined;
  readonly bytes: number;
};

type Parts = {
  readonly log: Log;
  readonly since: Since;
  readonly keep: Keep;
  readonly onFailure: ((cause: unknown) => void) | undefined;
};

export class Snapshots {
  readonly #parts: Parts;
  #since: Since;
  #saving: Promise<void> | undefined;
  readonly #stopping = new AbortController();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#since = parts.since;
  }

  /** Entries that are durable now. */
  count(entries: readonly Entry[]): void {
    this.#since = countSince(this.#since, entries);
  }

  /** `state` is what the log stands for up to `sequence`, no more and no less. */
  consider(state: State, { sequence, nowMs }: { sequence: number; nowMs: number }): void {
    const { log, onFailure } = this.#parts;
    if (this.#saving !== undefined || !log.isKept || !this.#isDue(sequence, nowMs)) return;
    this.#since = nothingSince(sequence);
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

  #isDue(sequence: number, nowMs: number): boolean {
    const { keep } = this.#parts;
    const { firstAtMs = nowMs, bytes } = this.#since;
    return (
      sequence - this.#since.sequence >= limits.snapshotEntries ||
      bytes >= keep.bytes / limits.snapshotsPerKeep ||
      nowMs - firstAtMs >= keep.ms / limits.snapshotsPerKeep
    );
  }
}

export function nothingSince(sequence: number): Since {
  return { sequence, firstAtMs: undefined, bytes: 0 };
}

export function countSince(since: Since, entries: readonly Entry[]): Since {
  let { bytes } = since;
  for (const { body } of entries) bytes += body.length + limits.entryBytes;
  return { ...since, firstAtMs: since.firstAtMs ?? entries[0]?.atMs, bytes };
}
