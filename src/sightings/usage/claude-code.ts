/**
 * Claude Code appends each message to `projects/<directory>/<session>.jsonl` below its settings, and those of
 * sub-agents to files of their own. A message of several parts stands there several times, with what was
 * used up to then. What it cost is written when a session ends, and holds until it goes on.
 */
import { join } from "node:path";
import { isObject, namesIn, parseJson, statsOf } from "../disk.ts";
import { limits } from "../limits.ts";
import { type Budget, GrowingFiles } from "./growing.ts";
import { objectIn, sumOf, type Usage, usageOf } from "./usage.ts";

type Counted = { readonly input: number; readonly output: number };

type Total = {
  input: number;
  output: number;
  isSure: boolean;
  costUsd: number | undefined;
  /** Messages that may come again. */
  readonly recent: Map<string, Counted>;
};

export class ClaudeTranscripts {
  readonly #files = new GrowingFiles<Total>({
    start: () => ({ input: 0, output: 0, isSure: true, costUsd: undefined, recent: new Map() }),
    needles: ['"usage"', '"cost-state"'],
    add: addLine,
  });
  readonly #paths = new Map<string, string>();
  /** Sessions that were found in no folder, and the newest change of a folder up to which they were looked for. */
  readonly #missed = new Map<string, number>();
  readonly #projects = new Map<string, Projects>();

  /** `directory` is where its settings are. */
  usage(
    directory: string,
    session: string,
    workspace: string | undefined,
    budget: Budget,
  ): Usage | undefined {
    const path = this.#pathOf(directory, { session, workspace, budget });
    if (path === undefined) return undefined;
    const aside = path.replace(/\.jsonl$/, "/subagents");
    budget.searches -= 1;
    const parts = namesIn(aside).filter((name) => name.endsWith(".jsonl"));
    if (parts.length > limits.subagentFilesMax) return undefined;
    let input = 0;
    let output = 0;
    let costUsd: number | undefined;
    for (const part of [path, ...parts.map((name) => join(aside, name))]) {
      const total = this.#files.total(part, budget);
      if (!total?.isSure) return undefined;
      input += total.input;
      output += total.output;
      if (part === path) costUsd = total.costUsd;
    }
    return usageOf(input, output, costUsd);
  }

  #pathOf(directory: string, { session, workspace, budget }: Wanted): string | undefined {
    if (!/^[\w-]{1,100}$/.test(session)) return undefined;
    const projects = join(directory, "projects");
    const key = join(projects, session);
    const known = this.#paths.get(key);
    if (known !== undefined && (budget.searches <= 0 || isFile(known, budget))) return known;
    const inFolder = (folder: string): string => join(projects, folder, `${session}.jsonl`);
    if (budget.searches <= 0) return undefined;
    // It is kept under the directory where it began, which it may have left since.
    const likely = workspace?.replaceAll(/[^A-Za-z0-9]/g, "-");
    if (likely !== undefined && isFile(inFolder(likely), budget)) {
      return remember(this.#paths, key, inFolder(likely));
    }
    const { folders, changedAtMs } = this.#foldersOf(projects, budget);
    // A file that is added changes its folder.
    const missedAtMs = this.#missed.get(key) ?? Number.NEGATIVE_INFINITY;
    for (const folder of folders) {
      if (folder.changedAtMs < missedAtMs) continue;
      // Goes on at the next look; whoever was missed everywhere is not looked for again.
      if (budget.searches <= 0) return undefined;
      const path = inFolder(folder.name);
      if (isFile(path, budget)) return remember(this.#paths, key, path);
    }
    remember(this.#missed, key, changedAtMs);
    return undefined;
  }

  /** Listed once a look, whoever asks for them. */
  #foldersOf(projects: string, budget: Budget): Projects {
    const listed = this.#projects.get(projects);
    if (listed?.budget === budget) return listed;
    const folders = namesIn(projects)
      .slice(0, limits.projectFoldersMax)
      .map((name) => ({ name, changedAtMs: statsOf(join(projects, name))?.mtimeMs ?? 0 }));
    budget.searches -= folders.length;
    const changedAtMs = folders.reduce((newest, one) => Math.max(newest, one.changedAtMs), 0);
    return remember(this.#projects, projects, { budget, folders, changedAtMs });
  }
}

type Wanted = {
  readonly session: string;
  readonly workspace: string | undefined;
  readonly budget: Budget;
};

/** The folders of transcripts, as they were at one look. */
type Projects = {
  readonly budget: Budget;
  readonly folders: readonly { readonly name: string; readonly changedAtMs: number }[];
  readonly changedAtMs: number;
};

function remember<Value>(kept: Map<string, Value>, key: string, value: Value): Value {
  if (kept.size >= limits.usageFilesMax && !kept.has(key)) kept.clear();
  kept.set(key, value);
  return value;
}

function addLine(total: Total, text: string): void {
  const line = parseJson(text);
  if (!isObject(line)) return;
  if (line["type"] === "cost-state") {
    const { totalCostUSD: cost, hasUnknownModelCost: isPartial } = line;
    total.costUsd = typeof cost === "number" && isPartial === false ? cost : undefined;
    return;
  }
  // What was said before a session was forked from another was used up there.
  if (line["type"] !== "assistant" || line["forkedFrom"] !== undefined) return;
  const message = objectIn(line, "message");
  const used = objectIn(message, "usage");
  const input = sumOf([
    used["input_tokens"],
    used["cache_creation_input_tokens"],
    used["cache_read_input_tokens"],
  ]);
  const output = sumOf([used["output_tokens"]]);
  if (input === undefined || output === undefined) {
    total.isSure = false;
    return;
  }
  if (input + output > 0) total.costUsd = undefined;
  const { id } = message;
  const before = typeof id === "string" ? total.recent.get(id) : undefined;
  total.input += input - (before?.input ?? 0);
  total.output += output - (before?.output ?? 0);
  if (typeof id !== "string") return;
  total.recent.delete(id);
  total.recent.set(id, { input, output });
  const [oldest] = total.recent.keys();
  if (total.recent.size > limits.recentMessagesMax && oldest !== undefined) {
    total.recent.delete(oldest);
  }
}

function isFile(path: string, budget: Budget): boolean {
  budget.searches -= 1;
  return statsOf(path)?.isFile() === true;
}
