/** One text for values that are equal, whatever the order of their keys: what idempotency compares. */
import { isObject, type JsonObject } from "./fields.ts";

/**
 * Compact, keys by code unit. Recursive, like JSON.stringify: whoever read it from outside has bounded
 * its depth.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  const members = Object.keys(value)
    .toSorted()
    .filter((key) => value[key] !== undefined)
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  return `{${members.join(",")}}`;
}

/**
 * What two submits of one key must have in common (ARCP-94): everything but the key. Absent and null are the
 * same, for `input` and for every optional field.
 */
export function submitFingerprint(payload: JsonObject): string {
  const { idempotency_key: _key, ...rest } = payload;
  return canonicalJson(
    Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null)),
  );
}
