import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import {
  type Command,
  describe,
  limits as remembered,
  sessionId,
  stretchesAfter,
} from "../core/index.ts";
import {
  type CutBounds,
  type Entry,
  LogError,
  MemoryLog,
  SqliteLog,
  verifyLog,
} from "../log/index.ts";
import {
  acquire,
  createTask,
  emit,
  endJob,
  followJob,
  openSession,
  register,
  resumeSession,
  setPolicy,
  startJob,
  submitJob,
} from "../testing/commands.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { SimulatedLog } from "../testing/simulated-log.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { test as me, openPlane, turns } from "../testing/test-plane.ts";
import { limits } from "./limits.ts";
import type { Plane } from "./plane.ts";
import { Retention } from "./retention.ts";

const nothing = (): void => {};
const minute = 60_000;
const day = 86_400_000;
const thirtyDays = { ms: 30 * day, bytes: 4_000_000_000 };

test("entries go when they are 30 days old, what is true stays, and who asks for them is told", async () => {
  await using place = await temporaryDirectory();
  const clock = new ManualClock();
  await using log = SqliteLog.open(place.path);
  await using opened = await openPlane({ log, clock, keep: thirtyDays });
  const { plane } = opened;
  await plane.submit(register("ada", { ttlMs: 400 * day }), me, nothing);
  await plane.submit(acquire("t", "ada", 400 * day), me, nothing);
  for (let today = 0; today < 60; today++) {
    await write(plane, 10);
    await passDay(plane, clock);
  }
  const ageMs = (): number => clock.nowMs() - plane.retained().oldestAtMs;
  await liveUntil(() => ageMs() <= 30 * day, plane, clock);
  assert(ageMs() > 28 * day, `${ageMs() / day} days`);
  const { oldestSequence } = plane.retained();
  assert(oldestSequence > 250, `${oldestSequence}`);

  const before = await plane.read(describe);
  assert.match(before, /"holder":"ada"/, "a lease outlives the entry that says so");
  using late = plane.watch({ afterSequence: oldestSequence - 2 });
  assert.deepEqual((await late.next()).end, { code: "out_of_range", oldestSequence });
  using inTime = plane.watch({ afterSequence: oldestSequence - 1 });
  assert.equal((await inTime.next()).entries?.[0]?.sequence, oldestSequence);

  assert.deepEqual((await verifyLog(place.path, nothing)).problems, []);
  await plane[Symbol.asyncDispose]();
  await using again = await openPlane({ log, clock, keep: thirtyDays });
  assert.equal(withoutCounters(await again.plane.read(describe)), withoutCounters(before));
  assert.equal(again.plane.retained().oldestSequence, oldestSequence);
});

test("nothing younger than 30 days goes, however long there was nothing to do", async () => {
  await using place = await temporaryDirectory();
  const clock = new ManualClock();
  await using log = SqliteLog.open(place.path);
  await using opened = await openPlane({ log, clock, keep: thirtyDays });
  const { plane } = opened;
  for (let today = 0; today < 29; today++) {
    await write(plane, 1);
    await passDay(plane, clock);
  }
  assert.equal(plane.retained().oldestSequence, 1);
});

test("a log that grows too large is cut to its size, with snapshots as often as that takes", async () => {
  await using place = await temporaryDirectory();
  const clock = new ManualClock();
  const keep = { ms: 30 * day, bytes: 4_000_000 };
  await using log = SqliteLog.open(place.path);
  await using opened = await openPlane({ log, clock, keep });
  const { plane } = opened;
  for (let round = 0; round < 60; round++) {
    await write(plane, 400);
    await until(() => plane.retained().entriesBytes <= keep.bytes, plane, clock);
  }
  const { entriesBytes, oldestSequence, diskBytes } = plane.retained();
  assert(oldestSequence > 8_000, `${oldestSequence}`);
  assert(entriesBytes > 0.7 * keep.bytes, "no more went than had to");
  assert(diskBytes < 4 * keep.bytes, `${diskBytes} on disk`);
  assert.deepEqual((await verifyLog(place.path, nothing)).problems, []);
});

