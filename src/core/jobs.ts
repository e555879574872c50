/**
 * Work that a worker executes. A job is
 * - `preparing`: asked for and allowed, while its credentials are being made. Nobody sees it yet;
 * - `pending`: accepted, and waits for a worker;
 * - `running`: one worker has it. If the worker is lost it is `orphaned` for a while, in which the worker may
 *   come back; after that it is offered again if it may be repeated, and ends otherwise. While it is
 *   being cancelled it runs on until its worker has unwound, or the time for that has passed;
 * - `ended`: `success`, `error`, `cancelled` or `timed_out`. Final. One that was interrupted has ended by nobody's
 *   wish: its worker was lost, or its credentials, or the runtime stopped. A parent that is run again may ask for
 *   the same anew.
 *
 * What a job says goes into the log, as events of its own stream, and is not kept here; only counted. Its
 * input is kept while it may be needed again.
 */
import { type Cost, costIn, withSpent } from "./costs.ts";
import type { Made } from "./credentials.ts";
import { accept, type Decision, type Refused, refuse } from "./decision.ts";
import type { Failure } from "./failure.ts";
import * as grants from "./grants.ts";
import type { JobId, SessionId } from "./ids.ts";
import {
  budgetOf,
  deleteJob,
  type Jobs,
  keepInput,
  keyOf,
  type OwnJobs,
  putJob,
  requestKey,
} from "./job-records.ts";
import type { JsonText } from "./json-text.ts";
import { limits } from "./limits.ts";

export type Job = JobRecord & JobState;

type JobRecord = {
  readonly id: JobId;
  /** The agent as it was resolved: a name, or `name@version`. */
  readonly agent: string;
  readonly principal: string;
  /**
   * The sessions that submitted it, and may cancel it: the first one's numbers are the job's own. Empty for a job that
   * was submitted outside of any session.
   */
  readonly sessionIds: readonly SessionId[];
  /** The id that the first session gave its request. */
  readonly requestId?: string;
  /** Groups the jobs of one conversation. The core stores it and never reads it. */
  readonly contextId?: string;
  readonly traceId?: string;
  readonly trace?: Trace;
  readonly parentId?: JobId;
  /** What the parent calls it. */
  readonly delegateId?: string;
  /** How many ancestors it has. */
  readonly depth: number;
  readonly grant: grants.Grant;
  /** How long it may take from when it was asked for, by the wall: waiting and being run again included. */
  readonly runMsMax?: number;
  /** Whether it may be run again when its worker was lost. */
  readonly isRepeatable: boolean;
  readonly key?: Key;
  readonly createdAtMs: number;
  /** Grows with each job: what lists are ordered by. */
  readonly place: number;
  /** How often it was started. What an earlier attempt says is not heard. */
  readonly attempt: number;
};

/** Where in a trace it was asked for, if that was told: passed on, never read. */
export type Trace = { readonly traceparent: string; readonly tracestate?: string };

/** What a caller calls its request, so that asking twice is asking once. */
export type Key = {
  readonly text: string;
  /** Of all that was asked for: the same key for something else is refused. */
  readonly fingerprint: string;
};

export type JobState =
  | { readonly state: "preparing" }
  | { readonly state: "pending" }
  | {
      readonly state: "running";
      readonly worker: Worker;
      readonly startedAtMs: number;
      readonly cancelling?: Cancelling;
      readonly orphanedUntilMs?: number;
    }
  | {
      readonly state: "ended";
      readonly status: EndStatus;
      readonly endedAtMs: number;
      /** Where in the log its end stands. */
      readonly endedSequence: number;
      readonly isInterrupted?: boolean;
    };

type Cancelling = {
  readonly reason: string;
  readonly untilMs: number;
  readonly isInterruption?: boolean;
};

export type EndStatus = "success" | "error" | "cancelled" | "timed_out";

/** One that is part of this process ends with it. */
export type Worker = { readonly id: string; readonly isRemote: boolean };

export type Outcome =
  | {
      readonly status: "success";
      /** JSON; absent if there is none, or if it was streamed. */
      readonly result?: string;
      readonly streamed?: { readonly resultId: string; readonly bytes: number };
      readonly summary?: string;
    }
  | { readonly status: Exclude<EndStatus, "success">; readonly failure: Failure };

/** Submitted by a principal: directly, in one of its sessions, or through another of its jobs. */
export type SubmitJob = {
  readonly type: "job.submit";
  readonly jobId: JobId;
  readonly principal: string;
  /** The session that follows the job from the start. */
  readonly sessionId?: SessionId;
  /** Unique within the session: the same id again is the same request. Ignored without a session. */
  readonly requestId?: string;
  readonly contextId?: string;
  readonly traceId?: string;
  readonly trace?: Trace;
  /** What it was resolved to, or why it could not be: other things are looked at first. */
  readonly agent: { readonly name: string; readonly refusal?: never } | Refused;
  readonly isRepeatable: boolean;
  readonly capabilities?: unknown;
  readonly expiresAt?: string;
  /** JSON. */
  readonly input: string;
  readonly runMsMax?: number;
  readonly key?: Key;
  readonly parentId?: JobId;
  readonly delegateId?: string;
  /** Whether credentials must be made before it is accepted. */
  readonly needsPreparing: boolean;
  /** Maximum number of unfinished jobs of the principal. Default: `limits.jobsOfPrincipalMax`. */
  readonly jobsOfPrincipalMax?: number | undefined;
};

