/**
 * Claude Code appends each message to `projects/<directory>/<session>.jsonl` below its settings, and those of
 * sub-agents to files of their own. A message of several parts stands there several times, with what was
 * used up to then. What it cost is written when a session ends, and holds until it goes on.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isObject, parseJson, withFile } from "../disk.ts";
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

  /** `directory` is where its settings are. */
  usage(
    directory: string,
    session: string,
    workspace: string | undefined,
    budget: Budget,
  ): Usage | undefined {
    const path = this.#pathOf(directory, session, workspace);
    if (path === undefined) return undefined;
    const aside = path.replace(/\.jsonl$/, "/subagents");
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

  #pathOf(directory: string, session: string, workspace: string | undefined): string | undefined {
    if (!/^[\w-]{1,100}$/.test(session)) return undefined;
    const projects = join(directory, "projects");
    const key = join(projects, session);
    const known = this.#paths.get(key);
    if (known !== undefined && isFile(known)) return known;
    // It is kept under the directory where it began, which it may have left since.
    const likely = workspace === undefined ? [] : [workspace.replaceAll(/[^A-Za-z0-9]/g, "-")];
    for (const folders of [likely, namesIn(projects).slice(0, limits.projectFoldersMax)]) {
      for (const folder of folders) {
        const path = join(projects, folder, `${session}.jsonl`);
        if (!isFile(path)) continue;
        if (this.#paths.size >= limits.usageFilesMax) this.#paths.clear();
        this.#paths.set(key, path);
        return path;
      }
    }
    return undefined;
  }
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

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function isFile(path: string): boolean {
  return withFile(path, () => true) === true;
}
