/** A record in the words of this library: what an agent says of itself, and what that means now. */
import {
  type DerivedState,
  deriveState,
  type JsonObject,
  type Lifecycle,
  lastActivityAtMs,
  type Moment,
  parseTimestamp,
  type StatusFile,
  type StatusRecord,
  type TaskState,
  updatedAtMs,
} from "../wire/status-file/index.ts";

/** Text in it came from a file that anyone may have written: data, and never to be printed as it is. */
export type StatusReport = {
  readonly id: string;
  readonly name: string;
  readonly state: DerivedState;
  readonly lifecycle: Lifecycle;
  /** The last heartbeat or change. */
  readonly updatedAtMs: number;
  /** The last real work. */
  readonly lastActivityAtMs?: number;
  readonly pid?: number;
  readonly workspace?: string;
  readonly goal?: { readonly summary: string; readonly updatedAtMs: number };
  readonly task?: {
    readonly id?: string;
    readonly contextId?: string;
    readonly state?: TaskState;
    readonly summary?: string;
    /** Since when it is in this state. */
    readonly sinceMs?: number;
  };
  readonly a2a?: { readonly agentCardUrl?: string; readonly serviceUrl?: string };
  readonly xMeta?: JsonObject;
  readonly path: string;
  /** As it is on disk, with what this library does not know. */
  readonly record: StatusRecord;
};

export function reportOf({ path, record }: StatusFile, moment: Moment): StatusReport {
  const { runtime, goal, task, a2a, x_meta: xMeta } = record;
  const activeAtMs = lastActivityAtMs(record);
  return {
    id: record.agent_id,
    name: record.agent_name,
    state: deriveState(record, moment),
    lifecycle: runtime.lifecycle,
    updatedAtMs: updatedAtMs(record),
    ...(activeAtMs === undefined ? {} : { lastActivityAtMs: activeAtMs }),
    ...(runtime.pid === undefined ? {} : { pid: runtime.pid }),
    ...(runtime.workspace === undefined ? {} : { workspace: runtime.workspace }),
    ...(goal ? { goal: goalOf(goal) } : {}),
    ...(task ? { task: taskOf(task) } : {}),
    ...(a2a ? { a2a: linksOf(a2a) } : {}),
    ...(xMeta ? { xMeta } : {}),
    path,
    record,
  };
}

type Part<Name extends "goal" | "task" | "a2a"> = NonNullable<StatusRecord[Name]>;

function goalOf({ summary, updated_at }: Part<"goal">): NonNullable<StatusReport["goal"]> {
  return { summary, updatedAtMs: timeOf(updated_at) };
}

function taskOf(task: Part<"task">): NonNullable<StatusReport["task"]> {
  const { id, context_id: contextId, state, summary, status_timestamp: since } = task;
  return {
    ...(id === undefined ? {} : { id }),
    ...(contextId === undefined ? {} : { contextId }),
    ...(state ? { state } : {}),
    ...(summary === undefined ? {} : { summary }),
    ...(since === undefined ? {} : { sinceMs: timeOf(since) }),
  };
}

function linksOf(a2a: Part<"a2a">): NonNullable<StatusReport["a2a"]> {
  const { agent_card_url: agentCardUrl, service_url: serviceUrl } = a2a;
  return {
    ...(agentCardUrl === undefined ? {} : { agentCardUrl }),
    ...(serviceUrl === undefined ? {} : { serviceUrl }),
  };
}

/** Every time in a record was looked at when it was read. */
function timeOf(text: string): number {
  return parseTimestamp(text).atMs ?? Number.NaN;
}
