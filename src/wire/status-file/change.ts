/**
 * How a record comes to be, and what becomes of it as its agent speaks, values in and values out: who has the
 * file decides when (agent-status, AS-19 to AS-28).
 */
import { printRecord } from "./print.ts";
import { readRecord } from "./read.ts";
import {
  type A2aLinks,
  type Goal,
  goalSource,
  type JsonObject,
  markKey,
  type StatusRecord,
  schemaVersion,
  type Task,
  type TaskState,
} from "./record.ts";
import { summarize } from "./summary.ts";
import { printTimestamp } from "./timestamp.ts";
import type { Tmux } from "./tmux.ts";

export type Links = {
  readonly agentCardUrl?: string | undefined;
  readonly serviceUrl?: string | undefined;
};

export type TaskUpdate = {
  readonly id?: string | undefined;
  readonly contextId?: string | undefined;
  readonly state?: TaskState | undefined;
  /** Shortened to 120 characters on one line. */
  readonly summary?: string | undefined;
};

/** What is absent stays as it is; null takes it away. */
export type StatusUpdate = {
  readonly task?: TaskUpdate | null | undefined;
  /** What the session is for: shortened like a task's summary. */
  readonly goal?: string | null | undefined;
  readonly a2a?: Links | null | undefined;
  /** By key: undefined takes one away. */
  readonly xMeta?: { readonly [key: string]: JsonObject[string] | undefined } | null | undefined;
};

export type Beginning = Pick<StatusUpdate, "goal" | "a2a" | "xMeta"> & {
  readonly id: string;
  readonly name: string;
  /** Absolute. */
  readonly workspace: string | undefined;
  readonly pid: number;
  readonly tmux: Tmux | undefined;
};

/** What others have added to an older record of this id, and what it was for, goes on. */
export function beginRecord(
  { id, name, workspace, pid, tmux, goal, a2a, xMeta = {} }: Beginning,
  before: StatusRecord | undefined,
  nowMs: number,
): StatusRecord {
  const { last_activity_at: _, ...runtime } = before?.runtime ?? {};
  const start: StatusRecord = {
    ...before,
    schema_version: schemaVersion,
    agent_id: id,
    agent_name: name,
    runtime: {
      ...runtime,
      lifecycle: "running",
      updated_at: printTimestamp(nowMs),
      pid,
      ...(workspace === undefined ? {} : { workspace }),
    },
    task: null,
    x_meta: { ...without(before?.x_meta ?? {}, writersOwn), ...tmux },
  };
  const { runtime: opened } = start;
  return { ...changeRecord(start, { goal, a2a, xMeta }, nowMs), runtime: opened };
}

/** Throws if what is further said is no JSON. */
export function changeRecord(
  record: StatusRecord,
  { task, goal, a2a, xMeta }: StatusUpdate,
  nowMs: number,
): StatusRecord {
  const { task: oldTask, goal: oldGoal, a2a: oldLinks, x_meta: oldMeta, ...rest } = record;
  const now = printTimestamp(nowMs);
  const isActivity = task !== undefined || goal !== undefined;
  const newTask = task === undefined ? oldTask : task && taskOf(task, oldTask, now);
  const newGoal = goal === undefined ? oldGoal : goal && goalOf(goal, oldGoal, now);
  const newLinks = a2a === undefined ? oldLinks : a2a && linksOf(a2a);
  const newMeta = xMeta === undefined ? oldMeta : metaOf(xMeta, oldMeta ?? {});
  return {
    ...rest,
    ...(isActivity ? { runtime: { ...rest.runtime, last_activity_at: now } } : {}),
    ...(newTask && hasKeys(newTask) ? { task: newTask } : {}),
    ...(newGoal ? { goal: newGoal } : {}),
    ...(newLinks && hasKeys(newLinks) ? { a2a: newLinks } : {}),
    ...(newMeta && hasKeys(newMeta) ? { x_meta: newMeta } : {}),
  };
}

/**
 * Other programs may add to a record what its agent does not know. What is in the file and was not in what
 * was last written is theirs, and stays.
 */
