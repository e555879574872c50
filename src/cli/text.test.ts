/** Text on a terminal: what agents say of themselves is shown, never obeyed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fit, jsonOf, pad, printable, printableLines, widthOf } from "./text.ts";

test("nothing that steers a terminal is left in a text, and what it was can be read", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["plain", "plain"],
    ["\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"],
    ["\x1b]0;title\x07", "\\x1b]0;title\\x07"],
    ["\u009b31m", "\\x9b31m"],
    ["two\nlines\r\tand a tab\0", "two\\nlines\\r\\tand a tab\\x00"],
    ["\x7f", "\\x7f"],
    ["a\u2028b\u2029c", "a\\u2028b\\u2029c"],
    ["half \ud800 of one", "half \\ud800 of one"],
  ];
  for (const [text, shown] of cases) assert.equal(printable(text), shown);
});

test("what turns the direction of writing, or is not seen at all, is spelled out", () => {
  for (const code of [
    0x061c, 0x200b, 0x200e, 0x200f, 0x202a, 0x202e, 0x2060, 0x2066, 0x2069, 0xad, 0xfeff, 0xe0041,
    0x3164, 0x115f,
  ]) {
    const shown = printable(`a${String.fromCodePoint(code)}b`);
    assert.match(shown, /^a\\[xu][0-9a-f{}]+b$/, code.toString(16));
  }
});

test("every control character of every plane is spelled out", () => {
  for (let code = 0; code < 0x3_0000; code += 1) {
    const character = String.fromCodePoint(code);
    if (/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(character)) {
      assert.match(printable(character), /^[\x20-\x7e]+$/, code.toString(16));
    }
  }
});

test("what is told at a glance is told as a closer look would", () => {
  for (let code = 0x20; code < 0x2100; code += 1) {
    const character = String.fromCodePoint(code);
    // A wide letter beside it makes the closer look necessary.
    assert.equal(printable(character), printable(`${character}日`).slice(0, -1), code.toString(16));
    assert.equal(widthOf(character), widthOf(`${character}日`) - 2, code.toString(16));
  }
});

test("other writing stays as it is", () => {
  for (const text of ["日本語", "Grüße", "مرحبا", "עברית", "👩‍💻", "नमस्ते", "🇩🇪", "❤️"]) {
    assert.equal(printable(text), text);
  }
});

test("marks do not pile up over the lines above", () => {
  assert.equal(printable(`a${"\u0301".repeat(50)}b`), `a${"\u0301".repeat(3)}b`);
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
