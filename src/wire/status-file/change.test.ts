import assert from "node:assert/strict";
import { test } from "node:test";
import { adoptAdditions, type Beginning, beginRecord, changeRecord, fitRecord } from "./change.ts";
import type { JsonObject, StatusRecord } from "./record.ts";
import { parseTimestamp } from "./timestamp.ts";

const began = "2026-06-20T16:45:00Z";
const later = "2026-06-20T16:45:10Z";
const beganMs = msOf(began);
const laterMs = msOf(later);
const tmux = { tmux_socket: "/tmp/s", tmux_pane: "%4" };

function msOf(text: string): number {
  return parseTimestamp(text).atMs ?? Number.NaN;
}

function begin(more: Partial<Beginning> = {}, before?: StatusRecord): StatusRecord {
  const about = { id: "a", name: "n", workspace: "/w", pid: 42, tmux: undefined };
  return beginRecord({ ...about, ...more }, before, beganMs);
}

test("a record begins idle, and says nothing that nobody said", () => {
  assert.deepEqual(begin(), {
    schema_version: "agent-status/v1alpha1",
    agent_id: "a",
    agent_name: "n",
    runtime: { lifecycle: "running", updated_at: began, pid: 42, workspace: "/w" },
  });
});

test("a record that goes on keeps goal and additions, but neither task nor what only its writer could say", () => {
  const old = { ...begin({ goal: "ship it" }), task: { state: "working" }, x_future: 1 } as const;
  const meta = { theirs: 1, tipstaff: { mirror: true }, ...tmux };
  const { task, goal, x_meta, ...rest } = begin({ xMeta: { mine: 2 } }, { ...old, x_meta: meta });
  assert.equal(task, undefined);
  assert.equal(goal?.summary, "ship it");
  assert.deepEqual(x_meta, { theirs: 1, mine: 2 });
  assert.equal("x_future" in rest && rest.x_future, 1);
  assert.equal("last_activity_at" in rest.runtime, false, "it has not done anything yet");
});

test("a state begins once, however often it is said, and real work has its time", () => {
  const first = changeRecord(begin(), { task: { state: "working", summary: "x" } }, beganMs);
  const again = changeRecord(first, { task: { state: "working", id: "t" } }, laterMs);
  assert.deepEqual(again.task, {
    state: "working",
    summary: "x",
    status_timestamp: began,
    id: "t",
  });
  assert.equal(again.runtime.last_activity_at, later);
  const other = changeRecord(again, { task: { state: "input-required" } }, laterMs);
  assert.equal(other.task?.status_timestamp, later);
  assert.equal("task" in changeRecord(other, { task: null }, laterMs), false);
});

test("what is further said is no work, by key, and never where the agent runs", () => {
  const given: JsonObject = { a: 1, b: 2, tmux_pane: "%9" };
  const first = begin({ tmux, xMeta: given });
  assert.deepEqual(first.x_meta, { a: 1, b: 2, ...tmux });
  const update = { xMeta: { a: undefined, c: 3, tmux_socket: "/x" } };
  const next = changeRecord(first, update, laterMs);
  assert.deepEqual(next.x_meta, { b: 2, c: 3, ...tmux });
  assert.equal(next.runtime.last_activity_at, undefined);
  assert.deepEqual(changeRecord(next, { xMeta: null }, laterMs).x_meta, tmux);
  assert.deepEqual(begin({ xMeta: given }).x_meta, { a: 1, b: 2 });
});

test("what others added to a file stays; what they changed or took over does not", () => {
  const written = begin({ goal: "g", xMeta: { mine: 1 } });
  const theirs: StatusRecord & { readonly x_future: number } = {
    ...written,
    agent_name: "renamed",
    runtime: { ...written.runtime, pid: 1, ...{ x_note: "n" } },
    task: { state: "failed" },
    x_meta: { mine: 2, theirs: 3, tipstaff: { mirror: true }, ...tmux },
    x_future: 4,
  };
  const adopted = adoptAdditions(written, { theirs, written });
  assert.deepEqual(adopted, {
    ...written,
    runtime: { ...written.runtime, x_note: "n" },
    x_meta: { mine: 1, theirs: 3 },
    x_future: 4,
  });
  const { x_meta: _, ...bare } = written;
  const all = adoptAdditions(bare, { theirs, written: bare });
  assert.deepEqual(all.x_meta, { mine: 2, theirs: 3 });
  assert.equal(adoptAdditions(bare, { theirs, written }).x_meta, undefined, "taken away by null");
});

test("a part that no reader would take is left out, and why is told", () => {
  const good = begin({ goal: "kept", xMeta: { kept: 1 } });
  assert.deepEqual(fitRecord(good), { record: good, errors: [] });
  const task: JsonObject = { state: "napping" };
  const { record, errors } = fitRecord(Object.assign({ ...good }, { task }));
  assert.deepEqual(record, good);
  assert.deepEqual(errors, ["invalid task.state: napping"]);
});
