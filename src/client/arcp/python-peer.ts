/**
 * The one place for how this client treats the published Python runtime (PYC-1 to PYC-21), and, beside it,
 * how it treats everybody else. What that runtime's frames look like, the wire room reads; this is about what
 * it does and leaves undone.
 */
import {
  ArcpError,
  type Dialect,
  isObject,
  isTraceId,
  pythonFrames,
} from "../../wire/arcp/index.ts";
import { limits } from "./limits.ts";
import type { Request, Waiting } from "./pending.ts";

export type PeerTraits = {
  /** It answers requests strictly in order, and its errors do not say what they answer (PYC-6). */
  readonly answersInOrder: boolean;
  /** It counts the events of each subscription apart from those of the session's own jobs (PYC-11). */
  readonly countsSubscriptionsApart: boolean;
  /** What is missing in the numbers can be had by resuming (ARCP-120); there it is gone (PYC-15). */
  readonly replaysGaps: boolean;
  /** Codes that say that a session cannot be resumed (PYC-14). */
  readonly refusalsOfResume: ReadonlySet<string>;
  /** A refusal may mean that there was nothing to replay: try once from one event before (ARCP-222). */
  readonly refusesEmptyReplay: boolean;
  /** Only one side at a time: it must have seen the end of the old connection (PYC-14). */
  readonly resumesAfterClose: boolean;
  /** A resumed session gets the events of its running jobs by itself (ARCP-67), or must ask (PYC-15). */
  readonly continuesJobs: boolean;
  /** It knows a submit again by its envelope id, if it says `request_id` (ARCP-68); that one does not (PYC-16). */
  readonly knowsSubmitsAgain: boolean;
  /** It says something to every cancel; that one says nothing (PYC-9). */
  readonly answersCancels: boolean;
  /** Asked for the jobs of an agent by its bare name, it finds those of all versions; there, of none (PYC-19). */
  readonly findsVersions: boolean;
  /** It knows `session.close` (PYC-5). */
  readonly knowsClose: boolean;
  /** What is acknowledged there is lost to all who subscribe later, so that it is not done unasked. */
  readonly acksUnasked: boolean;
  /** What it reads in one message (ARCP-33), and in one line (PYC-4). */
  readonly messageBytesMax: number;
  readonly lineBytesMax: number;
};

export const peers: Readonly<Record<Dialect, PeerTraits>> = {
  spec: {
    answersInOrder: false,
    countsSubscriptionsApart: false,
    replaysGaps: true,
    refusalsOfResume: new Set(["RESUME_WINDOW_EXPIRED"]),
    refusesEmptyReplay: true,
    resumesAfterClose: false,
    continuesJobs: true,
    knowsSubmitsAgain: true,
    answersCancels: true,
    findsVersions: true,
    knowsClose: true,
    acksUnasked: true,
    messageBytesMax: limits.messageBytesMax,
    lineBytesMax: limits.messageBytesMax,
  },
  python: {
    answersInOrder: true,
    countsSubscriptionsApart: true,
    replaysGaps: false,
    // What it cannot read it calls an internal error, and would again (PYC-2).
    refusalsOfResume: new Set(["RESUME_WINDOW_EXPIRED", "PERMISSION_DENIED", "INTERNAL_ERROR"]),
    refusesEmptyReplay: false,
    resumesAfterClose: true,
    continuesJobs: false,
    knowsSubmitsAgain: false,
    answersCancels: false,
    findsVersions: false,
    knowsClose: false,
    acksUnasked: false,
    ...pythonFrames,
  },
};

const unknownJob = /^unknown job_id: (\S+)$/;

/** The oldest request of those that are answered at all, unless the error names a job that is only in a cancel. */
export function callOfPythonError(
  message: string,
  waiting: readonly Waiting[],
): Waiting | undefined {
  const sent = waiting.filter(({ wasSent }) => wasSent);
  const jobId = unknownJob.exec(message)?.[1];
  const ofJob = sent.filter(({ call }) => "jobId" in call && call.jobId === jobId);
  const isOnlyCancelled = ofJob.every(({ call }) => call.kind === "cancel");
  if (jobId !== undefined && ofJob.length > 0 && isOnlyCancelled) return ofJob[0];
  return sent.find(({ call }) => call.kind !== "cancel");
}

/** Statuses of a job that has not ended. */
const unfinished: ReadonlySet<string> = new Set(["pending", "queued", "accepted", "running"]);

export function isFinished(status: string): boolean {
  return !unfinished.has(status);
}

/** Cancelled while it waits for a slot, a job stays so, and never ends (PYC-9). */
export function isNeverToEnd(status: string): boolean {
  return status === "pending" || isFinished(status);
}

/** What happened to a job between two connections is gone (PYC-15). */
export function lostInBetween(jobId: string): ArcpError {
  const message = `job ${jobId} ended while there was no connection, and the runtime kept nothing of it`;
  return new ArcpError("INTERNAL_ERROR", message, { details: { lost: true } });
}

/** Whether a job's agent, with its version if it has one, is the one that was asked for by its bare name. */
export function isVersionOf(agent: string, name: string): boolean {
  return agent === name || agent.startsWith(`${name}@`);
}

const agentForm = /^[a-zA-Z][a-zA-Z0-9._-]*(?:@[a-zA-Z0-9][a-zA-Z0-9._-]*)?$/;
const amountForm = /^[A-Za-z][A-Za-z0-9]{0,9}:/;

/**
 * What that runtime would refuse with words nobody understands, or close the connection over, is refused here
 * (PYC-4).
 */
export function checkForPython({ type, traceId, payload }: Request): ArcpError | undefined {
  if (traceId !== undefined && !isTraceId(traceId))
    return refused("the trace id has 32 hex digits");
  if (type === "session.list_jobs" && !isWithin(payload["limit"], 1_000)) {
    return refused("the limit of a page is 1 to 1000 with this runtime");
  }
  if (type !== "job.submit") return undefined;
  const { agent, max_runtime_sec: seconds, lease_request: lease } = payload;
  if (typeof agent === "string" && !agentForm.test(agent)) {
    return refused("agents of this runtime begin with a letter");
  }
  if (!isWithin(seconds, 86_400)) return refused("jobs of this runtime run for at most 86400 s");
  const amounts = isObject(lease) ? lease["cost.budget"] : undefined;
  if (!Array.isArray(amounts)) return undefined;
  const isFine = amounts.every((each) => typeof each === "string" && amountForm.test(each));
  return isFine
    ? undefined
    : refused("a currency has 1 to 10 letters and digits with this runtime");
}

function isWithin(value: unknown, max: number): boolean {
  return value === undefined || (typeof value === "number" && value >= 1 && value <= max);
}

function refused(message: string): ArcpError {
  return new ArcpError("INVALID_REQUEST", message);
}
