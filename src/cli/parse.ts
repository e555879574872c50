/** The words of a command line, by the table. */
import { parseArgs } from "node:util";
import { printable } from "../terminal/index.ts";
import { nearest } from "./suggest.ts";
import {
  type CommandRow,
  commands,
  type Flag,
  nouns,
  offered,
  programs,
  type Values,
} from "./table.ts";

export type Invocation =
  | {
      readonly kind: "run";
      readonly command: CommandRow;
      readonly values: Values;
      readonly words: readonly string[];
    }
  /** Of a command, of all verbs of a noun, or of everything. */
  | { readonly kind: "help"; readonly command?: CommandRow; readonly noun?: string }
  /** Of which of our programs. */
  | { readonly kind: "version"; readonly program?: string }
  | {
      readonly kind: "mistake";
      readonly message: string;
      readonly command?: CommandRow;
      readonly program?: string;
    };

export function parseCommandLine(words: readonly string[]): Invocation {
  const [name, ...rest] = words;
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    return helpAbout(rest);
  }
  if (name === "--version" || name === "version") return { kind: "version" };
  if (programs.includes(name)) {
    const own = parseProgram(name, rest);
    if (own) return own;
  }
  const found = findCommand(name, rest);
  return "kind" in found ? found : parseFlags(found.command, found.rest);
}

/** Words that stand for the program itself, and not for one of its commands. */
function parseProgram(program: string, [first, about]: readonly string[]): Invocation | undefined {
  if (first === "--version" || first === "version") return { kind: "version", program };
  if (first === "help" && about !== undefined) return helpAbout([program, about]);
  if (first === "help") return { kind: "help", noun: program };
  if (first !== undefined && !first.startsWith("-")) return undefined;
  if (first === "--help" || first === "-h") return { kind: "help", noun: program };
  const verbs = verbsOf(program).map((row) => row.name.slice(program.length + 1));
  const message = `a command is needed: ${verbs.join(", ")}`;
  return { kind: "mistake", message, program };
}

type Found = { readonly command: CommandRow; readonly rest: readonly string[] };

function findCommand(name: string, rest: readonly string[]): Found | Invocation {
  if (!Object.hasOwn(nouns, name)) {
    const command = commands.find((row) => row.name === name);
    return command ? { command, rest } : unknownCommand(name);
  }
  const [verb] = rest;
  if (verb === "--help" || verb === "-h" || verb === "-help") return { kind: "help", noun: name };
  // A noun alone lists, also with flags.
  if (verb === undefined || verb.startsWith("-")) {
    return { command: commandNamed(`${name} list`), rest };
  }
  const command = verbsOf(name).find(
    (row) => row.name === `${name} ${verb}` || row.aliases?.includes(verb),
  );
  return command ? { command, rest: rest.slice(1) } : unknownVerb(name, verb);
}

/** How the program is called that runs it. */
export function programOf(command: CommandRow | undefined): string {
  const [first = ""] = command?.name.split(" ") ?? [];
  return first === "agentkeeper" || programs.includes(first) ? first : "tipstaff";
}

/** The rows of a noun. */
export function verbsOf(noun: string): readonly CommandRow[] {
  return commands.filter((row) => row.name.startsWith(`${noun} `));
}

function commandNamed(name: string): CommandRow {
  const command = commands.find((row) => row.name === name);
  if (!command) throw new Error(`the table has no ${name}`);
  return command;
}

/** First words that are offered: commands without a verb, and nouns. */
export function firstWords(): readonly string[] {
  const names = offered.map(({ name }) => name.split(" ")[0] ?? name);
  return [...new Set([...names, "help", "version"])];
}

function unknownCommand(name: string): Invocation {
  const shown = printable(name);
  return {
    kind: "mistake",
    message: `there is no command ${shown}${suggested(name, firstWords())}`,
  };
}

function unknownVerb(noun: string, verb: string): Invocation {
  const verbs = verbsOf(noun).map((row) => row.name.slice(noun.length + 1));
  const hint = suggested(verb, verbs) || `; there is ${verbs.join(", ")}`;
  const program = programs.includes(noun) ? { program: noun } : {};
  return { kind: "mistake", message: `${noun} has no ${printable(verb)}${hint}`, ...program };
}

function suggested(word: string, words: readonly string[]): string {
  const meant = nearest(word, words);
  return meant === undefined ? "" : `; did you mean ${meant}?`;
}

function helpAbout([name, verb]: readonly string[]): Invocation {
  if (name === undefined) return { kind: "help" };
  const found = findCommand(name, verb === undefined ? [] : [verb]);
  if ("kind" in found) return found.kind === "mistake" ? { kind: "help" } : found;
  const isNoun = Object.hasOwn(nouns, name) && verb === undefined;
  return isNoun ? { kind: "help", noun: name } : { kind: "help", command: found.command };
}

const standard: readonly Flag[] = [
  { name: "help", short: "h", help: "say this" },
  { name: "version", help: "say the version" },
];

function parseFlags(command: CommandRow, given: readonly string[]): Invocation {
  const flags = [...command.flags, ...standard];
  const options = Object.fromEntries(
    flags.map(({ name, short, value }) => [
      name,
      { type: value ? "string" : "boolean", ...(short ? { short } : {}) } as const,
    ]),
  );
  const values: Record<string, string | boolean | readonly string[]> = {};
  const words: string[] = [];
  const wrong = (message: string): Invocation => ({ kind: "mistake", message, command });
  const { tokens } = parseArgs({
    args: given.map(withTwoDashes),
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const flag = flags.find(({ name }) => name === token.name);
    const written = printable(token.rawName);
    if (!flag) {
      const names = flags.map(({ name }) => name);
      const meant = nearest(token.name, names);
      return wrong(`there is no ${written}${meant ? `; did you mean --${meant}?` : ""}`);
    }
    const { value, inlineValue } = token;
    if (!flag.value) {
      if (value !== undefined) return wrong(`${written} takes no value`);
      values[flag.name] = true;
      continue;
    }
    if (value === undefined) return wrong(`${written} needs a value: ${flag.value}`);
    if (!inlineValue && /^-\D/.test(value)) {
      return wrong(`${written} needs a value; write ${written}=${printable(value)} if that is it`);
    }
    const before = values[flag.name];
    values[flag.name] = flag.isRepeated ? [...(Array.isArray(before) ? before : []), value] : value;
  }
  if (values["help"]) return { kind: "help", command };
  if (values["version"]) {
    const program = programOf(command);
    return { kind: "version", ...(programs.includes(program) && { program }) };
  }
  const { arguments: expected = [] } = command;
  const missing = expected[words.length];
  if (missing && !missing.isMany && !missing.isOptional) {
    return wrong(`${command.name} needs <${missing.name}>: ${missing.help}`);
  }
  const extra = words[expected.length];
  if (extra !== undefined && !expected.at(-1)?.isMany) {
    const given = printable(extra);
    const meant = flags.find(({ name, isNeeded }) => isNeeded && values[name] === undefined);
    const hint = meant ? `; did you mean --${meant.name} ${given}?` : "";
    return wrong(`${command.name} takes no ${given}${hint}`);
  }
  return { kind: "run", command, values, words };
}

/** `-addr` is `--addr`: daemons of this kind are often written in Go. */
function withTwoDashes(word: string): string {
  return /^-[a-z][a-z-]+(=|$)/.test(word) ? `-${word}` : word;
}
