/**
 * Goes to the tmux pane an agent runs in. Where it is comes from files and environments of others: only a
 * socket of this user is spoken to, because a tmux server can make its clients run commands, and no shell
 * sees any of it.
 */
import { execFile } from "node:child_process";
import { lstatSync } from "node:fs";
import { limits } from "./limits.ts";

export type Pane = { readonly socket: string; readonly pane: string };

type Env = Readonly<Record<string, string | undefined>>;

/** What to tell the person: where they are now, or what is in the way. Never rejects. */
export async function goToPane(
  { socket, pane }: Pane,
  env: Env,
): Promise<{ readonly isThere: boolean; readonly text: string }> {
  if (!/^%\d{1,9}$/.test(pane)) return { isThere: false, text: `${pane} is no tmux pane` };
  const problem = problemWith(socket);
  if (problem !== undefined) return { isThere: false, text: problem };
  const [ownSocket] = env["TMUX"]?.split(",") ?? [];
  const isInside = ownSocket !== undefined && isSameFile(ownSocket, socket);
  const { stdout, problem: refused } = await run(socket, [
    ["select-window", "-t", pane],
    ["select-pane", "-t", pane],
    ["display-message", "-p", "-t", pane, "#{session_attached} #{session_name}"],
    // Only a client of the same server can be shown another of its sessions.
    ...(isInside ? [["switch-client", "-t", pane]] : []),
  ]);
  const [, attached = "0", session] = /^(\d+) (.*)$/m.exec(stdout) ?? [];
  if (session === undefined) return { isThere: false, text: refused ?? "tmux does not answer" };
  if (isInside) return { isThere: true, text: `pane ${pane} of session ${session} is selected` };
  const text =
    attached === "0"
      ? `pane ${pane} is selected; nobody looks on: tmux -S ${socket} attach -t ${session}`
      : `pane ${pane} is selected, in the terminal that is attached to session ${session}`;
  return { isThere: true, text };
}

type Ran = { readonly stdout: string; readonly problem?: string };

/** One after the other, until one cannot be done. */
function run(socket: string, commands: readonly (readonly string[])[]): Promise<Ran> {
  const words = commands.flatMap((command) => [";", ...command]).slice(1);
  return new Promise((resolve) => {
    execFile(
      "tmux",
      ["-S", socket, ...words],
      { timeout: limits.tmuxMs },
      (error, stdout, stderr) =>
        resolve(error ? { stdout, problem: whyNot(error, stderr) } : { stdout }),
    );
  });
}

function problemWith(socket: string): string | undefined {
  if (!socket.startsWith("/")) return `${socket} is no tmux server`;
  try {
    const stats = lstatSync(socket);
    if (!stats.isSocket()) return `${socket} is no tmux server`;
    return stats.uid === process.getuid?.() ? undefined : `${socket} belongs to somebody else`;
  } catch {
    return "its tmux server has ended";
  }
}

function isSameFile(one: string, other: string): boolean {
  try {
    const [first, second] = [lstatSync(one), lstatSync(other)];
    return first.dev === second.dev && first.ino === second.ino;
  } catch {
    return false;
  }
}

function whyNot(error: Error, stderr: string): string {
  if ("code" in error && error.code === "ENOENT") return "tmux is not installed here";
  const [line = ""] = stderr.split("\n");
  if (line.includes("can't find pane")) return "its pane is gone";
  return line === "" ? "tmux does not answer" : `tmux says: ${line}`;
}
