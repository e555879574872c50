/** The words of a command line, by the table. */
import { parseArgs } from "node:util";
import { type CommandRow, commands, type Values } from "./table.ts";

export type Invocation =
  | { readonly kind: "run"; readonly command: CommandRow; readonly values: Values }
  | { readonly kind: "help"; readonly command?: CommandRow }
  | { readonly kind: "version" }
  | { readonly kind: "mistake"; readonly message: string; readonly command?: CommandRow };

export function parseCommandLine(words: readonly string[]): Invocation {
  const [name, ...rest] = words;
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    const command = commands.find((row) => row.name === rest[0]);
    return command ? { kind: "help", command } : { kind: "help" };
  }
  if (name === "--version" || name === "version") return { kind: "version" };
  const command = commands.find((row) => row.name === name);
  if (!command) return { kind: "mistake", message: `there is no command ${name}` };
  return parseFlags(command, rest);
}

function parseFlags(command: CommandRow, words: readonly string[]): Invocation {
  const options = Object.fromEntries(
    command.flags.map((flag) => [flag.name, { type: flag.value ? "string" : "boolean" } as const]),
  );
  const standard = {
    help: { type: "boolean", short: "h" },
    version: { type: "boolean" },
  } as const;
  try {
    const { values } = parseArgs({
      args: words.map(withTwoDashes),
      options: { ...options, ...standard },
      allowPositionals: false,
    });
    if (values["help"]) return { kind: "help", command };
    if (values["version"]) return { kind: "version" };
    return { kind: "run", command, values };
  } catch (problem) {
    const [message = ""] = String(problem instanceof Error ? problem.message : problem).split(". ");
    return { kind: "mistake", message, command };
  }
}

/** `-addr` is `--addr`: daemons of this kind are often written in Go. */
function withTwoDashes(word: string): string {
  return /^-[a-z][a-z-]+(=|$)/.test(word) ? `-${word}` : word;
}
