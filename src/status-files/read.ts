/**
 * Reading what anyone may have put there. One bad entry never affects the others, nothing is waited for,
 * and what cannot be read says why: agent-status, AS-36 to AS-47.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readdirSync,
  readSync,
} from "node:fs";
import {
  compareCodePoints,
  type Read,
  type ReadOptions,
  readRecord,
  type StatusFile,
  sortForLoad,
  limits as wireLimits,
} from "../wire/status-file/index.ts";
import { agentIdOf, pathIn, tidyPath } from "./directory.ts";
import { limits } from "./limits.ts";
import { decodeName, systemPath } from "./names.ts";
import { runAtOnce, runInSlices, type Steps } from "./slices.ts";

export type Warning = {
  readonly path: string;
  /** A record whose id is not the name of its file is read all the same. */
  readonly kind: "invalid-json" | "invalid-status" | "unreadable" | "id-mismatch" | "too-many";
  readonly errors: readonly string[];
  /** The warning is about the directory, not about one file: it cannot be read, or there are too many files in it. */
  readonly isDirectory?: true;
};

export type DirectoryRead = {
  readonly files: readonly StatusFile[];
  readonly warnings: readonly Warning[];
};

/** What tells one version of a file from the next. */
export type Stamp = {
  readonly device: number;
  readonly inode: number;
  readonly size: number;
  readonly modifiedAtMs: number;
};

/** What is behind a name: nothing any more, or what was read, and which version that was. */
export type Found =
  | { readonly isGone: true }
  | { readonly isGone: false; readonly read: Read; readonly stamp: Stamp };

/**
 * All records of a directory, newest first, and what is wrong with the other files, by name. No directory
 * is no records. Synchronous: for a command that has nothing else to do.
 */
export function readDirectory(directory: string, options: ReadOptions = {}): DirectoryRead {
  return runAtOnce(readListed(listNames(directory), options));
}

/** Like `readDirectory`, but lets other work of the program run in between. Reads at most `limits.filesMax` files. */
export async function readDirectoryInTurns(
  directory: string,
  options: ReadOptions = {},
): Promise<DirectoryRead> {
  return await runInSlices(readSome(directory, options));
}

/** Reads at most `filesMax` files synchronously, for a program that cannot wait and does not need the others. */
export function readFirst(directory: string, filesMax: number): DirectoryRead {
  return runAtOnce(readSome(directory, { filesMax }));
}

function* readSome(
  directory: string,
  { filesMax = limits.filesMax, ...options }: ReadOptions & { readonly filesMax?: number },
): Steps<DirectoryRead> {
  const { names, hasMore, ...listed } = yield* listSome(directory, { filesMax });
  const ignored = hasMore ? [tooManyFiles(listed.directory, filesMax)] : [];
  const warnings = [...listed.warnings, ...ignored];
  return yield* readListed({ ...listed, names: byCodePoint(names), warnings }, options);
}

function* readListed(listed: Listed, options: ReadOptions): Steps<DirectoryRead> {
  const files: StatusFile[] = [];
  const warnings: Warning[] = [...listed.warnings];
  for (const name of listed.names) {
    const { file, warning } = readName(pathIn(listed.directory, name), options);
    if (file) files.push(file);
    if (warning) warnings.push(warning);
    yield;
  }
  return { files: sortForLoad(files), warnings };
}

/** A file that is not there is `unreadable`, with `ENOENT` as its only error. */
export function readStatusFile(path: string, options: ReadOptions = {}): Read {
  const found = readFound(path, options);
  return found.isGone ? unreadable("ENOENT") : found.read;
}

export type Listed = {
  /** Its path, tidy. */
  readonly directory: string;
  readonly names: readonly string[];
  readonly warnings: readonly Warning[];
};

