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
import { MarkWriter } from "./durable-mark.ts";
import { type Entry, isIntact, type Sealed, unseal } from "./entry.ts";
import { databaseName, type Examined, examine, findFaults, refusal, walName } from "./examine.ts";
import { Inserter } from "./inserter.ts";
import { limits } from "./limits.ts";
import {
  type CutBounds,
  type Log,
  type LogCheck,
  LogError,
  type LogSize,
  type Snapshot,
} from "./log.ts";
import { columns, isBusy, isDamage, readFormat, schema, streamIndex, toSealed } from "./rows.ts";
import { SnapshotFiles } from "./snapshot-files.ts";

export class SqliteLog implements Log {
  readonly id: string;
  readonly isKept = true;
  readonly path: string;
  readonly warnings: string[] = [];
  readonly #database: DatabaseSync;
  readonly #lock: DatabaseSync;
  /**
   * Keeps the write-ahead log as it is until the first append: the last connection that closes writes it into the
   * database and deletes it, also if the start has found damage.
   */
  #reader: DatabaseSync | undefined;
  readonly #directory: string;
  readonly #snapshots: SnapshotFiles;
  readonly #cutter: Cutter;
  readonly #mark: MarkWriter;
  readonly #begin: StatementSync;
  readonly #inserter: Inserter;
  readonly #commit: StatementSync;
  readonly #select: StatementSync;
  readonly #selectStream: StatementSync;
  readonly #selectStreamBack: StatementSync;
  readonly #selectIndexed: StatementSync;
  /** What was cut last. */
  #cut: CutMark;
  #oldestSequence: number;
  #oldestAtMs = 0;
  #lastSequence: number;
  #lastAtMs: number;
  #lastChecksum: string;
  #isOpen = true;
  /** Whether the last transaction is a cut that was not synced. The next one, of whatever kind, is synced. */
  #hasUnsyncedCut = false;
  /** Whether the record of the last cut reads back. */
  #isCutKnown = true;
  /** Whether entries are missing at the beginning that were not cut. */
  #isHeadMissing = false;
  /** The entries that are not yet verified, because verifying them at the start would take too long. */
  #unchecked: { readonly first: number; readonly last: number } | undefined;

  /** Refuses with `in_use`, `too_new`, `damaged` or `unusable`. */
  static open(directory: string): SqliteLog {
    using opened = new DisposableStack();
    try {
      makeDirectory(directory);
      const lock = opened.use(lockDirectory(directory));
      const examined = examine(directory);
      if (examined.damage) throw refusal(examined.damage);
      const path = join(directory, databaseName);
      const reader = existsSync(path) ? opened.use(openReader(path)) : undefined;
      const database = opened.use(new DatabaseSync(path));
      const log = new SqliteLog({ directory, lock, database, reader, examined });
      opened.move();
      return log;
    } catch (cause) {
      if (cause instanceof LogError) throw cause;
      const code = isDamage(cause) ? "damaged" : "unusable";
      const path = join(directory, databaseName);
      throw new LogError(code, `cannot open ${path}: ${messageOf(cause)}`, { cause });
    }
  }

