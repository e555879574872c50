/**
 * The log as an SQLite database in a directory of its own. One row an entry, one transaction a commit,
 * WAL with `synchronous=FULL`: when `append` resolves, the entries are on the disk.
 */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { SectionName } from "../core/index.ts";
import { type CutMark, nothingCut, parseMark } from "./cut-mark.ts";
import { Cutter } from "./cutter.ts";
import { type Entry, isIntact, type Sealed, unseal } from "./entry.ts";
import { Inserter } from "./inserter.ts";
import { limits } from "./limits.ts";
import { type CutBounds, type Log, LogError, type LogSize, type Snapshot } from "./log.ts";
import { columns, isBusy, isDamage, toSealed } from "./rows.ts";
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

/** Only of entries that have one: an index of every row made a million appends eleven times slower. */
const streamIndex =
  "create index if not exists entries_by_stream on entries (stream, sequence) where stream is not null";

export class SqliteLog implements Log {
  readonly id: string;
  readonly isKept = true;
  readonly warnings: string[] = [];
  readonly #database: DatabaseSync;
  readonly #lock: DatabaseSync;
  readonly #directory: string;
  readonly #snapshots: SnapshotFiles;
  readonly #cutter: Cutter;
  readonly #begin: StatementSync;
  readonly #inserter: Inserter;
  readonly #commit: StatementSync;
  readonly #select: StatementSync;
  readonly #selectStream: StatementSync;
  readonly #selectStreamBack: StatementSync;
  /** What was cut last. */
  #cut: CutMark;
  #oldestSequence: number;
  #oldestAtMs = 0;
  #lastSequence: number;
  #lastAtMs: number;
  #lastChecksum: string;
  #isOpen = true;

  /** Refuses with `in_use`, `too_new`, `damaged` or `unusable`. */
  static open(directory: string): SqliteLog {
    using opened = new DisposableStack();
    try {
      makeDirectory(directory);
      const lock = opened.use(lockDirectory(directory));
      const database = opened.use(new DatabaseSync(join(directory, "log.db")));
      const log = new SqliteLog({ directory, lock, database });
      opened.move();
      return log;
    } catch (cause) {
      if (cause instanceof LogError) throw cause;
      const code = isDamage(cause) ? "damaged" : "unusable";
      throw new LogError(code, `cannot open the log in ${directory}: ${messageOf(cause)}`, {
        cause,
      });
    }
  }

