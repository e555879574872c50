import assert from "node:assert/strict";
import { test } from "node:test";
import {
  deriveState,
  type SessionGoal,
  type StatusRecord,
  validate,
} from "../status-file/index.ts";
import { apply, settle } from "./apply.ts";
import { type HostEvent, readEvent } from "./event.ts";
import { witness } from "./evidence.ts";
import { limits } from "./limits.ts";
import { beat, newSession, recordOf, type Session } from "./session.ts";

const sessionId = "session/one";

function event(name: string, fields: Readonly<Record<string, unknown>> = {}): HostEvent {
  const members = new Map(
    Object.entries({ hook_event_name: name, session_id: sessionId, ...fields }),
  );
  return { name, sessionId: String(members.get("session_id")), members };
}

const blank: Session = newSession(
  { host: "claude-code", agentId: "claude-code-1", sessionId, pid: 7, tmux: undefined },
  0,
);

type Options = { readonly from?: Session; readonly storedGoal?: SessionGoal };

/** The session after these events, a second apart, the first at 1 s; undefined if it is over. */
function after(events: readonly HostEvent[], options: Options = {}): Session | undefined {
  const { from = blank, storedGoal } = options;
  const firstMs = from.heardAtMs + 1000;
  return events.reduce<Session | undefined>((session, each, index) => {
    const atMs = firstMs + index * 1000;
    return session && apply(session, each, { atMs, nowMs: atMs, storedGoal });
  }, from);
}

function record(session: Session | undefined): StatusRecord {
  const made = session && recordOf(session);
  assert.ok(made);
  assert.deepEqual(validate(made), []);
  return made;
}

/** As a reader would say it: `working`, `idle`; `none` if there is no file. */
function shown(session: Session | undefined): string {
  const made = session && recordOf(session);
  if (!made) return "none";
  assert.deepEqual(validate(made), []);
  return deriveState(made, { nowMs: session.updatedAtMs, staleAfterMs: 60_000 });
}

const start = event("SessionStart", { source: "startup" });
const prompt = event("UserPromptSubmit", { prompt: "Fix the  build", prompt_id: "p1" });
const pre = event("PreToolUse", { tool_name: "Bash", tool_use_id: "t1" });
const post = event("PostToolUse", { tool_name: "Bash", tool_use_id: "t1" });
const permission = event("PermissionRequest", { tool_name: "Bash" });
const other = { tool_name: "Read", tool_use_id: "t2" };
const question = (tool: string): HostEvent => event("PreToolUse", { tool_name: tool });
const stop = (words: string, fields: object = {}): HostEvent =>
  event("Stop", { last_assistant_message: words, ...fields });
const notification = (kind: string): HostEvent =>
  event("Notification", { notification_type: kind });
const failed = (error: string): HostEvent => event("StopFailure", { error });
const toolFailed = (fields: object = {}): HostEvent =>
  event("PostToolUseFailure", {
    tool_name: "Bash",
    tool_use_id: "t1",
    error: "Exit code 1",
    ...fields,
  });

type Row = readonly [claim: string, events: readonly HostEvent[], state: string];

