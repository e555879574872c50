/**
 * Cuts a text into the pieces that the table has rows for, as its teacher was taught to: lower case, no
 * accents, marks alone, and of every word the longest piece that fits, from the left (WordPiece).
 */
import { limits } from "../limits.ts";

const beyondAscii = /[^\0-\x7f]/;
const accents = /\p{Mn}/gu;
/** A mark, a letter of a script that writes words without blanks, or a word. */
const parts = /[\p{P}$+<=>^`|~]|\p{Script=Han}|[^\s\p{P}\p{Cc}$+<=>^`|~\p{Script=Han}]+/gu;
/** fetch|Pages, HTTP|Server. */
const humps = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
const upperCase = /\p{Lu}/u;

/** Calls back with the row of each piece, in order. What has no row is left out. */
export function eachPiece(
  text: string,
  rows: ReadonlyMap<string, number>,
  found: (row: number) => void,
): void {
  for (const part of withoutAccents(text).match(parts) ?? []) {
    const word = part.slice(0, limits.wordLengthMax);
    const lower = word.toLowerCase();
    const whole = rows.get(lower);
    if (whole !== undefined) {
      found(whole);
    } else if (upperCase.test(word.slice(1)) && word !== word.toUpperCase()) {
      // The teacher knows no humps; names of tools have them, and their parts are words.
      for (const hump of word.split(humps)) cut(hump.toLowerCase(), rows, found);
    } else {
      cut(lower, rows, found);
    }
  }
}

function withoutAccents(text: string): string {
  return beyondAscii.test(text) ? text.normalize("NFD").replace(accents, "") : text;
}

function cut(word: string, rows: ReadonlyMap<string, number>, found: (row: number) => void): void {
  const pieces: number[] = [];
  for (let start = 0; start < word.length; ) {
    let end = word.length;
    let row: number | undefined;
    for (; end > start; end--) {
      const piece = word.slice(start, end);
      row = rows.get(start === 0 ? piece : `##${piece}`);
      if (row !== undefined) break;
    }
    // A word with a part that is not known is not known.
    if (row === undefined) return;
    pieces.push(row);
    start = end;
  }
  for (const row of pieces) found(row);
}
