/** Small files, read with bounds and written so that nobody sees half of one. */
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { isTemporaryName } from "../../status-files/index.ts";
import { limits } from "./limits.ts";

/** A pipe without a writer must not hold us up. */
const flags = constants.O_RDONLY | constants.O_NONBLOCK;

export type Part = { readonly bytes: Buffer; readonly size: number };

/** Up to so many bytes from there; undefined if it is no file or cannot be read. */
export function readPart(path: string, from: number, bytesMax: number): Part | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, flags);
    const stats = fstatSync(file);
    if (!stats.isFile()) return undefined;
    return { bytes: readFrom(file, from, { bytesMax, size: stats.size }), size: stats.size };
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** The whole file, also one of the system's that claims to be empty; undefined if it is longer. */
export function readWhole(path: string, bytesMax: number): Buffer | undefined {
  const { bytes } = readPart(path, 0, bytesMax + 1) ?? {};
  return bytes === undefined || bytes.length > bytesMax ? undefined : bytes;
}

let scratch: Buffer | undefined;

/** A file in parts, in one piece of memory: each part is good until the next. */
export function* partsOf(path: string): Generator<Uint8Array> {
  const file = openSync(path, flags);
  try {
    if (!fstatSync(file).isFile()) return;
    scratch ??= Buffer.allocUnsafeSlow(limits.partBytes);
    const part = scratch;
    for (let length = 0; length <= limits.eventBytesMax; ) {
      const read = readSync(file, part, 0, part.length, null);
      if (read === 0) return;
      yield part.subarray(0, read);
      length += read;
    }
    throw new Error(`${path} is too long`);
  } finally {
    closeSync(file);
  }
}

type Extent = { readonly bytesMax: number; readonly size: number };

function readFrom(file: number, from: number, { bytesMax, size }: Extent): Buffer {
  const chunks: Buffer[] = [];
  for (let length = 0; length < bytesMax; ) {
    const left = Math.max(limits.systemFileBytes, size - from - length);
    const chunk = Buffer.allocUnsafe(Math.min(bytesMax - length, left));
    const read = readSync(file, chunk, 0, chunk.length, from + length);
    if (read === 0) break;
    chunks.push(chunk.subarray(0, read));
    length += read;
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}

/** How the name of a file ends that is not in its place yet. */
const unfinished = ".tmp";

/** Not on the disk when it returns: what is lost with the machine is not missed. */
export function layDown(path: string, text: string): void {
  const temporary = `${path}${unfinished}`;
  try {
    writeFileSync(temporary, text, { mode: 0o600 });
    renameSync(temporary, path);
  } catch (error) {
    removeFile(temporary);
    throw error;
  }
}

/** Without what a writer left that died in the middle of writing, which goes. Nobody else writes here. */
export function wholeNamesIn(directory: string): readonly string[] {
  return namesIn(directory).filter((name) => {
    const isWhole = !name.endsWith(unfinished);
    if (!isWhole) removeFile(join(directory, name));
    return isWhole;
  });
}

/** What a writer left of a status file that died in the middle of writing it. */
export function sweepTemporaries(directory: string, agentId: string): void {
  for (const name of namesIn(directory)) {
    const isOurs = name.startsWith(`.${agentId}.json.`) && isTemporaryName(name);
    if (isOurs) removeFile(join(directory, name));
  }
}

export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Gone already, or not ours to take.
  }
}

export function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** From the system itself: the module that Node has for this takes four megabytes. */
export function randomHex(count: number): string {
  const bytes = Buffer.alloc(count);
  const file = openSync("/dev/urandom", "r");
  try {
    readSync(file, bytes);
  } finally {
    closeSync(file);
  }
  return bytes.toString("hex");
}
