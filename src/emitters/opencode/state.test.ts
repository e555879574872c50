import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../limits.ts";
import { signalOfEvent, signalOfMessage, signalOfTool } from "./signals.ts";
import { apply, emptyState, type State, subagentsOf, type Told, taskOf } from "./state.ts";

/** As the host says it, in few words; `s1` is the session unless another is named. */
const event = (type: string, properties: object = {}): Told | undefined =>
  signalOfEvent({ type, properties: { sessionID: "s1", ...properties } });
const created = (id = "s1", parentID?: string): Told | undefined =>
  signalOfEvent({ type: "session.created", properties: { info: { id, parentID } } });
const prompt = (text: string, sessionID = "s1"): Told | undefined =>
  signalOfMessage(
    { sessionID },
    { message: { role: "user", sessionID }, parts: [{ type: "text", text }] },
  );
const before = (tool: string, sessionID = "s1"): Told | undefined =>
  signalOfTool("tool.started", { tool, sessionID, callID: "c1" });
const after = (tool: string, sessionID = "s1"): Told | undefined =>
  signalOfTool("tool.ended", { tool, sessionID, callID: "c1" });
const busy = event("session.status", { status: { type: "busy" } });
const idle = event("session.idle");
const abort = event("session.error", {
  error: { name: "MessageAbortedError", data: { message: "Aborted" } },
});
const asks = (id: string, question: string): Told | undefined =>
  event("question.asked", { id, questions: [{ question }] });
const todos = (...list: readonly object[]): Told | undefined =>
  event("todo.updated", { todos: list });

/** A second passes with each. */
function told(...signals: readonly (Told | undefined)[]): State {
  let state = emptyState;
  signals.forEach((told, second) => {
    if (told) state = apply(state, told, second * 1_000);
  });
  return state;
}

function sessionIn(state: State) {
  assert(state.attached !== undefined, "no session is attached");
  const session = state.sessions.get(state.attached);
  assert(session);
  return session;
}

const said = (state: State): string => {
  const task = taskOf(sessionIn(state));
  return task ? `${task.state}: ${task.summary}` : "idle";
};

type Row = readonly [claim: string, signals: readonly (Told | undefined)[], said: string];

