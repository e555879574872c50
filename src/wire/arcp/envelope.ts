/**
 * The envelope around every message. Read by hand, because each frame passes here. Liberal in: unknown fields
 * are ignored, `null` is nothing, ids are opaque. Strict out, in one order of fields.
 */
import {
  isDeeper,
  isInteger,
  isObject,
  type JsonObject,
  type Problem,
  problemAt,
} from "./fields.ts";
import { isId, isTraceId, traceContextFrom } from "./ids.ts";
import { limits } from "./limits.ts";
import { sendableExtensions } from "./vendor.ts";
import { protocolVersion } from "./version.ts";

export type Envelope = {
  readonly id: string;
  readonly type: string;
  readonly sessionId: string | undefined;
  readonly jobId: string | undefined;
  readonly eventSeq: number | undefined;
  /** 32 hex digits, whatever form it came in. */
  readonly traceId: string | undefined;
  /** Where the field held a whole traceparent. */
  readonly parentSpanId: string | undefined;
  readonly extensions: JsonObject | undefined;
  readonly payload: JsonObject;
};

export type EnvelopeProblem = Problem & {
  /** Another version of the protocol is not the same as nonsense: see ARCP-14. */
  readonly kind: "malformed" | "version";
};

export type ReadEnvelope =
  | { readonly envelope: Envelope; readonly problem?: never; readonly id?: never }
  | {
      readonly problem: EnvelopeProblem;
      /** If it could be read. */
      readonly id?: string;
      readonly envelope?: never;
    };

const none: JsonObject = Object.freeze({});

/** Never throws, whatever it is handed (ARCP-12). */
export function readEnvelope(value: unknown): ReadEnvelope {
  if (!isObject(value)) return failed(undefined, "frame", "a JSON object");
  const { arcp, id, type } = value;
  if (arcp !== protocolVersion) return failedVersion(id, arcp);
  if (!isId(id)) return failed(undefined, "id", idForm);
  if (!isId(type)) return failed(id, "type", idForm);
  const sessionId = value["session_id"] ?? undefined;
  if (sessionId !== undefined && !isId(sessionId)) return failed(id, "session_id", idForm);
  const jobId = value["job_id"] ?? undefined;
  if (jobId !== undefined && !isId(jobId)) return failed(id, "job_id", idForm);
  const eventSeq = value["event_seq"] ?? undefined;
  if (eventSeq !== undefined && !(isInteger(eventSeq) && eventSeq >= 1)) {
    return failed(id, "event_seq", "an integer, 1 or more");
  }
  const payload = value["payload"] ?? none;
  if (!isObject(payload)) return failed(id, "payload", "an object");
  const { extensions, trace_id } = value;
  const trace = typeof trace_id === "string" ? traceContextFrom(trace_id) : undefined;
  return {
    envelope: {
      id,
      type,
      sessionId,
      jobId,
      eventSeq,
      traceId: trace?.traceId,
      parentSpanId: trace?.parentSpanId,
      extensions: isSane(extensions) ? extensions : undefined,
      payload,
    },
  };
}

/** Extensions are passed on, so that they must be such as can be printed again. */
function isSane(extensions: unknown): extensions is JsonObject {
  return isObject(extensions) && !isDeeper(extensions, limits.depthMax);
}

/** What stands before the payload. */
export type FrameHead = {
  readonly id: string;
  readonly type: string;
  readonly sessionId?: string | undefined;
  readonly jobId?: string | undefined;
  readonly eventSeq?: number | undefined;
  readonly traceId?: string | undefined;
  readonly extensions?: JsonObject | undefined;
};

/** A frame as the object that a transport sends, its fields in order (ARCP-16). */
export function printEnvelope(head: FrameHead, payload: JsonObject): JsonObject {
  const { id, type, sessionId, jobId, eventSeq, traceId } = head;
  const extensions = sendableExtensions(head.extensions);
  return {
    arcp: protocolVersion,
    id,
    type,
    ...(sessionId !== undefined && { session_id: sessionId }),
    ...(jobId !== undefined && { job_id: jobId }),
    ...(eventSeq !== undefined && { event_seq: eventSeq }),
    ...(traceId !== undefined && isTraceId(traceId) && { trace_id: traceId }),
    ...(extensions && { extensions }),
    payload,
  };
}

/** The same as text, around a payload that was printed before: once, for however many sessions. */
export function printFrame(head: FrameHead, payloadText: string): string {
  const { id, eventSeq } = head;
  const number = eventSeq === undefined ? "" : `,"event_seq":${eventSeq}`;
  return `${start}${quote(id)}${beforeNumber(head)}${number}${afterNumber(head)}${payloadText}}`;
}

/** Frames of which one session may get thousands: they differ in number, payload and id, which is one of ours. */
export function framePrinter(
  shared: Omit<FrameHead, "id" | "eventSeq">,
): (id: string, eventSeq: number, payloadText: string) => string {
  const before = `${beforeNumber(shared)},"event_seq":`;
  const after = afterNumber(shared);
  return (id, eventSeq, payloadText) =>
    `${start}"${id}"${before}${eventSeq}${after}${payloadText}}`;
}

const start = `{"arcp":"${protocolVersion}","id":`;

function beforeNumber({ type, sessionId, jobId }: Omit<FrameHead, "id">): string {
  let text = `,"type":${quote(type)}`;
  if (sessionId !== undefined) text += `,"session_id":${quote(sessionId)}`;
  if (jobId !== undefined) text += `,"job_id":${quote(jobId)}`;
  return text;
}

function afterNumber({ traceId, ...head }: Omit<FrameHead, "id">): string {
  let text = "";
  if (traceId !== undefined && isTraceId(traceId)) text += `,"trace_id":"${traceId}"`;
  const extensions = head.extensions && sendableExtensions(head.extensions);
  if (extensions) text += `,"extensions":${JSON.stringify(extensions)}`;
  return `${text},"payload":`;
}

/** Nearly all of it is made of these, and needs no escapes. */
const plain = /^[\w.:@+-]*$/;

/** As JSON. */
export function quote(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text);
}

const idForm = `a text of 1 to ${limits.idLengthMax} characters`;

function failed(id: string | undefined, path: string, expectation: string): ReadEnvelope {
  const problem: EnvelopeProblem = { kind: "malformed", ...problemAt(path, expectation) };
  return id === undefined ? { problem } : { problem, id };
}

function failedVersion(id: unknown, version: unknown): ReadEnvelope {
  const kind = typeof version === "string" ? "version" : "malformed";
  const problem = { kind, ...problemAt("arcp", `"${protocolVersion}"`) } as const;
  return isId(id) ? { problem, id } : { problem };
}
