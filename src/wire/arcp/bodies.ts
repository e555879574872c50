/**
 * What events say, by kind. What others send is passed on as it is, with a view of it in which their spellings
 * are one (ARCP-122); what we send, `body-rules.ts` checks.
 */
import { type Chunk, readChunk } from "../work/chunks.ts";
import { isLogLevel, type LogLevel } from "../work/log-levels.ts";
import { type ReceivedError, readError } from "./errors.ts";
import { isObject, type JsonObject } from "./fields.ts";
import { type LeaseShape, readAnyLease } from "./parts.ts";

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

export function isKind(kind: string): kind is Kind {
  return kinds.some((each) => each === kind);
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
    const chunk = readChunk({ ...body, encoding: body["encoding"] ?? "utf8" });
    return chunk && { kind: "result_chunk", ...chunk };
  },
};

function levelOf(value: unknown): LogLevel {
  const level = typeof value === "string" ? value.toLowerCase() : "";
  if (level === "warning") return "warn";
  if (level === "fatal") return "critical";
  return isLogLevel(level) ? level : "info";
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
