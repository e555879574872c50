/**
 * What events say, by kind. What we send is checked against the table of the protocol and refused if it is
 * not so (ARCP-121); what others send is passed on as it is, with a view of it in which their spellings are
 * one (ARCP-122).
 */
import { type Chunk, decodedBytes } from "./chunks.ts";
import { errorCodes, isErrorCode, type ReceivedError, readError } from "./errors.ts";
import { isInteger, isObject, type JsonObject, type Problem, problemAt } from "./fields.ts";
import { type LeaseShape, readAnyLease, readLease } from "./parts.ts";
import { isVendorKind } from "./vendor.ts";

export const kinds = [
  "log",
  "thought",
  "tool_call",
  "tool_result",
  "status",
  "metric",
  "artifact_ref",
  "delegate",
  "progress",
  "result_chunk",
] as const;

export type Kind = (typeof kinds)[number];

export const logLevels = ["trace", "debug", "info", "warn", "error", "critical"] as const;
export type LogLevel = (typeof logLevels)[number];

export function isKind(kind: string): kind is Kind {
  return kinds.some((each) => each === kind);
}

/** Whether we may send it at all: a peer's schema admits no others. */
export function isSendableKind(kind: string): boolean {
  return isKind(kind) || isVendorKind(kind);
}

/** What is wrong with a body that is to be sent, if anything. Fields beyond the table are the agent's own. */
export function checkBody(kind: string, body: unknown): Problem | undefined {
  if (isVendorKind(kind)) return undefined;
  if (!isKind(kind)) {
    return problemAt("kind", "a kind of the protocol, or begin with x-vendor. and a name");
  }
  if (!isObject(body)) return problemAt("body", "an object");
  for (const [name, expected] of rows.get(kind) ?? []) {
    const value = body[name];
    const isFine = value === undefined ? expected.isOptional : expected.isRight(value);
    if (!isFine) return problemAt(`body.${name}`, expected.words);
  }
  return checkMore(kind, body);
}

type Expected = {
  readonly isOptional: boolean;
  readonly words: string;
  readonly isRight: (value: unknown) => boolean;
};

const text = required("a text", (value) => typeof value === "string");
const name = required(
  "a text that is not empty",
  (value) => typeof value === "string" && value !== "",
);
const count = required("an integer, 0 or more", (value) => isInteger(value) && value >= 0);
const finite = required("a finite number", Number.isFinite);
const amount = required(
  "a number, 0 or more",
  (value) => Number.isFinite(value) && Number(value) >= 0,
);
const object = required("an object", isObject);
const anything = optional(required("anything", () => true));
const lease = required("an object of lists of texts", (value) => !readLease(value, "").problem);

const table: Readonly<Record<Kind, Readonly<Record<string, Expected>>>> = {
  log: {
    level: required(`one of ${logLevels.join(", ")}`, isLogLevel),
    message: text,
    attributes: optional(object),
  },
  thought: { text },
  tool_call: { tool: name, args: optional(object), call_id: name },
  tool_result: { call_id: name, result: anything, error: optional(object) },
  status: { phase: name, message: optional(text) },
  metric: { name, value: finite, unit: optional(name), dimensions: optional(object) },
  artifact_ref: {
    uri: name,
    content_type: name,
    byte_size: optional(count),
    sha256: optional(required("64 hex digits", isSha256)),
  },
  delegate: {
    delegate_id: name,
    agent: name,
    input: anything,
    lease_request: optional(lease),
    lease_constraints: optional(object),
    child_job_id: optional(name),
  },
  progress: {
    current: amount,
    total: optional(amount),
    units: optional(text),
    message: optional(text),
  },
  result_chunk: {
    result_id: name,
    chunk_seq: count,
    data: text,
    encoding: required("utf8 or base64", (value) => value === "utf8" || value === "base64"),
    more: required("true or false", (value) => typeof value === "boolean"),
  },
};

