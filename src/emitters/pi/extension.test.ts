import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../testing/temporary.ts";
import { hostContract, odd, Place, turn, until } from "../contract.ts";
import { limits } from "../limits.ts";
import type { Surroundings } from "../surroundings.ts";
import { openExtension } from "./extension.ts";

type Handler = (event: unknown, context: unknown) => unknown;

/** Enough of Pi to be told what it tells. */
class Host extends Place implements AsyncDisposable {
  readonly handlers = new Map<string, Handler[]>();
  readonly listeners = new Map<string, Set<(payload: unknown) => void>>();
  readonly entries: { type: string; customType: string; data: unknown }[] = [];
  readonly pi: object;
  /** What the extension has asked the host for. */
  readonly touched = new Set<string | symbol>();

  constructor(directory: string, env: Surroundings["env"] = {}) {
    super(directory, env);
    const pi = {
      on: (name: string, handler: Handler) => {
        this.handlers.set(name, [...(this.handlers.get(name) ?? []), handler]);
      },
      appendEntry: (customType: string, data: unknown) => {
        this.entries.push({ type: "custom", customType, data });
      },
      events: {
        on: (name: string, listener: (payload: unknown) => void) => {
          const heard = this.listeners.get(name) ?? new Set();
          this.listeners.set(name, heard.add(listener));
          return () => heard.delete(listener);
        },
      },
    };
    this.pi = new Proxy(pi, {
      get: (target, key) => {
        this.touched.add(key);
        return Reflect.get(target, key);
      },
    });
    this.load();
  }

  load(): void {
    openExtension(this.pi, this.surroundings);
  }

  /** `name` is also where the session is kept. */
  context(name: string, more: object = {}): object {
    return {
      cwd: `/project/${name}`,
      sessionManager: {
        getSessionFile: () => `/sessions/${name}.jsonl`,
        getEntries: () => this.entries,
      },
      ...more,
    };
  }

  async tell(name: string, event: object = {}, context: unknown = {}): Promise<void> {
    for (const handler of this.handlers.get(name) ?? []) {
      assert.equal(await handler({ type: name, ...event }, context), undefined);
    }
  }

  async prompt(prompt: unknown, context: unknown = {}): Promise<void> {
    await this.tell("before_agent_start", { prompt }, context);
  }

  bridge(payload: unknown): void {
    for (const listener of this.listeners.get("agent-status:profile") ?? []) listener(payload);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tell("session_shutdown", { reason: "quit" });
  }
}

async function openSession(
  directory: string,
  name: string,
  env?: Surroundings["env"],
): Promise<Host> {
  const host = new Host(directory, env);
  await host.tell("session_start", { reason: "startup" }, host.context(name));
  return host;
}

// AS-3, AS-22, AS-23, AS-26, AS-27
hostContract("Pi", async (directory) => await openSession(directory, "contract"));

test("[AS-90] nothing is there before a session is", async () => {
  await using scratch = await temporaryDirectory();
  const host = new Host(scratch.path);
  await host.prompt("Too early");
  await host.tell("agent_end");
  assert.deepEqual(host.files(), []);
  assert.equal(host.clock.sleepers, 0);
});

test("[AS-79] a session has one file, gone when it ends", async () => {
  await using scratch = await temporaryDirectory();
  const host = await openSession(scratch.path, "one");
  const record = host.read();
  assert.match(record.agent_id, /^pi-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.deepEqual(record, {
    schema_version: "agent-status/v1alpha1",
    agent_id: record.agent_id,
    agent_name: "pi",
    runtime: {
      lifecycle: "running",
      updated_at: "2023-11-14T22:13:20Z",
      pid: process.pid,
      workspace: "/project/one",
    },
  });
  await host.tell("session_shutdown", { reason: "quit" });
  assert.deepEqual(host.files(), []);
  host.clock.leap(20_000);
  await turn();
  await host.prompt("Too late");
  assert.deepEqual(host.files(), []);
  assert.equal(host.clock.sleepers, 0);
});

test("[AS-21] [AS-84] a turn from its prompt to its end", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "turn");
  host.clock.leap(5_000);
  await host.prompt("Refactor\n the scheduler");
  const working = host.read();
  assert.deepEqual(working.goal, {
    source: "initial-prompt",
    summary: "Refactor the scheduler",
    updated_at: "2023-11-14T22:13:25Z",
  });
  assert.deepEqual(working.task, {
    context_id: "/sessions/turn.jsonl",
    state: "working",
    status_timestamp: "2023-11-14T22:13:25Z",
    summary: "Refactor the scheduler",
  });
  await host.tell("agent_start");
  await host.tell("agent_end", { messages: [] });
  assert(!("task" in host.read()));
  await host.prompt("Second");
  assert.equal(host.read().task?.summary, "Second");
  assert.deepEqual(host.read().goal, working.goal);
});

