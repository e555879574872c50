import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { lifecycles, taskStates } from "./record.ts";
import { validateStrict } from "./strict.ts";
import { validate } from "./validate.ts";

const runtime = { lifecycle: "running", updated_at: "2026-06-20T16:45:00Z" };
const least = {
  schema_version: "agent-status/v1alpha1",
  agent_id: "a",
  agent_name: "n",
  runtime,
};
const full = {
  ...least,
  runtime: {
    ...runtime,
    last_activity_at: "2026-06-20T16:44:00Z",
    pid: 4711,
    workspace: "/home/ada/billing",
  },
  goal: {
    summary: "close the books",
    updated_at: "2026-06-20T16:00:00Z",
    source: "initial-prompt",
  },
  task: {
    id: "turn-7",
    context_id: "session-1",
    state: "working",
    summary: "sum up June",
    status_timestamp: "2026-06-20T16:43:00Z",
  },
  a2a: { agent_card_url: "http://localhost/card", service_url: "http://localhost/a2a" },
  x_meta: { tmux_socket: "/tmp/tmux-1000/default", tmux_pane: "%4", note: [1, null] },
};

test("the least record and the fullest are valid", () => {
  assert.deepEqual(validate(least), []);
  assert.deepEqual(validate(full), []);
  for (const lifecycle of lifecycles) {
    assert.deepEqual(validate({ ...least, runtime: { ...runtime, lifecycle } }), []);
  }
  for (const state of taskStates) assert.deepEqual(validate({ ...least, task: { state } }), []);
});

test("[AS-32] fields that nobody knows are no error, at any level", () => {
  assert.deepEqual(
    validate({
      ...full,
      x_future: { deep: [{}] },
      runtime: { ...full.runtime, x: null },
      goal: { ...full.goal, x: 1 },
      task: { ...full.task, x: true },
      a2a: { ...full.a2a, x: [] },
    }),
    [],
  );
});

test("[AS-29] [TV-9] what is no object is told nothing else", () => {
  for (const value of [[], [least], null, undefined, "text", 1, true]) {
    assert.deepEqual(validate(value), ["payload must be object"]);
  }
});

test("[AS-29] [TV-10] everything that is missing is named, in one order", () => {
  assert.deepEqual(validate({}), [
    "missing required field: schema_version",
    "missing required field: agent_id",
    "missing required field: agent_name",
    "missing or invalid object: runtime",
  ]);
});

test("[AS-31] [TV-11] a runtime without anything in it is invalid", () => {
  assert.deepEqual(validate({ ...least, runtime: {} }), [
    "missing required field: runtime.lifecycle",
    "missing required field: runtime.updated_at",
  ]);
});

test("[AS-31] a process number is an integer, whatever its size or sign; true is none", () => {
  const withPid = (pid: unknown): unknown => ({ ...least, runtime: { ...runtime, pid } });
  for (const pid of [0, -1, 1, 2 ** 31, 1e29]) assert.deepEqual(validate(withPid(pid)), []);
  for (const pid of [true, false, 1.5, "1", null, [], {}, Number.NaN]) {
    assert.deepEqual(validate(withPid(pid)), ["runtime.pid must be integer"]);
  }
});

