/**
 * A file that somebody names, for whoever asks about this one: unlike what lies in a directory, it may be a
 * pipe (`cat f | agent-status validate /dev/stdin`, `validate <(cat f)`). It is waited for, as the reference
 * waits, and not for more than a record may have.
 */
import { closeSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { readStatusFile } from "../status-files/index.ts";
import {
  type Read,
  type ReadOptions,
  readRecord,
  limits as wireLimits,
} from "../wire/status-file/index.ts";
import { reasonOf } from "./failure.ts";
import { readOptions } from "./surroundings.ts";

export function readNamed(path: string): Read {
  const options = readOptions();
  const stats = statAt(path);
  return stats?.isFIFO() || stats?.isCharacterDevice()
    ? readStream(path, options)
    : readStatusFile(path, options);
}

function statAt(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    // Whoever reads it says what is wrong.
    return undefined;
  }
}

function readStream(path: string, options: ReadOptions): Read {
  const { fileBytesMax = wireLimits.fileBytesMax } = options;
  // One byte more than there may be: whoever fills it is too large, and the reader says so.
  const bytes = Buffer.alloc(fileBytesMax + 1);
  let length = 0;
  try {
    const descriptor = openSync(path, "r");
    try {
      for (let read = -1; read !== 0 && length < bytes.length; length += read) {
        read = readSync(descriptor, bytes, length, bytes.length - length, null);
      }
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    return { problem: { kind: "unreadable", errors: [reasonOf(error)] } };
  }
  return readRecord(bytes.subarray(0, length), options);
}
