/**
 * What a worker elsewhere and the runtime say to each other: the payloads of vendor frames inside an ordinary
 * session, read and printed. `docs/worker-protocol.md` tells it in words. Unknown fields are ignored on both
 * sides, so that either may be the older one.
 */
import {
  type ChunkSize,
  type Credential,
  Fields,
  isObject,
  type JsonObject,
  printCredential,
  printError,
  type Read,
  type ReceivedError,
  readCredentials,
  readError,
  readTraceHeaders,
  type TraceHeaders,
  limits as wireLimits,
  withArcpCode,
  withOwnCode,
} from "../arcp/index.ts";
import { limits } from "./limits.ts";

export const prefix = "x-vendor.tipstaff.worker.";

type Lease = Readonly<Record<string, readonly string[]>>;

/** One execution of a job. */
export type Held = { readonly jobId: string; readonly attempt: number };

/** What is said of a job is numbered, from 1, without a repetition: that is how it can be said again. */
type Numbered = Held & { readonly workerSequence: number };

/** Answered under the same id; asked again, with the same id, where the answer did not come. */
type Request = Held & { readonly requestId: string };

export type WorkerOffer = {
  readonly name: string;
  readonly version?: string | undefined;
  readonly isIdempotent: boolean;
  /** Whether its jobs may ask people for more access than they have. */
  readonly mayRequestScope: boolean;
};

export type Introduction = {
  readonly type: "offer";
  readonly workerId: string;
  readonly offers: readonly WorkerOffer[];
  readonly jobsAtOnce: number;
  /** What it still works on, or has a result of that nobody has confirmed. */
  readonly has: readonly Held[];
  readonly frameBytesMax: number;
  /** Counts the connections of the process, from 1. Absent: it does not count them. */
  readonly connection?: number | undefined;
};

export type ResultOf = Numbered & {
  readonly type: "result";
  /** Absent: there is none, or it was streamed. */
  readonly value?: { readonly result: unknown } | undefined;
  readonly streamed?: { readonly resultId: string; readonly bytes: number } | undefined;
  readonly summary?: string | undefined;
};

/** What the job has spent, and from which reservation if there is one. */
export type Spending = Numbered & {
  readonly type: "spend";
  readonly reservationId?: string | undefined;
  /** Each `currency:decimal`. */
  readonly amounts: readonly string[];
};

export type FailureOf = Numbered & {
  readonly type: "error";
  /** `timed_out`: the job ran longer than its agent's own limit. */
  readonly status: "error" | "timed_out";
  readonly error: ReceivedError;
};

export type Delegation = Request &
  Numbered & {
    readonly type: "delegate";
    readonly delegateId: string;
    readonly agent: string;
    readonly input: unknown;
    readonly leaseRequest?: Lease | undefined;
    readonly expiresAt?: string | undefined;
  };

/**
 * A question to a person. Its values are not checked here: an invalid value is a mistake of the agent and not of its
 * worker, so the agent gets the error in the answer.
 */
export type PersonAsked = Request & {
  /** What the job calls the question. */
  readonly key: unknown;
  readonly timeoutSeconds?: unknown;
} & (
    | {
        readonly type: "ask";
        readonly prompt: unknown;
        readonly choices?: unknown;
        readonly schema?: unknown;
      }
    | {
        readonly type: "request_scope";
        readonly reason: unknown;
        readonly readPatterns?: unknown;
        readonly writePrefix?: unknown;
        readonly ttlSeconds?: unknown;
        readonly mode?: unknown;
      }
  );

/** The `value` in the reply to an `ask` or `request_scope` request. */
export type PersonAnswered = {
  readonly questionId: string;
  readonly answer: unknown;
  readonly answeredAtMs: number;
};

