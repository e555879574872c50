/**
 * What is kept of jobs, and how it is found again: by id, by who asked, by key, by when it is due. What a job may
 * do, and what follows from it, is in `jobs.ts`.
 */
import { parseSpending, printSpending, type SpendingRow, type Spendings } from "./costs.ts";
import * as grants from "./grants.ts";
import type { JobId, SessionId } from "./ids.ts";
import type { Job, Key } from "./jobs.ts";
import { limits } from "./limits.ts";
import { PriorityMap } from "./priority-map.ts";
import { Roll } from "./roll.ts";
import { putInto, takeFrom } from "./sets-by-key.ts";

export type Jobs = {
  readonly byId: ReadonlyMap<JobId, Job>;
  /** JSON, of those that may be started yet. */
  readonly inputs: ReadonlyMap<JobId, string>;
  readonly budgets: ReadonlyMap<JobId, grants.Budget>;
  /**
   * What each job has spent, with or without a budget. Absent for jobs from a snapshot of version 0.1.0, which did not
   * count it.
   */
  readonly spendings: ReadonlyMap<JobId, Spendings>;
  /** What is set aside for work that is under way, by what the job calls it. */
  readonly reservations: ReadonlyMap<JobId, ReadonlyMap<string, readonly grants.Amount[]>>;
  readonly tallies: ReadonlyMap<JobId, Readonly<Tally>>;
  readonly children: ReadonlyMap<JobId, ReadonlySet<JobId>>;
  readonly byKey: ReadonlyMap<string, JobId>;
  readonly byRequest: ReadonlyMap<string, JobId>;
  /** Unfinished jobs by the first session that submitted them; those without a session are not here. */
  readonly unfinishedBySession: ReadonlyMap<SessionId, ReadonlySet<JobId>>;
  /** All unfinished jobs. */
  readonly unfinishedByPrincipal: ReadonlyMap<string, ReadonlySet<JobId>>;
  readonly byPrincipal: ReadonlyMap<string, Pick<Roll<JobId>, "after" | "size">>;
  /** Those that wait for a worker. */
  readonly pending: ReadonlySet<JobId>;
  /** Ended ones of each principal that may be forgotten, in the order in which they ended. */
  readonly ended: ReadonlyMap<string, Pick<PriorityMap<JobId>, "least" | "size">>;
  /** The same of those with a key: forgotten with them, a request that is made again would be another. */
  readonly endedWithKey: ReadonlyMap<string, Pick<PriorityMap<JobId>, "least" | "size">>;
  readonly lastPlace: number;
  /** Inputs and grants of unfinished jobs: of all, and of each principal. */
  readonly bytes: number;
  readonly bytesByPrincipal: ReadonlyMap<string, number>;
  readonly due: Pick<PriorityMap<JobId>, "first">;
};

export type OwnJobs = {
  readonly byId: Map<JobId, Job>;
  readonly inputs: Map<JobId, string>;
  readonly budgets: Map<JobId, grants.Budget>;
  readonly spendings: Map<JobId, Spendings>;
  readonly reservations: Map<JobId, Map<string, readonly grants.Amount[]>>;
  readonly tallies: Map<JobId, Tally>;
  readonly children: Map<JobId, Set<JobId>>;
  readonly byKey: Map<string, JobId>;
  readonly byRequest: Map<string, JobId>;
  readonly unfinishedBySession: Map<SessionId, Set<JobId>>;
  readonly unfinishedByPrincipal: Map<string, Set<JobId>>;
  readonly byPrincipal: Map<string, Roll<JobId>>;
  readonly pending: Set<JobId>;
  readonly ended: Map<string, PriorityMap<JobId>>;
  readonly endedWithKey: Map<string, PriorityMap<JobId>>;
  lastPlace: number;
  bytes: number;
  readonly bytesByPrincipal: Map<string, number>;
  readonly due: PriorityMap<JobId>;
};

/** How much a job has said. */
export type Tally = {
  events: number;
  /** Where in the log the first of them stands; 0 as long as there is none. */
  firstSequence: number;
  /** Of those kinds that a session may pass over. */
  readonly byKind: Map<string, number>;
  /** The last number of its own session that it took. */
  ownSequence: number;
  /** What a remote worker counts for itself: what it says again is not heard twice. */
  workerSequence: number;
};