const rows: readonly Row[] = [
  ["nothing is shown before the start", [prompt], "none"],
  ["a started session is idle", [start], "idle"],
  ["a start of an unknown kind is a start", [event("SessionStart", { source: "fork" })], "idle"],
  ["a start without a kind is a start", [event("SessionStart")], "idle"],
  ["AS-81: a second start changes nothing", [start, prompt, start], "working"],
  [
    "a resume leaves the turn alone",
    [start, prompt, event("SessionStart", { source: "resume" })],
    "working",
  ],
  [
    "compacting leaves the turn alone",
    [start, prompt, event("SessionStart", { source: "compact" })],
    "working",
  ],
  ["clear ends the turn", [start, prompt, event("SessionStart", { source: "clear" })], "idle"],
  ["a prompt is work", [start, prompt], "working"],
  ["a blank prompt is work too", [start, event("UserPromptSubmit", { prompt: " " })], "working"],
  ["a tool is work", [start, pre], "working"],
  ["a tool that returned is work", [start, prompt, pre, post], "working"],
  ["a tool that returned without a turn is work", [start, post], "working"],
  ["AS-83: AskUserQuestion asks", [start, prompt, question("AskUserQuestion")], "input-required"],
  ["ExitPlanMode asks", [start, prompt, question("ExitPlanMode")], "input-required"],
  ["request_user_input asks", [start, prompt, question("request_user_input")], "input-required"],
  ["a tool named question asks", [start, prompt, question("question")], "input-required"],
  [
    "a server's tool named question asks",
    [start, prompt, question("mcp__ui__question")],
    "input-required",
  ],
  ["Question is another tool", [start, prompt, question("Question")], "working"],
  ["ask_question is another tool", [start, prompt, question("ask_question")], "working"],
  [
    "AS-83: an answered question is work",
    [start, prompt, question("AskUserQuestion"), post],
    "working",
  ],
  ["AS-83: a permission asks", [start, prompt, pre, permission], "input-required"],
  ["a permission without a call asks", [start, prompt, permission], "input-required"],
  [
    "a granted permission is work once the tool is done",
    [start, prompt, pre, permission, post],
    "working",
  ],
  ["a failed tool is work", [start, prompt, pre, toolFailed()], "working"],
  [
    "a tool that fails after its permission is work",
    [start, prompt, pre, permission, toolFailed()],
    "working",
  ],
  [
    "a tool that was interrupted ends the turn",
    [start, prompt, pre, toolFailed({ is_interrupt: true })],
    "canceled",
  ],
  [
    "a denial by the host's own judge is work",
    [start, prompt, pre, event("PermissionDenied", { tool_use_id: "t1" })],
    "working",
  ],
  ["an interrupt ends the turn", [start, prompt, pre, event("Interrupt")], "canceled"],
  [
    "an interrupt in place of a permission is a no",
    [start, prompt, pre, permission, event("Interrupt")],
    "rejected",
  ],
  ["an interrupt without a turn is nothing", [start, event("Interrupt")], "idle"],
  ["work goes on after an interrupt", [start, prompt, event("Interrupt"), prompt], "working"],
  ["AS-84: the end of a turn is idle", [start, prompt, stop("Done.")], "idle"],
  [
    "the end of a turn without words is idle",
    [start, prompt, event("Stop", { last_assistant_message: null })],
    "idle",
  ],
  [
    "AS-84: last words that ask, ask",
    [start, prompt, stop("Which database should I use?")],
    "input-required",
  ],
  ["a prompt answers last words", [start, prompt, stop("Which?"), prompt], "working"],
  [
    "AS-84: work in the background is submitted",
    [start, prompt, stop("Runs.", { background_tasks: [{ id: "b" }] })],
    "submitted",
  ],
  [
    "its other name is heard too",
    [start, prompt, stop("Runs.", { active_background_tasks: ["b"] })],
    "submitted",
  ],
  [
    "no work in the background is none",
    [start, prompt, stop("Done.", { background_tasks: [] })],
    "idle",
  ],
  [
    "a question comes before work in the background",
    [start, prompt, stop("Which?**", { background_tasks: ["b"] })],
    "input-required",
  ],
  [
    "a turn that the provider broke off has failed",
    [start, prompt, failed("rate_limit")],
    "failed",
  ],
  [
    "a turn without credentials wants them",
    [start, prompt, failed("authentication_failed")],
    "auth-required",
  ],
  ["a failure of no known kind is one", [start, prompt, event("StopFailure")], "failed"],
  ["work goes on after a failure", [start, prompt, failed("rate_limit"), prompt], "working"],
  [
    "a notice of a permission asks",
    [start, prompt, notification("permission_prompt")],
    "input-required",
  ],
  [
    "a notice of a permission while idle is nothing",
    [start, notification("permission_prompt")],
    "idle",
  ],
  [
    "a notice that the host waits at its prompt ends the turn",
    [start, prompt, notification("idle_prompt")],
    "idle",
  ],
  [
    "it does not answer last words",
    [start, prompt, stop("Which?"), notification("idle_prompt")],
    "input-required",
  ],
  [
    "it does not end work in the background",
    [start, prompt, stop("Runs.", { background_tasks: ["b"] }), notification("idle_prompt")],
    "submitted",
  ],
  ["any other notice is nothing", [start, prompt, notification("auth_success")], "working"],
  [
    "a server that asks a person asks",
    [start, prompt, pre, event("Elicitation")],
    "input-required",
  ],
  [
    "a server that was answered is work",
    [start, prompt, pre, event("Elicitation"), event("ElicitationResult")],
    "working",
  ],
  [
    "AS-80: a subagent's prompt is not the session's",
    [start, event("UserPromptSubmit", { prompt: "x", agent_id: "a" })],
    "idle",
  ],
  [
    "AS-80: a subagent's permission is not the session's",
    [start, prompt, event("PermissionRequest", { agent_id: "a" })],
    "working",
  ],
  [
    "AS-80: a subagent's end is not the session's",
    [start, prompt, event("Stop", { agent_transcript_path: "/t" })],
    "working",
  ],
  [
    "AS-80: a session that was started as an agent is no subagent",
    [start, event("UserPromptSubmit", { prompt: "x", agent_type: "custom" })],
    "working",
  ],
  ["an event of another name is nothing", [start, prompt, event("PreCompact")], "working"],
  [
    "a name from the depths of the language is nothing",
    [start, prompt, event("constructor")],
    "working",
  ],
  [
    "AS-79: another session's event is nothing",
    [start, prompt, event("Stop", { session_id: "two" })],
    "working",
  ],
  ["the end of the session is the end of its file", [start, prompt, event("SessionEnd")], "none"],
];

