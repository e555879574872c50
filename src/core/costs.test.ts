import assert from "node:assert/strict";
import { test } from "node:test";
import { BareLoop } from "../testing/bare-loop.ts";
import {
  emit,
  endJob,
  openSession,
  reserve,
  settle,
  spend as spendAtOnce,
  startJob,
  submitJob,
} from "../testing/commands.ts";
import { printDecimal } from "./decimal.ts";
import { parseAmount } from "./grants.ts";
import { jobId } from "./ids.ts";
import { costOf } from "./jobs.ts";
import { limits } from "./limits.ts";
import type { State } from "./machine.ts";
import { capture, printRow, Restoring } from "./snapshot.ts";

test("a cost has two parts: what the job spent itself, and what all jobs below it spent", () => {
  const loop = family();
  spend(loop, "a", "USD:0.10");
  spend(loop, "b", "USD:0.25");
  spend(loop, "c", "EUR:1");
  loop.accept(reserve("c", "r", "EUR:2"));
  loop.accept(settle("c", "r", "EUR:0.5", "USD:0.01"));
  assert.deepEqual(costs(loop.state, "a"), ["USD 0.36 = 0.10 + 0.26 of 5.00", "EUR 1.5 = 0 + 1.5"]);
  assert.deepEqual(costs(loop.state, "b"), ["USD 0.26 = 0.25 + 0.01", "EUR 1.5 = 0 + 1.5"]);
  assert.deepEqual(costs(loop.state, "c"), ["EUR 1.5 = 1.5 + 0", "USD 0.01 = 0.01 + 0"]);
});

test("a budget of which nothing is spent is a cost of zero, and without a budget there is none", () => {
  const loop = family();
  assert.deepEqual(costs(loop.state, "a"), ["USD 0 = 0 + 0 of 5.00"]);
  assert.deepEqual(costs(loop.state, "b"), []);
});

test("what was reserved and never settled is spent when the job ends", () => {
  const loop = family();
  loop.accept(reserve("b", "r", "USD:0.40"));
  assert.deepEqual(costs(loop.state, "a"), ["USD 0 = 0 + 0 of 5.00"]);
  loop.accept(endJob("b"));
  assert.deepEqual(costs(loop.state, "a"), ["USD 0.40 = 0 + 0.40 of 5.00"]);
});

test("what is paid from a reservation leaves less in it, and the end of the job counts the rest", () => {
  const loop = family();
  loop.accept(reserve("a", "r", "USD:0.40"));
  loop.accept(spendAtOnce("a", ["USD:0.30", "EUR:1"], { reservationId: "r" }));
  assert.deepEqual(costs(loop.state, "a"), ["USD 0.30 = 0.30 + 0 of 5.00", "EUR 1 = 1 + 0"]);
  assert.equal(reservedOf(loop.state, "a"), "0.10");
  const again = new BareLoop(restored(loop.state));
  for (const one of [loop, again]) {
    one.accept(endJob("a"));
    assert.deepEqual(costs(one.state, "a"), ["USD 0.40 = 0.40 + 0 of 5.00", "EUR 1 = 1 + 0"]);
  }
  const more = family();
  more.accept(reserve("a", "r", "USD:0.40"));
  more.accept(spendAtOnce("a", ["USD:0.50"], { reservationId: "r" }));
  assert.equal(reservedOf(more.state, "a"), "0.00");
  more.accept(settle("a", "r"));
  assert.deepEqual(costs(more.state, "a"), ["USD 0.50 = 0.50 + 0 of 5.00"]);
});

test("what a job spends is counted after its end too, but not what its end has counted already", () => {
  const loop = family();
  loop.accept(reserve("b", "r", "USD:0.40"));
  loop.accept(endJob("b"));
  assert.deepEqual(loop.accept(spendAtOnce("b", ["USD:0.10"], { reservationId: "r" })), []);
  loop.accept(spendAtOnce("b", ["USD:0.02"]));
  assert.deepEqual(costs(loop.state, "a"), ["USD 0.42 = 0 + 0.42 of 5.00"]);
  assert.equal(loop.refusal(spendAtOnce("nobody", ["USD:1"])), "job_not_found");
});

test("what a worker says again of what it spent is not counted twice", () => {
  const loop = family();
  loop.accept(spendAtOnce("b", ["USD:0.10"], { workerSequence: 1 }));
  assert.deepEqual(loop.accept(spendAtOnce("b", ["USD:0.10"], { workerSequence: 1 })), []);
  assert.deepEqual(loop.accept(emit("b", { workerSequence: 1 })), []);
  loop.accept(spendAtOnce("b", ["USD:0.10"], { workerSequence: 2 }));
  const older = spendAtOnce("b", ["USD:0.10"], { attempt: 0, workerSequence: 3 });
  assert.deepEqual(loop.accept(older), [], "the numbers of an earlier attempt are not known");
  assert.deepEqual(costs(loop.state, "b"), ["USD 0.20 = 0.20 + 0"]);
});