test("large entries are cut as well as small ones", async () => {
  await using place = await temporaryDirectory();
  const clock = new ManualClock();
  const keep = { ms: 30 * day, bytes: 20_000_000 };
  await using log = SqliteLog.open(place.path);
  await using opened = await openPlane({ log, clock, keep });
  const { plane } = opened;
  const input = "eHh4".repeat(400_000);
  for (let round = 0; round < 40; round++) {
    await plane.submit(createTask(`t${round}`, { input }), me, nothing);
    await until(() => plane.retained().entriesBytes <= keep.bytes, plane, clock);
  }
  const { oldestSequence } = plane.retained();
  assert(oldestSequence > 20, `${oldestSequence}`);
});

test("when the newest snapshot is damaged after a cut, the one before it and the log are enough", async () => {
  await using place = await temporaryDirectory();
  const clock = new ManualClock();
  let before = "";
  {
    await using log = SqliteLog.open(place.path);
    await using opened = await openPlane({ log, clock, keep: thirtyDays });
    for (let today = 0; today < 60; today++) {
      await write(opened.plane, 10);
      await passDay(opened.plane, clock);
    }
    await liveUntil(() => opened.plane.retained().oldestSequence > 200, opened.plane, clock);
    before = await opened.plane.read(describe);
  }
  const directory = join(place.path, "snapshots");
  const [, newest = ""] = (await readdir(directory)).sort();
  await writeFile(join(directory, newest), "nonsense");
  {
    await using log = SqliteLog.open(place.path);
    await using opened = await openPlane({ log, clock, keep: thirtyDays });
    assert.match(log.warnings.join(), /damaged and was passed over/);
    assert.equal(withoutCounters(await opened.plane.read(describe)), withoutCounters(before));
  }
  for (const name of await readdir(directory)) await writeFile(join(directory, name), "nonsense");
  await using log = SqliteLog.open(place.path);
  await assert.rejects(openPlane({ log, clock }), {
    code: "damaged",
    message:
      /entries 1 to \d+ are missing from the log \(.*log\.db\), and no intact snapshot contains their effects/,
  });
});

test("a watch whose place is cut while it reads is told, and skips nothing in silence", async () => {
  const steps: (() => void)[] = [];
  let isHolding = false;
  const later = (run: () => void): void => {
    if (isHolding) steps.push(run);
    else queueMicrotask(run);
  };
  const log = SimulatedLog.open({ later });
  await using opened = await openPlane({ log, keep: { ms: 100 * minute, bytes: 1e9 } });
  const { plane, clock } = opened;
  await write(plane, 20);
  await clock.pass(90 * minute, 5 * minute);
  using watch = plane.watch({ afterSequence: 0 });
  isHolding = true;
  const next = watch.next();
  await turns();
  isHolding = false;
  // The read was asked for, and has not begun; now its entries go.
  for (const sequence of [15, 20]) await log.saveSnapshot({ sequence, sections: [] });
  while (!(await log.cut({ beforeMs: Number.POSITIVE_INFINITY, bytesMax: 0 })));
  for (const step of steps) step();
  assert.deepEqual(await next, { end: { code: "out_of_range", oldestSequence: 16 } });
});

test("one cut at a time, others have their turn, and who is done looks again later", async () => {
  const asked: CutBounds[] = [];
  const answers: ((isDone: boolean) => void)[] = [];
  const log = cutting((bounds) => {
    asked.push(bounds);
    return new Promise((resolve) => answers.push(resolve));
  });
  const retention = new Retention({
    log,
    keep: { ms: 1_000, bytes: 5 },
    neededSequence: () => Number.POSITIVE_INFINITY,
    onFailure: undefined,
  });
  retention.consider(10_000);
  retention.consider(20_000);
  const neededSequence = Number.POSITIVE_INFINITY;
  assert.deepEqual(asked, [{ beforeMs: 9_000, bytesMax: 5, neededSequence }]);
  answers.shift()?.(false);
  await turns();
  retention.consider(10_000 + limits.cutPauseMs - 1);
  assert.equal(asked.length, 1);
  retention.consider(10_000 + limits.cutPauseMs);
  assert.equal(asked.length, 2);
  answers.shift()?.(true);
  await turns();
  retention.consider(10_000 + limits.cutEveryMs);
  assert.equal(asked.length, 2);
  retention.consider(10_000 + limits.cutPauseMs + limits.cutEveryMs);
  assert.equal(asked.length, 3);
  let isClosed = false;
  const closing = retention.close().then(() => {
    isClosed = true;
  });
  await turns();
  assert.equal(isClosed, false, "closing waits for the cut that is under way");
  answers.shift()?.(true);
  await closing;
});