for (const [claim, events, state] of rows) {
  test(claim, () => {
    assert.equal(shown(after(events)), state);
  });
}

test("TV-40: a question in the middle, and an end with the goal kept", () => {
  const events = [start, prompt, question("AskUserQuestion"), post, stop("Done.")];
  const states = events.map((_, index) => shown(after(events.slice(0, index + 1))));
  assert.deepEqual(states, ["idle", "working", "input-required", "working", "idle"]);
  const end = record(after(events));
  assert.equal(end.goal?.summary, "Fix the build");
  assert.equal("task" in end, false);
});

test("TV-41: last words that ask win over work in the background", () => {
  const end = after([start, prompt, stop("Which?**", { background_tasks: [{ id: "b" }] })]);
  assert.equal(record(end).task?.state, "input-required");
});

test("last words that ask, ask, however many came before them", () => {
  const words = `${"And so on. ".repeat(30_000)}\nShall I push?`;
  const text = JSON.stringify({
    hook_event_name: "Stop",
    session_id: sessionId,
    last_assistant_message: words,
  });
  const long = readEvent([new TextEncoder().encode(text)]);
  assert.ok(long);
  const end = record(after([start, prompt, long]));
  assert.equal(end.task?.state, "input-required");
  assert.deepEqual(end.x_meta, { claude_code: { session_id: sessionId, asks: "Shall I push?" } });
});

test("of two calls, the one that nobody was asked about returns, and the other still waits", () => {
  const asked = after([start, prompt, pre, event("PreToolUse", other), permission]);
  assert.equal(shown(asked), "input-required");
  const one = after([event("PostToolUse", other)], { from: asked ?? blank });
  assert.equal(shown(one), "input-required");
  assert.equal(shown(after([post], { from: one ?? blank })), "working");
});

