import assert from "node:assert/strict";
import { test } from "node:test";
import { checkForPython, isFinished, isNeverToEnd } from "./python-peer.ts";

function submit(payload: Readonly<Record<string, unknown>>): string | undefined {
  return checkForPython({ type: "job.submit", payload })?.code;
}

test("[PYC-4] names, amounts and times keep to what the Python runtime knows", () => {
  for (const agent of ["a", "Report-builder", "a.b_c@1.0.0", "x@9-rc.1"]) {
    assert.equal(submit({ agent }), undefined, agent);
  }
  for (const agent of ["", "1a", "a b", "a@", "a@1+2", "@1", "ä"]) {
    assert.equal(submit({ agent }), "INVALID_REQUEST", agent);
  }
  const budget = (...amounts: readonly unknown[]) =>
    submit({ agent: "a", lease_request: { "cost.budget": amounts } });
  assert.equal(budget("USD:1.00", "credits:5"), undefined);
  assert.equal(budget("USD:1.00", "1USD:5"), "INVALID_REQUEST");
  assert.equal(budget("ABCDEFGHIJK:5"), "INVALID_REQUEST");
  assert.equal(submit({ agent: "a", max_runtime_sec: 86_400 }), undefined);
  assert.equal(submit({ agent: "a", max_runtime_sec: 86_401 }), "INVALID_REQUEST");
  const list = (limit: number) =>
    checkForPython({ type: "session.list_jobs", payload: { limit } })?.code;
  assert.deepEqual([list(1_000), list(1_001)], [undefined, "INVALID_REQUEST"]);
});

test("[PYC-9] a job that waits for a slot when it is cancelled never ends, and one that ended has", () => {
  assert.deepEqual(["pending", "success", "cancelled", "error"].map(isNeverToEnd), [
    true,
    true,
    true,
    true,
  ]);
  assert.equal(isNeverToEnd("running"), false);
  assert.deepEqual(["pending", "running", "timed_out"].map(isFinished), [false, false, true]);
});
