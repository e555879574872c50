/** A change to a file, told to the person who will say yes or no to it. */
import { paint, printable, type Tone } from "../terminal/index.ts";
import type { FileChange } from "./hosts/index.ts";
import { limits } from "./limits.ts";
import { diffLines } from "./line-diff.ts";
import { printPath } from "./paths.ts";
import { countOf } from "./times.ts";

/** The file and what happens to it; then what that means or, if `isDiff`, each line that comes or goes. */
export function printChange(change: FileChange, { isDiff }: { readonly isDiff: boolean }): string {
  const { path, before, after, says, details } = change;
  const what = before === undefined ? "new file" : after === undefined ? "goes" : "changes";
  const title = `${paint("bold", printable(printPath(path)))} ${what}: ${says}`;
  const more = isDiff
    ? printDiff(before ?? "", after ?? "")
    : details.map((line) => `  ${printable(line)}`);
  return `${[title, ...more].join("\n")}\n`;
}

const tones: Readonly<Record<string, Tone>> = { "+": "good", "-": "bad", " ": "dim" };

function printDiff(before: string, after: string): readonly string[] {
  const lines = diffLines(before, after);
  const shown = lines
    .slice(0, limits.diffLinesMax)
    .map(({ sign, text }) => paint(tones[sign], `  ${sign} ${printable(cut(text))}`));
  const left = lines.length - shown.length;
  if (left > 0) shown.push(paint("dim", `    … and ${countOf(left, "more line")}`));
  return shown;
}

function cut(line: string): string {
  const length = limits.diffLineLengthMax;
  return line.length <= length ? line : `${line.slice(0, length)}…`;
}
