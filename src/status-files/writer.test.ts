import assert from "node:assert/strict";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "../testing/manual-clock.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { printTimestamp, type StatusRecord } from "../wire/status-file/index.ts";
import { readStatusFile, StatusWriter, type WriterOptions, writeStatusFile } from "./index.ts";

class Scene implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly directory: string;
  readonly writer: StatusWriter;
  readonly beganAt: string;

  private constructor(directory: string, clock: ManualClock, writer: StatusWriter) {
    this.directory = directory;
    this.clock = clock;
    this.writer = writer;
    this.beganAt = printTimestamp(clock.nowMs());
  }

  static async open(directory: string, more: Partial<WriterOptions> = {}): Promise<Scene> {
    const clock = new ManualClock();
    const options = {
      id: "a",
      name: "n",
      directory,
      workspace: "/w",
      pid: 42,
      tmux: undefined,
      clock,
    };
    return new Scene(directory, clock, await StatusWriter.open({ ...options, ...more }));
  }

  get record(): StatusRecord {
    const { record, problem } = readStatusFile(this.writer.path);
    assert(record, problem?.errors.join() ?? "");
    return record;
  }

  get now(): string {
    return printTimestamp(this.clock.nowMs());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.writer[Symbol.asyncDispose]();
  }
}

test("[AS-19] a writer that was only opened is idle, and has no part that it has nothing to say about", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = await Scene.open(scratch.path);
  assert.deepEqual(scene.record, {
    schema_version: "agent-status/v1alpha1",
    agent_id: "a",
    agent_name: "n",
    runtime: { lifecycle: "running", updated_at: scene.beganAt, pid: 42, workspace: "/w" },
  });
});

test("[AS-23] what it does is said with the time when that began", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = await Scene.open(scratch.path);
  const { writer, clock } = scene;
  clock.leap(1_000);
  writer.working("reading  the\ncode");
  await writer.flush();
  const began = scene.now;
  assert.deepEqual(scene.record.task, {
    state: "working",
    summary: "reading the code",
    status_timestamp: began,
  });
  clock.leap(1_000);
  writer.working("running the tests");
  writer.update({ task: { id: "t1", contextId: "c1" } });
  await writer.flush();
  assert.deepEqual(scene.record.task, {
    state: "working",
    summary: "running the tests",
    status_timestamp: began,
    id: "t1",
    context_id: "c1",
  });
  assert.equal(scene.record.runtime.last_activity_at, scene.now);
  clock.leap(1_000);
  writer.waiting("delete the migration?");
  await writer.flush();
  assert.equal(scene.record.task?.state, "input-required");
  assert.equal(scene.record.task?.summary, "delete the migration?");
  assert.equal(scene.record.task?.status_timestamp, scene.now);
  writer.idle();
  await writer.flush();
  assert.equal("task" in scene.record, false);
});

test("[AS-86] summaries are one line of at most 120 characters, and a blank one is none", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = await Scene.open(scratch.path, { goal: `fix ${"😀".repeat(200)}` });
  assert.equal([...(scene.record.goal?.summary ?? "")].length, 120);
  scene.writer.working("x\u001b[31m\n".repeat(100));
  await scene.writer.flush();
  assert.match(scene.record.task?.summary ?? "", /^[ -~]{1,120}$/);
  scene.writer.update({ goal: " \n " });
  scene.writer.working("");
  await scene.writer.flush();
  assert.equal("goal" in scene.record, false);
  assert.equal(scene.record.task?.summary, undefined);
  assert.equal(scene.writer.problem, undefined);
});

test("[AS-22] [AS-23] a heartbeat comes every 20 s and changes nothing but the time of it", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = await Scene.open(scratch.path, { goal: "g", xMeta: { k: [1] } });
  scene.writer.working("x");
  await scene.writer.flush();
  const before = scene.record;
  for (let beat = 1; beat <= 3; beat++) {
    await scene.clock.pass(19_900);
    assert.equal(scene.record.runtime.updated_at, before.runtime.updated_at, "too early");
    await scene.clock.pass(100);
    while (scene.record.runtime.updated_at === before.runtime.updated_at) {
      await new Promise(setImmediate);
    }
    const { runtime } = before;
    assert.deepEqual(scene.record, { ...before, runtime: { ...runtime, updated_at: scene.now } });
    Object.assign(before, scene.record);
  }
});

test("what is said in quick succession is written together, and the last word counts", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = await Scene.open(scratch.path);
  const { writer, clock } = scene;
  const before = readFileSync(writer.path, "utf8");
  for (let count = 0; count < 90; count++) {
    writer.working(`step ${count}`);
    clock.leap(1);
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    assert.equal(readFileSync(writer.path, "utf8"), before, `written after ${count} ms`);
  }
  clock.leap(10);
  while (scene.record.task?.summary !== "step 89") await new Promise(setImmediate);
});

