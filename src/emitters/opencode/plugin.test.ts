import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../testing/temporary.ts";
import type { StatusRecord } from "../../wire/status-file/index.ts";
import { hostContract, odd, Place, turn, until } from "../contract.ts";
import type { Surroundings } from "../surroundings.ts";
import { type Hooks, openPlugin } from "./plugin.ts";

/** Enough of OpenCode to be told what it tells. */
class Host extends Place implements AsyncDisposable {
  readonly hooks: Hooks;

  constructor(
    directory: string,
    options: {
      readonly messages?: unknown;
      readonly env?: Surroundings["env"];
      readonly input?: unknown;
    } = {},
  ) {
    super(directory, options.env);
    const { messages = [], input } = options;
    const usual = {
      directory: "/project/tree",
      project: { id: "project-1" },
      client: { session: { messages: async () => ({ data: messages }) } },
    };
    this.hooks = openPlugin("input" in options ? input : usual, this.surroundings);
  }

  async event(type: string, properties: object = {}): Promise<void> {
    await this.hooks.event({ event: { type, properties: { sessionID: "s1", ...properties } } });
  }

  async prompt(text: string, sessionID = "s1"): Promise<void> {
    const output = { message: { role: "user" }, parts: [{ type: "text", text }] };
    await this.hooks["chat.message"]({ sessionID }, output);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.hooks.dispose();
  }
}

// AS-3, AS-22, AS-23, AS-26, AS-27
hostContract("OpenCode", async (directory) => new Host(directory));

test("[AS-79] [AS-90] the file is there as soon as the plugin is, and is about no session", async () => {
  await using scratch = await temporaryDirectory();
  await using host = new Host(scratch.path);
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
  await using host = new Host(scratch.path, { env: { TMUX: "/tmp/a,b,12,3", TMUX_PANE: "%4" } });
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
  await using host = new Host(scratch.path);
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

test("[AS-24] a failure that no idle host follows is over with the next heartbeat", async () => {
  await using scratch = await temporaryDirectory();
  await using host = new Host(scratch.path);
  await host.event("session.created", { info: { id: "s1" } });
  await host.event("session.error", { error: { name: "UnknownError", data: { message: "boom" } } });
  assert.equal(host.read().task?.state, "failed");
  host.clock.leap(20_000);
  await until(() => !("task" in host.read()));
});

test("[AS-85] a session that is resumed is for what it began with", async () => {
  await using scratch = await temporaryDirectory();
  const messages = [{ info: { role: "user" }, parts: [{ type: "text", text: "Original" }] }];
  await using host = new Host(scratch.path, { messages });
  await host.prompt("Go on");
  await until(() => host.read().goal?.summary === "Original");
  assert.equal(host.read().task?.summary, "Go on");
});

test("[AS-79] [AS-81] one file for a process that has many sessions, and none for what has none", async () => {
  await using scratch = await temporaryDirectory();
  await using host = new Host(scratch.path);
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
  await using first = new Host(scratch.path);
  await using second = new Host(scratch.path);
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
  await using first = new Host(one.path);
  await using second = new Host(other.path);
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
  await using host = new Host(scratch.path);
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

test("[AS-27] [AS-28] whatever a host hands over, nothing is thrown and the file is a record", async () => {
  await using scratch = await temporaryDirectory();
  for (const input of odd) {
    await using host = new Host(scratch.path, { input });
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
  await using host = new Host(scratch.path, { input: { client: rejecting } });
  await host.prompt("Do it");
  await turn();
  assert.equal(host.read().runtime.workspace, "/project/elsewhere");
});

test("subagents, tokens and cost are beside the session", async () => {
  await using scratch = await temporaryDirectory();
  await using host = new Host(scratch.path);
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
  await using host = new Host(scratch.path);
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
