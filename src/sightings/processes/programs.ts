/**
 * Which processes are coding agents, by their command lines. Told from those that only mention one: shells,
 * editors, what agents run, servers of tools, and commands of the same program that end at once.
 */
import { basename } from "node:path";

export type Recognised = {
  /** As its records are named. */
  readonly program: string;
  /** A server is no agent by itself, but its sessions may be. */
  readonly isServer: boolean;
  /** Run by an interpreter: it may be no more than what starts the real one. */
  readonly isScript: boolean;
};

type Program = {
  readonly name: string;
  readonly commands: readonly string[];
  /** Folders below `node_modules` that hold it. */
  readonly packages?: readonly string[];
  /** Other programs have the name: a binary must be in a folder that tells more. */
  readonly isCommonName?: true;
  /** It is an agent only with one of these as a word. */
  readonly verbs?: readonly string[];
  /** With one of these as a word it does something else, and is soon done. */
  readonly chores?: readonly string[];
  readonly servers?: readonly string[];
  /** What follows one of these is a prompt, whatever words it has. */
  readonly prompts?: readonly string[];
};

const programs: readonly Program[] = [
  {
    name: "claude-code",
    commands: ["claude"],
    packages: ["@anthropic-ai/claude-code"],
    chores: ["mcp", "plugin", "plugins", "config", "update", "upgrade", "doctor", "install"],
    prompts: ["-p", "--print"],
  },
  {
    name: "codex",
    commands: ["codex"],
    packages: ["@openai/codex"],
    // Its server has a helper that is called by its name too.
    chores: [
      ...["daemon", "mcp-server", "exec-server", "responses-api-proxy", "mcp", "login", "logout"],
      ...["plugin", "sandbox", "completion", "update", "doctor"],
    ],
    servers: ["app-server"],
    prompts: ["exec", "e"],
  },
  {
    name: "opencode",
    commands: ["opencode"],
    packages: ["opencode-ai"],
    chores: ["attach", "mcp", "auth", "providers", "models", "upgrade", "stats", "export", "db"],
    servers: ["serve"],
    prompts: ["run"],
  },
  {
    name: "pi",
    commands: ["pi"],
    packages: ["@mariozechner/pi-coding-agent", "@earendil-works/pi-coding-agent"],
    isCommonName: true,
    chores: ["install", "remove", "update", "list", "config"],
    prompts: ["-p", "--print"],
  },
  { name: "aider", commands: ["aider"], packages: [] },
  {
    name: "amp",
    commands: ["amp"],
    packages: ["@sourcegraph/amp", "@ampcode/cli"],
    isCommonName: true,
    chores: ["mcp", "login", "logout", "update", "doctor"],
    prompts: ["-x", "--execute"],
  },
  { name: "auggie", commands: ["auggie"], packages: ["@augmentcode/auggie"] },
  { name: "cline", commands: ["cline"], packages: ["cline"], isCommonName: true },
  {
    name: "copilot",
    commands: ["copilot"],
    packages: ["@github/copilot"],
    isCommonName: true,
  },
  { name: "crush", commands: ["crush"], packages: ["@charmland/crush"], isCommonName: true },
  {
    name: "cursor-agent",
    commands: ["cursor-agent"],
    chores: ["login", "logout", "mcp", "update"],
    prompts: ["-p", "--print"],
  },
  { name: "droid", commands: ["droid"], packages: ["droid"], isCommonName: true },
  {
    name: "gemini",
    commands: ["gemini"],
    packages: ["@google/gemini-cli"],
    isCommonName: true,
    chores: ["mcp", "extensions"],
    prompts: ["-p", "--prompt"],
  },
  { name: "goose", commands: ["goose"], verbs: ["session", "run", "acp"] },
  { name: "kilo", commands: ["kilo", "kilocode"], packages: ["@kilocode/cli"], isCommonName: true },
  { name: "kimi", commands: ["kimi"] },
  { name: "kiro", commands: ["kiro-cli", "kiro-cli-chat"], verbs: ["chat"] },
  { name: "openhands", commands: ["openhands"] },
  { name: "qwen-code", commands: ["qwen"], packages: ["@qwen-code/qwen-code"], chores: ["mcp"] },
  { name: "vibe", commands: ["vibe"], isCommonName: true },
];

const byCommand = new Map(
  programs.flatMap((program) => program.commands.map((command) => [command, program] as const)),
);
const byPackage = programs.flatMap((program) =>
  (program.packages ?? []).map((folder) => [`/node_modules/${folder}/`, program] as const),
);

/** One pattern, because most processes are none of these: `/bin/claude`, `claude`, `@openai/codex/`. */
const mentioned = new RegExp(
  `(?:^|[/\\0 ])(?:${[
    ...byCommand.keys(),
    ...programs.flatMap(({ packages = [] }) => packages.map((folder) => basename(folder))),
  ].join("|")})(?:$|[/\\0 .])`,
);

