/** Where the process begins: its words become one command, and its exit code. */
import { print, say } from "../terminal/index.ts";
import { escapeForTerminal } from "../wire/status-file/index.ts";
import { emit } from "./emit.ts";
import { Failure, reasonOf } from "./failure.ts";
import { get } from "./get.ts";
import { printHelp, printUsage } from "./help.ts";
import { list } from "./list.ts";
import type { Command } from "./options.ts";
import { type Given, parseCommandLine } from "./parse.ts";
import { prune } from "./prune.ts";
import { validate } from "./validate.ts";
import { version } from "./version.ts";
import { watch } from "./watch.ts";

async function main(words: readonly string[]): Promise<number> {
  const invocation = parseCommandLine(words);
  switch (invocation.kind) {
    case "help":
      print(printHelp(invocation.command));
      return 0;
    case "version":
      print(`agent-status ${version}\n`);
      return 0;
    case "mistake": {
      const { message, command } = invocation;
      const program = command ? `agent-status ${command.name}` : "agent-status";
      say(`${printUsage(command)}${program}: error: ${escapeForTerminal(message)}\n`);
      return 2;
    }
    case "run":
      return await run(invocation.command, invocation.given);
  }
}

async function run({ name }: Command, given: Given): Promise<number> {
  switch (name) {
    case "emit":
      return emit(given);
    case "list":
      return list(given);
    case "get":
      return get(given);
    case "watch":
      return await watch(given);
    case "validate":
      return validate(given);
    case "prune":
      return prune(given);
  }
}

/** [AS-77] Never a stack: what the system has against it is a line. */
async function begin(): Promise<void> {
  try {
    // What could not be printed has set one meanwhile.
    process.exitCode = (await main(process.argv.slice(2))) || process.exitCode;
  } catch (error) {
    const lines = error instanceof Failure ? error.lines : [`agent-status: ${reasonOf(error)}`];
    say(`${lines.map(escapeForTerminal).join("\n")}\n`);
    process.exitCode = 1;
  }
}

void begin();
