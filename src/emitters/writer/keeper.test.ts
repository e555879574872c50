import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readDirectory, writeStatusFile } from "../../status-files/index.ts";
import { unprivileged } from "../../testing/unprivileged.ts";
import type { HostName } from "../../wire/host-events/index.ts";
import { printTimestamp, type StatusRecord } from "../../wire/status-file/index.ts";
import { Keeper } from "./keeper.ts";
import { makePlaces, type Places, placesIn } from "./places.ts";
import type { Queued } from "./queue.ts";

/** Something that runs until it is told not to, and stands for a host. */
class Pretended implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  constructor(env: NodeJS.ProcessEnv = {}) {
    this.#child = spawn("sleep", ["600"], {
      stdio: "ignore",
      env: { PATH: process.env["PATH"], ...env },
    });
    this.#exited = once(this.#child, "exit");
  }

  get pid(): number {
    assert.ok(this.#child.pid);
    return this.#child.pid;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

class Scene implements AsyncDisposable {
  readonly directory: string = realpathSync(mkdtempSync(join(tmpdir(), "tipstaff-test-")));
  readonly status: string = join(this.directory, "status");
  readonly places: Places = placesIn(join(this.directory, "emitters"));
  keeper: Keeper;
  nowMs = 1_800_000_000_000;

  constructor() {
    makePlaces(this.places);
    this.keeper = this.next();
  }

  /** Another keeper, as after the death of the first. */
  next(): Keeper {
    this.keeper = new Keeper({ places: this.places, statusDirectory: this.status });
    return this.keeper;
  }

  /** A second later. */
  hear(
    pid: number,
    name: string,
    fields: Readonly<Record<string, unknown>> = {},
    queued: Partial<Queued> = {},
  ): void {
    this.nowMs += 1000;
    const members = new Map<string, unknown>(Object.entries({ session_id: "s1", ...fields }));
    const event = { name, sessionId: String(members.get("session_id")), members };
    const env = { TMUX: "", TMUX_PANE: "", AGENT_STATUS_DIR: "" };
    const host: HostName = "claude-code";
    const atMs = this.nowMs;
    this.keeper.hear(
      { host, event, atMs, pid, env, workingDirectory: this.directory, ...queued },
      this.nowMs,
    );
  }

  async records(directory: string = this.status): Promise<readonly StatusRecord[]> {
    await this.keeper.flush();
    const { files, warnings } = readDirectory(directory);
    assert.deepEqual(warnings, []);
    return files.map(({ record }) => record);
  }

  async only(): Promise<StatusRecord> {
    const [record, ...rest] = await this.records();
    assert.ok(record);
    assert.deepEqual(rest, []);
    return record;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.keeper.flush();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

test("AS-79, AS-81, AS-82: a session has one file from its start to its end, and the next another", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  scene.hear(host.pid, "UserPromptSubmit", { prompt: "too early" });
  assert.deepEqual(await scene.records(), []);
  scene.hear(host.pid, "SessionStart", { source: "startup" });
  const { agent_id: id, runtime } = await scene.only();
  assert.match(id, /^claude-code-[0-9a-f]{32}$/);
  assert.equal(runtime.pid, host.pid);
  scene.hear(host.pid, "SessionStart", { source: "startup" });
  scene.hear(host.pid, "UserPromptSubmit", { prompt: "fix it" });
  const { agent_id, task, goal } = await scene.only();
  assert.deepEqual([agent_id, task?.state, goal?.summary], [id, "working", "fix it"]);
  assert.equal(statSync(join(scene.status, `${id}.json`)).mode & 0o777, 0o600);
  scene.hear(host.pid, "SessionEnd");
  assert.deepEqual(await scene.records(), []);
  assert.deepEqual(readdirSync(scene.status), []);
  assert.deepEqual(readdirSync(scene.places.sessions), []);
  assert.ok(scene.keeper.isEmpty);
  scene.hear(host.pid, "SessionStart", { source: "startup" });
  assert.notEqual((await scene.only()).agent_id, id, "after a clean end the next one has a new id");
});

test("sessions of several hosts and processes do not mix", async () => {
  await using scene = new Scene();
  await using one = new Pretended();
  await using other = new Pretended();
  scene.hear(one.pid, "SessionStart");
  scene.hear(other.pid, "SessionStart", {}, { host: "codex" });
  scene.hear(other.pid, "SessionStart", { session_id: "s2" });
  scene.hear(one.pid, "UserPromptSubmit", { prompt: "x" });
  const found = (await scene.records()).map(({ agent_name, runtime, task }) => [
    agent_name,
    runtime.pid,
    task?.state,
  ]);
  assert.deepEqual(
    found.toSorted(),
    [
      ["claude-code", one.pid, "working"],
      ["claude-code", other.pid, undefined],
      ["codex", other.pid, undefined],
    ].toSorted(),
  );
});

test("AS-88: a host that was killed leaves no file, whatever it was doing", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  await using other = new Pretended();
  scene.hear(host.pid, "SessionStart");
  scene.hear(other.pid, "SessionStart", { session_id: "s2" });
  scene.hear(host.pid, "UserPromptSubmit", { prompt: "x" });
  scene.keeper.look(scene.nowMs);
  assert.equal((await scene.records()).length, 2);
  await host.kill();
  scene.keeper.look(scene.nowMs);
  const { x_meta } = await scene.only();
  assert.deepEqual(x_meta, { claude_code: { session_id: "s2" } });
});

test("a session whose host is dead before it is heard of has none", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  await host.kill();
  scene.hear(host.pid, "SessionStart");
  assert.deepEqual(await scene.records(), []);
});

test("AS-82: after a crash the next writer goes on under the same id", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  await using dead = new Pretended();
  scene.hear(host.pid, "SessionStart");
  scene.hear(dead.pid, "SessionStart", { session_id: "s2" });
  scene.hear(host.pid, "UserPromptSubmit", { prompt: "fix it", prompt_id: "p1" });
  scene.hear(host.pid, "PreToolUse", { tool_name: "Bash", tool_use_id: "t1" });
  scene.hear(host.pid, "PermissionRequest", { tool_name: "Bash" });
  const before = (await scene.records()).find(({ task }) => task);
  await dead.kill();
  scene.next().adopt(scene.nowMs + 5000);
  const adopted = await scene.only();
  assert.deepEqual(adopted, {
    ...before,
    runtime: { ...before?.runtime, updated_at: printTimestamp(scene.nowMs + 5000) },
  });
  scene.hear(host.pid, "SessionStart", { source: "startup" });
  assert.deepEqual((await scene.only()).task, before?.task);
  scene.hear(host.pid, "PostToolUse", { tool_name: "Bash", tool_use_id: "t1" });
  assert.equal((await scene.only()).task?.state, "working");
});

