/**
 * Writes `docs/cli.md` from the table of commands. `--check` fails if it is not so.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { argumentWord, callOf, flagHelp, flagWord } from "../src/cli/help.ts";
import { firstWords, verbsOf } from "../src/cli/parse.ts";
import { type CommandRow, commands, nouns } from "../src/cli/table.ts";

const path = "docs/cli.md";

const intro = `# The command line

Made from the table in \`src/cli/table.ts\`; \`tipstaff <command> --help\` says the same.

A noun alone lists. On a terminal a list fits its width, what matters now first; in a pipe nothing is cut, and
there are no colours (nor with \`NO_COLOR\`). \`--json\` prints one document, for lists \`{ rows, total, sequence,
nowMs }\` with the rows of the API; where things go on, one line for each. What takes something away asks
first, or needs \`--yes\` where nobody can be asked.

Open questions to people come first. With \`--json\`, the field \`questions\` (next to \`agents\`) lists them in \`ps\`, in
\`wait\` and in the first line of \`watch\`. Each later line of \`watch\` about a question is
\`{ type: "asked" | "closed", question, nowMs }\`. Each line of \`notify\` about a question is
\`{ question }\`. A question has the fields of the API's \`Question\`; [questions.md](questions.md) is the guide.

| exit code | means |
|---|---|
| 0 | success |
| 1 | failure, or the answer is no; the message says why and what to do |
| 2 | usage error |
| 3 | no daemon answers |
| 4 | (\`up\`) the log could not be written |
| 5 | a fault of ours |

| variable | means |
|---|---|
| \`TIPSTAFF_URL\` | where the daemon is, if neither \`--http\` nor \`--data-dir\` says: \`http://host:port\` or \`unix:/path\` |
| \`TIPSTAFF_TOKEN\` | the token, instead of the file \`token\` in the data directory |
| \`TIPSTAFF_NODE\` | the Node to run on, instead of the one that the checkout brings |
| \`XDG_STATE_HOME\` | the data directory is \`tipstaff\` in there; \`~/.local/state\` if it is not set |
| \`NO_COLOR\` | no colours |
| \`TIPSTAFF_TRACE\` | a fault of ours also says where it happened |

Without either flag or \`TIPSTAFF_URL\`, the socket in the data directory is asked, then \`localhost:9090\`.
`;

function describe(command: CommandRow, level: string): string {
  const { summary, examples, flags, exits, aliases = [], arguments: expected = [] } = command;
  const rows = [
    ...expected.map((argument) => [argumentWord(argument), argument.help]),
    ...flags.map((flag) => [flagWord(flag), flagHelp(flag)]),
  ];
  const table = rows.map(([word = "", help = ""]) => `| \`${cell(word)}\` | ${cell(help)} |`);
  const meanings = exits.map(([code, meaning]) => `${code}: ${meaning}`);
  const also = aliases.map((alias) => `\`${alias}\``).join(", ");
  const heading = [callOf(command), ...expected.map(argumentWord)].join(" ");
  return [
    `${level} ${heading.replaceAll("<", "\\<")}`,
    "",
    `${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.${also ? ` Also ${also}.` : ""}`,
    "",
    "```sh",
    ...examples,
    "```",
    "",
    ...(rows.length > 0 ? ["| | |", "|---|---|", ...table, ""] : []),
    ...(meanings.length > 0 ? [`Exit codes: ${meanings.join("; ")}.`, ""] : []),
  ].join("\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

const parts = firstWords().flatMap((word) => {
  const command = commands.find(({ name }) => name === word);
  if (command) return [describe(command, "##")];
  const verbs = verbsOf(word);
  if (verbs.length === 0) return [];
  return [`## ${word}: ${nouns[word]}\n`, ...verbs.map((verb) => describe(verb, "###"))];
});
const text = `${[intro, ...parts].join("\n").trimEnd()}\n`;

let before = "";
try {
  before = readFileSync(path, "utf8");
} catch {
  // Not there yet.
}
if (text !== before && process.argv.includes("--check")) {
  console.error(`${path} is out of date; run npm run generate`);
  process.exitCode = 1;
} else if (text !== before) {
  writeFileSync(path, text);
}