/** The names that a reader looks at, in the order of their code points. */
export function listNames(directory: string): Listed {
  const tidy = tidyPath(directory);
  try {
    const names = namesIn(tidy).filter((name) => name.endsWith(".json"));
    return { directory: tidy, names: byCodePoint(names), warnings: [] };
  } catch (error) {
    return notListed(tidy, error);
  }
}

/** Returns up to `filesMax` matching file names, unsorted, and whether there are more. */
export function* listSome(
  directory: string,
  {
    filesMax,
    isWanted = () => true,
  }: { readonly filesMax: number; readonly isWanted?: (name: string) => boolean },
): Steps<Listed & { readonly hasMore: boolean }> {
  const tidy = tidyPath(directory);
  const names: string[] = [];
  try {
    for (const name of entriesOf(tidy)) {
      yield;
      if (!name.endsWith(".json") || !isWanted(name)) continue;
      if (names.length === filesMax) {
        return { directory: tidy, names, warnings: [], hasMore: true };
      }
      names.push(name);
    }
  } catch (error) {
    return { ...notListed(tidy, error), hasMore: false };
  }
  return { directory: tidy, names, warnings: [], hasMore: false };
}

function notListed(directory: string, error: unknown): Listed {
  const code = codeOf(error);
  const isNone = code === "ENOENT" || code === "ENOTDIR";
  const errors = [reasonOf(code)];
  const warning = { path: directory, kind: "unreadable", errors, isDirectory: true } as const;
  return { directory, names: [], warnings: isNone ? [] : [warning] };
}

export function tooManyFiles(directory: string, filesMax: number): Warning {
  const errors = [`has more than ${filesMax} status files; the others are ignored`];
  return { path: directory, kind: "too-many", errors, isDirectory: true };
}

/** Each name as it is read, so that a long directory takes no long system call. Throws as `opendirSync` does. */
function* entriesOf(directory: string): Generator<string, void, undefined> {
  let hasOthers = false;
  const opened = opendirSync(directory, { bufferSize: limits.entriesPerRead });
  try {
    for (let entry = opened.readSync(); entry; entry = opened.readSync()) {
      if (isDoubtful(entry.name)) hasOthers = true;
      else yield entry.name;
    }
  } finally {
    opened.closeSync();
  }
  if (!hasOthers) return;
  // Reads names that may not be UTF-8 again as bytes.
  for (const name of readdirSync(directory, { encoding: "buffer" })) {
    if (isDoubtful(name.toString())) yield decodeName(name);
  }
}

/** Almost always they are UTF-8; only where one may not be are they asked for as bytes. */
function namesIn(directory: string): string[] {
  const names = readdirSync(directory);
  if (!names.some(isDoubtful)) return names;
  return readdirSync(directory, { encoding: "buffer" }).map(decodeName);
}

/** Whether the name has bytes that may not have been UTF-8. */
function isDoubtful(name: string): boolean {
  return name.includes("\ufffd");
}

/** What a name that was just listed turns out to be. A file that is gone already is no news. */
function readName(path: string, options: ReadOptions): Judged {
  const found = readFound(path, options);
  return found.isGone ? {} : judge(path, found.read);
}

/** A record under another name than its own is both. */
export type Judged = { readonly file?: StatusFile; readonly warning?: Warning };

export function judge(path: string, read: Read): Judged {
  if ("problem" in read) return { warning: { path, ...read.problem } };
  const { record } = read;
  const file = { path, record };
  const stem = agentIdOf(path);
  if (record.agent_id === stem) return { file };
  const errors = [`agent_id is ${record.agent_id}, the file is named ${stem}`];
  return { file, warning: { path, kind: "id-mismatch", errors } };
}

/**
 * Opened without waiting, so that a pipe to which nobody writes stops nobody; then the descriptor is asked
 * what it is, because the name may have changed hands in between. Links are followed.
 */
