/**
 * Taking away what nobody keeps up any more. Only ever when asked: readers delete nothing. What is removed is
 * what was judged; a file that was written again in between stays: agent-status, AS-65 to AS-71.
 */
import { lstatSync, readdirSync, statSync } from "node:fs";
import {
  deriveState,
  type ReadOptions,
  type StatusRecord,
  updatedAtMs,
  limits as wireLimits,
} from "../wire/status-file/index.ts";
import { pathIn, tidyPath } from "./directory.ts";
import { systemPath } from "./names.ts";
import { codeOf, isSameStamp, listNames, readFound, type Stamp, stampOf } from "./read.ts";
import { isTemporaryName, removeFile } from "./write.ts";

export type PruneOptions = ReadOptions & {
  readonly nowMs?: number | undefined;
  readonly staleAfterMs?: number | undefined;
  /** Only what was last written longer ago than this. */
  readonly pruneAfterMs?: number | undefined;
  /** Keep every record that says it is stopped. */
  readonly keepStopped?: boolean | undefined;
  /** Say what would be removed, and remove nothing. */
  readonly dryRun?: boolean | undefined;
  /** Also files that are no valid record and were not touched for `staleAfterMs`: nobody keeps them up. */
  readonly invalid?: boolean | undefined;
  /** Told of what the system would not remove, after which the rest is. Absent: that is thrown. */
  readonly onFailure?: ((path: string, error: unknown) => void) | undefined;
  /** Also what writers that died left half written, equally untouched. */
  readonly tempFiles?: boolean | undefined;
};

/** A file as it was when it was judged. */
export type Candidate = {
  readonly path: string;
  readonly stamp: Stamp;
  /** It is the link that was judged, because there is nothing behind it. */
  readonly isLink: boolean;
};

/** The paths that were removed, or would be: records in load order, then the rest by name. */
export function prune(directory: string, options: PruneOptions = {}): readonly string[] {
  const candidates = findCandidates(directory, options);
  const { dryRun = false, onFailure } = options;
  const isRemoved = (candidate: Candidate): boolean => {
    try {
      return dryRun || removeUnchanged(candidate);
    } catch (error) {
      if (!onFailure) throw error;
      onFailure(candidate.path, error);
      return false;
    }
  };
  return candidates.filter(isRemoved).map(({ path }) => path);
}

export function findCandidates(directory: string, options: PruneOptions): readonly Candidate[] {
  const { nowMs = Date.now(), staleAfterMs = wireLimits.staleAfterMs } = options;
  const records: (Candidate & { readonly atMs: number })[] = [];
  const rest: Candidate[] = [];
  const listed = listNames(directory);
  for (const name of listed.names) {
    const path = pathIn(listed.directory, name);
    const found = readFound(path, options);
    if (found.isGone) continue;
    const { read, stamp } = found;
    if ("record" in read) {
      const atMs = updatedAtMs(read.record);
      if (isOver(read.record, nowMs, options)) records.push({ path, stamp, isLink: false, atMs });
    } else if (options.invalid && nowMs - stamp.modifiedAtMs > staleAfterMs) {
      const [reason = ""] = read.problem.errors;
      const isLink = linkReasons.includes(reason);
      const isRead = read.problem.kind !== "unreadable" || readReasons.includes(reason);
      if (isLink || isRead) rest.push({ path, stamp, isLink });
    }
  }
  if (options.tempFiles) rest.push(...findTemporaries(listed.directory, nowMs - staleAfterMs));
  return [...records.sort((one, other) => other.atMs - one.atMs), ...rest];
}

/** False if it was written again since. A file that is gone counts as removed. */
export function removeUnchanged({ path, stamp, isLink }: Candidate): boolean {
  try {
    const stats = isLink ? lstatSync(systemPath(path)) : statSync(systemPath(path));
    if (!isSameStamp(stampOf(stats), stamp)) return false;
  } catch (error) {
    // A link whose file is gone is still there to be removed.
    if (codeOf(error) !== "ENOENT") return false;
  }
  removeFile(path);
  return true;
}

function isOver(record: StatusRecord, nowMs: number, options: PruneOptions): boolean {
  const {
    staleAfterMs = wireLimits.staleAfterMs,
    pruneAfterMs = wireLimits.pruneAfterMs,
    keepStopped = false,
  } = options;
  if (nowMs - updatedAtMs(record) <= pruneAfterMs) return false;
  if (record.runtime.lifecycle === "stopped") return !keepStopped;
  return deriveState(record, { nowMs, staleAfterMs }) === "stale";
}

const linkReasons = ["dangling symlink", "symlink loop"];

/** Read, and found to be no record. What we may not read, or what is no file, is somebody's for a reason. */
const readReasons = ["not valid UTF-8", "too large", "too deeply nested"];

function findTemporaries(directory: string, beforeMs: number): readonly Candidate[] {
  const candidates: Candidate[] = [];
  for (const name of namesIn(directory).filter(isTemporaryName)) {
    const path = pathIn(tidyPath(directory), name);
    try {
      const stats = lstatSync(path);
      const isOld = stats.isFile() && stats.mtimeMs < beforeMs;
      if (isOld) candidates.push({ path, stamp: stampOf(stats), isLink: false });
    } catch {
      // Its writer has just put it in place.
    }
  }
  return candidates;
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    return [];
  }
}