  private constructor(parts: {
    readonly directory: string;
    readonly lock: DatabaseSync;
    readonly database: DatabaseSync;
  }) {
    this.#lock = parts.lock;
    this.#database = parts.database;
    this.#directory = parts.directory;
    this.#snapshots = new SnapshotFiles(join(parts.directory, "snapshots"));
    this.id = this.#prepareFormat(parts.directory);
    this.#begin = this.#database.prepare("begin immediate");
    this.#commit = this.#database.prepare("commit");
    this.#inserter = new Inserter(this.#database);
    // Rows as arrays are read in two thirds of the time. The entry before is read for its checksum.
    this.#select = this.#database.prepare(
      `select ${columns} from entries where sequence >= ? order by sequence limit ?`,
    );
    this.#select.setReturnArrays(true);
    this.#selectStream = this.#database.prepare(
      `select ${columns} from entries where stream = ? and sequence > ? order by sequence limit ?`,
    );
    this.#selectStream.setReturnArrays(true);
    this.#selectStreamBack = this.#database.prepare(
      `select ${columns} from entries where stream = ? and sequence < ? order by sequence desc limit ?`,
    );
    this.#selectStreamBack.setReturnArrays(true);
    this.#cutter = new Cutter(this.#database, this.id);
    this.#cut = this.#readCut();
    // Where nothing is left, what was cut is all that is known.
    this.#oldestSequence = this.#cut.sequence + 1;
    this.#lastSequence = this.#cut.sequence;
    this.#lastAtMs = this.#cut.atMs;
    this.#lastChecksum = this.#cut.checksum;
    this.#checkTail();
    this.#checkHead();
  }

  get oldestSequence(): number {
    return this.#oldestSequence;
  }

  get oldestAtMs(): number {
    return this.#oldestAtMs;
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
      this.#begin.run();
      last = this.#inserter.insert(entries, this.#lastChecksum);
      this.#commit.run();
    } catch (cause) {
      if (this.#database.isTransaction) this.#database.exec("rollback");
      const message = `the log cannot be written: ${messageOf(cause)}`;
      throw new LogError("cannot_write", message, { cause });
    }
    if (last) this.#remember(last);
    this.#oldestAtMs ||= entries[0]?.atMs ?? 0;
  }

  async read(afterSequence: number, limit: number): Promise<readonly Entry[]> {
    return this.#verified(afterSequence, limit);
  }

  async readStream(
    stream: string,
    afterSequence: number,
    limit: number,
  ): Promise<readonly Entry[]> {
    const rows = this.#selectStream.iterate(stream, afterSequence, limit);
    return this.#take(rows, { from: afterSequence, step: 1 });
  }

  async readStreamBack(
    stream: string,
    beforeSequence: number,
    limit: number,
  ): Promise<readonly Entry[]> {
    const rows = this.#selectStreamBack.iterate(stream, beforeSequence, limit);
    return this.#take(rows, { from: beforeSequence, step: -1 });
  }

  /** Rows as entries, as many as may be read at once. */
  #take(
    rows: Iterable<unknown>,
    { from, step }: { readonly from: number; readonly step: 1 | -1 },
  ): readonly Entry[] {
    const entries: Entry[] = [];
    let bytes = 0;
    let last = from;
    try {
      for (const row of rows) {
        if (bytes > limits.readBytesMax) break;
        const sealed = toSealed(row);
        if (!isIntact(sealed)) throw damagedAt(sealed.sequence);
        const entry = opened(sealed);
        entries.push(entry);
        bytes += entry.body.length;
        last = entry.sequence;
      }
    } catch (cause) {
      throw isDamage(cause) ? damagedAt(last + step, cause) : cause;
    }
    return entries;
  }

  async saveSnapshot(snapshot: Snapshot, signal?: AbortSignal): Promise<void> {
    await this.#snapshots.save(snapshot, signal);
  }

  async loadSnapshot(onRow: (name: SectionName, row: string) => void): Promise<number> {
    for (const sequence of await this.#snapshots.sequences()) {
      if (sequence > this.#lastSequence && this.#wereSetAside(sequence)) {
        await this.#snapshots.setAside(sequence);
        this.warnings.push(`snapshot ${sequence} is of an entry that was set aside, and so is it`);
        continue;
      }
      if (sequence > this.#lastSequence && (await this.#snapshots.isIntact(sequence))) {
        const message = `the log ends at entry ${this.#lastSequence}, but a snapshot was made at ${sequence}: entries are missing`;
        throw new LogError("damaged", message);
      }
      if (await this.#snapshots.load(sequence, onRow)) return sequence;
      this.warnings.push(`snapshot ${sequence} is damaged and was passed over`);
    }
    return 0;
  }

  async cut(bounds: CutBounds): Promise<boolean> {
    if (!this.#exceeds(bounds)) return true;
    const upTo = await this.#snapshots.covered();
    if (!this.#isOpen || upTo < this.#oldestSequence) return true;
    try {
      this.#cut = this.#cutter.cut(bounds, { upTo }) ?? this.#cut;
    } catch (cause) {
      const code = isDamage(cause) ? "damaged" : "cannot_write";
      throw new LogError(code, `the log cannot be cut: ${messageOf(cause)}`, { cause });
    }
    this.#findOldest();
    return upTo < this.#oldestSequence || !this.#exceeds(bounds);
  }

  size(): LogSize {
    const { entriesBytes } = this.#cutter;
    let diskBytes = this.#snapshots.bytes;
    for (const name of ["log.db", "log.db-wal"]) {
      const file = statSync(join(this.#directory, name), { throwIfNoEntry: false });
      diskBytes += file?.size ?? 0;
    }
    return { entriesBytes, diskBytes };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#database.close();
    this.#lock.close();
  }

  /** Answers the log's id. */
  #prepareFormat(directory: string): string {
    this.#database.exec("pragma journal_mode = wal; pragma synchronous = full");
    const found = Number(this.#database.prepare("pragma user_version").get()?.["user_version"]);
    if (found > format) {
      throw new LogError(
        "too_new",
        `the log in ${directory} has format ${found}; this release reads up to ${format}. Install the newer release`,
      );
    }
    if (found === 0) {
      const id = randomUUID();
      this.#database.exec(`begin; ${schema} insert into about values ('id', '${id}'); commit`);
    }
    this.#database.exec(streamIndex);
    const about = this.#database.prepare("select value from about where key = 'id'").get();
    return String(about?.["value"]);
  }

  /**
   * A last entry that does not read back is set aside and reported: no later entry depends on it, and
   * it must not keep the plane from starting. Damage before that is found when it is read, and refused.
   */
  #checkTail(): void {
    const select = this.#database.prepare(
      `select ${columns} from entries order by sequence desc limit 1`,
    );
    select.setReturnArrays(true);
    let last = sealedOrNone(select.get());
    if (last && !isIntact(last)) {
      const { sequence } = last;
      this.#database
        .prepare("insert into damaged values (?, ?, ?)")
        .run(Date.now(), sequence, JSON.stringify(last));
      this.#database.prepare("delete from entries where sequence = ?").run(sequence);
      this.warnings.push(`entry ${sequence}, the last one, was damaged and has been set aside`);
      last = sealedOrNone(select.get());
    }
    if (last) this.#remember(last);
  }

  /** Entries that are missing before the first one, and were not cut, are told: no start depends on them. */
  #checkHead(): void {
    this.#findOldest();
    const first = this.#cut.sequence + 1;
    if (this.#oldestSequence === first) return;
    const problem =
      this.#oldestSequence > first
        ? `entries ${first} to ${this.#oldestSequence - 1} are missing, and were not cut`
        : `entry ${this.#oldestSequence} is there, but is said to have been cut`;
    this.warnings.push(`${problem}; tipstaff doctor says more`);
  }

  #readCut(): CutMark {
    const row = this.#database.prepare("select value from about where key = 'cut'").get();
    if (!row) return nothingCut;
    const mark = parseMark(this.id, String(row["value"]));
    if (!mark) this.warnings.push("the mark of what was cut from the log is damaged");
    return mark ?? nothingCut;
  }

  #findOldest(): void {
    const select = this.#database.prepare(
      "select sequence, atMs from entries order by sequence limit 1",
    );
    // A number that is too large for us is found by its checksum, when it is read.
    select.setReadBigInts(true);
    const oldest = select.get();
    this.#oldestSequence = Number(oldest?.["sequence"] ?? this.#lastSequence + 1);
    this.#oldestAtMs = Number(oldest?.["atMs"] ?? 0);
  }

  #exceeds({ beforeMs, bytesMax, neededSequence = Infinity }: CutBounds): boolean {
    if (this.#oldestSequence > this.#lastSequence) return false;
    const isOld = this.#oldestAtMs < beforeMs && this.#oldestSequence < neededSequence;
    return isOld || this.#cutter.entriesBytes > bytesMax;
  }

  /** Whether all that is missing up to a sequence was found damaged and set aside, now or earlier. */
  #wereSetAside(sequence: number): boolean {
    const row = this.#database
      .prepare(
        "select count(distinct sequence) as n from damaged where sequence > ? and sequence <= ?",
      )
      .get(this.#lastSequence, sequence);
    return Number(row?.["n"]) === sequence - this.#lastSequence;
  }

  #remember({ sequence, atMs, checksum }: Sealed): void {
    this.#lastSequence = sequence;
    this.#lastAtMs = atMs;
    this.#lastChecksum = checksum;
  }

  #verified(afterSequence: number, limit: number): Entry[] {
    const entries: Entry[] = [];
    let bytes = 0;
    let before: Sealed | undefined;
    let expected = Math.max(afterSequence, this.#oldestSequence);
    try {
      const hasOneBefore = afterSequence >= this.#oldestSequence;
      for (const row of this.#select.iterate(afterSequence, hasOneBefore ? limit + 1 : limit)) {
        if (bytes > limits.readBytesMax) break;
        const sealed = toSealed(row);
        const isNext = sealed.sequence === expected;
        const isChained = sealed.previous === (before?.checksum ?? this.#checksumBefore(sealed));
        if (!isNext || !isChained || !isIntact(sealed)) throw damagedAt(expected);
        before = sealed;
        expected += 1;
        if (sealed.sequence <= afterSequence) continue;
        const entry = opened(sealed);
        entries.push(entry);
        bytes += entry.body.length;
      }
    } catch (cause) {
      throw isDamage(cause) ? damagedAt(expected, cause) : cause;
    }
    return entries;
  }

  /** What an entry that is read without the one before it must follow from, as far as that is known. */
  #checksumBefore({ sequence, previous }: Sealed): string {
    return sequence === this.#cut.sequence + 1 ? this.#cut.checksum : previous;
  }
}