export type JobCommand =
  | SubmitJob
  /** Its credentials are there; or they are not, or not all, and nobody was told of it. */
  | {
      readonly type: "job.prepared";
      readonly jobId: JobId;
      readonly isReady: boolean;
      readonly credentials?: readonly Made[];
    }
  | { readonly type: "job.start"; readonly jobId: JobId; readonly worker: Worker }
  | EmitJobEvent
  | {
      readonly type: "job.reserve";
      readonly jobId: JobId;
      readonly attempt: number;
      readonly reservationId: string;
      readonly amounts: readonly grants.Amount[];
    }
  /** Something was spent. It is counted whatever has become of the job. */
  | {
      readonly type: "job.spend";
      readonly jobId: JobId;
      readonly attempt: number;
      readonly amounts: readonly grants.Amount[];
      /** The reservation that it is paid from. */
      readonly reservationId?: string;
      readonly workerSequence?: number;
    }
  | {
      readonly type: "job.settle";
      readonly jobId: JobId;
      readonly attempt: number;
      readonly reservationId: string;
      readonly actual: readonly grants.Amount[];
    }
  | {
      readonly type: "job.end";
      readonly jobId: JobId;
      readonly attempt: number;
      readonly outcome: Outcome;
    }
  | {
      readonly type: "job.cancel";
      readonly jobId: JobId;
      /** Absent: whoever runs this machine. */
      readonly by?: {
        readonly principal: string;
        /** If present, only a job that was submitted in this session is cancelled. */
        readonly sessionId?: SessionId;
        /** Whether somebody has allowed it to see jobs of others. */
        readonly maySee?: boolean;
      };
      readonly reason: string;
      readonly graceMs: number;
      /** Whether nobody wishes it: what it needs is gone, or is about to be. */
      readonly isInterruption?: boolean;
    }
  /** Its worker is gone, for all we know; or it is there, and has it no more, which leaves no grace. */
  | {
      readonly type: "job.orphan";
      readonly jobId: JobId;
      /** Absent: whichever is the last. */
      readonly attempt?: number;
      readonly graceMs: number;
    }
  /** Its worker is back, and has it still. */
  | { readonly type: "job.reclaim"; readonly jobId: JobId; readonly attempt: number };

export type EmitJobEvent = {
  readonly type: "job.emit";
  readonly jobId: JobId;
  readonly attempt: number;
  readonly kind: string;
  readonly body: JsonText;
  /** What it says that it cost. */
  readonly spent?: grants.Amount;
  /** The currency whose rest it tells. */
  readonly told?: string;
  readonly workerSequence?: number;
};

export type JobEvent =
  /** With the input only here, so that later events can carry the whole record. */
  | { readonly type: "job.preparing"; readonly job: Job; readonly input: string }
  | { readonly type: "job.accepted"; readonly job: Job; readonly input?: string }
  /** It was never accepted, and is nothing. */
  | { readonly type: "job.withdrawn"; readonly jobId: JobId }
  /** Another session asked for the same. */
  | { readonly type: "job.joined"; readonly jobId: JobId; readonly sessionId: SessionId }
  | {
      readonly type: "job.started";
      readonly jobId: JobId;
      readonly attempt: number;
      readonly worker: Worker;
      readonly atMs: number;
    }
  | {
      readonly type: "job.emitted";
      readonly jobId: JobId;
      readonly kind: string;
      /** The number that its own session is told it under, if it is. */
      readonly ownSequence?: number;
      readonly spent?: grants.Amount;
      readonly told?: string;
      readonly workerSequence?: number;
      readonly body: JsonText;
    }
  | {
      readonly type: "job.reserved";
      readonly jobId: JobId;
      readonly reservationId: string;
      readonly amounts: readonly grants.Amount[];
    }
  | {
      readonly type: "job.spent";
      readonly jobId: JobId;
      readonly amounts: readonly grants.Amount[];
      /** The reservation that has so much less in it. */
      readonly reservationId?: string;
      readonly workerSequence?: number;
    }
  | {
      readonly type: "job.settled";
      readonly jobId: JobId;
      readonly reservationId: string;
      readonly actual: readonly grants.Amount[];
    }
  | {
      readonly type: "job.cancelling";
      readonly jobId: JobId;
      readonly reason: string;
      readonly untilMs: number;
      readonly isInterruption?: boolean;
    }
  | { readonly type: "job.orphaned"; readonly jobId: JobId; readonly untilMs: number }
  | { readonly type: "job.reclaimed"; readonly jobId: JobId }
  /** It waits for a worker again. */
  | { readonly type: "job.offered"; readonly jobId: JobId }
  | {
      readonly type: "job.ended";
      readonly jobId: JobId;
      readonly outcome: Outcome;
      readonly isInterrupted?: boolean;
      readonly atMs: number;
    }
  | { readonly type: "job.forgotten"; readonly jobId: JobId };

