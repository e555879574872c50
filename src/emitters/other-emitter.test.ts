import assert from "node:assert/strict";
import { test } from "node:test";
import { printTimestamp, type StatusRecord } from "../wire/status-file/index.ts";
import { hasOtherEmitter } from "./other-emitter.ts";

const nowMs = 1_800_000_000_000;
const runtime = { lifecycle: "running", updated_at: printTimestamp(nowMs), pid: 7 } as const;
const theirs: StatusRecord = {
  schema_version: "agent-status/v1alpha1",
  agent_id: "theirs",
  agent_name: "claude-code",
  runtime,
  x_meta: { claude_code: { session_id: "s1" } },
};
const task = { state: "working", context_id: "s1" } as const;
const told = { name: "claude-code", metaKey: "claude_code", session: "s1" };

for (const [claim, change, expected] of [
  ["one that tells of the session", {}, true],
  ["one that names it only in its task", { x_meta: {}, task }, true],
  ["one that names it in the task of another host", { agent_name: "n", x_meta: {}, task }, false],
  ["one that tells of another session", { x_meta: { claude_code: { session_id: "s2" } } }, false],
  ["one that tells of none", { x_meta: { claude_code: null } }, false],
  ["one of our own", { agent_id: "ours" }, false],
  ["one that has stopped", { runtime: { ...runtime, lifecycle: "stopped" } }, false],
  [
    "one that has stopped in the middle of a task",
    { task, runtime: { ...runtime, lifecycle: "stopped" } },
    false,
  ],
  [
    "one that is silent",
    { runtime: { ...runtime, updated_at: printTimestamp(nowMs - 61_000) } },
    false,
  ],
] as const) {
  test(`AS-94: ${claim} is ${expected ? "" : "not "}left the session`, () => {
    const isOurs = (id: string): boolean => id === "ours";
    const record = { ...theirs, ...change };
    assert.equal(hasOtherEmitter([record], told, { nowMs, isOurs }), expected);
  });
}

test("where the process counts, another process is another host", () => {
  const looking = { nowMs, isOurs: () => false };
  assert.equal(hasOtherEmitter([theirs], { ...told, pid: 7 }, looking), true);
  assert.equal(hasOtherEmitter([theirs], { ...told, pid: 8 }, looking), false);
  const { pid: _, ...unknown } = runtime;
  assert.equal(
    hasOtherEmitter([{ ...theirs, runtime: unknown }], { ...told, pid: 8 }, looking),
    true,
  );
});
