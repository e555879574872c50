import assert from "node:assert/strict";
import { test } from "node:test";
import { type Entry, type Log, MemoryLog, SqliteLog } from "../log/index.ts";
import { createTask, register, setPolicy } from "../testing/commands.ts";
import { entries } from "../testing/entries.ts";
import { HeldLog } from "../testing/held-log.ts";
import { Random } from "../testing/random.ts";
import { SimulatedLog } from "../testing/simulated-log.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { isSettled, test as me, openPlane, turns } from "../testing/test-plane.ts";
import { Feed, type Watch, type WatchEnd, type WatchOptions } from "./feed.ts";
import { limits } from "./limits.ts";

const nothing = (): void => {};
const megabyte = "x".repeat(1_000_000);

test("a watch begins with what is committed after it", async () => {
  const { watching, commit } = await given(5);
  using watch = watching();
  await commit(2);
  assert.deepEqual(await sequences(watch), [6, 7]);
  await commit(1);
  assert.deepEqual(await sequences(watch), [8]);
});

test("a watch can begin anywhere in history", async () => {
  const { watching, commit } = await given(6);
  for (let after = 0; after < 6; after++) {
    using watch = watching({ afterSequence: after });
    assert.deepEqual(await sequences(watch, 6), range(after + 1, 6));
  }
  using watch = watching({ afterSequence: 4 });
  await commit(3);
  assert.deepEqual(await sequences(watch, 9), range(5, 9));
});

test("long history comes in pages, and then life goes on", async () => {
  const count = 3 * limits.historyEntries + 500;
  const { watching, commit } = await given(count);
  using watch = watching({ afterSequence: 0 });
  const pages: number[] = [];
  const seen: number[] = [];
  while (seen.length < count) {
    const page = await sequences(watch);
    pages.push(page.length);
    seen.push(...page);
  }
  assert.deepEqual(pages, [1_000, 1_000, 1_000, 500]);
  await commit(1);
  seen.push(...(await sequences(watch)));
  assert.deepEqual(seen, range(1, count + 1));
});

test("a watch gets only what it wants, in history and in life", async () => {
  const { watching, commit } = await given(2_500);
  const wants = ({ sequence }: Entry): boolean => sequence % 1_000 === 0;
  using watch = watching({ afterSequence: 0, wants });
  assert.deepEqual(await sequences(watch, 2_000), [1_000, 2_000]);
  const next = watch.next();
  await commit(499);
  assert.equal(await isSettled(next), false);
  await commit(2);
  assert.deepEqual(
    (await next).entries?.map(({ sequence }) => sequence),
    [3_000],
  );
});

test("whoever joins while others write misses nothing and gets nothing twice", async () => {
  for (let seed = 1; seed <= 150; seed++) {
    const random = new Random(seed);
    const steps: (() => void)[] = [];
    const log = SimulatedLog.open({ later: (run) => steps.push(run) });
    const opening = openPlane({ log, afterTurn: (run) => steps.push(run) });
    const once = async (): Promise<void> => {
      const at = random.below(steps.length);
      steps.splice(at, 1)[0]?.();
      await new Promise(setImmediate);
    };
    while (steps.length > 0 || !(await isSettled(opening))) await once();
    const { plane } = await opening;

    const readers: { readonly from: number; readonly seen: number[]; done: Promise<void> }[] = [];
    let commands = 0;
    for (let turn = 0; turn < 60; turn++) {
      const kind = random.weighted({ write: 3, join: 1, step: 5 });
      if (kind === "write") {
        const set = setPolicy(`p${commands++}`, "deny", "a b c");
        plane.submit(set, me, nothing).catch(nothing);
      }
      if (kind === "join") {
        const from = random.between(0, plane.durableSequence);
        const seen: number[] = [];
        readers.push({ from, seen, done: readAll(plane.watch({ afterSequence: from }), seen) });
      }
      if (kind === "step") await once();
      else await new Promise(setImmediate);
    }
    const closing = plane[Symbol.asyncDispose]();
    while (steps.length > 0 || !(await isSettled(closing))) await once();
    const last = plane.durableSequence;
    for (const { from, seen, done } of readers) {
      assert.equal(await isSettled(done), true, `seed ${seed}: a watch did not end`);
      assert.deepEqual(seen, range(from + 1, from + seen.length), `seed ${seed}`);
      assert(from + seen.length <= last, `seed ${seed}: more than is durable`);
    }
    const caughtUp = readers.filter(({ from, seen }) => from + seen.length === last);
    assert(readers.length === 0 || caughtUp.length > 0, `seed ${seed}: nobody kept up`);
  }
});