/** agent-status, section 9.3: each row of the table, and each way in which they meet. */
const table: readonly Row[] = [
  ["a new session has nothing to do", [created()], "idle"],
  ["a prompt is worked on", [created(), prompt("Fix it")], "working: Fix it"],
  [
    "a prompt ends what was asked before",
    [created(), asks("q", "A?"), prompt("No")],
    "working: No",
  ],
  [
    "a prompt ends the last failure",
    [created(), event("session.error"), prompt("x")],
    "working: x",
  ],
  ["a busy host works", [created(), busy], "working: Working"],
  [
    "a host that tries again works",
    [created(), event("session.status", { status: { type: "retry", attempt: 1 } })],
    "working: Working",
  ],
  ["busy says no more than the prompt", [created(), prompt("Fix it"), busy], "working: Fix it"],
  [
    "a status of idle says nothing",
    [created(), prompt("Fix it"), event("session.status", { status: { type: "idle" } })],
    "working: Fix it",
  ],
  [
    "[AS-83] the question tool waits",
    [created(), prompt("x"), before("question")],
    "input-required: Waiting for user input",
  ],
  ["any other tool works", [created(), before("bash")], "working: Using bash"],
  [
    "a tool says no more than the prompt",
    [created(), prompt("Fix"), before("bash")],
    "working: Fix",
  ],
  [
    "a tool that is done is still work",
    [created(), before("bash"), after("bash")],
    "working: Using bash",
  ],
  [
    "[AS-83] work goes on when the question tool returns",
    [created(), prompt("x"), before("question"), after("question")],
    "working: x",
  ],
  [
    "[AS-83] a question waits",
    [created(), prompt("x"), asks("q", "Which?")],
    "input-required: Which?",
  ],
  [
    "a question without words waits",
    [created(), event("question.asked", { questions: [] })],
    "input-required: Waiting for user input",
  ],
  ...["permission.asked", "permission.updated", "permission.v2.asked"].map(
    (name): Row => [
      `[AS-83] ${name} waits`,
      [created(), prompt("x"), event(name, { id: "p" })],
      "input-required: Waiting for permission",
    ],
  ),
  ...["question.replied", "question.rejected", "question.v2.replied", "question.v2.rejected"].map(
    (name): Row => [
      `after ${name} work goes on`,
      [created(), prompt("x"), asks("q", "Which?"), event(name, { requestID: "q" })],
      "working: x",
    ],
  ),
  [
    "after a question that nobody prompted the host works",
    [created(), asks("q", "Which?"), event("question.replied", { requestID: "q" })],
    "working: Working",
  ],
  [
    "after permission.replied work goes on",
    [
      created(),
      prompt("x"),
      event("permission.asked", { id: "p" }),
      event("permission.replied", { requestID: "p", reply: "once" }),
    ],
    "working: x",
  ],
  [
    "the reply of an older host names the permission otherwise",
    [
      created(),
      prompt("x"),
      event("permission.updated", { id: "p" }),
      event("permission.replied", { permissionID: "p", response: "once" }),
    ],
    "working: x",
  ],
  [
    "a reply that names nothing we know answers all of its kind",
    [
      created(),
      prompt("x"),
      event("permission.asked", { id: "p" }),
      event("permission.replied", { requestID: "other" }),
    ],
    "working: x",
  ],
  [
    "of two permissions one is still open",
    [
      created(),
      prompt("x"),
      event("permission.asked", { id: "p" }),
      event("permission.asked", { id: "q" }),
      event("permission.replied", { requestID: "p" }),
    ],
    "input-required: Waiting for permission",
  ],
  [
    "a permission does not answer a question",
    [
      created(),
      asks("q", "Which?"),
      event("permission.asked", { id: "p" }),
      event("permission.replied", { requestID: "p" }),
    ],
    "input-required: Which?",
  ],
  [
    "a question that was rejected is over, though its tool never returns",
    [
      created(),
      prompt("x"),
      before("question"),
      asks("q", "Which?"),
      event("question.rejected", { requestID: "q" }),
    ],
    "working: x",
  ],
  [
    "[AS-84] todos that are left are queued work",
    [created(), todos({ content: "Test", status: "pending" })],
    "submitted: Test",
  ],
  [
    "todos wait while work goes on",
    [created(), todos({ content: "Test", status: "pending" }), prompt("x")],
    "working: x",
  ],
  [
    "[AS-84] todos are queued when the turn is over",
    [created(), prompt("x"), todos({ content: "Test", status: "in_progress" }), idle],
    "submitted: Test",
  ],
  ...["completed", "cancelled", "canceled"].map(
    (status): Row => [
      `a todo that is ${status} is none`,
      [created(), todos({ content: "A", status: "pending" }), todos({ content: "A", status })],
      "idle",
    ],
  ),
  [
    "the first todo that is left counts",
    [
      created(),
      todos(
        { content: "A", status: "completed" },
        { status: "pending" },
        { content: "C", status: "pending" },
      ),
    ],
    "submitted: Pending work",
  ],
  [
    "an error has its words in its data",
    [
      created(),
      prompt("x"),
      event("session.error", { error: { name: "APIError", data: { message: "no credit" } } }),
    ],
    "failed: no credit",
  ],
  [
    "an error of older hosts has them beside",
    [created(), event("session.error", { error: { message: "boom" } })],
    "failed: boom",
  ],
  [
    "an error without words has a name",
    [created(), event("session.error", { error: { name: "MessageOutputLengthError", data: {} } })],
    "failed: MessageOutputLengthError",
  ],
  ["an error without a name is one", [created(), event("session.error")], "failed: Session failed"],
  [
    "[AS-24] a failure is over when the host is idle",
    [created(), event("session.error"), idle],
    "idle",
  ],
  ["an interruption is no failure", [created(), prompt("x"), abort], "canceled: Aborted"],
  ["an interruption is over when the host is idle", [created(), prompt("x"), abort, idle], "idle"],
  [
    "a wrong key is for a person to mend",
    [
      created(),
      prompt("x"),
      event("session.error", {
        error: { name: "ProviderAuthError", data: { providerID: "a", message: "bad key" } },
      }),
      idle,
    ],
    "auth-required: bad key",
  ],
  [
    "a key that the provider refuses is a wrong key",
    [
      created(),
      prompt("x"),
      event("session.error", {
        error: { name: "APIError", data: { message: "bad key", statusCode: 401 } },
      }),
      idle,
    ],
    "auth-required: bad key",
  ],
  [
    "a key that was mended is forgotten with the next prompt",
    [
      created(),
      event("session.error", { error: { name: "ProviderAuthError", data: {} } }),
      prompt("again"),
      idle,
    ],
    "idle",
  ],
  [
    "[AS-84] a turn that is over is idle",
    [created(), prompt("x"), before("bash"), after("bash"), idle],
    "idle",
  ],
  [
    "[TV-44] a question outlives being idle",
    [created(), asks("q", "Which?"), idle],
    "input-required: Which?",
  ],
  [
    "a question that outlived being idle can be answered",
    [
      created(),
      prompt("x"),
      asks("q", "Which?"),
      idle,
      event("question.replied", { requestID: "q" }),
    ],
    "working: Working",
  ],
  [
    "a permission outlives being idle",
    [created(), event("permission.asked", { id: "p" }), idle],
    "input-required: Waiting for permission",
  ],
  [
    "a permission does not outlive an interruption, of which the host says no more",
    [
      created(),
      prompt("x"),
      before("bash"),
      event("permission.asked", { id: "p" }),
      abort,
      idle,
      idle,
    ],
    "idle",
  ],
  [
    "a question does not outlive an interruption",
    [created(), prompt("x"), before("question"), asks("q", "Which?"), abort, idle],
    "idle",
  ],
  [
    "a tool that ends after the interruption starts no work",
    [created(), prompt("x"), before("bash"), abort, idle, after("bash")],
    "idle",
  ],
  [
    "a reply after the interruption starts no work",
    [
      created(),
      prompt("x"),
      event("permission.asked", { id: "p" }),
      abort,
      idle,
      event("permission.replied", { requestID: "p" }),
    ],
    "idle",
  ],
  [
    "what the model says is not looked at",
    [
      created(),
      prompt("x"),
      event("message.part.updated", { part: { type: "text", text: "Anything else?" } }),
      idle,
    ],
    "idle",
  ],
  [
    "the host itself may begin, in a session that was resumed",
    [event("session.status", { status: { type: "busy" } })],
    "working: Working",
  ],
  [
    "a failure that no idle host follows is over with a heartbeat",
    [created(), event("session.error"), { type: "beat" }],
    "idle",
  ],
  ["a heartbeat ends no work", [created(), prompt("x"), { type: "beat" }], "working: x"],
];

