/** Where a process begins: the words of its command line become one command, and its exit code. */
import { exits } from "./exits.ts";
import { printHelp } from "./help.ts";
import { parseCommandLine } from "./parse.ts";
import { version } from "./version.ts";

async function main(words: readonly string[]): Promise<number> {
  const invocation = parseCommandLine(words);
  switch (invocation.kind) {
    case "help":
      process.stdout.write(`${printHelp(invocation.command)}\n`);
      return exits.ok;
    case "version":
      process.stdout.write(`tipstaff ${version}\n`);
      return exits.ok;
    case "mistake": {
      const { message, command } = invocation;
      const help = command ? `tipstaff ${command.name} --help` : "tipstaff --help";
      process.stderr.write(`tipstaff: ${message}\n${help} says what there is\n`);
      return exits.usage;
    }
    case "run":
      return await invocation.command.run(invocation.values);
  }
}

// A reader that went away (`tipstaff status | head -1`) is no error.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
process.exitCode = await main(process.argv.slice(2));