/** The same as pairs, made once: each word that is said goes through those of its kind. */
const rows: ReadonlyMap<string, readonly (readonly [string, Expected])[]> = new Map(
  Object.entries(table).map(([kind, fields]) => [kind, Object.entries(fields)]),
);

/** What no single field can say. */
function checkMore(kind: Kind, body: JsonObject): Problem | undefined {
  if (kind === "tool_result") return checkToolResult(body);
  const { data, encoding } = body;
  if (kind !== "result_chunk" || encoding !== "base64" || typeof data !== "string")
    return undefined;
  return decodedBytes(data, "base64") === undefined ? problemAt("body.data", "base64") : undefined;
}

/** Exactly one of the two; a tool without a value has the result null (ARCP-123). */
function checkToolResult({ result, error }: JsonObject): Problem | undefined {
  if ((result === undefined) === (error === undefined)) {
    return problemAt("body", "an object with either result or error");
  }
  if (!isObject(error)) return undefined;
  const { code, message, retryable, details } = error;
  if (!isErrorCode(code)) return problemAt("body.error.code", "a code of the protocol");
  if (!name.isRight(message)) return problemAt("body.error.message", name.words);
  const forced =
    errorCodes[code] === "always" ? true : errorCodes[code] === "never" ? false : retryable;
  if (typeof retryable !== "boolean" || retryable !== forced) {
    return problemAt("body.error.retryable", "true or false, as its code allows");
  }
  const isFine = details === undefined || isObject(details);
  return isFine ? undefined : problemAt("body.error.details", object.words);
}

/** Sent as it is, but worth a line in the log (ARCP-121). */
export function isBeyondTotal(body: JsonObject): boolean {
  const { current, total } = body;
  return typeof current === "number" && typeof total === "number" && current > total;
}

/** An event in one spelling. */
export type BodyView =
  | {
      readonly kind: "log";
      readonly level: LogLevel;
      readonly message: string;
      readonly attributes: JsonObject | undefined;
    }
  | { readonly kind: "thought"; readonly text: string }
  | {
      readonly kind: "tool_call";
      readonly tool: string;
      readonly args: JsonObject | undefined;
      readonly callId: string;
    }
  | {
      readonly kind: "tool_result";
      readonly callId: string;
      /** Null where there is an error. */
      readonly result: unknown;
      readonly error: ReceivedError | undefined;
    }
  | {
      readonly kind: "status";
      readonly phase: string;
      readonly message: string | undefined;
      /** Whatever else it says. */
      readonly details: JsonObject;
    }
  | {
      readonly kind: "metric";
      readonly name: string;
      readonly value: number;
      readonly unit: string | undefined;
      readonly dimensions: JsonObject | undefined;
    }
  | {
      readonly kind: "artifact_ref";
      readonly uri: string;
      readonly contentType: string | undefined;
      readonly byteSize: number | undefined;
      readonly sha256: string | undefined;
      readonly summary: string | undefined;
    }
  | {
      readonly kind: "delegate";
      readonly delegateId: string | undefined;
      readonly agent: string;
      readonly input: unknown;
      readonly leaseRequest: LeaseShape;
      readonly childJobId: string | undefined;
    }
  | {
      readonly kind: "progress";
      readonly current: number;
      readonly total: number | undefined;
      readonly units: string | undefined;
      readonly message: string | undefined;
    }
  | ({ readonly kind: "result_chunk" } & Chunk);

/** Undefined if there is no such view: a kind of a vendor, a new one, or a body that nobody understands. */
export function normaliseBody(kind: string, body: unknown): BodyView | undefined {
  return isKind(kind) && isObject(body) ? views[kind](body) : undefined;
}

