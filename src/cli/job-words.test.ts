import assert from "node:assert/strict";
import { test } from "node:test";
import { countsIn } from "./job-words.ts";

test("jobs are counted by the words that say how each stands", () => {
  const jobs = (["pending", "timed_out", "pending", "running"] as const).map((state) => ({
    state,
  }));
  const states = ["running", "pending", "error", "timed_out"] as const;
  assert.deepEqual(countsIn(jobs, states), ["1 running", "2 wait", "1 timed out"]);
  assert.deepEqual(countsIn(jobs.slice(0, 1), states), ["1 waits"]);
});