export type Asked =
  | PersonAsked
  /** The job no longer waits for the answer to a question. */
  | (Request & { readonly type: "withdraw"; readonly key: unknown })
  | (Request & {
      readonly type: "authorize";
      readonly capability: string;
      readonly target: string;
    })
  | (Request & {
      readonly type: "reserve" | "settle";
      readonly reservationId: string;
      /** Each `currency:decimal`. */
      readonly amounts: readonly string[];
    })
  | Delegation
  /** The result of a job that this one delegated. */
  | (Request & { readonly type: "await"; readonly childId: string })
  /** A newer value of a credential that the job has. */
  | (Request & {
      readonly type: "rotate";
      readonly credentialId: string;
      /** Secret. */
      readonly value: string;
      readonly handle?: string | undefined;
    })
  | (Request & {
      readonly type: "cancel_child";
      readonly childId: string;
      readonly reason?: string | undefined;
    });

export type FromWorker =
  | Introduction
  /** It has the job, from now on until its last word is confirmed. */
  | (Held & { readonly type: "taken" })
  | (Numbered & { readonly type: "event"; readonly kind: string; readonly body: unknown })
  | Spending
  | ResultOf
  | FailureOf
  | Asked
  /** It wants no more jobs. */
  | { readonly type: "leave" };

export type Verdict = Held &
  (
    | { readonly verdict: "continue"; readonly workerSequence: number }
    | { readonly verdict: "drop" }
  );

export type JobFrame = Held & {
  readonly type: "job";
  readonly agent: string;
  readonly input: unknown;
  readonly principal: string;
  /** Absent for a job that was submitted outside of any session. */
  readonly sessionId?: string | undefined;
  /** The conversation that it belongs to. */
  readonly contextId?: string | undefined;
  readonly traceId: string;
  /** Where in a trace it is. */
  readonly trace?: TraceHeaders | undefined;
  readonly parentId?: string | undefined;
  readonly lease: Lease;
  readonly expiresAt?: string | undefined;
  /** What is left to spend, by currency. */
  readonly budget: Readonly<Record<string, number>>;
  /** When it will be ended, whatever it is at. */
  readonly deadline?: string | undefined;
  readonly credentials?: readonly Credential[] | undefined;
  /** How long pieces of its result may be for who reads them, if that is less than usual. */
  readonly chunk?: ChunkSize | undefined;
};

export type ToWorker =
  | {
      readonly type: "welcome";
      readonly jobs: readonly Verdict[];
      readonly unacknowledgedMax: number;
      readonly graceMs: number;
    }
  /** Nothing more is said or heard on this session. */
  | { readonly type: "refused"; readonly code: RefusedCode; readonly message: string }
  | JobFrame
  /** Everything up to this number is kept. */
  | (Numbered & { readonly type: "ack" })
  /** This one cannot be kept, because it is no event. It counts as said. */
  | (Numbered & { readonly type: "invalid"; readonly error: ReceivedError })
  | {
      readonly type: "answer";
      readonly requestId: string;
      readonly value?: unknown;
      readonly error?: ReceivedError;
    }
  | (Held & { readonly type: "cancel"; readonly reason: string })
  /** It has ended, or is another's: whatever is said of it is not heard. */
  | (Held & { readonly type: "drop" });

export type RefusedCode = "malformed" | "not_allowed" | "superseded" | "limit_reached";

