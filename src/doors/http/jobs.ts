/** Looks at jobs: a list of them, one with all that belong to it, and what one has said. */
import {
  type Job,
  type JobId,
  type Outcome,
  type State,
  jobId as toJobId,
} from "../../core/index.ts";
import type { Entry } from "../../log/index.ts";
import type { Plane } from "../../plane/index.ts";
import { traceIdOf } from "../../runtime/index.ts";
import type * as api from "../../wire/api/index.ts";
import { limits as wireLimits } from "../../wire/openapi/index.ts";
import { encodeEntry } from "./encode.ts";
import { encodeFailure, encodeJob, encodeOutcome, type JobLook, stateOf } from "./encode-job.ts";
import { limits } from "./limits.ts";
import { list } from "./lists.ts";
import type { Call, Reply } from "./operations.ts";
import { type Rank, wordsOf } from "./pages.ts";
import { lookInTurns, type Turn } from "./slices.ts";

export type WorkParts = JobLook & { readonly plane: Plane };

type Signalled = Pick<Call, "signal">;

export async function listJobs(
  parts: WorkParts,
  input: api.Input<"listJobs">,
  { signal }: Signalled,
): Promise<Reply<api.JobPage>> {
  const { plane, work } = parts;
  const { state: states, agent, principal, parent, query, sort = "attention" } = input;
  const shown: Job[] = [];
  const encode = (state: State, job: Job): api.Job => {
    shown.push(job);
    return encodeJob(state, parts, job);
  };
  const page = await list({ plane, signal }, { ...input, sort }, encode, (state) => ({
    items: state.jobs.byId.values(),
    wants: (job) =>
      job.state !== "preparing" &&
      (!states || states.includes(stateOf(state, job))) &&
      (agent === undefined || job.agent === agent || job.agent.split("@")[0] === agent) &&
      (principal === undefined || job.principal === principal) &&
      (parent === undefined || job.parentId === parent) &&
      wordsOf(query, (one: Job) => textOf(state, one))(job),
    rankOf: rankJobs(state, sort),
    idOf: ({ id }) => id,
  }));
  if (page.refusal) return page;
  const failures = await lookInTurns(plane, signal, (turn) => readFailures(plane, shown, turn));
  if (failures.refusal) return failures;
  const rows = page.value.rows.map((row) => withFailure(row, failures.value));
  const counts = await plane.read(() => ({ ...work.counts }));
  return { value: { ...page.value, rows, counts } };
}

function textOf(state: State, job: Job): string {
  const {
    id,
    agent,
    principal,
    contextId = "",
    traceId = "",
    parentId = "",
    delegateId = "",
  } = job;
  const worker = job.state === "running" ? job.worker.id : "";
  const names = [id, agent, principal, contextId, traceId, parentId, delegateId, worker];
  return [...names, stateOf(state, job)].join(" ");
}

/**
 * What waits for an answer first, then what may be lost, then what runs, then what is pending; what has ended comes
 * last, the latest first. Of those that have not ended, families stand together, the newest first, and each job after
 * the one that asked for it.
 */
function rankJobs(all: State, sort: api.JobSort): (job: Job) => Rank {
  const { byId } = all.jobs;
  switch (sort) {
    case "attention":
      return (job) => {
        if (job.state === "ended") return `4 ${inDigits(aboveAll - job.endedAtMs)}`;
        const root = rootOf(byId, job);
        const { state } = root.state === "ended" ? job : root;
        const isAway = job.state === "running" && job.orphanedUntilMs !== undefined;
        const isWaiting = stateOf(all, job) === "waiting";
        const kind = isWaiting ? 0 : isAway ? 1 : state === "running" ? 2 : 3;
        return `${kind} ${inDigits(aboveAll - root.place)} ${inDigits(job.place)}`;
      };
    case "newest":
      return ({ place }) => -place;
    case "oldest":
      return ({ place }) => place;
  }
}

/** Later than any time, and after any place: what is taken from it orders the newest first. It has 15 digits. */
const aboveAll = 2 ** 48;

function inDigits(value: number): string {
  return String(value).padStart(15, "0");
}

