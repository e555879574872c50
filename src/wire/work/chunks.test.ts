import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  Assembly,
  type Chunk,
  decodeBase64,
  decodedBytes,
  encodeBase64,
  splitBytes,
  splitText,
} from "./chunks.ts";

const encoder = new TextEncoder();
const anyText = fc.string({ unit: "binary", maxLength: 400 });
const anyBytes = fc.uint8Array({ maxLength: 100 });

function chunk(chunkSeq: number, data: string, more: Partial<Chunk> = {}): Chunk {
  return { resultId: "res_1", chunkSeq, data, encoding: "utf8", more: true, ...more };
}

function assembled(chunks: readonly Chunk[], bytesMax?: number): Assembly {
  const assembly = new Assembly("res_1", bytesMax);
  for (const each of chunks) assert.equal(assembly.add(each), undefined);
  return assembly;
}

test("[ARCP-125] [ARCP-126] a text is cut into pieces of so many bytes, never inside of a character", () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 4, max: 50 }), (text, bytesMax) => {
      const pieces = splitText(text, bytesMax);
      assert.equal(pieces.join(""), text);
      assert(pieces.every((piece) => encoder.encode(piece).length <= bytesMax));
      // Each piece survives by itself what UTF-8 does to half a pair.
      const alone = pieces.map((piece) => new TextDecoder().decode(encoder.encode(piece)));
      assert.equal(alone.join(""), new TextDecoder().decode(encoder.encode(text)));
    }),
  );
  assert.deepEqual(splitText("", 4), [""]);
  assert.deepEqual(splitText("a😀b", 4), ["a", "😀", "b"]);
  assert.throws(() => splitText("a", 3), RangeError);
});

test("[PYR-18] a text may also be cut by what it takes when printed, escapes included", () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 6, max: 60 }), (text, printedBytesMax) => {
      const pieces = splitText(text, 1_000, printedBytesMax);
      assert.equal(pieces.join(""), text);
      const sizes = pieces.map((piece) => encoder.encode(JSON.stringify(piece)).length - 2);
      assert(sizes.every((size) => size <= printedBytesMax));
      // No more pieces than it takes: the next character would not have fitted.
      for (const [index, piece] of pieces.entries()) {
        const [next = ""] = pieces[index + 1] ?? "";
        const more = encoder.encode(JSON.stringify(piece + next)).length - 2;
        assert(
          next === "" || more > printedBytesMax || encoder.encode(piece + next).length > 1_000,
        );
      }
    }),
  );
});

test("bytes are cut into views, at least one", () => {
  assert.deepEqual(splitBytes(new Uint8Array(0), 4), [new Uint8Array(0)]);
  assert.deepEqual(
    splitBytes(Uint8Array.of(1, 2, 3), 2).map((piece) => [...piece]),
    [[1, 2], [3]],
  );
});

test("base64 is what it is everywhere, and its size is known before it is decoded", () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      const text = encodeBase64(bytes);
      assert.equal(text, Buffer.from(bytes).toString("base64"));
      assert.deepEqual(decodeBase64(text), bytes);
      assert.equal(decodedBytes(text, "base64"), bytes.length);
    }),
  );
  const large = new Uint8Array(100_000).map((_, index) => index);
  assert.equal(encodeBase64(large), Buffer.from(large).toString("base64"));
  for (const text of ["A", "A===", "AA-_", "AA=A", "AA\n="]) {
    assert.equal(decodedBytes(text, "base64"), undefined, text);
  }
});

test("[ARCP-124] [PYR-11] the size of a text is that of its UTF-8", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      assert.equal(decodedBytes(text, "utf8"), encoder.encode(text).length);
    }),
  );
});

test("[ARCP-128] pieces become the text again, in whatever order and however often they come", () => {
  const shuffled = fc
    .tuple(anyText, fc.integer({ min: 4, max: 20 }))
    .map(([text, bytesMax]) => ({ text, pieces: splitText(text, bytesMax) }))
    .chain(({ text, pieces }) => {
      const chunks = pieces.map((data, index) =>
        chunk(index, data, { more: index < pieces.length - 1 }),
      );
      return fc.record({
        text: fc.constant(text),
        chunks: fc.shuffledSubarray([...chunks, ...chunks], { minLength: chunks.length * 2 }),
      });
    });
  fc.assert(
    fc.property(shuffled, ({ text, chunks }) => {
      const assembly = assembled(chunks);
      assert.deepEqual(assembly.finish(), { value: text });
      assert.equal(assembly.bytes, encoder.encode(text).length);
    }),
  );
});

test("[ARCP-128] one piece of base64 makes it bytes, and text in between is UTF-8", () => {
  const assembly = assembled([
    chunk(0, "é"),
    chunk(1, "AAE=", { encoding: "base64" }),
    chunk(2, "", { more: false }),
  ]);
  assert.deepEqual(assembly.finish().value, Uint8Array.of(0xc3, 0xa9, 0, 1));
});

test("[ARCP-128] a result with a gap, without an end or with two is none", () => {
  const ends = { more: false };
  assert.equal(assembled([]).finish().problem?.path, "chunk_seq");
  assert.equal(assembled([chunk(1, "a", ends)]).finish().problem?.path, "chunk_seq");
  assert.equal(assembled([chunk(0, "a"), chunk(2, "a", ends)]).finish().problem?.path, "chunk_seq");
  assert.equal(assembled([chunk(0, "a")]).finish().problem?.path, "more");
  const twice = assembled([chunk(0, "a", ends), chunk(1, "a", ends)]);
  assert.equal(twice.finish().problem?.path, "more");
});

test("[ARCP-128] pieces of other results, of bad base64 or beyond the bound are not kept", () => {
  const assembly = new Assembly("res_1", 4);
  assert.equal(assembly.add(chunk(0, "a", { resultId: "res_2" }))?.path, "result_id");
  assert.equal(assembly.add(chunk(-1, "a"))?.path, "chunk_seq");
  assert.equal(assembly.add(chunk(0, "?", { encoding: "base64" }))?.path, "data");
  assert.equal(assembly.add(chunk(0, "abcd")), undefined);
  assert.equal(assembly.add(chunk(1, "e"))?.path, "data");
  assert.equal(assembly.bytes, 4);
});