/** Expects of `job.submit` that it is new: see `findRepeated`. */
export function decide(jobs: Jobs, command: JobCommand, nowMs: number): Decision<JobEvent> {
  switch (command.type) {
    case "job.submit":
      return submit(jobs, command, nowMs);
    case "job.prepared": {
      const job = jobs.byId.get(command.jobId);
      if (job?.state !== "preparing") return refuseUnknown(command.jobId);
      return command.isReady
        ? accept({ type: "job.accepted", job: { ...job, state: "pending" } })
        : accept({ type: "job.withdrawn", jobId: job.id });
    }
    case "job.start": {
      const job = jobs.byId.get(command.jobId);
      if (!job) return refuseUnknown(command.jobId);
      if (job.state !== "pending") {
        return refuse("attempt_over", `job ${job.id} does not wait for a worker`);
      }
      const { id: jobId, attempt } = job;
      const { worker } = command;
      return accept({ type: "job.started", jobId, attempt: attempt + 1, worker, atMs: nowMs });
    }
    case "job.emit": {
      const running = requireRunning(jobs, command);
      if (running.refusal) return running;
      const { jobId, kind, spent, told, workerSequence, body } = command;
      if (isHeard(jobs, command)) return accept();
      return accept({
        type: "job.emitted",
        jobId,
        kind,
        ...(spent && { spent }),
        ...(told !== undefined && { told }),
        ...(workerSequence !== undefined && { workerSequence }),
        body,
      });
    }
    case "job.reserve": {
      const running = requireRunning(jobs, command);
      if (running.refusal) return running;
      return refuseNoAmounts(command.amounts) ?? reserve(jobs, command);
    }
    case "job.spend":
      return spend(jobs, command);
    case "job.settle": {
      // Also by an attempt that is over: what it came to was spent.
      const { jobId, reservationId, actual } = command;
      if (!jobs.reservations.get(jobId)?.has(reservationId)) {
        return refuse("invalid_argument", `job ${jobId} has nothing reserved as ${reservationId}`);
      }
      const refused = refuseNoAmounts(actual);
      if (refused) return refused;
      return accept({ type: "job.settled", jobId, reservationId, actual });
    }
    case "job.end": {
      const running = requireRunning(jobs, command);
      if (running.refusal) return running;
      const { job } = running;
      // Whatever it came to: who cancelled it was told that it is.
      const ending = job.cancelling ? cancelled(job.cancelling) : { outcome: command.outcome };
      return accept(...end(jobs, job, ending, nowMs));
    }
    case "job.cancel":
      return cancel(jobs, command, nowMs);
    case "job.orphan": {
      const job = jobs.byId.get(command.jobId);
      if (job?.state !== "running") return accept();
      const isAnother = command.attempt !== undefined && command.attempt !== job.attempt;
      const untilMs = nowMs + command.graceMs;
      // It may have less time than before, never more: that would be put off for ever.
      const isSooner = untilMs < (job.orphanedUntilMs ?? Number.POSITIVE_INFINITY);
      if (isAnother || !isSooner) return accept();
      return accept({ type: "job.orphaned", jobId: job.id, untilMs });
    }
    case "job.reclaim": {
      const running = requireRunning(jobs, command);
      if (running.refusal) return running;
      const isOrphaned = running.job.orphanedUntilMs !== undefined;
      return isOrphaned ? accept({ type: "job.reclaimed", jobId: command.jobId }) : accept();
    }
  }
}

type Asked = Pick<SubmitJob, "sessionId" | "principal" | "requestId" | "key">;

/** The job that was asked for before under the same key or in the same request; or that it was another one. */
export function findRepeated(
  jobs: Jobs,
  { sessionId, principal, requestId, key }: Asked,
): { readonly job: Job | undefined; readonly refusal?: never } | Refused {
  const find = (id: JobId | undefined): Job | undefined =>
    id === undefined ? undefined : jobs.byId.get(id);
  if (sessionId !== undefined && requestId !== undefined) {
    const same = find(jobs.byRequest.get(requestKey(sessionId, requestId)));
    if (same) return { job: same };
  }
  const job = key && find(jobs.byKey.get(keyOf(principal, key)));
  if (!job || job.key?.fingerprint === key?.fingerprint) return { job };
  return refuse("key_reused", `the key ${key?.text} was used for job ${job.id}, which is another`, {
    jobId: job.id,
  });
}

/** As it is known now, whoever asked for it first. */
export function findAsked(jobs: Jobs, asked: Asked): Job | undefined {
  const repeated = findRepeated(jobs, asked);
  return repeated.refusal ? undefined : repeated.job;
}

