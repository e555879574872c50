/**
 * The module that Pi loads: the factory is its default export. Beside it are its pieces by the names of
 * agent-status, section 9.5.
 */
import { resolve } from "node:path";
import type { Env } from "../status-files/index.ts";
import {
  type Goal,
  printTimestamp,
  type Runtime,
  type StatusRecord,
  sanitizeAgentId as sanitize,
  schemaVersion,
  type Task,
  tmuxOf,
} from "../wire/status-file/index.ts";
import { statusPathFor } from "./parts.ts";
import { openExtension, sessionKeyOf } from "./pi/extension.ts";
import { agentName } from "./pi/state.ts";
import { surroundingsOf } from "./surroundings.ts";

export { buildTempPath, getStatusDir, writeStatusFile } from "./parts.ts";
export { newAgentId as createSessionAgentId } from "./pi/extension.ts";
export { summarizePrompt } from "./pi/signals.ts";
export { schemaVersion as SCHEMA_VERSION, tmuxOf as parseTmuxEnvironment };

export default function extension(pi: unknown): void {
  openExtension(pi, surroundingsOf(process));
}

export const buildStatusPath: (id: string, env: Env, home?: string) => string =
  statusPathFor(agentName);

export function sanitizeAgentId(text: string): string {
  return sanitize(text, agentName);
}

export function nowUtc(): string {
  return printTimestamp(Date.now());
}

export function getSessionKey(context: unknown): string {
  return sessionKeyOf(context, surroundingsOf(process));
}

export function buildBaseRecord(about: {
  readonly agentId: string;
  readonly workspace?: string;
  readonly pid?: number;
  readonly now?: string;
}): StatusRecord {
  const { agentId, workspace, pid = process.pid, now = nowUtc() } = about;
  return {
    schema_version: schemaVersion,
    agent_id: agentId,
    agent_name: agentName,
    runtime: {
      lifecycle: "running",
      updated_at: now,
      pid,
      ...(workspace === undefined ? {} : { workspace: resolve(workspace) }),
    },
  };
}

export function updateRuntime(
  record: StatusRecord,
  change: Partial<Runtime>,
  now: string = nowUtc(),
): StatusRecord {
  return { ...record, runtime: { ...record.runtime, ...change, updated_at: now } };
}

/** Undefined takes it away. */
export function withGoal(record: StatusRecord, goal: Goal | undefined): StatusRecord {
  const { goal: _, ...rest } = record;
  return goal ? { ...rest, goal } : rest;
}

/** Undefined takes it away. */
export function withTask(record: StatusRecord, task: Task | undefined): StatusRecord {
  const { task: _, ...rest } = record;
  return task ? { ...rest, task } : rest;
}