export function readFromWorker(type: string, payload: JsonObject): Read<FromWorker> {
  const fields = new Fields(payload, "payload");
  const name = type.slice(prefix.length);
  switch (name) {
    case "offer":
      return fields.done({
        type: "offer",
        workerId: readWorkerId(fields),
        offers: readList(fields, "offers", limits.offersMax, readOffer),
        jobsAtOnce: fields.optionalInteger("jobs_at_once", { min: 1 }) ?? limits.jobsAtOnce,
        has: readList(fields, "has", limits.heldMax, readHeld),
        frameBytesMax:
          fields.optionalInteger("frame_bytes_max", { min: 1 }) ?? limits.frameBytesMax,
        connection: fields.optionalInteger("connection", { min: 1 }),
      });
    case "taken":
      return fields.done({ type: "taken", ...readHeld(fields) });
    case "event":
      return fields.done({
        type: "event",
        ...readNumbered(fields),
        kind: fields.text("kind"),
        body: payload["body"],
      });
    case "spend":
      return fields.done({
        type: "spend",
        ...readNumbered(fields),
        reservationId: fields.optionalText("reservation_id"),
        amounts: fields.texts("amounts") ?? [],
      });
    case "result": {
      const resultId = fields.optionalText("result_id");
      return fields.done({
        type: "result",
        ...readNumbered(fields),
        ...(Object.hasOwn(payload, "result") && { value: { result: payload["result"] } }),
        ...(resultId !== undefined && {
          streamed: { resultId, bytes: fields.integer("result_size", { min: 0 }) },
        }),
        summary: fields.words("summary"),
      });
    }
    case "error": {
      const error = readFailure(payload);
      const isTimeout =
        error.code === "job_timed_out" && fields.any("final_status") === "timed_out";
      const status = isTimeout ? "timed_out" : "error";
      return fields.done({ type: "error", ...readNumbered(fields), status, error });
    }
    case "leave":
      return { value: { type: "leave" } };
    default:
      return readAsked(name, fields);
  }
}

function readAsked(name: string, fields: Fields): Read<FromWorker> {
  const request = { ...readHeld(fields), requestId: fields.text("request_id") };
  switch (name) {
    case "authorize":
      return fields.done({
        type: "authorize",
        ...request,
        capability: fields.text("capability"),
        // Its length is the grant's business.
        target: fields.text("target", { max: limits.frameBytesMax }),
      });
    case "reserve":
    case "settle":
      return fields.done({
        type: name,
        ...request,
        reservationId: fields.text("reservation_id"),
        amounts: fields.texts("amounts") ?? [],
      });
    case "delegate":
      return fields.done({
        type: "delegate",
        ...request,
        ...readNumbered(fields),
        delegateId: fields.text("delegate_id"),
        agent: fields.text("agent"),
        input: fields.any("input") ?? null,
        leaseRequest: readLease(fields, "lease_request"),
        expiresAt: fields.optionalInside("lease_constraints")?.optionalText("expires_at"),
      });
    case "ask":
      return fields.done({
        type: "ask",
        ...request,
        key: fields.any("key"),
        prompt: fields.any("prompt"),
        choices: fields.any("choices"),
        schema: fields.any("schema"),
        timeoutSeconds: fields.any("timeout_seconds"),
      });
    case "request_scope":
      return fields.done({
        type: "request_scope",
        ...request,
        key: fields.any("key"),
        reason: fields.any("reason"),
        readPatterns: fields.any("read_patterns"),
        writePrefix: fields.any("write_prefix"),
        ttlSeconds: fields.any("ttl_seconds"),
        mode: fields.any("mode"),
        timeoutSeconds: fields.any("timeout_seconds"),
      });
    case "withdraw":
      return fields.done({ type: "withdraw", ...request, key: fields.any("key") });
    case "await":
      return fields.done({ type: "await", ...request, childId: fields.text("child_job_id") });
    case "rotate":
      return fields.done({
        type: "rotate",
        ...request,
        credentialId: fields.text("credential_id"),
        value: fields.text("value", { max: wireLimits.tokenLengthMax }),
        handle: fields.optionalText("handle", { max: wireLimits.tokenLengthMax }),
      });
    case "cancel_child":
      return fields.done({
        type: "cancel_child",
        ...request,
        childId: fields.text("child_job_id"),
        reason: fields.words("reason"),
      });
    default:
      return { problem: { path: "type", message: `a worker cannot say ${name.slice(0, 50)}` } };
  }
}

