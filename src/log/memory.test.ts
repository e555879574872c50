import assert from "node:assert/strict";
import { test } from "node:test";
import { entries } from "../testing/entries.ts";
import { logContract } from "./contract.ts";
import { limits } from "./limits.ts";
import { MemoryLog } from "./memory.ts";

logContract("memory", { isKept: false }, async () => ({
  open: async () => new MemoryLog(),
  async [Symbol.asyncDispose]() {},
}));

test("a log in memory forgets what is older than its bound, and says from where on it knows", async () => {
  await using log = new MemoryLog();
  const bound = limits.memoryEntriesMax;
  const batch = 10_000;
  for (let last = 0; last < 2 * bound + batch; last += batch) {
    await log.append(entries(last + 1, last + batch), last);
    assert.equal(log.oldestSequence, Math.max(1, last + batch - bound + 1));
    const [oldest] = await log.read(log.oldestSequence - 1, 1);
    assert.equal(oldest?.sequence, log.oldestSequence);
  }
  assert.equal((await log.read(2 * bound + batch - 1, 10))[0]?.sequence, 2 * bound + batch);
});

test("a log in memory forgets sooner where entries are large, but never the last one", async () => {
  await using log = new MemoryLog();
  const text = "x".repeat(5_000_000);
  const count = Math.ceil(limits.memoryBytesMax / text.length) + 10;
  for (let last = 0; last < count; last++) {
    await log.append(entries(last + 1, last + 1, { text }), last);
  }
  assert(log.size().entriesBytes <= limits.memoryBytesMax);
  assert(log.oldestSequence > 10 && log.oldestSequence < 20, `${log.oldestSequence}`);
  const [oldest] = await log.read(0, 1);
  assert.deepEqual([oldest?.sequence, oldest?.atMs], [log.oldestSequence, log.oldestAtMs]);
  // As JSON it has six times its length.
  const longer = "\u0001".repeat(limits.memoryBytesMax / 5);
  await log.append(entries(count + 1, count + 1, { text: longer }), count);
  assert.deepEqual([log.oldestSequence, log.lastSequence], [count + 1, count + 1]);
  assert.equal((await log.read(count, 9)).length, 1);
});

test("a log in memory does not pretend to keep anything", async () => {
  await using log = new MemoryLog();
  assert.equal(log.isKept, false);
  await log.saveSnapshot();
  assert.equal(await log.loadSnapshot(() => assert.fail("nothing was kept")), 0);
});
