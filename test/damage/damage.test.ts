/**
 * Damages every file of a data directory in many ways, and starts on it. Each start must either have every entry that
 * was acknowledged, or refuse, name the damaged file and leave the log as it is. A failure prints its seed, which is the whole reproduction.
 *
 * The test command tries 250 seeds. `DAMAGE_CASES=10000` tries that many.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, join, relative } from "node:path";
import { test } from "node:test";
import { capture, emptyState, evolve } from "../../src/core/index.ts";
import { type Entry, LogError, SqliteLog } from "../../src/log/index.ts";
import { recover } from "../../src/plane/recover.ts";
import { entries } from "../../src/testing/entries.ts";
import { Random } from "../../src/testing/random.ts";
import { temporaryDirectory } from "../../src/testing/temporary.ts";

const cases = Number(process.env["DAMAGE_CASES"] ?? 250);
const pageBytes = 4_096;
const walHeaderBytes = 32;
const walFrameBytes = 24 + pageBytes;
const streams = ["job/a", "job/b", "job/c"] as const;

/** A directory as a daemon left it, and what it had acknowledged. */
type Original = {
  readonly name: string;
  readonly path: string;
  readonly oldest: number;
  readonly acknowledged: readonly Entry[];
};

test(`of ${cases} damages to a data directory, none goes unnoticed`, async () => {
  await using place = await temporaryDirectory();
  const originals = [
    await prepare(join(place.path, "killed"), { closes: true, commits: 120, isKilled: true }),
    await prepare(join(place.path, "restarted"), { closes: false, commits: 420, isKilled: true }),
    await prepare(join(place.path, "closed"), { closes: true, commits: 60, isKilled: false }),
  ] as const;
  const copy = join(place.path, "copy");
  const outcomes = new Map<string, number>();
  const failures: string[] = [];
  const firstSeed = Number(process.env["DAMAGE_SEED"] ?? 1);
  for (let seed = firstSeed; seed < firstSeed + cases; seed++) {
    const random = new Random(seed);
    const original = random.pick(originals);
    rmSync(copy, { recursive: true, force: true });
    cpSync(original.path, copy, { recursive: true });
    const { file, how } = damage(copy, random);
    const isChanged = !readFileSync(file).equals(
      readFileSync(join(original.path, relative(copy, file))),
    );
    if (!isChanged) continue;
    const outcome = await start(copy, original, file);
    const name = /\d+\.snapshot/.test(file) ? "snapshot" : basename(file);
    const key = `${name} ${outcome.startsWith("FAILED") ? "FAILED" : outcome}`;
    outcomes.set(key, (outcomes.get(key) ?? 0) + 1);
    if (outcome.startsWith("FAILED")) {
      failures.push(`seed ${seed}: ${original.name}, ${basename(file)}, ${how}: ${outcome}`);
    }
  }
  const told = [...outcomes].sort().map(([outcome, count]) => `${outcome}: ${count}`);
  console.log(told.join("\n"));
  assert.deepEqual(failures, []);
  assert(told.length > 5, "damages of many kinds were tried");
});

/** Starts as the daemon does, and reads everything. */
async function start(path: string, original: Original, damaged: string): Promise<string> {
  const before = readLogFiles(path);
  try {
    await using log = SqliteLog.open(path);
    const { state } = await recover(log);
    const { acknowledged, oldest } = original;
    const last = acknowledged.at(-1)?.sequence ?? 0;
    if (log.lastSequence !== last || state.lastSequence !== last) {
      return `FAILED: ends at ${log.lastSequence}, not ${last}`;
    }
    const kept = acknowledged.filter(({ sequence }) => sequence >= oldest);
    const read: Entry[] = [];
    while (read.length < kept.length) {
      const more = await log.read(read.at(-1)?.sequence ?? 0, 1_000);
      if (more.length === 0) break;
      read.push(...more);
    }
    if (!isSame(read, kept)) return "FAILED: entries are missing or different";
    for (const stream of streams) {
      const found: Entry[] = [];
      for (;;) {
        const more = await log.readStream(stream, found.at(-1)?.sequence ?? 0, 1_000);
        if (more.length === 0) break;
        found.push(...more);
      }
      const wanted = kept.filter((entry) => entry.stream === stream);
      if (!isSame(found, wanted)) return `FAILED: entries of ${stream} are missing or different`;
    }
    return log.warnings.length > 0 ? "opened with a warning" : "opened";
  } catch (error) {
    if (!(error instanceof LogError)) return `FAILED: ${error}`;
    const isNamed = error.message.includes(`/${basename(damaged)}`);
    if (!isNamed) return `FAILED: does not name the file: ${error.code} ${error.message}`;
    // The entries that could still be rescued are there as before.
    const isUnchanged = readLogFiles(path).every((bytes, at) => bytes.equals(before[at] ?? bytes));
    return isUnchanged ? "refused" : "FAILED: refused, and the files of the log were changed";
  }
}

