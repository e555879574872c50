/**
 * Codex appends what happens to `sessions/<year>/<month>/<day>/rollout-<time>-<session>.jsonl`, and after each
 * answer what all of it came to: the end of the file is enough. It keeps no prices.
 */
import { join } from "node:path";
import { namesIn, parseJson, readBytes, withFile } from "../disk.ts";
import { limits } from "../limits.ts";
import type { Budget } from "./growing.ts";
import { objectIn, sumOf, type Usage, usageOf } from "./usage.ts";

type Kept = { readonly stamp: string; readonly usage: Usage | undefined };

export class CodexRollouts {
  readonly #kept = new Map<string, Kept>();
  readonly #paths = new Map<string, string>();

  usage(directory: string, session: string, budget: Budget): Usage | undefined {
    const path = this.#pathOf(directory, session, budget);
    if (path === undefined) return undefined;
    const kept = this.#kept.get(path);
    // What it came to before is told until there is time to look again.
    if (budget.files <= 0 || budget.bytes <= 0) return kept?.usage;
    budget.files -= 1;
    return withFile(path, (file, { size, mtimeMs }) => {
      const stamp = `${size} ${mtimeMs}`;
      if (kept?.stamp === stamp) return kept.usage;
      let usage: Usage | undefined;
      for (const tailBytes of [limits.shortTailBytes, limits.tailBytes]) {
        const count = Math.min(size, tailBytes);
        usage = lastUsage(readBytes(file, size - count, count));
        budget.bytes -= count;
        if (usage || count === size) break;
      }
      if (this.#kept.size >= limits.usageFilesMax) this.#kept.clear();
      this.#kept.set(path, { stamp, usage });
      return usage;
    });
  }

  #pathOf(directory: string, session: string, budget: Budget): string | undefined {
    const key = join(directory, session);
    const known = this.#paths.get(key);
    if (known !== undefined) return known;
    for (const day of daysOf(session)) {
      if (budget.searches <= 0) return undefined;
      budget.searches -= 1;
      const folder = join(directory, "sessions", ...day);
      const name = namesIn(folder).find((each) => each.endsWith(`-${session}.jsonl`));
      if (name === undefined) continue;
      if (this.#paths.size >= limits.usageFilesMax) this.#paths.clear();
      const path = join(folder, name);
      this.#paths.set(key, path);
      return path;
    }
    return undefined;
  }
}

/** The id of a session begins with the time it was made. Folders are by the local day, ours or another's. */
function daysOf(session: string): readonly (readonly string[])[] {
  const [, high, low] =
    /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/.exec(session) ?? [];
  if (high === undefined || low === undefined) return [];
  const madeAtMs = Number.parseInt(high + low, 16);
  return [0, -1, 1].map((days) => {
    const day = new Date(madeAtMs + days * 86_400_000);
    const parts = [day.getFullYear(), day.getMonth() + 1, day.getDate()];
    return parts.map((part) => String(part).padStart(2, "0"));
  });
}

function lastUsage(tail: Buffer): Usage | undefined {
  const needle = '"token_count"';
  for (let at = tail.lastIndexOf(needle); at !== -1; at = tail.lastIndexOf(needle, at - 1)) {
    const from = tail.lastIndexOf(0x0a, at) + 1;
    const end = tail.indexOf(0x0a, at);
    if (end !== -1) {
      const line = parseJson(tail.subarray(from, end).toString());
      const info = objectIn(objectIn(line, "payload"), "info");
      const { input_tokens: input, output_tokens: output } = objectIn(info, "total_token_usage");
      // Both or none: an event without them tells only of limits.
      if (typeof input === "number" && typeof output === "number") {
        return usageOf(sumOf([input]), sumOf([output]));
      }
    }
    if (at === 0) break;
  }
  return undefined;
}