test("a log that cannot be cut is told, stops nothing, and is tried again later", async () => {
  const failures: unknown[] = [];
  const cause = new LogError("cannot_write", "the disk is full");
  let tries = 0;
  const log = cutting(() => {
    tries += 1;
    return Promise.reject(cause);
  });
  const onCutFailure = (failure: unknown): void => {
    failures.push(failure);
  };
  await using opened = await openPlane({ log, onCutFailure });
  await turns();
  assert.deepEqual(failures, [cause]);
  await opened.clock.pass(limits.cutRetryMs - 1_000, 10_000);
  await write(opened.plane, 1);
  assert.equal(tries, 1);
  await opened.clock.pass(2_000);
  await write(opened.plane, 1);
  assert.equal(tries, 2);
  assert.deepEqual(opened.faults, []);
});

test("what is kept is told: of a log on disk by age and bytes, of one in memory by entries", async () => {
  await using place = await temporaryDirectory();
  const clock = new ManualClock();
  await using log = SqliteLog.open(place.path);
  await using onDisk = await openPlane({ log, clock });
  const { entriesBytes, diskBytes, ...rest } = onDisk.plane.retained();
  assert.deepEqual(rest, {
    oldestSequence: 1,
    oldestAtMs: clock.nowMs(),
    keep: thirtyDays,
  });
  assert(entriesBytes > 0 && diskBytes > entriesBytes);
  await using inMemory = await openPlane({ log: new MemoryLog() });
  const retained = inMemory.plane.retained();
  assert.deepEqual(retained.keep, { entries: 100_000 });
  assert.equal(retained.diskBytes, 0);
});

test("what a session may ask for again outlives its age, and it does after a cut and a restart", async () => {
  await using place = await temporaryDirectory();
  const clock = new ManualClock();
  await using log = SqliteLog.open(place.path);
  const keep = { ms: 10 * day, bytes: 4_000_000_000 };
  await using opened = await openPlane({ log, clock, keep });
  const { plane } = opened;
  await carryOut(plane, openSession("ada", { windowMs: 400 * day }));
  await write(plane, 50);
  await carryOut(plane, submitJob("job_1", "ada"), startJob("job_1"));
  const neededSequence = plane.lastSequence + 1;
  await carryOut(plane, emit("job_1", { body: "1" }), emit("job_1", { body: "2" }));
  await carryOut(plane, endJob("job_1"));
  for (let today = 0; today < 40; today++) {
    await write(plane, 10);
    await passDay(plane, clock);
  }
  assert.equal(plane.retained().oldestSequence, neededSequence, "up to there, and no further");
  await plane[Symbol.asyncDispose]();

  await using again = await openPlane({ log, clock, keep });
  assert.deepEqual(await carryOut(again.plane, resumeSession("ada")), ["ok"]);
  assert.deepEqual(await retell(again.plane, "ada", 0), ["1 1", "2 2", "3 success"]);
  assert.deepEqual(await retell(again.plane, "ada", 2), ["3 success"]);
});

