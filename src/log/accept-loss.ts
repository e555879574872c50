/**
 * Makes a damaged log usable again, at the price of entries that cannot be read any more. Only a person decides that:
 * `tipstaff doctor --accept-loss`.
 *
 * - Damage that an intact snapshot stands for costs history only: the log is cut behind it, as it would be by age.
 * - Damage after the newest intact snapshot costs everything from there on: later entries depend on what is lost.
 *
 * The entries that remain are copied to a new database. The damaged files are only read, and are moved aside at the end,
 * so nothing in them is lost. The new database is called `accepted-loss.db` as soon as it is complete. From then on a start is
 * refused until it has replaced `log.db`; if the command is interrupted, running it again finishes that.
 *
 * The log gets another id, because sequences are given out again: whoever follows it must start anew.
 */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { type CutMark, nothingCut, parseMark, printMark } from "./cut-mark.ts";
import { findMark, markName } from "./durable-mark.ts";
import { isIntact, noChecksum, type Sealed } from "./entry.ts";
import {
  checkStructure,
  type Damage,
  databaseName,
  examine,
  hasDatabase,
  readEntry,
  refusal,
  repairedName,
  walName,
} from "./examine.ts";
import { LogError } from "./log.ts";
import { columns, isDenied, readFormat, schema, streamIndex, toSealed } from "./rows.ts";
import { SnapshotFiles } from "./snapshot-files.ts";
import { lockDirectory } from "./sqlite.ts";

/** A range of sequences, both ends included. */
export type Range = { readonly first: number; readonly last: number };

export type Loss = {
  /** Entries whose effect is lost. */
  readonly lost?: Range;
  /**
   * Every entry after this one is lost, and how many there were is not known: the write-ahead log is damaged, and
   * `durable.mark` does not say how far it reached.
   */
  readonly lostAfter?: number;
  /** Entries whose effect is in a snapshot: only their history is lost. */
  readonly history?: Range;
};

export type AcceptedLoss = Loss & {
  /** The directory to which the damaged files were moved. */
  readonly originals: string;
};

/**
 * Undefined if nothing is damaged. Rejects with `in_use` or `too_new`, with `damaged` if only a backup can help, and with
 * `cannot_write` if there is no room for the new database.
 */
export async function acceptLoss(
  directory: string,
  nowMs: number,
): Promise<AcceptedLoss | undefined> {
  using _lock = lockDirectory(directory);
  try {
    const isInterrupted = existsSync(join(directory, repairedName));
    if (!isInterrupted && !(await repair(directory, nowMs))) return undefined;
    return replace(directory);
  } catch (cause) {
    if (cause instanceof LogError) throw cause;
    const advice = "solve that, and run tipstaff doctor --accept-loss again";
    const message = `cannot repair the log in ${directory}: ${messageOf(cause)}; ${advice}`;
    throw new LogError("cannot_write", message, { cause });
  }
}

/** Writes `accepted-loss.db`. Returns whether it is needed. */
async function repair(directory: string, nowMs: number): Promise<boolean> {
  const path = join(directory, databaseName);
  if (!hasDatabase(directory)) throw refusal({ file: path, problem: "is missing or empty" });
  const { damage } = examine(directory);
  const snapshots = new SnapshotFiles(join(directory, "snapshots"));
  const snapshot = await snapshots.newestIntact();
  const unfinished = join(directory, "unfinished.db");
  {
    using database = new DatabaseSync(path, { readOnly: true });
    const plan = planOf(database, { directory, damage, snapshot });
    const isDamaged = damage !== undefined || checkStructure(database) !== undefined;
    if (!isDamaged && Object.keys(plan.loss).length === 0) return false;
    const { last } = plan;
    if (last === 0) {
      const problem = "has lost its first entries, and no snapshot that has them is intact";
      throw refusal({ file: path, problem });
    }
    build(database, plan, { path: unfinished, nowMs });
    // A snapshot with lost entries must never be used once new entries have their sequences.
    for (const sequence of await snapshots.sequences()) {
      if (sequence > last) await snapshots.setAside(sequence);
    }
  }
  sync(unfinished);
  renameSync(unfinished, join(directory, repairedName));
  sync(directory);
  return true;
}

