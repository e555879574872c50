/**
 * A log that is only read: beside a running daemon, or after it was killed. Nothing is mended, locked or
 * written, and no transaction stays open between two reads, so that the daemon's own log does not grow for it.
 */
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { SectionName } from "../core/index.ts";
import { findMark } from "./durable-mark.ts";
import { type Entry, isIntact, unseal } from "./entry.ts";
import { hasDatabase } from "./examine.ts";
import { limits } from "./limits.ts";
import { LogError } from "./log.ts";
import { columns, isDamage, toSealed } from "./rows.ts";
import { SnapshotFiles } from "./snapshot-files.ts";

export class LogReader implements Disposable {
  /** The last entry when it was opened: what comes later is not read. */
  readonly lastSequence: number;
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #snapshots: SnapshotFiles;
  readonly #select: StatementSync;
  readonly #selectStream: StatementSync;

  /** Whether there is a log in a directory. */
  static isIn(directory: string): boolean {
    return hasDatabase(directory);
  }

  /** Refuses with `unusable` or `damaged`. */
  static open(directory: string): LogReader {
    if (!LogReader.isIn(directory)) {
      throw new LogError("unusable", `there is no log in ${directory}; tipstaff doctor says more`);
    }
    try {
      return new LogReader(directory);
    } catch (cause) {
      if (cause instanceof LogError) throw cause;
      const why = cause instanceof Error ? cause.message : String(cause);
      const code = isDamage(cause) ? "damaged" : "unusable";
      throw new LogError(code, `cannot read the log in ${directory}: ${why}`, { cause });
    }
  }

  private constructor(directory: string) {
    this.#path = join(directory, "log.db");
    this.#database = new DatabaseSync(this.#path, { readOnly: true });
    this.#snapshots = new SnapshotFiles(join(directory, "snapshots"));
    const prepare = (condition: string): StatementSync => {
      const ordered = `select ${columns} from entries where ${condition} order by sequence limit ?`;
      const statement = this.#database.prepare(ordered);
      statement.setReturnArrays(true);
      return statement;
    };
    this.#select = prepare("sequence > ? and sequence <= ?");
    this.#selectStream = prepare("stream = ? and sequence > ? and sequence <= ?");
    const mark = findMark(directory);
    this.lastSequence = this.#numberOf("max");
    if (
      mark.state === "intact" &&
      mark.mark.sequence > this.lastSequence &&
      this.lastSequence > 0
    ) {
      const entries = `entries ${this.lastSequence + 1} to ${mark.mark.sequence}`;
      const message = `${entries} of the log in ${directory} are missing; tipstaff doctor says more`;
      this.#database.close();
      throw new LogError("damaged", message);
    }
  }

  /** It may move on while somebody cuts. */
  get oldestSequence(): number {
    return this.#numberOf("min");
  }

  /** As a log's own `read`. */
  read(afterSequence: number, limit: number): readonly Entry[] {
    return this.#entries(this.#select, [afterSequence, this.lastSequence, limit]);
  }

  readStream(stream: string, afterSequence: number, limit: number): readonly Entry[] {
    return this.#entries(this.#selectStream, [stream, afterSequence, this.lastSequence, limit]);
  }

  /** Names of streams that begin so, in their order. The index is asked for one after the other. */
  *streams(beginning: string): Generator<string> {
    const select = this.#database.prepare(
      "select min(stream) as name from entries where stream > ?",
    );
    for (let last = beginning; ; ) {
      const name = select.get(last)?.["name"];
      if (typeof name !== "string" || !name.startsWith(beginning)) return;
      yield name;
      last = name;
    }
  }

  /** The newest intact snapshot that is not later than what is read; answers its sequence, 0 if none. */
  async loadSnapshot(onRow: (name: SectionName, row: string) => void): Promise<number> {
    for (const sequence of await this.#snapshots.sequences()) {
      if (sequence > this.lastSequence) continue;
      if (await this.#snapshots.load(sequence, onRow)) return sequence;
    }
    return 0;
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  #numberOf(which: "min" | "max"): number {
    const found = this.#database.prepare(`select ${which}(sequence) as n from entries`).get();
    return Number(found?.["n"] ?? 0);
  }

  #entries(statement: StatementSync, given: readonly (string | number)[]): readonly Entry[] {
    const entries: Entry[] = [];
    let bytes = 0;
    try {
      for (const row of statement.iterate(...given)) {
        if (bytes > limits.readBytesMax) break;
        const sealed = toSealed(row);
        const entry = isIntact(sealed) ? unseal(sealed) : undefined;
        if (!entry) {
          const message = `cannot read entry ${sealed.sequence} of the log (${this.#path}): it is damaged, or a newer release wrote it; run tipstaff doctor`;
          throw new LogError("damaged", message);
        }
        entries.push(entry);
        bytes += entry.body.length;
      }
    } catch (cause) {
      if (!isDamage(cause)) throw cause;
      const message = `${this.#path} is damaged; tipstaff doctor says more`;
      throw new LogError("damaged", message, { cause });
    }
    return entries;
  }
}