test("what cannot be read of an earlier writer is cleared away", async () => {
  await using scene = new Scene();
  for (const [index, text] of [
    "",
    "{",
    "[]",
    '{"format":2}',
    '{"format":1,"session":{}}',
  ].entries()) {
    writeFileSync(join(scene.places.sessions, `${index}.json`), text);
  }
  scene.keeper.adopt(scene.nowMs);
  assert.deepEqual(readdirSync(scene.places.sessions), []);
  assert.ok(scene.keeper.isEmpty);
});

test("a session that cannot be taken up keeps nobody from the others", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  scene.hear(host.pid, "SessionStart", { session_id: "a" });
  scene.hear(host.pid, "SessionStart", { session_id: "z" });
  await scene.records();
  const path = join(scene.places.sessions, "claude-code-a.json");
  const { session, ...rest } = JSON.parse(readFileSync(path, "utf8"));
  for (const damage of [
    { subagents: null },
    { asking: {} },
    { calls: "x" },
    { turn: 7 },
    { lastActivityAtMs: "x" },
  ]) {
    writeFileSync(path, JSON.stringify({ ...rest, session: { ...session, ...damage } }));
    scene.next().adopt(scene.nowMs);
    scene.keeper.look(scene.nowMs);
    scene.hear(host.pid, "UserPromptSubmit", { session_id: "z", prompt: "x" });
    const found = await scene.records();
    const other = found.find(({ x_meta }) => JSON.stringify(x_meta).includes('"z"'));
    assert.equal(other?.task?.state, "working", JSON.stringify(damage));
  }
});

test("a goal is kept for a resume in another process, and a clear forgets it", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  scene.hear(host.pid, "SessionStart");
  scene.hear(host.pid, "UserPromptSubmit", { prompt: "the goal" });
  scene.hear(host.pid, "SessionEnd");
  await using later = new Pretended();
  scene.hear(later.pid, "SessionStart", { source: "resume" });
  assert.equal((await scene.only()).goal?.summary, "the goal");
  assert.equal((await scene.only()).runtime.pid, later.pid);
  scene.hear(later.pid, "SessionStart", { source: "clear" });
  assert.equal((await scene.only()).goal, undefined);
  assert.deepEqual(readdirSync(scene.places.goals), []);
});