test("[AS-25] where it runs in tmux is both keys or none, whatever the caller says", async () => {
  await using scratch = await temporaryDirectory();
  const xMeta = { tmux_pane: "%9", tmux_socket: "/x", mine: 1 };
  {
    await using scene = await Scene.open(scratch.path, { xMeta });
    assert.deepEqual(scene.record.x_meta, { mine: 1 });
    scene.writer.update({ xMeta: { mine: undefined, tmux_pane: "%1" } });
    await scene.writer.flush();
    assert.equal("x_meta" in scene.record, false);
  }
  const tmux = { tmux_socket: "/tmp/a,b", tmux_pane: "%4" };
  await using scene = await Scene.open(scratch.path, { xMeta, tmux });
  assert.deepEqual(scene.record.x_meta, { mine: 1, ...tmux });
});

test("goal, links and further data are changed by name, and taken away by null", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = await Scene.open(scratch.path, { goal: "first", xMeta: { a: 1, b: 2 } });
  const { writer } = scene;
  assert.deepEqual(scene.record.goal, {
    summary: "first",
    updated_at: scene.beganAt,
    source: "initial-prompt",
  });
  writer.update({ goal: "second", a2a: { serviceUrl: "http://x" }, xMeta: { b: undefined, c: 3 } });
  await writer.flush();
  assert.equal(scene.record.goal?.summary, "second");
  assert.deepEqual(scene.record.a2a, { service_url: "http://x" });
  assert.deepEqual(scene.record.x_meta, { a: 1, c: 3 });
  writer.update({ goal: null, a2a: null, xMeta: null });
  await writer.flush();
  assert.deepEqual(Object.keys(scene.record).toSorted(), [
    "agent_id",
    "agent_name",
    "runtime",
    "schema_version",
  ]);
});

test("what an older record of the id had that we do not know stays, and its task does not", async () => {
  await using scratch = await temporaryDirectory();
  const old = {
    schema_version: "agent-status/v1alpha1",
    agent_id: "a",
    agent_name: "old",
    runtime: { lifecycle: "stopped", updated_at: "2020-01-01T00:00:00Z", pid: 1, x_host: "h" },
    goal: { summary: "g", updated_at: "2020-01-01T00:00:00Z", source: "initial-prompt", x_g: 1 },
    task: { state: "working", x_t: 1 },
    x_meta: { kept: { deep: [1] }, tmux_pane: "%1", tmux_socket: "/s" },
    x_future: { any: "thing" },
  };
  writeFileSync(join(scratch.path, "a.json"), JSON.stringify(old));
  await using scene = await Scene.open(scratch.path, { xMeta: { mine: true } });
  assert.deepEqual(scene.record, {
    schema_version: "agent-status/v1alpha1",
    agent_id: "a",
    agent_name: "n",
    runtime: {
      lifecycle: "running",
      updated_at: scene.beganAt,
      pid: 42,
      workspace: "/w",
      x_host: "h",
    },
    goal: old.goal,
    x_meta: { kept: { deep: [1] }, mine: true },
    x_future: { any: "thing" },
  });
});

test("what others add to a record while it is kept stays, and what was taken away does not come back", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = await Scene.open(scratch.path, { xMeta: { mine: 1, gone: 1 } });
  const theirs = {
    ...scene.record,
    runtime: { ...scene.record.runtime, x_note: "n" },
    task: { state: "failed" },
    x_meta: { ...scene.record.x_meta, mine: 2, theirs: 3 },
    x_future: 4,
  };
  writeFileSync(scene.writer.path, JSON.stringify(theirs));
  scene.writer.update({ xMeta: { gone: undefined } });
  await scene.writer.flush();
  const { runtime, x_meta, task, ...rest } = scene.record;
  assert.deepEqual(x_meta, { mine: 1, theirs: 3 });
  assert.equal("x_note" in runtime && runtime.x_note, "n");
  assert.equal("x_future" in rest && rest.x_future, 4);
  assert.equal(task, undefined);
});

test("[AS-27] a directory that vanishes is made again, and one that cannot be is a problem until it can", async () => {
  await using scratch = await temporaryDirectory();
  const directory = join(scratch.path, "x/status");
  await using scene = await Scene.open(directory);
  const { writer } = scene;
  rmSync(join(scratch.path, "x"), { recursive: true });
  writer.working("on");
  await writer.flush();
  assert.equal(writer.problem, undefined);
  assert.equal(scene.record.task?.summary, "on");
  rmSync(join(scratch.path, "x"), { recursive: true });
  writeFileSync(join(scratch.path, "x"), "in the way");
  writer.working("and on");
  await writer.flush();
  assert.match(String(writer.problem), /ENOTDIR|EEXIST/);
  // The heart goes on, and finds that the way is free again.
  rmSync(join(scratch.path, "x"));
  await scene.clock.pass(20_000);
  while (writer.problem) await new Promise(setImmediate);
  assert.equal(scene.record.task?.summary, "and on");
});

