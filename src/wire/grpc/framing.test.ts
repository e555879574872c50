/** Bodies arrive in chunks of any size; messages come out whole. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Random } from "../../testing/random.ts";
import { frame, Unframer } from "./framing.ts";

test("a message is a flag, its length, and itself", () => {
  assert.deepEqual(frame(Buffer.from("abc")), Buffer.from("0000000003616263", "hex"));
  assert.deepEqual(frame(Buffer.alloc(0)), Buffer.from("0000000000", "hex"));
});

test("messages come out whole, however the body is cut", () => {
  const random = new Random(11);
  const sent = Array.from({ length: 50 }, () => Buffer.from(random.hex(random.below(300))));
  const body = Buffer.concat(sent.map(frame));
  for (let round = 0; round < 20; round++) {
    const unframer = new Unframer(1_000);
    const received: Buffer[] = [];
    for (let from = 0; from < body.length; ) {
      const to = from + random.between(1, round < 3 ? 3 : 500);
      received.push(...messagesIn(unframer.push(body.subarray(from, to))));
      from = to;
    }
    assert.deepEqual(received, sent);
    assert.equal(unframer.isTruncated, false);
  }
});

test("a length above the bound is refused before the message has arrived", () => {
  const unframer = new Unframer(10);
  assert.deepEqual(messagesIn(unframer.push(frame(Buffer.alloc(10)))), [Buffer.alloc(10)]);
  assert.equal(unframer.push(Buffer.from("000000000b", "hex")), "too_long");
});

test("a compressed message is refused", () => {
  assert.equal(new Unframer(10).push(Buffer.from("0100000001ff", "hex")), "compressed");
});

test("a body that ends in the middle of a message is known to be cut off", () => {
  const unframer = new Unframer(10);
  assert.deepEqual(unframer.push(Buffer.from("00000000", "hex")), []);
  assert.equal(unframer.isTruncated, true);
  assert.deepEqual(unframer.push(Buffer.from("02ff", "hex")), []);
  assert.equal(unframer.isTruncated, true);
});

function messagesIn(found: ReturnType<Unframer["push"]>): readonly Buffer[] {
  assert(typeof found !== "string", String(found));
  return found;
}
