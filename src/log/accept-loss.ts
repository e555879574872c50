/**
 * Makes a damaged log usable again, at the price of entries that cannot be read any more. Only a person decides that:
 * `tipstaff doctor --accept-loss`. What was given up is recorded in the table `damaged`, and the write-ahead log and
 * the mark are copied aside before anything is changed.
 *
 * - Damage that an intact snapshot stands for costs history only: the log is cut behind it, as it would be by age.
 * - Damage after the newest intact snapshot costs everything from there on: later entries depend on what is lost.
 *
 * The log gets another id, because sequences are given out again: whoever follows it must start anew.
 */
import { randomUUID } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type CutMark, nothingCut, parseMark, printMark } from "./cut-mark.ts";
import { findMark, markName } from "./durable-mark.ts";
import { isIntact, type Sealed } from "./entry.ts";
import { databaseName, examine, hasDatabase, walName } from "./examine.ts";
import { LogError } from "./log.ts";
import { columns, toSealed } from "./rows.ts";
import { SnapshotFiles } from "./snapshot-files.ts";
import { lockDirectory } from "./sqlite.ts";

/** A range of sequences, both ends included. */
export type Range = { readonly first: number; readonly last: number };

export type AcceptedLoss = {
  /** Entries whose effect is lost. */
  readonly lost?: Range;
  /** Entries whose effect is in a snapshot: only their history is lost. */
  readonly history?: Range;
  /** The directory with the copies of the damaged files. */
  readonly copies: string;
};

/** Undefined if nothing is damaged. Rejects with `in_use`, or with `damaged` if only a backup can help. */
export async function acceptLoss(
  directory: string,
  nowMs: number,
): Promise<AcceptedLoss | undefined> {
  using _lock = lockDirectory(directory);
  const path = join(directory, databaseName);
  if (!hasDatabase(directory)) throw beyondRepair(path, "is missing or empty");
  const { damage } = examine(directory);
  const snapshots = new SnapshotFiles(join(directory, "snapshots"));
  const newest = await snapshots.newestIntact();
  try {
    using database = new DatabaseSync(path);
    const plan = makePlan(database, directory, newest);
    if (!plan.lost && !plan.history && !damage) return undefined;
    const copies = copyAside(directory, nowMs);
    // Done before the log changes: a snapshot with lost entries must never be used once new entries have their
    // sequences.
    for (const sequence of await snapshots.sequences()) {
      if (plan.lost && sequence >= plan.lost.first) await snapshots.setAside(sequence);
    }
    carryOut(database, plan, nowMs);
    rmSync(join(directory, markName), { force: true });
    const { lost, history } = plan;
    return { copies, ...(lost && { lost }), ...(history && { history }) };
  } catch (cause) {
    if (cause instanceof LogError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw beyondRepair(path, `cannot be read: ${why}`, cause);
  }
}

type Plan = {
  readonly lost?: Range;
  readonly history?: Range;
  /** The end of the part that is cut, which the first remaining entry follows. */
  readonly cut: CutMark;
};

/** `snapshot` is the sequence of the newest intact one. */
function makePlan(database: DatabaseSync, directory: string, snapshot: number): Plan {
  const cut = readCut(database);
  const { bad, checksumAfter, last } = scan(database, cut);
  const found = findMark(directory);
  const marked = found.state === "intact" ? found.mark.sequence : 0;
  if (marked > last) bad.push({ first: last + 1, last: marked });
  const firstLost = bad.find((range) => range.last > snapshot);
  const lost = firstLost && {
    first: Math.max(firstLost.first, snapshot + 1),
    last: Math.max(last, marked),
  };
  const within = bad.findLast(({ first }) => first <= snapshot);
  if (!within) return { cut, ...(lost && { lost }) };
  // If no intact entry follows, no entry remains, and the next one may follow any checksum.
  const checksum = checksumAfter.get(within.last);
  const end = checksum === undefined || within.last > snapshot ? snapshot : within.last;
  return {
    cut: { ...cut, sequence: end, checksum: end === within.last ? (checksum ?? "") : "" },
    history: { first: cut.sequence + 1, last: end },
    ...(lost && { lost }),
  };
}

type Scan = {
  /** The ranges of entries that cannot be read, in order. */
  readonly bad: Range[];
  /** By the last entry of a bad range: its checksum, as the intact entry after it has it. */
  readonly checksumAfter: ReadonlyMap<number, string>;
  readonly last: number;
};

function scan(database: DatabaseSync, cut: CutMark): Scan {
  const bad: Range[] = [];
  const checksumAfter = new Map<number, string>();
  const select = database.prepare(`select ${columns} from entries order by sequence`);
  select.setReturnArrays(true);
  let last = cut.sequence;
  /** Undefined after an entry that cannot be read. */
  let checksum: string | undefined = cut.checksum;
  for (const row of select.iterate()) {
    const sealed: Sealed = toSealed(row);
    const { sequence, previous } = sealed;
    if (sequence > last + 1) {
      bad.push({ first: last + 1, last: sequence - 1 });
      checksum = undefined;
    }
    if (!isIntact(sealed) || (checksum !== undefined && checksum !== previous)) {
      bad.push({ first: sequence, last: sequence });
      checksum = undefined;
    } else {
      if (checksum === undefined) checksumAfter.set(sequence - 1, previous);
      checksum = sealed.checksum;
    }
    last = sequence;
  }
  return { bad, checksumAfter, last };
}

function readCut(database: DatabaseSync): CutMark {
  const about = database.prepare("select value from about where key = ?");
  const text = about.get("cut")?.["value"];
  if (text === undefined) return nothingCut;
  return parseMark(String(about.get("id")?.["value"]), String(text)) ?? nothingCut;
}

function carryOut(database: DatabaseSync, { lost, history, cut }: Plan, nowMs: number): void {
  database.exec("pragma synchronous = full; begin immediate");
  const record = database.prepare("insert into damaged values (?, ?, ?)");
  const select = database.prepare(`select ${columns} from entries where sequence = ?`);
  select.setReturnArrays(true);
  const forget = database.prepare("delete from entries where sequence between ? and ?");
  if (history) {
    record.run(nowMs, history.last, JSON.stringify({ history }));
    forget.run(history.first, history.last);
  }
  if (lost) {
    for (let sequence = lost.first; sequence <= lost.last; sequence++) {
      const row = select.get(sequence);
      record.run(nowMs, sequence, row === undefined ? null : JSON.stringify(toSealed(row)));
    }
    forget.run(lost.first, lost.last);
  }
  const id = randomUUID();
  const put = database.prepare(
    "insert into about values (?, ?) on conflict do update set value = excluded.value",
  );
  put.run("id", id);
  if (cut.sequence > 0) put.run("cut", printMark(id, cut));
  // The mark is written anew when the log is opened next.
  database.exec("delete from about where key = 'mark'");
  database.exec("commit; reindex; pragma wal_checkpoint(truncate)");
}

function copyAside(directory: string, nowMs: number): string {
  const copies = join(directory, `damaged-${new Date(nowMs).toISOString().replaceAll(":", "-")}`);
  mkdirSync(copies, { mode: 0o700 });
  for (const name of [walName, markName]) {
    const path = join(directory, name);
    if (existsSync(path)) copyFileSync(path, join(copies, name));
  }
  return copies;
}

function beyondRepair(path: string, problem: string, cause?: unknown): LogError {
  const message = `${path} ${problem}; restore the directory from a backup`;
  return new LogError("damaged", message, { cause });
}
