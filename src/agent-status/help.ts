/** Help and usage, from the table. Two examples first; no line is wider than a terminal of 80 columns. */
import { type Command, commands, type Option } from "./options.ts";

const lineLengthMax = 80;
/** What is too long for the first column has a line of its own. */
const firstColumnMax = 24;

export function printHelp(command: Command | undefined): string {
  return `${(command ? helpFor(command) : overview()).join("\n")}\n`;
}

/** What is typed, in short. */
export function printUsage(command: Command | undefined): string {
  if (!command) return `usage: agent-status {${commands.map(({ name }) => name).join(",")}} ...\n`;
  const { name, options, word } = command;
  const required = options.filter(({ isRequired }) => isRequired).map(optionWord);
  const words = word ? [word.isMany ? `${word.name} [${word.name} ...]` : word.name] : [];
  const lines = wrap(["agent-status", name, ...required, "[options]", ...words].join(" "), 72);
  return `usage: ${lines.join("\n         ")}\n`;
}

function overview(): readonly string[] {
  return [
    "  agent-status list                   see which agents run, and what they do",
    "  agent-status watch                  the same, as it changes",
    "",
    "Status files of the agents on this machine, by the agent-status standard.",
    "",
    printUsage(undefined).trimEnd(),
    "",
    ...columns([
      ...commands.map(({ name, summary }): readonly [string, string] => [name, summary]),
      ["--version", "print the version"],
      ["-h, --help", "print this, or the help of a command behind it"],
    ]),
    "",
    "Exit codes: 0 done, 1 not valid, not found or not possible, 2 typed wrong.",
  ];
}

function helpFor(command: Command): readonly string[] {
  const { summary, examples, options, word, exits } = command;
  const rows: readonly (readonly [string, string])[] = [
    ...(word ? [[word.name, word.help] as const] : []),
    ...options.map((option) => [optionWord(option), helpOf(option)] as const),
    ["-h, --help", "print this"],
  ];
  const meanings = [[0, "done"], ...exits, [2, "typed wrong"]] as const;
  return [
    ...examples.map((example) => `  ${example}`),
    "",
    `${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.`,
    "",
    printUsage(command).trimEnd(),
    "",
    ...columns(rows),
    "",
    "Exit codes:",
    ...columns(meanings.map(([code, meaning]) => [String(code), meaning])),
  ];
}

function optionWord({ name, value, hasOpposite }: Option): string {
  if (hasOpposite) return `--${name}, --no-${name}`;
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

function helpOf({ help, choices }: Option): string {
  return choices ? `${help}: ${choices.join(", ")}` : help;
}

function columns(rows: readonly (readonly [string, string])[]): readonly string[] {
  const firsts = rows.map(([first]) => first.length).filter((length) => length <= firstColumnMax);
  const width = Math.max(0, ...firsts) + 3;
  return rows.flatMap(([first, second]) => {
    const [line = "", ...more] = wrap(second, lineLengthMax - 2 - width);
    const rest = more.map((text) => `  ${" ".repeat(width)}${text}`);
    if (first.length <= firstColumnMax) return [`  ${first.padEnd(width)}${line}`, ...rest];
    return [`  ${first}`, `  ${" ".repeat(width)}${line}`, ...rest];
  });
}

function wrap(text: string, length: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > length) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