export function emptyJobs(): OwnJobs {
  return {
    byId: new Map(),
    inputs: new Map(),
    budgets: new Map(),
    spendings: new Map(),
    reservations: new Map(),
    tallies: new Map(),
    children: new Map(),
    byKey: new Map(),
    byRequest: new Map(),
    unfinishedBySession: new Map(),
    unfinishedByPrincipal: new Map(),
    byPrincipal: new Map(),
    pending: new Set(),
    ended: new Map(),
    endedWithKey: new Map(),
    lastPlace: 0,
    bytes: 0,
    bytesByPrincipal: new Map(),
    due: new PriorityMap(),
  };
}

/** Files a job, and takes it out of where it was filed before. */
export function putJob(jobs: OwnJobs, job: Job): void {
  const { id, principal, parentId, key, state } = job;
  const before = jobs.byId.get(id);
  jobs.byId.set(id, job);
  if (!before) {
    jobs.lastPlace = Math.max(jobs.lastPlace, job.place);
    const roll = jobs.byPrincipal.get(principal) ?? new Roll();
    roll.add(id, job.place);
    jobs.byPrincipal.set(principal, roll);
    jobs.tallies.set(id, emptyTally());
    jobs.spendings.set(id, []);
    if (parentId !== undefined) {
      putInto(jobs.children, parentId, id);
      fileAgain(jobs, parentId);
    }
    if (key) jobs.byKey.set(keyOf(principal, key), id);
    const request = requestKeyOf(job);
    if (request !== undefined) jobs.byRequest.set(request, id);
  }
  if (state === "pending") jobs.pending.add(id);
  else jobs.pending.delete(id);
  if (job.state === "ended") {
    dropInput(jobs, id);
    takeUnfinished(jobs, job);
  } else {
    const [sessionId] = job.sessionIds;
    if (sessionId !== undefined) putInto(jobs.unfinishedBySession, sessionId, id);
    putInto(jobs.unfinishedByPrincipal, principal, id);
  }
  fileByTime(jobs, job);
}

/** When something happens to it by itself. One that others descend from is not forgotten before them: they may
 *  spend what it may, and no more. */
function fileByTime(jobs: OwnJobs, job: Job): void {
  const { id, principal } = job;
  const isHeld = job.state === "ended" && jobs.children.has(id);
  const dueAtMs = isHeld ? Number.POSITIVE_INFINITY : dueAtMsOf(job);
  if (dueAtMs === Number.POSITIVE_INFINITY) jobs.due.delete(id);
  else jobs.due.set(id, dueAtMs);
  if (job.state !== "ended") return;
  const shelf = shelfOf(jobs, job);
  const ended = shelf.get(principal) ?? new PriorityMap();
  if (isHeld) ended.delete(id);
  else ended.set(id, job.endedSequence);
  if (ended.size === 0) shelf.delete(principal);
  else shelf.set(principal, ended);
}

function shelfOf({ ended, endedWithKey }: OwnJobs, { key }: Job): OwnJobs["ended"] {
  return key ? endedWithKey : ended;
}

function fileAgain(jobs: OwnJobs, id: JobId): void {
  const job = jobs.byId.get(id);
  if (job) fileByTime(jobs, job);
}

function dueAtMsOf(job: Job): number {
  if (job.state === "ended") return job.endedAtMs + limits.endedJobKeptMs;
  const never = Number.POSITIVE_INFINITY;
  const expiresAtMs = job.grant.expiresAtMs ?? never;
  if (job.state === "preparing") return expiresAtMs;
  const { createdAtMs, runMsMax = never } = job;
  const dueAtMs = Math.min(expiresAtMs, createdAtMs + runMsMax);
  if (job.state !== "running") return dueAtMs;
  const { cancelling, orphanedUntilMs = never } = job;
  return Math.min(dueAtMs, cancelling?.untilMs ?? never, orphanedUntilMs);
}

export function deleteJob(jobs: OwnJobs, id: JobId): void {
  const job = jobs.byId.get(id);
  if (!job) return;
  const { principal, parentId, key } = job;
  dropInput(jobs, id);
  const roll = jobs.byPrincipal.get(principal);
  roll?.delete(job.place);
  if (roll?.size === 0) jobs.byPrincipal.delete(principal);
  if (parentId !== undefined) {
    takeFrom(jobs.children, parentId, id);
    fileAgain(jobs, parentId);
  }
  if (key) jobs.byKey.delete(keyOf(principal, key));
  const request = requestKeyOf(job);
  if (request !== undefined) jobs.byRequest.delete(request);
  takeUnfinished(jobs, job);
  const shelf = shelfOf(jobs, job);
  const ended = shelf.get(principal);
  ended?.delete(id);
  if (ended?.size === 0) shelf.delete(principal);
  jobs.pending.delete(id);
  jobs.budgets.delete(id);
  jobs.spendings.delete(id);
  jobs.reservations.delete(id);
  jobs.tallies.delete(id);
  jobs.due.delete(id);
  jobs.byId.delete(id);
}

