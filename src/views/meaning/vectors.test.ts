import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { limits } from "../limits.ts";
import { Vectors } from "./vectors.ts";

const part = fc.float({ min: -1, max: 1, noNaN: true });

describe("vectors", () => {
  it("are as alike as their cosine says, whatever their width", () => {
    const vectorsOf = (width: number) =>
      fc.array(fc.array(part, { minLength: width, maxLength: width }), {
        minLength: 2,
        maxLength: 20,
      });
    const some = fc.constantFrom(1, 15, 16, 17, 128, 384).chain(vectorsOf);
    fc.assert(
      fc.property(some, ([query = [], ...others]) => {
        const vectors = new Vectors(query.length);
        vectors.reserve(others.length);
        for (const [number, other] of others.entries())
          vectors.set(number, Float32Array.from(other));
        vectors.ask(Float32Array.from(query));
        const numbers = Uint32Array.from(others.keys());
        for (const [number, found] of vectors.cosines(numbers, numbers.length).entries()) {
          const expected = cosine(query, others[number] ?? []);
          assert(Math.abs(found - expected) < 0.02, `${found} for ${expected}`);
        }
      }),
    );
  });

  it("stay as they are when room is made for more, and give way when their number is used again", () => {
    const vectors = new Vectors(3);
    vectors.reserve(1);
    vectors.set(0, Float32Array.of(0, 2, 0));
    vectors.reserve(100_000);
    vectors.set(99_999, Float32Array.of(0, 0, 5));
    vectors.ask(Float32Array.of(0, 1, 0));
    assert.deepEqual(rounded(vectors, [99_999, 0]), [0, 1]);
    vectors.set(0, Float32Array.of(0, -1, 0));
    assert.deepEqual(rounded(vectors, [0, 99_999]), [-1, 0]);
  });

  it("that are nothing are like nothing, and the widest do not overflow", () => {
    const vectors = new Vectors(limits.vectorWidthMax);
    vectors.reserve(2);
    vectors.set(0, new Float32Array(limits.vectorWidthMax).fill(1));
    vectors.set(1, new Float32Array(0));
    vectors.ask(new Float32Array(limits.vectorWidthMax).fill(1));
    assert.deepEqual(rounded(vectors, [0, 1]), [1, 0]);
    vectors.ask(new Float32Array(limits.vectorWidthMax));
    assert.deepEqual(rounded(vectors, [0, 1]), [0, 0]);
  });
});

function rounded(vectors: Vectors, numbers: readonly number[]): readonly number[] {
  const found = vectors.cosines(Uint32Array.from(numbers), numbers.length);
  return Array.from(found, (value) => Math.round(value * 100) / 100);
}

function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
  const size = Math.hypot(...one) * Math.hypot(...other);
  return size === 0 ? 0 : dot / size;
}
