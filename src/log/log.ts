/** What a log engine promises. `contract.ts` is the suite that every engine passes. */
import type { Section, SectionName } from "../core/index.ts";
import type { Entry } from "./entry.ts";

export interface Log extends AsyncDisposable {
  /** Made up when the log was, and kept with it: another log, another id. */
  readonly id: string;
  /** The first sequence that can still be read; one more than the last when there is none. */
  readonly oldestSequence: number;
  /** The time of that entry; 0 if there is none. */
  readonly oldestAtMs: number;
  readonly lastSequence: number;
  /** The time of the last entry; 0 if there is none. */
  readonly lastAtMs: number;
  /** Whether what is appended outlives this process. */
  readonly isKept: boolean;
  /** The file that the entries are in, for messages. */
  readonly path?: string;
  /** Where set, the engine itself forgets all but so many, and need not be cut. */
  readonly entriesMax?: number;
  /** What was found and mended when the log was opened, for people to read. */
  readonly warnings: readonly string[];

  /**
   * Adds the entries, all or none, if `expectedSequence` is still the last; resolves when they are
   * durable. Rejects with `conflict` if another writer was there, with `cannot_write` if the medium
   * failed: the caller must then stop, because its state is ahead of the log.
   */
  append(entries: readonly Entry[], expectedSequence: number): Promise<void>;

  /**
   * Up to `limit` entries after a sequence, fewer where they are large, but at least one if there is
   * one. Verified; rejects with `damaged`, naming the entry.
   */
  read(afterSequence: number, limit: number): Promise<readonly Entry[]>;

  /** As `read`, but only the entries of one stream. */
  readStream(stream: string, afterSequence: number, limit: number): Promise<readonly Entry[]>;

  /** The same backwards: those before a sequence, the newest first. */
  readStreamBack(stream: string, beforeSequence: number, limit: number): Promise<readonly Entry[]>;

  /**
   * Verifies the entries up to a sequence. A snapshot contains their effects, so nothing else reads them at a start.
   * Rejects with `damaged`. An engine may leave this to `checkMore` if it would take long.
   */
  checkHistory?(upToSequence: number): Promise<void>;

  /**
   * Verifies some of the entries that `checkHistory` left out, for a few milliseconds; for longer only if an index must
   * be rebuilt. Call it until it says that it is done. It is also done when it has found damage.
   */
  checkMore?(): LogCheck;

  /**
   * Replaces the older of the two kept snapshots, without holding the loop for long. Rejects with the
   * signal's reason when it aborts, and leaves the kept ones as they were.
   */
  saveSnapshot(snapshot: Snapshot, signal?: AbortSignal): Promise<void>;

  /** Hands the rows of the newest intact snapshot to `onRow`; answers its sequence, 0 if none. */
  loadSnapshot(onRow: (name: SectionName, row: string) => void): Promise<number>;

  /**
   * Forgets some of the oldest entries, if the bounds say so: all of them or none, however it ends, and
   * no more at a time than takes a few milliseconds. Never one that comes after the older of the two
   * newest intact snapshots: should the newest turn out damaged, the log can still be opened. Answers
   * whether that was all for now. Rejects with `cannot_write` or `damaged`, and is as it was.
   */
  cut(bounds: CutBounds): Promise<boolean>;

  /** How much room the log takes. */
  size(): LogSize;
}

export type CutBounds = {
  /** Entries from before this time go. */
  readonly beforeMs: number;
  /** So many of the oldest go that the others take no more than this. */
  readonly bytesMax: number;
  /** From this one on somebody may ask for them: their age is no reason to let them go. */
  readonly neededSequence?: number;
};

export type LogCheck = {
  readonly isDone: boolean;
  /** A message for people that says what was found and names the file. */
  readonly problem?: string;
};

export type LogSize = {
  /** What the entries take: `CutBounds.bytesMax` is about this. */
  readonly entriesBytes: number;
  /** All files: the entries, what is free between them, what is not yet in its place, snapshots. */
  readonly diskBytes: number;
};

export type Snapshot = { readonly sequence: number; readonly sections: readonly Section[] };

export type LogErrorCode =
  | "conflict"
  | "cannot_write"
  | "damaged"
  | "in_use"
  | "too_new"
  | "unusable";

export class LogError extends Error {
  override readonly name = "LogError";
  readonly code: LogErrorCode;

  constructor(code: LogErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
