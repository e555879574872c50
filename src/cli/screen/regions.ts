/**
 * How the screen is divided. By its size alone: nothing moves because an agent came or spoke. Only open questions take
 * lines from the agents, because they come first.
 */
import type { Size } from "../../terminal/index.ts";
import { limits } from "./limits.ts";

/** Above: the titles. Below: totals and keys. */
const fixedRows = 3;

/** Lines of the detail below the list, without its title. None where the list needs all there is. */
export function detailRowsIn({ rows }: Size): number {
  const wanted = Math.min(Math.floor((rows - fixedRows) * 0.45), limits.detailRowsMax);
  return wanted < limits.detailRowsMin ? 0 : wanted;
}

/** Lines of open questions, above the agents: half of the list at most. */
export function questionRowsIn(questions: number, size: Size): number {
  return Math.min(questions, Math.floor(listRowsIn(size) / 2), limits.questionRowsMax);
}

/** Agents that can be seen at once. */
export function agentRowsIn(questions: number, size: Size): number {
  return listRowsIn(size) - questionRowsIn(questions, size);
}

/** Lines of questions and agents. */
export function listRowsIn(size: Size): number {
  const detail = detailRowsIn(size);
  return Math.max(1, size.rows - fixedRows - (detail === 0 ? 0 : detail + 1));
}

/** Lines of a view that has the screen to itself. */
export function pageRowsIn({ rows }: Size): number {
  return Math.max(1, rows - fixedRows);
}

/** What a line may take: the last column stays free. */
export function cellsIn({ columns }: Size): number {
  return columns - 1;
}
