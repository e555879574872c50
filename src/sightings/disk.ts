/** Files that others write, read with bounds: whatever stands at a path, nothing hangs, grows or throws. */
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
  statSync,
} from "node:fs";

/** Opened so that a pipe without a writer does not hold us up. */
const flags = constants.O_RDONLY | constants.O_NONBLOCK;

/** Calls `read` with a regular file; undefined if there is none, or it cannot be read. */
export function withFile<Result>(
  path: string,
  read: (file: number, stats: Stats) => Result,
): Result | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, flags);
    const stats = fstatSync(file);
    return stats.isFile() ? read(file, stats) : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** What stands at a path; undefined if there is nothing, or we may not know. */
export function statsOf(path: string): Stats | undefined {
  try {
    // To throw costs ten times the look.
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** None for what is no directory. */
export function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** So many bytes from `from` on, or fewer where the file ends. */
export function readBytes(file: number, from: number, count: number): Buffer {
  const bytes = Buffer.allocUnsafe(Math.max(0, count));
  let length = 0;
  while (length < bytes.length) {
    const read = readSync(file, bytes, length, bytes.length - length, from + length);
    if (read === 0) break;
    length += read;
  }
  return bytes.subarray(0, length);
}

/** The whole file as text; undefined if it is longer than that. */
export function readText(path: string, bytesMax: number): string | undefined {
  return withFile(path, (file, { size }) =>
    size > bytesMax ? undefined : readBytes(file, 0, bytesMax).toString(),
  );
}

export function readJson(path: string, bytesMax: number): unknown {
  const text = readText(path, bytesMax);
  return text === undefined ? undefined : parseJson(text);
}

/** Undefined for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
