/**
 * The files in which the published SDKs keep what sessions were told (ARCP-194): one SQLite table each, told apart by
 * its columns. They are only read. What should never have been stored is not printed either (ARCP-195).
 */
import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { LogError } from "../../log/index.ts";
import { printable } from "../../terminal/index.ts";

export type Replayed = { readonly text: string; readonly type: string; readonly jobId: string };

/** By the column that holds the frame. */
const layouts: Readonly<Record<string, string>> = {
  // The TypeScript SDK stores frames without a number, too.
  raw: "event_seq is not null and",
  envelope: "",
};

/** In the order of their numbers, as they were stored. Throws a `LogError` if it is no such file. */
export function* replayFile(
  path: string,
  session: string,
  afterEventSeq: number,
): Generator<Replayed> {
  if (!existsSync(path)) throw unusable(`there is nothing at ${printable(path)}`);
  if (statSync(path).isDirectory()) throw unusable(`there is no log in ${printable(path)}`);
  using database = open(path);
  const column = columnsOf(database, path).find((name) => Object.hasOwn(layouts, name));
  const condition = column === undefined ? undefined : layouts[column];
  if (condition === undefined) throw notOurs(path);
  const select = database.prepare(
    `select ${column} as frame, type, job_id from events
      where ${condition} session_id = ? and event_seq > ? order by event_seq`,
  );
  for (const { frame, type, job_id } of select.iterate(session, afterEventSeq)) {
    yield { text: redact(String(frame)), type: String(type), jobId: String(job_id ?? "") };
  }
}

function open(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { readOnly: true });
  } catch (cause) {
    throw notOurs(path, cause);
  }
}

function columnsOf(database: DatabaseSync, path: string): readonly string[] {
  try {
    const columns = database.prepare("select name from pragma_table_info('events')").all();
    return columns.map(({ name }) => String(name));
  } catch (cause) {
    throw notOurs(path, cause);
  }
}

function notOurs(path: string, cause?: unknown): LogError {
  const why = cause instanceof Error ? ` (${cause.message})` : "";
  return unusable(`${printable(path)} is no log of an ARCP runtime${why}`);
}

function unusable(message: string): LogError {
  return new LogError("unusable", message);
}

/** Frames that hold nothing of the kind are printed as they are, to the byte. */
function redact(frame: string): string {
  if (!/"(?:resume_token|token|credentials|value)"/.test(frame)) return frame;
  try {
    return JSON.stringify(hide(JSON.parse(frame), ""));
  } catch {
    return frame;
  }
}

/** `within` is the name of what it is part of. */
function hide(value: unknown, within: string): unknown {
  if (Array.isArray(value)) return value.map((one) => hide(one, within));
  if (typeof value !== "object" || value === null) return value;
  const isRotation = "phase" in value && value.phase === "credential_rotated";
  const isSecret = (name: string): boolean =>
    name === "resume_token" ||
    (name === "token" && within === "auth") ||
    (name === "value" && (isRotation || within === "credentials"));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      isSecret(name) ? "[redacted]" : hide(inner, name),
    ]),
  );
}
