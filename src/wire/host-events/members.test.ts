import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readEvent } from "./event.ts";
import { limits } from "./limits.ts";
import { readMembers } from "./members.ts";

/** In parts of that length, or in one. */
function* partsOf(text: string, length = text.length * 4 + 1): Generator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

const read = (text: string, length?: number): ReadonlyMap<string, unknown> | undefined =>
  readMembers(partsOf(text, length));

test("an object has the members that a parser finds, in however many parts it comes", () => {
  // No key is a mere backslash: `JSON.parse` of Node 26 takes other keys for one after it.
  const key = fc.string({ unit: "grapheme" }).filter((name) => !name.includes("\\"));
  const inner = fc.jsonValue().filter((value) => !JSON.stringify(value).includes('"\\\\":'));
  const object = fc.dictionary(key, inner);
  fc.assert(
    fc.property(object, fc.nat(3), fc.integer({ min: 1, max: 40 }), (value, indent, length) => {
      const text = JSON.stringify(value, null, indent);
      const expected = new Map(Object.entries(JSON.parse(text) as object));
      assert.deepEqual(read(` ${text}\n`, length), expected);
      assert.deepEqual(read(text), expected);
    }),
  );
});

test("what is cut off anywhere is no object", () => {
  const text = `{"a": "x\\"}", "b": [1, {"c": "]\\\\"}], "d": -1.5e3, "e": null}`;
  for (let length = 0; length < text.length; length += 1) {
    assert.equal(read(text.slice(0, length)), undefined, text.slice(0, length));
  }
  assert.equal(read(text)?.size, 4);
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
    "{,}",
  ];
  const more = [
    "\ufeff{}",
    '{"a":tru}',
    '{"a":[1,}',
    '{"a":"\u0001"}',
    '{"a":1 2}',
    '{"a":1]',
    '{"a":"b"c}',
    "{'a':1}",
  ];
  for (const text of [...texts, ...more]) assert.equal(read(text), undefined, text);
  assert.deepEqual(read("\t{ \r\n}  "), new Map());
});

test("of two members with one name the last counts", () => {
  assert.deepEqual(read('{"a":1,"a":2}'), new Map([["a", 2]]));
});

test("of a long text both ends are kept, and of a long list nothing", () => {
  const prompt = "😀\\u263a\\n".repeat(limits.memberBytesMax / 4);
  const list = `[${"1,".repeat(limits.memberBytesMax)}1]`;
  const members = read(`{"session_id":"s","prompt":"${prompt}","list":${list},"end":true}`, 65_536);
  assert.deepEqual([...(members?.keys() ?? [])], ["session_id", "prompt", "end"]);
  const text = String(members?.get("prompt"));
  assert.ok(text.startsWith("😀☺\n😀☺\n") && text.endsWith("😀☺\n😀☺\n"));
  assert.ok(text.length > 1000 && text.length <= 2 * limits.textBytesMax);
});

test("however little a text is too long by, and in however many parts, its end is its end", () => {
  for (const extra of [0, 1, 2, 100, limits.textBytesMax, 3 * limits.textBytesMax + 1]) {
    const words = `${"x".repeat(limits.memberBytesMax - 3 + extra)} Which?`;
    for (const length of [limits.textBytesMax - 1, 16_384, undefined]) {
      const text = String(read(`{"a":"${words}"}`, length)?.get("a"));
      assert.match(text, /^x+\n…\nx+ Which\?$/);
    }
  }
});

test("a key that is too long to be kept is skipped with its value", () => {
  const key = "k".repeat(limits.memberBytesMax + 1);
  assert.deepEqual(read(`{"${key}":"x","a":1,"${key}":[{}]}`), new Map([["a", 1]]));
});

test("wherever a long text is cut, its beginning and its end are read", () => {
  for (let shift = 0; shift < 12; shift += 1) {
    const prompt = "x".repeat(shift) + "\\u263a\\\\".repeat(limits.memberBytesMax / 8);
    const members = read(`{"prompt":"${prompt}?"}`);
    const [first, , last] = String(members?.get("prompt")).split("\n");
    assert.match(first ?? "", /^x*(☺\\)+☺?\\?$/);
    // What is left of an escape that was cut through is read as it stands.
    assert.match(last ?? "", /^(u?\w{1,4})?\\?(☺\\)+\?$/);
  }
});

test("an event has a name and a session", () => {
  const event = (value: unknown): unknown => readEvent(partsOf(JSON.stringify(value)));
  assert.ok(event({ hook_event_name: "Stop", session_id: "s" }));
  assert.equal(event({ hook_event_name: "Stop" }), undefined);
  assert.equal(event({ hook_event_name: "Stop", session_id: "" }), undefined);
  assert.equal(event({ hook_event_name: "Stop", session_id: 1 }), undefined);
  assert.equal(event({ session_id: "s" }), undefined);
  assert.equal(event({ hook_event_name: "Stop", session_id: "s".repeat(10_000) }), undefined);
});
