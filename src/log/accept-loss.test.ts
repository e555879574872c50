import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
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
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { capture, emptyState, evolve } from "../core/index.ts";
import { Child } from "../testing/child.ts";
import { entries } from "../testing/entries.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../testing/temporary.ts";
import { unprivileged } from "../testing/unprivileged.ts";
import { acceptLoss } from "./accept-loss.ts";
import type { LogError } from "./log.ts";
import { SqliteLog } from "./sqlite.ts";
import { verifyLog } from "./verify.ts";

const pageBytes = 4_096;
const nowMs = Date.parse("2030-01-02T03:04:05Z");

test("of a log in which nothing is damaged, nothing is given up", async () => {
  await using place = await written(20, [5, 10]);
  assert.equal(await acceptLoss(place.path, nowMs), undefined);
  await using log = SqliteLog.open(place.path);
  assert.deepEqual(await log.read(0, 99), entries(1, 20));
});

test("entries that are missing at the end are given up, recorded, and their numbers used again under another id", async () => {
  await using place = await written(20, [5, 10]);
  const before = SqliteLog.open(place.path);
  const { id } = before;
  await before[Symbol.asyncDispose]();
  edit(place.path, "delete from entries where sequence > 15");
  assert.throws(() => SqliteLog.open(place.path), { code: "damaged" });
  const accepted = await acceptLoss(place.path, nowMs);
  assert.deepEqual(accepted?.lost, { first: 16, last: 20 });
  assert.equal(accepted.history, undefined);
  assert(existsSync(join(accepted.originals, "durable.mark")));
  assert.equal(statSync(join(place.path, "log.db")).mode & 0o777, 0o600);
  {
    await using log = SqliteLog.open(place.path);
    assert.deepEqual(log.warnings, []);
    assert.notEqual(log.id, id);
    assert.deepEqual(await log.read(0, 99), entries(1, 15));
    await log.append(entries(16, 18), 15);
  }
  const { problems, warnings } = await verifyLog(place.path, () => {});
  assert.deepEqual(problems, []);
  assert.deepEqual(warnings, [
    "entries 16 to 20 were damaged or missing, and given up at 2030-01-02T03:04:05.000Z",
  ]);
});

test("a damaged entry before a snapshot costs history only", async () => {
  await using place = await written(20, [5, 10]);
  edit(place.path, "update entries set body = 'torn' where sequence = 7");
  const accepted = await acceptLoss(place.path, nowMs);
  assert.deepEqual(accepted?.history, { first: 1, last: 7 });
  assert.equal(accepted.lost, undefined);
  await using log = SqliteLog.open(place.path);
  assert.deepEqual([log.oldestSequence, log.lastSequence, log.warnings], [8, 20, []]);
  assert.equal(await log.loadSnapshot(() => {}), 10);
  await log.checkHistory(10);
  assert.deepEqual(await log.read(7, 99), entries(8, 20));
  assert.deepEqual((await verifyLog(place.path, () => {})).problems.slice(0, 1), [
    "entries that snapshot 5 needs were cut, up to 7",
  ]);
});

test("a damaged entry after the newest snapshot costs everything from there on", async () => {
  await using place = await written(20, [5, 10]);
  edit(place.path, "update entries set body = 'torn' where sequence in (8, 13)");
  const accepted = await acceptLoss(place.path, nowMs);
  assert.deepEqual(
    [accepted?.history, accepted?.lost],
    [
      { first: 1, last: 8 },
      { first: 13, last: 20 },
    ],
  );
  await using log = SqliteLog.open(place.path);
  assert.deepEqual([log.oldestSequence, log.lastSequence, log.warnings], [9, 12, []]);
  assert.deepEqual(await log.read(8, 99), entries(9, 12));
});

test("what a snapshot has is kept although the entries before and after it are lost", async () => {
  await using place = await written(20, [5, 10]);
  edit(place.path, "delete from entries where sequence > 3");
  const accepted = await acceptLoss(place.path, nowMs);
  assert.deepEqual(
    [accepted?.history, accepted?.lost],
    [
      { first: 1, last: 10 },
      { first: 11, last: 20 },
    ],
  );
  {
    await using log = SqliteLog.open(place.path);
    assert.deepEqual([log.lastSequence, log.warnings], [10, []]);
    assert.equal(await log.loadSnapshot(() => {}), 10);
    await log.append(entries(11, 12), 10);
  }
  await using log = SqliteLog.open(place.path);
  assert.deepEqual(await log.read(10, 99), entries(11, 12));
});

