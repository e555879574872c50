/**
 * What outlives a writer: the sessions that are under way, so that the next writer goes on under the same
 * ids (AS-82), and what sessions were for, in case they are resumed (AS-85).
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { isHostName, newSession, type Session } from "../../wire/host-events/index.ts";
import { isSafeAgentId, type SessionGoal } from "../../wire/status-file/index.ts";
import { layDown, readWhole, removeFile, wholeNamesIn } from "./files.ts";
import { limits } from "./limits.ts";
import type { Places } from "./places.ts";
import type { Identity } from "./processes.ts";

/** A session, and what the writer knows of it beside what its events told. */
export type Kept = {
  readonly session: Session;
  /** Who runs it: without this process there is no session. */
  readonly host: Identity;
  /** Who may look at it, if the host is a server: without any of them it ends with its turn. */
  readonly terminals: readonly Identity[];
  readonly statusDirectory: string;
  readonly transcriptPath: string | undefined;
  /** Another session took its place in its process: it ends with its turn. */
  readonly isReplaced: boolean;
};

/**
 * As the name of a file. An id that is none gets a sum behind it, so that two that look alike afterwards
 * stay two. Made by hand: what Node has for this takes four megabytes.
 */
export function keyOf({ host, sessionId }: Pick<Session, "host" | "sessionId">): string {
  const plain = sessionId.replaceAll(/[^A-Za-z0-9._-]/g, "_").slice(0, limits.nameLengthMax);
  return plain === sessionId ? `${host}-${plain}` : `${host}-${plain}=${sumOf(sessionId)}`;
}

/** FNV-1a, of 64 bits. */
function sumOf(text: string): string {
  let sum = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) {
    sum = BigInt.asUintN(64, (sum ^ BigInt(byte)) * 0x100000001b3n);
  }
  return sum.toString(16).padStart(16, "0");
}

export function keepSession({ sessions }: Places, kept: Kept): void {
  layDown(pathOf(sessions, keyOf(kept.session)), JSON.stringify({ format: 1, ...kept }));
}

export function forgetSession({ sessions }: Places, session: Session): void {
  removeFile(pathOf(sessions, keyOf(session)));
}

/** All that can be read; what cannot is taken away. */
export function readSessions({ sessions }: Places): readonly Kept[] {
  return wholeNamesIn(sessions).flatMap((name) => {
    const path = join(sessions, name);
    const kept = readKept(readWhole(path, limits.sessionBytesMax));
    if (!kept) removeFile(path);
    return kept ? [kept] : [];
  });
}

function readKept(bytes: Buffer | undefined): Kept | undefined {
  const value = parse(bytes);
  if (value?.["format"] !== 1) return undefined;
  const { session, host, terminals, statusDirectory, transcriptPath, isReplaced } = value;
  if (!isObject(session) || typeof statusDirectory !== "string" || !isIdentity(host))
    return undefined;
  const { host: name, agentId, sessionId, pid, tmux, ...rest } = session;
  if (typeof name !== "string" || !isHostName(name) || typeof sessionId !== "string")
    return undefined;
  if (typeof agentId !== "string" || !isSafeAgentId(agentId)) return undefined;
  const lists = [rest["asking"], rest["calls"], rest["subagents"]];
  if (!lists.every((list) => list === undefined || Array.isArray(list))) return undefined;
  const beginning = newSession(
    { host: name, agentId, sessionId, pid: host.pid, tmux: undefined },
    0,
  );
  return {
    // We wrote it, in this format; JSON has only left out what was undefined.
    session: {
      ...beginning,
      ...(rest as Partial<Session>),
      ...(isObject(tmux) && { tmux: tmux as Session["tmux"] }),
    },
    host,
    terminals: Array.isArray(terminals) ? terminals.filter(isIdentity) : [],
    statusDirectory,
    transcriptPath: typeof transcriptPath === "string" ? transcriptPath : undefined,
    isReplaced: isReplaced === true,
  };
}

export function keepGoal({ goals }: Places, session: Session): void {
  const path = pathOf(goals, keyOf(session));
  if (session.goal) layDown(path, JSON.stringify(session.goal));
  else removeFile(path);
}

export function findGoal({ goals }: Places, session: Session): SessionGoal | undefined {
  const path = pathOf(goals, keyOf(session));
  const { summary, atMs } = parse(readWhole(path, limits.sessionBytesMax)) ?? {};
  if (typeof summary !== "string" || summary === "" || typeof atMs !== "number") return undefined;
  return { summary, atMs };
}

/** A session that was not resumed for so long, or after so many others, is not resumed any more. */
export function sweepGoals({ goals }: Places, nowMs: number): void {
  const found = wholeNamesIn(goals).map((name) => {
    const path = join(goals, name);
    return { path, atMs: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs };
  });
  const newestFirst = found.sort((one, other) => other.atMs - one.atMs);
  for (const [index, { path, atMs }] of newestFirst.entries()) {
    if (index >= limits.goalsMax || nowMs - atMs > limits.goalAgeMsMax) removeFile(path);
  }
}

function pathOf(directory: string, key: string): string {
  return join(directory, `${key}.json`);
}

function parse(bytes: Buffer | undefined): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = bytes && JSON.parse(bytes.toString());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isIdentity(value: unknown): value is Identity {
  return isObject(value) && typeof value["pid"] === "number" && typeof value["start"] === "string";
}
