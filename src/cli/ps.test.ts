import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "../wire/api/index.ts";
import { describeAround, describeJobs, describeQuestions } from "./ps.ts";
import { asked, nowMs, seen } from "./testing.ts";

test("a list of nobody offers the one command that makes them appear", () => {
  const none = describeAround([], { questions: [], agents: [], warnings: [], untold: 0, nowMs });
  assert.match(none, /^no agents; run tipstaff install claude-code .*\n$/);
  const hidden = describeAround([], {
    questions: [],
    agents: [seen()],
    warnings: [],
    untold: 0,
    nowMs,
  });
  assert.match(hidden, /1 that ended or were lost: --all shows them\n$/);
});

test("of a fleet that is not told whole, that is said", () => {
  const agents = [seen()];
  const list = describeAround(agents, { questions: [], agents, warnings: [], untold: 200, nowMs });
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

test("open questions say who asks what, since when, and the command that answers", () => {
  assert.equal(describeQuestions({ questions: [], nowMs }), "");
  const questions = [
    asked({ choices: ["pay now", "wait"] }),
    asked({
      id: "q_00000089ab00",
      askerName: "planner",
      prompt: "How\nmany?",
      schema: { type: "integer", minimum: 1, maximum: 12 },
    }),
    // Its end is alike, so that one more digit is shown of both.
    asked({ id: "q_ffffff6789ab", askerName: "mailer", prompt: "Why?" }),
    asked({
      id: "q_1",
      kind: "scope",
      askerName: "reader",
      prompt: "to compare",
      scope: { read: ["src/**"], mode: "read_only", ttlMs: 1_000 },
    }),
  ];
  const text = describeQuestions({ questions, nowMs });
  const line = (name: string): string => text.split("\n").find((one) => one.includes(name)) ?? "";
  const payer = /\? payer +4 min +Pay 5 EUR\? +tipstaff answer 56789ab <pay now \| wait>$/;
  assert.match(line("payer"), payer);
  assert.match(
    line("planner"),
    /How many\? +whole number, 1 to 12 +tipstaff answer 89ab00 <number>$/,
  );
  assert.match(line("mailer"), /Why\? +tipstaff answer f6789ab <text>$/);
  const reader = /wants to read src\/\*\*: to compare +tipstaff answer q_1 <yes or no>$/;
  assert.match(line("reader"), reader);
  assert.match(text, /\n4 questions wait for your answer\n\n$/);
  const many = Array.from({ length: 12 }, (_, index) => asked({ id: `q_${index}` }));
  assert.match(describeQuestions({ questions: many, nowMs }), /2 more are in tipstaff needs\n/);
});

test("with very many open questions, ids are not shortened", () => {
  const id = (index: number): string => `q_${String(index).padStart(12, "0")}`;
  const questions = Array.from({ length: 10_000 }, (_, index) => asked({ id: id(index) }));
  const text = describeQuestions({ questions, nowMs });
  assert.match(text, /tipstaff answer q_000000000000 <text>$/m);
  assert.match(text, /\n10,000 questions wait for your answer · 9,990 more are in tipstaff needs/);
});

test("the choices are part of the command if the line has room for them", () => {
  const choices = ["pay now", "wait"];
  const listed = (prompt: string): readonly string[] =>
    describeQuestions({ questions: [asked({ choices, prompt })], nowMs, columns: 80 }).split("\n");
  assert.equal(
    listed("Pay 5 EUR?")[1],
    "? payer     4 min  Pay 5 EUR?  tipstaff answer 6789ab <pay now | wait>",
  );
  assert.match(
    listed("Pay 5 EUR to the printer?")[1] ?? "",
    /Pay 5 EUR to the printer\? .* tipstaff answer 6789ab <choice>$/,
  );
});

test("a question with a deadline says how much time is left", () => {
  const questions = [asked({ expiresAtMs: nowMs + 40_000 }), asked({ id: "q_2" })];
  const [titles, first, second] = describeQuestions({ questions, nowMs }).split("\n");
  assert.match(titles ?? "", /FOR +CLOSES IN +QUESTION/);
  assert.match(first ?? "", /4 min +40 s +Pay 5 EUR\?/);
  assert.match(second ?? "", /4 min +Pay 5 EUR\?/);
});

test("a job that wants access says to which files", () => {
  const prompt = "wants to read src/**: to compare";
  const question = { id: "q_1", kind: "scope", prompt, askedAtMs: 0, openCount: 1 } as const;
  const rows = [job({ state: "waiting", agent: "reader", question })];
  assert.match(describeJobs({ jobs: { rows, total: 1 }, nowMs }), /reader +wants to read src/);
});

test("a job with an open question is listed with its prompt", () => {
  const question = {
    id: "q_1",
    kind: "input",
    prompt: "Pay?",
    askedAtMs: 0,
    openCount: 2,
  } as const;
  const rows = [job({ state: "waiting", agent: "payer", question })];
  const list = describeJobs({ jobs: { rows, total: 1 }, nowMs });
  assert.match(list, /● waiting .*payer +asks: Pay\? \(and 1 more\)/);
  assert.match(list, /\n1 job asks you\n$/);
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
