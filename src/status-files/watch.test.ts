import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "../testing/manual-clock.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { printTimestamp, type StatusRecord } from "../wire/status-file/index.ts";
import {
  type Change,
  removeStatusFile,
  type WatchDirectoryOptions,
  watchDirectory,
  writeStatusFile,
} from "./index.ts";
import { limits } from "./limits.ts";

function recordOf(id: string, nowMs: number, name = "n"): StatusRecord {
  return {
    schema_version: "agent-status/v1alpha1",
    agent_id: id,
    agent_name: name,
    runtime: { lifecycle: "running", updated_at: printTimestamp(nowMs) },
  };
}

/** A change in few words. */
function say(change: Change): string {
  switch (change.type) {
    case "snapshot": {
      const files = change.files.map(({ record, state }) => `${record.agent_id} ${state}`);
      return ["snapshot", ...files, ...change.warnings.map(({ kind }) => kind)].join(", ");
    }
    case "upsert":
      return `upsert ${change.file.record.agent_id} ${change.file.record.agent_name} ${change.file.state}`;
    case "state":
      return `state ${change.file.record.agent_id} ${change.file.state}`;
    case "remove":
      return `remove ${change.agentId}`;
    case "warnings":
      return ["warnings", ...change.warnings.map(({ kind }) => kind)].join(" ");
  }
}

/** A watch on real files, by a clock that stands still. */
class Scene implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly #ending = new AbortController();
  readonly #changes: AsyncGenerator<Change, void, undefined>;
  readonly directory: string;

  constructor(directory: string, options: WatchDirectoryOptions = {}) {
    this.directory = directory;
    const { signal } = this.#ending;
    this.#changes = watchDirectory(directory, { clock: this.clock, signal, ...options });
  }

  async next(): Promise<string> {
    const { value, done } = await this.#changes.next();
    return done ? "the end" : say(value);
  }

  write(id: string, name?: string): void {
    writeStatusFile(this.directory, recordOf(id, this.clock.nowMs(), name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#changes.return();
  }
}

test("a watch begins with all there is, and goes on with what changes", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = new Scene(scratch.path);
  scene.write("a");
  writeFileSync(join(scratch.path, "bad.json"), "{");
  assert.equal(await scene.next(), "snapshot, a idle, invalid-json");
  scene.write("b");
  assert.equal(await scene.next(), "upsert b n idle");
  scene.write("a", "another");
  assert.equal(await scene.next(), "upsert a another idle");
  removeStatusFile(scratch.path, "a");
  assert.equal(await scene.next(), "remove a");
});

test("a file whose name is not UTF-8 is followed like any other", {
  skip: process.platform !== "linux",
}, async () => {
  await using scratch = await temporaryDirectory();
  await using scene = new Scene(scratch.path);
  assert.equal(await scene.next(), "snapshot");
  const path = Buffer.concat([
    Buffer.from(`${scratch.path}/`),
    Buffer.of(0xff),
    Buffer.from(".json"),
  ]);
  const write = (name: string): void =>
    writeFileSync(path, JSON.stringify(recordOf("a", scene.clock.nowMs(), name)));
  write("one");
  assert.equal(await scene.next(), "upsert a one idle");
  assert.equal(await scene.next(), "warnings id-mismatch");
  write("other");
  assert.equal(await scene.next(), "upsert a other idle");
  rmSync(path);
  assert.equal(await scene.next(), "remove a");
});

test("what changes many times in a moment is told once, as it is in the end", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = new Scene(scratch.path);
  assert.equal(await scene.next(), "snapshot");
  const next = scene.next();
  for (let count = 0; count < 20; count++) scene.write("a", `n${count}`);
  assert.equal(await next, "upsert a n19 idle");
  scene.write("b");
  assert.equal(await scene.next(), "upsert b n idle");
});

