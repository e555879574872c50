import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "../wire/api/index.ts";
import { describeAround, describeJobs } from "./ps.ts";
import { nowMs, seen } from "./testing.ts";

test("a list of nobody offers the one command that makes them appear", () => {
  const none = describeAround([], { agents: [], warnings: [], untold: 0, nowMs });
  assert.match(none, /^no agents; tipstaff install claude-code .*\n$/);
  const hidden = describeAround([], { agents: [seen()], warnings: [], untold: 0, nowMs });
  assert.match(hidden, /1 that ended or were lost: --all shows them\n$/);
});

test("of a fleet that is not told whole, that is said", () => {
  const agents = [seen()];
  const list = describeAround(agents, { agents, warnings: [], untold: 200, nowMs });
  assert.match(list, /1 agent · at least 200 more are registered: tipstaff agents lists them\n$/);
});

test("jobs that run are listed with how far they are, what they cost and what they are part of", () => {
  const rows = [
    job({ id: "job_1", agent: "planner", doing: "thinks" }),
    job({
      id: "job_2",
      agent: "writer@2",
      parentId: "job_1",
      progress: { current: 1_200, total: 4_800, units: "pages" },
      cost: [{ currency: "USD", total: "2.1", cap: "2.00", reserved: "0" }],
    }),
    job({ id: "job_3", agent: "painter", state: "pending" }),
    job({ id: "job_5", agent: "free", cost: [{ currency: "EUR", total: "0.5" }] }),
    job({ id: "job_4", agent: "slow", cancelling: { reason: "", untilMs: nowMs } }),
  ];
  const list = describeJobs({ jobs: { rows, total: 6 }, nowMs });
  const line = (name: string): string => list.split("\n").find((one) => one.includes(name)) ?? "";
  assert.match(line("planner"), /● running +4 s +planner +thinks/);
  const whole =
    /● running +4 s +writer@2 .*1,200 of 4,800 pages \(25 %\) +2\.10 of 2\.00 USD +planner/;
  assert.match(line("writer@2"), whole);
  assert.match(line("painter"), /^ {2}waits +9 s +painter/);
  assert.match(line("slow"), /● ending/);
  assert.match(line("free"), /free +0\.50 EUR/);
  assert.match(list, /4 jobs run · 1 waits for a worker · 1 more\n$/);
});

test("a job of which nothing comes says whom it waits for", () => {
  const rows = [
    job({ id: "job_1", agent: "painter", state: "pending", waiting: { workers: 0 } }),
    job({ id: "job_2", agent: "singer@2", state: "pending", waiting: { workers: 1 } }),
    job({ id: "job_5", agent: "painter", state: "pending", waiting: { workers: 0 } }),
    job({ id: "job_3", agent: "dancer", state: "pending", waiting: { workers: 3 } }),
    job({ id: "job_4", agent: "poet", doing: "thinks", orphanedUntilMs: nowMs + 40_000 }),
  ];
  const list = describeJobs({ jobs: { rows, total: 5 }, nowMs });
  assert.match(list, /waits .*painter +none is connected/);
  assert.match(list, /waits .*singer@2 +the only one is busy/);
  assert.match(list, /waits .*dancer +all 3 are busy/);
  assert.match(list, /worker away .*poet +has 40 s to come back/);
  const waits = [
    "2 wait for painter; none is connected",
    "1 waits for singer@2; the only one is busy",
    "1 waits for dancer; all 3 are busy",
  ];
  assert.equal(list.trimEnd().split("\n").at(-1), ["1 job runs", ...waits].join(" · "));
});

test("where no job runs, or no daemon tells of them, nothing is said of jobs", () => {
  assert.equal(describeJobs({ nowMs }), "");
  assert.equal(describeJobs({ jobs: { rows: [], total: 0 }, nowMs }), "");
});

function job(change: Partial<Job>): Job {
  const { state = "running" } = change;
  return {
    id: "job",
    agent: "echo",
    principal: "ann",
    state,
    createdAtMs: nowMs - 9_000,
    ...(state === "running" && { startedAtMs: nowMs - 4_000 }),
    attempt: 1,
    depth: 0,
    childCount: 0,
    eventCount: 0,
    cost: [],
    budget: [],
    ...change,
  };
}
