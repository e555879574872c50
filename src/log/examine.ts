/**
 * Checks the files of a log before anything is written to them: whether every acknowledged entry is still there. The
 * database is opened read-only, because the last writer that closes a database deletes its write-ahead log, and with
 * it the entries that could still be recovered from a damaged one.
 */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type CutMark, nothingCut, parseMark } from "./cut-mark.ts";
import { type FoundMark, findMark, markName } from "./durable-mark.ts";
import { isIntact, type Sealed } from "./entry.ts";
import { limits } from "./limits.ts";
import { LogError } from "./log.ts";
import { columns, format, isDenied, toSealed } from "./rows.ts";
import { SnapshotFiles } from "./snapshot-files.ts";
import { inspectWal, type WalState } from "./wal.ts";

export const databaseName = "log.db";
export const walName = "log.db-wal";
/** What `acceptLoss` puts in the place of the database. It exists only while that is unfinished. */
export const repairedName = "accepted-loss.db";

export type Damage = {
  /** The file, by its path. */
  readonly file: string;
  /** What is wrong with it, as the end of a sentence that begins with the file. */
  readonly problem: string;
};

export type Examined = {
  readonly mark: FoundMark;
  /** The first damage that was found. Entries may be lost. */
  readonly damage?: Damage;
  /** Problems that cost no entry, as far as the daemon can tell. */
  readonly warnings: readonly string[];
};

/**
 * Whether there is a database that can be opened. SQLite takes a file of up to one byte for a new database and deletes
 * the write-ahead log beside it, even if the file is only read. That log may have the only copies of the entries.
 */
export function hasDatabase(directory: string): boolean {
  const file = statSync(join(directory, databaseName), { throwIfNoEntry: false });
  return file !== undefined && file.size > 1;
}

/** Refuses with `unusable` if the files may not be read. */
export function examine(directory: string): Examined {
  try {
    return examineFiles(directory);
  } catch (cause) {
    if (!isDenied(cause)) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    const advice =
      "SQLite must also be able to write to the directory; otherwise check a copy of it";
    const message = `cannot read ${join(directory, databaseName)}: ${why}; ${advice}`;
    throw new LogError("unusable", message, { cause });
  }
}

function examineFiles(directory: string): Examined {
  const mark = findMark(directory);
  const wal = inspectWal(join(directory, walName));
  const path = join(directory, databaseName);
  const warnings: string[] = [];
  const repaired = join(directory, repairedName);
  if (existsSync(repaired)) {
    const problem =
      "was left by tipstaff doctor --accept-loss, which was interrupted: run it again";
    return { mark, warnings, damage: { file: repaired, problem } };
  }
  if (!hasDatabase(directory)) {
    const snapshots = new SnapshotFiles(join(directory, "snapshots"));
    const isNew = mark.state === "absent" && wal.bytes === 0 && snapshots.bytes === 0;
    const damage = { file: path, problem: "is missing or empty, but a log was in this directory" };
    return { mark, warnings, ...(!isNew && { damage }) };
  }
  const blamedWal =
    wal.problem === undefined
      ? undefined
      : { file: join(directory, walName), problem: wal.problem };
  if (blamedWal && wal.commitsAfterProblem > limits.unsyncedCommitsMax) {
    return { mark, warnings, damage: blamedWal };
  }
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const version = Number(database.prepare("pragma user_version").get()?.["user_version"]);
    // The log of a later release, or one whose creation was interrupted: the caller deals with both.
    if (version > format || (version === 0 && mark.state === "absent")) return { mark, warnings };
    const kept = readKept(database, mark);
    const loss = findLoss(directory, kept, mark);
    if (loss) return { mark, warnings, damage: blame(directory, { database, wal, loss }) };
    if (wal.isUnfinished && !blamedWal) {
      const file = join(directory, walName);
      warnings.push(`${file} ends with an append that was never finished; it was dropped`);
    }
    if (mark.state !== "intact") {
      if (blamedWal) return { mark, warnings, damage: blamedWal };
      const isExpected = mark.state === "absent" && !kept.hadMark;
      const what = mark.state === "absent" ? "missing" : "damaged";
      const file = join(directory, markName);
      if (!isExpected) {
        warnings.push(
          `${file} is ${what}; the log itself is whole, and the file was written again`,
        );
      }
    } else {
      if (mark.isHalfDamaged) {
        warnings.push(`half of ${join(directory, markName)} is damaged, and was written again`);
      }
      if (blamedWal) {
        const unread = "; no acknowledged entry is missing";
        warnings.push(`${blamedWal.file} ${blamedWal.problem}${unread}`);
      }
    }
    return { mark, warnings };
  } catch (cause) {
    if (isDenied(cause)) throw cause;
    // Names the database file unless the write-ahead log is known to be damaged: SQLite reads both as one.
    const why = cause instanceof Error ? cause.message : String(cause);
    return { mark, warnings, damage: blamedWal ?? { file: path, problem: `is damaged: ${why}` } };
  } finally {
    database.close();
  }
}

