import assert from "node:assert/strict";
import { test } from "node:test";
import { type Command, jobId } from "../core/index.ts";
import { BareLoop } from "../testing/bare-loop.ts";
import {
  answerQuestion,
  askAsJob,
  cancelJob,
  emit,
  endJob,
  openSession,
  startJob,
  submitJob,
} from "../testing/commands.ts";
import { WorkView } from "./work.ts";

const progress = { kind: "progress", body: '{"current":1}' };

test("jobs are counted where they stand, and as by a view that was built from the state", () => {
  const { loop, view, run } = follow();
  run(openSession("ann"));
  for (const job of ["a", "b", "c", "d", "e"]) run(submitJob(job, "ann"));
  for (const job of ["a", "b", "c"]) run(startJob(job));
  run(endJob("a"));
  run(cancelJob("d"));
  run(submitJob("f", "ann", { needsPreparing: true }));
  run(askAsJob("b", "name"));
  const counts = {
    pending: 1,
    running: 1,
    waiting: 1,
    success: 1,
    error: 0,
    cancelled: 1,
    timed_out: 0,
  };
  assert.deepEqual(view.counts, counts);
  const anew = new WorkView();
  anew.reset(loop.state);
  assert.deepEqual(anew.counts, counts);
  run({ type: "job.prepared", jobId: jobId("f"), isReady: false });
  assert.deepEqual(view.counts, counts, "what was never accepted was never counted");
  run(answerQuestion("name", "Ada"));
  assert.deepEqual(view.counts, { ...counts, running: 2, waiting: 0 });
  run(askAsJob("c", "age"));
  run(cancelJob("c"));
  assert.equal(view.counts.waiting, 0, "the question of a job that is cancelled is closed");
});

test("of what a job says, the last of how far it is and of what it does is kept while it runs", () => {
  const { view, run } = follow();
  run(openSession("ann"));
  run(submitJob("a", "ann", { isRepeatable: true }));
  run(startJob("a"));
  run(emit("a", progress));
  run(emit("a", { kind: "tool_call", body: '{"tool":"x"}' }));
  run(emit("a", { kind: "metric", body: '{"name":"n","value":1}' }));
  run(emit("a", { kind: "log", body: `"${"x".repeat(5_000)}"` }));
  assert.deepEqual(view.wordsOf(jobId("a")), {
    progress: progress.body,
    doing: { kind: "tool_call", body: '{"tool":"x"}' },
  });
  run(endJob("a"));
  assert.deepEqual(view.wordsOf(jobId("a")), {});
});

function follow(): {
  readonly loop: BareLoop;
  readonly view: WorkView;
  readonly run: (...commands: readonly Command[]) => void;
} {
  const loop = new BareLoop();
  const view = new WorkView();
  const run = (...commands: readonly Command[]): void => {
    for (const command of commands) {
      const decision = loop.decide(command);
      assert(!decision.refusal);
      for (const event of decision.events) view.apply(event);
    }
  };
  return { loop, view, run };
}
