/** Names that vendors give, and what an envelope carries for them. */
import { isObject, type JsonObject } from "./fields.ts";
import { limits } from "./limits.ts";

const nameForm = /^x-vendor(?:\.[a-z0-9_-]+){2,}$/;
const kindForm = /^x-vendor\.[a-z0-9_.-]+$/;

/** Of a message type, a key of extensions or a capability (ARCP-189). */
export function isVendorName(text: string): boolean {
  return text.length <= limits.nameLengthMax && nameForm.test(text);
}

export function isVendorKind(text: string): boolean {
  return text.length <= limits.nameLengthMax && kindForm.test(text);
}

/** What of these extensions may be sent (ARCP-190): vendor keys, and `optional` if it is true or false. */
export function sendableExtensions(extensions: JsonObject | undefined): JsonObject | undefined {
  if (!extensions) return undefined;
  const entries = Object.entries(extensions);
  const kept = entries.filter(([key, value]) =>
    key === "optional" ? typeof value === "boolean" : isVendorName(key) && value !== undefined,
  );
  if (kept.length === 0) return undefined;
  return kept.length === entries.length ? extensions : Object.fromEntries(kept);
}

/** Whether who does not know this message may drop it without a word (ARCP-191). */
export function isOptional(extensions: JsonObject | undefined): boolean {
  return isObject(extensions) && extensions["optional"] === true;
}