test("what a forgotten child has spent is still part of what its parent has cost", () => {
  const loop = family();
  spend(loop, "c", "USD:0.25");
  loop.accept(endJob("c"));
  loop.pass(limits.endedJobKeptMs + 1);
  assert.equal(loop.state.jobs.byId.has(jobId("c")), false);
  assert.deepEqual(costs(loop.state, "c"), []);
  assert.deepEqual(costs(loop.state, "b"), ["USD 0.25 = 0 + 0.25"]);
  assert.deepEqual(costs(loop.state, "a"), ["USD 0.25 = 0 + 0.25 of 5.00"]);
});

test("beyond the most currencies only those of the budget are counted", () => {
  const loop = family();
  for (let at = 0; at <= limits.currenciesMax; at += 1) spend(loop, "a", `credits-${at}:1`);
  spend(loop, "a", "USD:0.10");
  const [first, ...others] = costs(loop.state, "a");
  assert.equal(first, "USD 0.10 = 0.10 + 0 of 5.00");
  assert.equal(others.length, limits.currenciesMax);
  spend(loop, "a", "credits-0:2");
  assert(costs(loop.state, "a").includes("credits-0 3 = 3 + 0"));
});

test("a snapshot keeps both parts, and counting goes on after it", () => {
  const loop = family();
  spend(loop, "a", "USD:0.10");
  spend(loop, "b", "EUR:1.50");
  const again = new BareLoop(restored(loop.state));
  for (const job of ["a", "b", "c"]) {
    assert.deepEqual(costs(again.state, job), costs(loop.state, job));
  }
  spend(again, "c", "EUR:0.5");
  assert.deepEqual(costs(again.state, "a")[1], "EUR 2.00 = 0 + 2.00");
});

test("of jobs in a snapshot of version 0.1.0 the totals of their budgets are known, and nothing else", () => {
  const loop = family();
  spend(loop, "a", "USD:0.10");
  spend(loop, "b", "EUR:1.50");
  const older = new BareLoop(restored(loop.state, ({ spendings: _, ...row }) => row));
  assert.deepEqual(costs(older.state, "a"), ["USD 0.10 of 5.00"]);
  assert.deepEqual(costs(older.state, "b"), []);
  spend(older, "b", "USD:0.20");
  assert.deepEqual(costs(older.state, "a"), ["USD 0.30 of 5.00"]);
  assert.deepEqual(costs(older.state, "b"), [], "a part of it would be wrong");
  const twice = new BareLoop(restored(older.state));
  assert.deepEqual(costs(twice.state, "a"), ["USD 0.30 of 5.00"]);
});

/** `a` has a budget and delegated to `b`, and that to `c`. */
function family(): BareLoop {
  const loop = new BareLoop();
  loop.accept(openSession("ann"));
  const capabilities = { "cost.budget": ["USD:5.00"], "agent.delegate": ["*"] };
  const below = { "agent.delegate": ["*"] };
  const [a, b] = [jobId("a"), jobId("b")];
  loop.accept(submitJob("a", "ann", { capabilities }));
  loop.accept(startJob("a"));
  loop.accept(submitJob("b", "ann", { parentId: a, delegateId: "b", capabilities: below }));
  loop.accept(startJob("b"));
  loop.accept(submitJob("c", "ann", { parentId: b, delegateId: "c" }));
  loop.accept(startJob("c"));
  return loop;
}

function spend(loop: BareLoop, job: string, text: string): void {
  const spent = parseAmount(text);
  assert(spent);
  loop.accept(emit(job, { kind: "metric", body: "{}", spent }));
}

/** `USD 0.36 = 0.10 + 0.26 of 5.00`. */
function costs({ jobs }: State, job: string): readonly string[] {
  return costOf(jobs, jobId(job)).map(({ currency, total, own, children, cap }) =>
    [
      `${currency} ${printDecimal(total)}`,
      ...(own && children ? [`= ${printDecimal(own)} + ${printDecimal(children)}`] : []),
      ...(cap ? [`of ${printDecimal(cap)}`] : []),
    ].join(" "),
  );
}

/** Dollars that are set aside. */
function reservedOf({ jobs }: State, job: string): string {
  const cost = costOf(jobs, jobId(job)).find(({ currency }) => currency === "USD");
  return cost?.reserved ? printDecimal(cost.reserved) : "none";
}

type Row = Readonly<Record<string, unknown>>;

/** What a snapshot of the state is read as, after each row of a job was changed. */
function restored(state: State, change: (row: Row) => Row = (row) => row): Restoring["state"] {
  const restoring = new Restoring();
  for (const section of capture(state)) {
    for (const index of section.rows.keys()) {
      const row = printRow(section, index);
      const isJob = section.name === "job";
      restoring.add(section.name, isJob ? JSON.stringify(change(JSON.parse(row))) : row);
    }
  }
  restoring.state.lastSequence = state.lastSequence;
  return restoring.state;
}
