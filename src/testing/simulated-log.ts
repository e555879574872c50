/**
 * A log engine on a simulated disk, for storms of crashes. It stores what the real ones store, sealed
 * as theirs, and makes the same promise; it does so in many small steps, and the test decides when each
 * comes, and whether it comes at all.
 *
 * An append is one frame: a line for each entry, then a line that commits them. A last frame that is
 * not whole was never promised to anyone, and is dropped when the log is opened.
 */
import { hash } from "node:crypto";
import { printRow, type SectionName } from "../core/index.ts";
import { isIntact, noChecksum, type Sealed, seal, unseal } from "../log/entry.ts";
import { type Entry, type Log, LogError, type Snapshot } from "../log/index.ts";
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

export class SimulatedLog implements Log {
  readonly id: string;
  readonly isKept = true;
  readonly oldestSequence = 1;
  readonly warnings: string[] = [];
  readonly #disk: SimulatedDisk;
  readonly #later: (run: () => void) => void;
  readonly #fails: () => boolean;
  readonly #entries: Entry[] = [];
  #lastChecksum = noChecksum;

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
    this.#lastChecksum = sealed.at(-1)?.checksum ?? this.#lastChecksum;
    // It is durable now; that the caller learns of it is a step of its own.
    await this.#pause();
  }

  async read(afterSequence: number, limit: number): Promise<readonly Entry[]> {
    // Between asking and being told, the log may grow, before it is read and after.
    await this.#pause();
    const start = Math.max(0, afterSequence);
    const page = this.#entries.slice(start, start + limit);
    await this.#pause();
    return page;
  }

  async saveSnapshot({ sequence, sections }: Snapshot, signal?: AbortSignal): Promise<void> {
    const name = `${sequence}.snapshot`;
    const unfinished = "unfinished";
    const rows = sections.flatMap((section) =>
      section.rows.map((_, at) => `${section.name} ${printRow(section, at)}\n`),
    );
    const text = rows.join("");
    this.#disk.delete(unfinished);
    await this.#step();
    this.#disk.write(unfinished, Buffer.from(text));
    await this.#step();
    signal?.throwIfAborted();
    this.#disk.write(unfinished, Buffer.from(`end ${hash("sha256", text)}\n`));
    await this.#step();
    this.#disk.sync(unfinished);
    await this.#step();
    this.#disk.rename(unfinished, name);
    for (const old of this.#snapshots().slice(snapshotsKept)) {
      this.#disk.delete(`${old}.snapshot`);
    }
  }

  async loadSnapshot(onRow: (name: SectionName, row: string) => void): Promise<number> {
    for (const sequence of this.#snapshots()) {
      const text = String(this.#disk.read(`${sequence}.snapshot`));
      const end = text.lastIndexOf("end ");
      const rows = text.slice(0, end);
      if (text.slice(end) !== `end ${hash("sha256", rows)}\n`) {
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

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Newest first. */
  #snapshots(): readonly number[] {
    return this.#disk.names
      .flatMap((name) => snapshotName.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((one, other) => other - one);
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
    const bytes = this.#disk.read(file);
    let good = 0;
    for (;;) {
      const found = this.#readFrame(bytes, good);
      if (!found) break;
      for (const sealed of found.frame) {
        const entry = unseal(sealed);
        if (!entry) throw new LogError("too_new", `entry ${sealed.sequence} is of a later release`);
        this.#entries.push(entry);
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
