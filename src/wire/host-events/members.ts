/**
 * The members of a JSON object that may be megabytes long, of which only the short ones matter: what a
 * tool answered comes with the event, and is skipped without being made into values.
 */
import { limits } from "./limits.ts";

export type Members = ReadonlyMap<string, unknown>;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const brackets = { open: [0x5b, 0x7b], close: [0x5d, 0x7d] } as const;
const [, openBrace] = brackets.open;
const [, closeBrace] = brackets.close;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Undefined if the bytes are no object. Of a long text the beginning; other long members are not there. */
export function readMembers(bytes: Uint8Array): Members | undefined {
  try {
    return bytes.length <= limits.memberBytesMax ? readWhole(bytes) : scan(bytes);
  } catch {
    return undefined;
  }
}

function readWhole(bytes: Uint8Array): Members | undefined {
  const value: unknown = JSON.parse(decoder.decode(bytes));
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? new Map(Object.entries(value)) : undefined;
}

function scan(bytes: Uint8Array): Members {
  const members = new Map<string, unknown>();
  let at = expect(bytes, blanks(bytes, 0), openBrace);
  if (bytes[blanks(bytes, at)] === closeBrace) {
    expectEnd(bytes, blanks(bytes, at) + 1);
    return members;
  }
  for (;;) {
    const keyAt = blanks(bytes, at);
    const keyEnd = endOfText(bytes, expect(bytes, keyAt, quote));
    const key: unknown = JSON.parse(decoder.decode(bytes.subarray(keyAt, keyEnd)));
    const valueAt = blanks(bytes, expect(bytes, blanks(bytes, keyEnd), colon));
    const valueEnd = endOfValue(bytes, valueAt);
    const value = shortened(bytes.subarray(valueAt, valueEnd));
    if (value !== undefined) members.set(String(key), value);
    at = blanks(bytes, valueEnd);
    if (bytes[at] === comma) {
      at += 1;
      continue;
    }
    expectEnd(bytes, expect(bytes, at, closeBrace));
    return members;
  }
}

function shortened(bytes: Uint8Array): unknown {
  if (bytes.length <= limits.memberBytesMax) return JSON.parse(decoder.decode(bytes));
  if (bytes[0] !== quote) return undefined;
  const head = decoder.decode(bytes.subarray(0, limits.textBytesMax));
  // The cut may be in the middle of an escape, the longest of which has six characters.
  for (let cut = 0; cut < 6; cut += 1) {
    try {
      return JSON.parse(`${head.slice(0, head.length - cut)}"`);
    } catch {}
  }
  return undefined;
}

/** Behind the value that begins there. Whether it is well-formed inside is seen only if it is read. */
function endOfValue(bytes: Uint8Array, from: number): number {
  const first = bytes[from];
  if (first === quote) return endOfText(bytes, from + 1);
  let at = from;
  if (!isOneOf(brackets.open, first)) {
    while (at < bytes.length && !isBlank(bytes[at]) && bytes[at] !== comma && !isClosing(bytes[at]))
      at += 1;
    return at;
  }
  for (let depth = 0; at < bytes.length; ) {
    const byte = bytes[at];
    at = byte === quote ? endOfText(bytes, at + 1) : at + 1;
    if (isOneOf(brackets.open, byte)) depth += 1;
    if (isClosing(byte)) depth -= 1;
    if (depth === 0) return at;
  }
  throw new SyntaxError("ends inside a value");
}

/** Behind the closing quote. */
function endOfText(bytes: Uint8Array, from: number): number {
  for (let at = from; ; ) {
    const end = bytes.indexOf(quote, at);
    if (end < 0) throw new SyntaxError("ends inside a text");
    let slashes = 0;
    while (bytes[end - 1 - slashes] === backslash && end - 1 - slashes >= from) slashes += 1;
    if (slashes % 2 === 0) return end + 1;
    at = end + 1;
  }
}

function expect(bytes: Uint8Array, at: number, byte: number): number {
  if (bytes[at] !== byte) throw new SyntaxError("something else is expected");
  return at + 1;
}

function expectEnd(bytes: Uint8Array, at: number): void {
  if (blanks(bytes, at) < bytes.length) throw new SyntaxError("goes on behind its end");
}

function blanks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isBlank(bytes[at])) at += 1;
  return at;
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isClosing(byte: number | undefined): boolean {
  return isOneOf(brackets.close, byte);
}

function isOneOf(bytes: readonly number[], byte: number | undefined): boolean {
  return byte !== undefined && bytes.includes(byte);
}
