/** Two ends in one process. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Pair, transportContract, until } from "./contract.ts";
import { pairMemoryTransports } from "./memory.ts";
import { Queue } from "./queue.ts";

transportContract("memory", {
  farCanWait: true,
  makePair: async (): Promise<Pair> => {
    const [near, far] = pairMemoryTransports();
    return {
      near,
      far,
      // A process that loses half of itself is no test; but an end that is given up leaves the same way.
      lose: () => {
        for (const text = "x".repeat(68_000_000); !far.closed; ) far.sendText(text).catch(() => {});
      },
      [Symbol.asyncDispose]: async () => {
        await Promise.all([near.close(), far.close()]);
      },
    };
  },
});

test("memory: a frame never arrives within the call that sends it, and timers run between answers", async () => {
  const [near, far] = pairMemoryTransports();
  let answers = 0;
  let isSending = false;
  near.onFrame(() => {
    assert.equal(isSending, false);
    answers += 1;
    return near.send({});
  });
  far.onFrame(() => far.send({}));
  isSending = true;
  const sending = near.send({});
  isSending = false;
  await sending;
  await until(() => answers > 100);
  await near.close();
});

test("a queue gives back what it was given, in order, and knows how much that is", () => {
  const queue = new Queue<string>((text) => text.length);
  let next = 0;
  for (let n = 0; n < 10_000; n += 1) {
    queue.push(String(n));
    if (n % 3 === 0) assert.equal(queue.shift(), String(next++));
  }
  while (queue.length > 0) assert.equal(queue.shift(), String(next++));
  assert.equal(next, 10_000);
  assert.equal(queue.bytes, 0);
  assert.equal(queue.shift(), undefined);
});
