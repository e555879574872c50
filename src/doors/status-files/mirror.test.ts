import assert from "node:assert/strict";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { agentId, questionId } from "../../core/index.ts";
import { limits as planeLimits } from "../../plane/index.ts";
import {
  idleClock,
  readDirectory,
  readStatusFile,
  StatusWriter,
  statusPath,
  writeStatusFile,
} from "../../status-files/index.ts";
import { deregister, heartbeat, register } from "../../testing/commands.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { temporaryDirectory } from "../../testing/temporary.ts";
import { test as me, openPlane } from "../../testing/test-plane.ts";
import {
  isMirrored,
  printTimestamp,
  type StatusRecord,
  schemaVersion,
} from "../../wire/status-file/index.ts";
import { openStatusDoor } from "./door.ts";
import { limits } from "./limits.ts";
import { openMirror } from "./mirror.ts";

const warn = (message: string): never => assert.fail(message);

test("registered agents are mirrored, marked as ours, and never read back", async () => {
  await using place = await temporaryDirectory();
  await using opened = await openPlane();
  const { plane } = opened;
  await plane.submit(register("ada"), me, () => ({}));
  writeStatusFile(place.path, mirrored("left-behind"));
  {
    await using door = await openStatusDoor(plane, {
      directory: place.path,
      clock: idleClock,
      hostName: hostname(),
      warn,
    });
    await using _mirror = await openMirror(plane, {
      directory: place.path,
      warn,
      clock: idleClock,
    });
    assert.deepEqual(readdirSync(place.path), ["ada.json"], "an earlier daemon's are swept");
    assert.deepEqual(door.files, []);
    await plane.submit(heartbeat("ada", "waiting may I?"), me, () => ({}));
    await eventually(() => {
      const [file] = readDirectory(place.path).files;
      assert.equal(file?.record.task?.state, "input-required");
      assert.equal(file?.record.task?.summary, "may I?");
      assert.equal(file?.record.agent_name, "ada");
    });
    await plane.submit(heartbeat("ada", "thinking"), me, () => ({}));
    const asker = { of: "agent", agentId: agentId("ada") } as const;
    const question = { questionId: questionId("q"), asker, key: "1", prompt: "Pay?" };
    const expects = { of: "text" } as const;
    await plane.submit({ type: "question.ask", ...question, expects }, me, () => ({}));
    const taskOfAda = (): readonly unknown[] => {
      const { state, summary } = readDirectory(place.path).files[0]?.record.task ?? {};
      return [state, summary];
    };
    await eventually(() => assert.deepEqual(taskOfAda(), ["input-required", "Pay?"]));
    await plane.submit({ type: "question.withdraw", asker, key: "1" }, me, () => ({}));
    await eventually(() => assert.equal(taskOfAda()[0], "working"));
    assert.equal(await plane.read((state) => state.observed.byId.size), 0);
    await plane.submit(register("bob"), me, () => ({}));
    await eventually(() => assert.equal(readdirSync(place.path).length, 2));
    await plane.submit(deregister("ada"), me, () => ({}));
    await eventually(() => assert.deepEqual(readdirSync(place.path), ["bob.json"]));
  }
  assert.deepEqual(readdirSync(place.path), [], "nothing is left behind");
});

test("a record that calls itself mirrored removes nothing but itself, and only where it is named so", async () => {
  await using place = await temporaryDirectory();
  await using opened = await openPlane();
  const directory = join(place.path, "status");
  writeStatusFile(directory, record("victim", { state: "input-required" }));
  writeFileSync(join(place.path, "outside.json"), "mine");
  const forged = ["../outside", "victim", "x\u0000y", "n".repeat(400)];
  for (const [index, id] of forged.entries()) {
    const path = join(directory, `forged-${index}.json`);
    writeFileSync(path, JSON.stringify({ ...mirrored("m"), agent_id: id }));
  }
  const living = {
    ...mirrored("living"),
    x_meta: { tipstaff: { mirror: true, daemon: process.ppid } },
  };
  writeStatusFile(directory, living);
  writeStatusFile(directory, mirrored("left-behind"));
  await using _mirror = await openMirror(opened.plane, { directory, warn, clock: idleClock });
  assert.deepEqual(readdirSync(directory).sort(), [
    ...forged.map((_, index) => `forged-${index}.json`),
    "living.json",
    "victim.json",
  ]);
  assert.deepEqual(readdirSync(place.path).sort(), ["outside.json", "status"]);
});

