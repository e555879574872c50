/** What a reader makes of a record at a moment. The first rule that fits decides. */
import type { DerivedState, StatusRecord } from "./record.ts";
import { parseTimestamp } from "./timestamp.ts";

export type Moment = { readonly nowMs: number; readonly staleAfterMs: number };

export function deriveState(record: StatusRecord, { nowMs, staleAfterMs }: Moment): DerivedState {
  const { runtime, task } = record;
  // Whatever it says: nobody has said it for too long. What comes from the future is never too old.
  if (nowMs - updatedAtMs(record) > staleAfterMs) return "stale";
  const hasTask = task !== undefined && task !== null && Object.keys(task).length > 0;
  if (runtime.lifecycle === "running" && !hasTask) return "idle";
  return task?.state ?? runtime.lifecycle;
}

/** NaN for a record that was never validated and has no such time. */
export function updatedAtMs(record: StatusRecord): number {
  return parseTimestamp(record.runtime.updated_at).atMs ?? Number.NaN;
}

export function lastActivityAtMs(record: StatusRecord): number | undefined {
  const { last_activity_at: text } = record.runtime;
  return text === undefined ? undefined : parseTimestamp(text).atMs;
}