test("a watcher that does not come for its entries is ended, and told where to go on", async () => {
  const { feed, watching, commit } = await given(3);
  using slow = watching({ afterSequence: 0 });
  using quick = watching();
  assert.deepEqual(await sequences(slow), [1, 2, 3]);
  const seen: number[] = [];
  for (let round = 0; round < 11; round++) {
    const next = sequences(quick);
    await commit(limits.watcherEntriesMax / 10);
    seen.push(...(await next));
  }
  assert.deepEqual(await endOf(slow), { code: "lagged", resumeAfterSequence: 3 });
  assert.deepEqual(seen, range(4, 3 + 1.1 * limits.watcherEntriesMax), "others never notice");
  assert.equal(feed.watchers, 1);

  using resumed = watching({ afterSequence: 3 });
  assert.deepEqual(await sequences(resumed, seen.at(-1)), seen);
});

test("a watcher may have as many entries waiting as the limit says", async () => {
  const { watching, commit } = await given(0);
  using watch = watching();
  await commit(limits.watcherEntriesMax);
  assert.equal((await sequences(watch)).length, limits.watcherEntriesMax);
  await commit(1);
  await commit(limits.watcherEntriesMax);
  assert.equal((await endOf(watch)).code, "lagged");
});

test("a watcher that has too many bytes waiting is ended, and can go on from there", async () => {
  const { watching, commit } = await given(1);
  using watch = watching();
  for (let megabytes = 0; megabytes < 20; megabytes++) await commit(1, megabyte);
  assert.deepEqual(await endOf(watch), { code: "lagged", resumeAfterSequence: 1 });
  using resumed = watching({ afterSequence: 1 });
  assert.deepEqual(await sequences(resumed, 21), range(2, 21));
});

test("large tasks in history do not keep anyone from reading it", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  const input = "x".repeat(2_666_668);
  for (let task = 0; task < 8; task++) {
    await plane.submit(createTask(`t${task}`, { input }), me, nothing);
  }
  using watch = plane.watch({ afterSequence: 0 });
  assert.deepEqual(await sequences(watch, 9), range(1, 9));
});

test("history that is no longer kept is told, with the oldest that is", async () => {
  const log = new MemoryLog();
  for (let last = 0; last < 200_000; last += 50_000) {
    await log.append(entries(last + 1, last + 50_000), last);
  }
  const feed = new Feed(log);
  const newestSequence = 200_000;
  using watch = feed.watch({ afterSequence: 99_999, newestSequence });
  assert.deepEqual(await endOf(watch), { code: "out_of_range", oldestSequence: 100_001 });
  using oldest = feed.watch({ afterSequence: 100_000, newestSequence });
  assert.equal((await sequences(oldest))[0], 100_001);
  assert.equal(feed.watchers, 1);
});

test("history that never was is told too: whoever asks remembers another log", async () => {
  const { watching, commit } = await given(5);
  using watch = watching({ afterSequence: 5_000 });
  const next = watch.next();
  await commit(3);
  assert.equal(
    await isSettled(next),
    true,
    "it would wait for entry 5,001 and hear of none before",
  );
  assert.deepEqual(await next, { end: { code: "out_of_range", oldestSequence: 1 } });
});

test("callers that are not trusted have half of the watches", async () => {
  const { feed, watching, commit } = await given(1);
  const strangers = Array.from({ length: limits.watchersMax / 2 }, () =>
    watching({ isTrusted: false }),
  );
  assert.deepEqual(await endOf(watching({ isTrusted: false })), { code: "limit_reached" });
  const trusted = Array.from({ length: limits.watchersMax / 2 }, () => watching());
  assert.deepEqual(await endOf(watching()), { code: "limit_reached" });
  assert.equal(feed.watchers, limits.watchersMax);
  strangers[0]?.close();
  const next = watching({ isTrusted: false });
  await commit(1);
  assert.deepEqual(await sequences(next), [2]);
  assert.deepEqual(await sequences(trusted[0] ?? next), [2]);
});

