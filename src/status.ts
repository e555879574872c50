/**
 * Saying what your agent is doing, and reading what others say, by files that any program can read and
 * without a daemon: `tipstaff/status`.
 */
import { randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import {
  type Change,
  idleClock,
  readDirectoryInTurns,
  reportOf,
  requireSafeId,
  StatusError,
  type StatusReport,
  StatusWriter,
  statusDirectory,
  statusPath,
  type Warning,
  watchDirectory,
} from "./status-files/index.ts";
import {
  limits,
  type Moment,
  type StatusUpdate,
  sanitizeAgentId,
  sortForDisplay,
  tmuxOf,
} from "./wire/status-file/index.ts";

export type { StatusErrorCode } from "./status-files/index.ts";
export {
  type DerivedState,
  /** What others say is data; so it can be shown on a terminal. */
  escapeForTerminal,
  type Json,
  type JsonObject,
  type Lifecycle,
  type StatusRecord,
  type TaskState,
  type TaskUpdate,
} from "./wire/status-file/index.ts";
export { StatusError, type StatusReport, type StatusUpdate, type Warning };

export type StatusOptions = {
  /** Of the program, for people: `my-agent`. */
  readonly name: string;
  /** Of this running instance; made from the name and chance, if absent. */
  readonly id?: string | undefined;
  /** Absent: `AGENT_STATUS_DIR`, or `agent-status` in the user's state directory. */
  readonly directory?: string | undefined;
  /** Absent: the working directory. */
  readonly workspace?: string | undefined;
  /** What the session is for: the first prompt, say. Shortened to 120 characters on one line. */
  readonly goal?: string | undefined;
  readonly a2a?: StatusUpdate["a2a"];
  /** Whatever else readers of yours should find. */
  readonly xMeta?: StatusUpdate["xMeta"];
};

/** Nothing that it is told throws: what goes wrong with the file is no business of the agent's work. */
export interface Status extends AsyncDisposable {
  readonly id: string;
  readonly path: string;
  /** Why the file does not say what was said last (disk full, directory gone); undefined while it does. */
  readonly problem: Error | undefined;
  /** At work. Without a summary the last one stays. */
  working(summary?: string): void;
  /** For a person: they have to answer, allow or decide something. */
  waiting(question?: string): void;
  /** Nothing to do. The goal stays. */
  idle(): void;
  update(update: StatusUpdate): void;
  /** Resolves when all that was said is on disk, or `problem` says why it is not. */
  flush(): Promise<void>;
}

/**
 * Writes a status file, and says every 20 s that the agent is still there. The file is gone when the block
 * ends, and when the process does: by itself, by an error, or by a signal that nobody else listens to.
 * Rejects if the file cannot be written, with `unsafe_id` if the id cannot be its name, or with `id_taken` if
 * this process has one of that id.
 */
export async function openStatus(options: StatusOptions): Promise<Status> {
  const { name, id = newId(name), workspace, goal, a2a, xMeta } = options;
  const { TMUX, TMUX_PANE } = process.env;
  const directory = resolve(directoryOf(options));
  requireSafeId(id);
  const path = statusPath(realPath(directory), id);
  if (taken.has(path)) throw new StatusError("id_taken", [`${id} is open in this process already`]);
  taken.add(path);
  try {
    const writer = await StatusWriter.open({
      id,
      name,
      directory,
      workspace: workspace === undefined ? workingDirectory() : resolve(workspace),
      goal,
      a2a,
      xMeta,
      pid: process.pid,
      tmux: tmuxOf({ TMUX, TMUX_PANE }),
      clock: idleClock,
      onEnd: () => {
        taken.delete(path);
        forget(writer);
      },
    });
    keep(writer);
    return writer;
  } catch (error) {
    taken.delete(path);
    throw error;
  }
}

export type ListOptions = {
  /** Absent: `AGENT_STATUS_DIR`, or `agent-status` in the user's state directory. */
  readonly directory?: string | undefined;
  /** A record that was not written for longer is stale. A minute, if absent. */
  readonly staleAfterMs?: number | undefined;
  /** A file that is longer is not read, and warned of. 1 MiB, if absent: raise it for what writes more. */
  readonly fileBytesMax?: number | undefined;
};

/**
 * Every agent that has a status file, those that are at something first. Files that are no record are left
 * out; `onWarning` is told of them.
 */
export async function* list(
  options: ListOptions & { readonly onWarning?: (warning: Warning) => void } = {},
): AsyncGenerator<StatusReport, void, undefined> {
  const { staleAfterMs = limits.staleAfterMs, onWarning = () => {} } = options;
  const { files, warnings } = await readDirectoryInTurns(directoryOf(options), options);
  for (const warning of warnings) onWarning(warning);
  const moment = { nowMs: Date.now(), staleAfterMs };
  yield* inOrder(files.map((file) => reportOf(file, moment)));
}

export type StatusChange =
  /** Once, at the beginning: every agent there is. */
  | {
      readonly type: "snapshot";
      readonly agents: readonly StatusReport[];
      readonly warnings: readonly Warning[];
    }
  /** An agent is new, or says something else than before. */
  | { readonly type: "upsert"; readonly agent: StatusReport }
  /** Its file is gone, or is no record any more. */
  | { readonly type: "remove"; readonly id: string; readonly path: string }
  /** It became stale: nothing was heard of it for too long. */
  | { readonly type: "state"; readonly agent: StatusReport }
  /** All that is wrong in the directory now, whenever that is something else than before. */
  | { readonly type: "warnings"; readonly warnings: readonly Warning[] };

/**
 * What changes, within a tenth of a second, for as long as the loop runs or until the signal. The directory
 * may come later, or go and come again. Whoever is slow misses steps on the way, never the last state.
 */
export async function* watch(
  options: ListOptions & { readonly signal?: AbortSignal | undefined } = {},
): AsyncGenerator<StatusChange, void, undefined> {
  const { staleAfterMs = limits.staleAfterMs, signal, fileBytesMax } = options;
  const watching = { signal, staleAfterMs, fileBytesMax };
  for await (const change of watchDirectory(directoryOf(options), watching)) {
    const moment = { nowMs: Date.now(), staleAfterMs };
    yield translate(change, moment);
  }
}

function translate(change: Change, moment: Moment): StatusChange {
  switch (change.type) {
    case "snapshot": {
      const agents = inOrder(change.files.map((file) => reportOf(file, moment)));
      return { type: "snapshot", agents, warnings: change.warnings };
    }
    case "upsert":
    case "state": {
      // As it was judged, and not a moment later.
      const agent = { ...reportOf(change.file, moment), state: change.file.state };
      return { type: change.type, agent };
    }
    case "remove":
      return { type: "remove", id: change.agentId, path: change.path };
    case "warnings":
      return change;
  }
}

function inOrder(agents: readonly StatusReport[]): readonly StatusReport[] {
  return sortForDisplay(agents, ({ id, state, updatedAtMs, lastActivityAtMs = updatedAtMs }) => ({
    agentId: id,
    state,
    activeAtMs: lastActivityAtMs,
  }));
}

function directoryOf({ directory }: { readonly directory?: string | undefined }): string {
  return directory ?? statusDirectory({ env: process.env });
}

/** Where links lead, as far as there is something. A directory that is not there yet is below one that is. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(realPath(above), basename(path));
  }
}

/** Undefined where it was removed under our feet. */
function workingDirectory(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

/** Long enough for a person to recognize, short enough for a name of a file. */
const idPrefixMax = 100;

function newId(name: string): string {
  return `${sanitizeAgentId(name.slice(0, idPrefixMax), "agent")}-${randomUUID()}`;
}

/** Paths, without links on the way, that a writer of this process has, or is about to have. */
const taken = new Set<string>();
const open = new Set<StatusWriter>();

/** All of them share a few listeners, which are there while they are. */
function keep(writer: StatusWriter): void {
  if (open.size === 0) listen();
  open.add(writer);
}

function forget(writer: StatusWriter): void {
  open.delete(writer);
  if (open.size === 0) unlisten();
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

function listen(): void {
  process.on("exit", removeAll);
  // A program that listens itself ends in its own way, and others count who listens to find out whether
  // they are alone. So we listen only where nobody does, and make room for whoever comes.
  for (const signal of signals) {
    if (process.listenerCount(signal) === 0) process.on(signal, die);
  }
  process.on("newListener", makeRoom);
}

function unlisten(): void {
  process.off("exit", removeAll);
  process.off("newListener", makeRoom);
  for (const signal of signals) process.off(signal, die);
}

function makeRoom(event: string | symbol, listener: unknown): void {
  const signal = signals.find((name) => name === event);
  // Not before the other listens: Node stops hearing a signal when the last one leaves.
  if (signal && listener !== die) process.nextTick(() => process.off(signal, die));
}

/** As if we had not listened, but for the files. */
function die(signal: NodeJS.Signals): void {
  removeAll();
  unlisten();
  process.kill(process.pid, signal);
}

function removeAll(): void {
  for (const writer of open) writer.removeNow();
}
