/**
 * Where status files are, and what they are called. First what a flag says, then `AGENT_STATUS_DIR`, then
 * `XDG_STATE_HOME`, then the home directory: agent-status, section 3.
 */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { isSafeAgentId } from "../wire/status-file/index.ts";
import { StatusError } from "./errors.ts";
import { limits } from "./limits.ts";

export type Env = { readonly [name: string]: string | undefined };

export type DirectoryOptions = {
  /** What the caller was told, say by `--status-dir`. Empty is the working directory. */
  readonly flag?: string | undefined;
  readonly env: Env;
  readonly home?: string | undefined;
};

/**
 * Relative stays relative, so that printed paths look as they were asked for. Throws if the value that
 * counts names a user whom nobody knows; what another value says does not matter then.
 */
export function statusDirectory({ flag, env, home }: DirectoryOptions): string {
  const homeOf = (): string => home ?? (env["HOME"] || homedir());
  if (flag !== undefined) return tidyPath(expandHome(flag, homeOf));
  const own = env["AGENT_STATUS_DIR"];
  if (own) return tidyPath(expandHome(own, homeOf));
  const state = env["XDG_STATE_HOME"];
  if (state) return tidyPath(`${expandHome(state, homeOf)}/agent-status`);
  return tidyPath(`${homeOf()}/.local/state/agent-status`);
}

/** `<directory>/<agent id>.json`, without double slashes and `.` on the way. */
export function statusPath(directory: string, agentId: string): string {
  return pathIn(tidyPath(directory), `${agentId}.json`);
}

/** For who writes: an id is looked at before it becomes part of a path. */
export function requireSafeId(agentId: string): void {
  if (isSafeAgentId(agentId)) return;
  throw new StatusError("unsafe_id", ["agent_id must be non-empty and filename-safe"]);
}

/** The agent that a file is named after: `get` and `prune` go by this, whatever the record says. */
export function agentIdOf(path: string): string {
  return nameOf(path).slice(0, -".json".length);
}

/** `directory` must be tidy. */
export function pathIn(directory: string, name: string): string {
  if (directory === ".") return name;
  return directory === "/" ? `/${name}` : `${directory}/${name}`;
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Slashes are collapsed and `.` is dropped; `..` stays, because what is before it may be a link. */
export function tidyPath(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const tidy = `${path.startsWith("/") ? "/" : ""}${parts.join("/")}`;
  return tidy === "" ? "." : tidy;
}

/** `~` and `~name` at the beginning; nothing else is anybody's home. */
export function expandHome(value: string, homeOf: () => string): string {
  if (!value.startsWith("~")) return value;
  const slash = value.indexOf("/");
  const user = value.slice(1, slash === -1 ? undefined : slash);
  const rest = slash === -1 ? "" : value.slice(slash);
  if (user === "") return `${homeOf()}${rest}`;
  const home = findHome(user);
  if (home === undefined) {
    throw new Error(`cannot find the home directory of ~${user}; write the path in full`);
  }
  return `${home}${rest}`;
}

/** From the user database: the file that most systems have, then whatever else the system asks. */
function findHome(user: string): string | undefined {
  if (!/^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/.test(user)) return undefined;
  try {
    const home = homeIn(readFileSync("/etc/passwd", "utf8"), user);
    if (home !== undefined) return home;
  } catch {
    // A system without the file has another way, or none.
  }
  const [command, ...words] =
    process.platform === "darwin"
      ? ["dscl", ".", "-read", `/Users/${user}`, "NFSHomeDirectory"]
      : ["getent", "passwd", user];
  try {
    // Loaded where it is needed, which is hardly ever: a command has a millisecond to lose elsewhere.
    const { execFileSync } = process.getBuiltinModule("node:child_process");
    const told = execFileSync(command ?? "", words, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      timeout: limits.userLookupMs,
    });
    const prefix = "NFSHomeDirectory: ";
    return told.startsWith(prefix) ? told.slice(prefix.length).trim() : homeIn(told, user);
  } catch {
    return undefined;
  }
}

function homeIn(passwd: string, user: string): string | undefined {
  for (const line of passwd.split("\n")) {
    const fields = line.split(":");
    if (fields[0] === user) return fields[5] || undefined;
  }
  return undefined;
}
