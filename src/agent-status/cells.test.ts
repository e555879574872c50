/** Text that is cut and wrapped: by counting where that will do, by looking where it will not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { widthOf } from "../terminal/index.ts";
import { cellOf, cutPlain, cutWide, elide, shorten, wrap } from "./cells.ts";
import { limits } from "./limits.ts";

const odd = [
  "日本語日本語日本語日本語",
  "a❤️b❤️c❤️d❤️e❤️f❤️g❤️h",
  "claude-code-0123456789abcdef0123456789abcdef",
  "e\u0301".repeat(30),
  "👩‍💻👩‍💻👩‍💻👩‍💻👩‍💻",
];

test("what is left of an id is its beginning and its end", () => {
  const left = (text: string, room: number): string => elide(cellOf(text), room).text;
  assert.equal(left("abcdefghij", 10), "abcdefghij");
  assert.equal(left("abcdefghij", 9), "abcd…ghij");
  assert.equal(left("abcdefghij", 8), "abcd…hij");
  assert.equal(left("日本語日本語", 9), "日本…本語");
});

test("what is cut takes no more cells than there are, and knows how many it takes", () => {
  for (let room = 1; room < 40; room += 1) {
    for (const text of odd) {
      for (const cell of [elide(cellOf(text), room), shorten(cellOf(text), room)]) {
        assert(widthOf(cell.text) <= room, `${text} in ${room}`);
        assert.equal(cell.cells, widthOf(cell.text));
      }
    }
  }
});

test("a task is wrapped at blanks, below where it began, and a long word where it must be", () => {
  const wrapped = (mark: string, text: string, room: number): readonly string[] =>
    wrap({ mark: cellOf(mark), body: cellOf(text) }, room).map(
      (line) => line.mark.text + line.body.text,
    );
  assert.deepEqual(wrapped("  ▸  ", "read what fails and fix it", 20), [
    "  ▸  read what fails",
    "     and fix it",
  ]);
  assert.deepEqual(wrapped("◎  ", "abcdefghijklmnopqrstuvwxyz", 12), [
    "◎  abcdefghi",
    "   jklmnopqr",
    "   stuvwxyz",
  ]);
  assert.deepEqual(wrapped("  📁  ", "/日本/語の中の長い道", 16), [
    "  📁  /日本/語の",
    "     中の長い道",
  ]);
});

test("no line of a wrapped text is too wide, and no letter is lost", () => {
  const text = fc.string({ unit: fc.constantFrom(..."ab  日é😀❤\ufe0f\u0301-/"), maxLength: 60 });
  const rooms = fc.integer({ min: 8, max: 40 });
  fc.assert(
    fc.property(text, rooms, (body, room) => {
      const lines = wrap({ mark: cellOf("  ▸  "), body: cellOf(body) }, room);
      for (const { mark, body: piece } of lines) {
        assert(mark.cells + piece.cells <= room, JSON.stringify([body, room, piece]));
      }
      const letters = (each: string): string => each.replaceAll(" ", "");
      if (lines.length > limits.taskLinesMax) return;
      assert.equal(letters(lines.map(({ body: piece }) => piece.text).join("")), letters(body));
    }),
  );
});

test("counting and looking cut plain text in the same places", () => {
  const words = fc.array(
    fc.string({ unit: fc.constantFrom(..."abc-/."), minLength: 1, maxLength: 15 }),
  );
  const rooms = fc.record({
    first: fc.integer({ min: 4, max: 30 }),
    rest: fc.integer({ min: 4, max: 30 }),
  });
  fc.assert(
    fc.property(words, rooms, (each, room) => {
      const text = each.join(" ");
      const counted = cutPlain(text, room);
      const looked = cutWide(text, room);
      const end = limits.taskLinesMax;
      assert.deepEqual(counted.slice(0, end), looked.slice(0, end));
    }),
  );
});
