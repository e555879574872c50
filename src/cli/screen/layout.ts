/** The whole screen, line by line: what is known and how large it is decide all of it. */
import type { Size } from "../../terminal/index.ts";
import { paneOf, titleOf } from "./detail.ts";
import { keysOf, totalsOf } from "./footer.ts";
import { limits } from "./limits.ts";
import { listOf } from "./list.ts";
import { type Model, selectedOf } from "./model.ts";
import { pageOf } from "./pages.ts";
import { cellsIn, detailRowsIn, listRowsIn, pageRowsIn } from "./regions.ts";
import { cellsOf, emptyLine, fitLine, type Line, span } from "./spans.ts";

/** Exactly as many lines as the screen has, none too long. */
export function layout(model: Model, size: Size): readonly Line[] {
  if (size.columns < limits.columnsMin || size.rows < limits.rowsMin) return tooSmall(size);
  const cells = cellsIn(size);
  const body = model.view.kind === "list" ? visibleList(model, size) : visiblePage(model, size);
  const lines = [...body, totalsOf(model, cells), keysOf(model, cells)];
  return lines.map((line) => fitLine(line, cells));
}

function tooSmall({ columns, rows }: Size): readonly Line[] {
  const needed = `${limits.columnsMin} columns and ${limits.rowsMin} lines are needed`;
  return filled([fitLine([span(needed)], columns - 1)], rows);
}

function visiblePage(model: Model, size: Size): readonly Line[] {
  const { title, lines, from } = pageOf(model, size);
  const rows = pageRowsIn(size);
  return [title, ...filled(lines.slice(from, from + rows), rows)];
}

function visibleList(model: Model, size: Size): readonly Line[] {
  return [...filled(listOf(model, size), listRowsIn(size) + 1), ...paneIn(model, size)];
}

function paneIn(model: Model, size: Size): readonly Line[] {
  const rows = detailRowsIn(size);
  if (rows === 0) return [];
  const cells = cellsIn(size);
  const agent = selectedOf(model);
  if (!agent) return filled([ruled(emptyLine, cells)], rows + 1);
  return filled(
    [ruled(titleOf(agent, model.nowMs), cells), ...paneOf(model, agent, { cells, rows })],
    rows + 1,
  );
}

/** A line across the screen, with something in it. */
function ruled(title: Line, cells: number): Line {
  if (title.length === 0) return [span("─".repeat(cells), "dim")];
  const fitted = fitLine(title, cells - 6);
  const rest = "─".repeat(cells - cellsOf(fitted) - 4);
  return [span("── ", "dim"), ...fitted, span(` ${rest}`, "dim")];
}

function filled(lines: readonly Line[], rows: number): readonly Line[] {
  return Array.from({ length: rows }, (_, index) => lines[index] ?? emptyLine);
}
