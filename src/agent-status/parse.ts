/**
 * The words of a command line as the reference program reads them: options in any order behind the command,
 * `--name value` or `--name=value`, a name cut short as long as it is clear, `--` before what only looks like
 * an option. [AS-74] They are read from left to right: what comes first, a mistake or `--help`, decides.
 */
import { type Command, commands, type Option } from "./options.ts";

export type Given = {
  /** The last value of an option. */
  readonly text: (name: string) => string | undefined;
  /** All values of an option, in order. */
  readonly texts: (name: string) => readonly string[];
  readonly number: (name: string) => number | undefined;
  /** Undefined if neither the switch nor its opposite was given. */
  readonly toggle: (name: string) => boolean | undefined;
  readonly words: readonly string[];
};

export type Invocation =
  | { readonly kind: "run"; readonly command: Command; readonly given: Given }
  | { readonly kind: "help"; readonly command?: Command }
  | { readonly kind: "version" }
  | {
      readonly kind: "mistake";
      readonly message: string;
      /** Whose usage is shown. */
      readonly command?: Command;
    };

export function parseCommandLine(words: readonly string[]): Invocation {
  const [first] = words;
  if (first === undefined) return mistaken("a command is required");
  if (first === "-h" || isShortFor(first, "--help")) return { kind: "help" };
  if (isShortFor(first, "--version")) return { kind: "version" };
  const command = commands.find(({ name }) => name === first);
  if (command) return parseOptions(command, words.slice(1));
  if (first.startsWith("-")) return mistaken(`unknown option, or one before the command: ${first}`);
  const names = commands.map(({ name }) => name).join(", ");
  return mistaken(`there is no command ${quote(first)}; there is ${names}`);
}

function isShortFor(word: string, name: string): boolean {
  return word.length > 2 && name.startsWith(word);
}

function parseOptions(command: Command, words: readonly string[]): Invocation {
  const values = new Map<string, string[]>();
  const toggles = new Map<string, boolean>();
  const positional: string[] = [];
  const unknown: string[] = [];
  let isOptionsOver = false;
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? "";
    if (isOptionsOver || isValue(word, command)) {
      positional.push(word);
      continue;
    }
    if (word === "--") {
      isOptionsOver = true;
      continue;
    }
    if (/^-h+$/.test(word)) return { kind: "help", command };
    const found = findOption(word, command);
    if (found === undefined) {
      unknown.push(word);
      continue;
    }
    if ("message" in found) return mistaken(found.message, command);
    const { name, option, value } = found;
    if (option === undefined || option.value === undefined) {
      if (value !== undefined) return mistaken(`--${name} takes no value`, command);
      if (option === undefined) return { kind: "help", command };
      toggles.set(option.name, name === option.name);
      continue;
    }
    const next = words[index + 1];
    const text = value ?? (next !== undefined && isValue(next, command) ? next : undefined);
    if (text === undefined)
      return mistaken(`--${name} expects a value${hint(next, name)}`, command);
    if (value === undefined) index += 1;
    const problem = judge(option, text);
    if (problem !== undefined) return mistaken(problem, command);
    values.set(option.name, [...(values.get(option.name) ?? []), text]);
  }
  const wanted = command.word === undefined ? 0 : 1;
  const surplus = command.word?.isMany ? [] : positional.slice(wanted);
  const isMerging = toggles.has("merge");
  const missing = [
    ...command.options
      .filter(({ isRequired, name }) => isRequired && !values.has(name))
      .filter(({ name }) => !isMerging || name === "agent-id")
      .map(({ name }) => `--${name}`),
    ...(positional.length < wanted ? [command.word?.name ?? ""] : []),
  ];
  if (missing.length > 0)
    return mistaken(`required, and not given: ${missing.join(", ")}`, command);
  const tooMany = [...unknown, ...surplus];
  if (tooMany.length > 0) return mistaken(`not understood: ${tooMany.join(" ")}`, command);
  return { kind: "run", command, given: givenOf(values, toggles, positional) };
}

