/**
 * Text that came from elsewhere, on a terminal: it is shown, never obeyed. What a terminal would do something
 * about, and what nobody sees, is spelled out. There is one set of such characters, whoever prints.
 */

/**
 * Controls, line separators, halves of characters, and everything invisible that formats text, the two
 * joiners of Indic and emoji writing excepted.
 */
export const unsafe: RegExp =
  /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]|(?![\u200c\u200d])\p{Cf}|[\u115f\u1160\u17b4\u17b5\u3164\uffa0]/gu;
/** Marks above marks would reach into the lines above. */
const piles = /(\p{M}{3})\p{M}+/gu;
const plain = /^[\x20-\x7e]*$/;

/** On one line, and without a way to steer the terminal. */
export function printable(text: string): string {
  return plain.test(text) ? text : text.replaceAll(unsafe, spell).replaceAll(piles, "$1");
}

const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function spell(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (short[character] !== undefined) return short[character];
  if (code < 0x100) return `\\x${hex.padStart(2, "0")}`;
  return code < 0x1_0000 ? `\\u${hex.padStart(4, "0")}` : `\\u{${hex}}`;
}