test("[AS-29] every check has its words", () => {
  const rows: readonly (readonly [Record<string, unknown>, ...string[]])[] = [
    [{ schema_version: null }, "missing required field: schema_version"],
    [{ schema_version: 1 }, "field must be non-empty string: schema_version"],
    [{ schema_version: "" }, "field must be non-empty string: schema_version"],
    [{ schema_version: "agent-status/v2" }, "unsupported schema_version: agent-status/v2"],
    [{ agent_id: null }, "missing required field: agent_id"],
    [{ agent_id: "" }, "field must be non-empty string: agent_id"],
    [{ agent_name: {} }, "field must be non-empty string: agent_name"],
    [{ runtime: null }, "missing or invalid object: runtime"],
    [{ runtime: [] }, "missing or invalid object: runtime"],
    [{ runtime: "running" }, "missing or invalid object: runtime"],
    [
      { runtime: { ...runtime, lifecycle: 1 } },
      "field must be non-empty string: runtime.lifecycle",
    ],
    [{ runtime: { ...runtime, lifecycle: "idle" } }, "invalid runtime.lifecycle: idle"],
    [
      { runtime: { ...runtime, updated_at: 5 } },
      "field must be non-empty string: runtime.updated_at",
    ],
    [{ runtime: { ...runtime, updated_at: "soon" } }, "invalid timestamp: soon"],
    [{ runtime: { ...runtime, workspace: null } }, "runtime.workspace must be string"],
    [{ goal: [] }, "goal must be object"],
    [{ goal: "x" }, "goal must be object"],
    [
      { goal: {} },
      "missing required field: goal.summary",
      "missing required field: goal.updated_at",
      "missing required field: goal.source",
    ],
    [{ goal: { ...full.goal, summary: "" } }, "field must be non-empty string: goal.summary"],
    [
      { goal: { ...full.goal, updated_at: "2026-06-20", source: "me" } },
      "goal.updated_at: timestamp must include timezone: 2026-06-20",
      "invalid goal.source: me",
    ],
    [{ goal: { ...full.goal, updated_at: 1 } }, "field must be non-empty string: goal.updated_at"],
    [{ task: 1 }, "task must be object"],
    [{ task: { state: "" } }, "task.state must be non-empty string"],
    [{ a2a: "x" }, "a2a must be object"],
    [
      { a2a: { agent_card_url: 1, service_url: null } },
      "a2a.agent_card_url must be string",
      "a2a.service_url must be string",
    ],
    [{ x_meta: [] }, "x_meta must be object"],
  ];
  for (const [change, ...errors] of rows) {
    assert.deepEqual(validate({ ...least, ...change }), errors);
  }
});

test("[AS-29] [TV-12] the errors of a task come in one order", () => {
  const task = { id: 1, context_id: 2, summary: 3, state: 4, status_timestamp: 5 };
  assert.deepEqual(validate({ ...least, task }), [
    "task.state must be non-empty string",
    "task.id must be string",
    "task.context_id must be string",
    "task.summary must be string",
    "task.status_timestamp: timestamp must be non-empty string",
  ]);
});

test("[AS-29] errors of all parts are collected", () => {
  const errors = validate({
    schema_version: "x",
    agent_id: 1,
    runtime: { lifecycle: "dead", updated_at: "never", last_activity_at: "", pid: "1" },
    goal: { summary: 1 },
    task: [],
    a2a: [],
    x_meta: "x",
  });
  assert.deepEqual(errors, [
    "unsupported schema_version: x",
    "field must be non-empty string: agent_id",
    "missing required field: agent_name",
    "invalid runtime.lifecycle: dead",
    "invalid timestamp: never",
    "runtime.last_activity_at: timestamp must be non-empty string",
    "runtime.pid must be integer",
    "field must be non-empty string: goal.summary",
    "missing required field: goal.updated_at",
    "missing required field: goal.source",
    "task must be object",
    "a2a must be object",
    "x_meta must be object",
  ]);
});

test("[AS-29] [TV-13] only the error of updated_at does not say where it is", () => {
  const updated_at = "2026-06-20T16:45:00";
  assert.deepEqual(validate({ ...least, runtime: { ...runtime, updated_at } }), [
    "timestamp must include timezone: 2026-06-20T16:45:00",
  ]);
});

