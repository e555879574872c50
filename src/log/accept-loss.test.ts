import assert from "node:assert/strict";
import { existsSync, readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { capture, emptyState, evolve } from "../core/index.ts";
import { entries } from "../testing/entries.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../testing/temporary.ts";
import { acceptLoss } from "./accept-loss.ts";
import { SqliteLog } from "./sqlite.ts";
import { verifyLog } from "./verify.ts";

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
  assert(existsSync(join(accepted.copies, "durable.mark")));
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

test("a log that SQLite cannot read needs a backup, and one in use is left alone", async () => {
  await using place = await written(20, []);
  {
    await using _log = SqliteLog.open(place.path);
    await assert.rejects(acceptLoss(place.path, nowMs), { code: "in_use" });
  }
  truncateSync(join(place.path, "log.db"), 5_000);
  await assert.rejects(acceptLoss(place.path, nowMs), {
    code: "damaged",
    message: /log\.db cannot be read: .*; restore the directory from a backup$/,
  });
});

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

function edit(path: string, sql: string): void {
  using database = new DatabaseSync(join(path, "log.db"));
  database.exec(sql);
}
