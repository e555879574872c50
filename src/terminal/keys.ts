/** What a terminal sends, as keys. Whatever is no key we know is dropped, however long it is. */
import { limits } from "./limits.ts";

export const keyNames = [
  "up",
  "down",
  "left",
  "right",
  "page-up",
  "page-down",
  "home",
  "end",
  "enter",
  "escape",
  "backspace",
  "ctrl-c",
  "ctrl-l",
  "ctrl-u",
  "ctrl-w",
  "ctrl-z",
] as const;

export type KeyName = (typeof keyNames)[number];

export type Key =
  | { readonly name: KeyName }
  /** One character, as it was typed. */
  | { readonly name: "text"; readonly text: string };

/** Sequences come in pieces: over a slow line an arrow may arrive in three. */
export class KeyReader {
  #pending = "";

  /** Whether it ends in what may be a key, or the beginning of another. */
  get isPending(): boolean {
    return this.#pending !== "";
  }

  read(text: string): readonly Key[] {
    const keys: Key[] = [];
    let rest = this.#pending + text;
    while (rest !== "") {
      const taken = takeKey(rest);
      if (!taken) break;
      if (taken.key) keys.push(taken.key);
      rest = rest.slice(taken.length);
    }
    this.#pending = rest;
    return keys;
  }

  /** Nothing more came: an escape was just that. */
  flush(): readonly Key[] {
    const isEscape = this.#pending === "\x1b";
    this.#pending = "";
    return isEscape ? [{ name: "escape" }] : [];
  }
}

type Taken = { readonly length: number; readonly key?: Key | undefined };

/** The first key, or undefined if more must come to tell. */
function takeKey(text: string): Taken | undefined {
  const [first = ""] = text;
  if (first !== "\x1b") return { length: first.length, key: plainKey(first) };
  if (text.length === 1) return undefined;
  const next = text[1];
  if (next === "\x1b") return { length: 1, key: { name: "escape" } };
  if (next !== "[" && next !== "O") return { length: 1, key: { name: "escape" } };
  const [sequence, parameters = "", end = ""] =
    /^\x1b(?:\[([0-?]*)[ -/]*|O)([@-~])/.exec(text) ?? [];
  if (sequence !== undefined) return { length: sequence.length, key: sequenceKey(parameters, end) };
  const isUnfinished = /^\x1b(?:\[[0-?]*[ -/]*|O)$/.test(text);
  return isUnfinished && text.length < limits.sequenceLengthMax ? undefined : { length: 2 };
}

const controls: Readonly<Record<string, KeyName>> = {
  "\r": "enter",
  "\n": "enter",
  "\x7f": "backspace",
  "\b": "backspace",
  "\x03": "ctrl-c",
  "\f": "ctrl-l",
  "\x0e": "down",
  "\x10": "up",
  "\x15": "ctrl-u",
  "\x17": "ctrl-w",
  "\x1a": "ctrl-z",
};

function plainKey(character: string): Key | undefined {
  const name = controls[character];
  if (name !== undefined) return { name };
  return /^[\p{Cc}\p{Cs}]$/u.test(character) ? undefined : { name: "text", text: character };
}

const byEnd: Readonly<Record<string, KeyName>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  H: "home",
  F: "end",
  M: "enter",
};

const byNumber: Readonly<Record<string, KeyName>> = {
  1: "home",
  4: "end",
  5: "page-up",
  6: "page-down",
  7: "home",
  8: "end",
};

/** Shift and the like, behind a semicolon, make no difference to us. */
function sequenceKey(parameters: string, end: string): Key | undefined {
  const name = end === "~" ? byNumber[parameters.split(";")[0] ?? ""] : byEnd[end];
  return name === undefined ? undefined : { name };
}
