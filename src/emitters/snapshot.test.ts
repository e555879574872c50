import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "../testing/manual-clock.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import type { JsonObject, StatusRecord } from "../wire/status-file/index.ts";
import { Snapshot, soundPartOf } from "./snapshot.ts";

const record: StatusRecord = {
  schema_version: "agent-status/v1alpha1",
  agent_id: "a",
  agent_name: "n",
  runtime: { lifecycle: "running", updated_at: "2023-11-14T22:13:20Z" },
};

const at = "2023-11-14T22:13:20Z";
const goal = { summary: "G", updated_at: at, source: "initial-prompt" } as const;

/** What a writer in a hurry might make of it: no type keeps it from that. */
const withParts = (parts: object): StatusRecord => ({ ...record, ...parts });

test("[AS-28] a part that no reader would take is left out, and the rest stays", () => {
  const cases: readonly [object, readonly string[]][] = [
    [{ goal, task: { state: "working" }, x_meta: { a: 1 } }, ["goal", "task", "x_meta"]],
    [{ goal: { ...goal, summary: "" }, task: { state: "working" } }, ["task"]],
    [{ goal: { summary: "G" } }, []],
    [{ goal, task: { state: "idle" } }, ["goal"]],
    [{ goal, x_meta: [] }, ["goal"]],
    [{ a2a: { service_url: 7 }, task: {} }, ["task"]],
    [{ goal: null, task: { state: "nonsense" } }, []],
  ];
  for (const [parts, kept] of cases) {
    const sound = soundPartOf(withParts(parts));
    assert(sound);
    const names = Object.keys(sound).filter((name) => !(name in record));
    assert.deepEqual(names.toSorted(), kept.toSorted());
  }
});

test("[AS-28] without its first four fields it is no record at all", () => {
  assert.equal(soundPartOf({ ...record, agent_id: "" }), undefined);
  const runtime = { lifecycle: "running", updated_at: "now" } as const;
  assert.equal(soundPartOf({ ...record, runtime }), undefined);
});

test("nothing older comes after what is written now", async () => {
  await using scratch = await temporaryDirectory();
  const clock = new ManualClock();
  let said: JsonObject = {};
  let activity = at;
  const snapshot = new Snapshot({
    directory: scratch.path,
    agentId: "a",
    clock,
    recordAt: () => ({
      ...record,
      runtime: { ...record.runtime, last_activity_at: activity },
      x_meta: said,
    }),
  });
  const read = (): unknown => JSON.parse(readFileSync(join(scratch.path, "a.json"), "utf8")).x_meta;
  for (let round = 0; round < 50; round++) {
    // One that waits for the disk, and one that does not.
    activity = `2023-11-14T22:14:${String(round).padStart(2, "0")}Z`;
    snapshot.show();
    said = { round };
    snapshot.show();
    assert.deepEqual(read(), { round });
    if (round % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    assert.deepEqual(read(), { round });
  }
  snapshot.end();
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(readdirSync(scratch.path), []);
});

test("a file that somebody took away is there again with the next heartbeat", async () => {
  await using scratch = await temporaryDirectory();
  const clock = new ManualClock();
  const directory = join(scratch.path, "d");
  const snapshot = new Snapshot({ directory, agentId: "a", clock, recordAt: () => record });
  rmSync(directory, { recursive: true });
  clock.leap(20_000);
  for (let left = 200; left > 0 && !hasFile(directory); left--) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert(hasFile(directory));
  snapshot.end();
  assert.deepEqual(readdirSync(directory), []);
});

test("a directory in the file's place is left alone", async () => {
  await using scratch = await temporaryDirectory();
  mkdirSync(join(scratch.path, "a.json"));
  writeFileSync(join(scratch.path, "a.json", "x"), "");
  const clock = new ManualClock();
  const snapshot = new Snapshot({
    directory: scratch.path,
    agentId: "a",
    clock,
    recordAt: () => record,
  });
  snapshot.show();
  snapshot.end();
  assert.deepEqual(readdirSync(scratch.path), ["a.json"]);
});

function hasFile(directory: string): boolean {
  try {
    return readdirSync(directory).includes("a.json");
  } catch {
    return false;
  }
}
