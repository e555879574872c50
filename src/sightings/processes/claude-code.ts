/**
 * Claude Code keeps a small file beside its settings for each of its processes: which session it is in, and
 * whether it is busy, idle or waits for a person. So a process tells more than that it is there.
 */
import { join } from "node:path";
import { isObject, readJson } from "../disk.ts";
import { limits } from "../limits.ts";
import type { Told } from "../types.ts";
import type { Raw } from "./linux.ts";

const stateOf: Readonly<Record<string, Told["state"]>> = {
  idle: "idle",
  busy: "working",
  waiting: "waiting",
};

/** Undefined if it keeps none, or if the file is of an earlier process with this number. */
export function toldByClaudeCode(raw: Raw, home: string): Told | undefined {
  const directory = claudeDirectory(raw.env, home);
  const path = join(directory, "sessions", `${raw.pid}.json`);
  // It is written in place: what is half written now is whole at the next look.
  const told = readJson(path, limits.sessionBytesMax);
  if (!isObject(told)) return undefined;
  const { sessionId, status, statusUpdatedAt, waitingFor, cwd } = told;
  if (!isAbout(told, raw)) return undefined;
  if (typeof sessionId !== "string" || typeof status !== "string") return undefined;
  const reason = typeof waitingFor === "string" ? ` for ${waitingFor}` : "";
  return {
    state: (Object.hasOwn(stateOf, status) ? stateOf[status] : undefined) ?? "unknown",
    word: `${status}${reason}`,
    ...(typeof statusUpdatedAt === "number" ? { sinceMs: statusUpdatedAt } : {}),
    session: sessionId,
    ...(typeof cwd === "string" ? { workspace: cwd } : {}),
    path,
  };
}

/** A number is given again, and whoever was killed leaves its file behind. */
function isAbout(
  { pid, procStart, startedAt }: Readonly<Record<string, unknown>>,
  raw: Raw,
): boolean {
  if (pid !== raw.pid) return false;
  if (raw.startTicks !== undefined) return procStart === raw.startTicks;
  if (typeof startedAt !== "number") return false;
  const afterMs = startedAt - raw.startedAtMs;
  return afterMs >= -limits.startSlackMs && afterMs <= limits.sessionStartMsMax;
}

export function claudeDirectory(
  env: Readonly<Record<string, string | undefined>>,
  home: string,
): string {
  return env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] || home, ".claude");
}
