import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { diffLines } from "./line-diff.ts";

const shown = (before: string, after: string): readonly string[] =>
  diffLines(before, after).map(({ sign, text }) => sign + text);

test("a change shows what comes and goes, with a line on either side", () => {
  assert.deepEqual(shown("a\nb\nc\nd\n", "a\nb\nx\nd\n"), [" b", "-c", "+x", " d"]);
  assert.deepEqual(shown("a\nb\n", "a\nm\nb\n"), [" a", "+m", " b"]);
  assert.deepEqual(shown("a\nb\nc\nd\ne\n", "a\nB\nc\nD\ne\n"), [
    " a",
    "-b",
    "+B",
    " c",
    "-d",
    "+D",
    " e",
  ]);
});

test("a new file is all new, and one that goes is all gone", () => {
  assert.deepEqual(shown("", "a\nb\n"), ["+a", "+b"]);
  assert.deepEqual(shown("a\nb", ""), ["-a", "-b"]);
  assert.deepEqual(shown("a\r\nb\r\n", "a\nb\n"), []);
});

test("whoever takes the lines that stay and come has the new text", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 });
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before.join("\n"), after.join("\n"));
      const come = lines.filter(({ sign }) => sign !== "-").map((line) => line.text);
      const gone = lines.filter(({ sign }) => sign !== "+").map((line) => line.text);
      assert.ok(after.join("\n").includes(come.join("\n")));
      assert.ok(before.join("\n").includes(gone.join("\n")));
      assert.equal(
        come.length - gone.length,
        lines.length === 0 ? 0 : after.length - before.length,
      );
    }),
  );
});