export function adoptAdditions(
  ours: StatusRecord,
  { theirs, written }: { readonly theirs: StatusRecord; readonly written: StatusRecord },
): StatusRecord {
  const { task: _, x_meta: __, ...added } = additions(theirs, written);
  const known = [...Object.keys(written.x_meta ?? {}), ...writersOwn];
  // Whoever took all of it away meant theirs too.
  const isTakenAway = written.x_meta && !ours.x_meta;
  const meta = isTakenAway ? {} : { ...without(theirs.x_meta ?? {}, known), ...ours.x_meta };
  return {
    ...added,
    ...ours,
    runtime: { ...additions(theirs.runtime, written.runtime), ...ours.runtime },
    ...(ours.goal ? { goal: { ...additions(theirs.goal, written.goal), ...ours.goal } } : {}),
    ...(ours.task ? { task: { ...additions(theirs.task, written.task), ...ours.task } } : {}),
    ...(ours.a2a ? { a2a: { ...additions(theirs.a2a, written.a2a), ...ours.a2a } } : {}),
    ...(hasKeys(meta) ? { x_meta: meta } : {}),
  };
}

/**
 * A part that no reader would take is left out, and the rest stays: better an agent without its goal than no
 * agent.
 */
export function fitRecord(record: StatusRecord): {
  readonly record: StatusRecord;
  readonly errors: readonly string[];
} {
  const errors = problemsOf(record);
  if (errors.length === 0) return { record, errors };
  const { schema_version, agent_id, agent_name, runtime, ...parts } = record;
  const { lifecycle, updated_at, pid, ...more } = runtime;
  let fitting: StatusRecord = {
    schema_version,
    agent_id,
    agent_name,
    runtime: { lifecycle, updated_at, ...(pid === undefined ? {} : { pid }) },
  };
  for (const [name, value] of Object.entries(more)) {
    const larger = { ...fitting, runtime: { ...fitting.runtime, [name]: value } };
    if (problemsOf(larger).length === 0) fitting = larger;
  }
  for (const [name, value] of Object.entries(parts)) {
    const larger = { ...fitting, [name]: value };
    if (problemsOf(larger).length === 0) fitting = larger;
  }
  return { record: fitting, errors };
}

/** Where it runs is not for the caller to say: both keys are the writer's, or nobody's. */
const tmuxKeys: readonly string[] = ["tmux_socket", "tmux_pane"] satisfies (keyof Tmux)[];

/** What is true of the one who wrote it, and of nobody after it. */
const writersOwn: readonly string[] = [markKey, ...tmuxKeys];

function taskOf(update: TaskUpdate, before: Task | null | undefined, now: string): Task {
  const { state: oldState, summary: oldSummary, ...rest } = before ?? {};
  const state = update.state ?? oldState ?? undefined;
  const summary = update.summary === undefined ? oldSummary : summarize(update.summary);
  // A state begins once, however often it is said.
  const isNew = update.state !== undefined && update.state !== oldState;
  return {
    ...rest,
    ...(update.id === undefined ? {} : { id: update.id }),
    ...(update.contextId === undefined ? {} : { context_id: update.contextId }),
    ...(state === undefined ? {} : { state }),
    ...(summary ? { summary } : {}),
    ...(isNew ? { status_timestamp: now } : {}),
  };
}

function goalOf(text: string, before: Goal | null | undefined, now: string): Goal | undefined {
  const summary = summarize(text);
  if (summary === "") return undefined;
  if (before?.summary === summary) return before;
  return { summary, updated_at: now, source: goalSource };
}

function linksOf({ agentCardUrl, serviceUrl }: Links): A2aLinks {
  return {
    ...(agentCardUrl === undefined ? {} : { agent_card_url: agentCardUrl }),
    ...(serviceUrl === undefined ? {} : { service_url: serviceUrl }),
  };
}

function metaOf(xMeta: NonNullable<StatusUpdate["xMeta"]> | null, before: JsonObject): JsonObject {
  const said: JsonObject = JSON.parse(JSON.stringify(xMeta ?? {}));
  const kept = xMeta === null ? {} : without(before, Object.keys(xMeta));
  return { ...without({ ...kept, ...said }, tmuxKeys), ...only(before, tmuxKeys) };
}

/** Asks the reader itself. */
function problemsOf(record: StatusRecord): readonly string[] {
  try {
    return readRecord(encoder.encode(printRecord(record))).problem?.errors ?? [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

const encoder = new TextEncoder();

/** What is in a file and was not in what we wrote. */
function additions(theirs: object | null | undefined, written: object | null | undefined): Fields {
  return without({ ...theirs }, Object.keys(written ?? {}));
}

type Fields = { readonly [key: string]: unknown };

function without<Value>(
  fields: { readonly [key: string]: Value },
  names: readonly string[],
): { readonly [key: string]: Value } {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

function only<Value>(
  fields: { readonly [key: string]: Value },
  names: readonly string[],
): { readonly [key: string]: Value } {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
}

function hasKeys(value: object): boolean {
  return Object.keys(value).length > 0;
}
