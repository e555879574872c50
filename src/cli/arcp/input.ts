/** What is typed where JSON belongs: the JSON itself, `@file`, or `-` for standard input. */
import { readFileSync } from "node:fs";
import { printable } from "../../terminal/index.ts";
import { mistake } from "../failure.ts";
import type { Values } from "../table.ts";
import { textIn } from "../values.ts";

/** Undefined if it was not given. `mayBeText`: a text is as good as anything else. */
export function jsonIn(
  values: Values,
  name: string,
  { mayBeText = false }: { readonly mayBeText?: boolean } = {},
): unknown {
  const given = textIn(values, name);
  if (given === undefined) return undefined;
  return parse(readText(given, name), `--${name}`, mayBeText ? { quotedAfter: `--${name} ` } : {});
}

/** The text that `@file` and `-` stand for. */
export function readText(given: string, name: string): string {
  if (given !== "-" && !given.startsWith("@")) return given;
  try {
    return readFileSync(given === "-" ? 0 : given.slice(1), "utf8");
  } catch {
    if (given === "-") throw mistake(`--${name}: standard input cannot be read`);
    const path = printable(given.slice(1));
    throw mistake(
      `--${name}: the file ${path} cannot be read`,
      "@ stands before the name of a file",
    );
  }
}

/** `quotedAfter`: where a text would do as well, what stands before it; it is said how to write that. */
export function parse(
  text: string,
  what: string,
  { quotedAfter }: { readonly quotedAfter?: string } = {},
): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const isWord = !/^\s*[[{"]/.test(text);
    const message = isWord ? `${what} is no JSON` : `${what} is no JSON: ${why}`;
    if (quotedAfter === undefined || !plainText.test(text)) throw mistake(message);
    throw mistake(message, `for the text itself, write ${quotedAfter}'"${text}"'`);
  }
}

/** What a shell and JSON both take as it is, between their quotes. */
const plainText = /^[^"'\\{}\p{C}]{1,60}$/u;
