/** Records as the programs write them, in the shape of their versions of today. */
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { temporaryDirectory } from "../testing/temporary.ts";
import type { JsonObject } from "../wire/status-file/index.ts";
import { limits } from "./limits.ts";
import { sight } from "./sight.ts";
import { Surroundings } from "./surroundings.ts";
import type { FoundProcess, StatusFile } from "./types.ts";

const now = "2026-06-20T12:00:00Z";
const nowMs = Date.parse(now);

function fileOf(
  name: string,
  meta: JsonObject,
  more: Partial<StatusFile["record"]> = {},
): StatusFile {
  return {
    path: `/s/${name}.json`,
    record: {
      schema_version: "agent-status/v1alpha1",
      agent_id: name,
      agent_name: name,
      runtime: { lifecycle: "running", updated_at: now, workspace: "/src/my.app" },
      x_meta: meta,
      ...more,
    },
  };
}

/** Looks at one agent, as often as it is asked. */
function watching(home: string, found: { file?: StatusFile; process?: FoundProcess }) {
  const surroundings = new Surroundings({ home });
  return () => {
    const sources = {
      files: found.file ? [found.file] : [],
      registered: [],
      processes: found.process ? [found.process] : [],
    };
    const seen = sight(sources, { nowMs, hostName: "here" });
    const [sighting] = surroundings.look(seen, sources);
    assert.ok(sighting);
    const { tokens, costUsd } = sighting;
    return { ...(tokens ? { tokens } : {}), ...(costUsd === undefined ? {} : { costUsd }) };
  };
}

const session = "b95e94d7-3026-42b0-a9c7-6d9ba765da44";
const claude = fileOf("claude-code", { claude_code: { session_id: session } });

function transcript(home: string, folder = "-src-my-app"): string {
  const path = join(home, ".claude/projects", folder, `${session}.jsonl`);
  mkdirSync(dirname(path), { recursive: true });
  return path;
}

function said(id: string, input: number, output: number, more: JsonObject = {}): string {
  const usage = {
    input_tokens: input,
    cache_creation_input_tokens: 100,
    cache_read_input_tokens: 1_000,
    output_tokens: output,
  };
  const message = { id, type: "message", role: "assistant", model: "m", content: [], usage };
  return `${JSON.stringify({ type: "assistant", sessionId: session, message, ...more })}\n`;
}

const spent = (costUsd: number, isPartial = false): string =>
  `${JSON.stringify({ type: "cost-state", sessionId: session, totalCostUSD: costUsd, modelUsage: {}, hasUnknownModelCost: isPartial })}\n`;

test("a message of several parts counts once, by its last part", async () => {
  await using directory = await temporaryDirectory();
  const path = transcript(directory.path);
  const look = watching(directory.path, { file: claude });
  assert.deepEqual(look(), {});
  writeFileSync(path, `{"type":"user"}\n${said("m1", 10, 1)}`);
  appendFileSync(path, said("m2", 20, 5));
  appendFileSync(path, said("m1", 10, 40));
  assert.deepEqual(look(), { tokens: { input: 2_230, output: 45 } });
  // Goes on where it stopped, and waits for a line to be whole.
  const third = said("m3", 1, 1);
  appendFileSync(path, third.slice(0, 40));
  assert.deepEqual(look(), { tokens: { input: 2_230, output: 45 } });
  appendFileSync(path, third.slice(40));
  assert.deepEqual(look(), { tokens: { input: 3_331, output: 46 } });
  // A file that begins anew is another one.
  truncateSync(path, 0);
  appendFileSync(path, said("m9", 1, 1));
  assert.deepEqual(look(), { tokens: { input: 1_101, output: 1 } });
});

test("what a session cost is told until it goes on", async () => {
  await using directory = await temporaryDirectory();
  const path = transcript(directory.path);
  const look = watching(directory.path, { file: claude });
  writeFileSync(path, said("m1", 10, 1) + spent(0.25));
  assert.deepEqual(look(), { tokens: { input: 1_110, output: 1 }, costUsd: 0.25 });
  appendFileSync(path, said("m2", 10, 1));
  assert.deepEqual(look(), { tokens: { input: 2_220, output: 2 } });
  appendFileSync(path, spent(0.5, true));
  assert.equal(look().costUsd, undefined);
});

test("sub-agents count, and what was forked from another session does not", async () => {
  await using directory = await temporaryDirectory();
  const path = transcript(directory.path, "-where-it-began");
  writeFileSync(path, said("m0", 5, 5, { forkedFrom: { sessionId: "x" } }) + said("m1", 10, 1));
  const aside = path.replace(".jsonl", "/subagents");
  mkdirSync(aside, { recursive: true });
  writeFileSync(join(aside, "agent-1.jsonl"), said("s1", 10, 2, { isSidechain: true }));
  const look = watching(directory.path, { file: claude });
  assert.deepEqual(look(), { tokens: { input: 2_220, output: 3 } });
});

test("a session that is known only from a process is found where that process keeps it", async () => {
  await using directory = await temporaryDirectory();
  const path = transcript(directory.path);
  writeFileSync(path, said("m1", 10, 1));
  const told = { state: "idle", word: "idle", session, path: "/x" } as const;
  const process = {
    pid: 42,
    startedAtMs: 0,
    program: "claude-code",
    workspace: "/src/my.app",
    told,
    env: { HOME: directory.path },
  };
  assert.deepEqual(watching("/nowhere", { process })(), { tokens: { input: 1_110, output: 1 } });
});

