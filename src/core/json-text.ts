declare const brand: unique symbol;

/**
 * Valid JSON as text. The log stores the body of a job's event as it is, so one that is not JSON would make the job
 * unreadable. Only the functions below make this type, and `events.ts`, for a body that the log has stored; checking each
 * body again would cost 5 % of an event.
 */
export type JsonText = string & { readonly [brand]: "JsonText" };

/** Throws for a value that JSON cannot express: a cycle, a bigint, a function. */
export function printJson(value: unknown): JsonText {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError("a value that JSON cannot express");
  return text as JsonText;
}

/** Whether a text is valid JSON, which has no `Infinity` and no `NaN`. */
export function isJson(text: string): text is JsonText {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
