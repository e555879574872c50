/** Jobs and what becomes of them, in the protocol's words. */
import {
  type Budget,
  budgetOf,
  type Job,
  type Outcome,
  printDecimal,
  remaining,
  type State,
} from "../../core/index.ts";
import { traceIdOf } from "../../runtime/index.ts";
import {
  type Accepted,
  type Amount,
  type Credential,
  type Dialect,
  type JobEntry,
  type JsonObject,
  printJobError,
  printJobResult,
  type Subscribed,
} from "../../wire/arcp/index.ts";
import { errorOf } from "./errors.ts";

/** As it was when it was accepted: a repeated request gets the same (ARCP-95). */
export function encodeAccepted(
  job: Job,
  { requestId, credentials }: { readonly requestId?: string; readonly credentials: Credentials },
): Accepted & { readonly acceptedAtMs: number } {
  return {
    jobId: job.id,
    agent: job.agent,
    ...authorityOf(job, initial(job)),
    credentials,
    acceptedAtMs: job.createdAtMs,
    parentJobId: job.parentId,
    delegateId: job.delegateId,
    traceId: traceIdOf(job),
    requestId,
  };
}

export function encodeEntry(
  { jobs }: State,
  job: Job,
): JobEntry & { readonly createdAtMs: number } {
  return {
    jobId: job.id,
    agent: job.agent,
    status: statusOf(job),
    ...authorityOf(job, left(jobs.budgets.get(job.id) ?? [])),
    parentJobId: job.parentId,
    createdAtMs: job.createdAtMs,
    traceId: traceIdOf(job),
    lastEventSeq: jobs.tallies.get(job.id)?.ownSequence ?? 0,
  };
}

/** What it may do now (ARCP-140). */
export function encodeSubscribed(
  { jobs }: State,
  job: Job,
  more: Pick<Subscribed, "subscribedFrom" | "replayed" | "credentials"> & {
    readonly requestId: string;
  },
): Subscribed & { readonly requestId: string } {
  return {
    jobId: job.id,
    currentStatus: statusOf(job),
    agent: job.agent,
    ...authorityOf(job, left(jobs.budgets.get(job.id) ?? [])),
    parentJobId: job.parentId,
    traceId: traceIdOf(job),
    ...more,
  };
}

export type Credentials = readonly Credential[];

/** What a job says at its end: the type of the frame and its payload, as JSON. */
export function encodeEnd(
  outcome: Outcome,
  { atMs, dialect }: { readonly atMs: number; readonly dialect: Dialect },
): { readonly type: "job.result" | "job.error"; readonly payload: string } {
  if (outcome.status !== "success") {
    const { status: finalStatus, failure } = outcome;
    const error = { finalStatus, error: errorOf(failure), completedAtMs: atMs };
    return { type: "job.error", payload: JSON.stringify(printJobError(error, dialect)) };
  }
  const { result, streamed, summary } = outcome;
  const payload = printJobResult({
    ...(streamed && { resultId: streamed.resultId, resultSize: streamed.bytes }),
    summary,
    completedAtMs: atMs,
  });
  return { type: "job.result", payload: withResult(payload, result) };
}

/** The result is JSON already, and may be long. */
export function withResult(payload: JsonObject, result: string | undefined): string {
  const text = JSON.stringify(payload);
  return result === undefined ? text : `${text.slice(0, -1)},"result":${result}}`;
}

export function statusOf(job: Job): string {
  return job.state === "ended" ? job.status : job.state;
}

function authorityOf(
  { grant }: Job,
  budget: readonly Amount[],
): Pick<Accepted, "lease" | "leaseConstraints" | "budget"> {
  const { capabilities, expiresAt } = grant;
  return {
    lease: capabilities,
    ...(expiresAt !== undefined && { leaseConstraints: { expiresAt } }),
    budget,
  };
}

function initial({ grant }: Job): readonly Amount[] {
  return budgetOf(grant).map(({ currency, cap }) => ({ currency, text: printDecimal(cap) }));
}

function left(budget: Budget): readonly Amount[] {
  return budget.map((counter) => ({
    currency: counter.currency,
    text: printDecimal(remaining(counter)),
  }));
}