/** The error for a damaged log. */
export function refusal({ file, problem }: Damage, cause?: unknown): LogError {
  const advice = "restore the directory from a backup, or see docs/damage.md";
  const message = `${file} ${problem}. Nothing was changed; ${advice}`;
  return new LogError("damaged", message, { cause });
}

type Kept = {
  readonly logId: string;
  /** The last entry, or the last one that was cut if there is none. */
  readonly lastSequence: number;
  readonly isLastIntact: boolean;
  readonly cut: CutMark;
  /** The checksum of the entry that the mark names, if that entry exists. */
  readonly markedChecksum: string | undefined;
  /** Whether a release that writes marks has opened this log before. */
  readonly hadMark: boolean;
};

function readKept(database: DatabaseSync, found: FoundMark): Kept {
  const about = database.prepare("select value from about where key = ?");
  const logId = String(about.get("id")?.["value"]);
  const cutText = about.get("cut")?.["value"];
  const cut = (cutText === undefined ? undefined : parseMark(logId, String(cutText))) ?? nothingCut;
  const last = readEntry(database, "order by sequence desc limit 1");
  const marked = found.state === "intact" ? found.mark.sequence : 0;
  return {
    logId,
    lastSequence: last?.sequence ?? cut.sequence,
    isLastIntact: last === undefined || isIntact(last),
    cut,
    markedChecksum: readEntry(database, `where sequence = ${marked}`)?.checksum,
    hadMark: about.get("mark") !== undefined,
  };
}

export function readEntry(database: DatabaseSync, which: string): Sealed | undefined {
  const select = database.prepare(`select ${columns} from entries ${which}`);
  select.setReturnArrays(true);
  const row = select.get();
  return row === undefined ? undefined : toSealed(row);
}

/** Finds acknowledged entries that the log lacks. */
function findLoss(directory: string, kept: Kept, found: FoundMark): Loss | undefined {
  const { lastSequence, cut } = kept;
  const path = join(directory, markName);
  if (found.state === "intact") {
    const { logId, sequence, checksum } = found.mark;
    if (logId !== kept.logId) {
      const problem = `is damaged or was replaced: its log id is not the one in ${path}`;
      return { problem, isMissing: false };
    }
    if (sequence > lastSequence) {
      const entries =
        sequence === lastSequence + 1
          ? `entry ${sequence} was acknowledged and is`
          : `entries ${lastSequence + 1} to ${sequence} were acknowledged and are`;
      return { problem: `is damaged or incomplete: ${entries} missing`, isMissing: true };
    }
    // After a power failure the mark may be so old that its entry has been cut since.
    const checksumNow = sequence === cut.sequence ? cut.checksum : kept.markedChecksum;
    if (sequence >= cut.sequence && checksumNow !== checksum) {
      const problem = `is damaged or was replaced: entry ${sequence} is not the one in ${path}`;
      return { problem, isMissing: false };
    }
  }
  if (kept.isLastIntact) return undefined;
  return { problem: `is damaged: entry ${lastSequence}, the last one`, isMissing: false };
}

type Loss = {
  readonly problem: string;
  /** Whether entries are missing at the end, which damage in either file can cause. */
  readonly isMissing: boolean;
};

/** Finds the file that has lost the entries. */
function blame(
  directory: string,
  {
    database,
    wal,
    loss,
  }: { readonly database: DatabaseSync; readonly wal: WalState; readonly loss: Loss },
): Damage {
  const isWal =
    wal.problem !== undefined || (loss.isMissing && checkStructure(database) === undefined);
  return { file: join(directory, isWal ? walName : databaseName), problem: loss.problem };
}

/** What SQLite finds wrong with the structure of the database; undefined if nothing. */
export function checkStructure(database: DatabaseSync): string | undefined {
  return findFaults(database)[0];
}

/** The first hundred faults that SQLite finds in the structure of the database, one line each. */
export function findFaults(database: DatabaseSync): readonly string[] {
  try {
    const rows = database.prepare("pragma integrity_check").all();
    const lines = rows.flatMap((row) => String(Object.values(row)[0]).split("\n"));
    return lines.filter((line) => line !== "ok" && !line.startsWith("***"));
  } catch (cause) {
    return [cause instanceof Error ? cause.message : String(cause)];
  }
}