/** With its parents, one by one: node's own `recursive` never ends where a parent takes no children. */
function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  makeDirectory(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/** An exclusive transaction that stays open: freed when the process ends, however it ends. */
function lockDirectory(directory: string): DatabaseSync {
  const lock = new DatabaseSync(join(directory, "lock.db"));
  try {
    lock.exec("begin exclusive");
    return lock;
  } catch (cause) {
    lock.close();
    if (isBusy(cause)) {
      throw new LogError("in_use", `${directory} is in use by another daemon`, { cause });
    }
    throw new LogError("unusable", `cannot lock ${directory}: ${messageOf(cause)}`, { cause });
  }
}

function opened(sealed: Sealed): Entry {
  let entry: Entry | undefined;
  try {
    entry = unseal(sealed);
  } catch (cause) {
    throw damagedAt(sealed.sequence, cause);
  }
  if (entry) return entry;
  const message = `entry ${sealed.sequence} (${sealed.type}) was written by a later release; install it`;
  throw new LogError("too_new", message);
}

function damagedAt(sequence: number, cause?: unknown): LogError {
  const message = `entry ${sequence} of the log is damaged; restore the directory from a backup`;
  return new LogError("damaged", message, { cause });
}

function sealedOrNone(row: unknown): Sealed | undefined {
  return row === undefined ? undefined : toSealed(row);
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
