/**
 * Who outlives the host: takes its file away when the host is gone, however it went. It waits at the end of a
 * pipe that the system closes together with the host, so it costs nothing while it waits.
 */
import { spawn } from "node:child_process";
import { Socket } from "node:net";
import { basename, dirname, join } from "node:path";

/** With what was being written. Who is told to end with all the others, waits for the host all the same. */
const wait = 'trap "" HUP INT TERM; while read -r line; do :; done; rm -f -- "$0" "$1"*.tmp';

/** The answer sends it away: the file is then no business of its. Where there is no shell, there is no guard. */
export function guard(path: string): () => void {
  const unfinished = join(dirname(path), `.${basename(path)}.`);
  const child = spawn("/bin/sh", ["-c", wait, path, unfinished], {
    stdio: ["pipe", "ignore", "ignore"],
    // Not in the host's terminal, and not in its directory.
    detached: true,
    cwd: "/",
    env: {},
  });
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  // Neither keeps the host running.
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  return () => {
    child.kill("SIGKILL");
  };
}
