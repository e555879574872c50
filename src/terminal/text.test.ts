/** Text on a terminal: what agents say of themselves is shown, never obeyed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fit, jsonOf, pad, printable, printableLines, widthOf } from "./text.ts";

test("what is told at a glance is told as a closer look would", () => {
  for (let code = 0x20; code < 0x2100; code += 1) {
    const character = String.fromCodePoint(code);
    // A wide letter beside it makes the closer look necessary.
    assert.equal(printable(character), printable(`${character}日`).slice(0, -1), code.toString(16));
    assert.equal(widthOf(character), widthOf(`${character}日`) - 2, code.toString(16));
  }
});

test("the lines of a text stay, what is in them is made safe", () => {
  assert.equal(printableLines("a\r\n\x1bb\nc"), "a\n\\x1bb\nc");
});

test("wide writing and emoji take two cells, marks none", () => {
  const cases: readonly (readonly [string, number])[] = [
    ["", 0],
    ["abc", 3],
    ["é", 1],
    ["e\u0301", 1],
    ["日本語", 6],
    ["한국어", 6],
    ["ＡＢ", 4],
    ["👍", 2],
    ["🇩🇪", 2],
    ["❤️", 2],
    ["…", 1],
    ["Ω", 1],
    ["𠀀", 2],
  ];
  for (const [text, width] of cases) assert.equal(widthOf(text), width, text);
});

test("what is cut never takes more than its cells, also where a wide letter would stand across the end", () => {
  assert.equal(fit("invoice-42", 10), "invoice-42");
  assert.equal(fit("invoice-42", 7), "invoic…");
  assert.equal(fit("日本語", 5), "日本…");
  assert.equal(fit("日本語", 4), "日…");
  assert.equal(fit("日本語", 1), "…");
  assert.equal(fit("日本語", 0), "");
  for (let cells = 0; cells < 20; cells += 1) {
    for (const text of ["a日b本c語d👍e👩‍💻f", "❤️❤️❤️❤️", "e\u0301".repeat(30)]) {
      assert(widthOf(fit(text, cells)) <= cells, `${text} in ${cells}`);
    }
  }
});

test("filled up by cells, not by characters", () => {
  assert.equal(pad("日本", 6), "日本  ");
  assert.equal(pad("7", 3, "right"), "  7");
  assert.equal(pad("too long", 3), "too long");
});

test("a JSON document is safe on a terminal, and its values are what they were", () => {
  const value = { name: "\x1b[2J\u009b31m\u202eevil\u{e0041}日本\x7f", list: [1, null] };
  const text = jsonOf(value);
  assert.doesNotMatch(text, /[\p{Cc}\p{Bidi_Control}\p{Cf}]/u);
  assert.deepEqual(JSON.parse(text), value);
});
