import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonInPieces } from "./json-pieces.ts";
import { limits } from "./limits.ts";

const hardTexts = ['"\\\n\u2028', "\ud800", "ü€𝄞", "\0"];

test("a long answer in pieces is the text that JSON.stringify prints", () => {
  const row = { id: 1, texts: hardTexts, none: undefined, nothing: null, yes: true, deep: [[{}]] };
  const values: readonly unknown[] = [
    { rows: Array.from({ length: 5_000 }, (_, id) => ({ ...row, id })), total: 5_000, next: "n" },
    { task: { ...row, input: "i".repeat(1_000_000), output: hardTexts.join("").repeat(50_000) } },
    // Where a piece ends, a pair of surrogates begins.
    { text: `${"x".repeat(limits.pieceLength - 1)}${"𝄞".repeat(100_000)}` },
    ["a".repeat(limits.chunkBytes + 1), [], {}, [undefined]],
  ];
  for (const value of values) {
    const pieces = jsonInPieces(value);
    assert(pieces);
    assert.equal([...pieces.print()].join(""), JSON.stringify(value));
  }
});

test("no piece is long", () => {
  const value = { text: "t".repeat(3_000_000), rows: Array.from({ length: 9_000 }, String) };
  const pieces = jsonInPieces(value);
  assert(pieces);
  for (const piece of pieces.print()) assert(piece.length <= 2 * limits.pieceLength);
});

test("a long text belongs to the state; rows are held until they are printed", () => {
  const text = { input: "i".repeat(3_000_000), output: "o".repeat(3_000_000), id: "x" };
  const rows = { rows: Array.from({ length: 1_000 }, () => ({ name: "n".repeat(1_000) })) };
  assert(Number(jsonInPieces(text)?.heldBytes) < 1_000);
  assert(Number(jsonInPieces(rows)?.heldBytes) > 1_000_000);
});

test("a short answer is printed at once", () => {
  assert.equal(jsonInPieces({ rows: [{ id: "x" }] }), undefined);
});
