/** One record, written: agent-status, section 8.1. */
import { readStatusFile, statusPath, writeStatusFile } from "../status-files/index.ts";
import { print } from "../terminal/index.ts";
import {
  isSafeAgentId,
  printTimestamp,
  readRecord,
  type StatusRecord,
  schemaVersion,
} from "../wire/status-file/index.ts";
import { Failure, reasonOf } from "./failure.ts";
import { printDocument } from "./json.ts";
import type { Given } from "./parse.ts";
import { directoryOf, nowMs, printedPath, readOptions } from "./surroundings.ts";
import { resolveWorkspace } from "./workspace.ts";

/** What fails first is told first: metadata, then the record, then whether its id can name a file. */
export function emit(given: Given): number {
  const meta = readMeta(given.texts("meta"));
  const directory = directoryOf(given);
  const agentId = given.text("agent-id") ?? "";
  const path = statusPath(directory, agentId);
  const existing =
    given.toggle("merge") && isSafeAgentId(agentId)
      ? readStatusFile(path, readOptions()).record
      : undefined;
  const record = toRecord(build(given, meta, existing));
  if (!isSafeAgentId(record.agent_id)) {
    throw new Failure("agent_id must be non-empty and filename-safe");
  }
  write(directory, record, path);
  if (given.toggle("json")) printDocument({ schema: "agent-status-emit/v1", path, record });
  else print(`${printedPath(path)}\n`);
  return 0;
}

type Fields = { readonly [key: string]: unknown };

function readMeta(texts: readonly string[]): Fields {
  const entries = texts.map((text): readonly [string, string] => {
    const at = text.indexOf("=");
    if (at === -1) throw new Failure(`invalid meta, expected key=value: ${text}`);
    if (at === 0) throw new Failure(`invalid meta key: ${text}`);
    return [text.slice(0, at), text.slice(at + 1)];
  });
  return Object.fromEntries(entries);
}

/** Without an existing record, nothing but what was given. */
function build(given: Given, meta: Fields, existing: StatusRecord | undefined): Fields {
  const now = printTimestamp(nowMs());
  const updatedAt = given.text("updated-at") || now;
  const { goal, task, a2a, x_meta: xMeta, runtime, ...rest } = existing ?? {};
  return {
    ...rest,
    schema_version: schemaVersion,
    agent_id: given.text("agent-id"),
    agent_name: given.text("agent-name") ?? existing?.agent_name,
    runtime: buildRuntime(given, runtime ?? {}, updatedAt),
    goal: part(given.toggle("clear-goal") ? {} : (goal ?? {}), {
      summary: given.text("goal-summary"),
      updated_at: given.text("goal-updated-at"),
      source: given.text("goal-source"),
    }),
    task: buildTask(given, given.toggle("clear-task") ? {} : (task ?? {}), updatedAt),
    a2a: part(a2a ?? {}, {
      agent_card_url: given.text("agent-card-url"),
      service_url: given.text("service-url"),
    }),
    x_meta: part(xMeta ?? {}, meta),
  };
}

function buildRuntime(given: Given, kept: Fields, updatedAt: string): Fields {
  const { lifecycle, pid, workspace, last_activity_at: lastActivityAt, ...rest } = kept;
  const where = given.text("workspace");
  return {
    ...rest,
    lifecycle: given.text("lifecycle") ?? lifecycle,
    updated_at: updatedAt,
    last_activity_at: (given.text("last-activity-at") ?? lastActivityAt) || undefined,
    pid: given.number("pid") ?? pid,
    workspace: where === undefined ? workspace : where === "" ? undefined : resolveWorkspace(where),
  };
}

function buildTask(given: Given, kept: Fields, updatedAt: string): Fields | undefined {
  const state = given.text("task-state");
  const { state: stateBefore, ...rest } = kept;
  // A state that begins now did not begin when the one before it did.
  const isNewState = state !== undefined && state !== stateBefore && "status_timestamp" in rest;
  return part(rest, {
    id: given.text("task-id"),
    context_id: given.text("context-id"),
    state: state ?? (stateBefore === null ? undefined : stateBefore),
    summary: given.text("task-summary"),
    status_timestamp: given.text("task-status-timestamp") ?? (isNewState ? updatedAt : undefined),
  });
}

/** What is given takes the place of what was kept. Absent if nothing is left. [AS-19] */
function part(kept: Fields, given: Fields): Fields | undefined {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  const whole = { ...kept, ...Object.fromEntries(entries) };
  return Object.keys(whole).length === 0 ? undefined : whole;
}

/** Through the reader: what it takes, every reader takes. */
function toRecord(value: Fields): StatusRecord {
  const { record, problem } = readRecord(Buffer.from(JSON.stringify(value)));
  if (record) return record;
  throw new Failure(...problem.errors);
}

function write(directory: string, record: StatusRecord, path: string): void {
  try {
    writeStatusFile(directory, record);
  } catch (error) {
    throw new Failure(`cannot write ${path}: ${reasonOf(error)}`);
  }
}
