/**
 * What events may say, by kind: what we send is checked against the table of the protocol, and refused if it is
 * not so (ARCP-121). Apart from `bodies.ts`, because who only reads need not bring the table along.
 */
import { isKind, isLogLevel, type Kind, logLevels } from "./bodies.ts";
import { decodedBytes } from "./chunks.ts";
import { errorCodes, isErrorCode } from "./errors.ts";
import { isInteger, isObject, type JsonObject, type Problem, problemAt } from "./fields.ts";
import { readLease } from "./parts.ts";
import { isVendorKind } from "./vendor.ts";

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
    // The protocol names no format: hexadecimal, Base64 and prefixed forms are all in use.
    sha256: optional(text),
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

function required(words: string, isRight: (value: unknown) => boolean): Expected {
  return { isOptional: false, words, isRight };
}

function optional(expected: Expected): Expected {
  return { ...expected, isOptional: true };
}