test("[AS-30] [TV-14] null is missing, absent or wrong, as the field is", () => {
  const nulls = { goal: null, task: null, a2a: null, x_meta: null };
  assert.deepEqual(validate({ ...least, ...nulls }), []);
  assert.deepEqual(validate({ ...least, task: { state: null } }), []);
  assert.deepEqual(validate({ ...least, agent_name: null }), [
    "missing required field: agent_name",
  ]);
  assert.deepEqual(validate({ ...least, runtime: { ...runtime, last_activity_at: null } }), [
    "runtime.last_activity_at: timestamp must be non-empty string",
  ]);
  assert.deepEqual(validate({ ...least, task: { id: null, status_timestamp: null } }), [
    "task.id must be string",
    "task.status_timestamp: timestamp must be non-empty string",
  ]);
});

test("[AS-33] [AS-20] states are spelled in one way, and derived ones are never legal", () => {
  for (const state of ["Working", "cancelled", "idle", "stale", "missing", "running"]) {
    assert.deepEqual(validate({ ...least, task: { state } }), [`invalid task.state: ${state}`]);
  }
  for (const lifecycle of ["Running", "idle", "stale", "missing"]) {
    assert.deepEqual(validate({ ...least, runtime: { ...runtime, lifecycle } }), [
      `invalid runtime.lifecycle: ${lifecycle}`,
    ]);
  }
});

/** Values of any type in the places where records have theirs. */
const anything = fc.oneof(fc.jsonValue(), fc.constantFrom("", "running", "2026-06-20T16:45:00Z"));
const nearly = fc.record(
  {
    schema_version: fc.oneof(fc.constant("agent-status/v1alpha1"), anything),
    agent_id: anything,
    agent_name: anything,
    runtime: fc.oneof(anything, fc.record({ lifecycle: anything, updated_at: anything })),
    goal: fc.oneof(anything, fc.record({ summary: anything, source: anything })),
    task: fc.oneof(anything, fc.record({ state: anything, status_timestamp: anything })),
    a2a: anything,
    x_meta: anything,
  },
  { requiredKeys: [] },
);

test("any value at all is judged, by both validators", () => {
  fc.assert(
    fc.property(fc.oneof(anything, nearly), (value) => {
      const errors = validate(value);
      // Whoever is strict finds at least as much.
      if (errors.length > 0) assert.deepEqual(validateStrict(value), errors);
      else validateStrict(value);
    }),
    { numRuns: 2_000 },
  );
});

test("strictly, the fullest record is valid in its own file", () => {
  assert.deepEqual(validateStrict(full, { fileName: "a.json" }), []);
  assert.deepEqual(validateStrict(least), []);
});

test("strictly, what readers put up with is said", () => {
  const rows: readonly (readonly [Record<string, unknown>, ...string[]])[] = [
    [{ agent_id: "a/b" }, "agent_id must be non-empty and filename-safe"],
    [
      { runtime: { ...runtime, updated_at: "20260620T164500Z", workspace: "billing" } },
      "runtime.updated_at: timestamp must be RFC 3339: 20260620T164500Z",
      "runtime.workspace must be absolute: billing",
    ],
    [
      { task: { status_timestamp: "2026-06-20T16:45Z", state: null } },
      "task.status_timestamp: timestamp must be RFC 3339: 2026-06-20T16:45Z",
      "task.state must be non-empty string",
    ],
    [{ goal: null, x_meta: null }, "goal must be object", "x_meta must be object"],
    [
      { x_meta: { tmux_socket: "/tmp/x" } },
      "x_meta.tmux_socket and x_meta.tmux_pane must come together",
    ],
    [
      { x_meta: { tmux_socket: 1, tmux_pane: "4" } },
      "x_meta.tmux_socket must be string",
      "x_meta.tmux_pane must be % and digits",
    ],
  ];
  for (const [change, ...errors] of rows) {
    const record = { ...least, ...change };
    assert.deepEqual(validate(record), []);
    assert.deepEqual(validateStrict(record), errors);
  }
  assert.deepEqual(validateStrict(least, { fileName: "b.json" }), [
    "agent_id must be the name of the file: a",
  ]);
});
