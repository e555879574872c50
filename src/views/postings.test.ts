import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { limits } from "./limits.ts";
import { Postings } from "./postings.ts";

function listed(postings: Postings, key: string): number[] {
  return postings.blocks(key).flatMap(({ values, length }) => [...values.subarray(0, length)]);
}

describe("postings", () => {
  it("file none, one, few and many numbers alike", () => {
    const postings = new Postings();
    const numbers = Array.from({ length: 4 * limits.fewMax }, (_, index) => index);
    const check = (expected: readonly number[]): void => {
      assert.deepEqual(listed(postings, "a"), expected);
      assert.equal(postings.count("a"), expected.length);
      for (const number of numbers) {
        assert.equal(postings.has("a", number), expected.includes(number));
      }
      assert.deepEqual(listed(postings, "b"), [7]);
    };
    postings.add("b", 7);
    check([]);
    for (const number of numbers.toReversed()) {
      postings.add("a", number);
      check(numbers.slice(number));
    }
    for (const number of numbers) {
      postings.delete("a", number);
      check(numbers.slice(number + 1));
    }
  });

  it("forget a text with its last number", () => {
    const postings = new Postings();
    for (const count of [1, 2, limits.fewMax, 2 * limits.fewMax]) {
      for (let number = 0; number < count; number++) postings.add("__proto__", number);
      assert.equal(postings.size, 1);
      for (let number = 0; number < count; number++) postings.delete("__proto__", number);
      assert.equal(postings.size, 0);
    }
  });
});