test("[AS-23] a tool is activity, and no task", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "tool");
  await host.prompt("Do it");
  await host.tell("agent_end");
  host.clock.leap(3_000);
  await host.tell("tool_execution_start", { toolCallId: "c", toolName: "bash", args: {} });
  await host.tell("tool_execution_end", { toolCallId: "c", toolName: "bash" });
  await until(() => host.read().runtime.last_activity_at === "2023-11-14T22:13:23Z");
  assert(!("task" in host.read()));
});

test("[AS-83] a tool that asks a person waits for them until it returns, or the turn ends", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "question");
  await host.prompt("Do it");
  const ask = (toolCallId: string, toolName: string, args: object): Promise<void> =>
    host.tell("tool_execution_start", { toolCallId, toolName, args });
  await ask("a", "question", { question: "Which one?" });
  assert.deepEqual(stateOf(host), ["input-required", "Which one?"]);
  await ask("b", "questionnaire", { questions: [{ id: "x", prompt: "And then?" }] });
  await host.tell("tool_execution_end", { toolCallId: "a", toolName: "question" });
  assert.deepEqual(stateOf(host), ["input-required", "And then?"]);
  await host.tell("tool_execution_end", { toolCallId: "b", toolName: "questionnaire" });
  assert.deepEqual(stateOf(host), ["working", "Do it"]);
  await ask("c", "mcp__ui__question", {});
  assert.deepEqual(stateOf(host), ["input-required", "Waiting for user input"]);
  await host.tell("agent_end");
  assert(!("task" in host.read()));
});

test("[AS-24] a turn that ended badly says so for a while, and a refused key until the next", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "endings");
  const end = async (stopReason: string, errorMessage?: string): Promise<readonly unknown[]> => {
    await host.prompt("Do it");
    const messages = [
      { role: "user", content: "Do it" },
      { role: "assistant", stopReason, errorMessage },
      { role: "toolResult" },
    ];
    await host.tell("agent_end", { messages });
    return stateOf(host);
  };
  assert.deepEqual(await end("stop"), [undefined, undefined]);
  assert.deepEqual(await end("aborted", "Request was aborted."), ["canceled", "Do it"]);
  assert.deepEqual(await end("error"), ["failed", "Do it"]);
  const long = `overloaded\n ${"x".repeat(200)}`;
  const [state, summary] = await end("error", long);
  assert.equal(state, "failed");
  assert.match(String(summary), /^overloaded x+…$/);
  host.clock.leap(limits.endingMs - 1);
  await turn();
  assert.equal(host.read().task?.state, "failed");
  host.clock.leap(1);
  await until(() => !("task" in host.read()));
  for (const refusal of [
    "401 invalid key",
    '403 {"type":"error"}',
    "Error: authentication_error",
    "Invalid API key",
  ]) {
    assert.deepEqual(await end("error", refusal), ["auth-required", refusal]);
  }
  host.clock.leap(20_000);
  await until(() => host.read().runtime.updated_at === "2023-11-14T22:13:45Z");
  assert.equal(host.read().task?.state, "auth-required");
  await host.tell("agent_start");
  assert.deepEqual(stateOf(host), ["working", "Do it"]);
});

