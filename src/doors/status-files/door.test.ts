import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { agentId, type Observed } from "../../core/index.ts";
import {
  type Clock,
  removeStatusFile,
  wallClock,
  writeStatusFile,
} from "../../status-files/index.ts";
import { register } from "../../testing/commands.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { temporaryDirectory } from "../../testing/temporary.ts";
import { test as me, openPlane, type TestPlane, turns } from "../../testing/test-plane.ts";
import { printTimestamp, type StatusRecord, schemaVersion } from "../../wire/status-file/index.ts";
import { openStatusDoor } from "./door.ts";
import { limits } from "./limits.ts";

const warn = (message: string): never => assert.fail(message);

test("what files tell of is observed, each change is in the log, and who leaves is gone", async () => {
  await using place = await temporaryDirectory();
  await using opened = await openPlane();
  writeStatusFile(place.path, record("codex-1", { state: "working", summary: "npm test" }));
  await using door = await open(opened, place.path);
  assert.deepEqual(
    door.files.map(({ record: { agent_id } }) => agent_id),
    ["codex-1"],
  );
  const [first] = await observed(opened);
  assert.deepEqual(
    { ...first, sinceMs: 0 },
    {
      id: "codex-1",
      name: "codex",
      state: "working",
      note: "npm test",
      goal: "",
      workspace: "",
      source: "file",
      sinceMs: 0,
    },
  );
  writeStatusFile(place.path, record("codex-1", { state: "input-required", summary: "delete?" }));
  await until(opened, ([one]) => one?.state === "waiting" && one.note === "delete?");
  const { plane } = opened;
  const sequence = plane.lastSequence;
  const beat = record("codex-1", { state: "input-required", summary: "delete?" });
  const later = { ...beat.runtime, updated_at: printTimestamp(Date.now() + 1_000) };
  writeStatusFile(place.path, { ...beat, runtime: later });
  await seeAll(opened, place.path);
  const heard = door.files.find(({ record: { agent_id } }) => agent_id === "codex-1");
  assert.deepEqual(heard?.record.runtime, later);
  assert.equal(plane.lastSequence, sequence + 1, "a heartbeat of a file is no fact");
  removeStatusFile(place.path, "codex-1");
  await until(opened, (all) => all.length === 1);
});

test("who left while nobody looked is gone at opening", async () => {
  await using place = await temporaryDirectory();
  await using opened = await openPlane();
  writeStatusFile(place.path, record("a", undefined));
  writeStatusFile(place.path, record("b", undefined));
  await (await open(opened, place.path))[Symbol.asyncDispose]();
  removeStatusFile(place.path, "a");
  await using door = await open(opened, place.path);
  assert.deepEqual(
    (await observed(opened)).map(({ id }) => id),
    ["b"],
  );
  assert.equal(door.files.length, 1);
});

test("two files may tell of one agent: it is there until both are gone", async () => {
  await using place = await temporaryDirectory();
  await using opened = await openPlane();
  const one = record("same", { state: "working" });
  writeStatusFile(place.path, one);
  writeStatusFile(place.path, { ...one, agent_id: "other" });
  await using _door = await open(opened, place.path);
  await until(opened, (all) => all.length === 2);
  // The second now says that it is the first.
  writeFileSync(join(place.path, "other.json"), JSON.stringify(one));
  await until(opened, (all) => all.length === 1);
  rmSync(join(place.path, "same.json"));
  await seeAll(opened, place.path);
  assert((await observed(opened)).some(({ id }) => id === "same"));
  rmSync(join(place.path, "other.json"));
  await until(opened, (all) => all.every(({ id }) => id !== "same"));
});