function submit(jobs: Jobs, command: SubmitJob, nowMs: number): Decision<JobEvent> {
  const { agent, capabilities, expiresAt, input, runMsMax, key, parentId, delegateId } = command;
  const { sessionId, requestId, contextId, traceId } = command;
  if (agent.refusal) return agent;
  // A comparison with NaN is always false, so the job would have no limit at all.
  if (runMsMax !== undefined && !(runMsMax > 0 && Number.isFinite(runMsMax))) {
    const message = `the time limit must be a finite number of milliseconds above 0, not ${runMsMax}`;
    return refuse("invalid_argument", message);
  }
  const asked = grants.readGrant({ capabilities, expiresAt }, nowMs);
  if (asked.refusal) return asked;
  const placed = place(jobs, command, asked, nowMs);
  if (placed.refusal) return placed;
  const { depth, granted } = placed;
  const full = refuseFull(jobs, command, granted.grant);
  if (full) return full;
  const record: JobRecord = {
    id: command.jobId,
    agent: agent.name,
    principal: command.principal,
    sessionIds: sessionId === undefined ? [] : [sessionId],
    ...(sessionId !== undefined && requestId !== undefined && { requestId }),
    ...(contextId !== undefined && { contextId }),
    ...(traceId !== undefined && { traceId }),
    ...(command.trace && { trace: command.trace }),
    ...(parentId !== undefined && { parentId }),
    ...(delegateId !== undefined && { delegateId }),
    depth,
    grant: granted.grant,
    ...(runMsMax !== undefined && { runMsMax }),
    isRepeatable: command.isRepeatable,
    ...(key && { key }),
    createdAtMs: nowMs,
    place: jobs.lastPlace + 1,
    attempt: 0,
  };
  return command.needsPreparing
    ? accept({ type: "job.preparing", job: { ...record, state: "preparing" }, input })
    : accept({ type: "job.accepted", job: { ...record, state: "pending" }, input });
}

/** Where it stands below others, and what is left to it there of what it asked for. */
function place(
  jobs: Jobs,
  { parentId, principal, delegateId }: SubmitJob,
  asked: grants.Granted,
  nowMs: number,
):
  | { readonly depth: number; readonly granted: grants.Granted; readonly refusal?: never }
  | Refused {
  if (parentId === undefined) return { depth: 0, granted: asked };
  const parent = jobs.byId.get(parentId);
  const isThere = parent?.state === "pending" || parent?.state === "running";
  if (!isThere || parent.principal !== principal) return refuseUnknown(parentId);
  const depth = parent.depth + 1;
  if (depth > limits.delegationDepthMax) {
    const message = `jobs are delegated at most ${limits.delegationDepthMax} deep`;
    return refuse("limit_reached", message);
  }
  if (delegateId !== undefined && findChild(jobs, parentId, delegateId)) {
    return refuse("invalid_argument", `job ${parentId} has a ${delegateId} already`);
  }
  const granted = grants.narrow(chainOf(jobs, parent), asked, nowMs);
  return granted.refusal ? granted : { depth, granted };
}

/** The one that a job calls so. Those that were interrupted have given their name away. */
export function findChild(jobs: Jobs, parentId: JobId, delegateId: string): Job | undefined {
  for (const id of jobs.children.get(parentId) ?? []) {
    const child = jobs.byId.get(id);
    if (child?.delegateId !== delegateId) continue;
    if (child.state !== "ended" || !child.isInterrupted) return child;
  }
  return undefined;
}

function refuseFull(jobs: Jobs, command: SubmitJob, grant: grants.Grant): Refused | undefined {
  const { principal, input, jobsOfPrincipalMax = limits.jobsOfPrincipalMax } = command;
  const { unfinishedJobsMax, jobBytesMax, jobBytesOfPrincipalMax } = limits;
  if ((jobs.unfinishedByPrincipal.get(principal)?.size ?? 0) >= jobsOfPrincipalMax) {
    return refuse(
      "limit_reached",
      `principal ${principal} has ${jobsOfPrincipalMax} unfinished jobs, which is its limit; wait for one to end`,
    );
  }
  if (jobs.inputs.size >= unfinishedJobsMax) {
    return refuse("limit_reached", `${unfinishedJobsMax} jobs are unfinished already`);
  }
  const bytes = input.length + grants.lengthOf(grant);
  const ownBytes = jobs.bytesByPrincipal.get(principal) ?? 0;
  if (ownBytes + bytes > jobBytesOfPrincipalMax) {
    const message = `unfinished jobs of principal ${principal} have ${ownBytes} bytes of input and grants already`;
    return refuse("limit_reached", message);
  }
  if (jobs.bytes + bytes > jobBytesMax) {
    const message = `unfinished jobs have ${jobs.bytes} bytes of input and grants already`;
    return refuse("limit_reached", message);
  }
  return undefined;
}

/** What is kept of one that is none could not be read again. */
function refuseNoAmounts(amounts: readonly grants.Amount[]): Refused | undefined {
  if (amounts.every(grants.isAmount)) return undefined;
  return refuse(
    "invalid_argument",
    "an amount is a currency and zero or more of it, like USD:1.50",
  );
}

function reserve(
  jobs: Jobs,
  command: JobCommand & { readonly type: "job.reserve" },
): Decision<JobEvent> {
  const { jobId, reservationId, amounts } = command;
  const open = jobs.reservations.get(jobId);
  if (open?.has(reservationId)) {
    return refuse("invalid_argument", `job ${jobId} has ${reservationId} reserved already`);
  }
  if ((open?.size ?? 0) >= limits.reservationsMax) {
    return refuse("limit_reached", `job ${jobId} has ${limits.reservationsMax} reservations open`);
  }
  const lineage = lineageOf(jobs, jobId);
  const outcome = grants.reserve(
    lineage.map((id) => budgetOf(jobs, id)),
    amounts,
  );
  return outcome.refusal
    ? outcome
    : accept({ type: "job.reserved", jobId, reservationId, amounts });
}

