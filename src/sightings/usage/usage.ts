/** What an agent has used up, by the records of its own program. */
import { isObject } from "../disk.ts";
import type { Tokens } from "../types.ts";

export type Usage = {
  /** Input is all that the model read, whether from a cache or not. */
  readonly tokens: Tokens;
  /** Absent where the program does not know it: a price of nothing is none that was asked for. */
  readonly costUsd?: number;
};

/** Undefined unless all of them are whole and not negative: no number is better than a wrong one. */
export function sumOf(values: readonly unknown[]): number | undefined {
  let sum = 0;
  for (const value of values) {
    const count = value ?? 0;
    if (typeof count !== "number" || !Number.isSafeInteger(count) || count < 0) return undefined;
    sum += count;
  }
  return Number.isSafeInteger(sum) ? sum : undefined;
}

export function usageOf(
  input: number | undefined,
  output: number | undefined,
  costUsd?: unknown,
): Usage | undefined {
  if (input === undefined || output === undefined || input + output === 0) return undefined;
  const isPriced = typeof costUsd === "number" && Number.isFinite(costUsd) && costUsd > 0;
  return { tokens: { input, output }, ...(isPriced ? { costUsd } : {}) };
}

/** A member of an object, or an empty one. */
export function objectIn(value: unknown, name: string): Readonly<Record<string, unknown>> {
  const member = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return isObject(member) ? member : {};
}
