/**
 * Where the emitters keep what they need: not among the status files, which are for all to read (AS-95), but
 * in a directory of the user's own. What is in it may be a prompt.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

export type Env = Readonly<Record<string, string | undefined>>;

export type Places = {
  readonly directory: string;
  /** What hooks have to say: `<pid>.body`, and when that is whole, `<pid>.head`. */
  readonly queue: string;
  /** Sessions that are under way. */
  readonly sessions: string;
  /** What sessions were for, in case they are resumed. */
  readonly goals: string;
  /** Who writes: process, its start, and what it is. */
  readonly lock: string;
  /** Whom a hook has started and who does not write yet. */
  readonly starting: string;
};

/** `${XDG_STATE_HOME:-~/.local/state}/tipstaff/emitters`: the hook knows no other. */
export function emittersDirectory(options: { readonly env: Env; readonly home: string }): string {
  const { env, home } = options;
  const state = env["XDG_STATE_HOME"] || join(home, ".local", "state");
  const isHome = state === "~" || state.startsWith("~/");
  return join(isHome ? join(home, state.slice(1)) : state, "tipstaff", "emitters");
}

export function placesIn(directory: string): Places {
  return {
    directory,
    queue: join(directory, "queue"),
    sessions: join(directory, "sessions"),
    goals: join(directory, "goals"),
    lock: join(directory, "writer"),
    starting: join(directory, "starting"),
  };
}

export function makePlaces({ queue, sessions, goals }: Places): void {
  for (const path of [queue, sessions, goals]) mkdirSync(path, { recursive: true, mode: 0o700 });
}
