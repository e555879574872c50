/** A goal or a task in few words: the beginning of a prompt, on one line. Cutting is all that is done. */
import { limits } from "./limits.ts";

/** Also what only some call a blank: file separators, next line. */
const blank = /[\s\u001c-\u001f\u0085]/;
/** Controls, and what turns the direction of writing around. */
const control = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

/**
 * At most so many code points, the mark for what was cut off included. Stops reading when it has enough:
 * a prompt may be a megabyte.
 */
export function summarize(
  text: string,
  lengthMax: number = limits.summaryLengthMax,
  mark = "",
): string {
  const kept: string[] = [];
  let isGap = false;
  for (const character of text) {
    if (blank.test(character)) {
      isGap = kept.length > 0;
    } else if (!control.test(character)) {
      if (isGap) kept.push(" ");
      isGap = false;
      kept.push(character);
      if (kept.length > lengthMax) return cut(kept, lengthMax, mark);
    }
  }
  // A half of a character would come out of some readers as an error.
  return kept.join("").toWellFormed();
}

function cut(kept: readonly string[], lengthMax: number, mark: string): string {
  const room = Math.max(0, lengthMax - [...mark].length);
  return `${kept.slice(0, room).join("").toWellFormed().trimEnd()}${mark}`;
}
