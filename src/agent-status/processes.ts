/**
 * Whether the process that a record names is alive: a hint, and only where it can be proven. Process numbers
 * are used again, and those of other machines and containers mean nothing here. It can be proven where all
 * processes that may have written the file are in sight: on Linux, outside of containers, for a file on a
 * local disk, if no process in a container has that number there.
 */
import { readdirSync, readFileSync, readlinkSync, statfsSync, statSync } from "node:fs";
import { type StatusRecord, updatedAtMs } from "../wire/status-file/index.ts";
import { limits } from "./limits.ts";

export class Processes {
  readonly #directory: string;
  /** Numbers that processes have inside of containers. */
  readonly #inside: Set<number> = new Set();
  /** Whose they are, by their number; looked for when they are first asked for. Null: not all are in sight. */
  #owners: ReadonlyMap<number, number> | null | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Null: nobody can tell. */
  isAlive(path: string, record: StatusRecord): boolean | null {
    const { pid } = record.runtime;
    if (pid === undefined) return null;
    this.#owners ??= isLocal(this.#directory) && seesAll() ? this.#look() : null;
    if (!this.#owners || this.#inside.has(pid)) return null;
    try {
      const owner = this.#owners.get(pid);
      if (owner === undefined) return false;
      // Another user's process; if ours is dead, its number has been given away.
      if (owner !== statSync(path).uid) return false;
      return startOf(pid) <= updatedAtMs(record) + limits.coarseTimesMs;
    } catch {
      // Record or process went away while we looked.
      return null;
    }
  }

  #look(): ReadonlyMap<number, number> | null {
    const owners = new Map<number, number>();
    try {
      for (const name of readdirSync("/proc")) {
        if (!/^\d+$/.test(name)) continue;
        const [pid = 0, ...inside] = this.#note(name, owners);
        for (const number of inside) if (number !== pid) this.#inside.add(number);
      }
      return owners;
    } catch {
      return null;
    }
  }

  /** Its numbers, ours first. */
  #note(name: string, owners: Map<number, number>): readonly number[] {
    try {
      const text = readFileSync(`/proc/${name}/status`, "latin1");
      const owner = /^Uid:\s+\d+\s+(\d+)/m.exec(text)?.[1];
      const numbers = /^NSpid:([\s\d]+)$/m.exec(text)?.[1]?.trim().split(/\s+/).map(Number) ?? [];
      owners.set(Number(name), Number(owner));
      return numbers;
    } catch {
      // It has just ended.
      return [];
    }
  }
}

/** Types of file systems that no other machine writes to. */
const localTypes: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x5846_5342, // XFS
  0x9123_683e, // Btrfs
  0x0102_1994, // tmpfs
  0x2fc1_2fc1, // ZFS
  0xf2f5_2010, // F2FS
  0x794c_7630, // overlay
]);

function isLocal(directory: string): boolean {
  if (process.platform !== "linux") return false;
  try {
    return localTypes.has(statfsSync(directory).type);
  } catch {
    return false;
  }
}

/** The first of all process namespaces, in which all others are seen, has this number on every Linux. */
function seesAll(): boolean {
  try {
    return readlinkSync("/proc/self/ns/pid") === "pid:[4026531836]";
  } catch {
    return false;
  }
}

let bootedAtMs: number | undefined;

function startOf(pid: number): number {
  bootedAtMs ??= Number(/^btime (\d+)$/m.exec(readFileSync("/proc/stat", "latin1"))?.[1]) * 1_000;
  const text = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The second field is a name in parentheses, in which anything may stand.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  // Field 22, in hundredths of a second, whatever the kernel itself counts in.
  return bootedAtMs + Number(fields[19]) * 10;
}
