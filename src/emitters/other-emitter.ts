/**
 * AS-94: whether something else writes a file for a session, and is alive. A process id alone proves nothing,
 * because containers that share a directory have the same ones.
 */
import { readFirst } from "../status-files/index.ts";
import { deriveState, type StatusRecord, limits as wireLimits } from "../wire/status-file/index.ts";
import { textAt } from "./fields.ts";
import { limits } from "./limits.ts";

export type Told = {
  /** What the host is called, and under which key its own fields are in `x_meta`. */
  readonly name: string;
  readonly metaKey: string;
  readonly session: string;
  /** Where two processes with one session are two hosts. */
  readonly pid?: number;
};

export type Looking = {
  readonly nowMs: number;
  readonly isOurs: (agentId: string) => boolean;
};

export function hasOtherEmitter(
  records: readonly StatusRecord[],
  told: Told,
  { nowMs, isOurs }: Looking,
): boolean {
  return records.some((record) => {
    const { agent_id: id, runtime } = record;
    if (isOurs(id) || sessionIn(record, told) !== told.session) return false;
    const { lifecycle, pid = told.pid } = runtime;
    const state = deriveState(record, { nowMs, staleAfterMs: wireLimits.staleAfterMs });
    const isThere = lifecycle !== "stopped" && state !== "stale";
    return isThere && (told.pid === undefined || pid === told.pid);
  });
}

/** Not all of a crowded directory: this runs inside agents and the daemon, and nothing else runs meanwhile. */
export function recordsIn(directory: string): readonly StatusRecord[] {
  return readFirst(directory, limits.recordsAtOnceMax).files.map(({ record }) => record);
}

function sessionIn(record: StatusRecord, { name, metaKey }: Told): string | undefined {
  const { agent_name: own, x_meta, task } = record;
  const context = own === name ? task?.context_id : undefined;
  return textAt(x_meta?.[metaKey], "session_id") ?? context;
}