test("[AS-24] an ending that a heartbeat follows at once is still seen", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "seen");
  host.clock.leap(19_999);
  await host.prompt("Do it");
  await host.tell("agent_end", { messages: [{ role: "assistant", stopReason: "error" }] });
  host.clock.leap(1);
  await until(() => host.read().runtime.updated_at === "2023-11-14T22:13:40Z");
  assert.equal(host.read().task?.state, "failed");
  host.clock.leap(limits.endingMs - 1);
  await until(() => !("task" in host.read()));
});

test("[AS-24] the time for which an ending is shown ends with the next turn", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "again");
  const fail = { messages: [{ role: "assistant", stopReason: "error" }] };
  await host.prompt("Do it");
  await host.tell("agent_end", fail);
  host.clock.leap(limits.endingMs - 1);
  await host.prompt("Once more");
  await host.tell("agent_end", fail);
  host.clock.leap(1);
  await turn();
  assert.equal(host.read().task?.state, "failed", "the second has just begun to be shown");
  await host.prompt("And again");
  host.clock.leap(limits.endingMs);
  await turn();
  assert.deepEqual(stateOf(host), ["working", "And again"]);
});

test("a turn that the host begins by itself is work", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "again");
  await host.prompt("Do it");
  await host.tell("agent_end");
  await host.tell("agent_start");
  assert.deepEqual(stateOf(host), ["working", "Do it"]);
});

test("[TV-43] [AS-28] a blank first prompt is worked on, and is not what the session is for", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "blank");
  for (const blank of [" \n\t", "", "\u0007", undefined, 7]) {
    await host.prompt(blank);
    const record = host.read();
    assert(!("goal" in record));
    assert.deepEqual(stateOf(host), ["working", undefined]);
  }
  assert.deepEqual(host.entries, []);
  await host.prompt("Now");
  assert.equal(host.read().goal?.summary, "Now");
});

test("[AS-91] the host is given nothing that a model could call", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "touched");
  await host.prompt("Do it");
  assert.deepEqual([...host.touched].toSorted(), ["appendEntry", "events", "on"]);
});

test("[AS-80] a subagent's process is not told of at all", async () => {
  await using scratch = await temporaryDirectory();
  const host = new Host(scratch.path, { PI_SUBAGENT: "1" });
  assert.equal(host.handlers.size, 0);
  await using other = new Host(scratch.path, { PI_SUBAGENT: "0" });
  assert(other.handlers.size > 0);
});

test("[AS-81] an extension that is loaded twice is there once", async () => {
  await using scratch = await temporaryDirectory();
  await using host = new Host(scratch.path);
  host.load();
  for (const [name, handlers] of host.handlers) assert.equal(handlers.length, 1, name);
  await using other = await openSession(scratch.path, "shared");
  await host.tell("session_start", { reason: "startup" }, host.context("shared"));
  assert.equal(host.files().length, 1);
  await host.prompt("Not mine");
  assert(!("task" in other.read()));
});

test("[AS-85] another session is another workspace, without what the first was about", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "first");
  await host.prompt("Old");
  host.bridge({ x_meta: { mode: "plan" } });
  host.entries.length = 0;
  await host.tell("session_start", { reason: "new" }, host.context("second"));
  const record = host.read();
  assert.equal(record.runtime.workspace, "/project/second");
  for (const part of ["goal", "task", "x_meta"]) assert(!(part in record), part);
  assert.equal(record.runtime.last_activity_at, undefined);
});

test("[AS-85] what a session is for is kept in it, and there again when it is resumed", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "resumed");
  await host.prompt("Refactor auth");
  await host.tell("agent_end");
  await host.prompt("Second");
  assert.deepEqual(host.entries, [
    {
      type: "custom",
      customType: "agent-status.goal",
      data: {
        summary: "Refactor auth",
        updated_at: "2023-11-14T22:13:20Z",
        source: "initial-prompt",
      },
    },
  ]);
  await host.tell("session_shutdown", { reason: "quit" });
  host.clock.leap(60_000);
  await host.tell("session_start", { reason: "resume" }, host.context("resumed"));
  assert.deepEqual(host.read().goal, host.entries[0]?.data);
  assert(!("task" in host.read()));
});

