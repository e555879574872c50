import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Amount,
  type Command,
  jobId,
  parseAmount as parse,
  printAmount,
} from "../core/index.ts";
import { BareLoop } from "../testing/bare-loop.ts";
import {
  answerQuestion,
  askAsJob,
  cancelJob,
  emit,
  endJob,
  openSession,
  reserve,
  settle,
  startJob,
  submitJob,
} from "../testing/commands.ts";
import { limits } from "./limits.ts";
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

test("what a job spends is summed up with what those spend that it asked for, also without a budget", () => {
  const { loop, view, run } = follow();
  const spend = (job: string, amount: string): void =>
    run(emit(job, { kind: "metric", body: "{}", spent: parseAmount(amount) }));
  run(openSession("ann"));
  run(submitJob("a", "ann", { capabilities: { "agent.delegate": ["*"] } }), startJob("a"));
  run(submitJob("b", "ann", { parentId: jobId("a"), delegateId: "d" }), startJob("b"));
  spend("a", "USD:0.10");
  spend("b", "USD:0.25");
  spend("b", "EUR:1");
  run(reserve("b", "r", "EUR:2"), settle("b", "r", "EUR:0.5"));
  const spentBy = (job: string): readonly string[] => view.spentBy(jobId(job)).map(printAmount);
  assert.deepEqual(spentBy("a"), ["USD:0.35", "EUR:1.5"]);
  assert.deepEqual(spentBy("b"), ["USD:0.25", "EUR:1.5"]);
  run(endJob("b"));
  assert.deepEqual(spentBy("b"), ["USD:0.25", "EUR:1.5"]);
  for (let at = 0; at < limits.currenciesMax; at += 1) spend("a", `credits-${at}:1`);
  assert.equal(spentBy("a").length, limits.currenciesMax);

  view.reset(loop.state);
  spend("a", "USD:0.10");
  assert.deepEqual(spentBy("a"), [], "of what it spent before that, nothing is known");
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

function parseAmount(text: string): Amount {
  const amount = parse(text);
  assert(amount);
  return amount;
}