export function keepInput(jobs: OwnJobs, id: JobId, input: string): void {
  jobs.inputs.set(id, input);
  countBytes(jobs, id, 1);
}

/** As long as it has its input. */
function countBytes(jobs: OwnJobs, id: JobId, sign: 1 | -1): void {
  const job = jobs.byId.get(id);
  const input = jobs.inputs.get(id);
  if (!job || input === undefined) return;
  const { bytesByPrincipal } = jobs;
  const change = sign * (input.length + grants.lengthOf(job.grant));
  const own = (bytesByPrincipal.get(job.principal) ?? 0) + change;
  jobs.bytes += change;
  if (own === 0) bytesByPrincipal.delete(job.principal);
  else bytesByPrincipal.set(job.principal, own);
}

function dropInput(jobs: OwnJobs, id: JobId): void {
  countBytes(jobs, id, -1);
  jobs.inputs.delete(id);
}

function takeUnfinished(jobs: OwnJobs, { id, principal, sessionIds: [sessionId] }: Job): void {
  if (sessionId !== undefined) takeFrom(jobs.unfinishedBySession, sessionId, id);
  takeFrom(jobs.unfinishedByPrincipal, principal, id);
}

/** All that is kept of one job, as it is now. */
export type JobRow = {
  readonly job: Job;
  readonly input?: string;
  readonly budget: readonly grants.CounterRow[];
  /** Version 0.1.0 did not count it. */
  readonly spendings?: readonly SpendingRow[];
  readonly reservations: readonly (readonly [id: string, amounts: readonly string[]])[];
  readonly tally: Omit<Tally, "byKind"> & {
    readonly byKind: readonly (readonly [string, number])[];
  };
};

export function rowOfJob(jobs: Jobs, job: Job): JobRow {
  const input = jobs.inputs.get(job.id);
  const open = jobs.reservations.get(job.id) ?? new Map<string, readonly grants.Amount[]>();
  const tally = jobs.tallies.get(job.id) ?? emptyTally();
  const spendings = jobs.spendings.get(job.id);
  return {
    job,
    ...(input !== undefined && { input }),
    budget: budgetOf(jobs, job.id).map(grants.printCounter),
    ...(spendings && { spendings: spendings.map(printSpending) }),
    reservations: [...open].map(([id, amounts]) => [id, amounts.map(grants.printAmount)]),
    tally: { ...tally, byKind: [...tally.byKind] },
  };
}

export function putJobRow(jobs: OwnJobs, row: JobRow): void {
  const { job, input, budget, spendings, reservations, tally } = row;
  putJob(jobs, job);
  if (input !== undefined) keepInput(jobs, job.id, input);
  jobs.budgets.set(job.id, budget.map(grants.parseCounter));
  if (spendings) jobs.spendings.set(job.id, spendings.map(parseSpending));
  else jobs.spendings.delete(job.id);
  jobs.tallies.set(job.id, { ...tally, byKind: new Map(tally.byKind) });
  if (reservations.length === 0) return;
  const open = reservations.map(([id, amounts]): [string, readonly grants.Amount[]] => [
    id,
    amounts.flatMap((text) => grants.parseAmount(text) ?? []),
  ]);
  jobs.reservations.set(job.id, new Map(open));
}

function emptyTally(): Tally {
  return { events: 0, firstSequence: 0, byKind: new Map(), ownSequence: 0, workerSequence: 0 };
}

export function budgetOf(jobs: Jobs, id: JobId): grants.Budget {
  return jobs.budgets.get(id) ?? [];
}

export function keyOf(principal: string, { text }: Key): string {
  return JSON.stringify([principal, text]);
}

export function requestKey(sessionId: SessionId, requestId: string): string {
  return `${sessionId} ${requestId}`;
}

/** A job has a request id only if a session submitted it; sessions that join later do not change the first. */
function requestKeyOf({ sessionIds: [first], requestId }: Job): string | undefined {
  return first === undefined || requestId === undefined ? undefined : requestKey(first, requestId);
}
