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
  byCodePoint,
  isSameStamp,
  judge,
  listSome,
  readFound,
  type Stamp,
  stampOf,
  tooManyFiles,
  type Warning,
} from "./read.ts";
import { runInSlices, type Steps } from "./slices.ts";

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
  /** Files that are not valid are remembered too, so that they are not read again. */
  readonly #byName = new Map<string, LastRead>();
  /** The files among them that have no valid record. */
  readonly #invalid = new Set<string>();
  /** Whether there are more files than `limits.filesMax`. */
  #hasIgnored = false;
  /** At the limit: how many of the others, in the order of the directory, were tried by the looks before. */
  #tried = 0;
  #listingWarnings: readonly Warning[] = [];
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

  /** Lists the directory, and reads the files that may have changed. */
  lookAtAll(): Promise<readonly Change[]> {
    return runInSlices(this.#lookAtAll());
  }

  lookAt(names: Iterable<string>): Promise<readonly Change[]> {
    return runInSlices(this.#lookAt(names));
  }

  *#lookAtAll(): Steps<readonly Change[]> {
    const { filesMax, unreadFilesPerLook } = limits;
    let unread = 0;
    const isWanted = (name: string): boolean => {
      if (this.#byName.has(name)) return false;
      unread += 1;
      return unread > this.#tried;
    };
    const listed = yield* listSome(this.#path, { filesMax, isWanted });
    const gone: string[] = [];
    const changed: string[] = [];
    for (const [name, last] of this.#byName) {
      const stamp = this.#stampNow(name);
      if (!stamp) gone.push(name);
      else if (isYoung(last) || !isSameStamp(stamp, last.stamp)) changed.push(name);
      yield;
    }
    const room = filesMax - (this.#byName.size - gone.length);
    this.#listingWarnings = listed.warnings;
    const triesMax = this.#invalid.size > 0 ? Math.max(room, unreadFilesPerLook) : room;
    const tried = listed.names.slice(0, triesMax);
    this.#hasIgnored = unread > tried.length;
    const isLast = tried.length === listed.names.length;
    this.#tried = isLast ? 0 : this.#tried + Math.max(0, tried.length - room);
    // Files that are gone come first: an agent whose file was renamed is never there twice.
    return yield* this.#lookAt([...gone, ...byCodePoint([...changed, ...tried])]);
  }

  *#lookAt(names: Iterable<string>): Steps<readonly Change[]> {
    const changes: Change[] = [];
    for (const name of names) {
      changes.push(...this.#read(name));
      yield;
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
      this.#forget(name);
      return before?.file ? [removal(before.file)] : [];
    }
    const { file, warning } = judge(path, found.read);
    const { stamp } = found;
    if (!before && !this.#hasRoomFor(file)) {
      this.#hasIgnored = true;
      return [];
    }
    if (!file) {
      this.#byName.set(name, { stamp, readAtMs, warning, ...noFile });
      this.#invalid.add(name);
      return before?.file ? [removal(before.file)] : [];
    }
    this.#invalid.delete(name);
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

  /**
   * At the limit a valid record replaces a file that is not valid. So an agent that writes its file is seen, however
   * many other files there are. An agent that does not write it again is found by one of the next looks at everything.
   */
  #hasRoomFor(file: StatusFile | undefined): boolean {
    if (this.#byName.size < limits.filesMax) return true;
    const [invalid] = this.#invalid;
    if (!file || invalid === undefined) return false;
    this.#forget(invalid);
    this.#hasIgnored = true;
    return true;
  }

  #forget(name: string): void {
    this.#byName.delete(name);
    this.#invalid.delete(name);
  }

  /** Undefined if the file is gone, or cannot be looked at. */
  #stampNow(name: string): Stamp | undefined {
    try {
      return stampOf(statSync(systemPath(pathIn(this.#path, name))));
    } catch {
      return undefined;
    }
  }

  /** Not all are sorted and compared, because there may be one for each file. */
  #warnings(): readonly Warning[] {
    const about: Warning[] = [...this.#listingWarnings];
    if (this.#hasIgnored) about.push(tooManyFiles(this.#path, limits.filesMax));
    const warnings: Warning[] = [];
    for (const { warning } of this.#byName.values()) {
      if (!warning) continue;
      if (warnings.length < limits.warningsMax) {
        warnings.push(warning);
        continue;
      }
      // Such a record is shown all the same, so nothing is missing without its warning.
      if (warning.kind === "id-mismatch") continue;
      about.push(tooManyWarnings(this.#path));
      break;
    }
    warnings.sort((one, other) => compareCodePoints(one.path, other.path));
    return [...about, ...warnings];
  }
}

/** Whether the file changed so shortly before it was read that its times would not show another change. */
function isYoung({ readAtMs, stamp }: LastRead): boolean {
  return readAtMs - stamp.modifiedAtMs < limits.coarseTimesMs;
}

function tooManyWarnings(directory: string): Warning {
  const { warningsMax } = limits;
  const errors = [`has more than ${warningsMax} files with problems; the others are not listed`];
  return { path: directory, kind: "too-many", errors, isDirectory: true };
}

const noFile = {
  file: undefined,
  lastFreshMs: Number.POSITIVE_INFINITY,
  state: "unknown",
} as const;

function removal({ path, record }: StatusFile): Change {
  return { type: "remove", path, agentId: record.agent_id };
}