test("a file that never rests is read some twenty times a second, however often it changes", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = new Scene(scratch.path);
  assert.equal(await scene.next(), "snapshot");
  const beganMs = performance.now();
  let told = 0;
  let writes = 0;
  const listening = (async () => {
    while ((await scene.next()) !== "upsert a end idle") told += 1;
  })();
  while (performance.now() - beganMs < 1_000) {
    scene.write("a", `n${writes}`);
    writes += 1;
    await new Promise(setImmediate);
  }
  scene.write("a", "end");
  await listening;
  const readsMax = (performance.now() - beganMs) / limits.debounceMs + 1;
  assert(
    told > 0 && told <= readsMax && told < writes / 2,
    `told of ${told} of ${writes} versions`,
  );
});

test("whoever is slow to ask is told the last state, and not each on the way", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = new Scene(scratch.path);
  assert.equal(await scene.next(), "snapshot");
  for (const name of ["first", "second", "third"]) {
    scene.write("a", name);
    await new Promise(setImmediate);
  }
  scene.write("gone");
  await new Promise(setImmediate);
  removeStatusFile(scratch.path, "gone");
  assert.equal(await scene.next(), "upsert a third idle");
  scene.write("b");
  assert.equal(await scene.next(), "upsert b n idle");
});

test("a file that is touched and says the same is no news", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = new Scene(scratch.path);
  scene.write("a");
  assert.equal(await scene.next(), "snapshot, a idle");
  scene.write("a");
  scene.write("b");
  assert.equal(await scene.next(), "upsert b n idle");
});

test("[AS-48] a record becomes stale at its time, without a file that changes", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = new Scene(scratch.path);
  scene.write("a");
  scene.clock.leap(1_000);
  scene.write("b");
  assert.equal(await scene.next(), "snapshot, b idle, a idle");
  let told: string | undefined;
  const first = scene.next().then((change) => {
    told = change;
    return change;
  });
  await scene.clock.pass(59_000);
  assert.equal(told, undefined, "60 s old is not too old");
  scene.clock.leap(1);
  assert.equal(await first, "state a stale");
  const second = scene.next();
  await scene.clock.pass(1_000);
  assert.equal(await second, "state b stale");
  const third = scene.next();
  scene.write("a");
  assert.equal(await third, "upsert a n idle");
});

test("who wants to know earlier is told earlier", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = new Scene(scratch.path, { staleAfterMs: 5_000 });
  scene.write("a");
  assert.equal(await scene.next(), "snapshot, a idle");
  const next = scene.next();
  await scene.clock.pass(5_100);
  assert.equal(await next, "state a stale");
});

test("[AS-42] a file that breaks is gone until it is whole again, and what is wrong is told", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = new Scene(scratch.path);
  scene.write("a");
  assert.equal(await scene.next(), "snapshot, a idle");
  writeFileSync(join(scratch.path, "a.json"), "{");
  assert.equal(await scene.next(), "remove a");
  assert.equal(await scene.next(), "warnings invalid-json");
  scene.write("a");
  assert.equal(await scene.next(), "upsert a n idle");
  assert.equal(await scene.next(), "warnings");
});

test("[AS-41] what is put in to stop a reader stops nobody", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = new Scene(scratch.path);
  assert.equal(await scene.next(), "snapshot");
  execFileSync("mkfifo", [join(scratch.path, "pipe.json")]);
  assert.equal(await scene.next(), "warnings unreadable");
  symlinkSync("loop.json", join(scratch.path, "loop.json"));
  assert.equal(await scene.next(), "warnings unreadable unreadable");
  scene.write("a");
  assert.equal(await scene.next(), "upsert a n idle");
});

test("a directory that comes later is seen when it comes, however deep", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = new Scene(join(scratch.path, "x/y/z"));
  assert.equal(await scene.next(), "snapshot");
  const next = scene.next();
  await new Promise(setImmediate);
  scene.write("a");
  assert.equal(await next, "upsert a n idle");
  scene.write("b");
  assert.equal(await scene.next(), "upsert b n idle");
});

