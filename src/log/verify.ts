/** Reads a whole log and says what is wrong with it. Works beside a running daemon. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isIntact, noChecksum, type Sealed } from "./entry.ts";
import { LogError } from "./log.ts";
import { columns, toSealed } from "./rows.ts";
import { SnapshotFiles } from "./snapshot-files.ts";

export type Verdict = {
  readonly entries: number;
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly snapshots: readonly { readonly sequence: number; readonly isIntact: boolean }[];
  /** One line each, the first hundred; empty if all is well. */
  readonly problems: readonly string[];
};

const problemsMax = 100;

/** Rejects with `unusable` if there is no log to read. */
export async function verifyLog(
  directory: string,
  onProgress: (done: number, total: number) => void,
): Promise<Verdict> {
  const path = join(directory, "log.db");
  if (!existsSync(path))
    throw new LogError("unusable", `there is no log in ${directory}; start one with tipstaff up`);
  const database = new DatabaseSync(path, { readOnly: true });
  const problems: string[] = [];
  const complain = (problem: string): void => {
    if (problems.length < problemsMax) problems.push(problem);
  };
  let before: Sealed | undefined;
  let first = 0;
  let done = 0;
  try {
    const total = Number(database.prepare("select count(*) as n from entries").get()?.["n"]);
    const select = database.prepare(`select ${columns} from entries order by sequence`);
    select.setReturnArrays(true);
    // A number that is too large for us would end the reading; as a bigint it only fails its checksum.
    select.setReadBigInts(true);
    for (const row of select.iterate()) {
      const entry = toSealed((row as unknown as unknown[]).map(withoutBigInt));
      first ||= entry.sequence;
      if (before && entry.sequence !== before.sequence + 1) {
        complain(`entries ${before.sequence + 1} to ${entry.sequence - 1} are missing`);
      } else if (
        entry.previous !== (before?.checksum ?? (first === 1 ? noChecksum : entry.previous))
      ) {
        complain(`entry ${entry.sequence} does not follow from the one before`);
      }
      if (!isIntact(entry)) complain(`entry ${entry.sequence} is damaged`);
      before = entry;
      done += 1;
      if (done % 10_000 === 0) onProgress(done, total);
    }
    for (const row of database.prepare("select sequence from damaged").all()) {
      complain(`entry ${row["sequence"]} was damaged and set aside earlier`);
    }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    complain(`the log cannot be read after entry ${before?.sequence ?? 0}: ${why}`);
  } finally {
    database.close();
  }
  const files = new SnapshotFiles(join(directory, "snapshots"));
  const snapshots = [];
  for (const sequence of await files.sequences()) {
    const snapshot = { sequence, isIntact: await files.isIntact(sequence) };
    if (!snapshot.isIntact) complain(`snapshot ${sequence} is damaged`);
    snapshots.push(snapshot);
  }
  const lastSequence = before?.sequence ?? 0;
  return { entries: done, firstSequence: first, lastSequence, snapshots, problems };
}

function withoutBigInt(value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}
