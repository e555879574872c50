/** What a session asks for, in the words of those who do it. */
import { createHash } from "node:crypto";
import { type Job, jobId, type SessionId } from "../../core/index.ts";
import type { JobRequest } from "../../runtime/index.ts";
import {
  type Envelope,
  type ListJobs,
  type Problem,
  printTraceparent,
  type Read,
  readListJobs,
  readSubmit,
  submitFingerprint,
  type TraceHeaders,
  traceHeadersIn,
  traceIdFrom,
} from "../../wire/arcp/index.ts";
import { statusOf } from "./encode.ts";
import { limits } from "./limits.ts";

export function decodeSubmit(
  envelope: Envelope,
  asking: {
    readonly sessionId: SessionId;
    readonly principal: string;
    readonly takesCredentials: boolean;
    readonly newTraceId: () => string;
  },
): Read<JobRequest> {
  const read = readSubmit(envelope);
  if (read.problem) return read;
  const { agent, input, leaseRequest, leaseConstraints, idempotencyKey } = read.value;
  const { maxRuntimeSec, parentJobId, delegateId } = read.value;
  const expiresAt = leaseConstraints?.expiresAt;
  const trace = traceOf(envelope);
  const traceId = envelope.traceId ?? (trace && traceIdFrom(trace.traceparent));
  return {
    value: {
      agent,
      input: JSON.stringify(input),
      sessionId: asking.sessionId,
      // Jobs of one session are one conversation.
      contextId: asking.sessionId,
      principal: asking.principal,
      requestId: envelope.id,
      traceId: traceId ?? asking.newTraceId(),
      ...(trace && { trace }),
      capabilities: leaseRequest,
      ...(expiresAt !== undefined && { expiresAt }),
      ...(maxRuntimeSec !== undefined && { runMsMax: maxRuntimeSec * 1_000 }),
      ...(idempotencyKey !== undefined && {
        key: { text: idempotencyKey, fingerprint: hashOf(submitFingerprint(envelope.payload)) },
      }),
      ...(parentJobId !== undefined && { parentId: jobId(parentJobId) }),
      ...(delegateId !== undefined && { delegateId }),
      needsCredentials: asking.takesCredentials,
    },
  };
}

/** Where in a trace it was asked for, in whichever of two places that is told (ARCP-10, 183). */
function traceOf({ extensions, traceId, parentSpanId }: Envelope): TraceHeaders | undefined {
  const carried = traceHeadersIn(extensions);
  if (carried || traceId === undefined || parentSpanId === undefined) return carried;
  return { traceparent: printTraceparent({ traceId, spanId: parentSpanId, flags: 1 }) };
}

export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

export type PageRequest = {
  readonly count: number;
  /** The place of the last one of the page before. */
  readonly afterPlace: number;
  readonly matches: (job: Job) => boolean;
};

export function decodeList(envelope: Envelope): Read<PageRequest> {
  const read = readListJobs(envelope);
  if (read.problem) return read;
  const { limit = limits.pageEntries, cursor, agent } = read.value;
  const afterPlace = cursor === undefined ? 0 : decodeCursor(cursor);
  if (afterPlace === undefined) return wrong("payload.cursor", "one that came with a page");
  if (agent !== undefined && !reference.test(agent)) {
    return wrong("payload.filter.agent", "name or name@version");
  }
  const count = Math.min(limit, limits.pageEntriesMax);
  return { value: { count, afterPlace, matches: matcherOf(read.value) } };
}

const reference = /^[a-z0-9][a-z0-9._-]*(?:@[a-zA-Z0-9.+_-]+)?$/;

function matcherOf({ status, agent, createdAfterMs, createdBeforeMs }: ListJobs) {
  const statuses = status && new Set(status);
  const isNamed = agent?.includes("@") ?? false;
  return (job: Job): boolean => {
    if (statuses && !statuses.has(statusOf(job))) return false;
    const [name] = job.agent.split("@");
    if (agent !== undefined && agent !== (isNamed ? job.agent : name)) return false;
    if (createdAfterMs !== undefined && job.createdAtMs <= createdAfterMs) return false;
    return createdBeforeMs === undefined || job.createdAtMs < createdBeforeMs;
  };
}

/** Opaque to others. */
export function encodeCursor(place: number): string {
  return Buffer.from(`after ${place}`).toString("base64url");
}

function decodeCursor(cursor: string): number | undefined {
  const [, digits] = /^after (\d{1,15})$/.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  const place = digits === undefined ? undefined : Number(digits);
  return place !== undefined && encodeCursor(place) === cursor ? place : undefined;
}

function wrong(path: string, expectation: string): { readonly problem: Problem } {
  return { problem: { path, message: `${path} must be ${expectation}` } };
}