test("a directory that is removed and made again is followed", async () => {
  await using scratch = await temporaryDirectory();
  const directory = join(scratch.path, "status");
  await using scene = new Scene(directory);
  scene.write("a");
  assert.equal(await scene.next(), "snapshot, a idle");
  for (let round = 0; round < 3; round++) {
    rmSync(directory, { recursive: true });
    assert.equal(await scene.next(), "remove a");
    scene.write("a");
    assert.equal(await scene.next(), "upsert a n idle");
  }
  // At once, so that the new one may well have the old one's number.
  rmSync(directory, { recursive: true });
  mkdirSync(directory);
  scene.write("b");
  assert.equal(await scene.next(), "remove a");
  assert.equal(await scene.next(), "upsert b n idle");
  scene.write("c");
  assert.equal(await scene.next(), "upsert c n idle");
});

test("a directory that changes places with another is followed", async () => {
  await using scratch = await temporaryDirectory();
  const directory = join(scratch.path, "status");
  await using scene = new Scene(directory);
  scene.write("a");
  assert.equal(await scene.next(), "snapshot, a idle");
  renameSync(directory, join(scratch.path, "old"));
  assert.equal(await scene.next(), "remove a");
  renameSync(join(scratch.path, "old"), directory);
  assert.equal(await scene.next(), "upsert a n idle");
});

test("what no event tells of is found by looking now and then", async () => {
  await using scratch = await temporaryDirectory();
  const above = join(scratch.path, "above");
  const directory = join(above, "status");
  await using scene = new Scene(directory, { staleAfterMs: 86_400_000 });
  scene.write("a");
  assert.equal(await scene.next(), "snapshot, a idle");
  // The watched directory is where it was; only its name leads elsewhere now.
  renameSync(above, join(scratch.path, "old"));
  scene.write("b");
  let told: string | undefined;
  const next = scene.next().then((change) => {
    told = change;
    return change;
  });
  await scene.clock.pass(limits.pollMs - 100);
  assert.equal(told, undefined);
  await scene.clock.pass(200);
  assert.equal(await next, "remove a");
  assert.equal(await scene.next(), "upsert b n idle");
  scene.write("c");
  assert.equal(await scene.next(), "upsert c n idle");
});

test("a change that neither an event nor the file's times show is found, if the file is new", async () => {
  await using scratch = await temporaryDirectory();
  const directory = join(scratch.path, "status");
  await using scene = new Scene(directory, { staleAfterMs: 86_400_000 });
  scene.write("a", "one");
  const inside = join(directory, "a.json");
  const outside = join(scratch.path, "same-file");
  const now = Math.floor(Date.now() / 1000);
  utimesSync(inside, now, now);
  linkSync(inside, outside);
  assert.equal(await scene.next(), "snapshot, a idle");
  // By its other name, which is not in the directory that is watched.
  writeFileSync(outside, readFileSync(outside, "utf8").replace("one", "two"));
  utimesSync(outside, now, now);
  const next = scene.next();
  await scene.clock.pass(limits.pollMs);
  assert.equal(await next, "upsert a two idle");
});

test("a file that is not valid is not read again as long as its inode, size and time are the same", async () => {
  await using scratch = await temporaryDirectory();
  const directory = join(scratch.path, "status");
  await using scene = new Scene(directory, { staleAfterMs: 86_400_000 });
  const valid = JSON.stringify(recordOf("a", scene.clock.nowMs()));
  const outside = join(scratch.path, "same-file");
  const longAgo = Math.floor(Date.now() / 1000) - 60;
  writeFileSync(outside, "?".repeat(valid.length));
  utimesSync(outside, longAgo, longAgo);
  mkdirSync(directory);
  linkSync(outside, join(directory, "a.json"));
  assert.equal(await scene.next(), "snapshot, invalid-json");
  // By its other name, which is not in the directory that is watched.
  writeFileSync(outside, valid);
  utimesSync(outside, longAgo, longAgo);
  const next = scene.next();
  await scene.clock.pass(limits.pollMs);
  scene.write("b");
  assert.equal(await next, "upsert b n idle");
});

