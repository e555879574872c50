/** Colours, by what they look like and by what they say. */
import { screen } from "./output.ts";

export type Colour = "green" | "yellow" | "red" | "cyan" | "dim" | "bold" | "reversed";

const codes: Readonly<Record<Colour, number>> = {
  bold: 1,
  dim: 2,
  reversed: 7,
  red: 31,
  green: 32,
  yellow: 33,
  cyan: 36,
};

/** What turns it on. */
export function begin(colour: Colour): string {
  return `\x1b[${codes[colour]}m`;
}

/** What turns everything off. */
export const end = "\x1b[0m";

/** Each says one thing: well, look here, wrong, beside the point, title. */
export type Tone = "good" | "warn" | "bad" | "dim" | "bold";

export const colourOf: Readonly<Record<Tone, Colour>> = {
  good: "green",
  warn: "yellow",
  bad: "red",
  dim: "dim",
  bold: "bold",
};

/** Where colours are seen. */
export function paint(tone: Tone | undefined, text: string): string {
  if (tone === undefined || text === "" || !screen().hasColours) return text;
  return `${begin(colourOf[tone])}${text}${end}`;
}