type Plan = {
  readonly loss: Loss;
  /** The end of the part that is cut, which the first remaining entry follows. */
  readonly cut: CutMark;
  /** The last entry that remains, or whose effect is in the snapshot. */
  readonly last: number;
  /** The entries that remain: those after the snapshot, and those before it. */
  readonly kept: readonly Way[];
};

/** `snapshot` is the sequence of the newest intact one. */
function planOf(
  database: DatabaseSync,
  {
    directory,
    damage,
    snapshot,
  }: {
    readonly directory: string;
    readonly damage: Damage | undefined;
    readonly snapshot: number;
  },
): Plan {
  const { id, cut } = readAbout(database, join(directory, databaseName));
  const isAfterCut = ({ sequence, previous }: Sealed): boolean =>
    sequence !== cut.sequence + 1 || previous === cut.checksum;
  const forwards: Way = {
    rows: `where sequence > ${snapshot} order by sequence`,
    first: snapshot + 1,
    step: 1,
    follows: (entry, before) =>
      isAfterCut(entry) && (before === undefined || entry.previous === before.checksum),
  };
  const later = walk(database, forwards);
  const backwards: Way = {
    rows: `where sequence <= ${snapshot} and sequence > ${cut.sequence} order by sequence desc`,
    first: snapshot,
    step: -1,
    follows: (entry, after = later.nearest) =>
      isAfterCut(entry) && (after === undefined || entry.checksum === after.previous),
  };
  const earlier = walk(database, backwards);
  const last = later.farthest?.sequence ?? snapshot;
  const found = findMark(directory);
  // The mark of another log says nothing about this one.
  const marked = found.state === "intact" && found.mark.logId === id ? found.mark.sequence : 0;
  const end = Math.max(marked, later.isBroken ? Math.max(last + 1, lastIntact(database)) : last);
  const first = earlier.farthest ?? later.nearest;
  const cutNow = {
    sequence: (first?.sequence ?? snapshot + 1) - 1,
    atMs: first?.atMs ?? cut.atMs,
    // If no entry remains, the next one may follow any checksum.
    checksum: first?.previous ?? noChecksum,
  };
  const isWalDamaged = damage?.file === join(directory, walName);
  return {
    last,
    kept: [forwards, backwards],
    cut: cutNow.sequence === cut.sequence ? cut : cutNow,
    loss: {
      ...(end > last && { lost: { first: last + 1, last: end } }),
      ...(end === last && isWalDamaged && { lostAfter: last }),
      ...(cutNow.sequence > cut.sequence && {
        history: { first: cut.sequence + 1, last: cutNow.sequence },
      }),
    },
  };
}

function readAbout(
  database: DatabaseSync,
  path: string,
): { readonly id: string; readonly cut: CutMark } {
  try {
    readFormat(database, path);
    const about = database.prepare("select value from about where key = ?");
    const id = String(about.get("id")?.["value"]);
    const cut = about.get("cut")?.["value"];
    return { id, cut: (cut === undefined ? undefined : parseMark(id, String(cut))) ?? nothingCut };
  } catch (cause) {
    if (cause instanceof LogError || isDenied(cause)) throw cause;
    throw refusal({ file: path, problem: `cannot be read: ${messageOf(cause)}` }, cause);
  }
}

/** Entries from one on, forwards or backwards. */
type Way = {
  /** The rows to read, as the end of a statement. */
  readonly rows: string;
  readonly first: number;
  readonly step: 1 | -1;
  readonly follows: (entry: Sealed, before: Sealed | undefined) => boolean;
};

type Walk = {
  /** The first and the last entry of the walk; undefined if there is none. */
  readonly nearest: Sealed | undefined;
  readonly farthest: Sealed | undefined;
  /** Whether it ended at an entry that is damaged, in the wrong place, or cannot be read. */
  readonly isBroken: boolean;
};

