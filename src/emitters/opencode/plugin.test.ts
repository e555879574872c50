import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "../../testing/manual-clock.ts";
import { temporaryDirectory } from "../../testing/temporary.ts";
import { readRecord, type StatusRecord, validateStrict } from "../../wire/status-file/index.ts";
import type { Surroundings } from "../surroundings.ts";
import { type Hooks, openPlugin } from "./plugin.ts";

/** 2023-11-14T22:13:20Z */
const start = 1_700_000_000_000;

type Host = AsyncDisposable & {
  readonly directory: string;
  readonly clock: ManualClock;
  readonly hooks: Hooks;
  event(type: string, properties?: object): Promise<void>;
  prompt(text: string, sessionID?: string): Promise<void>;
  read(): StatusRecord;
  files(): readonly string[];
  /** The process ends by itself. */
  exit(): void;
};

function hostIn(
  directory: string,
  options: {
    readonly messages?: unknown;
    readonly env?: Surroundings["env"];
    readonly input?: unknown;
  } = {},
): Host {
  const clock = new ManualClock(start);
  const listeners = new Set<() => void>();
  const { messages = [], env = {}, input } = options;
  const hooks = openPlugin(
    input ?? {
      directory: "/project/tree",
      project: { id: "project-1" },
      client: { session: { messages: async () => ({ data: messages }) } },
    },
    {
      env: { AGENT_STATUS_DIR: directory, ...env },
      pid: process.pid,
      clock,
      workingDirectory: () => "/project/elsewhere",
      onExit: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  );
  const files = (): readonly string[] => readdirSync(directory);
  return {
    directory,
    clock,
    hooks,
    event: (type, properties = {}) =>
      hooks.event({ event: { type, properties: { sessionID: "s1", ...properties } } }),
    prompt: (text, sessionID = "s1") =>
      hooks["chat.message"](
        { sessionID },
        { message: { role: "user" }, parts: [{ type: "text", text }] },
      ),
    read: () => {
      const [name = "", ...others] = files().filter((file) => file.endsWith(".json"));
      assert.deepEqual(others, [], "one file");
      const bytes = readFileSync(join(directory, name));
      const { record, problem } = readRecord(bytes);
      assert(record, String(problem?.errors));
      assert.deepEqual(validateStrict(JSON.parse(String(bytes)), { fileName: name }), []);
      return record;
    },
    files,
    exit: () => {
      for (const listener of listeners) listener();
    },
    [Symbol.asyncDispose]: hooks.dispose,
  };
}

test("[AS-79] [AS-90] the file is there as soon as the plugin is, and is about no session", async () => {
  await using scratch = await temporaryDirectory();
  await using host = hostIn(scratch.path);
  const record = host.read();
  assert.match(record.agent_id, /^opencode-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.deepEqual(record, {
    schema_version: "agent-status/v1alpha1",
    agent_id: record.agent_id,
    agent_name: "opencode",
    runtime: {
      lifecycle: "running",
      updated_at: "2023-11-14T22:13:20Z",
      pid: process.pid,
      workspace: "/project/tree",
    },
    x_meta: { opencode: { project_id: "project-1" } },
  });
});

test("[AS-21] [AS-84] a turn from its prompt to its end, as a reader sees it", async () => {
  await using scratch = await temporaryDirectory();
  await using host = hostIn(scratch.path, { env: { TMUX: "/tmp/a,b,12,3", TMUX_PANE: "%4" } });
  const { agent_id } = host.read();
  await host.event("session.created", { info: { id: "s1" } });
  assert.deepEqual(host.read().x_meta, {
    opencode: { project_id: "project-1", session_id: "s1" },
    tmux_pane: "%4",
    tmux_socket: "/tmp/a,b",
  });
  host.clock.leap(5_000);
  await host.prompt("Build it");
  const working = host.read();
  assert.equal(working.agent_id, agent_id);
  assert.equal(working.runtime.last_activity_at, "2023-11-14T22:13:25Z");
  assert.deepEqual(working.goal, {
    source: "initial-prompt",
    summary: "Build it",
    updated_at: "2023-11-14T22:13:25Z",
  });
  assert.deepEqual(working.task, {
    context_id: "s1",
    state: "working",
    status_timestamp: "2023-11-14T22:13:25Z",
    summary: "Build it",
  });
  await host.event("session.idle");
  const idle = host.read();
  assert(!("task" in idle));
  assert.deepEqual(idle.goal, working.goal);
});

test("[AS-83] a question is on disk when the host goes on, and so is its answer", async () => {
  await using scratch = await temporaryDirectory();
  await using host = hostIn(scratch.path);
  await host.event("session.created", { info: { id: "s1" } });
  await host.prompt("Do it");
  await host.hooks["tool.execute.before"]({ tool: "question", sessionID: "s1", callID: "c" });
  assert.equal(host.read().task?.state, "input-required");
  await host.hooks["tool.execute.after"]({ tool: "question", sessionID: "s1", callID: "c" });
  assert.equal(host.read().task?.state, "working");
  await host.event("permission.asked", { id: "p" });
  assert.equal(host.read().task?.summary, "Waiting for permission");
  await host.event("permission.replied", { requestID: "p" });
  assert.equal(host.read().task?.summary, "Do it");
});

test("[AS-22] [AS-23] a heartbeat every 20 s changes when the file was written, and nothing else", async () => {
  await using scratch = await temporaryDirectory();
  await using host = hostIn(scratch.path);
  await host.event("session.created", { info: { id: "s1" } });
  await host.prompt("Do it");
  const before = host.read();
  host.clock.leap(19_999);
  await turn();
  assert.deepEqual(host.read(), before);
  for (const [leapMs, second] of [
    [1, "40"],
    [20_000, "00"],
    [20_000, "20"],
  ] as const) {
    host.clock.leap(leapMs);
    await until(() => host.read().runtime.updated_at.endsWith(`:${second}Z`));
    const { runtime, ...rest } = host.read();
    assert.deepEqual({ ...rest, runtime: before.runtime }, before);
    assert.equal(runtime.last_activity_at, before.runtime.last_activity_at);
  }
  assert.deepEqual(host.files().length, 1, "no temporary file is left");
});

test("[AS-24] a failure that no idle host follows is over with the next heartbeat", async () => {
  await using scratch = await temporaryDirectory();
  await using host = hostIn(scratch.path);
  await host.event("session.created", { info: { id: "s1" } });
  await host.event("session.error", { error: { name: "UnknownError", data: { message: "boom" } } });
  assert.equal(host.read().task?.state, "failed");
  host.clock.leap(20_000);
  await until(() => !("task" in host.read()));
});

test("[AS-26] the file is gone when the host is done with the plugin, and does not come back", async () => {
  await using scratch = await temporaryDirectory();
  await using host = hostIn(scratch.path);
  await host.hooks.dispose();
  assert.deepEqual(host.files(), []);
  await host.hooks.dispose();
  host.clock.leap(20_000);
  await turn();
  await host.prompt("Too late");
  assert.deepEqual(host.files(), []);
  assert.equal(host.clock.sleepers, 0);
});

test("[AS-26] the file is gone when the process ends, also while one is being written", async () => {
  await using scratch = await temporaryDirectory();
  await using host = hostIn(scratch.path);
  host.clock.leap(20_000);
  await turn();
  host.exit();
  assert.deepEqual(host.files(), []);
  await turn();
  assert.deepEqual(host.files(), []);
});

test("[AS-85] a session that is resumed is for what it began with", async () => {
  await using scratch = await temporaryDirectory();
  const messages = [{ info: { role: "user" }, parts: [{ type: "text", text: "Original" }] }];
  await using host = hostIn(scratch.path, { messages });
  await host.prompt("Go on");
  await until(() => host.read().goal?.summary === "Original");
  assert.equal(host.read().task?.summary, "Go on");
});

test("[AS-79] [AS-81] one file for a process that has many sessions, and none for what has none", async () => {
  await using scratch = await temporaryDirectory();
  await using host = hostIn(scratch.path);
  await host.event("session.created", { info: { id: "parent" }, sessionID: "parent" });
  await host.event("session.created", {
    info: { id: "child", parentID: "parent" },
    sessionID: "child",
  });
  await host.event("session.created", { info: { id: "other" }, sessionID: "other" });
  assert.equal(metaOf(host.read())["session_id"], "other");
  await host.event("session.deleted", { info: { id: "other" }, sessionID: "other" });
  const record = host.read();
  assert(!("session_id" in metaOf(record)));
  assert(!("goal" in record) && !("task" in record));
});

test("[AS-81] a plugin that is installed twice is there once, and the other takes over when it goes", async () => {
  await using scratch = await temporaryDirectory();
  await using first = hostIn(scratch.path);
  await using second = hostIn(scratch.path);
  const { agent_id } = first.read();
  for (const host of [first, second])
    await host.event("session.created", { info: { id: "twice" } });
  for (const host of [first, second]) await host.prompt("Do it");
  assert.equal(first.read().agent_id, agent_id);
  await first.hooks.dispose();
  await second.prompt("Go on");
  assert.notEqual(second.read().agent_id, agent_id);
  assert.equal(second.read().task?.summary, "Go on");
  await second.hooks.dispose();
  assert.deepEqual(second.files(), []);
});

test("[AS-81] a session that another plugin of this process tells of is left to it", async () => {
  await using one = await temporaryDirectory();
  await using other = await temporaryDirectory();
  await using first = hostIn(one.path);
  await using second = hostIn(other.path);
  await first.event("session.created", { sessionID: "mine", info: { id: "mine" } });
  await second.event("session.created", { sessionID: "mine", info: { id: "mine" } });
  assert(!("session_id" in metaOf(second.read())));
  await first.hooks.dispose();
  await second.prompt("Go on", "mine");
  assert.equal(metaOf(second.read())["session_id"], "mine");
  await second.hooks.dispose();
});

test("[AS-94] another emitter that tells of the same session is let alone", async () => {
  await using scratch = await temporaryDirectory();
  await using host = hostIn(scratch.path);
  const record = host.read();
  const path = join(scratch.path, "opencode-other.json");
  const other = (more: object): void => {
    const text = JSON.stringify({ ...record, agent_id: "opencode-other", ...more });
    writeFileSync(path, text);
  };
  const about = (session_id: string) => ({ x_meta: { opencode: { session_id } } });
  // Neither another session, nor another process, nor one that has gone silent.
  other(about("s2"));
  await host.prompt("one", "s3");
  other({ ...about("s4"), runtime: { ...record.runtime, pid: 1 } });
  await host.prompt("two", "s4");
  other({ ...about("s5"), runtime: { ...record.runtime, updated_at: "2023-11-14T22:10:00Z" } });
  await host.prompt("three", "s5");
  assert.equal(host.files().length, 2);
  other(about("s1"));
  await host.prompt("four");
  assert.deepEqual(host.files(), ["opencode-other.json"]);
  host.clock.leap(20_000);
  await turn();
  await host.prompt("five");
  assert.deepEqual(host.files(), ["opencode-other.json"]);
});

test("[AS-27] a directory that cannot be written to does not reach the host, and is tried again", async () => {
  await using scratch = await temporaryDirectory();
  const directory = join(scratch.path, "blocked");
  writeFileSync(directory, "a file where the directory should be");
  await using host = hostIn(directory);
  await host.event("session.created", { info: { id: "s1" } });
  await host.prompt("Do it");
  host.clock.leap(20_000);
  await turn();
  rmSync(directory);
  host.clock.leap(20_000);
  await until(() => {
    try {
      return host.files().length === 1;
    } catch {
      return false;
    }
  });
  await until(() => host.files().every((name) => name.endsWith(".json")));
  assert.equal(host.read().task?.summary, "Do it");
  rmSync(directory, { recursive: true });
});

test("[AS-27] a directory that became read-only, or vanished, does not reach the host", async () => {
  await using scratch = await temporaryDirectory();
  const directory = join(scratch.path, "d");
  mkdirSync(directory);
  await using host = hostIn(directory);
  chmodSync(directory, 0o500);
  await host.prompt("Do it");
  host.clock.leap(20_000);
  await turn();
  host.exit();
  chmodSync(directory, 0o700);
  rmSync(directory, { recursive: true });
});

test("[AS-27] [AS-28] whatever a host hands over, nothing is thrown and the file is a record", async () => {
  await using scratch = await temporaryDirectory();
  const trap = new Proxy(
    {},
    {
      get: () => {
        throw new Error("do not touch");
      },
      ownKeys: () => {
        throw new Error("do not touch");
      },
    },
  );
  const odd = [undefined, null, 7, "text", [], {}, trap, () => {}];
  for (const input of odd) {
    await using host = hostIn(scratch.path, { input });
    for (const one of odd) {
      await host.hooks.event(one);
      await host.hooks.event({ event: one });
      await host.hooks.event({ event: { type: "session.error", properties: one } });
      await host.hooks["chat.message"]({ sessionID: "s1" }, one);
      await host.hooks["tool.execute.before"](one);
      await host.hooks["tool.execute.after"](one);
    }
    if (host.files().length > 0) host.read();
    await host.hooks.dispose();
  }
  const rejecting = { session: { messages: () => Promise.reject(new Error("no server")) } };
  await using host = hostIn(scratch.path, { input: { client: rejecting } });
  await host.prompt("Do it");
  await turn();
  assert.equal(host.read().runtime.workspace, "/project/elsewhere");
});

test("[AS-3] a relative directory is the one it was when the host started", async () => {
  await using scratch = await temporaryDirectory();
  const here = process.cwd();
  process.chdir(scratch.path);
  try {
    await using host = hostIn("status");
    process.chdir("/");
    await host.prompt("Do it");
    assert.equal(readdirSync(join(scratch.path, "status")).length, 1);
    await host.hooks.dispose();
    assert.deepEqual(readdirSync(join(scratch.path, "status")), []);
  } finally {
    process.chdir(here);
  }
});

test("subagents, tokens and cost are beside the session", async () => {
  await using scratch = await temporaryDirectory();
  await using host = hostIn(scratch.path);
  await host.event("session.created", { info: { id: "s1" } });
  await host.event("session.created", { sessionID: "c", info: { id: "c", parentID: "s1" } });
  await host.event("session.status", { sessionID: "c", status: { type: "busy" } });
  await host.event("session.updated", {
    info: { id: "s1", cost: 0.25, tokens: { input: 70, output: 35 } },
  });
  assert.deepEqual(metaOf(host.read()), {
    cost_usd: 0.25,
    project_id: "project-1",
    session_id: "s1",
    subagents: 1,
    tokens: { input: 70, output: 35 },
  });
});

test("[AS-91] the host is given nothing that a model could call", async () => {
  await using scratch = await temporaryDirectory();
  await using host = hostIn(scratch.path);
  assert.deepEqual(Object.keys(host.hooks).toSorted(), [
    "chat.message",
    "dispose",
    "event",
    "tool.execute.after",
    "tool.execute.before",
  ]);
});

function metaOf(record: StatusRecord): { readonly [key: string]: unknown } {
  const meta = record.x_meta?.["opencode"];
  assert(typeof meta === "object" && meta !== null);
  return { ...meta };
}

async function turn(): Promise<void> {
  await new Promise(setImmediate);
}

/** What is written in the background is there within a second, or never. */
async function until(isSo: () => boolean): Promise<void> {
  for (let left = 200; left > 0 && !isSo(); left--) {
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
  assert(isSo());
}
