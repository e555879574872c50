/**
 * Programs that tests need, prepared once and stored below `node_modules/.cache/tipstaff`. Each one is made in a
 * private directory, which is renamed when it is complete. So an interrupted run leaves no incomplete program
 * behind, and test files that run at the same time do not write into the same directory. A process waits for a program
 * that another process is making.
 */
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export type Program = {
  /** The start of the directory's name. */
  readonly name: string;
  /** Identifies the content. Each version is made in its own directory. */
  readonly version: string;
  /** Fills the private directory. Paths inside must not depend on its name. */
  readonly make: (directory: string) => Promise<void>;
};

/** By directory: tests of one file may need the same program at the same time. */
const underWay = new Map<string, Promise<string>>();

/** The directory that holds the program. Rejects if it cannot be made. */
export function cached(program: Program): Promise<string> {
  const { name, version } = program;
  const digest = createHash("sha256").update(version).digest("hex").slice(0, 12);
  const directory = resolve("node_modules/.cache/tipstaff", `${name}-${digest}`);
  const known = underWay.get(directory) ?? ensure(directory, program);
  underWay.set(directory, known);
  return known;
}

/** A process that makes a program touches its private directory this often. */
const touchMs = 1_000;
/** A private directory that was not touched for so long belongs to a process that has ended. */
const abandonedMs = 60_000;

async function ensure(directory: string, { make }: Program): Promise<string> {
  while (!existsSync(directory) && isBeingMade(directory)) await sleep(100);
  if (existsSync(directory)) return directory;
  const making = `${directory}.${process.pid}`;
  const touching = setInterval(() => utimesSync(making, new Date(), new Date()), touchMs).unref();
  try {
    mkdirSync(making, { recursive: true });
    await make(making);
    move(making, directory);
    return directory;
  } finally {
    clearInterval(touching);
    rmSync(making, { recursive: true, force: true });
  }
}

/** By another process. Deletes what a process that has ended left behind. */
function isBeingMade(directory: string): boolean {
  const others = globSync(`${directory}.*`).filter((making) => !making.endsWith(`.${process.pid}`));
  return others.some((making) => {
    const touchedAtMs = statSync(making, { throwIfNoEntry: false })?.mtimeMs;
    if (touchedAtMs === undefined) return false;
    if (touchedAtMs > Date.now() - abandonedMs) return true;
    rmSync(making, { recursive: true, force: true });
    return false;
  });
}

/** The first of several processes wins. Theirs has the same content as ours. */
function move(making: string, directory: string): void {
  try {
    renameSync(making, directory);
  } catch (cause) {
    if (!existsSync(join(directory, "."))) throw cause;
  }
}
