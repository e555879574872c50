/** Entries as rows of the database, and what SQLite says when it cannot read them. */
import type { Sealed } from "./entry.ts";

/** The format of the database. It is increased when an older release could not read what this one writes. */
export const format = 1;

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
    code === "ERR_OUT_OF_RANGE" || primary === sqlite.corrupt || primary === sqlite.notDatabase
  );
}

/** Whether another process has the lock. */
export function isBusy(error: unknown): boolean {
  const { errcode = 0 } = error as { readonly errcode?: number };
  return (errcode & 0xff) === sqlite.busy;
}

/** SQLite's own result codes; the extended ones have more in their upper bits. */
const sqlite = { busy: 5, corrupt: 11, notDatabase: 26 } as const;
