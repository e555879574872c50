/** The Unix socket in the data directory, through which the command line reaches its daemon. */
import { rmSync } from "node:fs";
import { join } from "node:path";

/** The least of what operating systems allow, with the final zero. */
const pathBytesMax = 104;

export function socketIn(dataDirectory: string): string {
  return join(dataDirectory, "tipstaff.sock");
}

/** Clears what an earlier daemon left behind. Only for who has the directory's lock. */
export function clearSocket(path: string): void {
  if (Buffer.byteLength(path) >= pathBytesMax) throw new Error("the path is too long");
  rmSync(path, { force: true });
}