test("without a mirror too, what a dead daemon left is swept, and what a living one mirrors is seen", async () => {
  await using place = await temporaryDirectory();
  await using opened = await openPlane();
  writeStatusFile(place.path, mirrored("left-behind"));
  writeStatusFile(place.path, {
    ...mirrored("living"),
    x_meta: { tipstaff: { mirror: true, daemon: process.ppid } },
  });
  await using door = await openStatusDoor(opened.plane, {
    directory: place.path,
    clock: idleClock,
    hostName: hostname(),
    warn,
  });
  assert.deepEqual(readdirSync(place.path), ["living.json"]);
  assert.equal(door.files.length, 1);
  const observed = await opened.plane.read((state) => [...state.observed.byId.keys()]);
  assert.deepEqual(observed, ["living"]);
});

test("a file that an agent writes itself is left to it, also when it was mirrored before", async () => {
  await using place = await temporaryDirectory();
  const directory = place.path;
  await using opened = await openPlane();
  const { plane } = opened;
  await plane.submit(register("ada"), me, () => ({}));
  await plane.submit(register("bob"), me, () => ({}));
  const own = record("ada", { state: "input-required", summary: "may I?" });
  writeStatusFile(directory, own);
  const mirror = await openMirror(plane, { directory, warn, clock: idleClock });
  assert.deepEqual(readStatusFile(statusPath(directory, "ada")).record, own);
  // Bob comes to write his own where the mirror has written for him.
  assert(isMirrored(readStatusFile(statusPath(directory, "bob")).record ?? own));
  const about = { id: "bob", name: "bob", directory, pid: 42, clock: idleClock };
  await using bob = await StatusWriter.open({ ...about, workspace: undefined, tmux: undefined });
  bob.waiting("may I too?");
  await bob.flush();
  const { x_meta, ...told } = readStatusFile(bob.path).record ?? own;
  assert.equal(x_meta, undefined, "the mark is not taken over");
  await plane.submit(heartbeat("bob", "thinking of it"), me, () => ({}));
  await plane.submit(heartbeat("ada", "thinking of it"), me, () => ({}));
  await plane.submit(register("carol"), me, () => ({}));
  await eventually(() => assert.equal(readdirSync(directory).length, 3));
  await plane.submit(deregister("ada"), me, () => ({}));
  await plane.submit(deregister("carol"), me, () => ({}));
  await eventually(() => assert.deepEqual(readdirSync(directory), ["ada.json", "bob.json"]));
  await mirror[Symbol.asyncDispose]();
  assert.deepEqual(readdirSync(directory), ["ada.json", "bob.json"]);
  assert.deepEqual(readStatusFile(statusPath(directory, "ada")).record, own);
  assert.deepEqual(readStatusFile(bob.path).record, told);
});

test("a mark that the mirror left in an agent's own file is not kept up", async () => {
  await using place = await temporaryDirectory();
  const directory = place.path;
  const about = { id: "ada", name: "ada", directory, pid: 42, clock: idleClock };
  for (const xMeta of [undefined, { mine: 1 }]) {
    await using ada = await StatusWriter.open({
      ...about,
      workspace: undefined,
      tmux: undefined,
      xMeta,
    });
    const { x_meta: mine, ...written } = readStatusFile(ada.path).record ?? record("ada");
    const marked = { ...mine, theirs: 2, ...mirrored("ada").x_meta };
    writeStatusFile(directory, { ...written, x_meta: marked });
    ada.working();
    await ada.flush();
    assert.deepEqual(readStatusFile(ada.path).record?.x_meta, { ...mine, theirs: 2 });
  }
});

test("a file that cannot be written is told of once, until it can be, and keeps no other from being written", async () => {
  await using place = await temporaryDirectory();
  const warnings: string[] = [];
  await using opened = await openPlane();
  const { plane } = opened;
  // The first of them can never have a file.
  for (const name of ["a/b", "ada"]) await plane.submit(register(name), me, () => ({}));
  const directory = join(place.path, "status");
  const options = {
    directory,
    warn: (message: string) => void warnings.push(message),
    clock: idleClock,
  };
  const mirror = await openMirror(plane, options);
  assert.deepEqual(readdirSync(directory), ["ada.json"]);
  assert.deepEqual(warnings, ["the status file of a/b could not be kept"]);
  await plane.submit(register("bob"), me, () => ({}));
  await eventually(() => assert.deepEqual(readdirSync(directory), ["ada.json", "bob.json"]));
  // From here on, none of them.
  rmSync(directory, { recursive: true });
  writeFileSync(directory, "in the way");
  for (const note of ["one", "two"]) {
    await plane.submit(heartbeat("ada", `thinking ${note}`), me, () => ({}));
    await plane.submit(heartbeat("bob", `thinking ${note}`), me, () => ({}));
    await eventually(() => assert(warnings.length > 1));
  }
  rmSync(directory);
  await plane.submit(register("carol"), me, () => ({}));
  await eventually(() => {
    assert.deepEqual(readdirSync(directory), ["ada.json", "bob.json", "carol.json"]);
  });
  await plane.submit(deregister("a/b"), me, () => ({}));
  await mirror[Symbol.asyncDispose]();
  assert.deepEqual(readdirSync(directory), []);
  assert.equal(warnings.length, new Set(warnings).size, warnings.join("; "));
  assert(warnings.length <= 3, warnings.join("; "));
});

