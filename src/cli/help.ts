/** Help texts, from the table. Two examples first; no line is wider than a terminal of 80 columns. */
import { helpColumns, inTwoColumns, wrapWords } from "../terminal/index.ts";
import { firstWords, programOf, verbsOf } from "./parse.ts";
import { type Argument, type CommandRow, commands, type Flag, nouns, programs } from "./table.ts";

export function printHelp(about: { command?: CommandRow; noun?: string } = {}): string {
  if (about.command) return helpFor(about.command);
  return about.noun === undefined ? overview() : helpForNoun(about.noun);
}

/** What is typed for it. */
export function callOf(command: CommandRow): string {
  const program = programOf(command);
  return program === "tipstaff" ? `tipstaff ${command.name}` : command.name;
}

function overview(): string {
  const described = firstWords().flatMap((word): readonly (readonly [string, string])[] => {
    const command = commands.find(({ name }) => name === word);
    if (command) return [[word, command.summary]];
    const verbs = verbsOf(word).map(({ name }) => name.slice(word.length + 1));
    return verbs.length > 0 ? [[word, `${nouns[word]}: ${verbs.join(", ")}`]] : [];
  });
  return [
    "  tipstaff up          start it, then open http://localhost:9090",
    "  tipstaff ps          see which agent waits for you",
    "",
    "The control plane for the agents you run.",
    "",
    ...inTwoColumns(described),
    "",
    "A noun alone lists. `tipstaff <command> --help` says more.",
    "Exit codes: 0 success, 1 failure, 2 usage error, 3 no daemon answers.",
  ].join("\n");
}

function helpForNoun(noun: string): string {
  const rows = verbsOf(noun);
  const isProgram = programs.includes(noun);
  const examples = rows.slice(0, 2).flatMap(({ examples: [first] }) => wrapWords(first, 78));
  return [
    ...examples.map((line) => `  ${line}`),
    "",
    `${capital(nouns[noun] ?? noun)}.${isProgram ? "" : " Alone, it lists."}`,
    "",
    ...inTwoColumns(
      rows.map((row) => [
        [row.name.slice(noun.length + 1), ...(row.arguments ?? []).map(argumentWord)].join(" "),
        row.summary,
      ]),
    ),
    "",
    `\`${isProgram ? noun : `tipstaff ${noun}`} <verb> --help\` says more.`,
  ].join("\n");
}

function helpFor(command: CommandRow): string {
  const { summary, examples, flags, exits, aliases = [], arguments: expected = [] } = command;
  const described = [
    ...expected.map((argument) => [argumentWord(argument), argument.help] as const),
    ...flags.map((flag) => [flagWord(flag), flagHelp(flag)] as const),
  ];
  const usage = [
    callOf(command),
    ...expected.map(argumentWord),
    ...(flags.length > 0 ? ["[flags]"] : []),
  ];
  const meanings = new Map([[0, "done"], [2, "usage error"], ...exits]);
  const sorted = [...meanings].sort(([one], [other]) => one - other);
  return [
    ...examples.flatMap((example) =>
      wrapWords(example, helpColumns - 2).map((line) => `  ${line}`),
    ),
    "",
    ...wrapWords(`${capital(summary)}.`, helpColumns),
    "",
    `Usage: ${usage.join(" ")}`,
    ...(aliases.length > 0 ? [`Also:  ${aliases.map((alias) => aliasCall(command, alias))}`] : []),
    "",
    ...inTwoColumns(described),
    ...(described.length > 0 ? [""] : []),
    "Exit codes:",
    ...inTwoColumns(sorted.map(([code, meaning]) => [String(code), meaning])),
  ].join("\n");
}

function aliasCall(command: CommandRow, alias: string): string {
  return callOf(command).replace(/\S+$/, alias);
}

export function argumentWord({ name, isMany, isOptional }: Argument): string {
  if (isOptional) return `[${name}]`;
  return isMany ? `[${name} …]` : `<${name}>`;
}

export function flagWord({ name, short, value }: Flag): string {
  return `${short ? `-${short}, ` : ""}--${name}${value ? ` <${value}>` : ""}`;
}

export function flagHelp({ help, default: standard }: Flag): string {
  return standard === undefined ? help : `${help} (${standard})`;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
