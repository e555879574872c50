/**
 * The one way to print: two blanks of indentation, keys in the order of their code points, nothing but
 * ASCII, one line end at the end. The same value has the same bytes, here and in the reference.
 */
import { limits } from "./limits.ts";
import { exactDigits } from "./numbers.ts";
import { compareCodePoints } from "./order.ts";
import type { Json, StatusRecord } from "./record.ts";

export function printRecord(record: StatusRecord): string {
  return printJson(record);
}

/**
 * Leaves out what is undefined, and prints a number that is none as null, as `JSON.stringify` does. Throws
 * a RangeError if more is inside each other than a reader would take.
 */
export function printJson(value: Printable): string {
  return `${print(value, "\n", 0)}\n`;
}

/** A record is an object, though its type has no index. */
export type Printable = Json | StatusRecord;

/** `lineEnd`: the line end, and the indentation that the value itself has. */
function print(value: unknown, lineEnd: string, depth: number): string {
  if (typeof value === "string") return quote(value);
  if (typeof value === "number") return printNumber(value);
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "object" || value === null) return "null";
  const digits = exactDigits(value);
  if (digits !== undefined) return digits;
  if (depth === limits.depthMax) throw new RangeError(`nested more than ${depth} deep`);
  const inside = `${lineEnd}  `;
  if (Array.isArray(value)) {
    const items = value.map((item) => print(item, inside, depth + 1));
    return items.length === 0 ? "[]" : `[${inside}${items.join(`,${inside}`)}${lineEnd}]`;
  }
  // Never a copy with its keys in order: an object has keys like "10" first whatever one does.
  const lines = Object.entries(value)
    .filter(([, held]) => held !== undefined)
    .sort(([a], [b]) => compareCodePoints(a, b))
    .map(([key, held]) => `${quote(key)}: ${print(held, inside, depth + 1)}`);
  return lines.length === 0 ? "{}" : `{${inside}${lines.join(`,${inside}`)}${lineEnd}}`;
}

/** Without an exponent where it is an integer: other readers take `1e+21` for a fraction. */
function printNumber(value: number): string {
  if (!Number.isFinite(value)) return "null";
  return Number.isInteger(value) ? BigInt(value).toString() : String(value);
}

const plain = /^[ !#-[\]-~]*$/;
const special = /[^ !#-[\]-~]/g;
const short: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ['"', '\\"'],
  ["\\", "\\\\"],
]);

function quote(text: string): string {
  return plain.test(text) ? `"${text}"` : `"${text.replaceAll(special, escapeUnit)}"`;
}

/** By UTF-16 unit, so that a character beyond U+FFFF becomes the pair that JSON wants. */
function escapeUnit(unit: string): string {
  return short.get(unit) ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