test("what could not be written is tried again after 2 s, and not before", async () => {
  await using scratch = await temporaryDirectory();
  const directory = join(scratch.path, "status");
  await using scene = await Scene.open(directory);
  const { writer, clock } = scene;
  rmSync(directory, { recursive: true });
  writeFileSync(directory, "in the way");
  writer.waiting("delete?");
  await clock.pass(200);
  while (!writer.problem) await new Promise(setImmediate);
  rmSync(directory);
  await clock.pass(1_800);
  assert(writer.problem);
  await clock.pass(300);
  while (writer.problem) await new Promise(setImmediate);
  assert.equal(scene.record.task?.summary, "delete?");
});

test("[AS-28] a part that no reader would take is left out, the rest is written, and the problem says why", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = await Scene.open(scratch.path, { goal: "kept" });
  const { writer } = scene;
  writer.working("kept too");
  let deep: readonly unknown[] = [];
  for (let depth = 0; depth < 600; depth++) deep = [deep];
  writer.update({ xMeta: JSON.parse(`{"deep":${JSON.stringify(deep)}}`) });
  await writer.flush();
  assert.match(String(writer.problem), /nested/);
  assert.equal(scene.record.goal?.summary, "kept");
  assert.equal(scene.record.task?.summary, "kept too");
  assert.equal(scene.record.x_meta, undefined);
  writer.update({ xMeta: { deep: "x".repeat(2_000_000) } });
  await writer.flush();
  assert.match(String(writer.problem), /too large/);
  writer.update({ xMeta: null });
  await writer.flush();
  assert.equal(writer.problem, undefined);
});

test("[AS-27] nothing that a caller in JavaScript hands over throws", async () => {
  await using scratch = await temporaryDirectory();
  await using scene = await Scene.open(scratch.path);
  const { writer } = scene;
  const update = (given: unknown): void => Reflect.apply(writer.update, writer, [given]);
  const ring: Record<string, unknown> = {};
  ring["ring"] = ring;
  for (const given of [
    { xMeta: ring },
    { xMeta: { n: 1n } },
    { goal: 7 },
    { task: { summary: {} } },
  ]) {
    update(given);
    assert(writer.problem, JSON.stringify(Object.keys(given)));
  }
  update({ task: { state: "napping", id: 7 } });
  await writer.flush();
  assert.match(String(writer.problem), /invalid task.state: napping; task.id must be string/);
  writer.working("as usual");
  update({ task: { id: "t" } });
  await writer.flush();
  assert.equal(writer.problem, undefined);
  assert.equal(scene.record.task?.summary, "as usual");
});

test("[AS-26] in the end there is no file, however often the end comes, and nothing is written after it", async () => {
  await using scratch = await temporaryDirectory();
  const scene = await Scene.open(scratch.path);
  scene.writer.working("to the last");
  await scene.writer[Symbol.asyncDispose]();
  await scene.writer[Symbol.asyncDispose]();
  scene.writer.working("too late");
  await scene.writer.flush();
  await scene.clock.pass(60_000);
  assert.deepEqual(readdirSync(scratch.path), []);
  assert.equal(scene.clock.sleepers, 0);
});

test("a file that another process has taken over is not removed", async () => {
  await using scratch = await temporaryDirectory();
  {
    await using scene = await Scene.open(scratch.path);
    const { record } = scene;
    writeStatusFile(scratch.path, { ...record, runtime: { ...record.runtime, pid: 43 } });
  }
  assert.deepEqual(readdirSync(scratch.path), ["a.json"]);
});

test("a writer that cannot begin says so, and leaves nothing", async () => {
  await using scratch = await temporaryDirectory();
  await assert.rejects(Scene.open(scratch.path, { name: "" }), { code: "invalid_status" });
  await assert.rejects(Scene.open(scratch.path, { id: "a/b" }), { code: "unsafe_id" });
  const file = join(scratch.path, "file");
  writeFileSync(file, "");
  await assert.rejects(Scene.open(file), { code: "ENOTDIR" });
  assert.deepEqual(readdirSync(scratch.path), ["file"]);
});

test("an id that is no name of a file is refused before it is part of a path", async () => {
  await using scratch = await temporaryDirectory();
  const directory = join(scratch.path, "status");
  mkdirSync(directory);
  const control = join(scratch.path, "control.json");
  const outside = join(scratch.path, "outside.json");
  for (const path of [control, outside]) {
    writeFileSync(path, "{}");
    utimesSync(path, 1, 2);
  }
  await assert.rejects(Scene.open(directory, { id: "../outside" }), { code: "unsafe_id" });
  await assert.rejects(Scene.open(directory, { id: "" }), { code: "unsafe_id" });
  const readAtMs = (path: string): number => statSync(path).atimeMs;
  readFileSync(control);
  // Where the file system notes who reads, it would have noted us.
  if (readAtMs(control) !== 1_000) assert.equal(readAtMs(outside), 1_000, "it was read");
});
