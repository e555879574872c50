/**
 * A log engine on a simulated disk, for storms of crashes. It stores what the real ones store, sealed
 * as theirs, and makes the same promise; it does so in many small steps, and the test decides when each
 * comes, and whether it comes at all.
 *
 * An append is one frame: a line for each entry, then a line that commits them. A last frame that is
 * not whole was never promised to anyone, and is dropped when the log is opened.
 *
 * A cut is a file with its mark, renamed when it is synced: from then on, what is before it is out of
 * reach. The frames stay where they are; what a disk does with its room is not what is tried out here.
 */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { printRow, type SectionName } from "../core/index.ts";
import { type CutMark, nothingCut, parseMark, printMark } from "../log/cut-mark.ts";
import { isIntact, noChecksum, type Sealed, seal, unseal } from "../log/entry.ts";
import {
  type CutBounds,
  type Entry,
  type Log,
  LogError,
  type LogSize,
  type Snapshot,
} from "../log/index.ts";
import { SimulatedDisk } from "./simulated-disk.ts";

export type SimulatedLogOptions = {
  readonly disk: SimulatedDisk;
  /** Decides when the next step of the engine comes. By default, at once. */
  readonly later?: (run: () => void) => void;
  /** Whether the disk fails at this step. */
  readonly fails?: () => boolean;
};

const file = "log";
const snapshotName = /^(\d+)\.snapshot$/;
const snapshotsKept = 2;
const cutFile = "cut";
/** Few, so that a storm sees many cuts. */
const cutEntriesMax = 5;

export class SimulatedLog implements Log {
  readonly id: string;
  readonly isKept = true;
  readonly warnings: string[] = [];
  readonly #disk: SimulatedDisk;
  readonly #later: (run: () => void) => void;
  readonly #fails: () => boolean;
  /** All, also those that were cut: the sequence says where each is. */
  readonly #entries: Entry[] = [];
  readonly #checksums: string[] = [];
  #cut: CutMark = nothingCut;
  #lastChecksum = noChecksum;
  #begun = 0;

  static open({
    disk,
    later = queueMicrotask,
    fails = () => false,
  }: Partial<SimulatedLogOptions> = {}): SimulatedLog {
    return new SimulatedLog({ disk: disk ?? new SimulatedDisk(), later, fails });
  }

  private constructor({ disk, later, fails }: Required<SimulatedLogOptions>) {
    this.id = disk.id;
    this.#disk = disk;
    this.#later = later;
    this.#fails = fails;
    this.#recover();
  }

  get oldestSequence(): number {
    return this.#cut.sequence + 1;
  }

  get oldestAtMs(): number {
    return this.#entries[this.#cut.sequence]?.atMs ?? 0;
  }

  get lastSequence(): number {
    return this.#entries.length;
  }

  get lastAtMs(): number {
    return this.#entries.at(-1)?.atMs ?? 0;
  }

  async append(entries: readonly Entry[], expectedSequence: number): Promise<void> {
    if (expectedSequence !== this.lastSequence) {
      throw new LogError("conflict", `the last entry is ${this.lastSequence}`);
    }
    const sealed = this.#seal(entries);
    const frame = printFrame(sealed);
    const half = frame.length >> 1;
    await this.#step();
    this.#disk.write(file, frame.subarray(0, half));
    await this.#step();
    this.#disk.write(file, frame.subarray(half));
    await this.#step();
    this.#disk.sync(file);
    this.#entries.push(...entries);
    this.#checksums.push(...sealed.map(({ checksum }) => checksum));
    this.#lastChecksum = sealed.at(-1)?.checksum ?? this.#lastChecksum;
    // It is durable now; that the caller learns of it is a step of its own.
    await this.#pause();
  }