function readLogFiles(directory: string): readonly Buffer[] {
  return ["log.db", "log.db-wal"].map((name) => {
    const path = join(directory, name);
    return existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  });
}

function isSame(read: readonly Entry[], wanted: readonly Entry[]): boolean {
  return (
    read.length === wanted.length &&
    read.every(({ sequence, body }, at) => {
      const other = wanted[at];
      return other?.sequence === sequence && other.body === body;
    })
  );
}

function damage(
  directory: string,
  random: Random,
): { readonly file: string; readonly how: string } {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((found) => found.isFile())
    .map((found) => join(found.parentPath, found.name));
  // Most damages are to the database and to its write-ahead log, of whose damages SQLite says nothing.
  const ending = random.pick(["-wal", ".db", ""] as const);
  const chosen = files.filter((found) => found.endsWith(ending) && !found.endsWith("lock.db"));
  const file = random.pickAny(chosen) ?? random.pickAny(files);
  assert(file);
  const size = statSync(file).size;
  const bytes = readFileSync(file);
  if (size === 0) {
    writeFileSync(file, "garbage".repeat(1 + random.below(1_000)));
    return { file, how: "garbage in an empty file" };
  }
  const kind = random.pick(["bit", "bytes", "zeros", "truncation", "emptied", "swap"] as const);
  const at = random.below(size);
  switch (kind) {
    case "bit":
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      break;
    case "bytes":
      for (let next = at; next < Math.min(size, at + 8); next++) bytes[next] = random.below(256);
      break;
    case "zeros":
      bytes.fill(0, at, Math.min(size, at + random.between(1, pageBytes)));
      break;
    case "truncation":
      truncateSync(file, at);
      return { file, how: `cut at byte ${at} of ${size}` };
    case "emptied":
      truncateSync(file, 0);
      return { file, how: "emptied" };
    case "swap": {
      const isWal = file.endsWith("-wal");
      const [header, step] = isWal ? [walHeaderBytes, walFrameBytes] : [0, pageBytes];
      const pages = Math.floor((size - header) / step);
      if (pages < 2) break;
      const [one, other] = [random.below(pages), random.below(pages)].map((n) => header + n * step);
      const page = Buffer.from(bytes.subarray(one, (one ?? 0) + step));
      bytes.copy(bytes, one, other, (other ?? 0) + step);
      page.copy(bytes, other);
      break;
    }
  }
  writeFileSync(file, bytes);
  return { file, how: `${kind} at byte ${at} of ${size}` };
}

async function prepare(
  path: string,
  how: { readonly closes: boolean; readonly commits: number; readonly isKilled: boolean },
): Promise<Original> {
  const working = `${path}-working`;
  mkdirSync(working);
  writeFileSync(join(working, "token"), "a-token-that-nobody-knows\n");
  const random = new Random(20_264);
  const acknowledged: Entry[] = [];
  const append = async (log: SqliteLog, commits: number): Promise<void> => {
    for (let commit = 0; commit < commits; commit++) {
      const first = log.lastSequence + 1;
      const isLarge = random.below(12) === 0;
      const text = "x".repeat(random.below(isLarge ? 9_000 : 300));
      const stream = random.pick([undefined, undefined, ...streams]);
      const batch = entries(first, first + random.below(4), { text, ...(stream && { stream }) });
      await log.append(batch, log.lastSequence);
      acknowledged.push(...batch);
    }
  };
  let log = SqliteLog.open(working);
  await append(log, 150);
  for (const part of [3, 2]) {
    const sequence = Math.floor(log.lastSequence / part);
    const state = emptyState();
    for (const { event } of acknowledged.slice(0, sequence)) evolve(state, event);
    await log.saveSnapshot({ sequence, sections: capture(state) });
  }
  const cutBefore = entries(60, 60)[0]?.atMs ?? 0;
  while (!(await log.cut({ beforeMs: cutBefore, bytesMax: 1e9 })));
  if (how.closes) {
    await log[Symbol.asyncDispose]();
    log = SqliteLog.open(working);
  }
  await append(log, how.commits);
  if (!how.isKilled) await log[Symbol.asyncDispose]();
  // In another process: closing a file here would drop the locks that SQLite holds on it.
  execFileSync("cp", ["-r", working, path]);
  const oldest = log.oldestSequence;
  if (how.isKilled) await log[Symbol.asyncDispose]();
  return { name: basename(path), path, oldest, acknowledged };
}
