/**
 * What a careful writer keeps to, beyond what readers accept: no nulls, RFC 3339, tmux keys in pairs, an id
 * that can name a file, an absolute workspace. Only said of a record that is valid otherwise.
 */
import { isSafeAgentId } from "./ids.ts";
import { isPane } from "./tmux.ts";
import { type Fields, isObject, validate } from "./validate.ts";

export type About = {
  /** Of the file it was in, without directories. */
  readonly fileName?: string;
};

export function validateStrict(value: unknown, about: About = {}): readonly string[] {
  const errors = validate(value);
  if (errors.length > 0 || !isObject(value)) return errors;
  return [
    ...judgeId(value, about),
    ...judgeTimes(value),
    ...judgeWorkspace(partOf(value, "runtime")),
    ...judgeNulls(value),
    ...judgeTmux(partOf(value, "x_meta")),
  ];
}

function judgeId({ agent_id: id }: Fields, { fileName }: About): readonly string[] {
  const errors: string[] = [];
  if (typeof id === "string" && !isSafeAgentId(id)) {
    errors.push("agent_id must be non-empty and filename-safe");
  }
  if (fileName !== undefined && fileName !== `${id}.json`) {
    errors.push(`agent_id must be the name of the file: ${id}`);
  }
  return errors;
}

const times = [
  ["runtime", "updated_at"],
  ["runtime", "last_activity_at"],
  ["goal", "updated_at"],
  ["task", "status_timestamp"],
] as const;

/** The reader has seen to it that there is such a day and such an hour; what is left is the form. */
const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:[0-5]\d)$/;

function judgeTimes(record: Fields): readonly string[] {
  return times.flatMap(([part, key]) => {
    const text = partOf(record, part)[key];
    if (typeof text !== "string" || rfc3339.test(text)) return [];
    return [`${part}.${key}: timestamp must be RFC 3339: ${text}`];
  });
}

function judgeWorkspace({ workspace }: Fields): readonly string[] {
  if (typeof workspace !== "string" || isAbsolute(workspace)) return [];
  return [`runtime.workspace must be absolute: ${workspace}`];
}

function isAbsolute(path: string): boolean {
  return /^(?:\/|[A-Za-z]:[\\/]|\\\\)/.test(path);
}

function judgeNulls(record: Fields): readonly string[] {
  const errors = ["goal", "task", "a2a", "x_meta"]
    .filter((name) => record[name] === null)
    .map((name) => `${name} must be object`);
  const hasNullState = partOf(record, "task")["state"] === null;
  return hasNullState ? [...errors, "task.state must be non-empty string"] : errors;
}

function judgeTmux({ tmux_socket: socket, tmux_pane: pane }: Fields): readonly string[] {
  const errors: string[] = [];
  if ((socket === undefined) !== (pane === undefined)) {
    errors.push("x_meta.tmux_socket and x_meta.tmux_pane must come together");
  }
  if (socket !== undefined && typeof socket !== "string") {
    errors.push("x_meta.tmux_socket must be string");
  }
  if (pane !== undefined && !(typeof pane === "string" && isPane(pane))) {
    errors.push("x_meta.tmux_pane must be % and digits");
  }
  return errors;
}

function partOf(record: Fields, name: string): Fields {
  const part = record[name];
  return isObject(part) ? part : {};
}
