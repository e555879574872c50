/** A line of the screen, as pieces that look alike. What agents say enters here, and is made safe here. */
import { begin, colourOf, end, fit, printable, type Tone, widthOf } from "../../terminal/index.ts";

/** `selected` is turned around, whatever else it would be. */
export type Look = Tone | "selected";

export type Span = { readonly text: string; readonly look: Look | undefined };

export type Line = readonly Span[];

export const emptyLine: Line = [];

/** Without a way to steer the terminal. */
export function span(text: string, look?: Look): Span {
  return { text: printable(text), look };
}

export function cellsOf(line: Line): number {
  return line.reduce((sum, { text }) => sum + widthOf(text), 0);
}

/** At most so many cells. */
export function fitLine(line: Line, cells: number): Line {
  if (cellsOf(line) <= cells) return line;
  const fitted: Span[] = [];
  let left = cells;
  for (const { text, look } of line) {
    const width = widthOf(text);
    const isLast = width >= left;
    // Something follows what just fits, and so the cut must show.
    const cut = isLast ? fit(`${text}  `, left) : text;
    fitted.push({ text: cut, look });
    if (isLast) break;
    left -= width;
  }
  return fitted;
}

/** Exactly so many cells. */
export function padLine(line: Line, cells: number): Line {
  const fitted = fitLine(line, cells);
  const space = cells - cellsOf(fitted);
  return space > 0 ? [...fitted, { text: " ".repeat(space), look: undefined }] : fitted;
}

/** The second ends at the right margin; where both do not fit, the first gives way. */
export function justify(left: Line, right: Line, cells: number): Line {
  const width = cellsOf(right);
  if (width === 0 || width + 2 > cells) return fitLine(left, cells);
  return [...padLine(left, cells - width - 1), { text: " ", look: undefined }, ...right];
}

/** Several, with something between them. */
export function joinSpans(parts: readonly Line[], between: string): Line {
  return parts.flatMap((part, index) => (index === 0 ? part : [span(between, "dim"), ...part]));
}

/** As lines of at most so many cells, cut between words where that is possible. */
export function wrapText(text: string, cells: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of printable(text).split(" ")) {
    const joined = line === "" ? word : `${line} ${word}`;
    if (widthOf(joined) <= cells) {
      line = joined;
      continue;
    }
    if (line !== "") lines.push(line);
    line = word;
    while (widthOf(line) > cells) {
      const head = fit(line, cells + 1).slice(0, -1);
      // A character that is wider than the line: there is no way to show it.
      if (head === "") return lines;
      lines.push(head);
      line = line.slice(head.length);
    }
  }
  return line === "" && lines.length > 0 ? lines : [...lines, line];
}

/** As bytes for the terminal. Without colours there is nothing but text. */
export function encodeLine(line: Line, { hasColours }: { readonly hasColours: boolean }): string {
  const parts = line.map(({ text, look }) => {
    if (look === undefined || text === "" || !hasColours) return text;
    return `${begin(look === "selected" ? "reversed" : colourOf[look])}${text}${end}`;
  });
  return parts.join("").trimEnd();
}