test("a session that has acknowledged all, and one that was told nothing, hold back nothing", async () => {
  await using place = await temporaryDirectory();
  const clock = new ManualClock();
  await using log = SqliteLog.open(place.path);
  const keep = { ms: 10 * day, bytes: 4_000_000_000 };
  await using opened = await openPlane({ log, clock, keep });
  const { plane } = opened;
  await carryOut(plane, openSession("ada"), openSession("eve"));
  await carryOut(plane, submitJob("job_1", "ada"), startJob("job_1"));
  const { journalMarkEvents } = remembered;
  await carryOut(plane, ...Array.from({ length: journalMarkEvents }, () => emit("job_1")));
  await carryOut(plane, endJob("job_1"));
  const eventSequence = journalMarkEvents + 1;
  const ada = sessionId("sess_ada");
  await carryOut(plane, { type: "session.acknowledge", sessionId: ada, eventSequence });
  for (let today = 0; today < 40; today++) {
    await write(plane, 10);
    await passDay(plane, clock);
  }
  const ageMs = (): number => clock.nowMs() - plane.retained().oldestAtMs;
  await liveUntil(() => ageMs() <= 11 * day, plane, clock);
  const resuming = resumeSession("ada", { afterEventSequence: eventSequence });
  assert.deepEqual(await carryOut(plane, resuming), ["ok"]);
});

test("what a remembered job has said can be heard, however old it is", async () => {
  await using place = await temporaryDirectory();
  const clock = new ManualClock();
  await using log = SqliteLog.open(place.path);
  const keep = { ms: 10 * day, bytes: 4_000_000_000 };
  await using opened = await openPlane({ log, clock, keep });
  const { plane } = opened;
  await carryOut(plane, openSession("ada", { windowMs: minute }));
  await carryOut(plane, submitJob("job_1", "ada"), startJob("job_1"));
  const neededSequence = plane.lastSequence + 1;
  await carryOut(plane, emit("job_1", { body: "1" }));
  await carryOut(plane, {
    type: "session.detach",
    sessionId: sessionId("sess_ada"),
    attachment: 1,
  });
  for (let today = 0; today < 40; today++) {
    await write(plane, 10);
    await passDay(plane, clock);
  }
  assert.equal(plane.retained().oldestSequence, neededSequence);
  await carryOut(plane, openSession("ada_2", { principal: "ada" }));
  const history = { afterSequence: 0, before: 0 };
  await carryOut(plane, followJob("ada_2", "job_1", { history }), endJob("job_1"));
  assert.deepEqual(await retell(plane, "ada_2", 0), ["1 1", "2 success"]);
});

test("who never acknowledges fills no disk: the log is cut to its size, and it cannot resume from there", async () => {
  await using place = await temporaryDirectory();
  const clock = new ManualClock();
  const keep = { ms: 30 * day, bytes: 2_000_000 };
  await using log = SqliteLog.open(place.path);
  await using opened = await openPlane({ log, clock, keep });
  const { plane } = opened;
  const fromOf = (wanted: number): Command =>
    resumeSession("ada", {
      afterEventSequence: wanted,
      shownHash: "token of ada",
      tokenHash: "token of ada",
    });
  await carryOut(plane, openSession("ada"), submitJob("job_1", "ada"), startJob("job_1"));
  const body = JSON.stringify("x".repeat(400));
  for (let round = 0; round < 40; round++) {
    await carryOut(plane, ...Array.from({ length: 250 }, () => emit("job_1", { body })));
    await until(() => plane.retained().entriesBytes <= keep.bytes, plane, clock);
  }
  const { diskBytes, oldestSequence } = plane.retained();
  assert(oldestSequence > 3_000, `${oldestSequence}`);
  assert(diskBytes < 4 * keep.bytes, `${diskBytes} on disk`);
  assert.deepEqual(await carryOut(plane, fromOf(0), fromOf(1_000)), [
    "session_gone",
    "session_gone",
  ]);
  assert.deepEqual(await carryOut(plane, fromOf(10_000), fromOf(9_999)), ["ok", "ok"]);
  assert.equal((await retell(plane, "ada", 9_990)).length, 10);
  // Of what is left of it nobody can say where it belongs: who listens hears what comes.
  const history = { afterSequence: 0, before: 0 };
  await carryOut(plane, openSession("ada_2", { principal: "ada" }));
  await carryOut(plane, followJob("ada_2", "job_1", { history }), emit("job_1", { body: "1" }));
  assert.deepEqual(await retell(plane, "ada_2", 0), ["1 1"]);
});

