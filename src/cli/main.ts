/** Where a process begins: the words of its command line become one command, and its exit code. */
import { print, say } from "../terminal/index.ts";
import { exits } from "./exits.ts";
import { explain } from "./failure.ts";
import { callOf, printHelp } from "./help.ts";
import { parseCommandLine, programOf } from "./parse.ts";
import { version } from "./version.ts";

async function main(words: readonly string[]): Promise<number> {
  const invocation = parseCommandLine(words);
  switch (invocation.kind) {
    case "help":
      print(`${printHelp(invocation)}\n`);
      return exits.ok;
    case "version":
      // As those who speak ARCP say it (ARCP-223).
      print(
        invocation.program === "arcp" ? `${version} (protocol 1.1)\n` : `tipstaff ${version}\n`,
      );
      return exits.ok;
    case "mistake": {
      const { message, command, program = programOf(command) } = invocation;
      const call = command ? callOf(command) : program;
      const help = `${call} --help says what there is`;
      // One line, and a code (ARCP-228).
      if (program === "arcp") say(`${call}: INVALID_REQUEST ${message}; ${help}\n`);
      else say(`${program}: ${message}\n${help}\n`);
      return exits.usage;
    }
    case "run": {
      const { command, values } = invocation;
      try {
        return await command.run(values, invocation.words);
      } catch (error) {
        return explain(error, programOf(command));
      }
    }
  }
}

async function begin(): Promise<void> {
  try {
    // What could not be printed has set one meanwhile.
    process.exitCode = (await main(process.argv.slice(2))) || process.exitCode;
  } catch (fault) {
    const { message, stack } = fault instanceof Error ? fault : new Error(String(fault));
    const where = process.env["TIPSTAFF_TRACE"] ? stack : "TIPSTAFF_TRACE=1 shows where";
    say(`tipstaff: a fault of ours: ${message}\n  ${where}\n`);
    process.exitCode = exits.fault;
  }
}

void begin();