for (const [claim, signals, expected] of table) {
  test(claim, () => assert.equal(said(told(...signals)), expected));
}

test("[AS-21] the first prompt is what the session is for, and later ones are not", () => {
  const state = told(created(), prompt("First"), idle, prompt("Second"));
  assert.deepEqual(sessionIn(state).goal, { summary: "First", atMs: 1_000, isRestored: false });
});

test("[AS-85] a new session is for something else", () => {
  const state = told(created(), prompt("First"), idle, created("s2"));
  assert.equal(state.attached, "s2");
  assert.equal(sessionIn(state).goal, undefined);
  assert.equal(sessionIn(state).lastActivityMs, undefined);
});

test("[AS-85] what the host remembers of a session counts, whenever that comes", () => {
  const remembers: Told = { type: "goal.restored", session: "s1", text: "Original" };
  assert.equal(sessionIn(told(created(), remembers)).goal?.summary, "Original");
  const resumed = told(prompt("Go on"), remembers, prompt("And on"));
  assert.equal(sessionIn(resumed).goal?.summary, "Original");
  const again: Told = { type: "goal.restored", session: "s1", text: "Other" };
  assert.equal(sessionIn(told(prompt("Go on"), remembers, again)).goal?.summary, "Original");
});

test("[AS-93] whoever goes back to an earlier session finds it as it was", () => {
  const state = told(
    created(),
    prompt("First"),
    idle,
    created("s2"),
    prompt("Second", "s2"),
    prompt("Back"),
  );
  assert.equal(state.attached, "s1");
  assert.equal(said(state), "working: Back");
  assert.equal(sessionIn(state).goal?.summary, "First");
});

test("what happens in another session is not said of this one", () => {
  const state = told(
    created(),
    prompt("First"),
    created("s2"),
    event("question.asked", { id: "q" }),
    idle,
  );
  assert.equal(state.attached, "s2");
  assert.equal(said(state), "idle");
});

test("[AS-93] a session that was deleted leaves nothing, whatever the host says of it afterwards", () => {
  const deleted = event("session.deleted", { info: { id: "s1" } });
  for (const later of [undefined, busy, event("session.error"), idle, prompt("x"), created()]) {
    const state = told(created(), prompt("First"), deleted, later);
    assert.equal(state.attached, undefined);
    assert.equal(state.sessions.size, 0);
  }
});

test("deleting another session changes nothing", () => {
  const state = told(
    created("s2"),
    created(),
    prompt("x"),
    event("session.deleted", { sessionID: "s2" }),
  );
  assert.equal(said(state), "working: x");
});

test("[AS-80] [AS-93] a subagent does not take over, whatever it does", () => {
  const state = told(
    created(),
    prompt("x"),
    created("child", "s1"),
    prompt("Look", "child"),
    before("bash", "child"),
    event("session.error", { sessionID: "child" }),
  );
  assert.equal(state.attached, "s1");
  assert.equal(said(state), "working: x");
  assert.deepEqual([...state.sessions.keys()], ["s1"]);
});

test("[AS-80] one that turns out to be a subagent gives its place back", () => {
  const late = signalOfEvent({
    type: "session.updated",
    properties: { info: { id: "child", parentID: "s1" } },
  });
  const state = told(created(), prompt("x"), prompt("Look", "child"), late);
  assert.equal(state.attached, "s1");
  assert.equal(said(state), "working: x");
});

