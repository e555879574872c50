/** What may stand in a field, whichever message it is in. */
import { randomBytes } from "node:crypto";
import type { Refusal } from "../../core/index.ts";
import { limits } from "./limits.ts";

export type Parsed<Value> =
  | { readonly value: Value; readonly refusal?: never }
  | { readonly refusal: Refusal };

/** What is wrong with a field, if anything. */
export type Problem = string | undefined;

/** 32 lower-case hex digits. */
export function newId(): string {
  return randomBytes(16).toString("hex");
}

/** Keys are for ids, and as long. */
export function keyProblem(field: string, key: string | undefined): Problem {
  return key === undefined ? undefined : name(field, key);
}

/** On the wire 0 and absent are the same. */
export function ttlMs(seconds: number, defaultSeconds: number): number {
  return (seconds === 0 ? defaultSeconds : seconds) * 1_000;
}

export function parse<Value>(problem: Problem, value: () => Value): Parsed<Value> {
  return problem === undefined ? { value: value() } : malformed(problem);
}

export function malformed(message: string): Parsed<never> {
  return { refusal: { code: "invalid_argument", message } };
}

export function taskAndAgent(request: {
  readonly taskId: string;
  readonly agentId: string;
}): Problem {
  return name("task_id", request.taskId) ?? name("agent_id", request.agentId);
}

export function name(field: string, value: string): Problem {
  if (value === "") return `${field} must not be empty`;
  return length(field, value, limits.nameBytesMax);
}

export function text(field: string, value: string): Problem {
  return length(field, value, limits.textBytesMax);
}

export function length(field: string, value: string, bytesMax: number): Problem {
  // No character takes more than three bytes for each of its UTF-16 units.
  if (value.length * 3 <= bytesMax || Buffer.byteLength(value) <= bytesMax) return undefined;
  return `${field} is longer than ${bytesMax} bytes`;
}

export function payload(field: string, bytes: Uint8Array, bytesMax: number): Problem {
  if (bytes.length <= bytesMax) return undefined;
  return `${field} has ${bytes.length} bytes, ${bytesMax} at most`;
}

export function toolNames(field: string, tools: readonly string[]): Problem {
  return (
    count(field, tools.length) ??
    first(tools, (tool) => length(`a name in ${field}`, tool, limits.nameBytesMax))
  );
}

export function count(field: string, items: number): Problem {
  return items <= limits.itemsMax ? undefined : `${field} has more than ${limits.itemsMax} items`;
}

export function first<Item>(items: Iterable<Item>, problemOf: (item: Item) => Problem): Problem {
  for (const item of items) {
    const problem = problemOf(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

export function bytesOf(texts: readonly string[]): number {
  return texts.reduce((total, text) => total + Buffer.byteLength(text), 0);
}
