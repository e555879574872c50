/**
 * Random trees of jobs that spend money, with restarts in between: what a job has cost is told the same everywhere, and
 * is what the job spent itself with what each of its children has cost.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { spentOf } from "../../src/cli/job-words.ts";
import { describeJobs } from "../../src/cli/ps.ts";
import { type Command, jobId } from "../../src/core/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { Plane } from "../../src/plane/index.ts";
import {
  emit,
  endJob,
  openSession,
  reserve,
  settle,
  spend,
  startJob,
  submitJob,
} from "../../src/testing/commands.ts";
import { openTestDoor } from "../../src/testing/http-door.ts";
import { ManualClock } from "../../src/testing/manual-clock.ts";
import type { Job, JobCost } from "../../src/wire/api/index.ts";
import { wordsOfCost } from "../../web/src/words/job.ts";

type Spend = {
  readonly job: number;
  readonly cents: number;
  readonly currency: "USD" | "EUR";
  /** Reported as a metric, at once, or by settling a call; or reserved and left to the end of the job. */
  readonly how: "metric" | "spent" | "settled" | "left";
};

type Tree = {
  /** For each job, the index of its parent, which is an earlier job. The first job has no parent. */
  readonly parents: readonly number[];
  /** Which have a budget in dollars, if their parent has one. */
  readonly budgeted: readonly boolean[];
  readonly spends: readonly Spend[];
  /** The number of spends after which the daemon is restarted. */
  readonly restartAt: number;
  /** Which have ended at last. */
  readonly ended: readonly boolean[];
};

/** Fewer than may descend from each other. */
const jobsMax = 8;

const anySpend: fc.Arbitrary<Spend> = fc.record({
  job: fc.nat(jobsMax - 1),
  cents: fc.nat(900),
  currency: fc.constantFrom("USD", "EUR"),
  how: fc.constantFrom("metric", "spent", "settled", "left"),
});

const trees: fc.Arbitrary<Tree> = fc.integer({ min: 1, max: jobsMax }).chain((count) =>
  fc.record({
    parents: fc.tuple(...Array.from({ length: count }, (_, at) => fc.nat(Math.max(0, at - 1)))),
    budgeted: fc.array(fc.boolean(), { minLength: count, maxLength: count }),
    spends: fc.array(anySpend, { maxLength: 30 }),
    restartAt: fc.nat(30),
    ended: fc.array(fc.boolean(), { minLength: count, maxLength: count }),
  }),
);

test("in every tree a cost is the job's own part and its children's, the same in list, job, footer and page", async () => {
  await fc.assert(fc.asyncProperty(trees, judge), { numRuns: 40 });
});

async function judge(tree: Tree): Promise<void> {
  const { parents, spends, restartAt, ended } = tree;
  const log = new MemoryLog();
  const own = parents.map(() => new Map<string, number>());
  const before = spends.slice(0, restartAt);
  const after = spends.slice(restartAt);
  await run(log, [openSession("ann"), ...submissions(tree), ...before.flatMap(commandsOf(tree))]);
  // From the last to the first: a parent that ends well leaves its children alone, but none ends before them here.
  const ends = ended.flatMap((isEnded, at) => (isEnded ? [endJob(nameOf(at))] : [])).reverse();
  await run(log, [...after.flatMap(commandsOf(tree)), ...ends]);
  for (const { job, cents, currency, how } of spends) {
    const at = job % parents.length;
    if (how === "left" && !ended[at]) continue;
    own[at]?.set(currency, (own[at]?.get(currency) ?? 0) + cents);
  }

  await using to = await openTestDoor({ log });
  const { rows } = await to.done("listJobs", { sort: "oldest" });
  assert.equal(rows.length, parents.length);
  for (const row of rows) {
    const at = parents.findIndex((_, index) => nameOf(index) === row.id);
    const single = await to.done("getJob", { jobId: row.id });
    assert.deepEqual(single.cost, row.cost);
    assert.equal(spentOf(single), spentOf(row));
    const children = rows.filter(({ parentId }) => parentId === row.id);
    for (const currency of ["USD", "EUR"]) {
      const cost = row.cost.find((one) => one.currency === currency);
      const below = children.map((child) => centsOf(child, currency));
      const expected = (own[at]?.get(currency) ?? 0) + below.reduce((sum, one) => sum + one, 0);
      assert.equal(centsOf(row, currency), expected, `${row.id} ${currency}`);
      if (!cost) continue;
      assert.equal(cents(cost.own), own[at]?.get(currency) ?? 0);
      assert.equal(cents(cost.own) + cents(cost.children), cents(cost.total));
      judgeWords(row, cost);
    }
    const parts = [...row.budget, ...(row.unbudgeted ?? [])];
    assert.deepEqual(
      parts.map(({ currency, spent }) => [currency, spent]),
      row.cost.map(({ currency, total }) => [currency, total]),
    );
  }
}

