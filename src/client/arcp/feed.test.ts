import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { ArcpError } from "../../wire/arcp/index.ts";
import { Feed } from "./feed.ts";

type Item = { readonly value: number; readonly dropped?: number };

function bounded(countMax: number, weightMax = Number.POSITIVE_INFINITY): Feed<Item> {
  return new Feed<Item>({
    countMax,
    weightMax,
    weigh: ({ value }) => value,
    mark: (item, dropped) => ({ ...item, dropped }),
  });
}

async function drain(feed: Feed<Item>): Promise<readonly Item[]> {
  const items: Item[] = [];
  for await (const item of feed) items.push(item);
  return items;
}

test("[ARCP-210] what nobody reads is held up to a bound; then the oldest go, and the next says how many", async () => {
  const feed = bounded(3);
  for (let value = 1; value <= 5; value += 1) feed.push({ value });
  feed.end();
  assert.deepEqual(await drain(feed), [{ value: 3, dropped: 2 }, { value: 4 }, { value: 5 }]);
});

test("[ARCP-210] the bound is wider for whoever reads, and none at all if that is wanted", async () => {
  const feed = bounded(3);
  feed.widen(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  for (let value = 0; value < 5_000; value += 1) feed.push({ value });
  feed.end();
  const items = await drain(feed);
  assert.equal(items.length, 5_000);
  assert(items.every(({ value, dropped }, index) => value === index && dropped === undefined));
});

test("what is heavy is dropped sooner, but one item always fits", async () => {
  const feed = bounded(10, 100);
  feed.push({ value: 500 });
  assert.deepEqual(feed.head, { value: 500 });
  feed.push({ value: 90 });
  feed.push({ value: 20 });
  feed.end();
  assert.deepEqual(await drain(feed), [{ value: 20, dropped: 2 }]);
});

test("a feed that may not drop fails instead, once, and is over", async () => {
  const feed = new Feed<Item>({ countMax: 10, weightMax: 100, weigh: ({ value }) => value });
  feed.push({ value: 60 });
  feed.push({ value: 60 });
  await assert.rejects(feed.next(), { code: "INTERNAL_ERROR" });
  assert.equal((await feed.next()).done, true);
});

test("whoever waits is handed the next item, and told of the end", async () => {
  const feed = bounded(3);
  const waiting = [feed.next(), feed.next(), feed.next()];
  feed.push({ value: 1 });
  feed.push({ value: 2 });
  feed.end(new ArcpError("CANCELLED", "closed"));
  const [first, second, third] = waiting;
  assert.deepEqual(await first, { value: { value: 1 }, done: false });
  assert.deepEqual(await second, { value: { value: 2 }, done: false });
  await assert.rejects(third ?? assert.fail(), { code: "CANCELLED" });
});

test("whoever leaves gets nothing more, and nothing is held for it", async () => {
  const feed = bounded(3);
  feed.push({ value: 1 });
  feed.push({ value: 2 });
  for await (const { value } of feed) if (value === 1) break;
  assert.equal(feed.push({ value: 3 }), false);
  assert.equal(feed.head, undefined);
  assert.equal((await feed.next()).done, true);
});

test("whoever leaves while it waits is told that it is over", async () => {
  const feed = bounded(3);
  const waiting = feed.next();
  await feed.return();
  assert.equal((await waiting).done, true);
});

test("what was taken is not held", async () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const feed = bounded(3);
  const taken = await takeOne(feed);
  await new Promise(setImmediate);
  collect();
  assert.equal(taken.deref(), undefined);
  feed.end();
});

async function takeOne(feed: Feed<Item>): Promise<WeakRef<Item>> {
  feed.push({ value: 1 });
  const { value } = await feed.next();
  assert(value);
  return new WeakRef(value);
}