/** The first of those it descends from that is still known. */
function rootOf(byId: State["jobs"]["byId"], job: Job): Job {
  let root = job;
  for (const one of lineageOf(byId, job)) root = one;
  return root;
}

/** The job, then the one that asked for it, and so on, as far as they are still known. */
function* lineageOf(byId: State["jobs"]["byId"], job: Job): Generator<Job> {
  for (let next: Job | undefined = job; next; ) {
    yield next;
    next = next.parentId === undefined ? undefined : byId.get(next.parentId);
  }
}

type Failures = ReadonlyMap<string, Pick<api.Job, "failure">>;

function withFailure(row: api.Job, failures: Failures): api.Job {
  return { ...row, ...failures.get(row.id) };
}

/** Records are never changed in place, and neither is how a job ended. */
const outcomes = new WeakMap<Job, Pick<api.Job, "failure">>();

/** Why jobs ended is in the log alone. */
export async function readFailures(
  plane: Plane,
  jobs: readonly Job[],
  turn: Turn,
): Promise<Failures> {
  const failures = new Map<string, Pick<api.Job, "failure">>();
  let read = 0;
  for (const job of jobs) {
    if (job.state !== "ended" || job.status === "success") continue;
    let failure = outcomes.get(job);
    if (!failure) {
      if (read % limits.fewPlaces === 0) await turn();
      read += 1;
      const outcome = await readOutcome(plane, job);
      failure = outcome ? encodeFailure(outcome) : {};
      outcomes.set(job, failure);
    }
    failures.set(job.id, failure);
  }
  return failures;
}

/** Undefined if it has not ended, or the log no longer reaches back so far. */
async function readOutcome(plane: Plane, job: Job): Promise<Outcome | undefined> {
  if (job.state !== "ended") return undefined;
  const [entry] = await plane.history(job.endedSequence - 1, 1);
  const event = entry?.event;
  return event?.type === "job.ended" && event.jobId === job.id ? event.outcome : undefined;
}

export async function getJob(
  parts: WorkParts,
  { jobId }: api.Input<"getJob">,
  { signal }: Signalled,
): Promise<Reply<api.JobDetail>> {
  const { plane } = parts;
  const looked = await lookInTurns(plane, signal, async (turn) => {
    await turn();
    const seen = await plane.read((state) => seeJob(state, parts, jobId));
    if (!seen) return undefined;
    const { job, kin, detail, input } = seen;
    const failures = await readFailures(plane, kin, turn);
    await turn();
    const outcome = await readOutcome(plane, job);
    const given = input ?? (await readInput(plane, jobId));
    return {
      ...detail,
      tree: detail.tree.map((row) => withFailure(row, failures)),
      ...(given !== undefined && { input: JSON.parse(given) }),
      ...(outcome && encodeOutcome(outcome)),
    };
  });
  if (looked.refusal) return looked;
  return looked.value ? { value: looked.value } : noJob(jobId);
}

function noJob(id: string): Reply<never> {
  return { refusal: { code: "job_not_found", message: `there is no job ${id}` } };
}

type Seen = {
  readonly job: Job;
  /** Those of its tree. */
  readonly kin: readonly Job[];
  readonly detail: api.JobDetail;
  readonly input: string | undefined;
};

function seeJob(state: State, look: JobLook, id: string): Seen | undefined {
  const { byId, children, inputs } = state.jobs;
  const job = byId.get(toJobId(id));
  if (!job || job.state === "preparing") return undefined;
  const kin = treeOf(state, job);
  const { sessionIds, isRepeatable, runMsMax, grant } = job;
  const { capabilities, expiresAtMs } = grant;
  const detail = {
    ...encodeJob(state, look, job),
    traceId: traceIdOf(job),
    sessionIds,
    isRepeatable,
    ...(runMsMax !== undefined && { runMsMax }),
    grant: { capabilities, ...(expiresAtMs !== undefined && { expiresAtMs }) },
    children: [...(children.get(job.id)?.values().take(limits.kinShownMax) ?? [])],
    tree: kin.map((one) => encodeJob(state, look, one)),
  };
  return { job, kin, detail, input: inputs.get(job.id) };
}

