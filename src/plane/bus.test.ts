import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { agentId, type Event, printEvent } from "../core/index.ts";
import { type Entry, MemoryLog } from "../log/index.ts";
import { findOnBus } from "./bus.ts";

test("a place on the bus is found wherever it is, and what follows it follows", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 60 }), fc.nat(), async (published, at) => {
      const { log, entries, last } = await logOf(published, { firstBus: 1 });
      const target = at % (last + 1);
      const { afterSequence } = await findOnBus(log, target, last);
      assert(afterSequence !== undefined);
      const rest = entries.filter(({ sequence }) => sequence > afterSequence);
      const follows = rest.filter(({ busSequence }) => busSequence > 0);
      assert.deepEqual(
        follows.map(({ busSequence }) => busSequence),
        Array.from({ length: last - target }, (_, index) => target + 1 + index),
      );
    }),
    { numRuns: 300 },
  );
});

test("what is not kept any more is told, with the oldest there is", async () => {
  const { log } = await logOf([true, false, true, true], { firstBus: 41 });
  assert.deepEqual(await findOnBus(log, 40, 43), { afterSequence: 0 });
  assert.deepEqual(await findOnBus(log, 43, 43), { afterSequence: 4 });
  for (const far of [39, 0, 44, Number.MAX_SAFE_INTEGER, 1e300]) {
    assert.deepEqual(await findOnBus(log, far, 43), { oldestBusSequence: 41 });
  }
  const { log: silent } = await logOf([false, false], { firstBus: 1 });
  assert.deepEqual(await findOnBus(silent, 7, 7), { afterSequence: 0 });
  assert.deepEqual(await findOnBus(silent, 6, 7), { oldestBusSequence: 8 });
});

test("what is decided and not yet durable may be asked for", async () => {
  const { log } = await logOf([true, true], { firstBus: 1 });
  assert.deepEqual(await findOnBus(log, 5, 9), { afterSequence: 2 });
});

test("a long log is not read through, also where little of it is published", async () => {
  const published = Array.from({ length: 50_000 }, (_, at) => at % 1_000 < 200);
  const { log, last } = await logOf(published, { firstBus: 1 });
  let read = 0;
  const inner = log.read.bind(log);
  log.read = async (after, limit) => {
    const entries = await inner(after, limit);
    read += entries.length;
    return entries;
  };
  for (const target of [0, 1, 5_000, 9_999, last]) {
    read = 0;
    const { afterSequence = -1 } = await findOnBus(log, target, last);
    const [next] = await inner(afterSequence, 1_000);
    assert(next);
    assert(read < 8_000, `${read} entries were read`);
  }
});

async function logOf(
  published: readonly boolean[],
  { firstBus }: { readonly firstBus: number },
): Promise<{
  readonly log: MemoryLog;
  readonly entries: readonly Entry[];
  readonly last: number;
}> {
  const log = new MemoryLog();
  const event: Event = { type: "agent.forgotten", agentId: agentId("ada") };
  const body = printEvent(event);
  const stream = undefined;
  let last = firstBus - 1;
  const entries = published.map((isPublished, index): Entry => {
    if (isPublished) last += 1;
    const busSequence = isPublished ? last : 0;
    return { sequence: index + 1, busSequence, atMs: 0, actor: "test", stream, event, body };
  });
  await log.append(entries, 0);
  return { log, entries, last };
}
