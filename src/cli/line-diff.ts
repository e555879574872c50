/** What changes in a text, line by line, as people are used to see it. */
import { limits } from "./limits.ts";

export type DiffLine = { readonly sign: "+" | "-" | " "; readonly text: string };

/** Changed lines, with a line of what is around them on either side. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end))
    end += 1;
  const middle = compare(old.slice(start, old.length - end), now.slice(start, now.length - end));
  if (middle.length === 0) return [];
  const around = (text: string | undefined): readonly DiffLine[] =>
    text === undefined ? [] : [{ sign: " ", text }];
  return [...around(old[start - 1]), ...middle, ...around(old[old.length - end])];
}

function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** By the longest common sequence; all at once where that would take too long. */
function compare(old: readonly string[], now: readonly string[]): readonly DiffLine[] {
  const gone = old.map((text) => ({ sign: "-", text }) as const);
  const come = now.map((text) => ({ sign: "+", text }) as const);
  const width = now.length + 1;
  if (old.length * width > limits.diffCellsMax) return [...gone, ...come];
  const lengths = new Uint32Array((old.length + 1) * width);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = now.length - 1; column >= 0; column -= 1) {
      const isSame = old[row] === now[column];
      lengths[row * width + column] = isSame
        ? at(row + 1, column + 1) + 1
        : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < old.length || column < now.length) {
    const [left, right] = [gone[row], come[column]];
    if (left && right && left.text === right.text) {
      lines.push({ sign: " ", text: left.text });
      row += 1;
      column += 1;
    } else if (left && (!right || at(row + 1, column) >= at(row, column + 1))) {
      lines.push(left);
      row += 1;
    } else if (right) {
      lines.push(right);
      column += 1;
    }
  }
  return lines;
}
