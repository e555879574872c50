/**
 * Text from files is shown, never obeyed. Line ends and tabs become blanks; every other control, and what
 * turns the direction of writing around or hides halves of characters, is spelled out.
 */
const plain = /^[ -~]*$/;
const lineEnds = /\r\n|[\n\r\t\u2028\u2029]/g;
const unsafe = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

export function escapeForTerminal(text: string): string {
  if (plain.test(text)) return text;
  return text.replaceAll(lineEnds, " ").replaceAll(unsafe, spell);
}

function spell(character: string): string {
  const code = character.charCodeAt(0);
  const hex = code.toString(16);
  return code < 0x100 ? `\\x${hex.padStart(2, "0")}` : `\\u${hex.padStart(4, "0")}`;
}
