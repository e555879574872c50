/** `tipstaff job list`: jobs, those that need a look first. */
import type { Job, JobFailure, JobState } from "../wire/api/index.ts";
import type { Column } from "./columns.ts";
import {
  asksIn,
  briefLullOf,
  countsIn,
  isSpent,
  jobTone,
  oneLine,
  progressOf,
  spentOf,
  standingOf,
  waitsIn,
} from "./job-words.ts";
import { collect, printList } from "./lists.ts";
import type { Values } from "./table.ts";
import { ago } from "./times.ts";
import { choiceIn, choicesIn, textIn } from "./values.ts";

const states = [
  "waiting",
  "running",
  "pending",
  "error",
  "timed_out",
  "cancelled",
  "success",
] as const;

export async function listJobs(values: Values): Promise<number> {
  const state = choicesIn(values, "state", states);
  const agent = textIn(values, "agent");
  const sort = choiceIn(values, "sort", ["attention", "newest", "oldest"]) ?? "attention";
  const filter = { ...(state && { state }), ...(agent !== undefined && { agent }) };
  const listed = await collect(values, "listJobs", { sort }, filter);
  return printList(values, listed, {
    columns: columnsAt(listed.nowMs),
    noun: ["job", "jobs"],
    empty: "no jobs; tipstaff job submit echo hello makes one",
    counts: (rows) => countsIn(rows, states),
    notes: (rows) => waitsIn(rows, listed.nowMs),
  });
}

function columnsAt(nowMs: number): readonly Column<Job>[] {
  return [
    { title: "AGENT", cell: ({ agent }) => agent, weight: 8, cellsMin: 10 },
    {
      title: "STATE",
      cell: (job) => ({ text: standingOf(job), tone: jobTone(job) }),
      weight: 10,
    },
    { title: "PROGRESS", cell: ({ progress }) => progressOf(progress), weight: 5, cellsMin: 12 },
    {
      title: "COST",
      cell: (job) => ({ text: spentOf(job), tone: isSpent(job) ? "bad" : undefined }),
      weight: 4,
      cellsMin: 12,
    },
    {
      title: "SINCE",
      cell: ({ endedAtMs, startedAtMs, createdAtMs }) =>
        ago(endedAtMs ?? startedAtMs ?? createdAtMs, nowMs),
      weight: 9,
    },
    {
      title: "WHY",
      cell: (job) =>
        job.failure ? whyOf(job.failure, job.state) : briefLullOf(job, nowMs) || asksIn(job),
      weight: 6,
      cellsMin: 20,
    },
    // The end of an id is enough to name a job.
    { title: "ID", cell: ({ id }) => id, weight: 7, cellsMin: 6, cut: "start" },
  ];
}

/** The message first: where there is little room, it says more than a code. Some codes say no more than the state. */
function whyOf({ code, message }: JobFailure, state: JobState): string {
  const why = oneLine(message);
  return state === "error" ? `${why} (${code})` : why;
}
