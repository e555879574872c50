/**
 * The table: six columns in a frame, `TASK` on several lines. It is laid out in two passes, the first of
 * which only looks at how wide things are, so that ten thousand rows take no longer than their output does.
 * Where there is too little room, `TASK` is wrapped and ids lose their middle; state and age stay. [AS-63]
 */
import { begin, type Colour, end, widthOf } from "../terminal/index.ts";
import { type Cell, cellOf, elide, empty, type Line, shorten, wrap } from "./cells.ts";
import { limits } from "./limits.ts";

export type Row = {
  /** Each is a line of its own, begun by a mark. */
  readonly task: readonly Line[];
  readonly id: Cell;
  readonly name: Cell;
  readonly lifecycle: Cell;
  readonly state: Cell;
  readonly updated: Cell;
  readonly colour: Colour | undefined;
};

export type Style = {
  /** How wide a line may be; undefined: as wide as it wants. */
  readonly columns: number | undefined;
  readonly hasColours: boolean;
};

const columns = ["task", "id", "name", "lifecycle", "state", "updated"] as const;
type Column = (typeof columns)[number];
type Widths = Record<Column, number>;

const titles: Readonly<Record<Column, string>> = {
  task: "TASK",
  id: "AGENT ID",
  name: "NAME",
  lifecycle: "LIFECYCLE",
  state: "STATE",
  updated: "UPDATED",
};

const taskCellsMin = 27;

/** Who gives way, and to what width, until the table fits. A width of 0 leaves the column out. */
const concessions: readonly (readonly [Column, number])[] = [
  ["task", taskCellsMin],
  ["id", 12],
  ["name", 8],
  // Its icon says the same.
  ["lifecycle", 1],
  ["id", 8],
  ["task", 16],
  ["lifecycle", 0],
  ["name", 0],
  ["id", 0],
  ["task", 0],
];

/** Piece by piece, with its line ends. */
export function* printTable(title: string, rows: readonly Row[], style: Style): Generator<string> {
  const widths = squeeze(measure(rows), style.columns);
  const shown = columns.filter((column) => widths[column] > 0);
  const frame = frameOf(style, shown, widths);
  const { side } = frame;
  const paint = (colour: Colour | "bold" | undefined, text: string): string =>
    style.hasColours && colour !== undefined ? begin(colour) + text + end : text;
  const place = (
    { text, cells }: Cell,
    column: Column,
    colour: Colour | "bold" | undefined,
  ): string => {
    const space = " ".repeat(Math.max(0, widths[column] - cells));
    return ` ${paint(colour, text)}${space} ${side}`;
  };
  /** Behind a line that only goes on with the task. */
  const blanks = shown.slice(1).map((column) => `${" ".repeat(widths[column] + 2)}${side}`);
  const rest = `${blanks.join("")}\n`;
  const indent = " ".repeat(Math.max(0, Math.floor((widthOf(frame.top) - widthOf(title)) / 2)));
  const heads = shown.map((column) =>
    place(clip(cellOf(titles[column]), column, widths), column, "bold"),
  );
  let piece = `${indent}${paint("bold", title)}\n${frame.top}\n`;
  piece += `${side}${heads.join("")}\n${frame.middle}\n`;
  for (const row of rows) {
    const task = widths.task === 0 ? [] : taskLines(row.task, widths.task);
    piece += side;
    for (const column of shown) {
      const cell = column === "task" ? joined(task[0]) : clip(row[column], column, widths);
      piece += place(cell, column, row.colour);
    }
    piece += "\n";
    for (let index = 1; index < task.length; index += 1) {
      piece += side + place(joined(task[index]), "task", row.colour) + rest;
    }
    if (piece.length < limits.pieceLengthMax) continue;
    yield piece;
    piece = "";
  }
  yield `${piece}${frame.bottom}\n`;
}

