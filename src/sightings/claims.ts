/** What each source says of an agent, in our words. */
import {
  type DerivedState,
  deriveState,
  isPane,
  type Json,
  lastActivityAtMs,
  parseTimestamp,
  type StatusRecord,
  updatedAtMs,
} from "../wire/status-file/index.ts";
import { limits } from "./limits.ts";
import type { FoundProcess, Known, RegisteredAgent, StatusFile, Tmux } from "./types.ts";

/** One source's word on one agent, with all it tells beside it. */
export type Claim = {
  readonly id: string;
  readonly name: string;
  readonly known: Known;
  /** Absent: the source names no machine. */
  readonly host?: string;
  readonly pid?: number;
  readonly startedAtMs?: number;
  /** Two that are named differently are two, whatever else they share. */
  readonly session?: string;
  readonly progressAtMs?: number;
  /** The registry could not see progress before this time. */
  readonly listeningSinceMs?: number;
  readonly workspace?: string;
  readonly doing?: string;
  readonly task?: string;
  readonly goal?: string;
  readonly tmux?: Tmux;
  readonly questionId?: string;
};

const stateOf: Readonly<Record<DerivedState, Known["state"]>> = {
  "input-required": "waiting",
  "auth-required": "waiting",
  submitted: "working",
  working: "working",
  running: "working",
  failed: "failed",
  // A person said no: that is an answer, and no failure.
  rejected: "idle",
  completed: "idle",
  canceled: "idle",
  idle: "idle",
  stale: "lost",
  missing: "lost",
  stopped: "stopped",
  unknown: "unknown",
};

export function claimOfFile(
  { path, record }: StatusFile,
  options: { readonly nowMs: number; readonly staleAfterMs: number; readonly hostName: string },
): Claim & { readonly known: { readonly source: "hook" | "file" } } {
  const { runtime, task, goal } = record;
  const word = deriveState(record, options);
  // Who said that it stopped neither works nor waits, and is not lost when its record grows old.
  const state = runtime.lifecycle === "stopped" ? "stopped" : stateOf[word];
  const heardAtMs = updatedAtMs(record);
  const changedAtMs = timeOf(task?.status_timestamp);
  const activeAtMs = lastActivityAtMs(record);
  const isOver = state === "lost" || state === "stopped";
  const sinceMs = isOver ? heardAtMs : (changedAtMs ?? (state === "idle" ? activeAtMs : undefined));
  const progressAtMs = latest(changedAtMs, activeAtMs);
  const session = sessionOf(record);
  const tmux = tmuxIn(record);
  const doing = (state === "waiting" && askedIn(record)) || task?.summary;
  return {
    id: brief(record.agent_id),
    name: brief(record.agent_name),
    host: options.hostName,
    known: {
      source: isFromHook(record) ? "hook" : "file",
      state,
      word,
      ...(sinceMs === undefined ? {} : { sinceMs }),
      heardAtMs,
      path,
    },
    ...(runtime.pid === undefined ? {} : { pid: runtime.pid }),
    ...(session === undefined ? {} : { session }),
    ...(progressAtMs === undefined ? {} : { progressAtMs }),
    ...(runtime.workspace ? { workspace: brief(runtime.workspace) } : {}),
    ...(doing ? { doing: brief(doing) } : {}),
    ...(task?.summary ? { task: brief(task.summary) } : {}),
    ...(goal?.summary ? { goal: brief(goal.summary) } : {}),
    ...(tmux ? { tmux } : {}),
  };
}

export function claimOfRegistered(agent: RegisteredAgent): Claim {
  const { activity, holds = [] } = agent;
  const question = agent.liveness === "alive" ? agent.question : undefined;
  const doing = question?.prompt ?? (activity?.note || holds.join(" · "));
  const progressAtMs = activity?.reportedAtMs ?? activity?.sinceMs;
  return {
    id: agent.id,
    name: brief(agent.name),
    known: {
      source: "registry",
      ...stateOfRegistered(agent),
      heardAtMs: agent.heardAtMs,
      ...(agent.unheardSinceMs === undefined ? {} : { unheardSinceMs: agent.unheardSinceMs }),
    },
    ...(agent.host === undefined ? {} : { host: agent.host }),
    ...(agent.pid === undefined ? {} : { pid: agent.pid }),
    ...(agent.startedAtMs === undefined ? {} : { startedAtMs: agent.startedAtMs }),
    ...(progressAtMs === undefined ? {} : { progressAtMs }),
    ...(agent.listeningSinceMs === undefined ? {} : { listeningSinceMs: agent.listeningSinceMs }),
    ...(agent.workspace ? { workspace: agent.workspace } : {}),
    ...(doing ? { doing: brief(doing) } : {}),
    ...(holds[0] === undefined ? {} : { task: holds[0] }),
    ...(question ? { questionId: question.id } : {}),
  };
}

