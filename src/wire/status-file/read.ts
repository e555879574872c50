/**
 * From the bytes of a file to a record, or to what is wrong with it. Nothing that is in the file comes out
 * in an error, but for the values that validation names.
 */
import { limits } from "./limits.ts";
import { exactDigits, parseExactly } from "./numbers.ts";
import type { StatusRecord } from "./record.ts";
import { findSyntaxProblem, printPlace } from "./syntax.ts";
import { isObject, validate } from "./validate.ts";

/** `unreadable` has one error, the reason in few words. */
export type Problem = {
  readonly kind: "invalid-json" | "invalid-status" | "unreadable";
  readonly errors: readonly string[];
};

export type Read =
  | { readonly record: StatusRecord; readonly problem?: never }
  | { readonly problem: Problem; readonly record?: never };

export type ReadOptions = {
  /** A file that is longer is not read. 1 MiB, if absent. */
  readonly fileBytesMax?: number | undefined;
};

export function readRecord(bytes: Uint8Array, options: ReadOptions = {}): Read {
  const read = readJson(bytes, options);
  if (read.problem) return read;
  const value = withUsualPid(read.value);
  const errors = validate(value);
  if (errors.length > 0) return { problem: { kind: "invalid-status", errors } };
  // Here bytes have become a record: whatever the type says has just been looked at.
  return { record: value as StatusRecord };
}

export type ReadJson =
  | { readonly value: unknown; readonly problem?: never }
  | { readonly problem: Problem };

/** The value in a file, which may be a record or not. */
export function readJson(
  bytes: Uint8Array,
  { fileBytesMax = limits.fileBytesMax }: ReadOptions = {},
): ReadJson {
  if (bytes.length > fileBytesMax) return unreadable("too large");
  const text = decode(bytes);
  if (text === undefined) return unreadable("not valid UTF-8");
  const read = parse(text);
  if (read.problem) return read;
  return isTooDeep(read.value, text) ? unreadable("too deeply nested") : read;
}

/** A byte order mark stays, and is an error further on. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

function parse(text: string): ReadJson {
  try {
    return { value: parseExactly(text) };
  } catch {
    const problem = findSyntaxProblem(text);
    if (problem?.isTooDeep) return unreadable("too deeply nested");
    const { expected = "not JSON", offset = 0 } = problem ?? {};
    return { problem: { kind: "invalid-json", errors: [printPlace(expected, text, offset)] } };
  }
}

function isTooDeep(value: unknown, text: string): boolean {
  // Each level takes two characters, one to open it and one to close it.
  return text.length > limits.depthMax * 2 && isDeeper(value, limits.depthMax);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  const held: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return held.some((each) => isDeeper(each, levels - 1));
}

/** A process number of 30 digits is valid, and nobody's: there it is enough to be a number. */
function withUsualPid(value: unknown): unknown {
  if (!isObject(value) || !isObject(value["runtime"])) return value;
  const digits = exactDigits(value["runtime"]["pid"]);
  if (digits === undefined) return value;
  return { ...value, runtime: { ...value["runtime"], pid: Number(digits) } };
}

function unreadable(reason: string): { readonly problem: Problem } {
  return { problem: { kind: "unreadable", errors: [reason] } };
}
