/** `tipstaff completions`: scripts for shells, from the table. */
import { print } from "../terminal/index.ts";
import { exits } from "./exits.ts";
import { mistake } from "./failure.ts";
import { firstWords, verbsOf } from "./parse.ts";
import { type CommandRow, type Flag, nouns, offered, programs } from "./table.ts";

export async function completions([shell = ""]: readonly string[]): Promise<number> {
  const script = scriptFor(shell);
  if (script === undefined) throw mistake("the shell is bash, zsh or fish");
  print(script);
  return exits.ok;
}

export function scriptFor(shell: string): string | undefined {
  switch (shell) {
    case "bash":
      return bash();
    case "zsh":
      // zsh runs completions written for bash.
      return `#compdef tipstaff agentkeeper ${programs.join(" ")}\nautoload -U +X bashcompinit && bashcompinit\n${bash()}`;
    case "fish":
      return fish();
    default:
      return undefined;
  }
}

/** What may stand behind a flag, where that is a few words. */
function choicesOf({ value = "" }: Flag): readonly string[] {
  return /^[a-z]+(\|[a-z]+)+$/.test(value) ? value.split("|") : [];
}

function isPath({ value = "" }: Flag): boolean {
  return value === "path" || value === "directory";
}

function wordsAfter(noun: string): readonly string[] {
  return verbsOf(noun).map(({ name }) => name.slice(noun.length + 1));
}

/** Words that complete the arguments themselves. */
function argumentWords({ name, arguments: [first] = [] }: CommandRow): readonly string[] {
  if (name === "help") return firstWords();
  return first && /^[a-z]+(\|[a-z]+)+$/.test(first.name) ? first.name.split("|") : [];
}

/** The command is known by its first words, so that each word completes by those before it. */
function bash(): string {
  const flagCases = offered.map((row) => {
    const flags = row.flags.map(({ name }) => `--${name}`);
    const words = [...flags, "--help", ...argumentWords(row)];
    return `    '${row.name}') words='${words.join(" ")}' ;;`;
  });
  const valueCases = uniqueFlags().flatMap((flag) => {
    const choices = choicesOf(flag);
    if (choices.length > 0) return [`    '--${flag.name}') words='${choices.join(" ")}' ;;`];
    if (isPath(flag))
      return [`    '--${flag.name}') COMPREPLY=($(compgen -f -- "$current")); return ;;`];
    return flag.value ? [`    '--${flag.name}') return ;;`] : [];
  });
  const verbCases = Object.keys(nouns).map(
    (noun) => `    ${noun}) verbs='${wordsAfter(noun).join(" ")}' ;;`,
  );
  return `# Completions of tipstaff for bash, made from its table of commands.
_tipstaff() {
  case \${COMP_WORDS[0]##*/} in
    ${programs.join("|")})
      COMP_WORDS=(tipstaff "\${COMP_WORDS[0]##*/}" "\${COMP_WORDS[@]:1}")
      COMP_CWORD=$((COMP_CWORD + 1)) ;;
  esac
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} words= verbs= command
  COMPREPLY=()
  if [ "\${COMP_WORDS[0]##*/}" = agentkeeper ]; then
    command=agentkeeper
  elif [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${firstWords().join(" ")}' -- "$current"))
    return
  else
    command=\${COMP_WORDS[1]}
  fi
  case $before in
    -f) COMPREPLY=($(compgen -f -- "$current")); return ;;
${valueCases.join("\n")}
  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case $command in
${verbCases.join("\n")}
  esac
  if [ -n "$verbs" ]; then
    if [ "$COMP_CWORD" -eq 2 ]; then
      case $current in
        -*) ;;
        *) COMPREPLY=($(compgen -W "$verbs" -- "$current")); return ;;
      esac
    fi
    case " $verbs " in
      *" \${COMP_WORDS[2]} "*) command="$command \${COMP_WORDS[2]}" ;;
      *) command="$command list" ;;
    esac
  fi
  case $command in
${flagCases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _tipstaff tipstaff agentkeeper ${programs.join(" ")}
`;
}

/** A flag has the same choices wherever it has any, except those for sorting. */
function uniqueFlags(): readonly Flag[] {
  const byName = new Map<string, Flag>();
  for (const flag of offered.flatMap(({ flags }) => flags)) {
    const before = byName.get(flag.name);
    const choices = [...new Set([...(before ? choicesOf(before) : []), ...choicesOf(flag)])];
    const value = choices.length > 0 ? choices.join("|") : flag.value;
    byName.set(flag.name, { name: flag.name, help: flag.help, ...(value ? { value } : {}) });
  }
  return [...byName.values()];
}

function fish(): string {
  const lines = [
    "# Completions of tipstaff for fish, made from its table of commands.",
    "complete -c tipstaff -f",
    ...programs.map((program) => `complete -c ${program} -w 'tipstaff ${program}'`),
  ];
  const first = (word: string, help: string): string =>
    `complete -c tipstaff -n __fish_use_subcommand -a ${word} -d ${quoted(help)}`;
  for (const [noun, help] of Object.entries(nouns)) {
    lines.push(first(noun, help));
    const verbs = wordsAfter(noun);
    for (const { name, summary } of verbsOf(noun)) {
      const verb = name.slice(noun.length + 1);
      const when = `__fish_seen_subcommand_from ${noun}; and not __fish_seen_subcommand_from ${verbs.join(" ")}`;
      lines.push(`complete -c tipstaff -n ${quoted(when)} -a ${verb} -d ${quoted(summary)}`);
    }
  }
  for (const row of offered) {
    const [noun = "", verb] = row.name.split(" ");
    if (verb === undefined) lines.push(first(noun, row.summary));
    const isList = verb === "list";
    const others = wordsAfter(noun)
      .filter((word) => word !== "list")
      .join(" ");
    const seen = `__fish_seen_subcommand_from ${noun}`;
    const when =
      verb === undefined
        ? seen
        : isList
          ? `${seen}; and not __fish_seen_subcommand_from ${others}`
          : `${seen}; and __fish_seen_subcommand_from ${verb}`;
    for (const word of argumentWords(row)) {
      lines.push(`complete -c tipstaff -n ${quoted(when)} -a ${word}`);
    }
    for (const flag of row.flags) lines.push(fishFlag(flag, when));
  }
  return `${lines.join("\n")}\n`;
}

function fishFlag(flag: Flag, when: string): string {
  const choices = choicesOf(flag);
  const parts = [
    `complete -c tipstaff -n ${quoted(when)} -l ${flag.name}`,
    ...(flag.short ? [`-s ${flag.short}`] : []),
    ...(flag.value ? [isPath(flag) ? "-r -F" : "-x"] : []),
    ...(choices.length > 0 ? [`-a ${quoted(choices.join(" "))}`] : []),
    `-d ${quoted(flag.help)}`,
  ];
  return parts.join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
