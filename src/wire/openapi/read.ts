/** What came in becomes the input of an operation, or the first thing that is wrong with it, in words. */
import type * as z from "zod";
import type { Input, OperationName } from "../api/index.ts";
import { hasBody, operations } from "./operations.ts";

export type Read<Value> =
  | { readonly value: Value; readonly problem?: never }
  | { readonly problem: string; readonly value?: never };

export function readInput<Name extends OperationName>(
  name: Name,
  given: unknown,
): Read<Input<Name>> {
  const read = operations[name].input.safeParse(given, { reportInput: true, error: inWords });
  if (read.success) return { value: read.data };
  const { issues } = read.error;
  // A name that was mistyped is also one that is missing: what is there is the better hint.
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  return { problem: issue ? printIssue(issue, name) : "cannot be read" };
}

function printIssue(issue: z.core.$ZodIssue, name: OperationName): string {
  // A list in a query is a repeated field, so the caller wrote no indexes: they are left out of the path.
  const path = hasBody(name) ? issue.path : issue.path.filter((part) => typeof part !== "number");
  const where = path.map((part) => shorten(String(part))).join(".");
  const what = isMissing(issue) ? "is required" : issue.message;
  return where === "" ? what : `${where}: ${what}`;
}

function isMissing({ code, input }: z.core.$ZodIssue): boolean {
  return input === undefined && (code === "invalid_type" || code === "invalid_value");
}

/** Where a schema does not say by itself what it wants. */
function inWords(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return `must be ${typeWords.get(issue.expected) ?? issue.expected}`;
    case "invalid_value":
      return `must be one of ${issue.values.join(", ")}`;
    case "invalid_format":
      return `must be ${issue.format}`;
    case "too_big":
      return `may have ${issue.maximum} ${issue.origin === "string" ? "characters" : "items"}`;
    case "too_small":
      return "must not be empty";
    case "unrecognized_keys":
      return `there is no field ${issue.keys.slice(0, 3).map(shorten).join(", ")}`;
    case "invalid_key":
      return `as a name ${issue.issues[0]?.message ?? "is not allowed"}`;
    default:
      return issue.message ?? "is not allowed";
  }
}

const typeWords: ReadonlyMap<string, string> = new Map([
  ["string", "a text"],
  ["boolean", "true or false"],
  ["array", "a list"],
  ["object", "an object"],
  ["record", "an object"],
]);

function shorten(text: string): string {
  return text.length <= 64 ? text : `${text.slice(0, 64)}…`;
}
