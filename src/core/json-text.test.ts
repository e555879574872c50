import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isJson, printJson } from "./json-text.ts";

test("every printed value is valid JSON, also one with numbers that JSON does not have", () => {
  assert.equal(printJson({ value: -Infinity }), '{"value":null}');
  fc.assert(fc.property(fc.object({ withDate: true }), (value) => isJson(printJson(value))));
});

test("a value that JSON cannot express is refused", () => {
  const cycle: { self?: object } = {};
  cycle.self = cycle;
  for (const value of [cycle, 1n, undefined, () => 1]) {
    assert.throws(() => printJson(value), TypeError);
  }
});

test("text that is not JSON is recognised", () => {
  for (const text of ['{"value":-Infinity}', '{"value":1', "", "undefined"]) {
    assert(!isJson(text), text);
  }
});