test("a snapshot of lost entries is never used again", async () => {
  await using place = await written(20, [5, 20]);
  truncateSync(join(place.path, "snapshots", "20.snapshot"), 30);
  edit(place.path, "update entries set body = 'torn' where sequence = 18");
  await acceptLoss(place.path, nowMs);
  assert.deepEqual(readdirSync(join(place.path, "snapshots")).sort(), [
    "20.snapshot.set-aside",
    "5.snapshot",
  ]);
});

test("a log that ends before its snapshot is usable again, also without a mark", async () => {
  await using place = await written(20, [5, 18]);
  edit(place.path, "delete from entries where sequence > 15");
  rmSync(join(place.path, "durable.mark"));
  const accepted = await acceptLoss(place.path, nowMs);
  assert.deepEqual(accepted?.history, { first: 1, last: 18 });
  assert.equal(accepted.lost, undefined);
  await using log = SqliteLog.open(place.path);
  assert.equal(await log.loadSnapshot(() => {}), 18);
  assert.deepEqual([log.lastSequence, log.warnings], [18, []]);
});

test("without a mark, everything after the damage in a write-ahead log is given up, and that is recorded", async () => {
  await using place = await killed();
  rmSync(join(place.path, "durable.mark"));
  spoilWal(place.path);
  const accepted = await acceptLoss(place.path, nowMs);
  const last = accepted?.lostAfter ?? 0;
  assert(last > 20 && last < 60);
  assert.equal(accepted?.lost, undefined);
  {
    await using log = SqliteLog.open(place.path);
    assert.deepEqual(await log.read(0, 99), entries(1, last));
  }
  const { problems, warnings } = await verifyLog(place.path, () => {});
  assert.deepEqual(problems, []);
  assert.deepEqual(warnings, [
    `all entries after ${last}, whose number is not known, were damaged, and given up at 2030-01-02T03:04:05.000Z`,
  ]);
  const other = await acceptLoss(place.path, nowMs);
  assert.equal(other, undefined, "once is enough");
});

test("the mark of another log does not say what this one has lost", async () => {
  await using place = await written(10, []);
  await using other = await written(30, []);
  copyFileSync(join(other.path, "durable.mark"), join(place.path, "durable.mark"));
  const accepted = await acceptLoss(place.path, nowMs);
  assert.deepEqual(Object.keys(accepted ?? {}), ["originals"]);
  await using log = SqliteLog.open(place.path);
  assert.deepEqual(await log.read(0, 99), entries(1, 10));
});

test("whatever page of the database is damaged, the log is usable again or left as it was", async () => {
  await using place = await written(150, [40, 90]);
  await using other = await temporaryDirectory();
  const copy = join(other.path, "copy");
  const pages = statSync(join(place.path, "log.db")).size / pageBytes;
  let repaired = 0;
  let refused = 0;
  for (let page = 0; page < pages; page++) {
    for (const spoil of [zero, swapWithNext]) {
      cpSync(place.path, copy, { recursive: true });
      const path = join(copy, "log.db");
      const bytes = readFileSync(path);
      spoil(bytes, page * pageBytes);
      writeFileSync(path, bytes);
      const before = contentOf(copy);
      const outcome = await acceptLoss(copy, nowMs).catch((error: LogError) => error.code);
      if (typeof outcome === "string") {
        assert.equal(outcome, "damaged");
        assert.deepEqual(contentOf(copy), before, `page ${page}`);
        refused += 1;
      } else {
        await using log = SqliteLog.open(copy);
        await log.checkHistory(log.lastSequence);
        const { oldestSequence, lastSequence } = log;
        const read = await log.read(oldestSequence - 1, 200);
        assert.deepEqual(read, entries(oldestSequence, lastSequence), `page ${page}`);
        assert(lastSequence >= 90, "the snapshot has the others");
        repaired += 1;
      }
      rmSync(copy, { recursive: true });
    }
  }
  assert(repaired > 10 && refused > 1, `${repaired} repaired, ${refused} refused`);
});

