/**
 * How a bench gets its numbers: percentiles, a timed loop, and the disk's own speed to hold them
 * against. Nothing here knows what is being measured.
 */
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

/** A row of the table as it stands: columns by name, with their units. */
export type Measured = {
  readonly "per second": number;
  readonly "p50 ms": number;
  readonly "p99 ms": number;
  readonly "max ms": number;
};

export type MeasureOptions = {
  readonly seconds: number;
  /** How long to run before counting, so that the compiler has done its work. */
  readonly warmUpSeconds?: number;
  /** How many operations one call does. Raise it until a call outlasts reading the clock by far. */
  readonly operations?: number;
};

/** Calls `work` again and again, one at a time, and times each call. */
export async function measure(
  work: () => void | Promise<void>,
  { seconds, warmUpSeconds = 2, operations = 1 }: MeasureOptions,
): Promise<Measured> {
  await repeat(work, warmUpSeconds);
  const { durationsMs, elapsedMs } = await repeat(work, seconds);
  const spread = spreadOf(durationsMs);
  return {
    "per second": (durationsMs.length * operations * 1000) / elapsedMs,
    "p50 ms": spread.p50 / operations,
    "p99 ms": spread.p99 / operations,
    "max ms": spread.max / operations,
  };
}

async function repeat(
  work: () => void | Promise<void>,
  seconds: number,
): Promise<{ durationsMs: number[]; elapsedMs: number }> {
  const durationsMs: number[] = [];
  const start = performance.now();
  let now = start;
  while (now - start < seconds * 1000) {
    const pending = work();
    // Awaiting what is no promise would cost a turn of the loop for each call.
    if (pending instanceof Promise) await pending;
    const after = performance.now();
    durationsMs.push(after - now);
    now = after;
  }
  return { durationsMs, elapsedMs: now - start };
}

export type Spread = { readonly p50: number; readonly p99: number; readonly max: number };

export function spreadOf(values: readonly number[]): Spread {
  const sorted = Float64Array.from(values).sort();
  return { p50: rank(sorted, 0.5), p99: rank(sorted, 0.99), max: rank(sorted, 1) };
}

export function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const upper = Math.floor(sorted.length / 2);
  if (sorted.length % 2 === 1) return sorted[upper] ?? Number.NaN;
  return ((sorted[upper - 1] ?? Number.NaN) + (sorted[upper] ?? Number.NaN)) / 2;
}

/** The smallest value that at least this share of all values does not exceed. */
function rank(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** Enough for a p99; short of a second on a disk that takes 4 ms for each. */
const probeWrites = 200;

/**
 * What one durable write costs on the file system of `directory` just now, in milliseconds: append
 * a page to a file, wait until the disk has it. Run it between rounds. When it moves, it was the disk
 * and not the program.
 */
export function probeFsync(directory: string): Spread {
  const path = join(directory, "fsync-probe");
  const page = Buffer.alloc(4096, "tipstaff ");
  const file = openSync(path, "w");
  try {
    const durationsMs: number[] = [];
    for (let written = 0; written < probeWrites; written++) {
      const start = performance.now();
      writeSync(file, page);
      fdatasyncSync(file);
      durationsMs.push(performance.now() - start);
    }
    return spreadOf(durationsMs);
  } finally {
    closeSync(file);
    rmSync(path);
  }
}