test("a watch that is closed gives what it has, then says that it was closed", async () => {
  const { feed, watching, commit } = await given(1);
  const watch = watching();
  await commit(2);
  watch.close();
  await commit(2);
  assert.deepEqual(await sequences(watch), [2, 3]);
  assert.deepEqual(await endOf(watch), { code: "closed" });
  assert.deepEqual(await endOf(watch), { code: "closed" });
  watch.close();
  assert.equal(feed.watchers, 0);
});

test("closing wakes whoever waits", async () => {
  const { watching } = await given(1);
  const watch = watching();
  const next = watch.next();
  await turns();
  watch.close();
  assert.deepEqual(await next, { end: { code: "closed" } });
});

test("when the plane closes, every watch ends: those that wait, those with entries, those behind", async () => {
  const log = new HeldLog();
  const opened = await openPlane({ log });
  const { plane } = opened;
  for (const name of ["a", "b", "c"]) await plane.submit(register(name), me, nothing);
  const waiting = plane.watch();
  const next = waiting.next();
  const behind = plane.watch({ afterSequence: 0 });
  await plane[Symbol.asyncDispose]();
  assert.deepEqual(await next, { end: { code: "unavailable" } });
  const seen: number[] = [];
  await readAll(behind, seen);
  assert.deepEqual(seen, range(1, seen.length));
  assert.deepEqual(await endOf(behind), { code: "unavailable" });
  assert.deepEqual(await endOf(plane.watch()), { code: "unavailable" });
  assert.equal(plane.watchers, 0);
});

test("what closing commits reaches the watchers before they are ended", async () => {
  const opened = await openPlane();
  const { plane } = opened;
  const watch = plane.watch();
  const reply = plane.submit(register("ada"), me, nothing);
  await plane[Symbol.asyncDispose]();
  await reply;
  assert.deepEqual(await sequences(watch), [2]);
  assert.deepEqual(await endOf(watch), { code: "unavailable" });
});

test("a watch that is behind when plane and log are closed ends like any other", async () => {
  await using place = await temporaryDirectory();
  const log = SqliteLog.open(place.path);
  const { plane } = await openPlane({ log });
  for (const name of ["a", "b"]) await plane.submit(register(name), me, nothing);
  const behind = plane.watch({ afterSequence: 0 });
  await plane[Symbol.asyncDispose]();
  await log[Symbol.asyncDispose]();
  assert.deepEqual(await endOf(behind), { code: "unavailable" });
});

test("a watch that is behind when its log turns out damaged is told so", async () => {
  class Damaged extends MemoryLog {
    override async read(): Promise<never> {
      throw new Error("entry 2 is damaged");
    }
  }
  const log = new Damaged();
  await log.append(entries(1, 5), 0);
  using watch = new Feed(log).watch({ afterSequence: 0, newestSequence: 5 });
  await assert.rejects(watch.next(), /entry 2 is damaged/);
});

/** A feed over a log of so many entries, and a way to commit more. */
async function given(count: number): Promise<{
  readonly feed: Feed;
  readonly watching: (options?: WatchOptions) => Watch;
  readonly commit: (count: number, text?: string) => Promise<void>;
}> {
  const log: Log = new MemoryLog();
  await log.append(entries(1, count), 0);
  const feed = new Feed(log);
  const commit = async (count: number, text = ""): Promise<void> => {
    const last = log.lastSequence;
    const more = entries(last + 1, last + count, { text });
    await log.append(more, last);
    feed.offer(more);
  };
  const watching = (options: WatchOptions = {}): Watch =>
    feed.watch({ ...options, newestSequence: log.lastSequence });
  return { feed, watching, commit };
}

/** What the watch gives next; with `until`, all that it gives up to that one. */
async function sequences(watch: Watch, until = 0): Promise<readonly number[]> {
  const seen: number[] = [];
  do {
    const { entries, end } = await watch.next();
    assert(entries, `it ended: ${JSON.stringify(end)}`);
    for (const { sequence } of entries) seen.push(sequence);
  } while ((seen.at(-1) ?? 0) < until);
  return seen;
}

async function readAll(watch: Watch, seen: number[]): Promise<void> {
  for (let next = await watch.next(); next.entries; next = await watch.next()) {
    for (const { sequence } of next.entries) seen.push(sequence);
  }
}

async function endOf(watch: Watch): Promise<WatchEnd> {
  const { entries, end } = await watch.next();
  assert(end, `it goes on: ${entries?.length} entries`);
  return end;
}

/** All whole numbers from one to another, both included. */
function range(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