const second = { tool_name: "Bash", tool_use_id: "t9" };
const preSecond = event("PreToolUse", second);
const postSecond = event("PostToolUse", second);

for (const [claim, asking] of [
  ["one after the other", [pre, permission, preSecond, permission]],
  ["after both calls have begun", [pre, preSecond, permission, permission]],
] as const) {
  for (const [order, answers] of [
    ["the first", [post, postSecond]],
    ["the second", [postSecond, post]],
  ] as const) {
    test(`AS-83: two permissions that are asked for ${claim} wait for both, when ${order} is given first`, () => {
      const asked = [start, prompt, ...asking];
      assert.equal(shown(after(asked)), "input-required");
      assert.equal(shown(after([...asked, ...answers.slice(0, 1)])), "input-required");
      assert.equal(shown(after([...asked, ...answers])), "working");
    });
  }
}

test("AS-83: who is asked about one call is asked still when the next begins", () => {
  const asked = after([start, prompt, pre, permission, event("PreToolUse", other)]);
  assert.equal(shown(asked), "input-required");
  const next = after([event("PostToolUse", other)], { from: asked ?? blank });
  assert.equal(shown(next), "input-required");
  assert.equal(shown(after([post], { from: next ?? blank })), "working");
  const unnamed = after([start, prompt, permission, pre]);
  assert.equal(shown(unnamed), "working", "of no call that is known: the next one has begun");
});

test("a question that also asks for permission is one question", () => {
  const asks = { tool_name: "AskUserQuestion", tool_use_id: "q1" };
  const events = ["PreToolUse", "PermissionRequest", "PostToolUse"].map((name) =>
    event(name, asks),
  );
  assert.equal(shown(after([start, prompt, ...events])), "working");
  const interrupted = after([start, prompt, ...events.slice(0, 2), event("Interrupt")]);
  assert.equal(shown(interrupted), "canceled", "a question that is waved away was no request");
});

test("AS-24: an ending is shown for a while, and then the session is idle", () => {
  for (const end of [event("Interrupt"), failed("overloaded")]) {
    const ended = after([start, prompt, end]);
    assert.ok(ended);
    assert.equal(settle(ended, ended.heardAtMs + limits.endingMs - 1), ended);
    const settled = settle(ended, ended.heardAtMs + limits.endingMs);
    assert.equal(shown(settled), "idle");
    assert.equal(record(settled).goal?.summary, "Fix the build");
  }
  const asked = after([start, prompt, failed("authentication_failed")]);
  assert.ok(asked);
  assert.equal(settle(asked, 10 ** 9), asked, "who waits for a person goes on waiting");
});

test("why a turn failed stays to be read until the next one", () => {
  const ended = after([start, prompt, failed("rate_limit")]);
  assert.ok(ended);
  const settled = settle(ended, 10 ** 9);
  assert.deepEqual(record(settled).x_meta, {
    claude_code: { session_id: sessionId, last_error: "rate_limit" },
  });
  const next = after([prompt], { from: settled });
  assert.deepEqual(record(next).x_meta, { claude_code: { session_id: sessionId } });
});

test("AS-92: a turn keeps its name when an event does not say it", () => {
  const session = after([start, prompt, pre, permission, post]);
  assert.equal(record(session).task?.id, "p1");
  const ended = after([stop("Done."), event("PreToolUse")], { from: session ?? blank });
  assert.equal(record(ended).task?.id, undefined, "the next turn has another");
});

test("a turn id comes before a prompt id", () => {
  const both = event("UserPromptSubmit", { prompt: "x", turn_id: "turn-1", prompt_id: "p1" });
  assert.equal(record(after([start, both])).task?.id, "turn-1");
});

test("a state is as old as its beginning, activity as its last event", () => {
  const working = record(after([start, prompt, pre, post]));
  assert.equal(working.task?.status_timestamp, "1970-01-01T00:00:02Z");
  assert.equal(working.runtime.last_activity_at, "1970-01-01T00:00:04Z");
  const asked = record(after([start, prompt, pre, permission]));
  assert.equal(asked.task?.status_timestamp, "1970-01-01T00:00:04Z");
});

