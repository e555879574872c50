/**
 * Who outlives the host: takes its file away when the host is gone, however it went. It waits at the end of a
 * pipe that the system closes together with the host, so it costs nothing while it waits.
 */
import { spawn } from "node:child_process";
import { Socket } from "node:net";

const wait = 'while read -r line; do :; done; rm -f -- "$0"';

/** The answer sends it away: the file is then no business of its. Where there is no shell, there is no guard. */
export function guard(path: string): () => void {
  const child = spawn("/bin/sh", ["-c", wait, path], {
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
