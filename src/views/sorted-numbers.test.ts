import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { limits } from "./limits.ts";
import { backwards, SortedNumbers } from "./sorted-numbers.ts";

const ascending = (one: number, other: number): boolean => one < other;

function listed(numbers: SortedNumbers): number[] {
  return numbers.blocks.flatMap(({ values, length }) => [...values.subarray(0, length)]);
}

function assertSound(numbers: SortedNumbers, expected: readonly number[]): void {
  assert.deepEqual(listed(numbers), expected);
  assert.equal(numbers.size, expected.length);
  let room = 0;
  for (const { values, length } of numbers.blocks) {
    assert(length > 0 && length <= values.length && values.length <= limits.blockLengthMax);
    room += values.length;
  }
  assert(room <= 8 * expected.length + 8, `${room} places for ${expected.length} numbers`);
}

describe("sorted numbers", () => {
  it("hold what was added and not deleted, in order and without much room to spare", () => {
    const value = fc.nat(5_000);
    const batches = fc.array(
      fc.record({ isAdded: fc.boolean(), from: value, count: fc.nat(1_500), stride: fc.nat(7) }),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(batches, (story) => {
        const numbers = new SortedNumbers(ascending);
        const expected = new Set<number>();
        for (const { isAdded, from, count, stride } of story) {
          for (let index = 0; index < count; index++) {
            const number = (from + index * stride) % 5_001;
            if (!isAdded) numbers.delete(number);
            else if (!expected.has(number)) numbers.add(number);
            if (isAdded) expected.add(number);
            else expected.delete(number);
          }
        }
        assertSound(
          numbers,
          [...expected].sort((one, other) => one - other),
        );
        for (let number = 0; number <= 5_000; number += 13) {
          assert.equal(numbers.has(number), expected.has(number));
        }
      }),
      { numRuns: 50 },
    );
  });

  it("fill their blocks when they come in order", () => {
    const numbers = new SortedNumbers(ascending);
    for (let number = 0; number < 10 * limits.blockLengthMax; number++) numbers.add(number);
    assert.equal(numbers.blocks.length, 10);
    assert.equal(backwards(numbers.blocks)[0]?.values[0], 9 * limits.blockLengthMax);
  });

  it("can be ordered by something else than their size", () => {
    const numbers = new SortedNumbers((one, other) => one > other);
    for (let number = 0; number < 2_000; number++) numbers.add((number * 7) % 2_000);
    const expected = Array.from({ length: 2_000 }, (_, index) => 1_999 - index);
    assert.deepEqual(listed(numbers), expected);
    for (let number = 0; number < 2_000; number += 2) numbers.delete(number);
    assert.deepEqual(
      listed(numbers),
      expected.filter((number) => number % 2 === 1),
    );
  });

  it("give back their room as they get fewer", () => {
    const numbers = new SortedNumbers(ascending);
    const many = Array.from({ length: 20 * limits.blockLengthMax }, (_, index) => index);
    for (const number of many) numbers.add(number);
    for (const number of many) if (number % 100 !== 0) numbers.delete(number);
    assertSound(
      numbers,
      many.filter((number) => number % 100 === 0),
    );
    assert(numbers.blocks.length <= 2);
    for (const number of many) if (number > 200) numbers.delete(number);
    assertSound(numbers, [0, 100, 200]);
  });

  it("need nothing when all are gone", () => {
    const numbers = new SortedNumbers(ascending);
    for (let number = 0; number < 2_000; number++) numbers.add(number);
    for (let number = 0; number < 2_000; number++) numbers.delete((number * 7) % 2_000);
    assert.deepEqual(numbers.blocks, []);
  });
});