test("numbers that are none, and lines that are too long, are not told at all", async () => {
  await using directory = await temporaryDirectory();
  const path = transcript(directory.path);
  writeFileSync(path, said("m1", 10, -1));
  assert.deepEqual(watching(directory.path, { file: claude })(), {});
  writeFileSync(path, `${said("m1", 10, 1)}${"x".repeat(limits.usageChunkBytes + 1)}`);
  assert.deepEqual(watching(directory.path, { file: claude })(), {});
});

test("a long record is read over several looks, and told when it is read", async () => {
  await using directory = await temporaryDirectory();
  const path = transcript(directory.path);
  const line = `${JSON.stringify({ type: "user", text: "x".repeat(1_000_000) })}\n`;
  const lines = Math.ceil(limits.usageBytesPerLook / line.length) + 2;
  writeFileSync(path, said("m1", 10, 1) + line.repeat(lines) + said("m2", 10, 1));
  const look = watching(directory.path, { file: claude });
  assert.deepEqual(look(), {});
  assert.deepEqual(look(), { tokens: { input: 2_220, output: 2 } });
});

test("a session id is no path", async () => {
  await using directory = await temporaryDirectory();
  writeFileSync(join(directory.path, "secret.jsonl"), said("m1", 10, 1));
  mkdirSync(join(directory.path, ".claude/projects/-src-my-app"), { recursive: true });
  const file = fileOf("claude-code", { claude_code: { session_id: "../../../secret" } });
  assert.deepEqual(watching(directory.path, { file })(), {});
});

test("Codex tells at the end of its rollout what all of it came to", async () => {
  await using directory = await temporaryDirectory();
  const madeAtMs = new Date(2026, 10, 16, 12).getTime();
  const hex = madeAtMs.toString(16).padStart(12, "0");
  const id = `${hex.slice(0, 8)}-${hex.slice(8)}-7f63-ac6f-ec375e309037`;
  const folder = join(directory.path, ".codex/sessions/2026/11/16");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `rollout-2026-11-16T12-00-00-${id}.jsonl`);
  const counted = (input: number): string => {
    const total = { input_tokens: input, cached_input_tokens: 3, output_tokens: 7 };
    const info = { total_token_usage: total, last_token_usage: { input_tokens: 1 } };
    return `${JSON.stringify({ type: "event_msg", payload: { type: "token_count", info } })}\n`;
  };
  const file = fileOf("codex", { codex: { session_id: id } });
  const look = watching(directory.path, { file });
  assert.deepEqual(look(), {});
  writeFileSync(path, counted(10) + "x".repeat(limits.tailBytes));
  assert.deepEqual(look(), {}, "it stands too far from the end");
  const limited = { type: "event_msg", payload: { type: "token_count", info: null } };
  appendFileSync(path, `\n${counted(20)}${counted(30)}${JSON.stringify(limited)}\n{"type":"tok`);
  assert.deepEqual(look(), { tokens: { input: 30, output: 7 } });
});

test("OpenCode's database tells of a session and of those below it, while it is written", async () => {
  await using directory = await temporaryDirectory();
  const folder = join(directory.path, ".local/share/opencode");
  mkdirSync(folder, { recursive: true });
  const file = fileOf("opencode", { opencode: { session_id: "ses_1" } });
  const look = watching(directory.path, { file });
  assert.deepEqual(look(), {});
  const database = new DatabaseSync(join(folder, "opencode.db"));
  try {
    database.exec(`PRAGMA journal_mode = WAL;
      CREATE TABLE session (id text PRIMARY KEY, parent_id text, cost real, tokens_input integer,
        tokens_output integer, tokens_reasoning integer, tokens_cache_read integer,
        tokens_cache_write integer);
      INSERT INTO session VALUES ('ses_1', NULL, 0.5, 10, 5, 1, 100, 2),
        ('ses_2', 'ses_1', 0.25, 1, 1, 0, 0, 0), ('ses_3', NULL, 9, 9, 9, 9, 9, 9);`);
    assert.deepEqual(look(), { tokens: { input: 113, output: 7 }, costUsd: 0.75 });
    database.exec("UPDATE session SET tokens_output = 6, cost = 0 WHERE parent_id IS NOT NULL");
    database.exec("UPDATE session SET cost = 0");
    assert.deepEqual(look(), { tokens: { input: 113, output: 12 } }, "no price is known");
    database.exec("DROP TABLE session");
    assert.deepEqual(look(), {}, "another version");
  } finally {
    database.close();
  }
});

test("Pi's session file tells of tokens and cost", async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, "2026_01.jsonl");
  const answered = (output: number, total: number): string => {
    const usage = { input: 10, output, cacheRead: 5, cacheWrite: 0, cost: { total } };
    return `${JSON.stringify({ type: "message", message: { role: "assistant", usage } })}\n`;
  };
  writeFileSync(path, `${answered(1, 0.25)}${answered(2, 0.5)}{"type":"model_change"}\n`);
  const file = fileOf("pi", {}, { agent_id: "pi-1", task: { context_id: path } });
  const look = watching(directory.path, { file });
  assert.deepEqual(look(), { tokens: { input: 30, output: 3 }, costUsd: 0.75 });
});

test("an agent that only the registry knows is not looked for on this disk", () => {
  const agent = {
    id: "r",
    name: "r",
    liveness: "alive",
    heardAtMs: nowMs,
    workspace: process.cwd(),
  } as const;
  const sources = { files: [], registered: [agent], processes: [] };
  const seen = sight(sources, { nowMs, hostName: "here" });
  assert.deepEqual(new Surroundings().look(seen, sources), seen);
});