test("[AS-83] what a subagent asks, it asks the person in front of its parent", () => {
  const asked = event("permission.asked", { sessionID: "grandchild", id: "p" });
  const family = [
    created(),
    prompt("x"),
    created("child", "s1"),
    created("grandchild", "child"),
    asked,
  ];
  assert.equal(said(told(...family)), "input-required: Waiting for permission");
  const replied = event("permission.replied", { sessionID: "grandchild", requestID: "p" });
  assert.equal(said(told(...family, replied)), "working: x");
  assert.equal(
    said(told(...family, event("session.idle", { sessionID: "grandchild" }))),
    "working: x",
  );
  assert.equal(
    said(told(...family, event("session.error", { sessionID: "grandchild" }))),
    "working: x",
  );
  assert.equal(said(told(...family, abort, idle)), "idle");
});

test("subagents at work are counted", () => {
  const works = (sessionID: string): Told | undefined =>
    event("session.status", { sessionID, status: { type: "busy" } });
  const state = told(
    created(),
    prompt("x"),
    created("a", "s1"),
    created("b", "s1"),
    works("a"),
    works("b"),
  );
  assert.equal(subagentsOf(state), 2);
  const done = event("session.idle", { sessionID: "a" });
  assert(done);
  assert.equal(subagentsOf(apply(state, done, 0)), 1);
});

test("a subagent that is forgotten is not at work for ever", () => {
  const many = Array.from({ length: limits.strangersMax + 10 }, (_, index) => `c${index}`);
  const begun = many.flatMap((id) => [created(id, "s1"), before("bash", id)]);
  const state = told(created(), ...begun);
  assert.equal(subagentsOf(state), limits.strangersMax);
  const then = (...signals: readonly (Told | undefined)[]): State =>
    signals.reduce((after, each) => (each ? apply(after, each, 0) : after), state);
  const ended = many.map((sessionID) => event("session.idle", { sessionID }));
  assert.equal(subagentsOf(then(...ended)), 0);
  assert.equal(then(event("session.deleted")).busyChildren.size, 0);
  const others = Array.from({ length: limits.sessionsMax }, (_, index) => created(`s${index + 2}`));
  assert.equal(then(...others).busyChildren.size, 0);
});

test("[AS-22] a state has begun when it was not the one before", () => {
  const state = told(created(), prompt("x"), busy, before("bash"), after("bash"));
  assert.equal(sessionIn(state).sinceMs, 1_000);
  assert.equal(sessionIn(state).lastActivityMs, 4_000);
  assert.equal(sessionIn(told(created(), prompt("x"), asks("q", "?"), busy)).sinceMs, 2_000);
  assert.equal(sessionIn(told(created(), prompt("x"), prompt("y"))).sinceMs, 2_000);
});

test("[AS-23] todos and heartbeats are no activity, and the end of a turn is", () => {
  const state = told(created(), prompt("x"), todos(), { type: "beat" });
  assert.equal(sessionIn(state).lastActivityMs, 1_000);
  assert.equal(sessionIn(told(created(), prompt("x"), idle, idle)).lastActivityMs, 2_000);
});

test("a reply to what we did not hear asked is activity, and starts no work", () => {
  const reply = event("permission.replied", { requestID: "p" });
  assert.equal(sessionIn(told(created(), prompt("x"), reply)).lastActivityMs, 2_000);
  assert.equal(said(told(created(), asks("q", "A?"), reply)), "input-required: A?");
  assert.equal(said(told(created(), prompt("x"), idle, reply)), "idle");
});

test("what is remembered has a bound", () => {
  const many = Array.from({ length: 2_000 }, (_, index) => `s${index}`);
  const roots = told(...many.map((id) => created(id)));
  assert.equal(roots.sessions.size, limits.sessionsMax);
  assert.equal(roots.attached, "s1999");
  const children = told(created("root"), ...many.map((id) => created(id, "root")));
  assert.equal(children.parents.size, limits.strangersMax);
  const open = told(created(), ...many.map((id) => event("permission.asked", { id })));
  assert.equal(sessionIn(open).blocks.length, limits.blocksMax);
  const asking = told(created(), ...many.map(() => before("question")));
  assert.equal(sessionIn(asking).blocks.length, limits.blocksMax);
  const gone = told(
    ...many.flatMap((id) => [created(id), event("session.deleted", { sessionID: id })]),
  );
  assert.equal(gone.gone.size, limits.strangersMax);
  const circle = told(
    created("a", "b"),
    created("b", "a"),
    event("permission.asked", { sessionID: "a", id: "p" }),
  );
  assert.equal(circle.attached, undefined);
});
