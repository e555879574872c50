/** Checks for incoming JSON values, which describe a problem in one line. */
import { limits } from "./limits.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** One line under 300 characters that begins with the path. */
export type Problem = { readonly path: string; readonly message: string };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** Whether something is nested deeper than this many levels. Goes no deeper itself. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  const held: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return held.some((each) => isDeeper(each, levels - 1));
}

/** Whether it is nested deeper than readers must follow. Those whose JSON is short cannot be. */
export function isTooDeep(value: unknown, length: number): boolean {
  return length > limits.depthMax * 2 && isDeeper(value, limits.depthMax);
}

export function problemAt(path: string, expectation: string): Problem {
  const message = `${path} must be ${expectation}`;
  return { path, message: message.slice(0, limits.problemLengthMax - 1) };
}
