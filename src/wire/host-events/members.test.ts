import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readEvent } from "./event.ts";
import { limits } from "./limits.ts";
import { readMembers } from "./members.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
/** Long enough to be scanned rather than parsed. */
const padding = " ".repeat(limits.memberBytesMax);

test("a long object has the members that a parser finds", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue()),
      fc.nat(3),
      (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const read = readMembers(bytes(`${padding}${text}\n`));
        const expected = new Map(Object.entries(JSON.parse(text) as object));
        assert.deepEqual(read, expected);
        assert.deepEqual(readMembers(bytes(text)), expected);
      },
    ),
  );
});

test("what is cut off anywhere is no object", () => {
  const text = `{"a": "x\\"}", "b": [1, {"c": "]"}], "d": -1.5e3, "e": null}`;
  for (let length = 0; length < text.length; length += 1) {
    assert.equal(readMembers(bytes(text.slice(0, length))), undefined);
    assert.equal(
      readMembers(bytes(padding + text.slice(0, length))),
      undefined,
      text.slice(0, length),
    );
  }
  assert.equal(readMembers(bytes(`${padding}${text}`))?.size, 4);
});

test("what is no object is none", () => {
  const texts = [
    "",
    "[]",
    "null",
    '"x"',
    "1",
    "{]",
    "{}{}",
    "{} x",
    "{a:1}",
    '{"a":}',
    '{"a" 1}',
    '{"a":1,}',
    "\ufeff{}",
  ];
  for (const text of texts) {
    assert.equal(readMembers(bytes(text)), undefined, text);
    assert.equal(readMembers(bytes(padding + text)), undefined, text);
  }
  assert.deepEqual(readMembers(bytes(`${padding}{ }`)), new Map());
});

test("of a long text the beginning is kept, and of a long list nothing", () => {
  const prompt = "😀\\u263a\\n".repeat(limits.memberBytesMax / 4);
  const list = `[${"1,".repeat(limits.memberBytesMax)}1]`;
  const read = readMembers(
    bytes(`{"session_id":"s","prompt":"${prompt}","list":${list},"end":true}`),
  );
  assert.deepEqual([...(read?.keys() ?? [])], ["session_id", "prompt", "end"]);
  const text = String(read?.get("prompt"));
  assert.ok(
    text.startsWith("😀☺\n😀☺\n") && text.length > 500 && text.length <= limits.textBytesMax,
  );
});

test("wherever a long text is cut, its beginning is read", () => {
  for (let shift = 0; shift < 12; shift += 1) {
    const prompt = "x".repeat(shift) + "\\u263a\\\\".repeat(limits.memberBytesMax);
    const read = readMembers(bytes(`{"prompt":"${prompt}"}`));
    assert.match(String(read?.get("prompt")), /^x*(☺\\)+☺?\\?$/);
  }
});

test("an event has a name and a session", () => {
  const read = (value: unknown): unknown => readEvent(bytes(JSON.stringify(value)));
  assert.ok(read({ hook_event_name: "Stop", session_id: "s" }));
  assert.equal(read({ hook_event_name: "Stop" }), undefined);
  assert.equal(read({ hook_event_name: "Stop", session_id: "" }), undefined);
  assert.equal(read({ hook_event_name: "Stop", session_id: 1 }), undefined);
  assert.equal(read({ session_id: "s" }), undefined);
  assert.equal(read({ hook_event_name: "Stop", session_id: "s".repeat(10_000) }), undefined);
});
