import assert from "node:assert/strict";
import { test } from "node:test";
import { apply } from "./apply.ts";
import {
  type Evidence,
  readSelfReport,
  readTranscript,
  selfReportPath,
  witness,
} from "./evidence.ts";
import { newSession, type Session } from "./session.ts";

function session(names: readonly string[], fields: object = {}): Session {
  const beginning = {
    host: "claude-code",
    agentId: "a",
    sessionId: "s",
    pid: 7,
    tmux: undefined,
  } as const;
  return names.reduce(
    (before, name, index) => {
      const members = new Map<string, unknown>(Object.entries({ prompt: "go", ...fields }));
      const atMs = (index + 1) * 1000;
      return apply(before, { name, sessionId: "s", members }, { atMs, nowMs: atMs }) ?? before;
    },
    newSession(beginning, 0),
  );
}

const working = session(["SessionStart", "UserPromptSubmit"]);
const asked = session(["SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest"]);
const idle = session(["SessionStart", "UserPromptSubmit", "Stop"]);
const asks = session(["SessionStart", "UserPromptSubmit", "Stop"], {
  last_assistant_message: "Which?",
});
const background = session(["SessionStart", "UserPromptSubmit", "Stop"], {
  background_tasks: ["b"],
});
const unstarted = session(["UserPromptSubmit"]);

const is = (status: "idle" | "busy" | "waiting", sinceMs = 9000): Evidence => ({
  kind: "is",
  status,
  sinceMs,
});
const broken: Evidence = { kind: "interrupted", atMs: 9000 };
const over: Evidence = { kind: "over", atMs: 9000 };

const rows: readonly (readonly [string, Session, Evidence, string | undefined])[] = [
  ["a host that works and says it is idle was interrupted", working, is("idle"), "canceled"],
  ["a host that asked and says it is idle was told no", asked, is("idle"), "rejected"],
  ["a host that asked and says it is busy was told yes", asked, is("busy"), "working"],
  ["a host that works and says it waits, asks", working, is("waiting"), "input-required"],
  ["a host that asked and says it waits, asks", asked, is("waiting"), "input-required"],
  ["a host that is idle and says it is busy, works", idle, is("busy"), "working"],
  ["a host that is idle may have a dialog open", idle, is("waiting"), undefined],
  ["a host that is idle says so", idle, is("idle"), undefined],
  ["last words that ask are not answered by being idle", asks, is("idle"), "input-required"],
  ["work in the background goes on while the host is idle", background, is("idle"), "submitted"],
  ["what was so before the last event is old", working, is("idle", 2000), "working"],
  ["what was so before a permission was asked is old", asked, is("busy", 3500), "input-required"],
  ["nothing is known of a session that has not started", unstarted, is("idle"), "working"],
  ["a transcript tells of an interrupt", working, broken, "canceled"],
  ["a transcript tells of a no", asked, broken, "rejected"],
  ["an old interrupt is old", idle, broken, undefined],
  ["a turn that is over is over", working, over, undefined],
  ["a turn that is over asks nobody", asked, over, undefined],
  ["last words outlive the turn", asks, over, "input-required"],
  ["a turn that broke has failed", working, { ...over, error: "server_overloaded" }, "failed"],
  [
    "a turn without credentials wants them",
    working,
    { ...over, error: "unauthorized" },
    "auth-required",
  ],
];

for (const [claim, before, evidence, state] of rows) {
  test(claim, () => {
    // Soon after, so that it counts by its time alone.
    const nowMs = before.heardAtMs + 1000;
    const after = witness(before, evidence, nowMs);
    assert.equal(after.turn?.state, state);
    if (state === before.turn?.state) assert.equal(after, before, "nothing to write");
    else assert.equal(after.updatedAtMs, nowMs);
  });
}

test("AS-23: the end of a turn is activity, whoever tells of it", () => {
  const back = witness(idle, is("busy", 8000), 8000);
  for (const [before, end] of [
    [working, broken],
    [asked, broken],
    [working, over],
    [working, { ...over, error: "server_overloaded" }],
    [working, is("idle")],
    [back, is("idle")],
  ] as const) {
    assert.equal(witness(before, end, 9500).lastActivityAtMs, 9000);
  }
  assert.equal(witness(asks, over, 9500).lastActivityAtMs, asks.lastActivityAtMs, "it was over");
});

const lasting: readonly (readonly [string, Session, Evidence, string | undefined])[] = [
  ["a prompt that never became a turn", working, is("idle", 1500), "canceled"],
  [
    "a question of somebody whose events are not the session's",
    working,
    is("waiting", 1500),
    "input-required",
  ],
  ["a permission for which nobody was asked", asked, is("busy", 3500), "working"],
  ["a host that is busy after the end of a turn", idle, is("busy", 2500), undefined],
  ["a host that is busy after its last words", asks, is("busy", 2500), "input-required"],
];

for (const [claim, before, evidence, state] of lasting) {
  test(`what a host goes on saying: ${claim}`, () => {
    assert.equal(witness(before, evidence, before.heardAtMs + 1500), before);
    assert.equal(witness(before, evidence, before.heardAtMs + 1501).turn?.state, state);
  });
}