test("AS-23: a start is no activity", () => {
  assert.equal("last_activity_at" in record(after([start])).runtime, false);
  const { lastActivityAtMs } = after([start, prompt, start]) ?? blank;
  assert.equal(lastActivityAtMs, 2000);
});

test("AS-22, AS-23: a heartbeat changes the time of the last update, and nothing else", () => {
  const session = after([start, prompt]);
  assert.ok(session);
  const before = record(session);
  const later = record(beat(session, 50_000));
  assert.equal(later.runtime.updated_at, "1970-01-01T00:00:50Z");
  assert.deepEqual(
    { ...later, runtime: { ...later.runtime, updated_at: before.runtime.updated_at } },
    before,
  );
});

test("AS-21, AS-85: the first prompt is the goal, a later one is only a task", () => {
  const later = event("UserPromptSubmit", { prompt: "and the tests" });
  const { goal, task } = record(
    after([start, event("UserPromptSubmit", { prompt: " \n" }), prompt, later]),
  );
  assert.deepEqual(goal, {
    summary: "Fix the build",
    updated_at: "1970-01-01T00:00:03Z",
    source: "initial-prompt",
  });
  assert.equal(task?.summary, "and the tests");
});

test("AS-85: a goal survives resume and compaction, and not a clear", () => {
  const storedGoal = { summary: "Original goal", atMs: 0 };
  const resumed = after([event("SessionStart", { source: "resume" })], { storedGoal });
  assert.equal(record(resumed).goal?.summary, "Original goal");
  const compacted = after([event("SessionStart", { source: "compact" })], {
    from: resumed ?? blank,
  });
  assert.equal(record(compacted).goal?.summary, "Original goal");
  const late = after([event("SessionStart", { source: "compact" })], { storedGoal });
  assert.equal(record(late).goal?.summary, "Original goal", "kept, else loaded");
  const cleared = after([event("SessionStart", { source: "clear" })], {
    from: compacted ?? blank,
    storedGoal,
  });
  assert.equal("goal" in record(cleared), false);
  const again = after([prompt], { from: cleared ?? blank });
  assert.equal(record(again).goal?.summary, "Fix the build");
  const started = after([start], { storedGoal });
  assert.equal("goal" in record(started), false, "a new session does not load one");
});

test("AS-85: a resume without a stored goal finds none in a later prompt", () => {
  const session = after([event("SessionStart", { source: "resume" }), prompt]);
  assert.equal("goal" in record(session), false);
  assert.equal(record(session).task?.summary, "Fix the build");
});

test("what woke the host up is neither goal nor summary", () => {
  const woken = [
    event("UserPromptSubmit", { prompt: "<task-notification>\n<task-id>b1</task-id>" }),
    event("UserPromptSubmit", { prompt: "check the deploy", source: "schedule_wakeup" }),
  ];
  for (const wake of woken) {
    const alone = record(after([start, wake]));
    assert.equal("goal" in alone, false);
    assert.equal(alone.task?.state, "working");
    const later = record(after([start, prompt, stop("Done."), wake]));
    assert.equal(later.task?.summary, "Fix the build");
  }
});