/** The list of jobs, `ps` and the footer of `job submit` have the first words, the page the others. */
function judgeWords(row: Job, cost: JobCost): void {
  const { currency, cap } = cost;
  const plain = (cents(cost.total) / 100).toFixed(2);
  const words = cap === undefined ? `${plain} ${currency}` : `${plain} of ${cap} ${currency}`;
  assert(spentOf(row).split(" · ").includes(words), `${spentOf(row)} has ${words}`);
  const nowMs = row.createdAtMs + 1_000;
  assert(describeJobs({ jobs: { rows: [row], total: 1 }, nowMs }).includes(spentOf(row)));
  const { spent, bound } = wordsOfCost(cost);
  const sign = currency === "USD" ? "$" : "€";
  assert.deepEqual([spent, bound], [`${sign}${plain}`, cap === undefined ? "" : `${sign}${cap}`]);
}

function nameOf(at: number): string {
  return `job_${at}`;
}

function submissions({ parents, budgeted }: Tree): readonly Command[] {
  const isBudgeted: boolean[] = [];
  return parents.flatMap((parent, at) => {
    isBudgeted[at] = budgeted[at] === true && (at === 0 || isBudgeted[parent] === true);
    const budget = isBudgeted[at] ? { "cost.budget": ["USD:900.00"] } : {};
    return [
      submitJob(nameOf(at), "ann", {
        capabilities: { ...budget, "agent.delegate": ["*"] },
        ...(at > 0 && { parentId: jobId(nameOf(parent)), delegateId: nameOf(at) }),
      }),
      // A worker in another process survives the restart.
      startJob(nameOf(at), { isRemote: true }),
    ];
  });
}

function commandsOf({ parents, spends }: Tree): (spend: Spend) => readonly Command[] {
  return (one) => {
    const { currency, how } = one;
    const job = nameOf(one.job % parents.length);
    const units = BigInt(one.cents);
    const text = `${currency}:${(one.cents / 100).toFixed(2)}`;
    const id = `r${spends.indexOf(one)}`;
    switch (how) {
      case "metric":
        return [
          emit(job, {
            kind: "metric",
            body: "{}",
            spent: { currency, value: { units, scale: 2 } },
          }),
        ];
      case "spent":
        return [spend(job, [text])];
      case "settled":
        return [reserve(job, id), settle(job, id, text)];
      case "left":
        return [reserve(job, id, text)];
    }
  };
}

/** By a daemon that is started for them and then stopped. */
async function run(log: MemoryLog, commands: readonly Command[]): Promise<void> {
  const onFault = (fault: unknown): never => assert.fail(String(fault));
  await using plane = await Plane.open({ log, clock: new ManualClock(), onFault });
  for (const command of commands) {
    const { refusal } = await plane.submit(command, { actor: "ann" }, () => undefined);
    assert.equal(refusal, undefined);
  }
}

function centsOf({ cost }: Job, currency: string): number {
  return cents(cost.find((one) => one.currency === currency)?.total ?? "0");
}

function cents(amount: string | undefined): number {
  assert(amount !== undefined, "both parts are known");
  return Math.round(Number(amount) * 100);
}