test("what the host does without an event ends where it began", () => {
  const later = (before: Session, ...statuses: readonly ("idle" | "busy" | "waiting")[]): Session =>
    statuses.reduce((session, status, index) => {
      const atMs = 9000 + index * 100;
      return witness(session, is(status, atMs), atMs);
    }, before);
  assert.equal(later(background, "waiting").turn?.state, "input-required", "a subagent asks");
  assert.equal(later(background, "waiting", "busy").turn?.state, "working");
  assert.equal(later(background, "waiting", "busy", "idle").turn, background.turn);
  assert.equal(later(background, "waiting", "idle").turn, background.turn);
  assert.deepEqual(later(background, "waiting", "idle").asking, []);
  assert.equal(later(idle, "busy", "idle").turn, undefined);
  assert.equal(later(idle, "busy", "waiting", "busy", "idle").turn, undefined);
  assert.equal(later(asks, "busy", "idle").turn, asks.turn, "the question is still there");
  const canceled = later(working, "idle");
  assert.equal(later(canceled, "busy", "idle").turn, undefined, "an ending does not come back");
});

test("an event in between has the last word", () => {
  const seen = witness(idle, is("busy"), 9000);
  const members = new Map<string, unknown>([["prompt", "more"]]);
  const event = { name: "UserPromptSubmit", sessionId: "s", members };
  const working = apply(seen, event, { atMs: 9500, nowMs: 9500 });
  assert.ok(working);
  assert.equal(witness(working, is("idle", 9600), 9600).turn?.state, "canceled");
});

test("a permission that was given goes on with the same turn", () => {
  const after = witness(asked, is("busy"), 10_000);
  assert.deepEqual(after.asking, []);
  assert.equal(after.turn?.summary, "go");
  assert.equal(after.turn?.sinceMs, 9000);
});

test("Claude Code's file about a process is beside its transcripts", () => {
  const transcript = "/home/u/.claude/projects/-home-u-w/8f.jsonl";
  assert.equal(selfReportPath(transcript, 42), "/home/u/.claude/sessions/42.json");
  assert.equal(selfReportPath("/home/u/.codex/sessions/2026/01/02/rollout.jsonl", 42), undefined);
});

test("Claude Code's file is read if it is whole and about this session", () => {
  const report = { pid: 1, sessionId: "s", status: "waiting", statusUpdatedAt: 5, waitingFor: "x" };
  const read = (fields: object): Evidence | undefined =>
    readSelfReport(JSON.stringify({ ...report, ...fields }), "s");
  assert.deepEqual(read({}), { kind: "is", status: "waiting", sinceMs: 5 });
  assert.equal(read({ sessionId: "other" }), undefined);
  assert.equal(read({ status: "shell" }), undefined);
  assert.equal(read({ statusUpdatedAt: "5" }), undefined);
  assert.equal(readSelfReport(`${JSON.stringify(report)}"}`, "s"), undefined, "torn");
  assert.equal(readSelfReport("", "s"), undefined);
  assert.equal(readSelfReport("null", "s"), undefined);
});

const at = "2026-06-20T16:45:00.500Z";
const atMs = Date.parse(at);

function said(text: unknown, fields: object = {}): string {
  const message = { role: "user", content: text };
  return JSON.stringify({ type: "user", isSidechain: false, message, timestamp: at, ...fields });
}

function rollout(payload: object, fields: object = {}): string {
  return JSON.stringify({ timestamp: at, type: "event_msg", payload, ...fields });
}

test("a transcript of Claude Code has a line for an interrupt", () => {
  const mark = "[Request interrupted by user]";
  const found: Evidence = { kind: "interrupted", atMs };
  const read = (...lines: readonly string[]): Evidence | undefined =>
    readTranscript("claude-code", lines);
  assert.deepEqual(read(said([{ type: "text", text: mark }])), found);
  assert.deepEqual(
    read(said([{ type: "text", text: "[Request interrupted by user for tool use]" }])),
    found,
  );
  assert.deepEqual(read(said(mark), said("and now?")), found);
  assert.equal(read(said(`what is ${mark}?`)), undefined, "a person may speak of it");
  assert.equal(read(said(mark, { isSidechain: true })), undefined, "a subagent's");
  assert.equal(read(said(mark, { type: "assistant" })), undefined);
  assert.equal(read(said(mark, { timestamp: "yesterday" })), undefined);
  assert.equal(read(said(mark).slice(0, -1)), undefined);
  assert.equal(read(), undefined);
});

test("a transcript of Codex says how a turn ended", () => {
  const read = (...lines: readonly string[]): Evidence | undefined =>
    readTranscript("codex", lines);
  const complete = (error?: unknown): string => rollout({ type: "task_complete", error });
  assert.deepEqual(read(rollout({ type: "turn_aborted", reason: "interrupted" })), {
    kind: "interrupted",
    atMs,
  });
  assert.deepEqual(read(complete()), { kind: "over", atMs });
  assert.deepEqual(read(complete(null)), { kind: "over", atMs });
  const failed = (info: unknown): Evidence => {
    const evidence = read(complete({ message: "m", codex_error_info: info }));
    assert.ok(evidence);
    return evidence;
  };
  assert.deepEqual(failed("other"), { kind: "over", atMs, error: "other" });
  assert.deepEqual(failed({ http_connection_failed: { http_status_code: 502 } }), {
    kind: "over",
    atMs,
    error: "http_connection_failed",
  });
  assert.deepEqual(failed({ http_connection_failed: { http_status_code: 401 } }), {
    kind: "over",
    atMs,
    error: "unauthorized",
  });
  assert.deepEqual(failed(undefined), { kind: "over", atMs, error: "unknown" });
  assert.equal(read(rollout({ type: "agent_message", message: '"task_complete"' })), undefined);
  assert.equal(read(rollout({ type: "turn_aborted" }, { type: "response_item" })), undefined);
});
