/** Coding agents among the processes of this machine. */
import { homedir } from "node:os";
import { tmuxOf } from "../../wire/status-file/index.ts";
import type { FoundProcess, ProcessKey } from "../types.ts";
import { toldByClaudeCode } from "./claude-code.ts";
import { type Raw, readProc } from "./linux.ts";
import { readPs } from "./ps.ts";

export type FindOptions = {
  /** Where programs keep their records unless their environment says otherwise; absent: the user's. */
  readonly home?: string;
};

/** Those of this user, without what only starts them and what they run. */
export function findProcesses(options: FindOptions = {}): readonly FoundProcess[] {
  return surveyProcesses(options).agents;
}

export type ProcessSurvey = {
  readonly agents: readonly FoundProcess[];
  /** Whether a daemon of ours runs on this machine, as far as that can be seen. */
  readonly hasDaemon: boolean;
};

export function surveyProcesses(options: FindOptions = {}): ProcessSurvey {
  const { raws, hasDaemon } = process.platform === "linux" ? readProc() : readPs();
  return { agents: foundAmong(raws, options), hasDaemon };
}

export function foundAmong(
  raws: readonly Raw[],
  { home = homedir() }: FindOptions,
): readonly FoundProcess[] {
  const byPid = new Map(raws.map((raw) => [raw.pid, raw]));
  const children = Map.groupBy(
    raws.filter(({ isServer }) => !isServer),
    ({ parent }) => parent,
  );
  /** A script whose one child is the same program has started it and waits for its end. */
  const isLauncher = (raw: Raw): boolean => {
    const [child, ...others] = children.get(raw.pid) ?? [];
    return raw.isScript && child?.program === raw.program && others.length === 0;
  };
  const servers = raws.filter(({ isServer }) => isServer);
  return raws
    .filter((raw) => !raw.isServer && !isLauncher(raw))
    .map((raw) => {
      const launchers: Raw[] = [];
      for (let at = byPid.get(raw.parent); at && at.program === raw.program && isLauncher(at); ) {
        launchers.push(at);
        at = byPid.get(at.parent);
      }
      return describe(raw, { launchers, server: serverOf(raw, servers), home });
    });
}

/**
 * Windows of Codex that share settings share a server. Of several it cannot be told which. A window of OpenCode
 * has its sessions in itself, whatever else is served.
 */
function serverOf({ program, env }: Raw, servers: readonly Raw[]): Raw | undefined {
  if (program !== "codex") return undefined;
  const [server, ...others] = servers.filter(
    (one) =>
      one.program === program &&
      one.env["HOME"] === env["HOME"] &&
      one.env["CODEX_HOME"] === env["CODEX_HOME"],
  );
  return others.length === 0 ? server : undefined;
}

type Around = {
  readonly launchers: readonly Raw[];
  readonly server: Raw | undefined;
  readonly home: string;
};

function describe(raw: Raw, { launchers, server, home }: Around): FoundProcess {
  const { pid, startedAtMs, program, env } = raw;
  const tmux = tmuxOf(env);
  const told = program === "claude-code" ? toldByClaudeCode(raw, home) : undefined;
  const workspace = told?.workspace ?? raw.workspace;
  return {
    pid,
    startedAtMs,
    program,
    ...(workspace === undefined ? {} : { workspace }),
    ...(tmux ? { tmux: { socket: tmux.tmux_socket, pane: tmux.tmux_pane } } : {}),
    ...(launchers.length === 0 ? {} : { launchers: launchers.map(keyOf) }),
    ...(server ? { server: keyOf(server) } : {}),
    ...(told ? { told } : {}),
    env,
  };
}

function keyOf({ pid, startedAtMs }: Raw): ProcessKey {
  return { pid, startedAtMs };
}
