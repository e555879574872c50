/**
 * Whether a value is a record, and if not, everything that is wrong with it, in the order and the words
 * that other validators of these files use. Unknown fields are no error, at any level.
 */
import { exactDigits, isExactInteger } from "./numbers.ts";
import { goalSource, lifecycles, schemaVersion, taskStates } from "./record.ts";
import { parseTimestamp } from "./timestamp.ts";

export type Fields = { readonly [key: string]: unknown };

export function validate(value: unknown): readonly string[] {
  if (!isObject(value)) return ["payload must be object"];
  const errors: string[] = [];
  if (requireText(errors, value, "schema_version", "schema_version")) {
    const version = value["schema_version"];
    if (version !== schemaVersion) errors.push(`unsupported schema_version: ${version}`);
  }
  requireText(errors, value, "agent_id", "agent_id");
  requireText(errors, value, "agent_name", "agent_name");
  const { runtime } = value;
  if (isObject(runtime)) judgeRuntime(errors, runtime);
  else errors.push("missing or invalid object: runtime");
  judgePart(errors, value, "goal", judgeGoal);
  judgePart(errors, value, "task", judgeTask);
  judgePart(errors, value, "a2a", judgeLinks);
  judgePart(errors, value, "x_meta", () => {});
  return errors;
}

export function isObject(value: unknown): value is Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return exactDigits(value) === undefined;
}

function judgeRuntime(errors: string[], runtime: Fields): void {
  if (requireText(errors, runtime, "lifecycle", "runtime.lifecycle")) {
    const { lifecycle } = runtime;
    if (!isOneOf(lifecycles, lifecycle)) errors.push(`invalid runtime.lifecycle: ${lifecycle}`);
  }
  if (requireText(errors, runtime, "updated_at", "runtime.updated_at")) {
    // The one timestamp whose error does not say where it is.
    const problem = timestampProblem(runtime["updated_at"]);
    if (problem !== undefined) errors.push(problem);
  }
  judgeTimestamp(errors, runtime, "last_activity_at", "runtime.last_activity_at");
  const { pid } = runtime;
  if (pid !== undefined && !isInteger(pid)) errors.push("runtime.pid must be integer");
  judgeText(errors, runtime, "workspace", "runtime.workspace");
}

function judgeGoal(errors: string[], goal: Fields): void {
  requireText(errors, goal, "summary", "goal.summary");
  const hasTime = requireText(errors, goal, "updated_at", "goal.updated_at");
  const hasSource = requireText(errors, goal, "source", "goal.source");
  if (hasTime) judgeTimestamp(errors, goal, "updated_at", "goal.updated_at");
  const { source } = goal;
  if (hasSource && source !== goalSource) errors.push(`invalid goal.source: ${source}`);
}

function judgeTask(errors: string[], task: Fields): void {
  const { state } = task;
  if (state !== undefined && state !== null) {
    if (typeof state !== "string" || state === "") {
      errors.push("task.state must be non-empty string");
    } else if (!isOneOf(taskStates, state)) {
      errors.push(`invalid task.state: ${state}`);
    }
  }
  judgeText(errors, task, "id", "task.id");
  judgeText(errors, task, "context_id", "task.context_id");
  judgeText(errors, task, "summary", "task.summary");
  judgeTimestamp(errors, task, "status_timestamp", "task.status_timestamp");
}

function judgeLinks(errors: string[], links: Fields): void {
  judgeText(errors, links, "agent_card_url", "a2a.agent_card_url");
  judgeText(errors, links, "service_url", "a2a.service_url");
}

/** Null reads as if the part were not there. */
function judgePart(
  errors: string[],
  record: Fields,
  name: string,
  judge: (errors: string[], part: Fields) => void,
): void {
  const part = record[name];
  if (part === undefined || part === null) return;
  if (isObject(part)) judge(errors, part);
  else errors.push(`${name} must be object`);
}

/** Whether it is a text with something in it; otherwise that has been said. */
function requireText(errors: string[], fields: Fields, key: string, path: string): boolean {
  const value = fields[key];
  if (value === undefined || value === null) {
    errors.push(`missing required field: ${path}`);
    return false;
  }
  if (typeof value === "string" && value !== "") return true;
  errors.push(`field must be non-empty string: ${path}`);
  return false;
}

function judgeText(errors: string[], fields: Fields, key: string, path: string): void {
  const value = fields[key];
  if (value !== undefined && typeof value !== "string") errors.push(`${path} must be string`);
}

function judgeTimestamp(errors: string[], fields: Fields, key: string, path: string): void {
  const value = fields[key];
  const problem = value === undefined ? undefined : timestampProblem(value);
  if (problem !== undefined) errors.push(`${path}: ${problem}`);
}

function timestampProblem(value: unknown): string | undefined {
  if (typeof value !== "string") return "timestamp must be non-empty string";
  return parseTimestamp(value).error;
}

/** A number beyond 2^53 is one too, though JavaScript has no exact value for it. */
function isInteger(value: unknown): boolean {
  return Number.isInteger(value) || isExactInteger(value);
}

function isOneOf(allowed: readonly string[], value: unknown): boolean {
  return typeof value === "string" && allowed.includes(value);
}
