import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { capture, describe, emptyState } from "../core/index.ts";
import { printMark } from "../log/cut-mark.ts";
import { type Log, MemoryLog, type Snapshot, SqliteLog } from "../log/index.ts";
import { acquire, register, setPolicy } from "../testing/commands.ts";
import { entries } from "../testing/entries.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { SimulatedDisk } from "../testing/simulated-disk.ts";
import { SimulatedLog } from "../testing/simulated-log.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { test as me, openPlane, turns } from "../testing/test-plane.ts";
import { limits } from "./limits.ts";
import type { Plane } from "./plane.ts";
import { recover } from "./recover.ts";
import { nothingSince, Snapshots } from "./snapshots.ts";

const nothing = (): void => {};
const keep = { ms: 8_000, bytes: 800_000_000 };
const at = (sequence: number, nowMs = 0): { sequence: number; nowMs: number } => ({
  sequence,
  nowMs,
});

test("after so many entries a snapshot is made, and the next opening needs nothing before it", async () => {
  await using place = await temporaryDirectory();
  const clock = new ManualClock();
  let before = "";
  let made = 0;
  {
    await using log = SqliteLog.open(place.path);
    await using opened = await openPlane({ log, clock });
    const { plane } = opened;
    await plane.submit(register("ada"), me, nothing);
    await plane.submit(acquire("t", "ada", 600_000), me, nothing);
    await write(plane, limits.snapshotEntries - 4);
    assert.equal(await log.loadSnapshot(nothing), 0, "one entry is still wanting");
    await write(plane, 1);
    made = plane.lastSequence;
    await write(plane, 10);
    before = await plane.read(describe);
    while ((await log.loadSnapshot(nothing)) === 0) await turns();
    assert.equal(await log.loadSnapshot(nothing), made);
    assert.equal(made, limits.snapshotEntries);
  }
  {
    using database = new DatabaseSync(join(place.path, "log.db"));
    // As if they had been cut: what is in the snapshot must be enough.
    const entry = database.prepare("select * from entries where sequence = ?").get(made);
    const mark = {
      sequence: made,
      atMs: Number(entry?.["atMs"]),
      checksum: `${entry?.["checksum"]}`,
    };
    const id = `${database.prepare("select value from about where key = 'id'").get()?.["value"]}`;
    database.prepare("insert into about values ('cut', ?)").run(printMark(id, mark));
    database.prepare("delete from entries where sequence <= ?").run(made);
  }
  await using log = SqliteLog.open(place.path);
  const { state, since } = await recover(log);
  assert.equal(since.sequence, made);
  assert.equal(describe(state), before);
  await using opened = await openPlane({ log, clock });
  assert.equal(await opened.plane.read((state) => state.leases.held.size), 1);
});

