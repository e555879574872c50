/**
 * Rows as columns that fit the terminal. What matters least gives way first: it is cut to its least
 * width, then left out; no line ever wraps. Where nobody looks on, nothing is cut.
 */
import {
  fit,
  fitEnd,
  pad,
  paint,
  printable,
  screen,
  type Tone,
  widthOf,
} from "../terminal/index.ts";

export type Cell = string | { readonly text: string; readonly tone: Tone | undefined };

export type Column<Row> = {
  readonly title: string;
  readonly cell: (row: Row) => Cell;
  /** The larger, the longer it stays whole. */
  readonly weight: number;
  /** It is not cut shorter than this, but left out. Absent: never cut. */
  readonly cellsMin?: number;
  readonly align?: "left" | "right";
  /** Where it is cut if it must be; of a path the end tells more. By default, at its end. */
  readonly cut?: "start" | "end";
};

const gap = "  ";
/** Between two columns. */
export const gapCells: number = gap.length;

/** One line a row, after a line of titles. */
export function printColumns<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const all = columns.map((column) => {
    const cells = rows.map((row) => toCell(column.cell(row)));
    const widths = [column.title, ...cells.map(({ text }) => text)].map(widthOf);
    return { column, cells, width: Math.max(...widths) };
  });
  // A column in which nothing stands says nothing.
  const filled = all.filter(({ cells }) => cells.length === 0 || cells.some(({ text }) => text));
  const room = screen().columns;
  const placed = room === undefined ? filled : squeeze(filled, room);
  const line = (cellAt: (index: number) => { text: string; tone?: Tone | undefined }): string => {
    const parts = placed.map(({ column, width }, index) => {
      const { text, tone } = cellAt(index);
      const cut = column.cut === "start" ? fitEnd(text, width) : fit(text, width);
      const isLast = index === placed.length - 1 && column.align !== "right";
      const padded = isLast ? cut : pad(cut, width, column.align);
      return tone === undefined ? padded : padded.replace(cut, () => paint(tone, cut));
    });
    return parts.join(gap).trimEnd();
  };
  const titles = line((index) => ({ text: placed[index]?.column.title ?? "", tone: "dim" }));
  const lines = rows.map((_, row) =>
    line((index) => placed[index]?.cells[row] ?? { text: "", tone: undefined }),
  );
  return `${[titles, ...lines].join("\n")}\n`;
}

type Measured = { readonly width: number; readonly column: Omit<Column<never>, "cell"> };

/** Takes from the lightest first; where all are as short as they may be, the lightest is left out. */
export function squeeze<Placed extends Measured>(
  columns: readonly Placed[],
  room: number,
): readonly Placed[] {
  const byWeight = [...columns].sort((one, other) => one.column.weight - other.column.weight);
  let excess = columns.reduce((sum, { width }) => sum + width + gap.length, -gap.length - room);
  const widths = new Map(columns.map(({ column, width }) => [column, width]));
  for (const { column, width } of byWeight) {
    if (excess <= 0) break;
    const taken = Math.min(excess, width - Math.min(width, column.cellsMin ?? width));
    widths.set(column, width - taken);
    excess -= taken;
  }
  const [lightest] = byWeight;
  if (excess > 0 && columns.length > 1) {
    return squeeze(
      columns.filter((one) => one !== lightest),
      room,
    );
  }
  return columns.map((one) => {
    const width = widths.get(one.column) ?? one.width;
    return { ...one, width: Math.min(width, room) };
  });
}

/** Names and what stands behind them, one a line. */
export function printFacts(facts: readonly (readonly [string, Cell])[]): string {
  const named = facts.map(([name, value]) => [printable(name), value] as const);
  const width = Math.max(0, ...named.map(([name]) => widthOf(name))) + 3;
  const room = screen().columns;
  const lines = named.map(([name, value]) => {
    const { text, tone } = toCell(value);
    const shown = room === undefined ? text : fit(text, Math.max(1, room - width - 2));
    return `  ${paint("dim", pad(name, width))}${paint(tone, shown)}`;
  });
  return `${lines.join("\n")}\n`;
}

function toCell(cell: Cell): { readonly text: string; readonly tone: Tone | undefined } {
  const { text, tone } = typeof cell === "string" ? { text: cell, tone: undefined } : cell;
  return { text: printable(text), tone };
}