function spend(
  jobs: Jobs,
  command: JobCommand & { readonly type: "job.spend" },
): Decision<JobEvent> {
  const { jobId, attempt, amounts, reservationId, workerSequence } = command;
  const job = jobs.byId.get(jobId);
  if (!job) return refuseUnknown(jobId);
  const refused = refuseNoAmounts(amounts);
  if (refused) return refused;
  // The numbers of a worker count what it says in the last attempt.
  if (workerSequence !== undefined && (attempt !== job.attempt || isHeard(jobs, command))) {
    return accept();
  }
  // The end of an attempt has counted all that was reserved.
  const isCounted =
    reservationId !== undefined && !jobs.reservations.get(jobId)?.has(reservationId);
  if (isCounted) return accept();
  return accept({
    type: "job.spent",
    jobId,
    amounts,
    ...(reservationId !== undefined && { reservationId }),
    ...(workerSequence !== undefined && { workerSequence }),
  });
}

/** Whether a worker says again what was heard before. */
function isHeard(
  jobs: Jobs,
  { jobId, workerSequence }: { readonly jobId: JobId; readonly workerSequence?: number },
): boolean {
  const heard = jobs.tallies.get(jobId)?.workerSequence ?? 0;
  return workerSequence !== undefined && workerSequence <= heard;
}

function cancel(
  jobs: Jobs,
  command: JobCommand & { readonly type: "job.cancel" },
  nowMs: number,
): Decision<JobEvent> {
  const { jobId, by } = command;
  const job = jobs.byId.get(jobId);
  const isSeen = by === undefined || job?.principal === by.principal || by.maySee;
  if (!job || job.state === "preparing" || !isSeen) return refuseUnknown(jobId);
  if (by?.sessionId !== undefined && !job.sessionIds.includes(by.sessionId)) {
    return refuse("permission_denied", `job ${jobId} was asked for by another session`);
  }
  if (by && job.principal !== by.principal) {
    return refuse("permission_denied", `job ${jobId} belongs to another principal`);
  }
  return accept(...withRoom(jobs, job, stop(jobs, job, command, nowMs)));
}

type Wish = Pick<
  JobCommand & { readonly type: "job.cancel" },
  "reason" | "graceMs" | "isInterruption"
>;

/** A wish that it ends: at once where nobody works on it yet. */
function stop(jobs: Jobs, job: Job, wish: Wish, nowMs: number): JobEvent[] {
  const { reason, graceMs, isInterruption = false } = wish;
  switch (job.state) {
    case "preparing":
    case "pending":
      return endTree(jobs, job, cancelled(wish), nowMs);
    case "running": {
      if (job.cancelling) return [];
      const untilMs = nowMs + graceMs;
      const more = isInterruption ? { isInterruption } : {};
      return [{ type: "job.cancelling", jobId: job.id, reason, untilMs, ...more }];
    }
    case "ended":
      return [];
  }
}

type Ending = { readonly outcome: Outcome; readonly isInterrupted?: boolean };

function end(jobs: Jobs, job: Job, ending: Ending, nowMs: number): JobEvent[] {
  return withRoom(jobs, job, endTree(jobs, job, ending, nowMs));
}

/** Nobody will say any more what it came to, so that it was all of it. */
function settleOpen(jobs: Jobs, { id: jobId }: Job): JobEvent[] {
  const open = jobs.reservations.get(jobId) ?? new Map<string, readonly grants.Amount[]>();
  return [...open].map(([reservationId, actual]) => ({
    type: "job.settled",
    jobId,
    reservationId,
    actual,
  }));
}

/** The end of a job, of what it had set aside, and of those it delegated to if it did not end well. */
function endTree(jobs: Jobs, job: Job, ending: Ending, nowMs: number): JobEvent[] {
  // Nobody was told of it, so that nobody is told of its end.
  if (job.state === "preparing") return [{ type: "job.withdrawn", jobId: job.id }];
  const isWell = ending.outcome.status === "success";
  const children = isWell ? [] : [...(jobs.children.get(job.id) ?? [])];
  const reason = `its parent has ended: ${job.id}`;
  const graceMs = limits.cascadeGraceMs;
  return [
    ...settleOpen(jobs, job),
    { type: "job.ended", jobId: job.id, ...ending, atMs: nowMs },
    ...children.flatMap((id) => {
      const child = jobs.byId.get(id);
      return child ? stop(jobs, child, { reason, graceMs }, nowMs) : [];
    }),
  ];
}

/** At the bound, as many of the same principal are forgotten as end, those that ended first. */
function withRoom(jobs: Jobs, { principal }: Job, events: JobEvent[]): JobEvent[] {
  const ending = events.flatMap((event) =>
    event.type === "job.ended" ? (jobs.byId.get(event.jobId) ?? []) : [],
  );
  const withKey = ending.filter(({ key }) => key !== undefined).length;
  const oldest = (shelf: Jobs["ended"], count: number, max: number): readonly JobId[] => {
    const ended = shelf.get(principal);
    return ended && count > 0 ? ended.least(ended.size + count - max) : [];
  };
  const first = [
    ...oldest(jobs.ended, ending.length - withKey, limits.endedJobsMax),
    ...oldest(jobs.endedWithKey, withKey, limits.endedJobsWithKeyMax),
  ];
  return [...events, ...first.map((jobId): JobEvent => ({ type: "job.forgotten", jobId }))];
}

