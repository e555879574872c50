import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeName, systemPath } from "./names.ts";

test("any bytes are a name, which leads back to them and is no other's", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), (drawn) => {
      const bytes = Buffer.from(drawn);
      assert.deepEqual(Buffer.from(systemPath(decodeName(bytes))), bytes);
    }),
    { numRuns: 2_000 },
  );
});

test("a name that is UTF-8 is its text, and a byte that is none is named as Python does", () => {
  for (const name of ["a.json", "é日😀.json", "\ufffd.json"]) {
    assert.equal(decodeName(Buffer.from(name)), name);
    assert.equal(systemPath(name), name);
  }
  assert.equal(decodeName(Buffer.of(0x61, 0xff, 0xc3, 0xc3, 0xa9)), "a\udcff\udcc3é");
  // The bytes of a surrogate are no UTF-8 either.
  assert.equal(decodeName(Buffer.of(0xed, 0xb3, 0xbf)), "\udced\udcb3\udcbf");
});
