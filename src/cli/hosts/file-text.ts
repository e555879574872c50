/** The text of a file that is somebody else's: read whole, or refused by name. Whatever it is, nothing waits for it. */
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from "node:fs";
import { type Failure, no } from "../failure.ts";
import { limits } from "../limits.ts";
import { printPath } from "../paths.ts";
import { bytesOf } from "../times.ts";

/** Undefined if there is none. Text that a host could not read either is not touched. Throws a `Failure`. */
export function readText(path: string): string | undefined {
  const bytes = readBytes(path);
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw no(`${printPath(path)} is not UTF-8`, "nothing was changed");
  }
}

/** For whoever writes, too: what is written is to be read again. */
export function checkSize(path: string, bytes: number): void {
  if (bytes <= limits.settingsBytesMax) return;
  throw no(
    `${printPath(path)} is larger than ${bytesOf(limits.settingsBytesMax)}, which no settings are`,
    "nothing was changed; move what is not settings out of it, and try again",
  );
}

function readBytes(path: string): Buffer | undefined {
  let file: number | undefined;
  try {
    // A pipe that nobody writes to would be waited for, and a terminal would become ours.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    const stats = fstatSync(file);
    if (!stats.isFile()) throw notAFile(path, kindOf(stats));
    checkSize(path, stats.size);
    return readFileSync(file);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return undefined;
    // How sockets, and devices that are not there, answer to being opened.
    if (code === "ENXIO") throw notAFile(path, "a socket or a device");
    if (code === "no") throw error;
    throw no(`cannot read ${printPath(path)}: ${String(code)}`, "nothing was changed");
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function notAFile(path: string, kind: string): Failure {
  return no(
    `${printPath(path)} is ${kind}, not a file`,
    "nothing was changed; move it away, and try again",
  );
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return "a directory";
  return stats.isFIFO() ? "a named pipe" : "a device";
}