/** What fits into a column on one line. */
function clip(cell: Cell, column: Column, widths: Widths): Cell {
  const room = widths[column];
  if (column === "id") return elide(cell, room);
  // Of a lifecycle the icon is left.
  const isIcon = column === "lifecycle" && room === 1;
  return isIcon ? { text: cell.text.slice(0, 1), cells: 1 } : shorten(cell, room);
}

function measure(rows: readonly Row[]): Widths {
  const widths: Widths = {
    task: taskCellsMin,
    id: titles.id.length,
    name: titles.name.length,
    lifecycle: titles.lifecycle.length,
    state: titles.state.length,
    updated: titles.updated.length,
  };
  for (const row of rows) {
    for (const line of row.task) {
      const cells = cellsIn(line);
      if (cells > widths.task) widths.task = cells;
    }
    if (row.id.cells > widths.id) widths.id = row.id.cells;
    if (row.name.cells > widths.name) widths.name = row.name.cells;
    if (row.lifecycle.cells > widths.lifecycle) widths.lifecycle = row.lifecycle.cells;
    if (row.state.cells > widths.state) widths.state = row.state.cells;
    if (row.updated.cells > widths.updated) widths.updated = row.updated.cells;
  }
  widths.task = Math.min(widths.task, limits.taskCellsMax);
  widths.id = Math.min(widths.id, limits.idCellsMax);
  widths.name = Math.min(widths.name, limits.nameCellsMax);
  return widths;
}

function squeeze(natural: Widths, room: number | undefined): Widths {
  const widths = { ...natural };
  if (room === undefined) return widths;
  for (const [column, least] of concessions) {
    const excess = widthOfAll(widths) - room;
    if (excess <= 0) break;
    // What is left out takes its frame along, and half a lifecycle is worth no more than its icon.
    if (least === 0 || column === "lifecycle") widths[column] = least;
    else widths[column] = Math.max(Math.min(least, widths[column]), widths[column] - excess);
  }
  const slack = room - widthOfAll(widths);
  if (widths.id > 0) widths.id = Math.max(widths.id, Math.min(natural.id, widths.id + slack));
  return widths;
}

function widthOfAll(widths: Widths): number {
  const shown = columns.filter((column) => widths[column] > 0);
  return shown.reduce((sum, column) => sum + widths[column] + 3, 1);
}

type Frame = {
  readonly top: string;
  readonly middle: string;
  readonly bottom: string;
  readonly side: string;
};

/** Drawn where there are colours, of plain letters where there are none. [AS-61] */
function frameOf({ hasColours }: Style, shown: readonly Column[], widths: Widths): Frame {
  const line = (from: string, between: string, to: string, along: string): string => {
    const parts = shown.map((column) => along.repeat(widths[column] + 2));
    return from + parts.join(between) + to;
  };
  if (!hasColours) {
    const top = line("+", "-", "+", "-");
    return { top, middle: line("|", "+", "|", "-"), bottom: top, side: "|" };
  }
  return {
    top: line("╭", "┬", "╮", "─"),
    middle: line("├", "┼", "┤", "─"),
    bottom: line("╰", "┴", "╯", "─"),
    side: "│",
  };
}

function taskLines(lines: readonly Line[], room: number): readonly Line[] {
  if (lines.every((line) => cellsIn(line) <= room)) return lines;
  const wrapped = lines.flatMap((line) => (cellsIn(line) <= room ? [line] : wrap(line, room)));
  if (wrapped.length <= limits.taskLinesMax) return wrapped;
  const { mark, body } = wrapped[limits.taskLinesMax - 1] ?? blank;
  const last = { mark, body: shorten(cellOf(`${body.text} …`), room - mark.cells) };
  return [...wrapped.slice(0, limits.taskLinesMax - 1), last];
}

const blank: Line = { mark: empty, body: empty };

function joined(line: Line | undefined): Cell {
  if (!line) return empty;
  return { text: line.mark.text + line.body.text, cells: cellsIn(line) };
}

function cellsIn({ mark, body }: Line): number {
  return mark.cells + body.cells;
}
