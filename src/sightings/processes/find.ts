/** Coding agents among the processes of this machine. */
import { homedir } from "node:os";
import { tmuxOf } from "../../wire/status-file/index.ts";
import type { FoundProcess } from "../types.ts";
import { toldByClaudeCode } from "./claude-code.ts";
import { type Raw, readProc } from "./linux.ts";
import { readPs } from "./ps.ts";

export type FindOptions = {
  /** Where programs keep their records unless their environment says otherwise; absent: the user's. */
  readonly home?: string;
};

/** Those of this user, without what only starts them and what they run. */
export function findProcesses(options: FindOptions = {}): readonly FoundProcess[] {
  return foundAmong(process.platform === "linux" ? readProc() : readPs(), options);
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
  return raws
    .filter((raw) => !raw.isServer && !isLauncher(raw))
    .map((raw) => {
      const launchers: Raw[] = [];
      for (let at = byPid.get(raw.parent); at && at.program === raw.program && isLauncher(at); ) {
        launchers.push(at);
        at = byPid.get(at.parent);
      }
      return describe(raw, launchers, home);
    });
}

function describe(raw: Raw, launchers: readonly Raw[], home: string): FoundProcess {
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
    ...(launchers.length === 0
      ? {}
      : { launchers: launchers.map((one) => ({ pid: one.pid, startedAtMs: one.startedAtMs })) }),
    ...(told ? { told } : {}),
    env,
  };
}
