/** Text from files is shown, never obeyed [AS-64]: as everywhere, but line ends and tabs become blanks. */
import { printable } from "../safe-text/index.ts";

const lineEnds = /\r\n|[\n\r\t\u2028\u2029]/g;

export function escapeForTerminal(text: string): string {
  return printable(text.replaceAll(lineEnds, " "));
}