test("a file says every 20 s that its agent is there, and nothing before that without need", async () => {
  await using place = await temporaryDirectory();
  const { path: directory } = place;
  await using opened = await openPlane();
  const { plane } = opened;
  const clock = new ManualClock();
  await plane.submit(register("ada"), me, () => ({}));
  const mirror = await openMirror(plane, { directory, warn, clock });
  const saidAt = (): string | undefined =>
    readStatusFile(statusPath(directory, "ada")).record?.runtime.updated_at;
  const first = saidAt();
  assert.equal(first, printTimestamp(clock.nowMs()));
  for (let beat = 1; beat <= 2; beat++) {
    const before = saidAt();
    await clock.pass(19_900);
    assert.equal(saidAt(), before, "too early");
    await clock.pass(100);
    await eventually(() => assert.equal(saidAt(), printTimestamp(clock.nowMs())));
  }
  await mirror[Symbol.asyncDispose]();
  assert.equal(clock.sleepers, 0);
});

test("where there was no room to watch, it is asked for again at the next beat", async () => {
  await using place = await temporaryDirectory();
  const { path: directory } = place;
  await using opened = await openPlane();
  const { plane } = opened;
  const clock = new ManualClock();
  const others = Array.from({ length: planeLimits.watchersMax }, () => plane.watch());
  await using _mirror = await openMirror(plane, { directory, warn, clock });
  for (const other of others) other.close();
  await eventually(() => assert.equal(clock.sleepers, 2, "the beat, and who asks again"));
  await clock.pass(20_000, 10_000);
  await eventually(() => assert.equal(plane.watchers, 1));
  await plane.submit(register("ada"), me, () => ({}));
  await eventually(() => assert.deepEqual(readdirSync(directory), ["ada.json"]));
});

test("who fell behind while the disk was at work catches up, and goes on", async () => {
  await using place = await temporaryDirectory();
  const { path: directory } = place;
  await using opened = await openPlane();
  const { plane } = opened;
  const clock = new ManualClock();
  await using _mirror = await openMirror(plane, { directory, warn, clock });
  // Each of these is a turn of the loop at least, before the mirror asks for news again.
  const crowd = Array.from({ length: 100 }, (_, index) => `crowd-${index}`);
  await Promise.all(crowd.map((name) => plane.submit(register(name), me, () => ({}))));
  const half = planeLimits.watcherEntriesMax / 2 + 1;
  for (let round = 0; round < 2; round++) {
    const beats = Array.from({ length: half }, (_, index) =>
      plane.submit(heartbeat("crowd-0", `thinking ${round} ${index}`), me, () => ({})),
    );
    await Promise.all(beats);
  }
  assert.equal(plane.watchers, 0, "it is too slow");
  await eventually(() => assert.equal(readdirSync(directory).length, 100));
  await eventually(() => assert.equal(plane.watchers, 1));
  await plane.submit(register("late"), me, () => ({}));
  await eventually(() => assert.equal(readdirSync(directory).length, 101));
});

test("of more agents than have a file, the others are told of once", async () => {
  await using place = await temporaryDirectory();
  // A thousand files take their time, and here it is enough to see that there would be as many.
  const directory = join(place.path, "file");
  writeFileSync(directory, "in the way");
  await using opened = await openPlane();
  const { plane } = opened;
  const clock = new ManualClock();
  const names = Array.from({ length: limits.mirroredMax + 1 }, (_, index) => `crowd-${index}`);
  await Promise.all(names.map((name) => plane.submit(register(name), me, () => ({}))));
  const warnings: string[] = [];
  const options = { directory, warn: (message: string) => void warnings.push(message), clock };
  await using _mirror = await openMirror(plane, options);
  await clock.pass(20_000, 10_000);
  await eventually(() => assert.equal(clock.sleepers, 1, "the beat is over"));
  await plane.submit(deregister("crowd-0"), me, () => ({}));
  await eventually(() => assert.equal(warnings.length, 3));
  assert.deepEqual(warnings, [
    "only 1000 of 1001 agents have a status file",
    "1000 status files, one of them that of crowd-0, could not be kept",
    "the status file of crowd-1000 could not be kept",
  ]);
});

function record(id: string, task?: StatusRecord["task"]): StatusRecord {
  const runtime = { lifecycle: "running", updated_at: printTimestamp(Date.now()) } as const;
  const about = { schema_version: schemaVersion, agent_id: id, agent_name: id, runtime } as const;
  return task ? { ...about, task } : about;
}

function mirrored(id: string): StatusRecord {
  return { ...record(id), x_meta: { tipstaff: { source: "registry", mirror: true } } };
}

/** Asks until it holds: what is decided is written in the disk's own time. */
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
