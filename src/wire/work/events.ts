/**
 * The events of a job in our own vocabulary, which belongs to no protocol. Each door translates them; kinds that are
 * not in this table are carried unchanged. Keys of bodies are snake case, as wire data is everywhere here.
 */
import { decodedBytes } from "./chunks.ts";
import { isInteger, isObject, type JsonObject, type Problem, problemAt } from "./json.ts";
import { limits } from "./limits.ts";
import { isLogLevel, logLevels } from "./log-levels.ts";

export const eventKinds = [
  /** How far the job is: words, or numbers with words. */
  "progress",
  /** More text of an answer that is being written. */
  "text_delta",
  /** Something that the job made, by reference. */
  "artifact",
  /** Something went wrong that does not end the job. */
  "error",
  /** A person is asked, and the job waits. */
  "question",
  "scope_request",
  /** A question or a request for a scope was answered, or closed without an answer. */
  "question_closed",
  "log",
  "thought",
  "tool_call",
  "tool_result",
  "status",
  "metric",
  /** Another job is submitted on behalf of this one. */
  "delegate",
  /** A piece of a result that is too long for one message. */
  "result_chunk",
] as const;

export type EventKind = (typeof eventKinds)[number];

/**
 * Kinds that tell of a job's questions, in our own words and as ARCP clients see them. Only the core emits them, when
 * there is such a question.
 */
const kindsOfQuestions: ReadonlySet<string> = new Set(
  ["question", "scope_request", "question_closed"].flatMap((kind) => [
    kind,
    `x-vendor.runctx.${kind}`,
  ]),
);

/** Whether followers of a job would take an event of this kind for news of a question. */
export function tellsOfQuestion(kind: string): boolean {
  return kindsOfQuestions.has(kind.toLowerCase());
}

/** What is expected of one member of a body. */
export type Expected = {
  readonly isOptional: boolean;
  readonly words: string;
  readonly isRight: (value: unknown) => boolean;
};

export function required(words: string, isRight: (value: unknown) => boolean): Expected {
  return { isOptional: false, words, isRight };
}

export function optional(expected: Expected): Expected {
  return { ...expected, isOptional: true };
}

export const text: Expected = required("a text", (value) => typeof value === "string");
export const name: Expected = required(
  "a text that is not empty",
  (value) => typeof value === "string" && value !== "",
);
export const count: Expected = required(
  "an integer, 0 or more",
  (value) => isInteger(value) && value >= 0,
);
export const object: Expected = required("an object", isObject);
const finite = required("a finite number", Number.isFinite);
export const amount: Expected = required(
  "a number, 0 or more",
  (value) => Number.isFinite(value) && Number(value) >= 0,
);
const anything = optional(required("anything", () => true));
const grant = required("an object of lists of texts", isGrantShaped);

export type BodyRows = Readonly<Record<string, Expected>>;

/** Members beyond these are the agent's own. */
export const bodies: Readonly<Record<EventKind, BodyRows>> = {
  progress: {
    current: optional(amount),
    total: optional(amount),
    units: optional(text),
    message: optional(text),
  },
  text_delta: { text },
  artifact: {
    name: optional(text),
    uri: name,
    mime_type: optional(text),
    size_bytes: optional(count),
    sha256: optional(text),
  },
  error: { message: text, code: optional(required("a text or null", isTextOrNull)) },
  question: { question_id: name, prompt: text },
  scope_request: { request_id: name, reason: text },
  question_closed: { question_id: name, outcome: name, by: optional(text) },
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
  delegate: {
    delegate_id: name,
    agent: name,
    input: anything,
    lease_request: optional(grant),
    lease_constraints: optional(object),
    child_job_id: optional(name),
  },
  result_chunk: {
    result_id: name,
    chunk_seq: count,
    data: text,
    encoding: required("utf8 or base64", (value) => value === "utf8" || value === "base64"),
    more: required("true or false", (value) => typeof value === "boolean"),
  },
};

/** The rules of each event kind as `[field, rule]` pairs. Built once, because every event is checked. */
export type RuleTable = ReadonlyMap<string, readonly (readonly [string, Expected])[]>;

export function ruleTable(table: Readonly<Record<string, BodyRows>>): RuleTable {
  return new Map(Object.entries(table).map(([kind, rows]) => [kind, Object.entries(rows)]));
}

const rules = ruleTable(bodies);

/** What is wrong with an event, if anything. */
export function checkEvent(kind: string, body: unknown): Problem | undefined {
  if (kind === "" || kind.length > limits.kindLengthMax) {
    return problemAt("kind", `a text of 1 to ${limits.kindLengthMax} characters`);
  }
  const rows = rules.get(kind);
  if (!rows) return undefined;
  if (!isObject(body)) return problemAt("body", "an object");
  return checkRows(rows, body) ?? checkWhole(kind, body);
}

export function checkRows(
  rows: readonly (readonly [string, Expected])[],
  body: JsonObject,
): Problem | undefined {
  for (const [member, expected] of rows) {
    const value = body[member];
    const isFine = value === undefined ? expected.isOptional : expected.isRight(value);
    if (!isFine) return problemAt(`body.${member}`, expected.words);
  }
  return undefined;
}

/** What no single member can say. */
export function checkWhole(kind: string, body: JsonObject): Problem | undefined {
  switch (kind) {
    case "progress":
      return body["current"] === undefined && body["message"] === undefined
        ? problemAt("body", "an object with current, message or both")
        : undefined;
    case "tool_result":
      return checkToolResult(body);
    case "result_chunk": {
      const { data, encoding } = body;
      const isBase64 = encoding === "base64" && typeof data === "string";
      const isBroken = isBase64 && decodedBytes(data, "base64") === undefined;
      return isBroken ? problemAt("body.data", "base64") : undefined;
    }
    default:
      return undefined;
  }
}

/** Exactly one of the two; a tool without a value has the result null. */
function checkToolResult({ result, error }: JsonObject): Problem | undefined {
  if ((result === undefined) === (error === undefined)) {
    return problemAt("body", "an object with either result or error");
  }
  if (!isObject(error)) return undefined;
  const { code, message, retryable, details } = error;
  if (!name.isRight(code)) return problemAt("body.error.code", name.words);
  if (!name.isRight(message)) return problemAt("body.error.message", name.words);
  if (typeof retryable !== "boolean") return problemAt("body.error.retryable", "true or false");
  const isFine = details === undefined || isObject(details);
  return isFine ? undefined : problemAt("body.error.details", object.words);
}

function isTextOrNull(value: unknown): boolean {
  return value === null || typeof value === "string";
}

function isGrantShaped(value: unknown): boolean {
  if (!isObject(value)) return false;
  return Object.values(value).every(
    (list) => Array.isArray(list) && list.every((each) => typeof each === "string"),
  );
}
