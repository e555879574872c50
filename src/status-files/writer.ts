/**
 * One agent's own record: what it last said of itself, kept on disk and kept fresh. Whatever it says is
 * taken at once and written soon after; what comes while the disk works is written together. Once it is
 * open, nothing that goes wrong reaches the agent: `problem` says what it is, and the next write tries
 * again (agent-status, AS-22 to AS-28).
 */
import {
  adoptAdditions,
  type Beginning,
  beginRecord,
  changeRecord,
  fitRecord,
  printTimestamp,
  type StatusRecord,
  type StatusUpdate,
  limits as wireLimits,
} from "../wire/status-file/index.ts";
import type { Clock } from "./clock.ts";
import { requireSafeId, statusPath } from "./directory.ts";
import { StatusError } from "./errors.ts";
import { limits } from "./limits.ts";
import { readStatusFile } from "./read.ts";
import { removeFile, removeStatusFile, writeStatusFileInBackground } from "./write.ts";

export type WriterOptions = Beginning & {
  /** Absolute. */
  readonly directory: string;
  /** Waiting with it must not keep the program running. */
  readonly clock: Clock;
  /** Told once, when it writes no more. */
  readonly onEnd?: (() => void) | undefined;
};

export class StatusWriter implements AsyncDisposable {
  readonly id: string;
  readonly path: string;
  readonly #directory: string;
  readonly #clock: Clock;
  #record: StatusRecord;
  /** As it was last put on disk. What is there besides is somebody else's, and stays. */
  #written: StatusRecord | undefined;
  #writtenAtMs = 0;
  #isDirty = true;
  /** What was last said is not on disk: that is tried again, but not ten times a second. */
  #hasFailed = false;
  #isClosed = false;
  #problem: Error | undefined;
  #temporary: string | undefined;
  #saving: Promise<void> = Promise.resolve();
  #beating: Promise<void> = Promise.resolve();
  #wake: (() => void) | undefined;
  #onEnd: (() => void) | undefined;

  private constructor(options: WriterOptions) {
    this.id = options.id;
    this.#directory = options.directory;
    this.path = statusPath(this.#directory, options.id);
    this.#clock = options.clock;
    this.#onEnd = options.onEnd;
    this.#record = beginRecord(options, this.#found(), this.#clock.nowMs());
  }

  /** Resolves when the file is there. Rejects, and leaves nothing, if it cannot be written. */
  static async open(options: WriterOptions): Promise<StatusWriter> {
    requireSafeId(options.id);
    const writer = new StatusWriter(options);
    await writer.flush();
    if (!writer.#written) throw writer.#problem;
    writer.#beating = writer.#beat();
    return writer;
  }

  /** Why the file does not say what was said last; undefined while it does. */
  get problem(): Error | undefined {
    return this.#problem;
  }

  working(summary?: string): void {
    this.update({ task: { state: "working", summary } });
  }

  /** For a person: they have to answer, allow or decide something. */
  waiting(question?: string): void {
    this.update({ task: { state: "input-required", summary: question } });
  }

  /** Nothing to do. The goal stays. */
  idle(): void {
    this.update({ task: null });
  }

  update(update: StatusUpdate): void {
    if (this.#isClosed) return;
    try {
      this.#record = changeRecord(this.#record, update, this.#clock.nowMs());
    } catch (error) {
      // Something that is no JSON. The rest of what was said before is still true.
      this.#problem = asError(error);
      return;
    }
    this.#isDirty = true;
    this.#wake?.();
  }

  /** Resolves when all that was said is on disk, or `problem` says why it is not. */
  flush(): Promise<void> {
    this.#saving = this.#saving.then(() => this.#save());
    return this.#saving;
  }

  /** Stops the heartbeat, then removes the file. Twice is fine, and nothing is thrown. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#wake?.();
    await Promise.all([this.#saving, this.#beating]);
    this.removeNow();
    this.#onEnd?.();
    this.#onEnd = undefined;
  }

  /** For a process that is about to end: nothing of ours runs after this. */
  removeNow(): void {
    this.#isClosed = true;
    try {
      if (this.#temporary !== undefined) removeFile(this.#temporary);
      if (!this.#isAnothers()) removeStatusFile(this.#directory, this.id);
    } catch (error) {
      this.#problem = asError(error);
    }
  }

  async #beat(): Promise<void> {
    while (!this.#isClosed) {
      await this.#until(this.#writtenAtMs + (this.#isDirty ? this.#gapMs : wireLimits.heartbeatMs));
      const sinceMs = this.#clock.nowMs() - this.#writtenAtMs;
      // A clock that was set back would otherwise stop the heart for as long.
      this.#isDirty ||= sinceMs >= wireLimits.heartbeatMs || sinceMs < 0;
      const isDue = sinceMs >= this.#gapMs || sinceMs < 0;
      if (this.#isDirty && isDue && !this.#isClosed) await this.flush();
    }
  }

  get #gapMs(): number {
    return this.#hasFailed ? limits.writeAgainMs : limits.writeGapMs;
  }

  /** Until then, or until there is something to do. */
  async #until(atMs: number): Promise<void> {
    const waiting = new AbortController();
    this.#wake = () => waiting.abort();
    // Nobody wakes us for what was said before we slept.
    await this.#clock.until(atMs, waiting.signal).catch(() => {});
    this.#wake = undefined;
  }

  async #save(): Promise<void> {
    if (!this.#isDirty || this.#isClosed) return;
    this.#isDirty = false;
    this.#writtenAtMs = this.#clock.nowMs();
    try {
      const theirs = this.#found();
      const written = this.#written;
      if (theirs && written) this.#record = adoptAdditions(this.#record, { theirs, written });
      const updated_at = printTimestamp(this.#writtenAtMs);
      this.#record = { ...this.#record, runtime: { ...this.#record.runtime, updated_at } };
      const { record, errors } = fitRecord(this.#record);
      await writeStatusFileInBackground(this.#directory, record, (path) => {
        this.#temporary = path;
      });
      this.#written = record;
      this.#hasFailed = false;
      this.#problem = errors.length === 0 ? undefined : new StatusError("invalid_status", errors);
    } catch (error) {
      this.#problem = asError(error);
      this.#hasFailed = true;
      this.#isDirty = true;
      this.#wake?.();
    }
  }

  #found(): StatusRecord | undefined {
    const { record } = readStatusFile(this.path);
    return record?.agent_id === this.id ? record : undefined;
  }

  /** Whether another process has taken over the name. Its file is not ours to remove. */
  #isAnothers(): boolean {
    const { record } = readStatusFile(this.path);
    const pid = record?.runtime.pid;
    return pid !== undefined && pid !== this.#record.runtime.pid;
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
