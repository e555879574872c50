import assert from "node:assert/strict";
import { test } from "node:test";
import { openPlane } from "../../testing/test-plane.ts";
import { limits } from "./limits.ts";
import { lookInSlices } from "./slices.ts";

/** Of a caller that does not go away. */
const stays = new AbortController().signal;

test("others go on while somebody looks for long", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  let isHeard = false;
  const { value: looks = 0 } = await lookInSlices(plane, stays, function* () {
    let count = 0;
    setTimeout(() => {
      isHeard = true;
    });
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
    lookInSlices(opened.plane, stays, function* () {
      isDone[mine] = true;
      while (!isDone[other]) yield;
      return mine;
    });
  const found = await Promise.all([until(1, 0), until(0, 1)]);
  assert.deepEqual(
    found.map(({ value }) => value),
    [0, 1],
  );
});

test("a look that fails is told to who asked", async () => {
  await using opened = await openPlane();
  const failing = lookInSlices(opened.plane, stays, function* () {
    yield;
    throw new Error("no");
  });
  await assert.rejects(failing, /no/);
  const { value } = await lookInSlices(opened.plane, stays, function* () {
    yield;
    return "others are not";
  });
  assert.equal(value, "others are not");
});

test("a look ends when its caller is gone, and one whose caller was gone before never begins", {
  timeout: 5_000,
}, async () => {
  await using opened = await openPlane();
  const caller = new AbortController();
  let steps = 0;
  const endless = function* () {
    for (;;) {
      steps += 1;
      if (steps === 10) caller.abort("gone");
      yield;
    }
  };
  const { refusal } = await lookInSlices(opened.plane, caller.signal, endless);
  assert.equal(refusal?.code, "unavailable");
  const before = steps;
  await lookInSlices(opened.plane, caller.signal, endless);
  assert.equal(steps, before);
});

test("so many look at one plane at a time; others are refused until one ends, and other planes are not concerned", {
  timeout: 5_000,
}, async () => {
  await using opened = await openPlane();
  await using other = await openPlane();
  const leaving = new AbortController();
  const endless = function* () {
    for (;;) yield;
  };
  const looks = Array.from({ length: limits.longLooksMax }, () =>
    lookInSlices(opened.plane, leaving.signal, endless),
  );
  const short = function* () {
    yield;
    return "seen";
  };
  const { refusal } = await lookInSlices(opened.plane, stays, short);
  assert.equal(refusal?.code, "limit_reached");
  assert.equal((await lookInSlices(other.plane, stays, short)).value, "seen");
  leaving.abort();
  await Promise.all(looks);
  assert.equal((await lookInSlices(opened.plane, stays, short)).value, "seen");
});
