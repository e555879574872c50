import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "./limits.ts";
import type { Lifecycle, StatusRecord, Task } from "./record.ts";
import { deriveState, lastActivityAtMs, updatedAtMs } from "./state.ts";
import { parseTimestamp } from "./timestamp.ts";

const writtenAt = "2026-06-20T16:45:00Z";
const writtenAtMs = parseTimestamp(writtenAt).atMs ?? 0;

function record(lifecycle: Lifecycle, task?: Task | null): StatusRecord {
  const runtime = { lifecycle, updated_at: writtenAt };
  const parts = { agent_id: "a", agent_name: "n", runtime };
  const base = { schema_version: "agent-status/v1alpha1", ...parts } as const;
  return task === undefined ? base : { ...base, task };
}

function derive(from: StatusRecord, ageMs: number, staleAfterMs: number = limits.staleAfterMs) {
  return deriveState(from, { nowMs: writtenAtMs + ageMs, staleAfterMs });
}

test("[AS-49] [AS-50] [AS-51] the state is that of the task, or of the process if there is none", () => {
  const working = { state: "working" } as const;
  const rows = [
    [record("running"), "idle"],
    [record("running", null), "idle"],
    [record("running", {}), "idle"],
    [record("running", { summary: "x" }), "running"],
    [record("running", { state: null }), "running"],
    [record("running", working), "working"],
    [record("stopped"), "stopped"],
    [record("stopped", null), "stopped"],
    [record("stopped", {}), "stopped"],
    [record("stopped", working), "working"],
    [record("unknown"), "unknown"],
    [record("unknown", working), "working"],
  ] as const;
  for (const [from, state] of rows) {
    assert.equal(derive(from, 1_000), state);
    assert.equal(derive(from, 61_000), "stale");
  }
});

test("[AS-30] [TV-18] a task that is null is no task", () => {
  assert.equal(derive(record("running", null), 0), "idle");
});

test("[TV-7] a task with an empty summary is a task without a state", () => {
  assert.equal(derive(record("running", { summary: "" }), 0), "running");
});

test("[AS-48] [TV-19] it is stale a moment after the bound, not at it", () => {
  assert.equal(derive(record("running"), 60_000), "idle");
  assert.equal(derive(record("running"), 60_001), "stale");
  assert.equal(derive(record("running"), 1, 0), "stale");
  assert.equal(derive(record("running"), 0, 0), "idle");
  assert.equal(derive(record("running"), 0, -1), "stale");
});

test("[AS-48] [TV-20] being stale beats being stopped and every state of a task", () => {
  const stopped = record("stopped", { state: "working" });
  assert.equal(derive(stopped, 0), "working");
  assert.equal(derive(stopped, 120_000), "stale");
  assert.equal(derive(record("running", { state: "completed" }), 120_000), "stale");
});

test("[AS-52] [TV-21] what comes from the future is never stale", () => {
  assert.equal(derive(record("running"), -1e12), "idle");
  assert.equal(derive(record("running"), -1e12, 0), "idle");
});

test("times are read from the record, and the last activity only if it is there", () => {
  const from = record("running");
  assert.equal(updatedAtMs(from), writtenAtMs);
  assert.equal(lastActivityAtMs(from), undefined);
  const runtime = { ...from.runtime, last_activity_at: "2026-06-20T18:44:59.5+02:00" };
  assert.equal(lastActivityAtMs({ ...from, runtime }), writtenAtMs - 500);
});
