/**
 * What a client says to a runtime: read for the runtime, printed for the client. A reader is given the
 * envelope, since some peers name a job there and some in the payload. Timestamps that only inform are never
 * a reason to refuse.
 */
import type { Envelope } from "./envelope.ts";
import { Fields, isDeeper, type JsonObject, type Problem, type Read } from "./fields.ts";
import { limits } from "./limits.ts";
import { type LeaseConstraints, printConstraints, readConstraints } from "./parts.ts";
import { printTimestamp } from "./timestamps.ts";

export type PeerName = {
  readonly name: string;
  /** Some peers leave it out. */
  readonly version?: string | undefined;
  readonly fingerprint?: string | undefined;
};

export type ClientName = PeerName & { readonly principal?: string | undefined };

export type ClientCapabilities = {
  readonly encodings?: readonly string[] | undefined;
  readonly features: readonly string[];
  /** Everything else a client advertises, under whatever names (ARCP-53). */
  readonly vendor: JsonObject;
};

export type ResumePoint = {
  readonly sessionId: string;
  readonly resumeToken: string;
  readonly lastEventSeq: number;
};

/** A `session.hello`, or a `session.resume`, where only the token and the resume point must be. */
export type Hello = {
  readonly client?: ClientName | undefined;
  readonly token: string;
  readonly capabilities?: ClientCapabilities | undefined;
  readonly resume?: ResumePoint | undefined;
};

/** What is wrong with a hello is either its shape or who says it (ARCP-47). */
export type HelloProblem = Problem & { readonly code: "INVALID_REQUEST" | "UNAUTHENTICATED" };

export type ReadHello =
  | { readonly value: Hello; readonly problem?: never }
  | { readonly problem: HelloProblem; readonly value?: never };

export function readHello({ type, payload }: Envelope): ReadHello {
  const fields = new Fields(payload, "payload");
  const isResume = type === "session.resume";
  const client = isResume ? fields.optionalInside("client") : fields.inside("client");
  const capabilities = fields.optionalInside("capabilities");
  const resume = isResume ? fields : fields.optionalInside("resume");
  const read = fields.done({
    client: client && { ...readName(client), principal: client.optionalText("principal") },
    capabilities: capabilities && readCapabilities(capabilities, fields.object("capabilities")),
    resume: resume && readResumePoint(resume),
  });
  if (read.problem) return { problem: { code: "INVALID_REQUEST", ...read.problem } };
  const token = readToken(payload);
  if (token === undefined) return { problem: unauthenticated };
  return { value: { ...read.value, token } };
}

/** One answer, whatever was wrong with the token. */
const unauthenticated: HelloProblem = {
  code: "UNAUTHENTICATED",
  path: "payload.auth",
  message: "payload.auth must have a valid bearer token",
};

function readToken(payload: JsonObject): string | undefined {
  const auth = new Fields(payload, "payload").inside("auth");
  const scheme = auth.optionalText("scheme") ?? "bearer";
  const token = auth.text("token", { max: limits.tokenLengthMax });
  return scheme === "bearer" ? auth.done(token).value : undefined;
}

export function readName(fields: Fields): PeerName {
  return {
    name: fields.text("name"),
    version: fields.optionalText("version"),
    fingerprint: fields.optionalText("fingerprint", { max: limits.wordsLengthMax }),
  };
}

/** P's client sends an empty list of agents, which is no advertisement. */
const ownCapabilities: ReadonlySet<string> = new Set(["encodings", "features", "agents"]);

function readCapabilities(fields: Fields, given: JsonObject = {}): ClientCapabilities {
  return {
    encodings: fields.texts("encodings"),
    features: fields.texts("features") ?? [],
    vendor: vendorCapabilities(given),
  };
}

export function vendorCapabilities(given: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !ownCapabilities.has(name)));
}

function readResumePoint(fields: Fields): ResumePoint {
  return {
    sessionId: fields.text("session_id"),
    resumeToken: fields.text("resume_token", { max: limits.tokenLengthMax }),
    lastEventSeq: fields.integer("last_event_seq", { min: 0 }),
  };
}