test("a log that SQLite cannot read needs a backup, and is left as it was", async () => {
  await using place = await killed();
  truncateSync(join(place.path, "log.db"), 5_000);
  spoilWal(place.path);
  const before = contentOf(place.path);
  await assert.rejects(acceptLoss(place.path, nowMs), {
    code: "damaged",
    message:
      /log\.db cannot be read: .*\. Nothing was changed; restore the directory from a backup/,
  });
  assert.deepEqual(contentOf(place.path), before);
});

test("a log in use, or of a later release, is left alone", async () => {
  await using place = await written(20, []);
  {
    await using _log = SqliteLog.open(place.path);
    await assert.rejects(acceptLoss(place.path, nowMs), { code: "in_use" });
  }
  edit(place.path, "pragma user_version = 99; update entries set checksum = 'of another kind'");
  const before = contentOf(place.path);
  await assert.rejects(acceptLoss(place.path, nowMs), { code: "too_new" });
  assert.deepEqual(contentOf(place.path), before);
});

test("wherever it is killed, a start is refused until it was run again, and then all is as if it was not", {
  skip: process.platform !== "linux" && "system calls are traced on Linux only",
}, async () => {
  await using place = await temporaryDirectory();
  const data = join(place.path, "data");
  const images = join(place.path, "images");
  {
    await using source = await killed();
    cpSync(source.path, data, { recursive: true });
  }
  rmSync(join(data, "durable.mark"));
  spoilWal(data);
  writeFileSync(join(data, "snapshots", "59.snapshot"), "nonsense");
  const originals = contentOf(data);
  mkdirSync(images);
  const tracer = fileURLToPath(new URL("../testing/trace.py", import.meta.url));
  const args = [tracer, join(place.path, "trace.txt"), "--images", data, images];
  await using child = new Child(accepting(data), { command: "python3", args });
  const [line = ""] = await child.rest();
  const { originals: _, ...loss } = JSON.parse(line);
  assert(loss.lostAfter > 20);
  const expected = entries(1, loss.lostAfter);

  const states = { untouched: 0, unfinished: 0, finished: 0 };
  for (const image of [...readdirSync(images).map((name) => join(images, name)), data]) {
    const isUnfinished = existsSync(join(image, "accepted-loss.db"));
    const isFinished =
      !isUnfinished && readdirSync(image).some((name) => name.startsWith("damaged-"));
    states[isUnfinished ? "unfinished" : isFinished ? "finished" : "untouched"] += 1;
    if (!isFinished) {
      const file = isUnfinished
        ? /accepted-loss\.db was left by .*: run it again/
        : /log\.db-wal is damaged/;
      assert.throws(() => SqliteLog.open(image), { code: "damaged", message: file });
      const again = await acceptLoss(image, nowMs + 1);
      assert.deepEqual(again, { ...loss, originals: again?.originals });
    }
    const { problems, warnings } = await verifyLog(image, () => {});
    assert.deepEqual([problems, warnings.length], [[], 1]);
    await using log = SqliteLog.open(image);
    assert.deepEqual(await log.read(0, 99), expected);
    assert.deepEqual(log.warnings, []);
    const aside = readdirSync(image).filter((name) => name.startsWith("damaged-"));
    assert.equal(aside.length, 1);
    assert.deepEqual(contentOf(join(image, aside[0] ?? "")), originals);
    assert(!existsSync(join(image, "snapshots", "59.snapshot")));
    assert(!existsSync(join(image, "unfinished.db")));
  }
  assert(
    states.untouched > 5 && states.unfinished > 5 && states.finished > 1,
    JSON.stringify(states),
  );
});

