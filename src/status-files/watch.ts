/**
 * A directory as it changes. Events of the file system say which files to read again; one timer tells when
 * the next record becomes stale, and everything is looked at now and then for what no event told. The
 * consumer's pace sets ours: what changes while it is busy is read once, when it asks again, so nothing
 * piles up and the last state always arrives.
 */
import { statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import {
  compareCodePoints,
  type DerivedState,
  deriveState,
  type ReadOptions,
  type StatusFile,
  sortForLoad,
  updatedAtMs,
  limits as wireLimits,
} from "../wire/status-file/index.ts";
import { type Clock, wallClock } from "./clock.ts";
import { pathIn, tidyPath } from "./directory.ts";
import { DirectoryEvents } from "./events.ts";
import { limits } from "./limits.ts";
import { systemPath } from "./names.ts";
import {
  isSameStamp,
  judge,
  listNames,
  readFound,
  type Stamp,
  stampOf,
  type Warning,
} from "./read.ts";

/** A file with what its record meant when it was looked at. */
export type WatchedFile = StatusFile & { readonly state: DerivedState };

export type Change =
  /** Once, at the beginning: everything there is, newest first. */
  | {
      readonly type: "snapshot";
      readonly files: readonly WatchedFile[];
      readonly warnings: readonly Warning[];
    }
  /** A record is new, or another than before. */
  | { readonly type: "upsert"; readonly file: WatchedFile }
  /** Its file is gone, or is no valid record any more. */
  | { readonly type: "remove"; readonly path: string; readonly agentId: string }
  /** Time alone changed what the record means: it became stale. */
  | { readonly type: "state"; readonly file: WatchedFile }
  /** All that is wrong now, whenever that is something else than before. */
  | { readonly type: "warnings"; readonly warnings: readonly Warning[] };

export type WatchDirectoryOptions = ReadOptions & {
  /** Ends the watch, without an error. */
  readonly signal?: AbortSignal | undefined;
  readonly staleAfterMs?: number | undefined;
  readonly clock?: Clock | undefined;
};

/** Begins when the first change is asked for. Leaving the loop ends it. */
export async function* watchDirectory(
  directory: string,
  options: WatchDirectoryOptions = {},
): AsyncGenerator<Change, void, undefined> {
  const { signal, staleAfterMs = wireLimits.staleAfterMs, clock = wallClock } = options;
  if (signal?.aborted) return;
  using events = new DirectoryEvents(directory);
  const wake = (): void => events.wake();
  signal?.addEventListener("abort", wake);
  try {
    const { fileBytesMax } = options;
    const contents = new Directory({ directory, staleAfterMs, clock, fileBytesMax });
    events.take();
    await contents.lookAtAll();
    yield contents.snapshot();
    let lookedAtMs = clock.nowMs();
    while (!signal?.aborted) {
      const pauseMs = events.isReliable ? limits.pollMs : limits.pollWithoutEventsMs;
      await events.untilNews(clock, Math.min(lookedAtMs + pauseMs, contents.nextStaleMs));
      if (events.hasNews) await sleep(limits.debounceMs, undefined, ending(signal)).catch(() => {});
      if (signal?.aborted) return;
      const nowMs = clock.nowMs();
      const isDue = nowMs - lookedAtMs >= pauseMs;
      if (isDue) events.check();
      const { names, isAnything } = events.take();
      const isWhole = isDue || isAnything || nowMs < lookedAtMs;
      if (isWhole) lookedAtMs = nowMs;
      yield* isWhole ? await contents.lookAtAll() : await contents.lookAt(names);
      yield* contents.age();
    }
  } finally {
    signal?.removeEventListener("abort", wake);
  }
}

function ending(signal: AbortSignal | undefined): { readonly signal?: AbortSignal } {
  return signal ? { signal } : {};
}

/** A name and what was behind it when it was last read. */
type LastRead = {
  readonly stamp: Stamp;
  readonly readAtMs: number;
  readonly warning: Warning | undefined;
  readonly file: StatusFile | undefined;
  /** After this moment it is stale; never, if there is no record. */
  readonly lastFreshMs: number;
  state: DerivedState;
};

class Directory {
  readonly #path: string;
  readonly #staleAfterMs: number;
  readonly #clock: Clock;
  readonly #options: ReadOptions;
  readonly #byName = new Map<string, LastRead>();
  #directoryWarnings: readonly Warning[] = [];
  #toldWarnings: readonly Warning[] = [];

  constructor(
    options: ReadOptions & {
      readonly directory: string;
      readonly staleAfterMs: number;
      readonly clock: Clock;
    },
  ) {
    this.#options = options;
    this.#path = tidyPath(options.directory);
    this.#staleAfterMs = options.staleAfterMs;
    this.#clock = options.clock;
  }

  /** When the next record becomes stale, if nobody writes it before. */
  get nextStaleMs(): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { lastFreshMs, state } of this.#byName.values()) {
      if (state !== "stale") nextMs = Math.min(nextMs, lastFreshMs + 1);
    }
    return nextMs;
  }

  snapshot(): Change {
    const files: WatchedFile[] = [];
    for (const { file, state } of this.#byName.values()) if (file) files.push({ ...file, state });
    this.#toldWarnings = this.#warnings();
    return { type: "snapshot", files: sortForLoad(files), warnings: this.#toldWarnings };
  }

  /** Lists the directory, and reads what is not certain to be as it was. */
  async lookAtAll(): Promise<readonly Change[]> {
    const listed = listNames(this.#path);
    this.#directoryWarnings = listed.warnings;
    // What is gone comes first: where an agent took another name, it is never there twice.
    const gone = new Set(this.#byName.keys()).difference(new Set(listed.names));
    const names = new Set([...gone, ...listed.names]);
    for (const name of listed.names) if (this.#isUnchanged(name)) names.delete(name);
    return await this.lookAt(names);
  }

  async lookAt(names: ReadonlySet<string>): Promise<readonly Change[]> {
    const changes: Change[] = [];
    let count = 0;
    for (const name of names) {
      changes.push(...this.#read(name));
      count += 1;
      if (count % limits.filesPerTurn === 0) await new Promise(setImmediate);
    }
    const warnings = this.#warnings();
    if (!isDeepStrictEqual(warnings, this.#toldWarnings)) {
      this.#toldWarnings = warnings;
      changes.push({ type: "warnings", warnings });
    }
    return changes;
  }

  /** What time has made of records that nobody wrote. */
  age(): readonly Change[] {
    const nowMs = this.#clock.nowMs();
    const changes: Change[] = [];
    for (const last of this.#byName.values()) {
      const { file, lastFreshMs } = last;
      if (!file || nowMs > lastFreshMs === (last.state === "stale")) continue;
      last.state = deriveState(file.record, { nowMs, staleAfterMs: this.#staleAfterMs });
      changes.push({ type: "state", file: { ...file, state: last.state } });
    }
    return changes;
  }

  #read(name: string): readonly Change[] {
    const path = pathIn(this.#path, name);
    const before = this.#byName.get(name);
    // The clock of the file system: what it is compared with are times of files.
    const readAtMs = Date.now();
    const found = readFound(path, this.#options);
    if (found.isGone) {
      this.#byName.delete(name);
      return before?.file ? [removal(before.file)] : [];
    }
    const { file, warning } = judge(path, found.read);
    const { stamp } = found;
    if (!file) {
      this.#byName.set(name, { stamp, readAtMs, warning, ...noFile });
      return before?.file ? [removal(before.file)] : [];
    }
    if (before?.file && isDeepStrictEqual(before.file.record, file.record)) {
      this.#byName.set(name, { ...before, stamp, readAtMs, warning });
      return [];
    }
    const moment = { nowMs: this.#clock.nowMs(), staleAfterMs: this.#staleAfterMs };
    const state = deriveState(file.record, moment);
    const lastFreshMs = updatedAtMs(file.record) + this.#staleAfterMs;
    this.#byName.set(name, { stamp, readAtMs, warning, file, lastFreshMs, state });
    return [{ type: "upsert", file: { ...file, state } }];
  }

  #isUnchanged(name: string): boolean {
    const last = this.#byName.get(name);
    if (!last || last.readAtMs - last.stamp.modifiedAtMs < limits.coarseTimesMs) return false;
    try {
      return isSameStamp(stampOf(statSync(systemPath(pathIn(this.#path, name)))), last.stamp);
    } catch {
      return false;
    }
  }

  #warnings(): readonly Warning[] {
    const warnings: Warning[] = [];
    for (const { warning } of this.#byName.values()) if (warning) warnings.push(warning);
    warnings.sort((one, other) => compareCodePoints(one.path, other.path));
    return [...this.#directoryWarnings, ...warnings];
  }
}

const noFile = {
  file: undefined,
  lastFreshMs: Number.POSITIVE_INFINITY,
  state: "unknown",
} as const;

function removal({ path, record }: StatusFile): Change {
  return { type: "remove", path, agentId: record.agent_id };
}
