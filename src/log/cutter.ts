/**
 * Takes the oldest entries out of the database, a few at a time. Each cut is a transaction of its own,
 * with the mark of what was cut in it.
 *
 * A cut need not be synced: it becomes durable with the next append, or is forgotten with the power, and then
 * the entries are there again, which harms nobody. So no append waits for the disk on account of a cut.
 * The file does not shrink; what becomes free in it is used again.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type CutMark, printMark } from "./cut-mark.ts";
import { limits } from "./limits.ts";
import type { CutBounds } from "./log.ts";

type Row = readonly [sequence: number, atMs: number, bodyBytes: number];

export class Cutter {
  readonly #database: DatabaseSync;
  readonly #logId: string;
  readonly #pageBytes: number;
  readonly #pages: StatementSync;
  readonly #freePages: StatementSync;
  readonly #oldest: StatementSync;
  readonly #checksum: StatementSync;
  readonly #delete: StatementSync;
  readonly #mark: StatementSync;

  constructor(database: DatabaseSync, logId: string) {
    this.#database = database;
    this.#logId = logId;
    this.#pageBytes = numberFrom(database.prepare("pragma page_size"));
    this.#pages = database.prepare("pragma page_count");
    this.#freePages = database.prepare("pragma freelist_count");
    // The length alone is known without reading a large body.
    this.#oldest = database.prepare(
      "select sequence, atMs, octet_length(body) from entries where sequence <= ? order by sequence limit ?",
    );
    this.#oldest.setReturnArrays(true);
    this.#checksum = database.prepare("select checksum from entries where sequence = ?");
    this.#delete = database.prepare("delete from entries where sequence <= ?");
    this.#mark = database.prepare(
      "insert into about values ('cut', ?) on conflict do update set value = excluded.value",
    );
  }

  /** What is in use of the file. */
  get entriesBytes(): number {
    return (numberFrom(this.#pages) - numberFrom(this.#freePages)) * this.#pageBytes;
  }

  /** Answers the mark of the last entry that went; undefined if none did. */
  cut(
    bounds: CutBounds,
    { upTo, isSynced }: { readonly upTo: number; readonly isSynced: boolean },
  ): CutMark | undefined {
    const pages = limits.cutCheckpointPages;
    const synchronous = isSynced ? "full" : "normal";
    this.#database.exec(
      `pragma synchronous = ${synchronous}; pragma wal_autocheckpoint = ${pages}`,
    );
    try {
      this.#database.exec("begin immediate");
      const mark = this.#cutBatches(bounds, upTo);
      if (mark) this.#mark.run(printMark(this.#logId, mark));
      this.#database.exec("commit");
      return mark;
    } finally {
      if (this.#database.isTransaction) this.#database.exec("rollback");
      this.#database.exec("pragma synchronous = full; pragma wal_autocheckpoint = 1000");
    }
  }

  #cutBatches(bounds: CutBounds, upTo: number): CutMark | undefined {
    const endMs = performance.now() + limits.cutMs;
    let mark: CutMark | undefined;
    let count = 0;
    while (count < limits.cutEntriesMax && performance.now() < endMs) {
      const batch = this.#nextBatch(bounds, upTo);
      const last = batch.at(-1);
      if (!last) break;
      const [sequence, atMs] = last;
      mark = { sequence, atMs, checksum: String(this.#checksum.get(sequence)?.["checksum"]) };
      this.#delete.run(sequence);
      count += batch.length;
    }
    return mark;
  }

  #nextBatch(bounds: CutBounds, upTo: number): readonly Row[] {
    const { beforeMs, bytesMax, neededSequence = Number.POSITIVE_INFINITY } = bounds;
    const isTooLarge = this.entriesBytes > bytesMax;
    const batch: Row[] = [];
    let bytes = 0;
    for (const found of this.#oldest.iterate(upTo, limits.cutBatchEntries)) {
      const row = found as unknown as Row;
      const [sequence, atMs, bodyBytes] = row;
      const isOld = atMs < beforeMs && sequence < neededSequence;
      if (!isTooLarge && !isOld) break;
      batch.push(row);
      bytes += bodyBytes;
      if (bytes > limits.cutBatchBytes) break;
    }
    return batch;
  }
}

function numberFrom(pragma: StatementSync): number {
  return Number(Object.values(pragma.get() ?? {})[0]);
}
