/**
 * What a runtime says to a client: printed for the runtime, strictly, and read for the client, in every form
 * that a published runtime is known to send (ARCP-21, 22, 24), made one.
 */
import { type Dialect, printBudget, printFinalStatus } from "./dialect.ts";
import { type Envelope, quote } from "./envelope.ts";
import {
  isErrorCode,
  printError,
  type ReceivedCode,
  type ReceivedError,
  readError,
} from "./errors.ts";
import { Fields, isInteger, isObject, type JsonObject, type Read } from "./fields.ts";
import { traceIdFrom } from "./ids.ts";
import { limits } from "./limits.ts";
import {
  type Amount,
  type Credential,
  type LeaseConstraints,
  type LeaseShape,
  printAmounts,
  printConstraints,
  printCredential,
  readAmounts,
  readAnyLease,
  readCredentials,
} from "./parts.ts";
import { type PeerName, printName, readName, vendorCapabilities } from "./requests.ts";
import { printTimestamp } from "./timestamps.ts";

export type AgentOffer = {
  readonly name: string;
  readonly versions: readonly string[];
  readonly default?: string | undefined;
};

export type Welcome = {
  readonly runtime: PeerName;
  readonly sessionId: string;
  readonly acceptedAtMs?: number | undefined;
  readonly resumeToken: string;
  readonly resumeWindowSec: number;
  /** Only if heartbeat is effective. */
  readonly heartbeatIntervalSec?: number | undefined;
  readonly features: readonly string[];
  readonly agents: readonly AgentOffer[];
  readonly vendor: JsonObject;
};

/** Agents have their versions only if `agent_versions` is effective (ARCP-52). */
export function printWelcome(welcome: Welcome & { readonly acceptedAtMs: number }): JsonObject {
  const { runtime, sessionId, acceptedAtMs, resumeToken, features, agents, vendor } = welcome;
  const { heartbeatIntervalSec } = welcome;
  const withVersions = features.includes("agent_versions");
  const hasHeartbeat = heartbeatIntervalSec !== undefined && features.includes("heartbeat");
  return {
    runtime: printName(runtime),
    session_id: sessionId,
    accepted_at: printTimestamp(acceptedAtMs),
    resume_token: resumeToken,
    resume_window_sec: wholeSeconds(welcome.resumeWindowSec),
    ...(hasHeartbeat && { heartbeat_interval_sec: wholeSeconds(heartbeatIntervalSec) }),
    capabilities: {
      encodings: ["json"],
      features,
      agents: withVersions ? agents.map(printAgent) : agents.map(({ name }) => name),
      ...vendorCapabilities(vendor),
    },
  };
}

function wholeSeconds(seconds: number): number {
  return Math.max(1, Math.round(seconds));
}

function printAgent({ name, versions, default: chosen }: AgentOffer): JsonObject {
  return { name, versions, ...(chosen !== undefined && { default: chosen }) };
}

/** The session's id is on the envelope, in the payload, or in both. */
export function readWelcome({ sessionId, payload }: Envelope): Read<Welcome> {
  const fields = new Fields(payload, "payload");
  const capabilities = fields.optionalInside("capabilities");
  const agents = capabilities?.any("agents");
  return fields.done({
    runtime: readName(fields.inside("runtime")),
    sessionId: sessionId ?? fields.text("session_id"),
    acceptedAtMs: fields.timeIfReadable("accepted_at"),
    resumeToken: fields.text("resume_token", { max: limits.tokenLengthMax }),
    resumeWindowSec: readSeconds(fields.any("resume_window_sec")) ?? 0,
    heartbeatIntervalSec: readSeconds(fields.any("heartbeat_interval_sec")),
    features: capabilities?.texts("features") ?? [],
    agents: Array.isArray(agents) ? agents.flatMap(readAgent) : [],
    vendor: vendorCapabilities(fields.object("capabilities") ?? {}),
  });
}

function readSeconds(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 && Number.isFinite(value) ? value : undefined;
}

function readAgent(value: unknown): readonly AgentOffer[] {
  if (typeof value === "string") return value === "" ? [] : [{ name: value, versions: [] }];
  if (!isObject(value)) return [];
  const fields = new Fields(value, "agent");
  const offer = fields.done({
    name: fields.text("name"),
    versions: fields.texts("versions") ?? [],
    default: fields.optionalText("default"),
  });
  return offer.value ? [offer.value] : [];
}

export type SessionError = {
  readonly error: ReceivedError;
  readonly requestId?: string | undefined;
  readonly jobId?: string | undefined;
};