const views: Readonly<Record<Kind, (body: JsonObject) => BodyView | undefined>> = {
  log: (body) => {
    const message = textOf(body["message"]);
    if (message === undefined) return undefined;
    const attributes = objectOf(body["attributes"]) ?? objectOf(body["fields"]);
    return { kind: "log", level: levelOf(body["level"]), message, attributes };
  },
  thought: (body) => {
    const said = textOf(body["text"]);
    return said === undefined ? undefined : { kind: "thought", text: said };
  },
  tool_call: (body) => {
    const tool = textOf(body["tool"]) ?? textOf(body["name"]);
    const callId = textOf(body["call_id"]) ?? textOf(body["tool_call_id"]);
    if (tool === undefined || callId === undefined) return undefined;
    const args = objectOf(body["args"]) ?? objectOf(body["arguments"]);
    return { kind: "tool_call", tool, args, callId };
  },
  tool_result: (body) => {
    const callId = textOf(body["call_id"]) ?? textOf(body["tool_call_id"]);
    if (callId === undefined) return undefined;
    const given = body["error"] ?? undefined;
    const error = given === undefined ? undefined : readError(given);
    const result = error ? null : (body["result"] ?? body["output"] ?? null);
    return { kind: "tool_result", callId, result, error };
  },
  status: (body) => {
    const phase = textOf(body["phase"]);
    if (phase === undefined) return undefined;
    const { phase: _phase, message, details, ...rest } = body;
    return {
      kind: "status",
      phase,
      message: textOf(message),
      details: isObject(details) ? { ...details, ...rest } : rest,
    };
  },
  metric: (body) => {
    const { name: called, value, unit } = body;
    if (typeof called !== "string" || typeof value !== "number") return undefined;
    const dimensions =
      objectOf(body["dimensions"]) ?? objectOf(body["dims"]) ?? objectOf(body["attributes"]);
    return { kind: "metric", name: called, value, unit: textOf(unit), dimensions };
  },
  artifact_ref: (body) => {
    const uri = textOf(body["uri"]) ?? textOf(body["artifact_id"]);
    if (uri === undefined) return undefined;
    return {
      kind: "artifact_ref",
      uri,
      contentType: textOf(body["content_type"]) ?? textOf(body["media_type"]),
      byteSize: numberOf(body["byte_size"]) ?? numberOf(body["size_bytes"]),
      sha256: textOf(body["sha256"]),
      summary: textOf(body["summary"]),
    };
  },
  delegate: (body) => {
    const agent = textOf(body["agent"]);
    if (agent === undefined) return undefined;
    return {
      kind: "delegate",
      delegateId: textOf(body["delegate_id"]),
      agent,
      input: body["input"] ?? null,
      leaseRequest: readAnyLease(body["lease_request"] ?? body["lease"]),
      childJobId: textOf(body["child_job_id"]),
    };
  },
  progress: (body) => {
    const current = numberOf(body["current"]);
    if (current === undefined) return undefined;
    const [units, message] = [textOf(body["units"]), textOf(body["message"])];
    return { kind: "progress", current, total: numberOf(body["total"]), units, message };
  },
  result_chunk: (body) => {
    const { chunk_seq: chunkSeq, more } = body;
    const resultId = textOf(body["result_id"]);
    const data = textOf(body["data"]);
    const encoding = body["encoding"] ?? "utf8";
    if (resultId === undefined || data === undefined || typeof more !== "boolean") return undefined;
    if (!isInteger(chunkSeq) || (encoding !== "utf8" && encoding !== "base64")) return undefined;
    return { kind: "result_chunk", resultId, chunkSeq, data, encoding, more };
  },
};

function levelOf(value: unknown): LogLevel {
  const level = typeof value === "string" ? value.toLowerCase() : "";
  if (level === "warning") return "warn";
  if (level === "fatal") return "critical";
  return isLogLevel(level) ? level : "info";
}

function isLogLevel(value: unknown): value is LogLevel {
  return logLevels.some((each) => each === value);
}

function isSha256(value: unknown): boolean {
  return typeof value === "string" && /^[0-9a-fA-F]{64}$/.test(value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function objectOf(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

function required(words: string, isRight: (value: unknown) => boolean): Expected {
  return { isOptional: false, words, isRight };
}

function optional(expected: Expected): Expected {
  return { ...expected, isOptional: true };
}