function readWorkerId(fields: Fields): string {
  const id = fields.text("worker_id", { max: limits.workerIdLengthMax });
  // Part of a longer id, in which a slash has its meaning.
  const isPlain = /^[\w.:-]*$/.test(id) && id.length >= limits.workerIdLengthMin;
  if (!isPlain) fields.note("worker_id", "8 to 128 letters, digits and any of _ . : -");
  return id;
}

function readOffer(fields: Fields): WorkerOffer {
  return {
    name: fields.text("name"),
    version: fields.optionalText("version"),
    isIdempotent: fields.flag("idempotent") ?? false,
    mayRequestScope: fields.flag("may_request_scope") ?? false,
  };
}

function readHeld(fields: Fields): Held {
  return { jobId: fields.text("job_id"), attempt: fields.integer("attempt", { min: 1 }) };
}

function readNumbered(fields: Fields): Numbered {
  return { ...readHeld(fields), workerSequence: fields.integer("worker_seq", { min: 1 }) };
}

/** Absent is none. */
function readList<Item>(
  fields: Fields,
  name: string,
  most: number,
  read: (item: Fields) => Item,
): readonly Item[] {
  const items = fields.any(name) ?? [];
  if (!Array.isArray(items) || items.length > most || !items.every(isObject)) {
    fields.note(name, `a list of at most ${most} objects`);
    return [];
  }
  return items.map((item, at) => fields.within(`${name}[${at}]`, item, read));
}

export function printFromWorker(said: FromWorker): JsonObject {
  switch (said.type) {
    case "offer":
      return {
        worker_id: said.workerId,
        offers: said.offers.map(({ name, version, isIdempotent, mayRequestScope }) => ({
          name,
          ...(version !== undefined && { version }),
          idempotent: isIdempotent,
          ...(mayRequestScope && { may_request_scope: true }),
        })),
        jobs_at_once: said.jobsAtOnce,
        has: said.has.map(printHeld),
        frame_bytes_max: said.frameBytesMax,
        ...(said.connection !== undefined && { connection: said.connection }),
      };
    case "taken":
      return printHeld(said);
    case "event":
      return { ...printNumbered(said), kind: said.kind, body: said.body };
    case "spend": {
      const { reservationId, amounts } = said;
      const from = reservationId === undefined ? {} : { reservation_id: reservationId };
      return { ...printNumbered(said), ...from, amounts };
    }
    case "result": {
      const { value, streamed, summary } = said;
      return {
        ...printNumbered(said),
        ...(value && { result: value.result }),
        ...(streamed && { result_id: streamed.resultId, result_size: streamed.bytes }),
        ...(summary !== undefined && { summary }),
      };
    }
    case "error":
      return {
        ...printNumbered(said),
        ...printFailure(said.error),
        ...(said.status === "timed_out" && { final_status: said.status }),
      };
    case "authorize":
      return { ...printRequest(said), capability: said.capability, target: said.target };
    case "reserve":
    case "settle":
      return {
        ...printRequest(said),
        reservation_id: said.reservationId,
        amounts: said.amounts,
      };
    case "delegate": {
      const { delegateId, agent, input, leaseRequest, expiresAt } = said;
      return {
        ...printRequest(said),
        ...printNumbered(said),
        delegate_id: delegateId,
        agent,
        input,
        ...(leaseRequest && { lease_request: leaseRequest }),
        ...(expiresAt !== undefined && { lease_constraints: { expires_at: expiresAt } }),
      };
    }
    case "ask": {
      const { key, prompt, choices, schema, timeoutSeconds: timeout_seconds } = said;
      return {
        ...printRequest(said),
        ...present({ key, prompt, choices, schema, timeout_seconds }),
      };
    }
    case "request_scope": {
      const { key, reason, mode } = said;
      return {
        ...printRequest(said),
        ...present({ key, reason, mode }),
        ...present({ read_patterns: said.readPatterns, write_prefix: said.writePrefix }),
        ...present({ ttl_seconds: said.ttlSeconds, timeout_seconds: said.timeoutSeconds }),
      };
    }
    case "withdraw":
      return { ...printRequest(said), key: said.key };
    case "await":
      return { ...printRequest(said), child_job_id: said.childId };
    case "rotate": {
      const { credentialId, value, handle } = said;
      return {
        ...printRequest(said),
        credential_id: credentialId,
        value,
        ...(handle !== undefined && { handle }),
      };
    }
    case "cancel_child": {
      const { childId, reason } = said;
      return {
        ...printRequest(said),
        child_job_id: childId,
        ...(reason !== undefined && { reason }),
      };
    }
    case "leave":
      return {};
  }
}

