/**
 * Snapshots as files beside the database: `<sequence>.snapshot`, one row a line, written under another
 * name and renamed when complete. The last line has the checksum of all lines before it; a file without
 * it, or with a wrong one, is passed over for the one before.
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync, lstatSync, readdirSync } from "node:fs";
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { printRow, type SectionName } from "../core/index.ts";
import { limits } from "./limits.ts";
import type { Snapshot } from "./log.ts";

const format = 1;
const suffix = ".snapshot";
const snapshotName = /^([1-9]\d{0,15})\.snapshot$/;

export class SnapshotFiles {
  readonly #directory: string;
  /** What was found when each was verified, or known when it was written. */
  readonly #verified = new Map<number, boolean>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  async save({ sequence, sections }: Snapshot, signal?: AbortSignal): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const path = join(this.#directory, `${sequence}${suffix}`);
    // One name for all: what a crash leaves behind is overwritten by the next.
    const unfinished = join(this.#directory, "unfinished");
    const checksum = createHash("sha256");
    {
      await using file = await open(unfinished, "w", 0o600);
      const write = async (lines: string): Promise<void> => {
        checksum.update(lines);
        await file.appendFile(lines);
      };
      await write(`tipstaff snapshot ${format} ${sequence}\n`);
      for (const section of sections) {
        let index = 0;
        while (index < section.rows.length) {
          const until = performance.now() + limits.sliceMs;
          let lines = "";
          while (index < section.rows.length && performance.now() < until) {
            lines += `${section.name} ${printRow(section, index++)}\n`;
          }
          await write(lines);
          await turn();
          signal?.throwIfAborted();
        }
      }
      await file.appendFile(`end ${checksum.digest("hex")}\n`);
      await file.sync();
    }
    await rename(unfinished, path);
    await this.#syncDirectory();
    this.#verified.set(sequence, true);
    await this.#deleteOthers();
  }

  /** Newest first. What is no file, or is called otherwise, is not ours. */
  async sequences(): Promise<readonly number[]> {
    if (!existsSync(this.#directory)) return [];
    const found = await readdir(this.#directory, { withFileTypes: true });
    return found
      .flatMap((file) => (file.isFile() ? (snapshotName.exec(file.name)?.[1] ?? []) : []))
      .map(Number)
      .filter(Number.isSafeInteger)
      .sort((one, other) => other - one);
  }

  /**
   * What comes up to here may be forgotten: the older of the two newest that are intact. 0 as long as
   * there are not two: then everything is needed, should the one be damaged.
   */
  async covered(): Promise<number> {
    const intact = await this.#newestIntact();
    return intact.length < limits.snapshotsKept ? 0 : (intact.at(-1) ?? 0);
  }

  /** The sequence of the newest intact snapshot; 0 if there is no intact one. */
  async newestIntact(): Promise<number> {
    for (const sequence of await this.sequences()) {
      if (await this.isIntact(sequence)) return sequence;
    }
    return 0;
  }

  get bytes(): number {
    if (!existsSync(this.#directory)) return 0;
    let bytes = 0;
    for (const name of readdirSync(this.#directory)) {
      bytes += lstatSync(join(this.#directory, name), { throwIfNoEntry: false })?.size ?? 0;
    }
    return bytes;
  }

  /** For one that must never be used: what it was made of is no longer in the log. */
  async setAside(sequence: number): Promise<void> {
    const path = join(this.#directory, `${sequence}${suffix}`);
    await rename(path, `${path}.set-aside`);
    await this.#syncDirectory();
  }

  /** Reads the whole file once to verify it, and again to hand out its rows: nothing unverified is used. */
  async load(sequence: number, onRow: (name: SectionName, row: string) => void): Promise<boolean> {
    if (!(await this.isIntact(sequence))) return false;
    for await (const line of this.#lines(sequence)) {
      const space = line.indexOf(" ");
      const name = line.slice(0, space);
      if (name === "end") break;
      if (name !== "tipstaff") onRow(name as SectionName, line.slice(space + 1));
    }
    return true;
  }

  /** What cannot be read is as good as damaged. */
  async isIntact(sequence: number): Promise<boolean> {
    try {
      return await this.#verify(sequence);
    } catch {
      return false;
    }
  }

  /** Up to as many as are kept. Each is read once in the life of this process. */
  async #newestIntact(): Promise<readonly number[]> {
    const intact: number[] = [];
    for (const sequence of await this.sequences()) {
      if (intact.length === limits.snapshotsKept) break;
      const isIntact = this.#verified.get(sequence) ?? (await this.isIntact(sequence));
      this.#verified.set(sequence, isIntact);
      if (isIntact) intact.push(sequence);
    }
    return intact;
  }

  /** Only when as many as are kept are intact: until then, an older one may be the last resort. */
  async #deleteOthers(): Promise<void> {
    const intact = await this.#newestIntact();
    if (intact.length < limits.snapshotsKept) return;
    for (const sequence of await this.sequences()) {
      if (intact.includes(sequence)) continue;
      await rm(join(this.#directory, `${sequence}${suffix}`), { force: true });
      this.#verified.delete(sequence);
    }
  }

  async #verify(sequence: number): Promise<boolean> {
    if (!lstatSync(join(this.#directory, `${sequence}${suffix}`)).isFile()) return false;
    const checksum = createHash("sha256");
    let isFirst = true;
    for await (const line of this.#lines(sequence)) {
      if (isFirst && line !== `tipstaff snapshot ${format} ${sequence}`) return false;
      isFirst = false;
      if (line.startsWith("end ")) return line === `end ${checksum.digest("hex")}`;
      checksum.update(`${line}\n`);
    }
    return false;
  }

  /** Cut at line feeds and nowhere else: JSON may hold other characters that end a line for people. */
  async *#lines(sequence: number): AsyncGenerator<string> {
    const path = join(this.#directory, `${sequence}${suffix}`);
    let rest = "";
    for await (const chunk of createReadStream(path, "utf8")) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
  }

  async #syncDirectory(): Promise<void> {
    await using directory = await open(this.#directory, "r");
    await directory.sync();
  }
}
