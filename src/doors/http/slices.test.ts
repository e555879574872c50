import assert from "node:assert/strict";
import { test } from "node:test";
import { openPlane } from "../../testing/test-plane.ts";
import { lookInSlices } from "./slices.ts";

test("others go on while somebody looks for long", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  let isHeard = false;
  setTimeout(() => {
    isHeard = true;
  });
  const looks = await lookInSlices(plane, function* () {
    let count = 0;
    while (!isHeard) {
      count += 1;
      yield;
    }
    return count;
  });
  assert(looks > 0);
});

test("of several who look for long, each gets its turn", async () => {
  await using opened = await openPlane();
  const isDone = [false, false];
  const until = (other: number, mine: number) =>
    lookInSlices(opened.plane, function* () {
      isDone[mine] = true;
      while (!isDone[other]) yield;
      return mine;
    });
  assert.deepEqual(await Promise.all([until(1, 0), until(0, 1)]), [0, 1]);
});

test("a look that fails is told to who asked", async () => {
  await using opened = await openPlane();
  const failing = lookInSlices(opened.plane, function* () {
    yield;
    throw new Error("no");
  });
  await assert.rejects(failing, /no/);
  assert.equal(
    await lookInSlices(opened.plane, function* () {
      yield;
      return "others are not";
    }),
    "others are not",
  );
});