export function printSessionError(refusal: {
  readonly error: Parameters<typeof printError>[0];
  readonly requestId?: string | undefined;
  readonly jobId?: string | undefined;
}): JsonObject {
  const { error, requestId, jobId } = refusal;
  return {
    ...printError(error),
    ...(requestId !== undefined && { request_id: requestId }),
    ...(jobId !== undefined && { job_id: jobId }),
  };
}

/** Whatever it looks like, it is an error. */
export function readSessionError({ payload, jobId }: Envelope): SessionError {
  return {
    error: readError(payload),
    requestId: textOf(payload["request_id"]),
    jobId: textOf(payload["job_id"]) ?? jobId,
  };
}

export type Accepted = {
  readonly jobId: string;
  readonly agent: string;
  readonly lease: LeaseShape;
  readonly leaseConstraints?: LeaseConstraints | undefined;
  readonly budget?: readonly Amount[] | undefined;
  readonly credentials?: readonly Credential[] | undefined;
  readonly acceptedAtMs?: number | undefined;
  readonly parentJobId?: string | undefined;
  readonly delegateId?: string | undefined;
  readonly traceId?: string | undefined;
  readonly requestId?: string | undefined;
};

export function printAccepted(
  accepted: Accepted & { readonly acceptedAtMs: number },
  dialect: Dialect,
): JsonObject {
  const { jobId, agent, lease, budget, credentials = [], acceptedAtMs } = accepted;
  const { parentJobId, delegateId, traceId, requestId } = accepted;
  return {
    job_id: jobId,
    agent,
    lease,
    ...printConstraints(accepted.leaseConstraints),
    ...(budget && budget.length > 0 && { budget: printBudget(budget, dialect) }),
    ...(credentials.length > 0 && { credentials: credentials.map(printCredential) }),
    accepted_at: printTimestamp(acceptedAtMs),
    ...(parentJobId !== undefined && { parent_job_id: parentJobId }),
    ...(delegateId !== undefined && { delegate_id: delegateId }),
    ...(traceId !== undefined && { trace_id: traceId }),
    ...(requestId !== undefined && { request_id: requestId }),
  };
}

export function readAccepted({ jobId, traceId, payload }: Envelope): Read<Accepted> {
  const fields = new Fields(payload, "payload");
  return fields.done({
    jobId: fields.optionalText("job_id") ?? jobId ?? fields.text("job_id"),
    agent: fields.text("agent"),
    ...readAuthority(fields),
    acceptedAtMs: fields.timeIfReadable("accepted_at"),
    parentJobId: fields.optionalText("parent_job_id"),
    delegateId: fields.optionalText("delegate_id"),
    traceId: traceOf(fields) ?? traceId,
    requestId: fields.optionalText("request_id"),
  });
}

/** What a job may do, as far as it can be read. */
function readAuthority(fields: Fields): {
  readonly lease: LeaseShape;
  readonly leaseConstraints: LeaseConstraints | undefined;
  readonly budget: readonly Amount[] | undefined;
  readonly credentials: readonly Credential[] | undefined;
} {
  const constraints = fields.any("lease_constraints");
  const expiresAt = isObject(constraints) ? textOf(constraints["expires_at"]) : undefined;
  return {
    lease: readAnyLease(fields.any("lease")),
    leaseConstraints: expiresAt === undefined ? undefined : { expiresAt },
    budget: readAmounts(fields.any("budget")),
    credentials: readCredentials(fields.any("credentials")),
  };
}

export type JobEvent = {
  readonly jobId: string;
  readonly kind: string;
  readonly atMs?: number | undefined;
  /** As it came (ARCP-122); `normaliseBody` has a view of it. */
  readonly body: unknown;
};

/** As text, around a body that was printed before: once, for however many sessions. */
export function printEventPayload(kind: string, atMs: number, bodyText: string): string {
  return `{"kind":${quote(kind)},"ts":"${printTimestamp(atMs)}","body":${bodyText}}`;
}

export function readJobEvent({ jobId, payload }: Envelope): Read<JobEvent> {
  const fields = new Fields(payload, "payload");
  return fields.done({
    jobId: jobId ?? fields.text("job_id"),
    kind: fields.text("kind"),
    atMs: fields.timeIfReadable("ts"),
    body: payload["body"] ?? null,
  });
}

/** How a job ended well: with a value, or with one that was streamed under `resultId`, never with both. */
export type JobResult = {
  readonly result?: unknown;
  readonly resultId?: string | undefined;
  readonly resultSize?: number | undefined;
  readonly summary?: string | undefined;
  readonly completedAtMs?: number | undefined;
};

export function printJobResult(ended: JobResult & { readonly completedAtMs: number }): JsonObject {
  const { result, resultId, resultSize, summary, completedAtMs } = ended;
  const streamed = resultId !== undefined && {
    result_id: resultId,
    ...(resultSize !== undefined && { result_size: resultSize }),
  };
  return {
    final_status: "success",
    ...(streamed || (result !== undefined && { result })),
    ...(summary !== undefined && { summary }),
    completed_at: printTimestamp(completedAtMs),
  };
}