/** JSON has no undefined. */
function present(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

export function printPersonAnswered(said: PersonAnswered): JsonObject {
  const { questionId, answer, answeredAtMs } = said;
  return {
    question_id: questionId,
    answer,
    answered_at: new Date(answeredAtMs).toISOString(),
  };
}

export function readPersonAnswered(value: unknown): Read<PersonAnswered> {
  const object = isObject(value) ? value : {};
  const fields = new Fields(object, "value");
  return fields.done({
    questionId: fields.text("question_id"),
    answer: object["answer"],
    answeredAtMs: fields.time("answered_at") ?? 0,
  });
}

function printHeld({ jobId, attempt }: Held): JsonObject {
  return { job_id: jobId, attempt };
}

function printNumbered(said: Numbered): JsonObject {
  return { ...printHeld(said), worker_seq: said.workerSequence };
}

function printRequest(said: Request): JsonObject {
  return { request_id: said.requestId, ...printHeld(said) };
}

export function readToWorker(type: string, payload: JsonObject): Read<ToWorker> {
  const fields = new Fields(payload, "payload");
  const name = type.slice(prefix.length);
  switch (name) {
    case "welcome":
      return fields.done({
        type: "welcome",
        jobs: readList(fields, "jobs", limits.heldMax, readVerdict),
        unacknowledgedMax: fields.optionalInteger("unacknowledged_max", { min: 1 }) ?? 1,
        graceMs: (fields.optionalInteger("grace_sec", { min: 0 }) ?? 0) * 1_000,
      });
    case "refused":
      return fields.done({
        type: "refused",
        // One that is newer than we are is as good a reason as any.
        code: codes.find((code) => code === fields.any("code")) ?? "not_allowed",
        message: fields.words("message") ?? "refused",
      });
    case "job":
      return fields.done({ type: "job", ...readJob(fields, payload) });
    case "ack":
      return fields.done({ type: "ack", ...readNumbered(fields) });
    case "invalid":
      return fields.done({
        type: "invalid",
        ...readNumbered(fields),
        error: readFailure(fields.any("error")),
      });
    case "answer": {
      const error = fields.any("error");
      return fields.done({
        type: "answer",
        requestId: fields.text("request_id"),
        ...(error === undefined ? { value: payload["value"] } : { error: readFailure(error) }),
      });
    }
    case "cancel":
      return fields.done({
        type: "cancel",
        ...readHeld(fields),
        reason: fields.words("reason") ?? "",
      });
    case "drop":
      return fields.done({ type: "drop", ...readHeld(fields) });
    default:
      return { problem: { path: "type", message: `a runtime cannot say ${name.slice(0, 50)}` } };
  }
}

const codes: readonly RefusedCode[] = ["malformed", "not_allowed", "superseded", "limit_reached"];

function readVerdict(fields: Fields): Verdict {
  const held = readHeld(fields);
  const workerSequence = fields.optionalInteger("worker_seq", { min: 0 }) ?? 0;
  return fields.any("verdict") === "continue"
    ? { ...held, verdict: "continue", workerSequence }
    : { ...held, verdict: "drop" };
}

function readJob(fields: Fields, payload: JsonObject): Omit<JobFrame, "type"> {
  return {
    ...readHeld(fields),
    agent: fields.text("agent"),
    input: payload["input"] ?? null,
    principal: fields.text("principal"),
    sessionId: fields.optionalText("session_id"),
    contextId: fields.optionalText("context_id"),
    traceId: fields.text("trace_id"),
    trace: readTraceHeaders(fields.any("trace_context")),
    parentId: fields.optionalText("parent_job_id"),
    lease: readLease(fields, "lease") ?? {},
    expiresAt: fields.optionalInside("lease_constraints")?.optionalText("expires_at"),
    budget: readNumbers(fields.object("budget") ?? {}),
    deadline: fields.optionalText("deadline"),
    credentials: readCredentials(fields.any("credentials")),
    chunk: readChunk(fields),
  };
}

function readChunk(fields: Fields): ChunkSize | undefined {
  const chunk = fields.optionalInside("chunk");
  const bytesMax = chunk?.optionalInteger("bytes_max", { min: 1 });
  const printedBytesMax = chunk?.optionalInteger("printed_bytes_max", { min: 1 });
  if (bytesMax === undefined || printedBytesMax === undefined) return undefined;
  return { bytesMax, printedBytesMax };
}

/** Its shape; what may stand in one is decided elsewhere. */
function readLease(fields: Fields, name: string): Lease | undefined {
  const object = fields.object(name);
  if (!object || isLease(object)) return object;
  fields.note(name, "an object with lists of texts");
  return undefined;
}

function isLease(object: JsonObject): object is Lease {
  return Object.values(object).every(
    (list) => Array.isArray(list) && list.every((each) => typeof each === "string"),
  );
}

function readNumbers(object: JsonObject): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, value]) =>
      typeof value === "number" ? [[name, value] as const] : [],
    ),
  );
}