/** Reads entries as long as each is intact and next to the one before. */
function walk(
  database: DatabaseSync,
  { rows, first, step, follows }: Way,
  onEntry?: (entry: Sealed) => void,
): Walk {
  let nearest: Sealed | undefined;
  let farthest: Sealed | undefined;
  let expected = first;
  for (const entry of read(database, rows)) {
    const isNext = entry?.sequence === expected && isIntact(entry) && follows(entry, farthest);
    if (!isNext) return { nearest, farthest, isBroken: true };
    onEntry?.(entry);
    nearest ??= entry;
    farthest = entry;
    expected += step;
  }
  return { nearest, farthest, isBroken: false };
}

/** Ends with undefined where the database cannot be read: its pages are damaged, or blocks of the disk. */
function* read(database: DatabaseSync, rows: string): Generator<Sealed | undefined> {
  try {
    const select = database.prepare(`select ${columns} from entries ${rows}`);
    select.setReturnArrays(true);
    for (const row of select.iterate()) yield toSealed(row);
  } catch (cause) {
    if (isDenied(cause)) throw cause;
    yield undefined;
  }
}

/** The sequence of the last entry, if that can be read; else 0. */
function lastIntact(database: DatabaseSync): number {
  try {
    const last = readEntry(database, "order by sequence desc limit 1");
    return last && isIntact(last) ? last.sequence : 0;
  } catch (cause) {
    if (isDenied(cause)) throw cause;
    return 0;
  }
}

/** Copies what remains to a new database. Leaves nothing behind if that fails. */
function build(
  source: DatabaseSync,
  { kept, cut, last, loss }: Plan,
  { path, nowMs }: { readonly path: string; readonly nowMs: number },
): void {
  rmSync(path, { force: true });
  try {
    // SQLite gives its other files the same mode.
    closeSync(openSync(path, "wx", 0o600));
    using target = new DatabaseSync(path);
    target.exec(`pragma journal_mode = off; pragma synchronous = off; begin; ${schema}`);
    const values = columns.replaceAll(/\w+/g, ":$&");
    const insert = target.prepare(`insert into entries (${columns}) values (${values})`);
    let left = last - cut.sequence;
    const copy = (entry: Sealed): void => {
      insert.run(entry);
      left -= 1;
    };
    for (const way of kept) walk(source, way, copy);
    if (left !== 0) throw new Error("the disk returned other entries when they were read again");
    const record = target.prepare("insert into damaged values (:foundAtMs, :sequence, :entry)");
    for (const earlier of readDamaged(source)) record.run(earlier);
    // Sequence 0 belongs to no entry.
    record.run({ foundAtMs: nowMs, sequence: 0, entry: JSON.stringify({ accepted: loss }) });
    const id = randomUUID();
    const put = target.prepare("insert into about values (?, ?)");
    put.run("id", id);
    if (cut.sequence > 0) put.run("cut", printMark(id, cut));
    target.exec(`${streamIndex}; commit`);
  } catch (cause) {
    rmSync(path, { force: true });
    throw cause;
  }
}

/** The records of earlier losses, if they can be read: they are only shown. */
function readDamaged(database: DatabaseSync): Record<string, SQLOutputValue>[] {
  try {
    return database.prepare("select foundAtMs, sequence, entry from damaged").all();
  } catch {
    return [];
  }
}

/** Puts `accepted-loss.db` in the place of the damaged files, and moves those aside. Each step can be repeated. */
function replace(directory: string): AcceptedLoss {
  const repaired = join(directory, repairedName);
  const { acceptedAtMs, loss } = readRecord(repaired);
  const time = new Date(acceptedAtMs).toISOString().replaceAll(":", "-");
  const originals = join(directory, `damaged-${time}`);
  if (!existsSync(originals)) mkdirSync(originals, { mode: 0o700 });
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(databaseName) && name !== markName) continue;
    renameSync(join(directory, name), join(originals, name));
  }
  sync(originals);
  sync(directory);
  renameSync(repaired, join(directory, databaseName));
  sync(directory);
  return { ...loss, originals };
}

function readRecord(path: string): { readonly acceptedAtMs: number; readonly loss: Loss } {
  using database = new DatabaseSync(path, { readOnly: true });
  const record = database.prepare("select * from damaged order by rowid desc limit 1").get();
  const { accepted } = JSON.parse(String(record?.["entry"]));
  return { acceptedAtMs: Number(record?.["foundAtMs"]), loss: accepted };
}

/** A file or a directory. */
function sync(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
