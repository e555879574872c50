/** Text on a terminal: what agents say of themselves is made safe there, and fitted into its cells. */
import { printable, unsafe } from "../wire/safe-text/index.ts";

export { printable } from "../wire/safe-text/index.ts";

const plain = /^[\x20-\x7e]*$/;

/** `printable`, but its line ends stay. */
export function printableLines(text: string): string {
  return text.split(/\r?\n/).map(printable).join("\n");
}

/** One document, with everything unsafe as an escape: the same value, and safe on a terminal too. */
export function jsonOf(value: unknown): string {
  const text = JSON.stringify(value);
  return plain.test(text) ? text : text.replaceAll(unsafe, escapeUnits);
}

function escapeUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** How many cells it takes. Where terminals disagree, the wider answer: a line must not wrap. */
export function widthOf(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  let last = 0;
  for (const character of text) {
    // Asks for the coloured, wide form of what stands before it.
    const own = character === "\ufe0f" ? (last === 1 ? 1 : 0) : cellsOf(character);
    if (own > 0) last = own;
    width += own;
  }
  return width;
}

const wideEmoji = /^\p{Emoji_Presentation}$/u;
const noCell = /^[\p{Mn}\p{Me}\p{Cf}]$/u;

/** East Asian writing that fills two cells, from and to. */
const wideRanges: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1_6fe0, 0x1_b2ff],
  [0x1_d300, 0x1_d37f],
  [0x1_f200, 0x1_f265],
  [0x2_0000, 0x3_fffd],
];

function cellsOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x300) return 1;
  if (noCell.test(character)) return 0;
  // Two of these letters make one flag.
  if (code >= 0x1_f1e6 && code <= 0x1_f1ff) return 1;
  if (wideRanges.some(([from, to]) => code >= from && code <= to)) return 2;
  return wideEmoji.test(character) ? 2 : 1;
}

/** At most so many cells; what was cut off is an ellipsis. */
export function fit(text: string, cells: number): string {
  if (widthOf(text) <= cells) return text;
  if (cells <= 0) return "";
  let kept = "";
  let width = 0;
  for (const character of text) {
    width += character === "\ufe0f" ? 1 : cellsOf(character);
    if (width > cells - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

/** The same, but what was cut off is the beginning. */
export function fitEnd(text: string, cells: number): string {
  if (widthOf(text) <= cells) return text;
  if (cells <= 0) return "";
  let kept = "";
  for (const character of [...text].reverse()) {
    if (widthOf(character + kept) > cells - 1) break;
    kept = character + kept;
  }
  return `…${kept}`;
}

/** Filled up with spaces to so many cells. */
export function pad(text: string, cells: number, align: "left" | "right" = "left"): string {
  const space = " ".repeat(Math.max(0, cells - widthOf(text)));
  return align === "left" ? text + space : space + text;
}