export function printToWorker(said: ToWorker): JsonObject {
  switch (said.type) {
    case "welcome":
      return {
        jobs: said.jobs.map((verdict) => ({
          ...printHeld(verdict),
          verdict: verdict.verdict,
          ...(verdict.verdict === "continue" && { worker_seq: verdict.workerSequence }),
        })),
        unacknowledged_max: said.unacknowledgedMax,
        grace_sec: Math.floor(said.graceMs / 1_000),
      };
    case "refused":
      return { code: said.code, message: said.message };
    case "job": {
      const { type: _, jobId, attempt, sessionId, contextId, traceId, ...others } = said;
      const { parentId, expiresAt, ...rest } = others;
      const { deadline, credentials, trace, chunk, ...more } = rest;
      return {
        job_id: jobId,
        attempt,
        ...(sessionId !== undefined && { session_id: sessionId }),
        ...(contextId !== undefined && { context_id: contextId }),
        trace_id: traceId,
        ...(trace && { trace_context: trace }),
        ...(parentId !== undefined && { parent_job_id: parentId }),
        ...more,
        ...(expiresAt !== undefined && { lease_constraints: { expires_at: expiresAt } }),
        ...(deadline !== undefined && { deadline }),
        ...(credentials && { credentials: credentials.map(printCredential) }),
        ...(chunk && {
          chunk: { bytes_max: chunk.bytesMax, printed_bytes_max: chunk.printedBytesMax },
        }),
      };
    }
    case "ack":
      return printNumbered(said);
    case "invalid":
      return { ...printNumbered(said), error: printFailure(said.error) };
    case "answer": {
      const { requestId, value, error } = said;
      return error
        ? { request_id: requestId, error: printFailure(error) }
        : { request_id: requestId, ...(value !== undefined && { value }) };
    }
    case "cancel":
      return { ...printHeld(said), reason: said.reason };
    case "drop":
      return printHeld(said);
  }
}

/** Codes travel in ARCP's words, as the rest of a session does. Both sides have ours. */
function printFailure(error: ReceivedError): JsonObject {
  return printError(withArcpCode(error));
}

function readFailure(payload: unknown): ReceivedError {
  return withOwnCode(readError(payload));
}
