import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { deregister, heartbeat, register } from "../../testing/commands.ts";
import { temporaryDirectory } from "../../testing/temporary.ts";
import { test as me, openPlane } from "../../testing/test-plane.ts";
import { printTimestamp, type StatusRecord, schemaVersion } from "../../wire/status-file/index.ts";
import { openStatusDoor } from "./door.ts";
import { openMirror } from "./mirror.ts";
import { readDirectory } from "./read.ts";
import { writeStatusFile } from "./write.ts";

const warn = (message: string): never => assert.fail(message);

test("registered agents are mirrored, marked as ours, and never read back", async () => {
  await using place = await temporaryDirectory();
  await using opened = await openPlane();
  const { plane } = opened;
  await plane.submit(register("ada"), me, () => ({}));
  writeStatusFile(place.path, mirrored("left-behind"));
  {
    await using _mirror = await openMirror(plane, { directory: place.path, warn });
    await using door = await openStatusDoor(plane, {
      directory: place.path,
      hostName: hostname(),
      warn,
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
  await using _mirror = await openMirror(opened.plane, { directory, warn });
  assert.deepEqual(readdirSync(directory).sort(), [
    ...forged.map((_, index) => `forged-${index}.json`),
    "living.json",
    "victim.json",
  ]);
  assert.deepEqual(readdirSync(place.path).sort(), ["outside.json", "status"]);
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
