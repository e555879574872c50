/**
 * The log as an SQLite database in a directory of its own. One row an entry, one transaction a commit,
 * WAL with `synchronous=FULL`: when `append` resolves, the entries are on the disk.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { SectionName } from "../core/index.ts";
import { type Entry, isIntact, noChecksum, type Sealed, seal, unseal } from "./entry.ts";
import { type Log, LogError, type Snapshot } from "./log.ts";
import { SnapshotFiles } from "./snapshot-files.ts";

/** Raised when an older release could not read what this one writes. */
const format = 1;

const schema = `
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

export class SqliteLog implements Log {
  readonly id: string;
  readonly isKept = true;
  readonly warnings: string[] = [];
  readonly #database: DatabaseSync;
  readonly #lock: DatabaseSync;
  readonly #snapshots: SnapshotFiles;
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  #oldestSequence = 1;
  #lastSequence = 0;
  #lastAtMs = 0;
  #lastChecksum = noChecksum;
  #isOpen = true;

  /** Refuses with `in_use`, `too_new`, `damaged` or `unusable`. */
  static open(directory: string): SqliteLog {
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
    } catch (cause) {
      throw new LogError("unusable", `cannot create ${directory}: ${messageOf(cause)}`, { cause });
    }
    const lock = lockDirectory(directory);
    try {
      return new SqliteLog(directory, lock);
    } catch (cause) {
      lock.close();
      if (cause instanceof LogError) throw cause;
      throw new LogError("unusable", `cannot open the log in ${directory}: ${messageOf(cause)}`, {
        cause,
      });
    }
  }

  private constructor(directory: string, lock: DatabaseSync) {
    this.#lock = lock;
    this.#snapshots = new SnapshotFiles(join(directory, "snapshots"));
    this.#database = new DatabaseSync(join(directory, "log.db"));
    this.#prepareFormat(directory);
    const about = this.#database.prepare("select value from about where key = 'id'").get();
    this.id = String(about?.["value"]);
    this.#insert = this.#database.prepare(
      `insert into entries (sequence, bus, type, version, atMs, actor, body, previous, checksum)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#select = this.#database.prepare(
      "select * from entries where sequence > ? order by sequence limit ?",
    );
    this.#checkTail();
  }

  get oldestSequence(): number {
    return this.#oldestSequence;
  }

  get lastSequence(): number {
    return this.#lastSequence;
  }

  get lastAtMs(): number {
    return this.#lastAtMs;
  }

  async append(entries: readonly Entry[], expectedSequence: number): Promise<void> {
    if (expectedSequence !== this.#lastSequence) {
      throw new LogError(
        "conflict",
        `expected ${expectedSequence} to be the last entry, it is ${this.#lastSequence}`,
      );
    }
    let last: Sealed | undefined;
    try {
      this.#database.exec("begin immediate");
      for (const entry of entries) {
        last = seal(entry, last?.checksum ?? this.#lastChecksum);
        const { sequence, bus, type, version, atMs, actor, body, previous, checksum } = last;
        this.#insert.run(sequence, bus, type, version, atMs, actor, body, previous, checksum);
      }
      this.#database.exec("commit");
    } catch (cause) {
      throw new LogError("cannot_write", `the log cannot be written: ${messageOf(cause)}`, {
        cause,
      });
    }
    if (last) this.#remember(last);
  }

  async read(afterSequence: number, limit: number): Promise<readonly Entry[]> {
    return [...this.#verified(afterSequence, limit)];
  }

  async saveSnapshot(snapshot: Snapshot): Promise<void> {
    await this.#snapshots.save(snapshot);
  }

  async loadSnapshot(onRow: (name: SectionName, row: string) => void): Promise<number> {
    for (const sequence of await this.#snapshots.sequences()) {
      if (sequence > this.#lastSequence) {
        const message = `the log ends at entry ${this.#lastSequence}, but a snapshot was made at ${sequence}: entries are missing`;
        throw new LogError("damaged", message);
      }
      if (await this.#snapshots.load(sequence, onRow)) return sequence;
      this.warnings.push(`snapshot ${sequence} is damaged and was passed over`);
    }
    return 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#database.close();
    this.#lock.close();
  }

  #prepareFormat(directory: string): void {
    this.#database.exec("pragma journal_mode = wal; pragma synchronous = full");
    const found = Number(this.#database.prepare("pragma user_version").get()?.["user_version"]);
    if (found > format) {
      throw new LogError(
        "too_new",
        `the log in ${directory} has format ${found}; this release reads up to ${format}. Install the newer release`,
      );
    }
    if (found > 0) return;
    const id = randomUUID();
    this.#database.exec(`begin; ${schema} insert into about values ('id', '${id}'); commit`);
  }

  /**
   * A last entry that does not read back is set aside and reported: nothing can depend on it yet, and
   * it must not keep the plane from starting. Damage before that is found when it is read, and refused.
   */
  #checkTail(): void {
    const oldest = this.#database.prepare("select min(sequence) as first from entries").get();
    this.#oldestSequence = Number(oldest?.["first"] ?? 1);
    const select = this.#database.prepare("select * from entries order by sequence desc limit 1");
    let last = select.get();
    if (last && !isIntact(toSealed(last))) {
      const sequence = Number(last["sequence"]);
      this.#database
        .prepare("insert into damaged values (?, ?, ?)")
        .run(Date.now(), sequence, JSON.stringify(last));
      this.#database.prepare("delete from entries where sequence = ?").run(sequence);
      this.warnings.push(`entry ${sequence}, the last one, was damaged and has been set aside`);
      last = select.get();
    }
    if (last) this.#remember(toSealed(last));
  }

  #remember({ sequence, atMs, checksum }: Sealed): void {
    this.#lastSequence = sequence;
    this.#lastAtMs = atMs;
    this.#lastChecksum = checksum;
  }

  *#verified(afterSequence: number, limit: number): Generator<Entry> {
    let before: Sealed | undefined;
    let expected = Math.max(afterSequence + 1, this.#oldestSequence);
    for (const row of this.#select.iterate(afterSequence, limit)) {
      const sealed = toSealed(row);
      const isNext = sealed.sequence === expected;
      const isChained = !before || sealed.previous === before.checksum;
      if (!isNext || !isChained || !isIntact(sealed)) throw damagedAt(expected);
      const entry = unseal(sealed);
      if (!entry) {
        const message = `entry ${expected} (${sealed.type}) was written by a later release; install it`;
        throw new LogError("too_new", message);
      }
      yield entry;
      before = sealed;
      expected += 1;
    }
  }
}

/** An exclusive transaction that stays open: freed when the process ends, however it ends. */
function lockDirectory(directory: string): DatabaseSync {
  let lock: DatabaseSync;
  try {
    lock = new DatabaseSync(join(directory, "lock.db"));
  } catch (cause) {
    throw new LogError("unusable", `cannot write to ${directory}: ${messageOf(cause)}`, { cause });
  }
  try {
    lock.exec("begin exclusive");
    return lock;
  } catch (cause) {
    lock.close();
    throw new LogError("in_use", `${directory} is in use by another daemon`, { cause });
  }
}

function damagedAt(sequence: number): LogError {
  const message = `entry ${sequence} of the log is damaged; restore the directory from a backup`;
  return new LogError("damaged", message);
}

/** Where a row becomes a value. A column of another type than ours fails the checksum. */
function toSealed(row: Record<string, unknown>): Sealed {
  return row as Sealed;
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