test("at the limit of files a valid record replaces one that is not valid, and warnings are bounded", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = new Scene(scratch.path);
  const bad = join(scratch.path, "bad.json");
  writeFileSync(bad, "{");
  for (let count = 0; count < limits.filesMax; count++) {
    linkSync(bad, join(scratch.path, `bad-${count}.json`));
  }
  const [snapshot, ...warnings] = (await scene.next()).split(", ");
  assert.equal(snapshot, "snapshot");
  assert.deepEqual(warnings.slice(0, 3), ["too-many", "too-many", "invalid-json"]);
  assert.equal(warnings.length, 2 + limits.warningsMax);
  scene.write("a");
  assert.equal(await scene.next(), "upsert a n idle");
  // One of the files that were listed had to make room.
  assert.match(await scene.next(), /^warnings too-many too-many invalid-json /);
  removeStatusFile(scratch.path, "a");
  assert.equal(await scene.next(), "remove a");
});

test("at the limit of files, valid records that no event tells of are found by looking now and then", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = new Scene(scratch.path, { staleAfterMs: Number.MAX_SAFE_INTEGER });
  const valid = Array.from({ length: 100 }, (_, index) => `valid-${index}`);
  // Half of them before the others, because some file systems list files in the order in which they were made.
  for (const id of valid.slice(0, 50)) scene.write(id);
  const bad = join(scratch.path, "bad.json");
  writeFileSync(bad, "{");
  for (let count = 0; count < limits.filesMax + 3 * limits.unreadFilesPerLook; count++) {
    linkSync(bad, join(scratch.path, `bad-${count}.json`));
  }
  for (const id of valid.slice(50)) scene.write(id);
  const seen = new Set<string>();
  const take = (told: string): void => {
    for (const [id] of told.matchAll(/valid-\d+/g)) seen.add(id);
  };
  take(await scene.next());
  assert(seen.size < valid.length, "some are behind the files that are not valid");
  while (seen.size < valid.length) {
    let isTold = false;
    const next = scene.next().then((told) => {
      take(told);
      isTold = true;
    });
    for (let passes = 0; !isTold && passes < 50; passes++) await scene.clock.pass(limits.pollMs);
    assert(isTold, `${seen.size} of ${valid.length} were found`);
    await next;
  }
});

test("events that the system has dropped cost nothing but a look at everything", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = new Scene(scratch.path);
  assert.equal(await scene.next(), "snapshot");
  const storm = `
    const { closeSync, openSync, renameSync, unlinkSync } = require("node:fs");
    const at = (name) => process.argv[1] + "/" + name;
    for (let round = 0; round < 10_000; round++) {
      closeSync(openSync(at("one"), "w"));
      renameSync(at("one"), at("other"));
    }
    unlinkSync(at("other"));
  `;
  const next = scene.next();
  // Nobody listens while this runs, because it stops this process.
  execFileSync(process.execPath, ["--eval", storm, scratch.path]);
  scene.write("last");
  assert.equal(await next, "upsert last n idle");
});

test("a watch ends when it is told to, and when its loop is left", {
  timeout: 10_000,
}, async () => {
  await using scratch = await temporaryDirectory();
  const ending = new AbortController();
  const changes = watchDirectory(scratch.path, { signal: ending.signal });
  await changes.next();
  const next = changes.next();
  ending.abort();
  assert.deepEqual(await next, { value: undefined, done: true });
  for await (const change of watchDirectory(scratch.path)) {
    assert.equal(change.type, "snapshot");
    break;
  }
  const before = watchDirectory(scratch.path, { signal: AbortSignal.abort() });
  assert.deepEqual(await before.next(), { value: undefined, done: true });
  const isListening = (): boolean => process.getActiveResourcesInfo().includes("FSEventWrap");
  while (isListening()) await new Promise(setImmediate);
});