test("AS-95: what is kept is for the user alone", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  scene.hear(host.pid, "SessionStart");
  scene.hear(host.pid, "UserPromptSubmit", { prompt: "secret" });
  for (const directory of [scene.places.sessions, scene.places.goals]) {
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    for (const name of readdirSync(directory)) {
      assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600);
    }
  }
});

test("a process that shows another session has left the first", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  await using other = new Pretended();
  scene.hear(host.pid, "SessionStart", {}, { host: "codex" });
  scene.hear(other.pid, "SessionStart", { session_id: "s2" }, { host: "codex" });
  scene.hear(host.pid, "SessionStart", { session_id: "s3", source: "clear" }, { host: "codex" });
  scene.keeper.look(scene.nowMs);
  const ids = (await scene.records()).map(({ x_meta }) => JSON.stringify(x_meta));
  assert.deepEqual(ids.toSorted(), [
    '{"codex":{"session_id":"s2"}}',
    '{"codex":{"session_id":"s3"}}',
  ]);
});

test("a session that was left in the middle of a turn stays until the turn is over", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  scene.hear(host.pid, "SessionStart", {}, { host: "codex" });
  scene.hear(host.pid, "UserPromptSubmit", { prompt: "x" }, { host: "codex" });
  scene.hear(host.pid, "SessionStart", { session_id: "s2" }, { host: "codex" });
  scene.keeper.look(scene.nowMs);
  assert.equal((await scene.records()).length, 2);
  scene.hear(host.pid, "Stop", {}, { host: "codex" });
  scene.keeper.look(scene.nowMs);
  assert.deepEqual((await scene.only()).x_meta, { codex: { session_id: "s2" } });
});

test("a heartbeat moves the time of the last update", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  scene.hear(host.pid, "SessionStart");
  scene.hear(host.pid, "UserPromptSubmit", { prompt: "x" });
  const before = await scene.only();
  scene.keeper.beat(scene.nowMs + 20_000);
  const after = await scene.only();
  assert.equal(after.runtime.updated_at, printTimestamp(scene.nowMs + 20_000));
  assert.deepEqual({ ...after, runtime: before.runtime }, before);
});

/** What another emitter writes for the session. */
function foreignAt(nowMs: number, lifecycle: "running" | "stopped" = "running"): StatusRecord {
  return {
    schema_version: "agent-status/v1alpha1",
    agent_id: "claude-code-foreign",
    agent_name: "claude-code",
    runtime: { lifecycle, updated_at: printTimestamp(nowMs) },
    x_meta: { claude_code: { session_id: "s1" } },
  };
}

test("AS-94: where another emitter writes for the session, we do not, until it is gone", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  const foreign = foreignAt(scene.nowMs);
  writeStatusFile(scene.status, foreign);
  scene.hear(host.pid, "SessionStart");
  scene.hear(host.pid, "UserPromptSubmit", { prompt: "x" });
  assert.deepEqual(await scene.only(), foreign);
  scene.keeper.beat(scene.nowMs + 120_000);
  const ids = (await scene.records()).map(({ agent_id }) => agent_id);
  assert.equal(ids.length, 2, "stale: nobody writes it any more");
});

test("AS-94: the next writer makes way for another emitter, too", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  const foreign = foreignAt(scene.nowMs);
  writeStatusFile(scene.status, foreign);
  scene.hear(host.pid, "SessionStart");
  scene.next().adopt(scene.nowMs);
  assert.deepEqual(await scene.only(), foreign);
  scene.keeper.beat(scene.nowMs);
  assert.deepEqual(await scene.only(), foreign);
});

test("AS-94: whoever comes a moment after us has the session from the next heartbeat on", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  scene.hear(host.pid, "SessionStart");
  const { agent_id: id } = await scene.only();
  const foreign = foreignAt(scene.nowMs);
  writeStatusFile(scene.status, foreign);
  scene.keeper.beat(scene.nowMs);
  assert.deepEqual(await scene.only(), foreign);
  scene.hear(host.pid, "UserPromptSubmit", { prompt: "x" });
  assert.deepEqual(await scene.only(), foreign);
  const stopped = foreignAt(scene.nowMs, "stopped");
  writeStatusFile(scene.status, stopped);
  scene.keeper.beat(scene.nowMs);
  const ours = (await scene.records()).find(({ agent_id }) => agent_id === id);
  assert.equal(ours?.task?.state, "working", "it has stopped");
});

