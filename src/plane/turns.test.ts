import assert from "node:assert/strict";
import { test } from "node:test";
import { emit, openSession, startJob, submitJob } from "../testing/commands.ts";
import { openPlane, test as somebody, turns } from "../testing/test-plane.ts";
import { Turns } from "./turns.ts";

test("one has a turn at a time, in the order in which they asked", async () => {
  const all = new Turns();
  const had: string[] = [];
  for (const name of ["one", "two", "one", "two"]) void all.next().then(() => had.push(name));
  await turns(1);
  assert.deepEqual(had, ["one"]);
  await turns(2);
  void all.next().then(() => had.push("last"));
  assert.deepEqual(had, ["one", "two", "one"]);
  await turns(2);
  assert.deepEqual(had, ["one", "two", "one", "two", "last"]);
});

test("others have their turns while a long history is read, and those who read share one", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  plane.carryOut(openSession("ada"), somebody, () => undefined);
  plane.carryOut(submitJob("job_1", "ada"), somebody, () => undefined);
  plane.carryOut(startJob("job_1"), somebody, () => undefined);
  for (let count = 0; count < 5_000; count += 1) {
    plane.carryOut(emit("job_1"), somebody, () => undefined);
  }
  await plane.settled();
  const batches = 5;
  const readers = 4;
  let passed = 0;
  let isOver = false;
  const pass = (): void => {
    passed += 1;
    if (!isOver) setImmediate(pass);
  };
  setImmediate(pass);
  const read = async (): Promise<number> => {
    let entries = 0;
    for await (const _ of plane.stream("job/job_1")) entries += 1;
    return entries;
  };
  const counts = await Promise.all(Array.from({ length: readers }, read));
  isOver = true;
  assert.deepEqual(new Set(counts), new Set([5_002]));
  assert(passed >= readers * (batches - 1), `${passed} turns passed`);
});