test("in a directory that may not be written, nothing changes, and it can be run again", async () => {
  await using place = await killed();
  spoilWal(place.path);
  const before = contentOf(place.path);
  const missing = join(place.path, "missing");
  await assert.rejects(acceptLoss(missing, nowMs), { code: "unusable", message: /cannot lock/ });
  await unprivileged(place.path, async () => {
    chmodSync(place.path, 0o500);
    await assert.rejects(acceptLoss(place.path, nowMs), {
      code: "cannot_write",
      message:
        /cannot repair the log in .*; solve that, and run tipstaff doctor --accept-loss again/,
    });
  });
  chmodSync(place.path, 0o700);
  assert.deepEqual(contentOf(place.path), before);
  assert.equal((await acceptLoss(place.path, nowMs))?.lost?.last, 60);
});

test("if the disk is full, nothing changes, and it can be run again", async () => {
  await using place = await killed();
  spoilWal(place.path);
  const before = contentOf(place.path);
  // No file may grow beyond so many blocks of 512 bytes: the kernel refuses the write, as a full disk would.
  for (const blocks of [2, 8, 16, 32]) {
    const args = ["-c", `trap "" XFSZ; ulimit -f ${blocks}; exec "$@"`, "sh"];
    await using child = new Child(accepting(place.path), { command: "sh", args });
    const [line] = await child.rest();
    assert.match(line ?? "", /^cannot_write cannot repair the log in .*; solve that, and run/);
    assert.deepEqual(contentOf(place.path), before);
    assert(!existsSync(join(place.path, "unfinished.db")));
  }
  await using child = new Child(accepting(place.path));
  assert.match((await child.rest())[0] ?? "", /"lost":\{"first":\d+,"last":60\}/);
});

/** Accepts the loss in another process, and prints how that went. */
function accepting(path: string): string {
  return `
    import { acceptLoss } from ${JSON.stringify(new URL("./accept-loss.ts", import.meta.url).href)};
    const accepted = acceptLoss(${JSON.stringify(path)}, ${nowMs});
    console.log(await accepted.then(JSON.stringify, ({ code, message }) => code + " " + message));`;
}

/** A directory with a log of so many entries and snapshots at some of them, closed. */
async function written(count: number, snapshots: readonly number[]): Promise<TemporaryDirectory> {
  const place = await temporaryDirectory();
  await using log = SqliteLog.open(place.path);
  await log.append(entries(1, count), 0);
  for (const sequence of snapshots) {
    const state = emptyState();
    for (const { event } of entries(1, sequence)) evolve(state, event);
    await log.saveSnapshot({ sequence, sections: capture(state) });
  }
  return place;
}

/** A directory as a killed daemon leaves it: entries 1 to 20 are in the database, 21 to 60 in the write-ahead log. */
async function killed(): Promise<TemporaryDirectory> {
  await using source = await written(20, [5, 10]);
  await using log = SqliteLog.open(source.path);
  for (let last = 20; last < 60; last++) await log.append(entries(last + 1, last + 1), last);
  const place = await temporaryDirectory();
  // In another process: closing a file here would drop the locks that SQLite holds on it.
  execFileSync("cp", ["-r", `${source.path}/.`, place.path]);
  return place;
}

/** Damages the write-ahead log in its middle. */
function spoilWal(path: string): void {
  const bytes = readFileSync(join(path, "log.db-wal"));
  bytes.fill(0x5a, bytes.length >> 1, (bytes.length >> 1) + 8);
  writeFileSync(join(path, "log.db-wal"), bytes);
}

function zero(bytes: Buffer, at: number): void {
  bytes.fill(0, at, at + pageBytes);
}

function swapWithNext(bytes: Buffer, at: number): void {
  const page = Buffer.from(bytes.subarray(at, at + pageBytes));
  bytes.copy(bytes, at, at + pageBytes, at + 2 * pageBytes);
  page.copy(bytes, Math.min(at + pageBytes, bytes.length - pageBytes));
}

/** The files that have the log, by their names. SQLite makes an empty write-ahead log even to read. */
function contentOf(path: string): Readonly<Record<string, Buffer>> {
  const found: Record<string, Buffer> = {};
  for (const name of ["log.db", "log.db-wal", "durable.mark"]) {
    const file = join(path, name);
    if (statSync(file, { throwIfNoEntry: false })?.size) found[name] = readFileSync(file);
  }
  return found;
}

function edit(path: string, sql: string): void {
  using database = new DatabaseSync(join(path, "log.db"));
  database.exec(sql);
}
