/**
 * Snapshots as files beside the database: `<sequence>.snapshot`, one row a line, written under another
 * name and renamed when complete. The last line has the checksum of all lines before it; a file without
 * it, or with a wrong one, is passed over for the one before.
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync, lstatSync } from "node:fs";
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { printRow, type SectionName } from "../core/index.ts";
import { limits } from "./limits.ts";
import type { Snapshot } from "./log.ts";

const format = 1;
const suffix = ".snapshot";

export class SnapshotFiles {
  readonly #directory: string;

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
    for (const old of (await this.sequences()).slice(limits.snapshotsKept)) {
      await rm(join(this.#directory, `${old}${suffix}`));
    }
  }

  /** Newest first. */
  async sequences(): Promise<readonly number[]> {
    if (!existsSync(this.#directory)) return [];
    const names = await readdir(this.#directory);
    return names
      .flatMap((name) => /^([1-9]\d{0,15})\.snapshot$/.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((one, other) => other - one);
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