test("a summary is one line of 120 characters at most, without controls", () => {
  const long = event("UserPromptSubmit", {
    prompt: `  Build \u001b[31m\n thing ${"😀".repeat(200)}`,
  });
  const { goal, task } = record(after([start, long]));
  assert.equal(task?.summary, goal?.summary);
  assert.equal([...(task?.summary ?? "")].length, 120);
  assert.match(task?.summary ?? "", /^Build \[31m thing 😀+$/u);
});

test("what an event says of the surroundings is shown, and what is empty is not", () => {
  const session = after([
    event("SessionStart", {
      source: "startup",
      cwd: "/w",
      model: "m1",
      permission_mode: "default",
    }),
    event("UserPromptSubmit", { prompt: "x", cwd: "", model: "m2", permission_mode: null }),
  ]);
  const { runtime, x_meta } = record(session);
  assert.equal(runtime.workspace, "/w");
  assert.equal(runtime.pid, 7);
  assert.deepEqual(x_meta, {
    claude_code: { session_id: sessionId, model: "m2", permission_mode: "default" },
  });
});

test("a session of Codex has Codex's names, and its place in tmux", () => {
  const tmux = { tmux_socket: "/tmp/a,b", tmux_pane: "%4" };
  const codex = newSession(
    { host: "codex", agentId: "codex-1", sessionId, pid: undefined, tmux },
    0,
  );
  const made = record(after([start], { from: codex }));
  assert.equal(made.agent_name, "codex");
  assert.deepEqual(made.x_meta, { codex: { session_id: sessionId }, ...tmux });
  assert.equal("pid" in made.runtime, false);
});

test("AS-80: subagents are counted, and have no other effect", () => {
  const begin = (id: string): HostEvent =>
    event("SubagentStart", { agent_id: id, agent_type: "Explore" });
  const end = (id: string): HostEvent =>
    event("SubagentStop", { agent_id: id, agent_transcript_path: "/t", cwd: "/elsewhere" });
  const count = (events: readonly HostEvent[]): unknown => {
    const made = record(after([start, prompt, ...events]));
    assert.equal(made.task?.state, "working");
    assert.equal("workspace" in made.runtime, false);
    const meta = Object.entries(made.x_meta?.["claude_code"] ?? {});
    return meta.find(([key]) => key === "subagents")?.[1];
  };
  assert.equal(count([begin("a"), begin("b"), begin("b")]), 2);
  assert.equal(count([begin("a"), begin("b"), end("a")]), 1);
  assert.equal(count([begin("a"), end("a"), end("c")]), undefined);
  const left = stop("Runs.", {
    background_tasks: [
      { id: "b", type: "subagent" },
      { id: "s", type: "shell" },
    ],
  });
  const ended = record(after([start, prompt, begin("a"), begin("b"), left]));
  assert.deepEqual(ended.x_meta, { claude_code: { session_id: sessionId, subagents: 1 } });
});

test("what happened later is not undone by what is told later", () => {
  const session = after([start, prompt]);
  assert.ok(session);
  const old = witness(session, { kind: "is", status: "idle", sinceMs: session.heardAtMs }, 2500);
  assert.equal(old, session);
});

test("what a person is asked stands beside what the agent was told, as long as one is asked", () => {
  const asks = (...events: readonly HostEvent[]): unknown => {
    const { task, x_meta: meta } = record(after([start, prompt, ...events]));
    if (task) assert.equal(task.summary, "Fix the build");
    const own = meta?.["claude_code"];
    return own && typeof own === "object" && "asks" in own ? own["asks"] : undefined;
  };
  const run = { tool_name: "Bash", tool_input: { command: "rm -rf\tbuild" } };
  const choose = { questions: [{ question: "Which\u0007 colour?" }] };
  assert.equal(asks(pre), undefined);
  assert.equal(asks(pre, event("PermissionRequest", run)), "Bash: rm -rf build");
  assert.equal(asks(pre, event("PermissionRequest", run), post), undefined, "granted");
  assert.equal(
    asks(event("PreToolUse", { tool_name: "AskUserQuestion", tool_input: choose })),
    "Which colour?",
  );
  assert.equal(asks(stop("Done.\nShall I push?")), "Shall I push?");
  assert.equal(asks(stop("Done.")), undefined);
  for (const odd of [null, 7, [], { command: 7 }, { questions: [null] }]) {
    assert.equal(asks(pre, event("PermissionRequest", { ...run, tool_input: odd })), "Bash");
  }
});
