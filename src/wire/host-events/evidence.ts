/**
 * What else tells how a session is. No host says by a hook that a permission was given, and Claude Code none
 * that a turn was interrupted; but it keeps a small file about each of its processes, and every host
 * writes a transcript.
 */
import { anybody, fail, idle, interrupt, isEnding, isOpen, turnTo } from "./apply.ts";
import type { HostName } from "./hosts.ts";
import { limits } from "./limits.ts";
import type { Session } from "./session.ts";

export type Evidence =
  /** The host says of itself that it is so, since then. */
  | { readonly kind: "is"; readonly status: "idle" | "busy" | "waiting"; readonly sinceMs: number }
  /** The turn was interrupted. */
  | { readonly kind: "interrupted"; readonly atMs: number }
  /** The turn is over; with what went wrong, if something did. */
  | { readonly kind: "over"; readonly atMs: number; readonly error?: string };

/** The session, as the evidence shows it; itself if it shows nothing new. */
export function witness(session: Session, evidence: Evidence, nowMs: number): Session {
  if (!session.hasStarted) return session;
  const atMs = evidence.kind === "is" ? evidence.sinceMs : evidence.atMs;
  // An event that came later knows better; unless the host goes on saying so, because the turn that a hook
  // told of never began, or nobody was asked after all.
  const isLasting = evidence.kind === "is" && nowMs - session.heardAtMs > limits.lastingMs;
  if (atMs <= session.heardAtMs && !(isLasting && isOpen(session))) return session;
  const seen = see(session, evidence, Math.max(atMs, session.heardAtMs));
  return seen === session ? session : { ...seen, updatedAtMs: nowMs };
}

function see(session: Session, evidence: Evidence, atMs: number): Session {
  if (evidence.kind === "interrupted") return interrupt(session, atMs);
  if (evidence.kind === "over") {
    if (!isOpen(session)) return session;
    const over = { ...session, lastActivityAtMs: atMs };
    return evidence.error === undefined ? idle(over) : fail(over, evidence.error, { atMs });
  }
  switch (evidence.status) {
    case "idle":
      if (session.rests === undefined) return interrupt(session, atMs);
      return {
        ...session,
        turn: session.rests ?? undefined,
        rests: undefined,
        asking: [],
        lastActivityAtMs: atMs,
      };
    case "waiting": {
      // Who is idle may have a dialog open that has nothing to do with its work.
      const isAtWork = isOpen(session) || session.turn?.state === "submitted";
      if (!isAtWork || session.asking.length > 0) return session;
      const asked = { ...departed(session), asking: [anybody("permission")] };
      return turnTo(asked, { state: "input-required", atMs });
    }
    case "busy":
      // Also without a prompt: one that was typed during the last turn was told of then.
      if (session.turn?.state === "working") return session;
      return turnTo(
        { ...departed(session), asking: [], lastActivityAtMs: atMs },
        { state: "working", atMs },
      );
  }
}

/** An ending that is shown for a while is nothing to come back to. */
function departed(session: Session): Session {
  if (isOpen(session) || session.rests !== undefined) return session;
  const { turn } = session;
  return { ...session, rests: turn && !isEnding(turn.state) ? turn : null };
}

/** Claude Code keeps `sessions/<pid>.json` in the folder in which its transcripts are. */
export function selfReportPath(transcriptPath: string, pid: number): string | undefined {
  const [, folder] = /^(.+)\/projects\/[^/]+\/[^/]+\.jsonl$/.exec(transcriptPath) ?? [];
  return folder === undefined ? undefined : `${folder}/sessions/${pid}.json`;
}

/** Written in place: while it is, there is no object to be read, and so nothing to be seen. */
export function readSelfReport(text: string, sessionId: string): Evidence | undefined {
  const report = objectIn(text);
  const { status, statusUpdatedAt: sinceMs } = report ?? {};
  if (report?.["sessionId"] !== sessionId || typeof sinceMs !== "number") return undefined;
  if (status !== "idle" && status !== "busy" && status !== "waiting") return undefined;
  return { kind: "is", status, sinceMs };
}

const interrupted = /^\[Request interrupted by user[^\]]*\]/;

/** The last thing that whole lines of a transcript tell about the end of a turn. */
export function readTranscript(host: HostName, lines: readonly string[]): Evidence | undefined {
  const read = host === "codex" ? readRollout : readClaude;
  for (const line of lines.toReversed()) {
    const hint = host === "codex" ? /"(?:turn_aborted|task_complete)"/ : /\[Request interrupted/;
    if (line.length > limits.memberBytesMax || !hint.test(line)) continue;
    const entry = objectIn(line);
    const atMs = Date.parse(String(entry?.["timestamp"]));
    const evidence = entry && !Number.isNaN(atMs) ? read(entry, atMs) : undefined;
    if (evidence) return evidence;
  }
  return undefined;
}

type Entry = Readonly<Record<string, unknown>>;

function readClaude(entry: Entry, atMs: number): Evidence | undefined {
  if (entry["type"] !== "user" || entry["isSidechain"] === true) return undefined;
  const { content } = asObject(entry["message"]);
  const parts: readonly unknown[] = Array.isArray(content) ? content : [{ text: content }];
  const isMarked = parts.some((part) => interrupted.test(String(asObject(part)["text"])));
  return isMarked ? { kind: "interrupted", atMs } : undefined;
}

function readRollout(entry: Entry, atMs: number): Evidence | undefined {
  const { type, error } = entry["type"] === "event_msg" ? asObject(entry["payload"]) : {};
  if (type === "turn_aborted") return { kind: "interrupted", atMs };
  if (type !== "task_complete") return undefined;
  if (error === undefined || error === null) return { kind: "over", atMs };
  return { kind: "over", atMs, error: nameOf(asObject(error)["codex_error_info"]) };
}

/** A word, or an object with that word as its only key and the details as its value. */
function nameOf(info: unknown): string {
  if (typeof info === "string") return info;
  const [[name, details] = ["unknown", undefined]] = Object.entries(asObject(info));
  const { http_status_code: status } = asObject(details);
  return status === 401 || status === 403 ? "unauthorized" : name;
}

function objectIn(text: string): Entry | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function asObject(value: unknown): Entry {
  return typeof value === "object" && value !== null ? (value as Entry) : {};
}
