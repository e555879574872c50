/** Text from outside, made fit to stand in a sentence. */
import { limits } from "../limits.ts";

/** Cut between characters, not inside one. */
export function shorten(text: string, lengthMax: number = limits.textShownMax): string {
  if (text.length <= lengthMax) return text;
  return `${[...text.slice(0, lengthMax * 2)].slice(0, lengthMax - 1).join("")}…`;
}