/** What starts with a dash is an option, unless it is a number, or has a blank as no option has. */
function isValue(word: string, command: Command): boolean {
  if (!word.startsWith("-") || word === "-") return true;
  if (word === "--" || word === "-h") return false;
  if (/^-\d+$|^-\d*\.\d+$/.test(word)) return true;
  return word.includes(" ") && findOption(word, command) === undefined;
}

type Found = {
  readonly name: string;
  /** Undefined: help. */
  readonly option: Option | undefined;
  /** What stands behind `=`. */
  readonly value: string | undefined;
};

function findOption(
  word: string,
  command: Command,
): Found | { readonly message: string } | undefined {
  if (/^-h./.test(word)) return { message: `-h takes no value: ${word}` };
  if (!word.startsWith("--")) return undefined;
  const at = word.indexOf("=");
  const typed = word.slice(2, at === -1 ? undefined : at);
  const value = at === -1 ? undefined : word.slice(at + 1);
  const named = new Map<string, Option | undefined>([["help", undefined]]);
  for (const option of command.options) {
    named.set(option.name, option);
    if (option.hasOpposite) named.set(`no-${option.name}`, option);
  }
  if (named.has(typed)) return { name: typed, option: named.get(typed), value };
  const beginning = [...named.keys()].filter((name) => name.startsWith(typed));
  // [AS-75] What the reference has comes first.
  const ofReference = beginning.filter((name) => !named.get(name)?.isNew);
  const candidates = ofReference.length > 0 ? ofReference : beginning;
  const [name] = candidates;
  if (name === undefined) return undefined;
  if (candidates.length > 1) {
    const all = candidates.map((each) => `--${each}`).join(", ");
    return { message: `ambiguous: --${typed} could be ${all}` };
  }
  return { name, option: named.get(name), value };
}

function hint(next: string | undefined, name: string): string {
  if (next === undefined || next === "--") return "";
  return `; one that begins with a dash is written --${name}=${next}`;
}

/** [AS-76] As the reference's language reads numbers: underscores, blanks and the digits of all scripts. */
const integer = /^\s*[+-]?\d+(?:_\d+)*\s*$/;
const number = /^\s*[+-]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+)?\s*$/i;

function judge({ name, kind, choices, isList, isExact }: Option, text: string): string | undefined {
  const wrong = (isList ? text.split(",") : [text]).find((each) => !choices?.includes(each));
  if (choices && wrong !== undefined) {
    return `--${name} is one of ${choices.join(", ")}, not ${quote(wrong)}`;
  }
  if (kind === "integer" && !integer.test(usualDigits(text))) {
    return `--${name} is a whole number, not ${quote(text)}`;
  }
  if (isExact && !Number.isSafeInteger(toNumber(text))) {
    return `--${name} is beyond what can be written exactly: ${quote(text)}`;
  }
  if (kind === "seconds" && !(number.test(usualDigits(text)) && isWait(text))) {
    return `--${name} is a number of seconds, not ${quote(text)}`;
  }
  return undefined;
}

/** Nobody can wait for less than no time, nor for ever. */
function isWait(text: string): boolean {
  const seconds = toNumber(text);
  return seconds >= 0 && seconds < Number.POSITIVE_INFINITY;
}

function toNumber(text: string): number {
  return Number(usualDigits(text).replaceAll("_", ""));
}

/** The digits of every script stand in rows of ten, from zero to nine. */
function usualDigits(text: string): string {
  return text.replaceAll(/(?!\d)\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0;
    let first = code;
    while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1;
    return String((code - first) % 10);
  });
}

function givenOf(
  values: ReadonlyMap<string, readonly string[]>,
  toggles: ReadonlyMap<string, boolean>,
  words: readonly string[],
): Given {
  const text = (name: string): string | undefined => values.get(name)?.at(-1);
  return {
    text,
    texts: (name) => values.get(name) ?? [],
    number: (name) => {
      const found = text(name);
      return found === undefined ? undefined : toNumber(found);
    },
    toggle: (name) => toggles.get(name),
    words,
  };
}

function quote(text: string): string {
  return `'${text}'`;
}

function mistaken(message: string, command?: Command): Invocation {
  return command === undefined
    ? { kind: "mistake", message }
    : { kind: "mistake", message, command };
}
