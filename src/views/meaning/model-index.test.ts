import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { limits } from "../limits.ts";
import { ModelIndex } from "./model-index.ts";

const widest = new Float32Array(limits.vectorWidthMax).fill(1);
/** More than have room, each with the widest vector. */
const tooMany = Math.ceil(limits.modelBytesMax / limits.vectorWidthMax);

describe("likeness by a model", () => {
  it("is given up in words where there are too many agents, however many it is told of", () => {
    const index = new ModelIndex();
    index.reserve(1);
    index.add(0, widest);
    assert.equal(index.unknown(1), undefined);
    index.reserve(tooMany);
    assert.equal(index.unknown(tooMany), `${tooMany} agents are too many for the model`);
    index.add(0, widest);
    index.add(1, new Float32Array(0));
    const { reason } = index.score({ vector: widest }, tooMany);
    assert.equal(reason, `${tooMany} agents are too many for the model`);
  });

  it("is had again from a model whose vectors have room", () => {
    const index = new ModelIndex();
    index.reserve(tooMany);
    index.add(0, widest);
    assert.match(index.unknown(1) ?? "", /too many/);
    index.add(0, Float32Array.of(1, 0));
    assert.equal(index.unknown(1), undefined);
  });

  it("has the width of the first card that the model takes", () => {
    const index = new ModelIndex();
    index.reserve(3);
    index.add(0, new Float32Array(0));
    index.add(1, Float32Array.of(1, 0));
    index.add(2, new Float32Array(0));
    assert.equal(index.unknown(3), undefined);
    const { vectors, reason } = index.score({ vector: Float32Array.of(1, 0) }, 3);
    assert.equal(reason, undefined);
    const [first = -1, second = -1, third = -1] =
      vectors?.cosines(Uint32Array.of(0, 1, 2), 3) ?? [];
    assert.deepEqual([first, third], [0, 0]);
    assert(Math.abs(second - 1) < 0.001);
  });
});
