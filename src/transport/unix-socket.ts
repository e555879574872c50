/** The Unix socket in the data directory, through which the command line reaches its daemon. */
import { rmSync } from "node:fs";
import { join } from "node:path";

/** What the operating system allows, with the final zero. */
const pathBytesMax = 104;

export function socketIn(dataDirectory: string): string {
  return join(dataDirectory, "tipstaff.sock");
}

/**
 * Clears what an earlier daemon left behind. Only for who has the directory's lock. Answers false if
 * the path is too long for a socket.
 */
export function clearSocket(path: string): boolean {
  if (Buffer.byteLength(path) >= pathBytesMax) return false;
  rmSync(path, { force: true });
  return true;
}