export function readFound(path: string, options: ReadOptions): Found {
  const { fileBytesMax = wireLimits.fileBytesMax } = options;
  let descriptor: number;
  try {
    descriptor = openSync(systemPath(path), constants.O_RDONLY | nonBlocking);
  } catch (error) {
    return notOpened(path, codeOf(error));
  }
  try {
    const stats = fstatSync(descriptor);
    const stamp = stampOf(stats);
    if (!stats.isFile()) return found(unreadable("not a regular file"), stamp);
    if (stats.size > fileBytesMax) return found(unreadable("too large"), stamp);
    const bytes = readAll(descriptor, stats.size, fileBytesMax);
    return found(bytes ? readRecord(bytes, options) : unreadable("too large"), stamp);
  } catch (error) {
    return found(unreadable(reasonOf(codeOf(error))), noStamp);
  } finally {
    closeSync(descriptor);
  }
}

export function stampOf(stats: {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
}): Stamp {
  return {
    device: stats.dev,
    inode: stats.ino,
    size: stats.size,
    modifiedAtMs: stats.mtimeMs,
  };
}

export function isSameStamp(one: Stamp, other: Stamp): boolean {
  return (
    one.device === other.device &&
    one.inode === other.inode &&
    one.size === other.size &&
    one.modifiedAtMs === other.modifiedAtMs
  );
}

/** The code of a system error, or what else there is to say. */
export function codeOf(error: unknown): string {
  if (error instanceof Error && "code" in error) return String(error.code);
  return error instanceof Error ? error.name : "unknown";
}

/** Windows has neither; a terminal behind a link must not become ours. */
const nonBlocking = (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);

const noStamp: Stamp = { device: 0, inode: 0, size: 0, modifiedAtMs: 0 };

/** Most records are a kilobyte, and reading never yields: one buffer serves all of them. */
let buffer = Buffer.allocUnsafe(65_536);

/** Undefined if it has grown beyond what we read. */
function readAll(descriptor: number, size: number, bytesMax: number): Uint8Array | undefined {
  let length = 0;
  // One byte more than there should be, so that a short read says that this was all.
  for (let wanted = size + 1; ; wanted = Math.min(wanted * 2, bytesMax + 1)) {
    if (wanted > buffer.length) {
      const larger = Buffer.allocUnsafe(wanted);
      buffer.copy(larger, 0, 0, length);
      buffer = larger;
    }
    const read = readSync(descriptor, buffer, length, wanted - length, null);
    length += read;
    if (read === 0 || (length >= size && length < wanted)) return buffer.subarray(0, length);
    if (length > bytesMax) return undefined;
  }
}

function notOpened(path: string, code: string): Found {
  let stamp = noStamp;
  try {
    const stats = lstatSync(systemPath(path));
    stamp = stampOf(stats);
    if (code === "ENOENT") {
      // A file that has only just come is as good as not there yet.
      return stats.isSymbolicLink() ? found(unreadable("dangling symlink"), stamp) : gone;
    }
  } catch {
    if (code === "ENOENT") return gone;
  }
  return found(unreadable(reasonOf(code)), stamp);
}

const gone: Found = { isGone: true };

function found(read: Read, stamp: Stamp): Found {
  return { isGone: false, read, stamp };
}

function unreadable(reason: string): Read {
  return { problem: { kind: "unreadable", errors: [reason] } };
}

/** Comparing by code points is slow, and needed only where there is something beyond the first plane. */
export function byCodePoint(unordered: readonly string[]): readonly string[] {
  const names = [...unordered];
  const isPlain = !names.some((name) => /[\ud800-\udfff]/.test(name));
  return isPlain ? names.sort() : names.sort(compareCodePoints);
}

function reasonOf(code: string): string {
  switch (code) {
    case "EACCES":
    case "EPERM":
      return "permission denied";
    case "ELOOP":
      return "symlink loop";
    case "ENXIO":
    case "EISDIR":
    case "ENODEV":
      return "not a regular file";
    default:
      return code;
  }
}