test("the last note of what a session is for counts, however it was written", async () => {
  await using scratch = await temporaryDirectory();
  const notes: readonly [unknown, string | undefined][] = [
    [{ summary: "as we do" }, "as we do"],
    [{ goal: { summary: "inside" } }, "inside"],
    ["bare", "bare"],
    [{ summary: "  " }, undefined],
    [null, undefined],
    [{ summary: 7 }, undefined],
  ];
  for (const [data, summary] of notes) {
    await using host = new Host(scratch.path);
    host.entries.push({
      type: "custom",
      customType: "agent-status.goal",
      data: { summary: "old" },
    });
    host.entries.push({ type: "custom", customType: "agent-status.goal", data });
    host.entries.push({ type: "custom", customType: "other", data: { summary: "other" } });
    await host.tell("session_start", { reason: "resume" }, host.context("notes"));
    assert.equal(host.read().goal?.summary, summary);
  }
});

test("a bridge's task counts for more than the prompt, and outlives the turn", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "bridge");
  await host.prompt("Do it");
  host.clock.leap(1_000);
  host.bridge({ task: { state: "input-required", summary: "Waiting\n for you" } });
  assert.deepEqual(host.read().task, {
    context_id: "/sessions/bridge.jsonl",
    state: "input-required",
    status_timestamp: "2023-11-14T22:13:21Z",
    summary: "Waiting for you",
  });
  await host.tell("agent_end");
  assert.equal(host.read().task?.state, "input-required");
  host.bridge({ task: { state: "submitted", summary: "2 open todos", id: "t1" } });
  assert.deepEqual([host.read().task?.state, host.read().task?.id], ["submitted", "t1"]);
  host.bridge({ task: { summary: "Something of its own" } });
  assert.deepEqual(stateOf(host), [undefined, "Something of its own"], "a task needs no state");
  host.bridge(undefined);
  assert(!("task" in host.read()));
  assert.equal(host.read().goal?.summary, "Do it");
});

test("[AS-28] what a bridge says and no reader would take is left out, and the rest is written", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "bad-bridge");
  await host.prompt("Do it");
  const round: { self?: object } = {};
  round.self = round;
  let deep: unknown = 1;
  for (let level = 0; level < 600; level++) deep = { deep };
  const bad: readonly unknown[] = [
    { state: "idle" },
    { state: "Working" },
    { state: 7 },
    { state: "working", summary: 7 },
    { state: "working", status_timestamp: "yesterday" },
    {},
    "text",
    ["list"],
    round,
  ];
  for (const task of bad) {
    host.bridge({ task, x_meta: { mode: "plan" } });
    assert.deepEqual(stateOf(host), ["working", "Do it"]);
    assert.deepEqual(host.read().x_meta, { mode: "plan" });
  }
  const odd = [round, deep, { n: 1n }, ["list"], "text", { long: "x".repeat(70_000) }];
  for (const [count, x_meta] of odd.entries()) {
    const summary = `${count} todos`;
    host.bridge({ task: { state: "submitted", summary }, x_meta });
    assert.deepEqual(stateOf(host), ["submitted", summary]);
    assert(!("x_meta" in host.read()));
  }
});

test("[AS-25] [TV-39] where in tmux it runs is the environment's to say, both or none", async () => {
  await using scratch = await temporaryDirectory();
  const said = { mode: "build", tmux_socket: "/bridge", tmux_pane: "%1" };
  const cases: readonly [Surroundings["env"], object][] = [
    [
      { TMUX: "/tmp/a,b,12,3", TMUX_PANE: "%4" },
      { tmux_socket: "/tmp/a,b", tmux_pane: "%4" },
    ],
    [{ TMUX: "/tmp/a,12,3" }, {}],
    [{ TMUX: "/tmp/a,12,3", TMUX_PANE: "4" }, {}],
    [{}, {}],
  ];
  for (const [env, expected] of cases) {
    await using host = await openSession(scratch.path, "tmux", env);
    assert.deepEqual(host.read().x_meta ?? {}, expected);
    host.bridge({ x_meta: said });
    assert.deepEqual(host.read().x_meta, { mode: "build", ...expected });
  }
});