  async read(afterSequence: number, limit: number): Promise<readonly Entry[]> {
    // Between asking and being told, the log may grow, before it is read and after.
    await this.#pause();
    const start = Math.max(this.#cut.sequence, afterSequence);
    const page = this.#entries.slice(start, start + limit);
    await this.#pause();
    return page;
  }

  async readStream(
    stream: string,
    afterSequence: number,
    limit: number,
  ): Promise<readonly Entry[]> {
    const rest = await this.read(afterSequence, Number.POSITIVE_INFINITY);
    return rest.filter((entry) => entry.stream === stream).slice(0, limit);
  }

  async readStreamBack(
    stream: string,
    beforeSequence: number,
    limit: number,
  ): Promise<readonly Entry[]> {
    const its = await this.readStream(stream, 0, Number.POSITIVE_INFINITY);
    const before = its.filter(({ sequence }) => sequence < beforeSequence);
    return before.toReversed().slice(0, limit);
  }

  async saveSnapshot({ sequence, sections }: Snapshot, signal?: AbortSignal): Promise<void> {
    const name = `${sequence}.snapshot`;
    const unfinished = this.#unfinished();
    const rows = sections.flatMap((section) =>
      section.rows.map((_, at) => `${section.name} ${printRow(section, at)}\n`),
    );
    const text = rows.join("");
    await this.#step();
    this.#disk.write(unfinished, Buffer.from(text));
    await this.#step();
    signal?.throwIfAborted();
    this.#disk.write(unfinished, Buffer.from(`end ${hash("sha256", text)}\n`));
    await this.#step();
    this.#disk.sync(unfinished);
    await this.#step();
    this.#disk.rename(unfinished, name);
    const intact = this.#intactSnapshots();
    if (intact.length < snapshotsKept) return;
    for (const old of this.#snapshots()) {
      if (!intact.includes(old)) this.#disk.delete(`${old}.snapshot`);
    }
  }

  async loadSnapshot(onRow: (name: SectionName, row: string) => void): Promise<number> {
    for (const sequence of this.#snapshots()) {
      const rows = this.#readSnapshot(sequence);
      if (rows === undefined) {
        this.warnings.push(`snapshot ${sequence} is damaged and was passed over`);
        continue;
      }
      for (const line of rows.split("\n").slice(0, -1)) {
        const space = line.indexOf(" ");
        onRow(line.slice(0, space) as SectionName, line.slice(space + 1));
      }
      return sequence;
    }
    return 0;
  }

  async cut(bounds: CutBounds): Promise<boolean> {
    await this.#pause();
    const intact = this.#intactSnapshots();
    const upTo = intact.length < snapshotsKept ? 0 : (intact.at(-1) ?? 0);
    let sequence = this.#cut.sequence;
    const last = Math.min(upTo, sequence + cutEntriesMax);
    while (sequence < last && this.#exceeds(bounds, sequence)) sequence += 1;
    if (sequence === this.#cut.sequence) return true;
    const mark = {
      sequence,
      atMs: this.#entries[sequence - 1]?.atMs ?? 0,
      checksum: this.#checksums[sequence - 1] ?? noChecksum,
    };
    const unfinished = this.#unfinished();
    await this.#step();
    this.#disk.write(unfinished, Buffer.from(printMark(this.id, mark)));
    await this.#step();
    this.#disk.sync(unfinished);
    await this.#step();
    this.#disk.rename(unfinished, cutFile);
    this.#cut = mark;
    await this.#pause();
    return sequence === upTo || !this.#exceeds(bounds, sequence);
  }

  size(): LogSize {
    const diskBytes = this.#disk.names.reduce((sum, name) => sum + this.#disk.read(name).length, 0);
    return { entriesBytes: this.#bytesAfter(this.#cut.sequence), diskBytes };
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #exceeds(bounds: CutBounds, sequence: number): boolean {
    const { beforeMs, bytesMax, neededSequence = Infinity } = bounds;
    const next = this.#entries[sequence];
    if (!next) return false;
    const isOld = next.atMs < beforeMs && next.sequence < neededSequence;
    return isOld || this.#bytesAfter(sequence) > bytesMax;
  }

  #bytesAfter(sequence: number): number {
    return this.#entries.slice(sequence).reduce((sum, { body }) => sum + body.length, 0);
  }

  /** Newest first. */
  #snapshots(): readonly number[] {
    return this.#disk.names
      .flatMap((name) => snapshotName.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((one, other) => other - one);
  }

  #intactSnapshots(): readonly number[] {
    const isIntact = (sequence: number): boolean => this.#readSnapshot(sequence) !== undefined;
    return this.#snapshots().filter(isIntact).slice(0, snapshotsKept);
  }

  /** Its rows; undefined if it is damaged. */
  #readSnapshot(sequence: number): string | undefined {
    const text = String(this.#disk.read(`${sequence}.snapshot`));
    const end = text.lastIndexOf("end ");
    const rows = text.slice(0, end);
    return text.slice(end) === `end ${hash("sha256", rows)}\n` ? rows : undefined;
  }

  /** A name of its own for each file that is being written. */
  #unfinished(): string {
    this.#begun += 1;
    return `unfinished-${this.#begun}`;
  }

  #seal(entries: readonly Entry[]): readonly Sealed[] {
    let previous = this.#lastChecksum;
    return entries.map((entry) => {
      const sealed = seal(entry, previous);
      previous = sealed.checksum;
      return sealed;
    });
  }

