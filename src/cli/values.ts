/** What was given behind a command, as it is meant. */
import { mistake } from "./failure.ts";
import type { Values } from "./table.ts";
import { parseDuration } from "./times.ts";

export function textIn(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === "string" ? value : undefined;
}

/** Of a flag that may be repeated. */
export function textsIn(values: Values, name: string): readonly string[] | undefined {
  const value = values[name];
  return Array.isArray(value) ? value : undefined;
}

export function numberIn(values: Values, name: string): number | undefined {
  const text = textIn(values, name);
  if (text === undefined) return undefined;
  if (!/^-?\d{1,15}$/.test(text)) throw mistake(`--${name} is a whole number, not ${text}`);
  return Number(text);
}

/** In milliseconds. */
export function durationIn(values: Values, name: string): number | undefined {
  const text = textIn(values, name);
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms === undefined)
    throw mistake(`--${name} is a number of seconds, or a duration such as 5m or 2h, not ${text}`);
  return ms;
}

/** One of a few words. */
export function choiceIn<const Choice extends string>(
  values: Values,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const text = textIn(values, name);
  return text === undefined ? undefined : oneOf(text, name, choices);
}

export function choicesIn<const Choice extends string>(
  values: Values,
  name: string,
  choices: readonly Choice[],
): readonly Choice[] | undefined {
  return textsIn(values, name)?.map((text) => oneOf(text, name, choices));
}

function oneOf<Choice extends string>(
  text: string,
  name: string,
  choices: readonly Choice[],
): Choice {
  const chosen = choices.find((choice) => choice === text);
  if (chosen === undefined) throw mistake(`--${name} is ${choices.join(" or ")}, not ${text}`);
  return chosen;
}
