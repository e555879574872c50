/**
 * One writes, whoever holds the lock: a file with the holder's process in it, that hooks can read without
 * starting anything. Its time of change lies ahead: until then it is good, so that a number that was given to
 * another process does not pass for a writer for long, where the system does not say when one started.
 *
 * Should two ever hold it, because a dead holder was taken away by both at once, they write the same files
 * under the same names, each whole; the one whose name is not in the lock notices at its next heartbeat.
 */
import { linkSync, renameSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { readWhole, removeFile } from "./files.ts";
import { limits } from "./limits.ts";
import { type Identity, identify, isAlive } from "./processes.ts";

/** A daemon writes as long as it runs; a shared writer makes way for it. */
export type WriterKind = "daemon" | "shared";

export type Holder = Identity & { readonly kind: WriterKind };

export class Lock {
  readonly #path: string;
  readonly #line: string;

  constructor(path: string, kind: WriterKind) {
    this.#path = path;
    const { pid, start } = identify(process.pid) ?? { pid: process.pid, start: "" };
    // The hook reads words: a start that nobody knows is a dash.
    this.#line = `${pid} ${start || "-"} ${kind}\n`;
  }

  /** Whether it is ours now. Throws what the system says if the directory is not to be written to. */
  tryTake(): boolean {
    if (this.isOurs() || create(this.#path, this.#line)) {
      this.renew();
      return true;
    }
    if (this.holder()) return false;
    this.#bury();
    if (!create(this.#path, this.#line)) return false;
    this.renew();
    return true;
  }

  /** Who holds it and lives; undefined if nobody does. */
  holder(): Holder | undefined {
    return readHolder(this.#path);
  }

  isOurs(): boolean {
    return read(this.#path) === this.#line;
  }

  renew(): void {
    try {
      const untilS = (Date.now() + limits.leaseMs) / 1000;
      utimesSync(this.#path, untilS, untilS);
    } catch {
      // Taken from us: `isOurs` says so.
    }
  }

  release(): void {
    if (this.isOurs()) removeFile(this.#path);
  }

  /** Takes the dead holder's file away, and puts it back should it not be his any more. */
  #bury(): void {
    const grave = `${this.#path}.${process.pid}.dead`;
    try {
      renameSync(this.#path, grave);
      if (readHolder(grave)) linkSync(grave, this.#path);
    } catch {
      // Somebody else was faster.
    }
    removeFile(grave);
  }
}

export function readHolder(path: string): Holder | undefined {
  const [, pid, start, kind] = /^(\d+) (\S+) (daemon|shared)\n$/.exec(read(path)) ?? [];
  if (pid === undefined || start === undefined) return undefined;
  const identity = { pid: Number(pid), start: start === "-" ? "" : start };
  if (!isAlive(identity) || (start === "-" && !isGood(path))) return undefined;
  return { ...identity, kind: kind === "daemon" ? "daemon" : "shared" };
}

function isGood(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= Date.now();
}

function read(path: string): string {
  return readWhole(path, limits.headBytesMax)?.toString() ?? "";
}

/** Whole from the first moment, unless the file system has no second names for a file. */
function create(path: string, text: string): boolean {
  const own = `${path}.${process.pid}`;
  try {
    writeFileSync(own, text, { mode: 0o600 });
    linkSync(own, path);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") return false;
    // Without its line in it, the lock would be nobody's.
    if (code === "ENOSPC" || code === "EDQUOT") throw error;
  } finally {
    removeFile(own);
  }
  try {
    writeFileSync(path, text, { mode: 0o600, flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
