/** What is typed where JSON belongs: the JSON itself, `@file`, or `-` for standard input. */
import { readFileSync } from "node:fs";
import { printable } from "../../terminal/index.ts";
import { mistake } from "../failure.ts";
import type { Values } from "../table.ts";
import { textIn } from "../values.ts";

/** Undefined if it was not given. */
export function jsonIn(values: Values, name: string): unknown {
  const given = textIn(values, name);
  return given === undefined ? undefined : parse(readText(given, name), `--${name}`);
}

/** The text that `@file` and `-` stand for. */
export function readText(given: string, name: string): string {
  if (given !== "-" && !given.startsWith("@")) return given;
  try {
    return readFileSync(given === "-" ? 0 : given.slice(1), "utf8");
  } catch {
    const what = given === "-" ? "standard input" : given.slice(1);
    throw mistake(`--${name}: ${printable(what)} cannot be read`);
  }
}

export function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw mistake(`${what} is no JSON: ${why}`);
  }
}
