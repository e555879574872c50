/**
 * Writes entries into the database, several with one statement: to run one for each row is a seventh of what a small row
 * costs.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { type Entry, type Sealed, seal } from "./entry.ts";
import { limits } from "./limits.ts";
import { columns } from "./rows.ts";

export class Inserter {
  readonly #one: StatementSync;
  readonly #several: StatementSync;
  /** What the next statement is given; the same list each time. */
  readonly #values: SQLInputValue[] = [];

  constructor(database: DatabaseSync) {
    this.#one = database.prepare(insertOf(1));
    this.#several = database.prepare(insertOf(limits.insertEntries));
  }

  /** Seals them on the way, after what was written last; answers the last of them. */
  insert(entries: readonly Entry[], lastChecksum: string): Sealed | undefined {
    let last: Sealed | undefined;
    let at = 0;
    while (at < entries.length) {
      const isSeveral = entries.length - at >= limits.insertEntries;
      const end = at + (isSeveral ? limits.insertEntries : 1);
      this.#values.length = 0;
      for (; at < end; at += 1) {
        const entry = entries[at];
        if (!entry) break;
        last = seal(entry, last?.checksum ?? lastChecksum);
        const { sequence, bus, type, version, atMs, actor, stream, body, previous, checksum } =
          last;
        this.#values.push(
          sequence,
          bus,
          type,
          version,
          atMs,
          actor,
          stream,
          body,
          previous,
          checksum,
        );
      }
      (isSeveral ? this.#several : this.#one).run(...this.#values);
    }
    return last;
  }
}

function insertOf(rows: number): string {
  const row = `(${columns.split(",").fill("?").join()})`;
  return `insert into entries (${columns}) values ${Array(rows).fill(row).join()}`;
}