export type FailedStatus = "error" | "cancelled" | "timed_out";

export type JobFailure = {
  readonly finalStatus: FailedStatus;
  readonly error: ReceivedError;
  readonly completedAtMs?: number | undefined;
  /** Only where it refuses a request, rather than end a job. */
  readonly requestId?: string | undefined;
};

export function printJobError(
  failure: {
    readonly finalStatus: FailedStatus;
    readonly error: Parameters<typeof printError>[0];
    readonly completedAtMs: number;
    readonly requestId?: string | undefined;
  },
  dialect: Dialect,
): JsonObject {
  const { finalStatus, error, completedAtMs, requestId } = failure;
  return {
    final_status: printFinalStatus(finalStatus, dialect),
    ...printError(error),
    completed_at: printTimestamp(completedAtMs),
    ...(requestId !== undefined && { request_id: requestId }),
  };
}

/** Of `job.result` and `job.error` alike: some runtimes end what was cancelled with a result (ARCP-22). */
export type JobOutcome =
  | ({ readonly status: "success" } & JobResult)
  | ({ readonly status: "failed" } & JobFailure);

export function readOutcome({ type, payload }: Envelope): Read<JobOutcome> {
  const fields = new Fields(payload, "payload");
  const completedAtMs = fields.timeIfReadable("completed_at");
  const said = payload["final_status"];
  if (type === "job.result" && !isFailed(said)) {
    return fields.done({ status: "success", ...readResult(fields, payload), completedAtMs });
  }
  const error = readFailure(payload, said);
  const finalStatus = finalStatusOf(error.code, said);
  const requestId = textOf(payload["request_id"]);
  return fields.done({ status: "failed", finalStatus, error, completedAtMs, requestId });
}

function readResult(fields: Fields, payload: JsonObject): JobResult {
  const resultId = fields.optionalText("result_id");
  const summary = fields.words("summary");
  if (resultId !== undefined) {
    const size = fields.any("result_size");
    return { resultId, resultSize: isInteger(size) && size >= 0 ? size : undefined, summary };
  }
  // An agent that returned nothing is as good as one that returned null.
  return { result: payload["result"] ?? payload["output"] ?? null, summary };
}

function isFailed(status: unknown): status is FailedStatus {
  return status === "error" || status === "cancelled" || status === "timed_out";
}

/** A result that says it was cancelled has no code of its own. */
function readFailure(payload: JsonObject, said: unknown): ReceivedError {
  if (typeof payload["code"] === "string") return readError(payload);
  const code =
    said === "cancelled" ? "CANCELLED" : said === "timed_out" ? "TIMEOUT" : "INTERNAL_ERROR";
  return readError({ ...payload, code });
}

function finalStatusOf(code: ReceivedCode, said: unknown): FailedStatus {
  // Some runtimes call every end an error; the code knows better.
  if (said !== undefined && said !== null && said !== "error" && isFailed(said)) return said;
  if (!isErrorCode(code)) return "error";
  return code === "CANCELLED" ? "cancelled" : code === "TIMEOUT" ? "timed_out" : "error";
}

export type Cancelled = {
  readonly jobId: string;
  readonly reason?: string | undefined;
  readonly requestId?: string | undefined;
};

export function printCancelled({ jobId, reason, requestId }: Cancelled): JsonObject {
  return {
    ...(reason !== undefined && { reason }),
    job_id: jobId,
    ...(requestId !== undefined && { request_id: requestId }),
  };
}

export function readCancelled({ jobId, payload }: Envelope): Read<Cancelled> {
  const fields = new Fields(payload, "payload");
  return fields.done({
    jobId: jobId ?? fields.text("job_id"),
    reason: fields.words("reason"),
    requestId: fields.optionalText("request_id"),
  });
}

export type JobEntry = {
  readonly jobId: string;
  readonly agent: string;
  readonly status: string;
  readonly lease: LeaseShape;
  readonly leaseConstraints?: LeaseConstraints | undefined;
  readonly budget?: readonly Amount[] | undefined;
  readonly parentJobId?: string | undefined;
  readonly createdAtMs?: number | undefined;
  readonly traceId?: string | undefined;
  readonly lastEventSeq: number;
};

export type Jobs = {
  readonly requestId?: string | undefined;
  readonly jobs: readonly JobEntry[];
  readonly nextCursor?: string | undefined;
};

type DatedEntry = JobEntry & { readonly createdAtMs: number };

