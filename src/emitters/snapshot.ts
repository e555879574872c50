/**
 * The status file of a host, written from inside it. What a person waits for is on disk when the call
 * returns; that the host is still there, or still busy, is written without stopping it. Nothing that goes
 * wrong reaches the host (AS-27): the next heartbeat tries again.
 */
import { type Clock, removeStatusFile, replaceFile, statusPath } from "../status-files/index.ts";
import { limits, printRecord, type StatusRecord, validate } from "../wire/status-file/index.ts";
import { BackgroundFile } from "./background-file.ts";

export type SnapshotOptions = {
  /** Absolute. */
  readonly directory: string;
  readonly agentId: string;
  /** Waiting with it must not keep the host running. */
  readonly clock: Clock;
  /** What to say now. */
  readonly recordAt: (nowMs: number) => StatusRecord;
  /** Told before each heartbeat. */
  readonly onBeat?: () => void;
  /** Who removes the file if the host is killed. */
  readonly guard?: ((path: string) => () => void) | undefined;
};

export class Snapshot {
  readonly #options: SnapshotOptions;
  readonly #file: BackgroundFile;
  readonly #heart = new AbortController();
  readonly #dismissGuard: (() => void) | undefined;
  /** As it was last put, or is being put, on disk. */
  #written: StatusRecord | undefined;

  constructor(options: SnapshotOptions) {
    const { guard, directory, agentId } = options;
    this.#options = options;
    this.#file = new BackgroundFile(directory, agentId);
    this.show();
    this.#dismissGuard = attempt(() => guard?.(statusPath(directory, agentId)));
    this.#beat().catch(() => {});
  }

  /** Something may be different now. */
  show(): void {
    const record = this.#record();
    if (!record) return;
    const before = this.#written;
    if (!before || whatPeopleSee(record) !== whatPeopleSee(before)) this.#writeNow(record);
    else if (record.runtime.last_activity_at !== before.runtime.last_activity_at) {
      this.#writeSoon(record);
    }
  }

  /** No heartbeat comes after this, and then the file goes (AS-26). */
  end(): void {
    this.#heart.abort();
    this.#file.drop();
    attempt(() => removeStatusFile(this.#options.directory, this.#options.agentId));
    attempt(() => this.#dismissGuard?.());
  }

  async #beat(): Promise<void> {
    const { clock, onBeat } = this.#options;
    for (;;) {
      await clock.until(clock.nowMs() + limits.heartbeatMs, this.#heart.signal);
      if (onBeat) attempt(onBeat);
      const record = this.#record();
      if (record) this.#writeSoon(record);
    }
  }

  #record(): StatusRecord | undefined {
    if (this.#heart.signal.aborted) return undefined;
    const { recordAt, clock } = this.#options;
    return attempt(() => soundPartOf(recordAt(clock.nowMs())));
  }

  #writeNow(record: StatusRecord): void {
    const { directory, agentId } = this.#options;
    // Nothing older may come after this.
    this.#file.drop();
    attempt(() => {
      replaceFile(directory, agentId, new TextEncoder().encode(printRecord(record)));
      this.#written = record;
    });
  }

  #writeSoon(record: StatusRecord): void {
    this.#written = record;
    this.#file.publish(record);
  }
}

/** AS-28: without the parts that no reader would take; undefined if nothing is left. */
export function soundPartOf(record: StatusRecord): StatusRecord | undefined {
  if (validate(record).length === 0) return record;
  const { goal, task, a2a, x_meta, ...bare } = record;
  if (validate(bare).length > 0) return undefined;
  const parts = Object.entries({ goal, task, a2a, x_meta }).filter(
    ([name, part]) => part && validate({ ...bare, [name]: part }).length === 0,
  );
  return { ...bare, ...Object.fromEntries(parts) };
}

/** Whatever happens in there stays there. */
export function attempt<Result>(action: () => Result): Result | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

function whatPeopleSee({ runtime, ...rest }: StatusRecord): string {
  const { updated_at: _, last_activity_at: __, ...health } = runtime;
  return printRecord({ ...rest, runtime: { ...health, updated_at: "" } });
}
