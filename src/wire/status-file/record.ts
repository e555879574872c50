/**
 * The record of `agent-status/v1alpha1`, named as on disk. Fields that we do not know pass through at every
 * level. `null` in place of a part is something that readers meet and writers never write.
 */
export const schemaVersion = "agent-status/v1alpha1";

/** What the process says of itself. */
export const lifecycles = ["running", "stopped", "unknown"] as const;
export type Lifecycle = (typeof lifecycles)[number];

/** How far the current turn is, in the words of A2A 0.3. */
export const taskStates = [
  "submitted",
  "working",
  "input-required",
  "auth-required",
  "completed",
  "canceled",
  "rejected",
  "failed",
  "unknown",
] as const;
export type TaskState = (typeof taskStates)[number];

/** What a reader makes of a record. `idle` and `stale` are never written. */
export type RecordState = TaskState | "idle" | "stale" | "running" | "stopped";
export const recordStates: readonly RecordState[] = [
  ...taskStates,
  "idle",
  "stale",
  "running",
  "stopped",
];

/** `missing` is a file that was expected and is not there. */
export type DerivedState = RecordState | "missing";

export const goalSource = "initial-prompt";

/** In `x_meta`: which of our programs wrote the file, and for whom. True of its writer, and of nobody after it. */
export const markKey = "tipstaff";

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

export type Runtime = {
  readonly lifecycle: Lifecycle;
  /** The last heartbeat or change: all that staleness goes by. */
  readonly updated_at: string;
  /** The last real work, which a heartbeat is not. */
  readonly last_activity_at?: string;
  readonly pid?: number;
  readonly workspace?: string;
};

/** What the session is for. It outlives its tasks. */
export type Goal = {
  readonly summary: string;
  readonly updated_at: string;
  readonly source: typeof goalSource;
};

/** The current turn, or work that is really queued. */
export type Task = {
  readonly id?: string;
  readonly context_id?: string;
  readonly state?: TaskState | null;
  readonly summary?: string;
  /** Since when it is in this state. */
  readonly status_timestamp?: string;
};

export type A2aLinks = {
  readonly agent_card_url?: string;
  readonly service_url?: string;
};

export type StatusRecord = {
  readonly schema_version: typeof schemaVersion;
  readonly agent_id: string;
  readonly agent_name: string;
  readonly runtime: Runtime;
  readonly goal?: Goal | null;
  readonly task?: Task | null;
  readonly a2a?: A2aLinks | null;
  readonly x_meta?: JsonObject | null;
};

/** A record and the file that it stands in. */
export type StatusFile = { readonly path: string; readonly record: StatusRecord };

/** What a writer of ours noted in a record for others of ours. */
export function marksOf({ x_meta: meta }: StatusRecord): Readonly<Record<string, unknown>> {
  const ours = meta?.[markKey];
  return typeof ours === "object" && ours !== null ? { ...ours } : {};
}

/** Whether a daemon wrote it for an agent that registered: whoever asks that daemon knows already. */
export function isMirrored(record: StatusRecord): boolean {
  return marksOf(record)["mirror"] === true;
}
