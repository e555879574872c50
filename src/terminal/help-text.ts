/** Text that a person reads from top to bottom, as help is. */

/** Of the narrowest terminal that it is written for. */
export const helpColumns = 80;
/** What is too long for the first column has a line of its own. */
const firstColumnMax = 26;

/** Names and what they mean. */
export function inTwoColumns(rows: readonly (readonly [string, string])[]): readonly string[] {
  const firsts = rows.map(([first]) => first.length).filter((length) => length <= firstColumnMax);
  const width = Math.max(0, ...firsts) + 3;
  return rows.flatMap(([first, second]) => {
    const [line = "", ...more] = wrapWords(second, helpColumns - 2 - width);
    const rest = more.map((text) => `  ${" ".repeat(width)}${text}`);
    if (first.length <= firstColumnMax) return [`  ${first.padEnd(width)}${line}`, ...rest];
    return [`  ${first}`, `  ${" ".repeat(width)}${line}`, ...rest];
  });
}

/** A word that is longer than a line has one to itself. */
export function wrapWords(text: string, length: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > length) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