/** What follows when the time of a job has come. */
export function expire(
  jobs: Jobs,
  jobId: JobId,
  nowMs: number,
  without: { readonly isBereft: boolean },
): JobEvent[] {
  const job = jobs.byId.get(jobId);
  if (!job) return [];
  if (job.state === "ended") return [{ type: "job.forgotten", jobId }];
  const { expiresAt, expiresAtMs } = job.grant;
  if (job.state === "running" && job.cancelling) {
    // Whichever of its times has come: who cancelled it was told that it is.
    return end(jobs, job, cancelled(job.cancelling), nowMs);
  }
  if (expiresAtMs !== undefined && nowMs >= expiresAtMs) {
    return end(jobs, job, failed("grant_expired", `what it may do ended at ${expiresAt}`), nowMs);
  }
  // Nobody was told yet that there is one.
  if (job.state === "preparing") return [];
  if (job.runMsMax !== undefined && nowMs >= job.createdAtMs + job.runMsMax) {
    return end(jobs, job, timedOut(job.runMsMax), nowMs);
  }
  if (job.state !== "running") return [];
  const { orphanedUntilMs } = job;
  if (orphanedUntilMs === undefined || nowMs < orphanedUntilMs) return [];
  return lose(jobs, job, nowMs, without);
}

/**
 * What follows from the end of the process: its own workers ended with it, others may come back. So did the values
 * of credentials, which only it had: what has some is not started without them.
 */
export function recover(
  jobs: Jobs,
  nowMs: number,
  {
    hasLostCredentials,
    workerGraceMs = limits.workerGraceMs,
  }: {
    readonly hasLostCredentials: (jobId: JobId) => boolean;
    readonly workerGraceMs?: number | undefined;
  },
): JobEvent[] {
  const events: JobEvent[] = [];
  const over = new Set<JobId>();
  const stopped = new Map<JobId, Cancelling>();
  // Those that ask come before those they asked for, and may take them along.
  for (const job of jobs.byId.values()) {
    if (over.has(job.id)) continue;
    const cancelling = stopped.get(job.id);
    const known = job.state === "running" && cancelling ? { ...job, cancelling } : job;
    const without = { isBereft: hasLostCredentials(job.id), workerGraceMs };
    for (const event of recoverOne(jobs, known, nowMs, without)) {
      switch (event.type) {
        case "job.forgotten":
          // Each end makes room on its own, and may find the same one.
          if (over.has(event.jobId)) continue;
          over.add(event.jobId);
          break;
        case "job.ended":
        case "job.withdrawn":
          over.add(event.jobId);
          break;
        case "job.cancelling":
          stopped.set(event.jobId, event);
          break;
        default:
      }
      events.push(event);
    }
  }
  return events;
}

function recoverOne(
  jobs: Jobs,
  job: Job,
  nowMs: number,
  without: { readonly isBereft: boolean; readonly workerGraceMs: number },
): JobEvent[] {
  switch (job.state) {
    case "preparing":
      return [{ type: "job.withdrawn", jobId: job.id }];
    case "pending":
      return without.isBereft ? end(jobs, job, bereft, nowMs) : [];
    case "running": {
      if (!job.worker.isRemote) return lose(jobs, job, nowMs, without);
      // One that was away before has what was left of its time; it cannot have come back while we were away.
      const { orphanedUntilMs = Number.POSITIVE_INFINITY } = job;
      const leftUntilMs = Math.max(orphanedUntilMs, nowMs + limits.workerReturnMs);
      const untilMs = Math.min(nowMs + without.workerGraceMs, leftUntilMs);
      return [{ type: "job.orphaned", jobId: job.id, untilMs }];
    }
    case "ended":
      return [];
  }
}

/** Its worker will not come back. Without its credentials it is not started again. */
function lose(
  jobs: Jobs,
  job: RunningJob,
  nowMs: number,
  { isBereft }: { readonly isBereft: boolean },
): JobEvent[] {
  if (job.cancelling) return end(jobs, job, cancelled(job.cancelling), nowMs);
  const mayRunAgain = job.isRepeatable && job.attempt < limits.attemptsMax;
  if (mayRunAgain && isBereft) return end(jobs, job, bereft, nowMs);
  if (mayRunAgain) return [...settleOpen(jobs, job), { type: "job.offered", jobId: job.id }];
  const message = job.worker.isRemote
    ? "its worker was lost; part of its work may be done"
    : "the runtime stopped while the job ran; part of its work may be done";
  return end(jobs, job, interrupted("worker_lost", message), nowMs);
}

const bereft: Ending = interrupted(
  "credentials_lost",
  "its credentials were lost when the runtime restarted",
);

type RunningJob = Job & { readonly state: "running" };

