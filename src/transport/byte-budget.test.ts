import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { test } from "node:test";
import {
  type ByteAccount,
  ByteBudget,
  type ByteBudgetOptions,
  bytesTakenFrom,
} from "./byte-budget.ts";

test("when the budget is exceeded, the connection that holds the most is closed, and no other", () => {
  const { budget, open, closed } = begin({ closes: "largest" });
  const [small, large, newest] = [open("small"), open("large"), open("newest")];
  small.add(200);
  large.add(700);
  newest.add(100);
  assert.deepEqual(closed, [], "as much as the budget has is allowed");
  newest.add(1);
  assert.deepEqual(closed, ["large budget_exceeded"]);
  assert.equal(budget.heldBytes, 301);
  large.add(5_000);
  large.remove(5_000);
  assert.equal(budget.heldBytes, 301, "a closed connection no longer counts");
});

test("the connection that asks for more than the whole budget is closed itself", () => {
  const { budget, open, closed } = begin({ closes: "largest" });
  const [other, greedy] = [open("other"), open("greedy")];
  other.add(10);
  greedy.add(1_001);
  assert.deepEqual(closed, ["greedy budget_exceeded"]);
  assert.equal(budget.heldBytes, 10);
});

test("a peer that reads is not closed for peers that do not, though it holds more", () => {
  const { budget, open, closed } = begin({ closes: "stalled" });
  const stalled = [open("stalled 1"), open("stalled 2")];
  for (const account of stalled) account.add(200);
  for (let checks = 0; checks < 4; checks += 1) budget.check();
  const reader = open("reader");
  reader.add(600);
  reader.add(100);
  assert.deepEqual(closed, ["stalled 1 budget_exceeded"]);
  reader.add(300);
  assert.deepEqual(closed.slice(1), ["stalled 2 budget_exceeded"]);
});

test("a peer that takes almost nothing for the stated time is closed; one that reads slowly is not", () => {
  const { budget, open, closed } = begin({ stalledMs: 5_000, progressBytes: 10 });
  const [silent, dripping, slow, quick] = ["silent", "dripping", "slow", "quick"].map(open);
  assert(silent && dripping && slow && quick);
  for (const account of [silent, dripping, slow, quick]) account.add(200);
  for (let seconds = 0; seconds < 20; seconds += 1) {
    budget.check();
    dripping.remove(1);
    slow.remove(3);
    quick.remove(quick.heldBytes);
    quick.add(1);
    // The first two checks only look at what was held and taken so far.
    assert.equal(closed.includes("silent stalled"), seconds >= 6, `after ${seconds} s`);
  }
  assert.deepEqual(closed, ["silent stalled", "dripping stalled"]);
});

test("what a peer does not take is given up where the connection can go on without it", () => {
  const budget = new ByteBudget({
    bytesMax: 1_000,
    shareBytes: 1_000,
    stalledMs: 2_000,
    closes: "stalled",
  });
  const seen: string[] = [];
  const account = budget.open({
    close: (reason) => seen.push(reason),
    giveUp: () => {
      seen.push("given up");
      account.remove(100);
    },
  });
  account.add(100);
  for (let checks = 0; checks < 10; checks += 1) budget.check();
  assert.deepEqual(seen, ["given up"]);
  assert.equal(budget.heldBytes, 0);
  account.close();
});

test("a connection has room up to its share, and less while all together hold much", () => {
  const { open } = begin({ shareBytes: 300 });
  const [one, other] = [open("one"), open("other")];
  one.add(299);
  assert.equal(one.hasRoom(10), true);
  one.add(1);
  assert.equal(one.hasRoom(10), false);
  assert.equal(one.isOverShare, false);
  other.add(250);
  assert.equal(other.hasRoom(10), false, "more than half of the budget is held");
  other.set(10);
  assert.equal(other.hasRoom(10), true, "a little is always allowed");
});

test("who waits for room is released when there is some, or the connection is closed", async () => {
  const { open } = begin({ shareBytes: 300 });
  const account = open("one");
  assert.equal(account.untilUnderShare(), undefined);
  account.add(500);
  const room = account.untilUnderShare();
  assert(room);
  account.remove(200);
  await room;
  account.add(500);
  const again = account.untilUnderShare();
  account.close();
  await again;
  assert.equal(account.untilUnderShare(), undefined);
});

test("what the kernel has taken of one large write is seen before the write is done", async () => {
  const server = createServer((socket) => socket.pause()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address && typeof address === "object");
  const socket = connect(address.port, "127.0.0.1");
  await once(socket, "connect");
  const bytes = 50_000_000;
  socket.write(Buffer.alloc(bytes));
  const taken = bytesTakenFrom(socket);
  assert(taken > 0 && taken < bytes, `${taken} bytes are taken`);
  socket.destroy();
  server.close();
});

function begin(options: Partial<ByteBudgetOptions> = {}): {
  readonly budget: ByteBudget;
  readonly open: (name: string) => ByteAccount;
  readonly closed: string[];
} {
  // The test makes the checks.
  const idle = { checkMs: 1_000 };
  const budget = new ByteBudget({
    bytesMax: 1_000,
    shareBytes: 1_000,
    closes: "largest",
    ...idle,
    ...options,
  });
  const closed: string[] = [];
  const open = (name: string): ByteAccount =>
    budget.open({ close: (reason) => closed.push(`${name} ${reason}`) });
  return { budget, open, closed };
}
