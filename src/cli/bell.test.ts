import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Bell } from "./bell.ts";

test("a bell that rang before is heard at once, and then not again until it rings", async () => {
  const bell = new Bell();
  bell.ring();
  bell.ring();
  await bell.heard();
  let hasHeard = false;
  const hearing = bell.heard().then(() => {
    hasHeard = true;
  });
  await new Promise(setImmediate);
  assert.equal(hasHeard, false);
  bell.ring();
  await hearing;
});

test("to be woken a hundred thousand times leaves nothing behind", async () => {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  assert.ok(typeof collect === "function");
  const bell = new Bell();
  const wakeUp = async (times: number): Promise<number> => {
    for (let index = 0; index < times; index += 1) {
      bell.ring();
      await bell.heard();
    }
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = await wakeUp(1_000);
  const after = await wakeUp(100_000);
  assert.ok(after - before < 2_000_000, `${after - before} bytes more`);
});
