/** Help and usage, from the table. Two examples first; no line is wider than a terminal of 80 columns. */
import { inTwoColumns, wrapWords } from "../terminal/index.ts";
import { type Command, commands, type Option } from "./options.ts";

export function printHelp(command: Command | undefined): string {
  return `${(command ? helpFor(command) : overview()).join("\n")}\n`;
}

/** What is typed, in short. */
export function printUsage(command: Command | undefined): string {
  if (!command) return `usage: agent-status {${commands.map(({ name }) => name).join(",")}} ...\n`;
  const { name, options, word } = command;
  const required = options.filter(({ isRequired }) => isRequired).map(optionWord);
  const words = word ? [word.isMany ? `${word.name} [${word.name} ...]` : word.name] : [];
  const lines = wrapWords(["agent-status", name, ...required, "[options]", ...words].join(" "), 72);
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
    ...inTwoColumns([
      ...commands.map(({ name, summary }): readonly [string, string] => [name, summary]),
      ["--version", "print the version"],
      ["-h, --help", "print this, or the help of a command behind it"],
    ]),
    "",
    "AGENT_STATUS_MAX_BYTES: how long a file may be that is read (1048576).",
    "Exit codes: 0 done, 1 not valid, not found or not possible, 2 usage error.",
  ];
}

function helpFor(command: Command): readonly string[] {
  const { summary, examples, options, word, exits } = command;
  const rows: readonly (readonly [string, string])[] = [
    ...(word ? [[word.name, word.help] as const] : []),
    ...options.map((option) => [optionWord(option), helpOf(option)] as const),
    ["-h, --help", "print this"],
  ];
  const meanings = [[0, "done"], ...exits, [2, "usage error"]] as const;
  return [
    ...examples.map((example) => `  ${example}`),
    "",
    `${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.`,
    "",
    printUsage(command).trimEnd(),
    "",
    ...inTwoColumns(rows),
    "",
    "Exit codes:",
    ...inTwoColumns(meanings.map(([code, meaning]) => [String(code), meaning])),
  ];
}

function optionWord({ name, value, hasOpposite }: Option): string {
  if (hasOpposite) return `--${name}, --no-${name}`;
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

function helpOf({ help, choices }: Option): string {
  return choices ? `${help}: ${choices.join(", ")}` : help;
}