test("a job whose end was cut is unknown to who asks for it again", async () => {
  await using place = await temporaryDirectory();
  const clock = new ManualClock();
  const keep = { ms: 30 * day, bytes: 1_000_000 };
  await using log = SqliteLog.open(place.path);
  await using opened = await openPlane({ log, clock, keep });
  const { plane } = opened;
  const key = { text: "k", fingerprint: "f" };
  await carryOut(plane, openSession("ada"), submitJob("job_1", "ada", { key }));
  await carryOut(plane, startJob("job_1"), endJob("job_1"));
  const asking = [submitJob("job_2", "ada", { key }), followJob("ada", "job_1")];
  assert.deepEqual(await carryOut(plane, ...asking), ["ok", "ok"]);
  for (let round = 0; round < 20; round++) {
    await write(plane, 400);
    await until(() => plane.retained().entriesBytes <= keep.bytes, plane, clock);
  }
  assert.deepEqual(await carryOut(plane, ...asking), ["job_not_found", "job_not_found"]);
});

/** What commands come to. */
async function carryOut(
  plane: Plane,
  ...commands: Command[]
): Promise<readonly (string | undefined)[]> {
  const outcomes = commands.map((command) => plane.submit(command, me, () => "ok"));
  return (await Promise.all(outcomes)).map(({ value, refusal }) => refusal?.code ?? value);
}

/** What a session was told after a number, read from the log: the number, and what it stood for. */
async function retell(plane: Plane, name: string, after: number): Promise<readonly string[]> {
  const { durableSequence: upToSequence } = plane;
  const stretches = await plane.read(({ sessions }) => {
    const journal = sessions.journals.get(sessionId(`sess_${name}`));
    return journal ? stretchesAfter(journal, { after, upToSequence }) : [];
  });
  const told: string[] = [];
  for (const { eventSequence, follows, afterSequence, upToSequence } of stretches) {
    let number = eventSequence;
    for (const { event } of await readAll(plane, { afterSequence, upToSequence })) {
      if (event.type !== "job.emitted" && event.type !== "job.ended") continue;
      if (!follows.includes(event.jobId)) continue;
      number += 1;
      const what = event.type === "job.emitted" ? event.body : event.outcome.status;
      if (number > after) told.push(`${number} ${what}`);
    }
  }
  return told;
}

async function readAll(
  plane: Plane,
  range: { readonly afterSequence: number; readonly upToSequence: number },
): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (let after = range.afterSequence; ; after = entries.at(-1)?.sequence ?? after) {
    const page = await plane.history(after, 1_000);
    entries.push(...page.filter(({ sequence }) => sequence <= range.upToSequence));
    if (page.length === 0 || (page.at(-1)?.sequence ?? 0) >= range.upToSequence) return entries;
  }
}

/** A log whose cuts are ours. */
function cutting(cut: (bounds: CutBounds) => Promise<boolean>): SimulatedLog {
  return Object.assign(SimulatedLog.open(), { cut });
}

async function passDay(plane: Plane, clock: ManualClock): Promise<void> {
  clock.leap(day);
  for (let count = 0; count < 5; count++) {
    plane.tick();
    await turns();
  }
}

/** Lets days pass until it is so. A slow disk may take many of our days for a snapshot, and new entries make the next due. */
async function liveUntil(isSo: () => boolean, plane: Plane, clock: ManualClock): Promise<void> {
  while (!isSo()) {
    await write(plane, 10);
    await passDay(plane, clock);
  }
}

/** The one timer goes on until it is so: snapshots take their time, and cuts come in slices. */
async function until(isSo: () => boolean, plane: Plane, clock: ManualClock): Promise<void> {
  while (!isSo()) {
    clock.leap(200);
    plane.tick();
    await turns(1);
  }
}

async function write(plane: Plane, count: number): Promise<void> {
  const replies = Array.from({ length: count }, (_, index) =>
    plane.submit(setPolicy(`p${index % 50}`, "deny", `s${index} b c`), me, nothing),
  );
  await Promise.all(replies);
}

/** Opening sets them anew. */
function withoutCounters(text: string): string {
  return text
    .split("\n")
    .filter((line) => !line.startsWith("counters "))
    .join("\n");
}