test("a session that ends and is resumed at once has a file, and is kept", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  scene.hear(host.pid, "SessionStart");
  const { agent_id: id } = await scene.only();
  // In the middle of a write, so that removing takes its time.
  scene.hear(host.pid, "UserPromptSubmit", { prompt: "x" });
  scene.hear(host.pid, "SessionEnd");
  scene.hear(host.pid, "SessionStart", { source: "resume" });
  const record = await scene.only();
  assert.notEqual(record.agent_id, id);
  assert.equal(record.goal?.summary, "x");
  assert.equal(readdirSync(scene.places.sessions).length, 1);
  scene.next().adopt(scene.nowMs);
  assert.equal((await scene.only()).agent_id, record.agent_id);
});

test("the environment of the host says where its file goes", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  const env = { TMUX: "", TMUX_PANE: "", AGENT_STATUS_DIR: "own place" };
  scene.hear(host.pid, "SessionStart", {}, { env });
  assert.equal((await scene.records(join(scene.directory, "own place"))).length, 1);
  assert.equal(existsSync(scene.status), false);
});

test("a workspace has no links in it, and a place in tmux is the hook's or the host's", async () => {
  await using scene = new Scene();
  mkdirSync(join(scene.directory, "real"));
  symlinkSync(join(scene.directory, "real"), join(scene.directory, "link"));
  await using host = new Pretended({ TMUX: "/tmp/t,1,2", TMUX_PANE: "%7" });
  scene.hear(host.pid, "SessionStart", { cwd: "link" });
  const { runtime, x_meta } = await scene.only();
  assert.equal(runtime.workspace, join(scene.directory, "real"));
  assert.deepEqual(x_meta, {
    claude_code: { session_id: "s1" },
    tmux_socket: "/tmp/t",
    tmux_pane: "%7",
  });
  const env = { TMUX: "/tmp/hook,1,2", TMUX_PANE: "%8", AGENT_STATUS_DIR: "" };
  scene.hear(host.pid, "SessionStart", { session_id: "s2" }, { env });
  scene.keeper.look(scene.nowMs);
  assert.equal((await scene.only()).x_meta?.["tmux_pane"], "%8");
});

test("AS-27: a directory that is not to be written to disturbs nobody", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  writeFileSync(scene.status, "in the way");
  rmSync(scene.places.sessions, { recursive: true });
  rmSync(scene.places.goals, { recursive: true });
  scene.hear(host.pid, "SessionStart");
  scene.hear(host.pid, "UserPromptSubmit", { prompt: "x" });
  scene.keeper.beat(scene.nowMs);
  await scene.keeper.flush();
  rmSync(scene.status);
  scene.keeper.beat(scene.nowMs);
  assert.equal(
    (await scene.only()).task?.state,
    "working",
    "and the next heartbeat makes up for it",
  );
  scene.hear(host.pid, "SessionEnd");
  assert.deepEqual(await scene.records(), []);
});

type Claude = {
  readonly transcript: string;
  readonly report: (status: string, sinceMs: number) => void;
};

/** What Claude Code writes beside its hooks. */
function claudeIn(scene: Scene, pid: number): Claude {
  const folder = join(scene.directory, "claude");
  mkdirSync(join(folder, "projects", "p"), { recursive: true });
  mkdirSync(join(folder, "sessions"));
  const path = join(folder, "sessions", `${pid}.json`);
  return {
    transcript: join(folder, "projects", "p", "s1.jsonl"),
    report: (status, sinceMs) => {
      writeFileSync(
        path,
        JSON.stringify({ pid, sessionId: "s1", status, statusUpdatedAt: sinceMs }),
      );
    },
  };
}

test("Claude Code says of itself that a turn was interrupted, and that a permission was given", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  const { transcript, report } = claudeIn(scene, host.pid);
  const state = async (): Promise<unknown> => {
    scene.nowMs += 100;
    scene.keeper.look(scene.nowMs);
    return (await scene.only()).task?.state;
  };
  report("idle", scene.nowMs);
  scene.hear(host.pid, "SessionStart", { transcript_path: transcript });
  scene.hear(host.pid, "UserPromptSubmit", { prompt: "x" });
  report("busy", scene.nowMs + 50);
  assert.equal(await state(), "working");
  scene.hear(host.pid, "PreToolUse", { tool_name: "Bash", tool_use_id: "t1" });
  scene.hear(host.pid, "PermissionRequest", { tool_name: "Bash" });
  assert.equal(await state(), "input-required");
  report("waiting", scene.nowMs + 50);
  assert.equal(await state(), "input-required");
  report("busy", scene.nowMs + 50);
  assert.equal(await state(), "working");
  report("idle", scene.nowMs + 50);
  assert.equal(await state(), "canceled");
  scene.nowMs += 20_000;
  assert.equal(await state(), undefined);
  report("busy", scene.nowMs + 50);
  assert.equal(await state(), "working", "a prompt that was typed during the last turn");
  const { task } = await scene.only();
  assert.equal(task?.summary, "x");
});

