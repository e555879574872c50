import assert from "node:assert/strict";
import { test } from "node:test";
import { printable } from "./safe-text.ts";

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

test("other writing stays as it is", () => {
  for (const text of ["日本語", "Grüße", "مرحبا", "עברית", "👩‍💻", "नमस्ते", "🇩🇪", "❤️"]) {
    assert.equal(printable(text), text);
  }
});

test("marks do not pile up over the lines above", () => {
  assert.equal(printable(`a${"\u0301".repeat(50)}b`), `a${"\u0301".repeat(3)}b`);
});
