/** Who was seen, what each source says of them, and the sources themselves. */
import type { Known, Sighting, SightingState, SourceKind } from "../wire/api/index.ts";
import type { StatusFile } from "../wire/status-file/index.ts";

export type { Known, Sighting, SightingState, SourceKind, StatusFile };

export type Tmux = NonNullable<Sighting["tmux"]>;
export type Tokens = NonNullable<Sighting["tokens"]>;

/** An agent as the registry has it. */
export type RegisteredAgent = {
  readonly id: string;
  readonly name: string;
  readonly liveness: "alive" | "unreachable" | "dead";
  readonly activity?: {
    readonly state: "thinking" | "reading" | "writing" | "waiting" | "idle";
    readonly note?: string;
    readonly sinceMs: number;
    /** When it last said so; absent: when it began. */
    readonly reportedAtMs?: number;
  };
  readonly heardAtMs: number;
  /** When the daemon restarted, if it has not heard the agent since. */
  readonly unheardSinceMs?: number;
  /** When the registry began to listen. An agent does not count as silent for time before that. */
  readonly listeningSinceMs?: number;
  readonly diedAtMs?: number;
  /** The question that it asked first of those that are open. */
  readonly question?: { readonly id: string; readonly prompt: string; readonly askedAtMs: number };
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
  /** The program's one server, if this may be only a window to a session in it: records name the server. */
  readonly server?: ProcessKey;
  /** What the program itself keeps on disk about this process. */
  readonly told?: Told;
  /** Where it keeps its records, as far as its environment says. */
  readonly env?: Readonly<Record<string, string>>;
};

/** A program's own word on what it does. */
export type Told = {
  readonly state: Known["state"];
  readonly word: string;
  readonly sinceMs?: number;
  readonly session: string;
  readonly workspace?: string;
  readonly path: string;
};

/** A number alone is given again; with the time of its start it is one process for ever. */
export type ProcessKey = { readonly pid: number; readonly startedAtMs: number };
