/**
 * Encodes long answers piece by piece as the connection accepts them. For a caller that does not read, one piece is
 * held, and the rows, which are small or in the state anyway.
 */
import { limits } from "./limits.ts";

export type JsonPieces = {
  /** Approximate memory that is held until all is encoded, besides what the state holds anyway. */
  readonly heldBytes: number;
  readonly print: () => Iterable<string>;
};

/** Undefined if the value is short enough to be encoded at once. */
export function jsonInPieces(value: unknown): JsonPieces | undefined {
  if (!isLong(value)) return undefined;
  return { heldBytes: heldBytesOf(value), print: () => inChunks(printJson(value)) };
}

function isLong(value: unknown): boolean {
  return roomAfter(value, limits.chunkBytes) < 0;
}

/**
 * About how much of `room` is left after the value. Less than 0: the value does not fit, and the rest was not
 * examined.
 */
function roomAfter(value: unknown, room: number): number {
  if (typeof value === "string") return room - value.length;
  if (typeof value !== "object" || value === null) return room - scalarBytes;
  let left = room;
  for (const part of Array.isArray(value) ? value : Object.values(value)) {
    left = roomAfter(part, left - scalarBytes);
    if (left < 0) break;
  }
  return left;
}

/** The size of a long list is estimated from a few rows. Long texts belong to the state. */
function heldBytesOf(value: unknown): number {
  if (typeof value === "string") return value.length > limits.chunkBytes ? 0 : value.length;
  if (typeof value !== "object" || value === null) return scalarBytes;
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  const step = Math.ceil(parts.length / sampledMax);
  let bytes = parts.length * scalarBytes;
  for (let at = 0; at < parts.length; at += step) bytes += step * heldBytesOf(parts[at]);
  return bytes;
}

const scalarBytes = 8;
const sampledMax = 32;

/** The same text as `JSON.stringify` makes of plain values. */
function* printJson(value: unknown): Generator<string> {
  if (typeof value === "string" && value.length > limits.chunkBytes) yield* printText(value);
  else if (Array.isArray(value)) yield* printList(value);
  else if (typeof value === "object" && value !== null && isLong(value)) yield* printFields(value);
  else yield JSON.stringify(value) ?? "null";
}

function* printList(rows: readonly unknown[]): Generator<string> {
  yield "[";
  for (const [at, row] of rows.entries()) {
    if (at > 0) yield ",";
    yield* printJson(row);
  }
  yield "]";
}

function* printFields(fields: object): Generator<string> {
  let separator = "{";
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    yield* printJson(value);
    separator = ",";
  }
  yield separator === "{" ? "{}" : "}";
}

function* printText(text: string): Generator<string> {
  yield '"';
  for (let from = 0; from < text.length; ) {
    let to = from + limits.pieceLength;
    // A pair of surrogates is one character, and is printed as one.
    if (isHighSurrogate(text.charCodeAt(to - 1))) to += 1;
    yield JSON.stringify(text.slice(from, to)).slice(1, -1);
    from = to;
  }
  yield '"';
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** No piece is encoded before it is asked for: it would be held while the caller does not read. */
function* inChunks(texts: Iterable<string>): Generator<string> {
  let chunk = "";
  for (const text of texts) {
    chunk += text;
    if (chunk.length < limits.pieceLength) continue;
    yield chunk;
    chunk = "";
  }
  if (chunk !== "") yield chunk;
}