  private constructor(parts: {
    readonly directory: string;
    readonly lock: DatabaseSync;
    readonly database: DatabaseSync;
    readonly reader: DatabaseSync | undefined;
    readonly examined: Examined;
  }) {
    this.#lock = parts.lock;
    this.#reader = parts.reader;
    this.#database = parts.database;
    this.#directory = parts.directory;
    this.path = join(parts.directory, databaseName);
    this.#snapshots = new SnapshotFiles(join(parts.directory, "snapshots"));
    this.id = this.#prepareFormat();
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
    this.#selectIndexed = this.#database.prepare(
      "select 1 from entries indexed by entries_by_stream where stream = ? and sequence = ?",
    );
    this.#cutter = new Cutter(this.#database, this.id);
    this.#cut = this.#readCut();
    // Where nothing is left, what was cut is all that is known.
    this.#oldestSequence = this.#cut.sequence + 1;
    this.#lastSequence = this.#cut.sequence;
    this.#lastAtMs = this.#cut.atMs;
    this.#lastChecksum = this.#cut.checksum;
    this.#findLast();
    this.#checkHead();
    this.warnings.push(...parts.examined.warnings);
    const mark = {
      logId: this.id,
      sequence: this.#lastSequence,
      checksum: this.#lastChecksum,
    };
    this.#mark = new MarkWriter(parts.directory, mark, parts.examined.mark);
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
      this.#hasUnsyncedCut = false;
      // With `synchronous=FULL` this commit syncs the entries.
      if (last) this.#mark.write(last.sequence, last.checksum);
    } catch (cause) {
      if (this.#database.isTransaction) this.#database.exec("rollback");
      const message = `the log cannot be written: ${messageOf(cause)} (${this.path})`;
      throw new LogError("cannot_write", message, { cause });
    }
    if (last) this.#remember(last);
    this.#oldestAtMs ||= entries[0]?.atMs ?? 0;
    this.#reader?.close();
    this.#reader = undefined;
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
    return this.#take(rows, { stream, from: afterSequence, step: 1 });
  }

  async readStreamBack(
    stream: string,
    beforeSequence: number,
    limit: number,
  ): Promise<readonly Entry[]> {
    const rows = this.#selectStreamBack.iterate(stream, beforeSequence, limit);
    return this.#take(rows, { stream, from: beforeSequence, step: -1 });
  }

  /** Rows as entries, as many as may be read at once. */
  #take(
    rows: Iterable<unknown>,
    {
      stream,
      from,
      step,
    }: { readonly stream: string; readonly from: number; readonly step: 1 | -1 },
  ): readonly Entry[] {
    const entries: Entry[] = [];
    let bytes = 0;
    let last = from;
    try {
      for (const row of rows) {
        if (bytes > limits.readBytesMax) break;
        const sealed = toSealed(row);
        const isWanted = stream === sealed.stream;
        if (!isWanted || !isIntact(sealed)) throw this.#damagedAt(sealed.sequence);
        const entry = this.#opened(sealed);
        entries.push(entry);
        bytes += entry.body.length;
        last = entry.sequence;
      }
    } catch (cause) {
      throw isDamage(cause) ? this.#damagedAt(last + step, cause) : cause;
    }
    return entries;
  }

  /**
   * Verifies the entries up to one of them, and the structure of the database, where that is quick. Entries after it
   * are verified as they are read. Where it would take long, `checkMore` verifies all entries later.
   */
  async checkHistory(upToSequence: number): Promise<void> {
    if (this.#isHeadMissing) throw this.#damagedAt(this.#cut.sequence + 1);
    if (this.#cutter.entriesBytes > limits.verifiedBytesMax) {
      this.#unchecked = { first: this.#oldestSequence, last: this.#lastSequence };
      return;
    }
    this.#checkStructure();
    this.#checkEntries({ first: this.#oldestSequence, last: upToSequence });
  }

  checkMore(): LogCheck {
    if (!this.#unchecked) return { isDone: true };
    const { last } = this.#unchecked;
    const first = Math.max(this.#unchecked.first, this.#oldestSequence);
    this.#unchecked = undefined;
    const untilMs = performance.now() + limits.sliceMs;
    const warnings = this.warnings.length;
    // An entry that is missing in the index is silently missing from its stream.
    let isIndexWhole = true;
    try {
      const next = this.#checkEntries({
        first,
        last,
        isLate: () => performance.now() > untilMs,
        onEntry: (entry) => {
          isIndexWhole &&= this.#isIndexed(entry);
        },
      });
      if (!isIndexWhole) this.#rebuildIndex();
      // Reads the last verified entry again, because the next one must follow its checksum.
      if (next <= last) this.#unchecked = { first: next - 1, last };
    } catch (cause) {
      return { isDone: true, problem: messageOf(cause) };
    }
    const problem = this.warnings[warnings];
    return { isDone: !this.#unchecked, ...(problem !== undefined && { problem }) };
  }

  #isIndexed({ stream, sequence }: Sealed): boolean {
    if (stream === null) return true;
    try {
      return this.#selectIndexed.get(stream, sequence) !== undefined;
    } catch (cause) {
      if (isDamage(cause)) return false;
      throw cause;
    }
  }

  /**
   * Verifies entries in order until the time is up. Returns the first sequence that was not verified. Throws
   * `damaged`.
   */
  #checkEntries({
    first,
    last,
    isLate,
    onEntry,
  }: {
    readonly first: number;
    readonly last: number;
    readonly isLate?: () => boolean;
    readonly onEntry?: (entry: Sealed) => void;
  }): number {
    let expected = first;
    let before: Sealed | undefined;
    try {
      for (const row of this.#select.iterate(first, Math.max(0, last - first + 1))) {
        const sealed = toSealed(row);
        const isChained = sealed.previous === (before?.checksum ?? this.#checksumBefore(sealed));
        if (sealed.sequence !== expected || !isChained || !isIntact(sealed)) break;
        onEntry?.(sealed);
        before = sealed;
        expected += 1;
        // At least two, the first of which may have been verified before.
        if (expected > first + 1 && isLate?.()) return expected;
      }
    } catch (cause) {
      throw isDamage(cause) ? this.#damagedAt(expected, cause) : cause;
    }
    if (expected <= last) throw this.#damagedAt(expected);
    return expected;
  }

  /** Older snapshots are not needed now. A warning lets the user act before the newest one is damaged too. */
  async #checkOlderSnapshots(newest: number): Promise<void> {
    if (this.#snapshots.bytes > limits.verifiedBytesMax) return;
    for (const sequence of await this.#snapshots.sequences()) {
      if (sequence >= newest || (await this.#snapshots.isIntact(sequence))) continue;
      this.warnings.push(`snapshot ${sequence} is damaged; the newer one is intact`);
    }
  }

  /** A damaged index can be rebuilt from the entries. */
  #checkStructure(): void {
    const file = this.path;
    const faults = findFaults(this.#database);
    const [first] = faults;
    if (first === undefined) return;
    const index = this.#database
      .prepare("select rootpage from sqlite_schema where name = 'entries_by_stream'")
      .get();
    const root = index?.["rootpage"];
    const isOfIndex = (fault: string): boolean =>
      fault.includes("entries_by_stream") ||
      fault.startsWith(`Tree ${root} `) ||
      fault.endsWith(` on page ${root}`);
    if (!faults.every(isOfIndex)) throw refusal({ file, problem: `is damaged: ${first}` });
    // A damaged entry also differs from its index. Then nothing may be written.
    this.#checkEntries({ first: this.#oldestSequence, last: this.#lastSequence });
    this.#rebuildIndex();
    const [left] = findFaults(this.#database);
    if (left !== undefined) throw refusal({ file, problem: `is damaged: ${left}` });
  }

  /**
   * Takes about 2 s for each GB of the log. In a running daemon nothing else is done meanwhile, but without the index
   * events of jobs would be missing. A check of the whole file, before and after, would take three times as long.
   */
  #rebuildIndex(): void {
    const file = this.path;
    try {
      this.#database.exec("reindex entries_by_stream");
    } catch (cause) {
      throw refusal({ file, problem: `is damaged: ${messageOf(cause)}` }, cause);
    }
    this.warnings.push(`an index in ${file} was damaged, and was built again from the entries`);
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
      if (await this.#snapshots.load(sequence, onRow)) {
        await this.#checkOlderSnapshots(sequence);
        return sequence;
      }
      this.warnings.push(`snapshot ${sequence} is damaged and was passed over`);
    }
    return 0;
  }

  async cut(bounds: CutBounds): Promise<boolean> {
    if (!this.#exceeds(bounds)) return true;
    const upTo = await this.#snapshots.covered();
    if (!this.#isOpen || upTo < this.#oldestSequence) return true;
    try {
      const isSynced = this.#hasUnsyncedCut;
      const cut = this.#cutter.cut(bounds, { upTo, isSynced });
      if (cut) {
        this.#cut = cut;
        this.#hasUnsyncedCut = !isSynced;
      }
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
    for (const name of [databaseName, walName]) {
      const file = statSync(join(this.#directory, name), { throwIfNoEntry: false });
      diskBytes += file?.size ?? 0;
    }
    return { entriesBytes, diskBytes };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#mark[Symbol.dispose]();
    this.#database.close();
    this.#reader?.close();
    this.#lock.close();
  }

  /** Answers the log's id. */
  #prepareFormat(): string {
    this.#database.exec("pragma journal_mode = wal; pragma synchronous = full");
    const found = readFormat(this.#database, this.path);
    if (found === 0) {
      const id = randomUUID();
      this.#database.exec(`begin; ${schema} insert into about values ('id', '${id}'); commit`);
    }
    this.#database.exec(streamIndex);
    this.#database.exec("insert into about values ('mark', '1') on conflict do nothing");
    const about = this.#database.prepare("select value from about where key = 'id'").get();
    return String(about?.["value"]);
  }

  /** It was found intact before the log was opened. */
  #findLast(): void {
    const select = this.#database.prepare(
      `select ${columns} from entries order by sequence desc limit 1`,
    );
    select.setReturnArrays(true);
    const row = select.get();
    if (row !== undefined) this.#remember(toSealed(row));
  }

  /** Entries that are missing before the first one, and were not cut, are told: no start depends on them. */
  #checkHead(): void {
    this.#findOldest();
    const first = this.#cut.sequence + 1;
    if (this.#oldestSequence === first) return;
    this.#isHeadMissing = this.#oldestSequence > first && this.#isCutKnown;
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
    if (!mark) {
      this.#isCutKnown = false;
      this.warnings.push(`the record of which old entries were deleted is damaged (${this.path})`);
    }
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

  #damagedAt(sequence: number, cause?: unknown): LogError {
    const advice = "restore the directory from a backup, or see docs/damage.md";
    const message = `entry ${sequence} of the log is damaged (${this.path}); ${advice}`;
    return new LogError("damaged", message, { cause });
  }

  #opened(sealed: Sealed): Entry {
    let entry: Entry | undefined;
    try {
      entry = unseal(sealed);
    } catch (cause) {
      throw this.#damagedAt(sealed.sequence, cause);
    }
    if (entry) return entry;
    const message = `entry ${sealed.sequence} (${sealed.type}) was written by a later release; install it`;
    throw new LogError("too_new", message);
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
        if (!isNext || !isChained || !isIntact(sealed)) throw this.#damagedAt(expected);
        before = sealed;
        expected += 1;
        if (sealed.sequence <= afterSequence) continue;
        const entry = this.#opened(sealed);
        entries.push(entry);
        bytes += entry.body.length;
      }
    } catch (cause) {
      throw isDamage(cause) ? this.#damagedAt(expected, cause) : cause;
    }
    return entries;
  }

  /** What an entry that is read without the one before it must follow from, as far as that is known. */
  #checksumBefore({ sequence, previous }: Sealed): string {
    return sequence === this.#cut.sequence + 1 ? this.#cut.checksum : previous;
  }
}

/** A connection that writes nothing. It counts as one only after it has read. */
function openReader(path: string): DatabaseSync {
  const reader = new DatabaseSync(path, { readOnly: true });
  reader.prepare("pragma user_version").get();
  return reader;
}

/** With its parents, one by one: node's own `recursive` never ends where a parent takes no children. */
function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  makeDirectory(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/** An exclusive transaction that stays open: freed when the process ends, however it ends. */
export function lockDirectory(directory: string): DatabaseSync {
  const path = join(directory, "lock.db");
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(path);
    lock.exec("begin exclusive");
    return lock;
  } catch (cause) {
    lock?.close();
    if (isBusy(cause)) {
      throw new LogError("in_use", `${directory} is in use by another daemon`, { cause });
    }
    throw new LogError("unusable", `cannot lock ${path}: ${messageOf(cause)}`, { cause });
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