test("of two files about one agent the one that was written last counts, whichever was seen last", async () => {
  await using place = await temporaryDirectory();
  await using opened = await openPlane();
  const old = printTimestamp(Date.now() - 300_000);
  const copy = (id: string): void => {
    const { runtime, ...rest } = record(id, { state: "failed" });
    const stale = { ...rest, runtime: { ...runtime, updated_at: old } };
    writeFileSync(join(place.path, `copy-of-${id}.json`), JSON.stringify(stale));
  };
  copy("before");
  writeStatusFile(place.path, record("before", { state: "working" }));
  await using _door = await open(opened, place.path);
  const states = async (): Promise<readonly string[]> =>
    (await observed(opened)).map(({ id, state }) => `${id} ${state}`).sort();
  assert.deepEqual(await states(), ["before working"]);
  writeStatusFile(place.path, record("live", { state: "working" }));
  await until(opened, (all) => all.length === 2);
  copy("live");
  await seeAll(opened, place.path);
  assert.deepEqual(await states(), ["before working", "live working", "marker idle"]);
  removeStatusFile(place.path, "live");
  await until(opened, (all) => all.some(({ id, state }) => id === "live" && state === "lost"));
});

test("who is not heard of for a minute is lost, and the log says so", async () => {
  await using place = await temporaryDirectory();
  await using opened = await openPlane();
  const { plane } = opened;
  const clock = new ManualClock();
  using watch = plane.watch();
  const { runtime, ...rest } = record("codex-1", { state: "working", summary: "npm test" });
  const updated_at = printTimestamp(clock.nowMs());
  writeStatusFile(place.path, { ...rest, runtime: { ...runtime, updated_at } });
  await using _door = await open(opened, place.path, clock);
  await eventually(() => assert.equal(clock.sleepers, 1));
  clock.leap(60_000);
  await turns();
  await eventually(() => assert.equal(clock.sleepers, 1));
  assert.deepEqual(
    (await observed(opened)).map(({ state }) => state),
    ["working"],
  );
  clock.leap(1);
  await until(opened, ([one]) => one?.state === "lost");
  const { entries = [] } = await watch.next();
  assert.deepEqual(
    entries.map(({ event }) => event.type === "observed.changed" && event.observed.state),
    ["working", "lost"],
  );
});

test("a directory with more files than are watched is told of once, and stops nobody while it is read", async () => {
  await using place = await temporaryDirectory();
  await using opened = await openPlane();
  const { plane } = opened;
  const printed = JSON.stringify(record("crowd", undefined));
  for (let count = 0; count <= limits.watchedFilesMax; count++) {
    const id = `crowd-${count}`;
    writeFileSync(join(place.path, `${id}.json`), printed.replace('"crowd"', `"${id}"`));
  }
  for (let round = 0; round < 2; round++) {
    const warnings: string[] = [];
    const longest = new LongestTurn();
    await using door = await openStatusDoor(plane, {
      directory: place.path,
      clock: wallClock,
      hostName: hostname(),
      warn: (message) => void warnings.push(message),
    });
    // Looking through all files for each of them took more than a second.
    const longestMs = longest.end();
    assert(longestMs < 600, `${longestMs} ms at once`);
    assert.equal(door.files.length, limits.watchedFilesMax);
    assert.equal((await observed(opened)).length, limits.watchedFilesMax);
    assert.match(warnings.join(), /^\S+ has more than 10000 files; the others are not watched$/);
  }
});

test("files that change or vanish together share commits", async () => {
  await using place = await temporaryDirectory();
  let commits = 0;
  await using opened = await openPlane({
    onCommit: () => {
      commits += 1;
    },
  });
  const ids = Array.from({ length: 1_000 }, (_, index) => `many-${index}`);
  const write = (state: "working" | "failed"): void => {
    for (const id of ids) {
      writeFileSync(join(place.path, `${id}.json`), JSON.stringify(record(id, { state })));
    }
  };
  write("working");
  await using _door = await open(opened, place.path);
  commits = 0;
  write("failed");
  await until(opened, (all) => all.every(({ state }) => state === "failed"));
  for (const id of ids) rmSync(join(place.path, `${id}.json`));
  await until(opened, (all) => all.length === 0);
  // One for each took 20 s with ten thousand files.
  assert(commits < 200, `${commits} commits`);
});

