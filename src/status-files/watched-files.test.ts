import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "../testing/manual-clock.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { printTimestamp, schemaVersion } from "../wire/status-file/index.ts";
import { removeStatusFile, WatchedFiles, watchDirectory, writeStatusFile } from "./index.ts";

test("whoever takes every change of a watch knows what is there now", async () => {
  await using scratch = await temporaryDirectory();
  const clock = new ManualClock();
  const write = (id: string, name: string): void => {
    const runtime = { lifecycle: "running", updated_at: printTimestamp(clock.nowMs()) } as const;
    const about = { schema_version: schemaVersion, agent_id: id, agent_name: name } as const;
    writeStatusFile(scratch.path, { ...about, runtime });
  };
  const watched = new WatchedFiles();
  const now = (): readonly string[] =>
    watched.files.map(({ record, state }) => `${record.agent_id} ${record.agent_name} ${state}`);
  const changes = watchDirectory(scratch.path, { clock });
  const next = async (): Promise<void> => {
    const { value, done } = await changes.next();
    assert(!done);
    watched.take(value);
  };
  write("a", "old");
  assert.equal(watched.hasBegun, false);
  await next();
  assert.equal(watched.hasBegun, true);
  assert.deepEqual(now(), ["a old idle"]);
  assert.deepEqual(watched.warnings, []);
  write("a", "new");
  await next();
  assert.deepEqual(now(), ["a new idle"], "it is there once");
  write("b", "n");
  await next();
  assert.deepEqual(now(), ["a new idle", "b n idle"]);
  clock.leap(60_001);
  await next();
  await next();
  assert.deepEqual(now(), ["a new stale", "b n stale"]);
  removeStatusFile(scratch.path, "a");
  await next();
  assert.deepEqual(now(), ["b n stale"]);
  writeFileSync(join(scratch.path, "bad.json"), "{");
  await next();
  assert.deepEqual(
    watched.warnings.map(({ kind }) => kind),
    ["invalid-json"],
  );
  assert.deepEqual(now(), ["b n stale"]);
  await changes.return();
});