/**
 * From the first that is still known, each before those it asked for. Where there are too many, some are left out, but
 * never the job itself, nor one it descends from.
 */
function treeOf({ jobs: { byId, children } }: State, job: Job): readonly Job[] {
  const lineage = new Set(lineageOf(byId, job));
  const kin: Job[] = [];
  /** How many of those have no place yet. */
  let owed = lineage.size;
  const left = [rootOf(byId, job)];
  for (let next = left.pop(); next; next = left.pop()) {
    if (lineage.has(next)) owed -= 1;
    else if (kin.length + owed >= limits.kinShownMax) continue;
    kin.push(next);
    if (kin.length >= limits.kinShownMax) break;
    // A job may have asked for more than anybody is shown.
    const asked = children.get(next.id) ?? new Set<JobId>();
    const first = [...asked.values().take(limits.kinShownMax)].flatMap((id) => byId.get(id) ?? []);
    const meant = [...lineage].filter((one) => asked.has(one.id));
    const known = [...new Set([...first, ...meant])];
    left.push(...known.filter(({ state }) => state !== "preparing").reverse());
  }
  return kin;
}

/** What has ended is kept without its input. */
async function readInput(plane: Plane, id: string): Promise<string | undefined> {
  for await (const { event } of plane.stream(`job/${id}`)) {
    return event.type === "job.accepted" ? event.input : undefined;
  }
  return undefined;
}

export async function listJobEvents(
  { plane }: WorkParts,
  input: api.Input<"listJobEvents">,
  { signal }: Signalled,
): Promise<Reply<api.LogPage>> {
  const isKnown = await plane.read(({ jobs }) => {
    const job = jobs.byId.get(toJobId(input.jobId));
    return job !== undefined && job.state !== "preparing";
  });
  if (!isKnown) return noJob(input.jobId);
  return await lookInTurns(plane, signal, (turn) => readEvents(plane, input, turn));
}

async function readEvents(
  plane: Plane,
  { jobId, after, before, limit = wireLimits.pageDefault, kind: kinds = [] }: JobEventsInput,
  turn: Turn,
): Promise<api.LogPage> {
  const { durableSequence: sequence, oldestSequence } = plane;
  const wants = ({ event }: Entry): boolean =>
    kinds.length === 0 || (event.type === "job.emitted" && kinds.includes(event.kind));
  const stream = `job/${jobId}`;
  const entries =
    after === undefined
      ? backwards(plane, stream, before ?? sequence + 1)
      : forwards(plane, stream, { after, before });
  const rows: api.Entry[] = [];
  let looked = 0;
  let bytes = 0;
  let last = 0;
  for await (const entry of entries) {
    const isFull = rows.length === limit || (bytes > limits.pageBytesMax && rows.length > 0);
    if (isFull || looked >= limits.entriesScannedMax) {
      return { rows, next: last, oldestSequence, sequence };
    }
    if (looked % limits.entriesReadMax === 0) await turn();
    looked += 1;
    last = entry.sequence;
    if (!wants(entry)) continue;
    bytes += entry.body.length;
    rows.push(encodeEntry(entry, { maySee: true, hasBodies: true }));
  }
  return { rows, oldestSequence, sequence };
}

type JobEventsInput = api.Input<"listJobEvents">;

async function* forwards(
  plane: Plane,
  stream: string,
  { after, before }: { readonly after: number; readonly before: number | undefined },
): AsyncGenerator<Entry> {
  for await (const entry of plane.stream(stream, { afterSequence: after })) {
    if (before !== undefined && entry.sequence >= before) return;
    yield entry;
  }
}

async function* backwards(plane: Plane, stream: string, before: number): AsyncGenerator<Entry> {
  let beforeSequence = before;
  for (;;) {
    const entries = await plane.streamBack(stream, {
      beforeSequence,
      count: limits.entriesReadMax,
    });
    yield* entries;
    const last = entries.at(-1);
    if (!last) return;
    beforeSequence = last.sequence;
  }
}