/** Of several attempts only the last is heard. */
export function requireRunning(
  jobs: Jobs,
  { jobId, attempt }: { readonly jobId: JobId; readonly attempt: number },
): { readonly job: RunningJob; readonly refusal?: never } | Refused {
  const job = jobs.byId.get(jobId);
  if (!job) return refuseUnknown(jobId);
  if (job.state === "running" && job.attempt === attempt) return { job };
  const what = job.state === "ended" ? "has ended" : "is no longer this worker's";
  return refuse("attempt_over", `job ${jobId} ${what}`);
}

function refuseUnknown(jobId: JobId): Refused {
  return refuse("job_not_found", `there is no job ${jobId}`);
}

function cancelled({ reason, isInterruption }: Omit<Wish, "graceMs">): Ending {
  const failure = { code: "job_cancelled", message: reason || "cancelled", isRetryable: false };
  const outcome: Outcome = { status: "cancelled", failure };
  return isInterruption ? { outcome, isInterrupted: true } : { outcome };
}

function timedOut(runMsMax: number): Ending {
  const message = `it was not done within ${runMsMax / 1_000} s`;
  const failure = { code: "job_timed_out", message, isRetryable: true };
  return { outcome: { status: "timed_out", failure } };
}

function failed(code: string, message: string): Ending {
  return { outcome: { status: "error", failure: { code, message, isRetryable: false } } };
}

function interrupted(code: string, message: string): Ending {
  const failure = { code, message, isRetryable: true };
  return { outcome: { status: "error", failure }, isInterrupted: true };
}

/** The job itself, then its parent, and so on. */
export function chainOf(jobs: Jobs, job: Job): grants.Chain {
  const [, ...above] = lineageOf(jobs, job.id);
  const granted = (id: JobId, grant: grants.Grant): grants.Granted => ({
    grant,
    budget: budgetOf(jobs, id),
  });
  return [
    granted(job.id, job.grant),
    ...above.flatMap((id) => {
      const { grant } = jobs.byId.get(id) ?? {};
      return grant ? granted(id, grant) : [];
    }),
  ];
}

/** What a job has cost in each currency. Every door and command gets the cost of a job from here. */
export function costOf(jobs: Jobs, id: JobId): readonly Cost[] {
  return costIn(jobs.spendings.get(id), budgetOf(jobs, id));
}

function lineageOf(jobs: Jobs, jobId: JobId): readonly JobId[] {
  const lineage: JobId[] = [];
  for (let id: JobId | undefined = jobId; id !== undefined; id = jobs.byId.get(id)?.parentId) {
    lineage.push(id);
  }
  return lineage;
}

/** How many of a job's events a session is told that passes over some kinds; its end is one of them. */
export function countTold(jobs: Jobs, job: Job, skips: readonly string[]): number {
  const tally = jobs.tallies.get(job.id);
  const skipped = skips.reduce((sum, kind) => sum + (tally?.byKind.get(kind) ?? 0), 0);
  return (tally?.events ?? 0) - skipped + (job.state === "ended" ? 1 : 0);
}

/** Where what a job has to tell begins in the log; infinite as long as that is nothing. */
export function firstSequenceOf(jobs: Jobs, job: Job): number {
  const endedSequence = job.state === "ended" ? job.endedSequence : Number.POSITIVE_INFINITY;
  return jobs.tallies.get(job.id)?.firstSequence || endedSequence;
}

/** The oldest entry that has something of a job that is remembered. */
export function neededSequence(jobs: Jobs): number {
  let needed = Number.POSITIVE_INFINITY;
  for (const job of jobs.byId.values()) needed = Math.min(needed, firstSequenceOf(jobs, job));
  return needed;
}

