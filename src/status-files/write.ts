/**
 * Writing so that a reader never sees half a record: a file beside the old one, complete and on disk, takes
 * its name. Whatever fails, the old file is untouched and nothing is left: agent-status, AS-12 to AS-17.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fsync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import {
  printRecord,
  type StatusRecord,
  validate,
  limits as wireLimits,
} from "../wire/status-file/index.ts";
import { pathIn, requireSafeId, statusPath, tidyPath } from "./directory.ts";
import { StatusError } from "./errors.ts";
import { limits } from "./limits.ts";
import { systemPath } from "./names.ts";
import { codeOf } from "./read.ts";

/**
 * Replaces the whole record of that id and returns its path. Throws a `StatusError`, before anything is
 * touched, if no reader would take it; or the system's own error.
 */
export function writeStatusFile(directory: string, record: StatusRecord): string {
  return replaceFile(directory, record.agent_id, bytesOf(record));
}

/** Whatever the bytes are: who calls has judged them. The id must be one that names a file. */
export function replaceFile(directory: string, agentId: string, bytes: Uint8Array): string {
  const target = statusPath(directory, agentId);
  const temporary = writeTemporary(directory, agentId, bytes);
  try {
    fsyncSync(temporary.descriptor);
    putInPlace(temporary, target);
  } catch (error) {
    discard(temporary);
    throw error;
  }
  return target;
}

/**
 * The same without stopping the process while the disk works, which is the slow part. The rest is not
 * spread over turns: a process that exits meanwhile can still take `onTemporary`'s path away, and no step
 * of ours comes after that.
 */
export async function writeStatusFileInBackground(
  directory: string,
  record: StatusRecord,
  onTemporary: (path: string | undefined) => void = () => {},
): Promise<string> {
  const target = statusPath(directory, record.agent_id);
  const temporary = writeTemporary(directory, record.agent_id, bytesOf(record));
  onTemporary(temporary.path);
  try {
    await synchronize(temporary.descriptor);
    putInPlace(temporary, target);
  } catch (error) {
    discard(temporary);
    throw error;
  } finally {
    onTemporary(undefined);
  }
  return target;
}

/** A file that is not there is removed already. */
export function removeStatusFile(directory: string, agentId: string): void {
  removeFile(statusPath(directory, agentId));
}

export function removeFile(path: string): void {
  try {
    unlinkSync(systemPath(path));
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

/** `.<id>.json.<8 characters>.tmp` */
export function isTemporaryName(name: string): boolean {
  return /^\..+\.json\.[A-Za-z0-9_-]+\.tmp$/s.test(name);
}

const synchronize = promisify(fsync);

type Temporary = {
  readonly path: string;
  readonly descriptor: number;
  isOpen: boolean;
};

/** Throws a `StatusError` if no reader would take it. */
function bytesOf(record: StatusRecord): Uint8Array {
  const errors = validate(record);
  if (errors.length > 0) throw new StatusError("invalid_status", errors);
  requireSafeId(record.agent_id);
  const bytes = Buffer.from(printRecord(record));
  if (bytes.length > wireLimits.fileBytesMax) {
    throw new StatusError("too_large", [
      `the record has more than ${wireLimits.fileBytesMax} bytes`,
    ]);
  }
  return bytes;
}

function writeTemporary(directory: string, agentId: string, bytes: Uint8Array): Temporary {
  const temporary = openTemporary(tidyPath(directory), agentId);
  try {
    // The umask may have taken more away than it should.
    fchmodSync(temporary.descriptor, 0o600);
    writeFileSync(temporary.descriptor, bytes);
  } catch (error) {
    discard(temporary);
    throw error;
  }
  return temporary;
}

/** A directory that is missing is made, and only then. */
function openTemporary(directory: string, agentId: string): Temporary {
  let isMade = false;
  for (let tries = 1; ; tries++) {
    const path = pathIn(directory, temporaryName(agentId));
    try {
      return { path, descriptor: openSync(systemPath(path), exclusive, 0o600), isOpen: true };
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOENT" && !isMade) {
        makeDirectory(directory);
        isMade = true;
      } else if (code !== "EEXIST" || tries >= limits.temporaryTriesMax) {
        throw error;
      }
    }
  }
}

/** Nobody else may look into a directory that we make; the ones above it are as the user's umask says. */
function makeDirectory(directory: string): void {
  const above = dirname(directory);
  if (!makeOne(directory, 0o700)) {
    makeAbove(above);
    mkdirSync(directory, 0o700);
  }
}

/** Not by Node's own way, which tries for ever where a file system such as /proc takes no directories. */
function makeAbove(directory: string): void {
  if (makeOne(directory)) return;
  const above = dirname(directory);
  if (above !== directory) makeAbove(above);
  mkdirSync(directory);
}

/** False if there is nothing above it yet. */
function makeOne(directory: string, mode?: number): boolean {
  try {
    mkdirSync(directory, mode);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return false;
    if (code === "EEXIST") return true;
    throw error;
  }
}

const exclusive =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

/** Exclusive creation is what makes it safe, so the chance need not be secret. */
export function temporaryName(agentId: string): string {
  let chance = "";
  while (chance.length < limits.temporaryChars)
    chance += Math.floor(Math.random() * 16).toString(16);
  return `.${agentId}.json.${chance}.tmp`;
}

function putInPlace(temporary: Temporary, target: string): void {
  close(temporary);
  for (let tries = 1; ; tries++) {
    try {
      renameSync(systemPath(temporary.path), systemPath(target));
      return;
    } catch (error) {
      const isHeld = process.platform === "win32" && /^(?:EPERM|EACCES|EBUSY)$/.test(codeOf(error));
      if (!isHeld || tries >= limits.renameTriesMax) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, limits.renamePauseMs);
    }
  }
}

function close(temporary: Temporary): void {
  if (!temporary.isOpen) return;
  temporary.isOpen = false;
  closeSync(temporary.descriptor);
}

/** What went wrong before is what the caller must hear, not that tidying up failed too. */
function discard(temporary: Temporary): void {
  try {
    close(temporary);
  } catch {}
  try {
    unlinkSync(systemPath(temporary.path));
  } catch {}
}
