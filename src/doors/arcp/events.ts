/**
 * Translates events of jobs to ARCP's (run-context §5.2). Events of kinds that both vocabularies have are printed as
 * they were stored, without parsing the body, because there are thousands of them.
 */
import { arcpCodeOf, isObject, type JsonObject, printError } from "../../wire/arcp/index.ts";

export type ArcpEvent = {
  readonly kind: string;
  /** JSON. */
  readonly body: string;
};

/**
 * Kinds that are the same in both vocabularies. `artifact_ref` is ARCP's own; agents that use ARCP's names store it.
 */
const shared: ReadonlySet<string> = new Set([
  "log",
  "thought",
  "tool_call",
  "status",
  "metric",
  "delegate",
  "result_chunk",
  "artifact_ref",
]);

const vendorPrefix = "x-vendor.";

/** Events that ARCP has no kind for. */
const ownPrefix = "x-vendor.runctx.";

export function encodeEvent(kind: string, body: string): ArcpEvent {
  if (shared.has(kind) || kind.startsWith(vendorPrefix)) return { kind, body };
  switch (kind) {
    case "progress":
      // A member's name within a text would have its quotation marks escaped.
      return body.includes('"current":') ? { kind, body } : encodeProgress(JSON.parse(body));
    case "tool_result":
      return body.includes('"error":') ? encodeToolResult(body) : { kind, body };
    case "text_delta":
    case "question":
    case "scope_request":
    case "question_closed":
      return { kind: ownPrefix + kind, body };
    case "artifact":
      return encodeArtifact(JSON.parse(body));
    case "error":
      return encodeError(JSON.parse(body));
    default: {
      const name = kind.toLowerCase().replaceAll(/[^a-z0-9_.-]/g, "-");
      const payload = `{"kind":${JSON.stringify(kind)},"payload":${body}}`;
      return { kind: ownPrefix + name, body: payload };
    }
  }
}

/** Progress without a number: ARCP requires a number in `progress`. */
function encodeProgress({ message, ...rest }: JsonObject): ArcpEvent {
  const body = { phase: "progress", message, ...rest };
  return { kind: "status", body: JSON.stringify(body) };
}

/** The error of a tool has a code of the protocol (ARCP-123). */
function encodeToolResult(text: string): ArcpEvent {
  const body: unknown = JSON.parse(text);
  const error = isObject(body) ? body["error"] : undefined;
  if (!isObject(body) || !isObject(error)) return { kind: "tool_result", body: text };
  const { code, message, retryable, details } = error;
  const told = printError({
    code: arcpCodeOf(String(code)),
    message: String(message),
    retryable: retryable === true,
    ...(isObject(details) && { details }),
  });
  return { kind: "tool_result", body: JSON.stringify({ ...body, error: { ...error, ...told } }) };
}

function encodeArtifact({ mime_type, size_bytes, ...rest }: JsonObject): ArcpEvent {
  const body = {
    ...rest,
    content_type: mime_type || "application/octet-stream",
    ...(size_bytes !== undefined && { byte_size: size_bytes }),
  };
  return { kind: "artifact_ref", body: JSON.stringify(body) };
}

function encodeError({ message, code }: JsonObject): ArcpEvent {
  const body = {
    level: "error",
    message: message || "error",
    attributes: { code: code ?? null },
  };
  return { kind: "log", body: JSON.stringify(body) };
}