export function printHello(hello: Hello): JsonObject {
  const { client, token, capabilities, resume } = hello;
  return {
    ...(client && { client: printName(client) }),
    auth: { scheme: "bearer", token },
    ...(capabilities && {
      capabilities: {
        ...(capabilities.encodings && { encodings: capabilities.encodings }),
        features: capabilities.features,
        ...vendorCapabilities(capabilities.vendor),
      },
    }),
    ...(resume && {
      resume: {
        session_id: resume.sessionId,
        resume_token: resume.resumeToken,
        last_event_seq: resume.lastEventSeq,
      },
    }),
  };
}

export function printName(peer: ClientName): JsonObject {
  const { name, version, fingerprint, principal } = peer;
  return {
    name,
    // T and P want one.
    version: version ?? "0.0.0",
    ...(fingerprint !== undefined && { fingerprint }),
    ...(principal !== undefined && { principal }),
  };
}

export type Submit = {
  /** `name` or `name@version`; which of them are right is not decided here. */
  readonly agent: string;
  /** Absent is the same as null (ARCP-87). */
  readonly input: unknown;
  /** As it was given: its shape is checked later than the agent (ARCP-82), by `readLease`. */
  readonly leaseRequest: JsonObject;
  readonly leaseConstraints?: LeaseConstraints | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly maxRuntimeSec?: number | undefined;
  readonly parentJobId?: string | undefined;
  readonly delegateId?: string | undefined;
};

export function readSubmit({ payload }: Envelope): Read<Submit> {
  const fields = new Fields(payload, "payload");
  if (isDeeper(payload, limits.depthMax)) {
    fields.note("input", `nested at most ${limits.depthMax} levels deep`);
  }
  return fields.done({
    agent: fields.text("agent"),
    input: payload["input"] ?? null,
    leaseRequest: fields.object("lease_request") ?? {},
    leaseConstraints: readConstraints(fields),
    idempotencyKey: fields.optionalText("idempotency_key", {
      max: limits.idempotencyKeyLengthMax,
    }),
    maxRuntimeSec: fields.optionalInteger("max_runtime_sec", { min: 1 }),
    parentJobId: fields.optionalText("parent_job_id"),
    delegateId: fields.optionalText("delegate_id"),
  });
}

export function printSubmit(submit: Submit): JsonObject {
  const { agent, input, leaseRequest, leaseConstraints, idempotencyKey, maxRuntimeSec } = submit;
  const { parentJobId, delegateId } = submit;
  return {
    agent,
    ...(input !== undefined && input !== null && { input }),
    lease_request: leaseRequest,
    ...printConstraints(leaseConstraints),
    ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
    ...(maxRuntimeSec !== undefined && { max_runtime_sec: maxRuntimeSec }),
    ...(parentJobId !== undefined && { parent_job_id: parentJobId }),
    ...(delegateId !== undefined && { delegate_id: delegateId }),
  };
}

export type Cancel = { readonly jobId: string; readonly reason?: string | undefined };

/** The job is named on the envelope; some name it in the payload (ARCP-110). */
export function readCancel({ jobId, payload }: Envelope): Read<Cancel> {
  const fields = new Fields(payload, "payload");
  return fields.done({ jobId: jobId ?? fields.text("job_id"), reason: fields.words("reason") });
}

/** P requires a reason (ARCP-212). The job goes on the envelope. */
export function printCancel({
  reason = "client.cancel",
}: {
  readonly reason?: string;
}): JsonObject {
  return { reason };
}

export type Subscribe = {
  readonly jobId: string;
  readonly history: boolean;
  /** Only counts where history is asked for (ARCP-137). */
  readonly fromEventSeq: number;
};

export function readSubscribe({ jobId, payload }: Envelope): Read<Subscribe> {
  const fields = new Fields(payload, "payload");
  const history = fields.flag("history") ?? false;
  const fromEventSeq = fields.optionalInteger("from_event_seq", { min: 0 }) ?? 0;
  return fields.done({
    jobId: fields.optionalText("job_id") ?? jobId ?? fields.text("job_id"),
    history,
    fromEventSeq: history ? fromEventSeq : 0,
  });
}

