import assert from "node:assert/strict";
import { test } from "node:test";
import { helpColumns, inTwoColumns, wrapWords } from "./help-text.ts";

test("words are never cut, and one that is too long has a line to itself", () => {
  assert.deepEqual(wrapWords("a bb ccc dddddddd e", 5), ["a bb", "ccc", "dddddddd", "e"]);
  assert.deepEqual(wrapWords("", 5), [""]);
});

test("meanings stand below each other, also that of a name which is too long for its column", () => {
  const long = "--a-name-that-is-far-too-long-for-it";
  const lines = inTwoColumns([
    ["--short", "one"],
    [long, `two ${"words ".repeat(20).trim()}`],
  ]);
  assert.equal(lines[0], "  --short   one");
  assert.equal(lines[1], `  ${long}`);
  for (const line of lines.slice(2)) assert.match(line, /^ {12}\S/);
  for (const line of lines) assert.ok(line.length <= helpColumns, line);
});