/** Whether it is worth a closer look. Words may be divided by zeros or blanks. */
export function mentionsProgram(command: string): boolean {
  return mentioned.test(command);
}

const daemon = /[/\\](?:dist\/tipstaff\.cjs|src\/cli\/main\.ts)[\0 ](?:up|agentkeeper)(?:$|[\0 ])/;

/** Whether it is a daemon of ours. */
export function isDaemon(command: string): boolean {
  return daemon.test(command);
}

/** Undefined for everything else. `executable` is asked for only where the words do not decide. */
export function recognise(
  words: readonly string[],
  executable: () => string | undefined = () => undefined,
): Recognised | undefined {
  const [first = "", ...rest] = untitled(words);
  const name = commandName(first);
  if (isInterpreter(name)) {
    const script = scriptAmong(rest);
    const program = script && programOfScript(script.path);
    return program && judge(program, script.arguments, { isScript: true });
  }
  const program = byCommand.get(name);
  if (!program) return undefined;
  if (!program.isCommonName) return judge(program, rest, { isScript: isTitle(first, executable) });
  const path = executable() ?? first;
  if (isInterpreter(commandName(path))) return judge(program, rest, { isScript: true });
  return programOfPackage(path) === program ? judge(program, rest, { isScript: false }) : undefined;
}

/** Programs that name themselves overwrite their words with one line. */
function untitled(words: readonly string[]): readonly string[] {
  const told = words.filter((word) => word !== "");
  const [only = ""] = told;
  return told.length === 1 && !only.startsWith("/") ? only.split(" ") : told;
}

/** A script that calls itself by its own name. */
function isTitle(first: string, executable: () => string | undefined): boolean {
  return !first.includes("/") && isInterpreter(commandName(executable() ?? ""));
}

function commandName(path: string): string {
  return basename(path).replace(/\.exe$/, "");
}

function isInterpreter(name: string): boolean {
  return /^(?:node|nodejs|bun|deno|python[\d.]*)$/.test(name);
}

type Script = { readonly path: string; readonly arguments: readonly string[] };

/** Options of interpreters that have their value in the next word. */
const valued = /^(?:-r|--require|--import|--loader|--experimental-loader|-C|--conditions|-W|-X)$/;
/** The program stands in the words themselves. */
const inline = /^(?:-e|--eval|-p|--print|-c|-pe)$/;

function scriptAmong(words: readonly string[]): Script | undefined {
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    if (inline.test(word)) return undefined;
    if (valued.test(word)) index += 1;
    else if (word === "-m" || !(word.startsWith("-") || word === "run")) {
      const at = word === "-m" ? index + 1 : index;
      return { path: words[at] ?? "", arguments: words.slice(at + 1) };
    }
  }
  return undefined;
}

function programOfScript(path: string): Program | undefined {
  if (path.includes("/cursor-agent/versions/")) return byCommand.get("cursor-agent");
  return programOfPackage(path) ?? byCommand.get(basename(path));
}

/** What lies beside the program in its package is a helper of it. */
const entry = /^(?:(?:bin|dist|bundle|build|lib|out)\/)?[\w.-]+$/;
const helper = /mcp|server|worker|install|helper|daemon|update/;

function programOfPackage(path: string): Program | undefined {
  for (const [folder, program] of byPackage) {
    const at = path.lastIndexOf(folder);
    if (at === -1) continue;
    const inside = path.slice(at + folder.length);
    return entry.test(inside) && !helper.test(inside) ? program : undefined;
  }
  return undefined;
}

/** Flags with which a program says something and ends. */
const brief = /^(?:-h|--help|-v|-V|--version)$/;
/** They come early; what comes later is somebody's prompt. */
const wordsLookedAt = 6;

function judge(
  program: Program,
  words: readonly string[],
  { isScript }: { readonly isScript: boolean },
): Recognised | undefined {
  const { name, verbs, chores = [], servers = [] } = program;
  const early = words.slice(0, wordsLookedAt);
  if (early.some((word) => brief.test(word))) return undefined;
  const told = verbsAmong(early, program);
  const has = (some: readonly string[]): boolean => told.some((word) => some.includes(word));
  if (has(chores) || (verbs && !has(verbs))) return undefined;
  return { program: name, isServer: has(servers), isScript };
}

/**
 * The first word that is no option, and what may be one: the value of an option before it, which we do not tell
 * from a verb, and what a server is told to do. All other words are a prompt's.
 */
function verbsAmong(
  words: readonly string[],
  { servers = [], prompts = [] }: Program,
): readonly string[] {
  const found: string[] = [];
  let mayBeValue = false;
  for (const word of words) {
    if (word === "--" || prompts.includes(word)) return found;
    const isOption = word.startsWith("-");
    if (!isOption) found.push(word);
    if (!isOption && !mayBeValue && !servers.includes(word)) return found;
    mayBeValue = isOption && !word.includes("=");
  }
  return found;
}