test("[AS-96] a prompt is cut and nothing else; only a summary that was handed in replaces it", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "summaries");
  const answers: ((text: unknown) => void)[] = [];
  const asked: unknown[] = [];
  const context = host.context("summaries", {
    // A model that nobody may ask.
    model: new Proxy({}, { get: () => assert.fail("the model was touched") }),
    agentStatusSummarize: (prompt: unknown) => {
      asked.push(prompt);
      return new Promise((resolve) => answers.push(resolve));
    },
  });
  await host.prompt("First", context);
  await host.prompt("Second", context);
  assert.deepEqual(asked, ["First", "Second"]);
  answers[1]?.("A better second");
  await turn();
  assert.deepEqual(stateOf(host), ["working", "A better second"]);
  assert.equal(host.read().goal?.summary, "First");
  // Too late for the task, and not for the goal.
  answers[0]?.(`A better\n first ${"x".repeat(200)}`);
  await turn();
  assert.deepEqual(stateOf(host), ["working", "A better second"]);
  const { summary } = host.read().goal ?? {};
  assert.equal([...(summary ?? "")].length, 120);
  assert.match(summary ?? "", /^A better first x+…$/);
  assert.equal(host.entries.length, 2, "the better goal is kept, too");
  await host.prompt("Third", context);
  await host.tell("agent_end");
  answers[2]?.("After its turn");
  await turn();
  assert(!("task" in host.read()));
});

test("[AS-27] a summary that fails, or says nothing, changes nothing", async () => {
  await using scratch = await temporaryDirectory();
  const summaries = [
    () => Promise.reject(new Error("no model")),
    () => assert.fail("at once"),
    () => undefined,
    () => 7,
    () => " ",
    "not a function",
  ];
  for (const agentStatusSummarize of summaries) {
    await using host = await openSession(scratch.path, "failing");
    await host.prompt("Do it", host.context("failing", { agentStatusSummarize }));
    await turn();
    assert.deepEqual(stateOf(host), ["working", "Do it"]);
  }
});

test("a summary of a session that was left is not put into the next", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "left");
  let answer: (text: string) => void = () => {};
  const agentStatusSummarize = () =>
    new Promise<string>((resolve) => {
      answer = resolve;
    });
  await host.prompt("First", host.context("left", { agentStatusSummarize }));
  host.entries.length = 0;
  await host.tell("session_start", { reason: "new" }, host.context("next"));
  answer("Of the other session");
  await turn();
  assert(!("goal" in host.read()) && !("task" in host.read()));
});

test("[AS-86] words are cut to 120 characters, never in the middle of one", async () => {
  await using scratch = await temporaryDirectory();
  await using host = await openSession(scratch.path, "long");
  await host.prompt(`${"😀".repeat(200)}\u001b[31m`);
  assert.equal(host.read().goal?.summary, `${"😀".repeat(119)}…`);
});

test("[AS-94] another emitter that tells of the same session is let alone, whoever came first", async () => {
  await using scratch = await temporaryDirectory();
  const path = join(scratch.path, "pi-other.json");
  for (const told of ["before_agent_start", "agent_end"]) {
    await using host = await openSession(scratch.path, "theirs");
    const task = { state: "working", context_id: "/sessions/theirs.jsonl" };
    const text = JSON.stringify({ ...host.read(), agent_id: "pi-other", task });
    if (told === "agent_end") await host.prompt("Do it");
    writeFileSync(path, text);
    await host.tell(told, { prompt: "Do it" });
    assert.deepEqual(host.files(), ["pi-other.json"]);
    rmSync(path);
  }
});

test("[AS-27] whatever a host hands over, nothing is thrown and the file is a record", async () => {
  await using scratch = await temporaryDirectory();
  const { surroundings } = new Place(scratch.path);
  const lost = { ...surroundings, workingDirectory: () => undefined };
  for (const pi of odd) openExtension(pi, lost);
  await using host = new Host(scratch.path);
  for (const context of odd) {
    for (const name of host.handlers.keys()) {
      for (const handler of host.handlers.get(name) ?? []) {
        for (const event of odd) handler(event, context);
      }
      host.bridge(context);
      if (host.files().length > 0) host.read();
    }
  }
});

function stateOf(host: Host): readonly unknown[] {
  const { task } = host.read();
  return [task?.state, task?.summary];
}