test("an id that no file could be named after stays out of the log, is told of once, and hides nobody", async () => {
  await using place = await temporaryDirectory();
  await using opened = await openPlane();
  const longest = `${"é".repeat(127)}e`;
  for (const [name, id] of Object.entries({
    fits: longest,
    long: `${longest}!`,
    huge: "x".repeat(9_999),
  })) {
    writeFileSync(join(place.path, `${name}.json`), JSON.stringify(record(id, undefined)));
  }
  const warnings: string[] = [];
  await using door = await openStatusDoor(opened.plane, {
    directory: place.path,
    clock: wallClock,
    hostName: hostname(),
    warn: (message) => void warnings.push(message),
  });
  assert.deepEqual(
    (await observed(opened)).map(({ id }) => id),
    [longest],
  );
  assert.equal(door.files.length, 3, "but its file is there for who looks around");
  writeFileSync(join(place.path, "more.json"), JSON.stringify(record(`${longest}!`, undefined)));
  await eventually(() => assert.equal(door.files.length, 4));
  writeFileSync(join(place.path, "fits.json"), JSON.stringify(record(`${longest}?`, undefined)));
  await until(opened, (all) => all.length === 0);
  assert.equal(warnings.length, 1);
  assert.match(warnings.join(), /^\S+ has agents whose ids are longer than a name of a file/);
});

test("of an agent that is registered the registry tells", async () => {
  await using place = await temporaryDirectory();
  await using opened = await openPlane();
  const { plane } = opened;
  await plane.submit(register("ada"), me, () => ({}));
  writeStatusFile(place.path, record(agentId("ada"), { state: "working" }));
  await using door = await open(opened, place.path);
  assert.deepEqual(await observed(opened), []);
  assert.equal(door.files.length, 1, "but its file is there for who looks around");
});

/** How long the loop was at one thing, in the processor's time: what others do here does not count. */
class LongestTurn {
  #longestMs = 0;
  #last = process.cpuUsage();
  #next = setImmediate(() => this.#take());

  end(): number {
    clearImmediate(this.#next);
    this.#look();
    return this.#longestMs;
  }

  #take(): void {
    this.#look();
    this.#next = setImmediate(() => this.#take());
  }

  #look(): void {
    const { user, system } = process.cpuUsage(this.#last);
    this.#last = process.cpuUsage();
    this.#longestMs = Math.max(this.#longestMs, (user + system) / 1_000);
  }
}

function open(
  { plane }: TestPlane,
  directory: string,
  clock: Clock = wallClock,
): ReturnType<typeof openStatusDoor> {
  return openStatusDoor(plane, { directory, clock, hostName: hostname(), warn });
}

function record(id: string, task: StatusRecord["task"]): StatusRecord {
  const name = id.split("-")[0] ?? id;
  const runtime = { lifecycle: "running", updated_at: printTimestamp(Date.now()) } as const;
  const about = { schema_version: schemaVersion, agent_id: id, agent_name: name, runtime } as const;
  return task ? { ...about, task } : about;
}

function observed({ plane }: TestPlane): Promise<readonly Observed[]> {
  return plane.read((state) => [...state.observed.byId.values()]);
}

/** Whatever happened to the files before is seen when a later one is. */
async function seeAll(opened: TestPlane, directory: string): Promise<void> {
  writeStatusFile(directory, record("marker", undefined));
  await until(opened, (all) => all.some(({ id }) => id === "marker"));
}

async function until(
  opened: TestPlane,
  isSo: (all: readonly Observed[]) => boolean,
): Promise<void> {
  await eventually(async () => assert(isSo(await observed(opened))));
}

/** Asks until it holds: files are watched by the system, in its own time. */
async function eventually(check: () => void | Promise<void>): Promise<void> {
  const untilMs = Date.now() + 10_000;
  for (;;) {
    try {
      return await check();
    } catch (fault) {
      if (Date.now() > untilMs) throw fault;
    }
    await sleep(20);
  }
}