export function printJobs(page: {
  readonly requestId: string;
  readonly jobs: readonly DatedEntry[];
  readonly nextCursor?: string | undefined;
}): JsonObject {
  const { requestId, jobs, nextCursor } = page;
  return {
    request_id: requestId,
    jobs: jobs.map(printEntry),
    next_cursor: nextCursor ?? null,
  };
}

/** Two names for one time: some read the one, some the other. */
function printEntry(entry: DatedEntry): JsonObject {
  const { jobId, agent, status, lease, budget, parentJobId, createdAtMs, traceId } = entry;
  const createdAt = printTimestamp(createdAtMs);
  return {
    job_id: jobId,
    agent,
    status,
    lease,
    ...printConstraints(entry.leaseConstraints),
    ...(budget && budget.length > 0 && { budget: printAmounts(budget) }),
    parent_job_id: parentJobId ?? null,
    created_at: createdAt,
    submitted_at: createdAt,
    ...(traceId !== undefined && { trace_id: traceId }),
    last_event_seq: entry.lastEventSeq,
  };
}

export function readJobs({ payload }: Envelope): Read<Jobs> {
  const fields = new Fields(payload, "payload");
  const jobs = fields.any("jobs") ?? [];
  if (!Array.isArray(jobs) || !jobs.every(isObject)) {
    fields.note("jobs", "a list of objects");
    return fields.done({ jobs: [] });
  }
  const entries: JobEntry[] = [];
  for (const [index, job] of jobs.entries()) {
    const entry = readEntry(new Fields(job, `payload.jobs[${index}]`));
    if (entry.problem) return entry;
    entries.push(entry.value);
  }
  return fields.done({
    requestId: fields.optionalText("request_id"),
    jobs: entries,
    nextCursor: textOf(fields.any("next_cursor")),
  });
}

function readEntry(fields: Fields): Read<JobEntry> {
  const { lease, leaseConstraints, budget } = readAuthority(fields);
  return fields.done({
    jobId: fields.text("job_id"),
    agent: fields.text("agent"),
    status: fields.text("status"),
    lease,
    leaseConstraints,
    budget,
    parentJobId: fields.optionalText("parent_job_id"),
    createdAtMs: fields.timeIfReadable("created_at") ?? fields.timeIfReadable("submitted_at"),
    traceId: traceOf(fields),
    lastEventSeq: fields.optionalInteger("last_event_seq", { min: 0 }) ?? 0,
  });
}

export type Subscribed = {
  readonly requestId?: string | undefined;
  readonly jobId: string;
  readonly currentStatus: string;
  readonly agent: string;
  readonly lease: LeaseShape;
  readonly leaseConstraints?: LeaseConstraints | undefined;
  /** What is left now. */
  readonly budget?: readonly Amount[] | undefined;
  readonly credentials?: readonly Credential[] | undefined;
  readonly parentJobId?: string | undefined;
  readonly traceId?: string | undefined;
  readonly subscribedFrom: number;
  readonly replayed: boolean;
};

export function printSubscribed(
  subscribed: Subscribed & { readonly requestId: string },
): JsonObject {
  const { requestId, jobId, currentStatus, agent, lease, budget, credentials = [] } = subscribed;
  const { parentJobId, traceId, subscribedFrom, replayed } = subscribed;
  return {
    request_id: requestId,
    job_id: jobId,
    current_status: currentStatus,
    agent,
    lease,
    ...printConstraints(subscribed.leaseConstraints),
    ...(budget && budget.length > 0 && { budget: printAmounts(budget) }),
    ...(credentials.length > 0 && { credentials: credentials.map(printCredential) }),
    parent_job_id: parentJobId ?? null,
    ...(traceId !== undefined && { trace_id: traceId }),
    subscribed_from: subscribedFrom,
    replayed,
  };
}

/** `replayed` may be a count. */
export function readSubscribed({ jobId, traceId, payload }: Envelope): Read<Subscribed> {
  const fields = new Fields(payload, "payload");
  const replayed = fields.any("replayed");
  return fields.done({
    requestId: fields.optionalText("request_id"),
    jobId: fields.optionalText("job_id") ?? jobId ?? fields.text("job_id"),
    currentStatus: fields.text("current_status"),
    agent: fields.text("agent"),
    ...readAuthority(fields),
    parentJobId: fields.optionalText("parent_job_id"),
    traceId: traceOf(fields) ?? traceId,
    subscribedFrom: fields.optionalInteger("subscribed_from", { min: 0 }) ?? 0,
    replayed: replayed === true || (typeof replayed === "number" && replayed > 0),
  });
}

function traceOf(fields: Fields): string | undefined {
  const text = textOf(fields.any("trace_id"));
  return text === undefined ? undefined : traceIdFrom(text);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
