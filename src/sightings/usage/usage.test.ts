import assert from "node:assert/strict";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { temporaryDirectory } from "../../testing/temporary.ts";
import { limits } from "../limits.ts";
import { ClaudeTranscripts } from "./claude-code.ts";
import { CodexRollouts } from "./codex.ts";
import { type Budget, budgetOfLook } from "./growing.ts";
import { OpencodeDatabases } from "./opencode.ts";

const spentOf = (budget: Budget): number => limits.usageSearchesPerLook - budget.searches;

test("a session without a transcript is looked for once, until a folder changes", async () => {
  await using home = await temporaryDirectory();
  const projects = join(home.path, "projects");
  const folders = Array.from({ length: 50 }, (_, index) => join(projects, `p${index}`));
  for (const [index, folder] of folders.entries()) {
    mkdirSync(folder, { recursive: true });
    utimesSync(folder, index, index);
  }
  const transcripts = new ClaudeTranscripts();
  const sessions = Array.from({ length: 20 }, (_, index) => `s${index}`);
  const look = () => {
    const budget = budgetOfLook();
    const told = sessions.map((one) => transcripts.usage(home.path, one, "/src/x", budget));
    return { told, spent: spentOf(budget) };
  };
  assert.ok(look().spent >= sessions.length * folders.length, "each in each folder");
  // The folders are listed once, and for each session one place is likely; the newest may have changed again.
  const again = look();
  assert.ok(again.spent < folders.length + sessions.length * 10, `${again.spent}`);
  const usage = { input_tokens: 3, output_tokens: 2 };
  const line = JSON.stringify({ type: "assistant", message: { id: "m", usage } });
  writeFileSync(join(projects, "p7", "s3.jsonl"), `${line}\n`);
  assert.deepEqual(look().told[3], { tokens: { input: 3, output: 2 } });
});

test("a search that was broken off goes on at the next look", async () => {
  await using home = await temporaryDirectory();
  const count = 600;
  for (let index = 0; index < count; index++) {
    const folder = join(home.path, "projects", `p${index}`);
    mkdirSync(folder, { recursive: true });
    // Folders that changed at the same time as the newest one are searched again.
    utimesSync(folder, index, index);
  }
  const transcripts = new ClaudeTranscripts();
  const spent = Array.from({ length: 6 }, () => {
    const budget = budgetOfLook();
    for (let one = 0; one < 10; one++) transcripts.usage(home.path, `s${one}`, undefined, budget);
    return spentOf(budget);
  });
  for (const one of spent) assert.ok(one <= limits.usageSearchesPerLook + 1, `${one}`);
  assert.ok((spent.at(-1) ?? 0) < limits.usageSearchesPerLook / 2, "all were missed by now");
});

test("what may not be read any more at a look is told as it was before", async () => {
  await using home = await temporaryDirectory();
  const folder = join(home.path, "projects/-src-x");
  mkdirSync(folder, { recursive: true });
  const answer = (id: string): string => {
    const usage = { input_tokens: 1, output_tokens: 1 };
    return `${JSON.stringify({ type: "assistant", message: { id, usage } })}\n`;
  };
  writeFileSync(join(folder, "s.jsonl"), answer("m1"));
  const transcripts = new ClaudeTranscripts();
  const look = (budget: Budget) => transcripts.usage(home.path, "s", "/src/x", budget);
  assert.deepEqual(look(budgetOfLook()), { tokens: { input: 1, output: 1 } });
  appendFileSync(join(folder, "s.jsonl"), answer("m2"));
  assert.deepEqual(look({ ...budgetOfLook(), files: 0 }), { tokens: { input: 1, output: 1 } });
  assert.deepEqual(look(budgetOfLook()), { tokens: { input: 2, output: 2 } });
});

test("Codex is read as far as a look goes, like all others", async () => {
  await using home = await temporaryDirectory();
  const madeAtMs = new Date(2026, 10, 16, 12).getTime();
  const hex = madeAtMs.toString(16).padStart(12, "0");
  const id = `${hex.slice(0, 8)}-${hex.slice(8)}-7f63-ac6f-ec375e309037`;
  const folder = join(home.path, "sessions/2026/11/16");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `rollout-2026-11-16T12-00-00-${id}.jsonl`);
  const counted = (input: number): string => {
    const info = { total_token_usage: { input_tokens: input, output_tokens: 7 } };
    return `${JSON.stringify({ type: "event_msg", payload: { type: "token_count", info } })}\n`;
  };
  writeFileSync(path, counted(10));
  const rollouts = new CodexRollouts();
  const look = (budget: Budget) => rollouts.usage(home.path, id, budget)?.tokens.input;
  assert.equal(look({ ...budgetOfLook(), bytes: 0 }), undefined);
  assert.equal(look(budgetOfLook()), 10);
  appendFileSync(path, counted(20));
  assert.equal(look({ ...budgetOfLook(), bytes: 0 }), 10);
  assert.equal(look(budgetOfLook()), 20);
});

test("OpenCode's database is opened once a look, and closed after it", async () => {
  await using home = await temporaryDirectory();
  const path = join(home.path, "opencode.db");
  const count = 20;
  write(path, (database) => {
    database.exec(`PRAGMA journal_mode = WAL;
      CREATE TABLE session (id text PRIMARY KEY, parent_id text, cost real, tokens_input integer,
        tokens_output integer, tokens_reasoning integer, tokens_cache_read integer,
        tokens_cache_write integer);`);
    for (let index = 0; index < count; index++) database.exec(inserting(`s${index}`));
  });
  const databases = new OpencodeDatabases();
  const look = (): number => {
    let told = 0;
    for (let index = 0; index < count; index++) {
      if (databases.usage(path, `s${index}`)) told += 1;
      assert.ok(openFiles(path) <= 1, "one for all sessions");
    }
    databases.close();
    assert.equal(openFiles(path), 0);
    return told;
  };
  assert.equal(look(), count);
  write(path, (database) =>
    database.exec(`${inserting("s99")}; DELETE FROM session WHERE id = 's0'`),
  );
  assert.equal(look(), count - 1, "what was written since is seen");
});

const inserting = (id: string): string =>
  `INSERT INTO session VALUES ('${id}', NULL, 0, 1, 1, 0, 0, 0)`;

function write(path: string, work: (database: DatabaseSync) => void): void {
  using database = new DatabaseSync(path);
  work(database);
}

/** How often this process has the file open. */
function openFiles(path: string): number {
  return readdirSync("/proc/self/fd").filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`) === path;
    } catch {
      return false;
    }
  }).length;
}
