import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PriorityMap } from "./priority-map.ts";

test("the key with the smallest number is first, whatever was set, moved and deleted before", () => {
  const set = fc.record({ key: fc.nat({ max: 20 }), at: fc.nat({ max: 10 }) });
  const remove = fc.record({ key: fc.nat({ max: 20 }) });
  fc.assert(
    fc.property(fc.array(fc.oneof({ weight: 2, arbitrary: set }, remove)), (steps) => {
      const map = new PriorityMap<number>();
      const reference = new Map<number, number>();
      for (const step of steps) {
        if ("at" in step) {
          map.set(step.key, step.at);
          reference.set(step.key, step.at);
        } else {
          map.delete(step.key);
          reference.delete(step.key);
        }
        assert.equal(map.size, reference.size);
        assert.equal(map.first?.at, reference.size ? Math.min(...reference.values()) : undefined);
        if (map.first) assert.equal(reference.get(map.first.key), map.first.at);
      }
      assert.deepEqual(drain(map), [...reference.values()].sort(ascending));
      assert.equal(map.size, 0);
    }),
    { numRuns: 500 },
  );
});

test("an empty map has no first key, and deleting what is not there does nothing", () => {
  const map = new PriorityMap<string>();
  map.delete("nobody");
  assert.equal(map.first, undefined);
  assert.equal(map.size, 0);
});

test("a key that is set again is there once, under its new number", () => {
  const map = new PriorityMap<string>();
  map.set("a", 1);
  map.set("b", 2);
  map.set("a", 3);
  assert.equal(map.size, 2);
  assert.deepEqual(drain(map), [2, 3]);
});

test("numbers may be infinite or beyond 2^32", () => {
  const map = new PriorityMap<string>();
  map.set("never", Number.POSITIVE_INFINITY);
  map.set("late", 8_589_934_590_500);
  assert.equal(map.first?.key, "late");
});

function drain(map: PriorityMap<unknown>): number[] {
  const drained: number[] = [];
  for (let first = map.first; first; first = map.first) {
    drained.push(first.at);
    map.delete(first.key);
  }
  return drained;
}

function ascending(one: number, other: number): number {
  return one - other;
}