test("one snapshot is written at a time, and none sooner than it is due", async () => {
  const saved: Snapshot[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const snapshots = new Snapshots({
    log: keeping((snapshot) => {
      saved.push(snapshot);
      return saved.length === 1 ? promise : Promise.resolve();
    }),
    since: nothingSince(50),
    keep,
    onFailure: undefined,
  });
  const state = emptyState();
  snapshots.consider(state, at(limits.snapshotEntries + 49));
  assert.equal(saved.length, 0);
  snapshots.consider(state, at(limits.snapshotEntries + 50));
  snapshots.consider(state, at(3 * limits.snapshotEntries));
  assert.deepEqual(
    saved.map(({ sequence }) => sequence),
    [limits.snapshotEntries + 50],
  );
  resolve();
  await turns();
  snapshots.consider(state, at(3 * limits.snapshotEntries));
  assert.equal(saved.length, 2);
});

test("a snapshot is due after an eighth of the time or of the bytes that are kept, whatever comes first", async () => {
  const saved: number[] = [];
  const log = keeping(async ({ sequence }) => {
    saved.push(sequence);
  });
  const snapshots = new Snapshots({ log, since: nothingSince(0), keep, onFailure: undefined });
  const state = emptyState();
  const [first, second, third] = entries(1, 3);
  assert(first && second && third);
  snapshots.consider(state, at(0, first.atMs + 10_000_000));
  assert.deepEqual(saved, [], "there is nothing to save");
  snapshots.count([first]);
  snapshots.consider(state, at(1, first.atMs + 999));
  assert.deepEqual(saved, []);
  snapshots.consider(state, at(1, first.atMs + 1_000));
  assert.deepEqual(saved, [1]);
  await turns();
  snapshots.consider(state, at(1, first.atMs + 99_000));
  assert.deepEqual(saved, [1], "nothing has come since");
  snapshots.count([second, { ...third, body: "x".repeat(99_000_000) }]);
  snapshots.consider(state, at(3, second.atMs));
  assert.deepEqual(saved, [1]);
  snapshots.count([{ ...third, body: "x".repeat(1_000_000) }]);
  snapshots.consider(state, at(4, second.atMs));
  assert.deepEqual(saved, [1, 4]);
});

test("what came since the last snapshot is counted over a restart", async () => {
  const disk = new SimulatedDisk();
  const log = SimulatedLog.open({ disk });
  await log.append(entries(1, 9), 0);
  assert.deepEqual((await recover(log)).since.firstAtMs, entries(1, 1)[0]?.atMs);
  await log.saveSnapshot({ sequence: 4, sections: capture(emptyState()) });
  const { since } = await recover(SimulatedLog.open({ disk }));
  const bytes = entries(5, 9).reduce((sum, { body }) => sum + body.length + limits.entryBytes, 0);
  assert.deepEqual(since, { sequence: 4, firstAtMs: entries(5, 5)[0]?.atMs, bytes });
});

test("a snapshot that cannot be written is told, and stops nothing", async () => {
  const failures: unknown[] = [];
  const cause = new Error("the disk is full");
  const snapshots = new Snapshots({
    log: keeping(() => Promise.reject(cause)),
    since: nothingSince(0),
    keep,
    onFailure: (failure) => failures.push(failure),
  });
  snapshots.consider(emptyState(), at(limits.snapshotEntries));
  await turns();
  assert.deepEqual(failures, [cause]);
});

test("closing gives up the snapshot that is being written, and that is no failure", async () => {
  const failures: unknown[] = [];
  const snapshots = new Snapshots({
    log: keeping(async (_, signal) => {
      await turns();
      signal?.throwIfAborted();
    }),
    since: nothingSince(0),
    keep,
    onFailure: (failure) => failures.push(failure),
  });
  snapshots.consider(emptyState(), at(limits.snapshotEntries));
  await snapshots.close();
  assert.deepEqual(failures, []);
});

test("a log that is not kept gets no snapshot", () => {
  const snapshots = new Snapshots({
    log: Object.assign(new MemoryLog(), {
      saveSnapshot: () => assert.fail("what for?"),
    }),
    since: nothingSince(0),
    keep,
    onFailure: undefined,
  });
  snapshots.consider(emptyState(), at(limits.snapshotEntries));
});

test("recovery from a snapshot and the entries since is recovery from all entries", async () => {
  const disk = new SimulatedDisk();
  await using opened = await openPlane({ log: SimulatedLog.open({ disk }) });
  const { plane } = opened;
  await plane.submit(register("ada"), me, nothing);
  await write(plane, 20);
  const whole = SimulatedLog.open({ disk });
  const early = await recover(whole);
  assert.equal(early.since.sequence, 0);
  const sections = await plane.read(capture);
  const { signal } = new AbortController();
  await whole.saveSnapshot({ sequence: plane.lastSequence, sections }, signal);
  await write(plane, 20);
  await plane.submit(acquire("t", "ada"), me, nothing);
  const late = await recover(SimulatedLog.open({ disk }));
  assert.equal(late.since.sequence, 22);
  assert.equal(describe(late.state), await plane.read(describe));
});

/** A log that says it keeps what it is given; only its snapshots matter here. */
function keeping(saveSnapshot: Log["saveSnapshot"]): Log {
  return Object.assign(SimulatedLog.open(), { saveSnapshot });
}

/** So many entries more, few of which are remembered. */
async function write(plane: Plane, count: number): Promise<void> {
  const replies = Array.from({ length: count }, (_, index) =>
    plane.submit(setPolicy(`p${index % 100}`, "deny", `s${index} b c`), me, nothing),
  );
  await Promise.all(replies);
}