/** `sequence` is that of the event in the log. */
export function evolve(
  jobs: OwnJobs,
  event: JobEvent,
  { sequence }: { readonly sequence: number },
): void {
  switch (event.type) {
    case "job.preparing":
    case "job.accepted":
      putJob(jobs, event.job);
      if (event.input !== undefined) keepInput(jobs, event.job.id, event.input);
      if (!jobs.budgets.has(event.job.id)) {
        jobs.budgets.set(event.job.id, grants.budgetOf(event.job.grant));
      }
      return;
    case "job.joined":
      change(jobs, event.jobId, (job) => ({
        ...job,
        sessionIds: [...job.sessionIds, event.sessionId],
      }));
      return;
    case "job.started": {
      const { attempt, worker, atMs } = event;
      change(jobs, event.jobId, (job) => ({
        ...job,
        attempt,
        state: "running",
        worker,
        startedAtMs: atMs,
      }));
      const tally = jobs.tallies.get(event.jobId);
      if (tally) tally.workerSequence = 0;
      return;
    }
    case "job.emitted":
      count(jobs, event, sequence);
      return;
    case "job.reserved": {
      const { jobId, reservationId, amounts } = event;
      const open = jobs.reservations.get(jobId) ?? new Map();
      jobs.reservations.set(jobId, open.set(reservationId, amounts));
      putBudgets(jobs, jobId, (budgets) => {
        const outcome = grants.reserve(budgets, amounts);
        return outcome.refusal ? budgets : outcome.budgets;
      });
      return;
    }
    case "job.spent": {
      const { jobId, amounts, reservationId = "", workerSequence } = event;
      const open = jobs.reservations.get(jobId);
      const reserved = open?.get(reservationId) ?? [];
      const { used, left } = grants.draw(reserved, amounts);
      if (open?.has(reservationId)) open.set(reservationId, left);
      putBudgets(jobs, jobId, (budgets) =>
        grants.settle(budgets, { reserved: used, actual: amounts }),
      );
      for (const amount of amounts) countSpent(jobs, jobId, amount);
      const tally = jobs.tallies.get(jobId);
      if (tally && workerSequence !== undefined) tally.workerSequence = workerSequence;
      return;
    }
    case "job.settled": {
      const { jobId, reservationId, actual } = event;
      const open = jobs.reservations.get(jobId);
      const reserved = open?.get(reservationId) ?? [];
      open?.delete(reservationId);
      if (open?.size === 0) jobs.reservations.delete(jobId);
      putBudgets(jobs, jobId, (budgets) => grants.settle(budgets, { reserved, actual }));
      for (const amount of actual) countSpent(jobs, jobId, amount);
      return;
    }
    case "job.cancelling": {
      const { reason, untilMs, isInterruption } = event;
      const cancelling = { reason, untilMs, ...(isInterruption && { isInterruption }) };
      changeRunning(jobs, event.jobId, (job) => ({ ...job, cancelling }));
      return;
    }
    case "job.orphaned":
      changeRunning(jobs, event.jobId, (job) => ({ ...job, orphanedUntilMs: event.untilMs }));
      return;
    case "job.reclaimed":
      changeRunning(jobs, event.jobId, ({ orphanedUntilMs: _, ...job }) => job);
      return;
    case "job.offered":
      change(jobs, event.jobId, (job) => ({ ...recordOf(job), state: "pending" }));
      return;
    case "job.ended": {
      const { outcome, isInterrupted, atMs: endedAtMs } = event;
      const { status } = outcome;
      change(jobs, event.jobId, (job) => ({
        ...recordOf(job),
        state: "ended",
        status,
        endedAtMs,
        endedSequence: sequence,
        ...(isInterrupted && { isInterrupted }),
      }));
      return;
    }
    case "job.withdrawn":
    case "job.forgotten":
      deleteJob(jobs, event.jobId);
      return;
  }
}

/** Without what only its state has. */
function recordOf(job: Job): JobRecord {
  switch (job.state) {
    case "preparing":
    case "pending": {
      const { state: _, ...record } = job;
      return record;
    }
    case "running": {
      const { state: _, worker, startedAtMs, cancelling, orphanedUntilMs, ...record } = job;
      return record;
    }
    case "ended": {
      const { state: _, status, endedAtMs, endedSequence, isInterrupted, ...record } = job;
      return record;
    }
  }
}

function count(
  jobs: OwnJobs,
  event: JobEvent & { readonly type: "job.emitted" },
  sequence: number,
): void {
  const { jobId, kind, ownSequence, spent, told, workerSequence } = event;
  const tally = jobs.tallies.get(jobId);
  if (!tally) return;
  tally.events += 1;
  tally.firstSequence ||= sequence;
  if (ownSequence !== undefined) tally.ownSequence = ownSequence;
  if (workerSequence !== undefined) tally.workerSequence = workerSequence;
  // Kinds with a dot are vendors', of which there may be any number; nobody passes over those.
  if (!kind.includes(".")) tally.byKind.set(kind, (tally.byKind.get(kind) ?? 0) + 1);
  if (spent) {
    putBudgets(jobs, jobId, (budgets) => grants.spend(budgets, spent));
    countSpent(jobs, jobId, spent);
  }
  if (told !== undefined) jobs.budgets.set(jobId, grants.withTold(budgetOf(jobs, jobId), told));
}

/** Counts an amount as the job's own part, and as the children's part of every job above it. */
function countSpent(jobs: OwnJobs, jobId: JobId, amount: grants.Amount): void {
  for (const id of lineageOf(jobs, jobId)) {
    const spendings = jobs.spendings.get(id);
    if (!spendings) continue;
    const part = id === jobId ? "own" : "children";
    const budget = budgetOf(jobs, id);
    jobs.spendings.set(id, withSpent(spendings, amount, { part, budget }));
  }
}

function putBudgets(
  jobs: OwnJobs,
  jobId: JobId,
  change: (budgets: readonly grants.Budget[]) => readonly grants.Budget[],
): void {
  const lineage = lineageOf(jobs, jobId);
  const changed = change(lineage.map((id) => budgetOf(jobs, id)));
  for (const [at, id] of lineage.entries()) {
    const budget = changed[at];
    if (budget && jobs.byId.has(id)) jobs.budgets.set(id, budget);
  }
}

function change(jobs: OwnJobs, id: JobId, changed: (job: Job) => Job): void {
  const job = jobs.byId.get(id);
  if (job) putJob(jobs, changed(job));
}

function changeRunning(jobs: OwnJobs, id: JobId, changed: (job: RunningJob) => RunningJob): void {
  const job = jobs.byId.get(id);
  if (job?.state === "running") putJob(jobs, changed(job));
}