test("without that, a transcript tells of the interrupt", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  const transcript = join(scene.directory, "t.jsonl");
  const line = (text: string, atMs: number): string => {
    const message = { role: "user", content: [{ type: "text", text }] };
    return `${JSON.stringify({ type: "user", message, timestamp: new Date(atMs).toISOString() })}\n`;
  };
  const mark = "[Request interrupted by user]";
  writeFileSync(transcript, line(mark, scene.nowMs));
  scene.hear(host.pid, "SessionStart", { transcript_path: transcript });
  scene.hear(host.pid, "UserPromptSubmit", { prompt: "x" });
  scene.keeper.look(scene.nowMs);
  assert.equal((await scene.only()).task?.state, "working", "an earlier one");
  const added = line("filler ".repeat(100_000), scene.nowMs) + line(mark, scene.nowMs + 50);
  writeFileSync(transcript, added.slice(0, -20), { flag: "a" });
  scene.keeper.look(scene.nowMs + 60);
  assert.equal((await scene.only()).task?.state, "working", "half a line");
  writeFileSync(transcript, added.slice(-20), { flag: "a" });
  scene.keeper.look(scene.nowMs + 70);
  assert.equal((await scene.only()).task?.state, "canceled");
});

for (const [claim, command] of [
  ["a command that runs was permitted", `sleep 599.${process.pid}; true`],
  ["also when its shell has become the command", `sleep '598.${process.pid}'`],
  ["also when its shell has become the last of its commands", `true; sleep 597.${process.pid}`],
] as const) {
  test(claim, async () => {
    await using scene = new Scene();
    // Processes have the time of this machine.
    scene.nowMs = Date.now() - 10_000;
    const child = spawn("sh", ["-c", 'read -r go; sh -c "$0" <&- & wait', command], {
      stdio: ["pipe", "ignore", "ignore"],
      // A group of its own, so that all of it can be ended.
      detached: true,
    });
    try {
      assert.ok(child.pid);
      const codex = { host: "codex" } as const;
      scene.hear(child.pid, "SessionStart", {}, codex);
      scene.hear(child.pid, "UserPromptSubmit", { prompt: "x" }, codex);
      const asked = { tool_name: "Bash", tool_input: { command } };
      scene.hear(child.pid, "PermissionRequest", asked, codex);
      scene.keeper.look(scene.nowMs + 10);
      assert.equal((await scene.only()).task?.state, "input-required");
      child.stdin.end("go\n");
      const giveUpAtMs = performance.now() + 10_000;
      while ((await scene.only()).task?.state !== "working" && performance.now() < giveUpAtMs) {
        scene.keeper.look(scene.nowMs + 20);
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.equal((await scene.only()).task?.state, "working");
    } finally {
      process.kill(-(child.pid ?? 0), "SIGKILL");
    }
  });
}

test("what ran already when a person was asked is not what was asked for", async () => {
  await using scene = new Scene();
  const command = `sleep 596.${process.pid}`;
  const child = spawn("sh", ["-c", 'sh -c "$0; true" & echo; wait', command], {
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  });
  try {
    assert.ok(child.pid && child.stdout);
    await once(child.stdout, "data");
    scene.nowMs = Date.now() + 10_000;
    const codex = { host: "codex" } as const;
    scene.hear(child.pid, "SessionStart", {}, codex);
    scene.hear(child.pid, "UserPromptSubmit", { prompt: "x" }, codex);
    const asked = { tool_name: "Bash", tool_input: { command } };
    scene.hear(child.pid, "PermissionRequest", asked, codex);
    for (let tries = 0; tries < 50; tries += 1) {
      scene.keeper.look(scene.nowMs + 10);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.equal((await scene.only()).task?.state, "input-required");
  } finally {
    process.kill(-(child.pid ?? 0), "SIGKILL");
  }
});

test("a directory that became read-only keeps the file, and the writer goes on", async () => {
  await using scene = new Scene();
  await using host = new Pretended();
  scene.hear(host.pid, "SessionStart");
  await scene.only();
  chmodSync(scene.status, 0o500);
  await unprivileged(scene.directory, async () => {
    scene.hear(host.pid, "SessionEnd");
    await scene.keeper.flush();
  });
  chmodSync(scene.status, 0o700);
  assert.ok(scene.keeper.isEmpty);
  assert.equal(readdirSync(scene.status).length, 1);
});
