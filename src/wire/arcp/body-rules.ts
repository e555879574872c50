/**
 * What events may say, by kind: what we send is checked against the table of the protocol, and refused if it is
 * not so (ARCP-121). Apart from `bodies.ts`, because who only reads need not bring the table along.
 */
import {
  amount,
  type BodyRows,
  bodies,
  checkRows,
  checkWhole,
  count,
  name,
  optional,
  required,
  ruleTable,
  text,
} from "../work/events.ts";
import { isKind, type Kind } from "./bodies.ts";
import { errorCodes, isErrorCode } from "./errors.ts";
import { isObject, type JsonObject, type Problem, problemAt } from "./fields.ts";
import { readLease } from "./parts.ts";
import { isVendorKind } from "./vendor.ts";

/** What is wrong with a body that is to be sent, if anything. Fields beyond the table are the agent's own. */
export function checkBody(kind: string, body: unknown): Problem | undefined {
  if (isVendorKind(kind)) return undefined;
  if (!isKind(kind)) {
    return problemAt("kind", "a kind of the protocol, or begin with x-vendor. and a name");
  }
  if (!isObject(body)) return problemAt("body", "an object");
  const problem = checkRows(rules.get(kind) ?? [], body) ?? checkWhole(kind, body);
  return problem ?? (kind === "tool_result" ? checkToolError(body) : undefined);
}

const { log, thought, tool_call, tool_result, status, metric, delegate, result_chunk } = bodies;

/** Kinds that we and the protocol have in common have one rule. */
const table: Readonly<Record<Kind, BodyRows>> = {
  log,
  thought,
  tool_call,
  tool_result,
  status,
  metric,
  artifact_ref: {
    uri: name,
    content_type: name,
    byte_size: optional(count),
    // The protocol names no format: hexadecimal, Base64 and prefixed forms are all in use.
    sha256: optional(text),
  },
  delegate: {
    ...delegate,
    lease_request: optional(
      required("an object of lists of texts", (value) => !readLease(value, "").problem),
    ),
  },
  progress: { ...bodies.progress, current: amount },
  result_chunk,
};

const rules = ruleTable(table);

/** What a tool's error says is told with a code of the protocol (ARCP-123). */
function checkToolError({ error }: JsonObject): Problem | undefined {
  if (!isObject(error)) return undefined;
  const { code, retryable } = error;
  if (!isErrorCode(code)) return problemAt("body.error.code", "a code of the protocol");
  const forced =
    errorCodes[code] === "always" ? true : errorCodes[code] === "never" ? false : retryable;
  if (typeof retryable === "boolean" && retryable === forced) return undefined;
  const wanted = typeof forced === "boolean" ? `${forced} for ${code}` : "true or false";
  return problemAt("body.error.retryable", wanted);
}

/** Sent as it is, but worth a line in the log (ARCP-121). */
export function isBeyondTotal(body: JsonObject): boolean {
  const { current, total } = body;
  return typeof current === "number" && typeof total === "number" && current > total;
}
