/** What someone may have meant. */

/** The nearest of `words`, if it is near enough that a slip of the finger explains the difference. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const slipsMax = word.length < 4 ? 1 : 2;
  let best: { readonly word: string; readonly slips: number } | undefined;
  for (const candidate of words) {
    const isBeginning = word.length >= 3 && candidate.startsWith(word);
    const slips = isBeginning ? 1 : slipsBetween(word, candidate);
    if (slips <= slipsMax && slips < (best?.slips ?? Number.POSITIVE_INFINITY)) {
      best = { word: candidate, slips };
    }
  }
  return best?.word;
}

/** Letters that are wrong, missing or too many; two that changed places count once. */
export function slipsBetween(one: string, other: string): number {
  // The last three rows of the table of distances between beginnings of both.
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      let slips = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (row > 1 && column > 1 && isSwapped) {
        slips = Math.min(slips, (beforeLast[column - 2] ?? 0) + 1);
      }
      current.push(slips);
    }
    beforeLast = last;
    last = current;
  }
  return last[other.length] ?? 0;
}
