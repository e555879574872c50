/** The tables of the database, entries as rows of them, and what SQLite says when it cannot read them. */
import type { DatabaseSync } from "node:sqlite";
import type { Sealed } from "./entry.ts";
import { LogError } from "./log.ts";

/** The format of the database. It is increased when an older release could not read what this one writes. */
export const format = 1;

export const schema: string = `
  create table entries (
    sequence integer primary key,
    bus integer not null,
    type text not null,
    version integer not null,
    atMs integer not null,
    actor text not null,
    stream text,
    body text not null,
    previous text not null,
    checksum text not null
  ) strict;
  create table about (key text primary key, value text not null) strict;
  create table damaged (foundAtMs integer, sequence integer, entry text) strict;
  pragma user_version = ${format};
`;

/** Only of entries that have one: an index of every row made a million appends eleven times slower. */
export const streamIndex =
  "create index if not exists entries_by_stream on entries (stream, sequence) where stream is not null";

/** The format of a database; 0 if it has none yet. Refuses with `too_new`. */
export function readFormat(database: DatabaseSync, path: string): number {
  const found = Number(database.prepare("pragma user_version").get()?.["user_version"]);
  if (found <= format) return found;
  const message = `${path} has format ${found}; this release reads up to ${format}. Install the newer release`;
  throw new LogError("too_new", message);
}

/** In the order in which `toSealed` expects them; select them with `setReturnArrays(true)`. */
export const columns =
  "sequence, bus, type, version, atMs, actor, stream, body, previous, checksum";

type Values = [
  number,
  number,
  string,
  number,
  number,
  string,
  string | null,
  string,
  string,
  string,
];

/** Where a row becomes a value. A column of another type than ours fails the checksum. */
export function toSealed(row: unknown): Sealed {
  const [sequence, bus, type, version, atMs, actor, stream, body, previous, checksum] =
    row as Values;
  return { sequence, bus, type, version, atMs, actor, stream, body, previous, checksum };
}

/** Whether the file, or a number in it, is not as SQLite or we ever wrote it. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, errcode } = error as { readonly code?: string; readonly errcode?: number };
  const primary = (errcode ?? 0) & 0xff;
  return (
    code === "ERR_OUT_OF_RANGE" ||
    primary === sqlite.corrupt ||
    primary === sqlite.notDatabase ||
    errcode === sqlite.shortRead
  );
}

/**
 * Whether the system does not let us do what we need to read or write a file, whatever is in the file: permissions, a
 * read-only or full disk. Even to read, SQLite writes to the file `-shm`.
 */
export function isDenied(error: unknown): boolean {
  const { code = "", errcode = 0 } = error as { readonly code?: string; readonly errcode?: number };
  const isSqlite = denials.includes(errcode) || denials.includes(errcode & 0xff);
  return isSqlite || ["EACCES", "EPERM", "EROFS", "ENOSPC"].includes(code);
}

/** Whether another process has the lock. */
export function isBusy(error: unknown): boolean {
  const { errcode = 0 } = error as { readonly errcode?: number };
  return (errcode & 0xff) === sqlite.busy;
}

/** SQLite's own result codes; the extended ones have more in their upper bits. `shortRead`: the file ends within a page. */
const sqlite = { busy: 5, corrupt: 11, notDatabase: 26, shortRead: 522 } as const;

/** No permission, read-only, full, cannot open; extended: cannot write, cannot open, extend or map the file `-shm`. */
const denials: readonly number[] = [3, 8, 13, 14, 778, 4_618, 4_874, 5_386];
