/**
 * The members of a JSON object that may be megabytes long, of which only the short ones matter: what a
 * tool answered comes with the event, and is skipped without being kept or made into values. Bytes come in
 * parts, so that reading takes the same memory however long the object is.
 */
import { limits } from "./limits.ts";

export type Members = ReadonlyMap<string, unknown>;

/** Undefined if the bytes are no object. Of a long text the beginning; other long members are not there. */
export function readMembers(parts: Iterable<Uint8Array>): Members | undefined {
  const reader = new MemberReader();
  try {
    for (const part of parts) reader.push(part);
    return reader.end();
  } catch {
    return undefined;
  }
}

const quote = 0x22;
const backslash = 0x5c;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Where in the object we are.
 * - `before`, `after`: outside of it, where only blanks may be
 * - `first`, `key`: where a key begins; behind the first brace the object may also end
 * - `colon`, `value`: behind a key, and where its value begins
 * - `in key`, `in text`, `in nest`, `in word`: inside of one
 * - `comma`: behind a value
 */
type Place =
  | "before"
  | "first"
  | "key"
  | "in key"
  | "colon"
  | "value"
  | "in text"
  | "in nest"
  | "in word"
  | "comma"
  | "after";

/** For whoever reads at the moment: reading does not wait for anything, so there is only one. */
let scratch: Uint8Array | undefined;

class MemberReader {
  readonly #members = new Map<string, unknown>();
  readonly #kept: Uint8Array;
  #length = 0;
  #place: Place = "before";
  #key = "";
  #depth = 0;
  #isInText = false;
  /** Of the backslashes with which the last part ended, whether one is left that escapes what follows. */
  #isEscaped = false;

  constructor() {
    scratch ??= new Uint8Array(limits.memberBytesMax);
    this.#kept = scratch;
  }

  push(part: Uint8Array): void {
    for (let at = 0; at < part.length; ) {
      if (this.#isInText) {
        at = this.#readText(part, at);
      } else {
        this.#read(part[at] ?? 0);
        at += 1;
      }
    }
  }

  end(): Members {
    if (this.#place !== "after") throw new SyntaxError("ends too early");
    return this.#members;
  }

  /** From one quote to the next: what is long is mostly text, and finding a byte is what engines are good at. */
  #readText(part: Uint8Array, from: number): number {
    const end = part.indexOf(quote, from);
    const to = end < 0 ? part.length : end;
    let slashes = 0;
    while (to - slashes > from && part[to - slashes - 1] === backslash) slashes += 1;
    const isEscaped = (slashes + (to - slashes === from && this.#isEscaped ? 1 : 0)) % 2 === 1;
    this.#isEscaped = end < 0 && isEscaped;
    this.#keep(part.subarray(from, end < 0 ? to : to + 1));
    if (end < 0) return to;
    if (!isEscaped) {
      this.#isInText = false;
      if (this.#place !== "in nest") this.#finish();
    }
    return to + 1;
  }

  #read(byte: number): void {
    if (this.#place === "in nest") {
      this.#keep([byte]);
      this.#descend(byte);
    } else if (this.#place === "in word" && !isBlank(byte) && byte !== 0x2c && byte !== 0x7d) {
      this.#keep([byte]);
    } else {
      if (this.#place === "in word") this.#finish();
      this.#step(byte);
    }
  }

  /** Between the parts of which an object is made. */
  #step(byte: number): void {
    if (isBlank(byte)) return;
    switch (this.#place) {
      case "before":
        this.#place = expect(byte, 0x7b, "first");
        return;
      case "first":
        if (byte === 0x7d) this.#place = "after";
        else this.#begin(byte, "in key");
        return;
      case "key":
        this.#begin(byte, "in key");
        return;
      case "colon":
        this.#place = expect(byte, 0x3a, "value");
        return;
      case "value":
        if (byte === quote) this.#begin(byte, "in text");
        else if (byte === 0x7b || byte === 0x5b) this.#begin(byte, "in nest");
        else this.#begin(byte, "in word");
        return;
      case "comma":
        this.#place = byte === 0x7d ? "after" : expect(byte, 0x2c, "key");
        return;
      default:
        throw new SyntaxError("goes on behind its end");
    }
  }

  #begin(byte: number, place: "in key" | "in text" | "in nest" | "in word"): void {
    if (place === "in key") expect(byte, quote, place);
    this.#isInText = place === "in key" || place === "in text";
    this.#length = 0;
    this.#depth = 1;
    this.#place = place;
    this.#keep([byte]);
  }

  #descend(byte: number): void {
    if (byte === quote) this.#isInText = true;
    else if (byte === 0x7b || byte === 0x5b) this.#depth += 1;
    else if (byte === 0x7d || byte === 0x5d) this.#depth -= 1;
    if (this.#depth === 0) this.#finish();
  }

  #keep(bytes: ArrayLike<number>): void {
    const isShort = this.#length + bytes.length <= this.#kept.length;
    if (isShort) this.#kept.set(bytes, this.#length);
    else if (this.#length < limits.textBytesMax) {
      this.#kept.set(Array.prototype.slice.call(bytes, 0, limits.textBytesMax), this.#length);
    }
    this.#length += bytes.length;
  }

  #finish(): void {
    const value = this.#value();
    if (this.#place === "in key") {
      this.#key = String(value);
      this.#place = "colon";
      return;
    }
    if (value !== undefined) this.#members.set(this.#key, value);
    this.#place = "comma";
  }

  #value(): unknown {
    if (this.#length <= this.#kept.length) {
      return JSON.parse(decoder.decode(this.#kept.subarray(0, this.#length)));
    }
    if (this.#place !== "in text") return undefined;
    const head = decoder.decode(this.#kept.subarray(0, limits.textBytesMax));
    // The cut may be in the middle of an escape, the longest of which has six characters.
    for (let cut = 0; cut < 6; cut += 1) {
      try {
        return JSON.parse(`${head.slice(0, head.length - cut)}"`);
      } catch {}
    }
    return undefined;
  }
}

function expect(byte: number, expected: number, next: Place): Place {
  if (byte !== expected) throw new SyntaxError("something else is expected");
  return next;
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
