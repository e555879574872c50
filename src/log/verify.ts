/** Reads a whole log and says what is wrong with it. Works beside a running daemon. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { isJson } from "../core/index.ts";
import type { Loss, Range } from "./accept-loss.ts";
import { type CutMark, nothingCut, parseMark } from "./cut-mark.ts";
import { isIntact, type Sealed } from "./entry.ts";
import { checkStructure, databaseName, type Examined, examine, hasDatabase } from "./examine.ts";
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
  /** Problems that do not prevent reading, one line each, at most a hundred. */
  readonly warnings: readonly string[];
};

const problemsMax = 100;

/** Rejects with `unusable` if there is no log to read. */
export async function verifyLog(
  directory: string,
  onProgress: (done: number, total: number) => void,
): Promise<Verdict> {
  // The mark is read first, because a running daemon writes it after the entries.
  const { damage, warnings: found } = await examineTwice(directory);
  const problems: string[] = damage ? [`${damage.file} ${damage.problem}`] : [];
  const warnings: string[] = [...found];
  const complain = (problem: string): void => {
    if (problems.length < problemsMax) problems.push(problem);
  };
  let read = nothingRead;
  if (hasDatabase(directory)) {
    read = verifyEntries(join(directory, databaseName), { complain, warnings, onProgress });
  } else if (!damage) {
    throw new LogError("unusable", `there is no log in ${directory}; start one with tipstaff up`);
  }
  const { cut, ...entries } = read;
  const snapshots = await verifySnapshots(directory, complain);
  const intact = snapshots.filter((snapshot) => snapshot.isIntact);
  const [newest = 0, older = newest] = intact.map(({ sequence }) => sequence);
  if (cut.sequence > newest) {
    const lost = `what was cut, up to entry ${cut.sequence}, is in no snapshot`;
    complain(`${lost}: the log cannot be opened`);
  } else if (cut.sequence > older) {
    complain(`entries that snapshot ${older} needs were cut, up to ${cut.sequence}`);
  }
  return { ...entries, snapshots, problems, warnings };
}

type EntriesRead = Pick<Verdict, "entries" | "firstSequence" | "lastSequence"> & {
  readonly cut: CutMark;
};

const nothingRead: EntriesRead = {
  entries: 0,
  firstSequence: 0,
  lastSequence: 0,
  cut: nothingCut,
};

function verifyEntries(
  path: string,
  {
    complain,
    warnings,
    onProgress,
  }: {
    readonly complain: (problem: string) => void;
    readonly warnings: string[];
    readonly onProgress: (done: number, total: number) => void;
  },
): EntriesRead {
  using database = new DatabaseSync(path, { readOnly: true });
  let before: Sealed | undefined;
  let cut = nothingCut;
  let first = 0;
  let done = 0;
  try {
    // The mark and the entries at one moment: a daemon may be cutting.
    database.exec("begin");
    cut = readMark(database) ?? cut;
    const total = Number(database.prepare("select count(*) as n from entries").get()?.["n"]);
    const select = database.prepare(`select ${columns} from entries order by sequence`);
    select.setReturnArrays(true);
    // A number that is too large for us would end the reading; as a bigint it only fails its checksum.
    select.setReadBigInts(true);
    for (const row of select.iterate()) {
      const entry = toSealed((row as unknown as unknown[]).map(withoutBigInt));
      first ||= entry.sequence;
      const { sequence, checksum } = before ?? cut;
      if (entry.sequence > sequence + 1) {
        complain(`entries ${sequence + 1} to ${entry.sequence - 1} are missing`);
      } else if (entry.sequence <= sequence) {
        complain(`entry ${entry.sequence} is there, but is said to have been cut`);
      } else if (entry.previous !== checksum) {
        const isFirst = before === undefined && cut.sequence > 0;
        const what = isFirst ? "what was cut before it" : "the one before";
        complain(`entry ${entry.sequence} does not follow from ${what}`);
      }
      if (!isIntact(entry)) complain(`entry ${entry.sequence} is damaged`);
      else if (!isJson(entry.body)) {
        const problem = `entry ${entry.sequence} (${entry.type}) has a body that is not valid JSON`;
        // Events that a job emitted are only shown; every other event is needed to rebuild the state.
        if (entry.type !== "job.emitted") complain(`${problem}: the log cannot be opened`);
        else if (warnings.length < problemsMax)
          warnings.push(`${problem}; readers show it as text`);
      }
      before = entry;
      done += 1;
      if (done % 10_000 === 0) onProgress(done, total);
    }
    if (!readMark(database)) {
      complain(`the record of which old entries were deleted is damaged (${path})`);
    }
    const structure = checkStructure(database);
    if (structure !== undefined) complain(`${path} is damaged: ${structure}`);
    warnings.push(...tellAccepted(database));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    complain(`the log cannot be read after entry ${before?.sequence ?? 0}: ${why}`);
  }
  const lastSequence = before?.sequence ?? cut.sequence;
  return { entries: done, firstSequence: first, lastSequence, cut };
}

/** A daemon may be writing: a problem that is gone at the second check is not damage. */
async function examineTwice(directory: string): Promise<Examined> {
  const first = examine(directory);
  if (!first.damage) return first;
  await setTimeout(100);
  return examine(directory);
}

/** What the user gave up with `--accept-loss`, and when. Version 0.1.0 recorded each entry that it set aside. */
function tellAccepted(database: DatabaseSync): readonly string[] {
  const rows = database
    .prepare(
      "select foundAtMs, min(sequence) as first, max(sequence) as last, max(entry) as entry from damaged group by foundAtMs",
    )
    .all();
  return rows.flatMap(({ foundAtMs, first, last, entry }) => {
    const at = `given up at ${new Date(Number(foundAtMs)).toISOString()}`;
    const printed = String(entry);
    const loss: Loss = printed.startsWith('{"accepted":')
      ? JSON.parse(printed).accepted
      : { lost: { first: Number(first), last: Number(last) } };
    const { lost, lostAfter, history } = loss;
    return [
      ...(lost ? [`${printRange(lost)} damaged or missing, and ${at}`] : []),
      ...(lostAfter === undefined
        ? []
        : [`all entries after ${lostAfter}, whose number is not known, were damaged, and ${at}`]),
      ...(history ? [`the history up to entry ${history.last} was damaged, and ${at}`] : []),
    ];
  });
}

function printRange({ first, last }: Range): string {
  return first === last ? `entry ${first} was` : `entries ${first} to ${last} were`;
}

/** Nothing cut where there is no mark; undefined if there is one that we did not make. */
function readMark(database: DatabaseSync): CutMark | undefined {
  const about = database.prepare("select value from about where key = ?");
  const mark = about.get("cut")?.["value"];
  if (mark === undefined) return nothingCut;
  return parseMark(String(about.get("id")?.["value"]), String(mark));
}

async function verifySnapshots(
  directory: string,
  complain: (problem: string) => void,
): Promise<Verdict["snapshots"]> {
  const files = new SnapshotFiles(join(directory, "snapshots"));
  const snapshots = [];
  for (const sequence of await files.sequences()) {
    const isIntact = await files.isIntact(sequence);
    // A daemon may have replaced it in the meantime.
    if (!isIntact && !(await files.sequences()).includes(sequence)) continue;
    if (!isIntact) complain(`snapshot ${sequence} is damaged`);
    snapshots.push({ sequence, isIntact });
  }
  return snapshots;
}

function withoutBigInt(value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}
