/** Columns that fit. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Column, printColumns, printFacts, squeeze } from "./columns.ts";

type Row = { readonly name: string; readonly does: string };
const columns: readonly Column<Row>[] = [
  { title: "NAME", cell: ({ name }) => name, weight: 9, cellsMin: 4 },
  { title: "ID", cell: () => "12345678", weight: 8 },
  { title: "DOES", cell: ({ does }) => does, weight: 1, cellsMin: 6 },
];

test("where nobody looks on, nothing is cut, and texts of agents are on one line", () => {
  const rows = [
    { name: "a", does: "x".repeat(200) },
    { name: "日本", does: "two\nlines\x1b[2J" },
  ];
  assert.equal(
    printColumns(rows, columns),
    `NAME  ID        DOES\na     12345678  ${"x".repeat(200)}\n日本  12345678  two\\nlines\\x1b[2J\n`,
  );
});

test("a column in which nothing stands is left out", () => {
  assert.equal(printColumns([{ name: "a", does: "" }], columns), "NAME  ID\na     12345678\n");
});

test("the lightest column gives way first, down to its least width, and then goes", () => {
  const measured = [
    { width: 10, column: { title: "NAME", weight: 9, cellsMin: 4 } },
    { width: 8, column: { title: "ID", weight: 8 } },
    { width: 30, column: { title: "DOES", weight: 1, cellsMin: 6 } },
  ];
  const widths = (room: number): readonly (readonly [string, number])[] =>
    squeeze(measured, room).map(({ width, column }) => [column.title, width]);
  assert.deepEqual(widths(52), [
    ["NAME", 10],
    ["ID", 8],
    ["DOES", 30],
  ]);
  assert.deepEqual(widths(51), [
    ["NAME", 10],
    ["ID", 8],
    ["DOES", 29],
  ]);
  assert.deepEqual(widths(28), [
    ["NAME", 10],
    ["ID", 8],
    ["DOES", 6],
  ]);
  assert.deepEqual(widths(27), [
    ["NAME", 9],
    ["ID", 8],
    ["DOES", 6],
  ]);
  assert.deepEqual(widths(21), [
    ["NAME", 10],
    ["ID", 8],
  ]);
  assert.deepEqual(widths(13), [["NAME", 10]]);
  assert.deepEqual(widths(3), [["NAME", 3]]);
});

test("whatever the width, the line is no longer", () => {
  const measured = [7, 20, 3, 15, 40].map((width, weight) => ({
    width,
    column: { title: String(weight), weight, ...(weight % 2 === 0 ? { cellsMin: 2 } : {}) },
  }));
  for (let room = 1; room < 120; room += 1) {
    const placed = squeeze(measured, room);
    const length = placed.reduce((sum, { width }) => sum + width + 2, -2);
    assert(placed.length > 0 && length <= room, `${length} of ${room}`);
  }
});

test("names of facts are as safe to print as what stands behind them", () => {
  const printed = printFacts([["\u001b]0;pwn\u0007\u202ename\n", "\u001b[2Jvalue"]]);
  assert.doesNotMatch(printed.slice(0, -1), /[\u0000-\u001f\u0080-\u009f\u202a-\u202e]/);
});
