import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Shelf, Shelves } from "./shelves.ts";

type Thing = { readonly hash: number; shelf: Shelf<Thing> | undefined; place: number };

test("whatever was put up is found by its hash, until it is taken down", () => {
  const few = fc.integer({ min: -3, max: 3 });
  const hash = fc.oneof(fc.integer(), few, few.map(neighbour));
  fc.assert(
    fc.property(fc.array(fc.tuple(hash, fc.boolean()), { maxLength: 400 }), (steps) => {
      const shelves = new Shelves<Thing>();
      const standing: Thing[] = [];
      for (const [hash, isLeaving] of steps) {
        const leaving = isLeaving ? standing.shift() : undefined;
        if (leaving) shelves.remove(leaving);
        else standing.push(putUp(shelves, hash));
      }
      assert.equal(shelves.size, standing.length);
      for (const thing of standing) assert(shelves.find(thing.hash)?.items.includes(thing));
      const found = new Set(steps.flatMap(([hash]) => shelves.find(hash)?.items ?? []));
      assert.equal(found.size, standing.length);
    }),
    { numRuns: 500 },
  );
});

test("hashes that were chosen to be in each other's way share shelves, and are all found", () => {
  const shelves = new Shelves<Thing>();
  const things = Array.from({ length: 5_000 }, (_, number) => putUp(shelves, neighbour(number)));
  for (const thing of things) assert(shelves.find(thing.hash)?.items.includes(thing));
  for (const thing of things.splice(0, 4_900)) shelves.remove(thing);
  for (let number = 0; number < 5_000; number++) putUp(shelves, number * 7_919);
  for (const thing of things) assert(shelves.find(thing.hash)?.items.includes(thing));
});

/** Hashes that all want the same slot, however many slots there are: the inverse of how they are mixed. */
function neighbour(number: number): number {
  let inverse = 1;
  for (let step = 0; step < 5; step++) {
    inverse = Math.imul(inverse, 2 - Math.imul(0x85eb_ca6b, inverse));
  }
  return Math.imul(number, inverse);
}

function putUp(shelves: Shelves<Thing>, hash: number): Thing {
  const thing: Thing = { hash, shelf: undefined, place: 0 };
  shelves.add(thing);
  return thing;
}