function stateOfRegistered({
  liveness,
  activity,
  heardAtMs,
  unheardSinceMs,
  diedAtMs = heardAtMs,
  holds = [],
  question,
}: RegisteredAgent): Pick<Known, "state" | "word" | "sinceMs"> {
  switch (liveness) {
    case "dead":
      return { state: "stopped", word: "dead", sinceMs: diedAtMs };
    case "unreachable":
      return { state: "lost", word: "unreachable", sinceMs: unheardSinceMs ?? heardAtMs };
    case "alive":
      break;
  }
  // An agent with an open question is waiting, whatever else it reports.
  if (question) return { state: "waiting", word: "asking", sinceMs: question.askedAtMs };
  // Who holds a task works on it, whether it says so or not; who holds none and says nothing may do anything.
  if (!activity) return { state: holds.length > 0 ? "working" : "unknown", word: "alive" };
  const { state: word, sinceMs } = activity;
  return { state: word === "waiting" || word === "idle" ? word : "working", word, sinceMs };
}

/** A process says only that it is there, unless its program keeps a word on it. */
export function claimOfProcess(
  { pid, startedAtMs, program, workspace, tmux, told }: FoundProcess,
  { nowMs, hostName }: { readonly nowMs: number; readonly hostName: string },
): Claim {
  const since = told ? told.sinceMs : startedAtMs;
  return {
    // The id of a record is the name of a file, in which there is no slash.
    id: `process/${pid}`,
    name: program,
    host: hostName,
    pid,
    startedAtMs,
    known: {
      source: "process",
      state: told?.state ?? "unknown",
      word: told?.word ?? "running",
      ...(since === undefined ? {} : { sinceMs: since }),
      heardAtMs: nowMs,
      ...(told ? { path: told.path } : {}),
    },
    ...(told ? { session: told.session } : {}),
    ...(workspace === undefined ? {} : { workspace }),
    ...(tmux ? { tmux } : {}),
  };
}

/** A record may be a megabyte; what is shown, and handed to other programs, is not. */
function brief(text: string): string {
  return text.length <= limits.textLengthMax
    ? text
    : text.slice(0, limits.textLengthMax).toWellFormed();
}

/** What a person is asked, where the host's emitter tells it apart from what the agent was told to do. */
function askedIn({ x_meta: meta }: StatusRecord): string | undefined {
  for (const mark of hostMarks) {
    const asks = memberOf(meta?.[mark], "asks");
    if (typeof asks === "string") return asks;
  }
  return undefined;
}

/** Where hosts leave their mark in a record that one of their hooks or plugins wrote. */
const hostMarks = ["claude_code", "codex", "opencode"];

function isFromHook({ agent_id: id, agent_name: name, x_meta: meta }: StatusRecord): boolean {
  if (hostMarks.some((mark) => memberOf(meta?.[mark], "session_id") !== undefined)) return true;
  if (memberOf(meta?.["tipstaff"], "source") === "hook") return true;
  return name === "pi" && id.startsWith("pi-");
}

/** What its program calls the conversation; for Pi, the file it is kept in. */
export function sessionOf({ task, x_meta: meta }: StatusRecord): string | undefined {
  for (const mark of hostMarks) {
    const session = memberOf(meta?.[mark], "session_id");
    if (typeof session === "string") return session;
  }
  return task?.context_id;
}

function tmuxIn({ x_meta: meta }: StatusRecord): Tmux | undefined {
  const socket = meta?.["tmux_socket"];
  const pane = meta?.["tmux_pane"];
  if (typeof socket !== "string" || socket === "" || typeof pane !== "string") return undefined;
  // A path that is cut is another path.
  if (socket.length + pane.length > limits.textLengthMax) return undefined;
  return isPane(pane) ? { socket, pane } : undefined;
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return Object.entries(value).find(([key]) => key === name)?.[1];
}

function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const read = parseTimestamp(text);
  return "atMs" in read ? read.atMs : undefined;
}

function latest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
