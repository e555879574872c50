/** OpenCode keeps a database, and in it what each session and its sub-sessions came to. */
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { limits } from "../limits.ts";
import { sumOf, type Usage, usageOf } from "./usage.ts";

type Kept = { readonly stamp: string; readonly bySession: Map<string, Usage | undefined> };

const question = `
  SELECT sum(cost) AS cost, sum(tokens_input) AS input, sum(tokens_output) AS output,
    sum(tokens_reasoning) AS reasoning, sum(tokens_cache_read) AS cacheRead,
    sum(tokens_cache_write) AS cacheWrite
  FROM session WHERE id = :session OR parent_id = :session`;

export class OpencodeDatabases {
  readonly #kept = new Map<string, Kept>();

  usage(path: string, session: string): Usage | undefined {
    const stamp = `${stampOf(path)} ${stampOf(`${path}-wal`)}`;
    let kept = this.#kept.get(path);
    if (kept?.stamp !== stamp) {
      kept = { stamp, bySession: new Map() };
      if (this.#kept.size >= limits.usageFilesMax) this.#kept.clear();
      this.#kept.set(path, kept);
    }
    if (!kept.bySession.has(session)) kept.bySession.set(session, ask(path, session));
    return kept.bySession.get(session);
  }
}

function stampOf(path: string): string {
  try {
    const { size, mtimeMs, ino } = statSync(path);
    return `${ino} ${size} ${mtimeMs}`;
  } catch {
    return "none";
  }
}

function ask(path: string, session: string): Usage | undefined {
  let database: DatabaseSync | undefined;
  try {
    if (!statSync(path).isFile()) return undefined;
    // Loaded here: few have such a session, and all would wait for it.
    const sqlite = process.getBuiltinModule("node:sqlite");
    database = new sqlite.DatabaseSync(path, { readOnly: true, timeout: limits.databaseMs });
    const row = database.prepare(question).get({ session }) ?? {};
    const input = sumOf([row["input"], row["cacheRead"], row["cacheWrite"]]);
    const output = sumOf([row["output"], row["reasoning"]]);
    return usageOf(input, output, row["cost"]);
  } catch {
    // Another version of it, or busy: then nothing is told.
    return undefined;
  } finally {
    database?.close();
  }
}