  #recover(): void {
    for (const name of this.#disk.names) {
      if (name.startsWith("unfinished")) this.#disk.delete(name);
    }
    const mark = String(this.#disk.read(cutFile));
    this.#cut = mark === "" ? nothingCut : (parseMark(this.id, mark) ?? assert.fail("a torn mark"));
    const bytes = this.#disk.read(file);
    let good = 0;
    for (;;) {
      const found = this.#readFrame(bytes, good);
      if (!found) break;
      for (const sealed of found.frame) {
        const entry = unseal(sealed);
        if (!entry) throw new LogError("too_new", `entry ${sealed.sequence} is of a later release`);
        this.#entries.push(entry);
        this.#checksums.push(sealed.checksum);
      }
      this.#lastChecksum = found.frame.at(-1)?.checksum ?? this.#lastChecksum;
      good = found.end;
    }
    if (good === bytes.length) return;
    this.warnings.push(`the last ${bytes.length - good} bytes were torn and have been dropped`);
    this.#disk.cut(file, good);
  }

  /** The frame that begins at a byte, if it is whole and follows on what came before. */
  #readFrame(
    bytes: Buffer,
    start: number,
  ): { readonly frame: readonly Sealed[]; readonly end: number } | undefined {
    const frame: Sealed[] = [];
    let previous = this.#lastChecksum;
    let from = start;
    for (;;) {
      const newline = bytes.indexOf("\n", from);
      if (newline < 0) return undefined;
      const line = bytes.toString("utf8", from, newline);
      from = newline + 1;
      if (line === commitLine(frame)) return { frame, end: from };
      const sealed = parseLine(line);
      const isNext = sealed?.sequence === this.#entries.length + frame.length + 1;
      if (!sealed || !isNext || sealed.previous !== previous || !isIntact(sealed)) return undefined;
      frame.push(sealed);
      previous = sealed.checksum;
    }
  }

  #step(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#later(() => {
        if (this.#fails()) reject(new LogError("cannot_write", "the simulated disk failed"));
        else resolve();
      });
    });
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#later(resolve));
  }
}

function printFrame(frame: readonly Sealed[]): Buffer {
  const lines = frame.map((sealed) => `${JSON.stringify(sealed)}\n`).join("");
  return Buffer.from(`${lines}${commitLine(frame)}\n`);
}

function commitLine(frame: readonly Sealed[]): string {
  return `commit ${frame.length} ${frame.at(-1)?.checksum ?? ""}`;
}

function parseLine(line: string): Sealed | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Sealed) : undefined;
  } catch {
    // A line that was torn: whoever reads the frame drops it.
    return undefined;
  }
}