export function printSubscribe({ jobId, history, fromEventSeq }: Subscribe): JsonObject {
  return {
    job_id: jobId,
    history,
    ...(history && fromEventSeq > 0 && { from_event_seq: fromEventSeq }),
  };
}

export type Unsubscribe = { readonly jobId: string };

export function readUnsubscribe({ jobId, payload }: Envelope): Read<Unsubscribe> {
  const fields = new Fields(payload, "payload");
  return fields.done({ jobId: fields.optionalText("job_id") ?? jobId ?? fields.text("job_id") });
}

export function printUnsubscribe({ jobId }: Unsubscribe): JsonObject {
  return { job_id: jobId };
}

export type ListJobs = {
  readonly status?: readonly string[] | undefined;
  readonly agent?: string | undefined;
  readonly createdAfterMs?: number | undefined;
  readonly createdBeforeMs?: number | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
};

/** Filters may also lie directly in the payload, as one figure of the draft has them (ARCP-24). */
export function readListJobs({ payload }: Envelope): Read<ListJobs> {
  const fields = new Fields(payload, "payload");
  const filter = fields.optionalInside("filter") ?? fields;
  const status = filter.any("status");
  return fields.done({
    status: typeof status === "string" ? [status] : filter.texts("status"),
    agent: filter.optionalText("agent"),
    createdAfterMs: filter.time("created_after"),
    createdBeforeMs: filter.time("created_before"),
    limit: fields.optionalInteger("limit", { min: 1 }),
    cursor: fields.optionalText("cursor", { max: limits.wordsLengthMax }),
  });
}

export function printListJobs(list: ListJobs): JsonObject {
  const { status, agent, createdAfterMs, createdBeforeMs, limit, cursor } = list;
  const filter = {
    ...(status && { status }),
    ...(agent !== undefined && { agent }),
    ...(createdAfterMs !== undefined && { created_after: printTimestamp(createdAfterMs) }),
    ...(createdBeforeMs !== undefined && { created_before: printTimestamp(createdBeforeMs) }),
  };
  return {
    ...(Object.keys(filter).length > 0 && { filter }),
    ...(limit !== undefined && { limit }),
    ...(cursor !== undefined && { cursor }),
  };
}

export type Ack = { readonly lastProcessedSeq: number };

export function readAck({ payload }: Envelope): Read<Ack> {
  const fields = new Fields(payload, "payload");
  return fields.done({ lastProcessedSeq: fields.integer("last_processed_seq", { min: 0 }) });
}

export function printAck({ lastProcessedSeq }: Ack): JsonObject {
  return { last_processed_seq: lastProcessedSeq };
}

/** Both sides ping. */
export type Ping = { readonly nonce: string; readonly sentAtMs?: number | undefined };

export function readPing({ payload }: Envelope): Read<Ping> {
  const fields = new Fields(payload, "payload");
  return fields.done({ nonce: fields.text("nonce"), sentAtMs: fields.timeIfReadable("sent_at") });
}

export function printPing({ nonce, sentAtMs }: Ping & { readonly sentAtMs: number }): JsonObject {
  return { nonce, sent_at: printTimestamp(sentAtMs) };
}

export type Pong = { readonly pingNonce: string; readonly receivedAtMs?: number | undefined };

export function readPong({ payload }: Envelope): Read<Pong> {
  const fields = new Fields(payload, "payload");
  const receivedAtMs = fields.timeIfReadable("received_at");
  return fields.done({ pingNonce: fields.text("ping_nonce"), receivedAtMs });
}

export function printPong(pong: Pong & { readonly receivedAtMs: number }): JsonObject {
  return { ping_nonce: pong.pingNonce, received_at: printTimestamp(pong.receivedAtMs) };
}

/** `session.bye`, `session.close` and `session.closed`: a reason, if any. */
export type Farewell = { readonly reason?: string | undefined };

/** Whatever a farewell looks like, it is one. */
export function readFarewell({ payload }: Envelope): Farewell {
  const fields = new Fields(payload, "payload");
  const read = fields.done({ reason: fields.words("reason") });
  return read.value?.reason === undefined ? {} : read.value;
}

export function printFarewell({ reason }: Farewell): JsonObject {
  return reason === undefined ? {} : { reason };
}
