/** Other processes: whether they still are who they were, and what they were started with. */
import { readlinkSync } from "node:fs";
import { statOf } from "../../wire/procfs/index.ts";
import { namesIn, readWhole } from "./files.ts";
import { limits } from "./limits.ts";
import type { Env } from "./places.ts";

/** A number that the system gives away again, and what tells two with the same number apart. */
export type Identity = {
  readonly pid: number;
  /** In the system's own count; empty where there is no `/proc`. */
  readonly start: string;
};

/** Undefined if there is no such process, or it is dead and only not yet buried. */
export function identify(pid: number): Identity | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  if (!hasProc()) return answersTo(pid) ? { pid, start: "" } : undefined;
  const { state, startTicks: start } = statOf(textOf(pid, "stat")) ?? {};
  return start === undefined || state === "Z" || state === "X" ? undefined : { pid, start };
}

export function isAlive({ pid, start }: Identity): boolean {
  return identify(pid)?.start === start;
}

export function isSame(one: Identity, other: Identity): boolean {
  return one.pid === other.pid && one.start === other.start;
}

/** What it was started with; empty if that is none of our business. */
export function environmentOf(pid: number): Env {
  const text = textOf(pid, "environ");
  return Object.fromEntries(
    text.split("\0").map((entry) => {
      const at = entry.indexOf("=");
      return [entry.slice(0, Math.max(0, at)), entry.slice(at + 1)];
    }),
  );
}

export function commandOf(pid: number): readonly string[] {
  return textOf(pid, "cmdline").split("\0").slice(0, -1);
}

/**
 * Codex runs its sessions in a server of its own, which outlives the terminals that look at them. These are
 * the terminals that may look at the session: the user's other processes of that program in that directory.
 */
export function terminalsOf(server: Identity, workspace: string): readonly Identity[] {
  const { CODEX_HOME: home } = environmentOf(server.pid);
  return namesIn("/proc").flatMap((name) => {
    const pid = /^\d+$/.test(name) ? Number(name) : 0;
    if (pid === 0 || pid === server.pid || textOf(pid, "comm").trim() !== "codex") return [];
    if (workingDirectoryOf(pid) !== workspace || isServer(pid)) return [];
    const found = environmentOf(pid)["CODEX_HOME"] === home ? identify(pid) : undefined;
    return found ? [found] : [];
  });
}

const serving = new Set(["app-server", "mcp-server", "exec-server"]);

/** Whether it has sessions of several people at once, rather than one at a time. */
export function isServer(pid: number): boolean {
  return commandOf(pid).some((word) => serving.has(word));
}

/**
 * Whether something that was started by it, or by that, was told to run this since then. A shell that has
 * nothing else to do becomes the last command, and then the words of that are all that is left. What ran
 * before is something else of the same words: a build in the background, a server.
 */
export function isRunning(
  command: string,
  { ancestor, sinceMs }: { readonly ancestor: number; readonly sinceMs: number },
  depth: number = limits.generationsMax,
): boolean {
  return namesIn(`/proc/${ancestor}/task`)
    .flatMap((thread) => textOf(ancestor, `task/${thread}/children`).split(" "))
    .some((child) => {
      const pid = Number(child);
      if (!pid) return false;
      const words = commandOf(pid);
      const isIt = words.includes(command) || endsWith(bare(command), bare(words.join(" ")));
      if (isIt && startedAtMs(pid) >= sinceMs - limits.startSlackMs) return true;
      return depth > 1 && isRunning(command, { ancestor: pid, sinceMs }, depth - 1);
    });
}

/** The system counts from its start, in hundredths of a second. */
function startedAtMs(pid: number): number {
  const upMs = Number.parseFloat(readWhole("/proc/uptime", 64)?.toString() ?? "") * 1_000;
  const start = Number(identify(pid)?.start) * 10;
  return Date.now() - upMs + start;
}

/** Whether the last command of a line is that one. */
function endsWith(line: string, command: string): boolean {
  const before = line.slice(0, -command.length);
  return command !== "" && line.endsWith(command) && /(^|[\s;&|(])$/.test(before);
}

/** Without what only a shell sees. */
function bare(command: string): string {
  return command
    .replaceAll(/["'\\]/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

function workingDirectoryOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

function textOf(pid: number, name: string): string {
  return readWhole(`/proc/${pid}/${name}`, limits.processBytesMax)?.toString() ?? "";
}

let isProcThere: boolean | undefined;

function hasProc(): boolean {
  isProcThere ??= readWhole("/proc/self/stat", limits.processBytesMax) !== undefined;
  return isProcThere;
}

function answersTo(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
