import assert from "node:assert/strict";
import { test } from "node:test";
import { encodePayload, Payload } from "./payload.ts";

test("values come back as they were handed in", () => {
  for (const value of [{ a: [1, null] }, "text", "ünï 🙂", 0, false, null, []]) {
    assert.deepEqual(new Payload(encodePayload(value)).json(), value);
  }
});

test("bytes come back as they were handed in, also very many", () => {
  const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index % 256);
  assert.deepEqual(new Payload(encodePayload(bytes)).bytes, bytes);
});

test("nothing is no bytes", () => {
  assert.equal(encodePayload(undefined), "");
  assert.equal(new Payload("").text(), "");
});

test("the encoding is that of everyone else", () => {
  const bytes = Uint8Array.of(0, 255, 128, 10);
  assert.equal(encodePayload(bytes), Buffer.from(bytes).toString("base64"));
});

test("a token may be part of it, and is a decimal text then", () => {
  const payload = new Payload(encodePayload({ total: 3, token: 2n ** 60n }));
  assert.deepEqual(payload.json(), { total: 3, token: "1152921504606846976" });
});
