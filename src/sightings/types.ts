/** Who was seen, what each source says of them, and the sources themselves. */
import type { StatusRecord } from "../wire/status-file/index.ts";

/**
 * What a person wants to know first.
 *
 * - `waiting`: for a person.
 * - `working`: and something has happened lately, as far as anyone can tell.
 * - `silent`: says it works, and has made no progress for minutes.
 * - `failed`: its last turn did.
 * - `lost`: said that it runs, and is not heard of any more.
 * - `idle`: runs and has nothing to do.
 * - `stopped`: has ended, and said so.
 * - `unknown`: runs; nobody says what it does.
 */
export type SightingState =
  | "waiting"
  | "working"
  | "silent"
  | "failed"
  | "lost"
  | "idle"
  | "stopped"
  | "unknown";

/**
 * How we know, the best first. The registry is told by the agent itself and checks that it lives; a hook is
 * run by the agent's host; a file may be written by anybody; a process says only that it is there.
 */
export type SourceKind = "registry" | "hook" | "file" | "process";

/** What one source says. */
export type Known = {
  readonly source: SourceKind;
  /** Never `silent`: whether nothing happens shows only when all sources are taken together. */
  readonly state: SightingState;
  /** The source's own word for it. */
  readonly word: string;
  readonly sinceMs?: number;
  /** When the source last heard of the agent. */
  readonly heardAtMs: number;
  /** The file it stands in. */
  readonly path?: string;
};

export type Tmux = { readonly socket: string; readonly pane: string };

/** One agent, from all sources that know it. */
export type Sighting = {
  readonly id: string;
  readonly name: string;
  /** The machine it runs on. */
  readonly host: string;
  readonly pid?: number;
  readonly startedAtMs?: number;
  readonly state: SightingState;
  /** When this state began; for `silent`, the last progress. */
  readonly sinceMs?: number;
  readonly lastProgressAtMs?: number;
  /** The first is where the state is from, then the best first. */
  readonly known: readonly Known[];
  /** Two sources that are in touch with it say different things. */
  readonly isContradicted: boolean;
  readonly workspace?: string;
  readonly branch?: string;
  /** In its own words. */
  readonly doing?: string;
  readonly task?: string;
  readonly goal?: string;
  readonly tokens?: Tokens;
  readonly costUsd?: number;
  readonly tmux?: Tmux;
  /** The one command that would show more. */
  readonly hint?: string;
};

export type Tokens = { readonly input: number; readonly output: number };

/** A record and where it stands. */
export type StatusFile = { readonly path: string; readonly record: StatusRecord };

/** An agent as the registry has it. */
export type RegisteredAgent = {
  readonly id: string;
  readonly name: string;
  readonly liveness: "alive" | "unreachable" | "dead";
  readonly activity?: {
    readonly state: "thinking" | "reading" | "writing" | "waiting" | "idle";
    readonly note?: string;
    readonly sinceMs: number;
    /** When it last said so. */
    readonly reportedAtMs?: number;
  };
  readonly heardAtMs: number;
  readonly diedAtMs?: number;
  /** Leases and claims, as people say it: `task invoice-42`. */
  readonly holds?: readonly string[];
  readonly host?: string;
  readonly pid?: number;
  readonly startedAtMs?: number;
  readonly workspace?: string;
};

/** A coding agent among the processes of this machine. */
export type FoundProcess = ProcessKey & {
  /** As its records are named: `claude-code`, `codex`, `aider`. */
  readonly program: string;
  readonly workspace?: string;
  readonly tmux?: Tmux;
  /** Parents of it that only started it: a record may name one of them. */
  readonly launchers?: readonly ProcessKey[];
};

/** A number alone is given again; with the time of its start it is one process for ever. */
export type ProcessKey = { readonly pid: number; readonly startedAtMs: number };
