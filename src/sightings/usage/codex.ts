/**
 * Codex appends what happens to `sessions/<year>/<month>/<day>/rollout-<time>-<session>.jsonl`, and after each
 * answer what all of it came to: the end of the file is enough. It keeps no prices.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { parseJson, readBytes, withFile } from "../disk.ts";
import { limits } from "../limits.ts";
import type { Budget } from "./growing.ts";
import { objectIn, sumOf, type Usage, usageOf } from "./usage.ts";

type Kept = { readonly stamp: string; readonly usage: Usage | undefined };

export class CodexRollouts {
  readonly #kept = new Map<string, Kept>();
  readonly #paths = new Map<string, string>();

  usage(directory: string, session: string, budget: Budget): Usage | undefined {
    const path = this.#pathOf(directory, session);
    if (path === undefined) return undefined;
    return withFile(path, (file, { size, mtimeMs }) => {
      const stamp = `${size} ${mtimeMs}`;
      const kept = this.#kept.get(path);
      if (kept?.stamp === stamp) return kept.usage;
      const count = Math.min(size, limits.tailBytes);
      const usage = lastUsage(readBytes(file, size - count, count));
      budget.bytes -= count;
      if (this.#kept.size >= limits.usageFilesMax) this.#kept.clear();
      this.#kept.set(path, { stamp, usage });
      return usage;
    });
  }

  #pathOf(directory: string, session: string): string | undefined {
    const key = join(directory, session);
    const known = this.#paths.get(key);
    if (known !== undefined) return known;
    for (const day of daysOf(session)) {
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

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
