/** OpenCode keeps a database, and in it what each session and its sub-sessions came to. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { statsOf } from "../disk.ts";
import { limits } from "../limits.ts";
import { sumOf, type Usage, usageOf } from "./usage.ts";

type Kept = { readonly stamp: string; readonly usage: Usage | undefined };

/** Nothing to ask: there is no database, or another version of it. */
type Opened = { readonly database?: DatabaseSync; readonly question?: StatementSync };

const question = `
  SELECT sum(cost) AS cost, sum(tokens_input) AS input, sum(tokens_output) AS output,
    sum(tokens_reasoning) AS reasoning, sum(tokens_cache_read) AS cacheRead,
    sum(tokens_cache_write) AS cacheWrite
  FROM session WHERE id = :session OR parent_id = :session`;

export class OpencodeDatabases {
  readonly #kept = new Map<string, Kept>();
  /** During one look, with the time they were last written. */
  readonly #opened = new Map<string, Opened>();
  readonly #stamps = new Map<string, string>();

  /** Some 50 µs, and the database stays open for the next: `close` ends the look. */
  usage(path: string, session: string): Usage | undefined {
    const key = `${path}\0${session}`;
    const stamp = this.#stampOf(path);
    const kept = this.#kept.get(key);
    if (kept?.stamp === stamp) return kept.usage;
    const usage = ask(this.#open(path), session);
    if (this.#kept.size >= limits.usageFilesMax && !kept) this.#kept.clear();
    this.#kept.set(key, { stamp, usage });
    return usage;
  }

  close(): void {
    for (const { database } of this.#opened.values()) database?.close();
    this.#opened.clear();
    this.#stamps.clear();
  }

  #stampOf(path: string): string {
    const known = this.#stamps.get(path);
    if (known !== undefined) return known;
    const stamp = [path, `${path}-wal`].map(writtenAt).join(" ");
    this.#stamps.set(path, stamp);
    return stamp;
  }

  #open(path: string): Opened {
    const opened = this.#opened.get(path) ?? openDatabase(path);
    this.#opened.set(path, opened);
    return opened;
  }
}

function writtenAt(path: string): string {
  const stats = statsOf(path);
  return stats ? `${stats.ino} ${stats.size} ${stats.mtimeMs}` : "none";
}

function openDatabase(path: string): Opened {
  if (!statsOf(path)?.isFile()) return {};
  let database: DatabaseSync | undefined;
  try {
    // Loaded here: few have such a session, and all would wait for it.
    const sqlite = process.getBuiltinModule("node:sqlite");
    database = new sqlite.DatabaseSync(path, { readOnly: true, timeout: limits.databaseMs });
    return { database, question: database.prepare(question) };
  } catch {
    // Another version of it, or busy: then nothing is told.
    database?.close();
    return {};
  }
}

function ask({ question: asked }: Opened, session: string): Usage | undefined {
  try {
    const row = asked?.get({ session }) ?? {};
    const input = sumOf([row["input"], row["cacheRead"], row["cacheWrite"]]);
    const output = sumOf([row["output"], row["reasoning"]]);
    return usageOf(input, output, row["cost"]);
  } catch {
    return undefined;
  }
}
