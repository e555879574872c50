/**
 * The members of a JSON object that may be megabytes long, of which only the short ones matter: what a
 * tool answered comes with the event, and is skipped without being kept or made into values. Bytes come in
 * parts, so that reading takes the same memory however long the object is (parsed whole, an event of 1.6 MB
 * took the writer fifteen). Patterns do the skipping, as they are what engines do fast.
 */
import { limits } from "./limits.ts";

export type Members = ReadonlyMap<string, unknown>;

/** Undefined if the bytes are no object. Of a long text its beginning and its end; other long members are not there. */
export function readMembers(parts: Iterable<Uint8Array>): Members | undefined {
  const reader = new MemberReader();
  try {
    for (const part of parts) reader.push(part);
    return reader.end();
  } catch {
    return undefined;
  }
}

/** One character for each byte: all that structure is made of is the same in both. */
const bytewise = new TextDecoder("latin1");
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Up to the quote that ends a text; up to a backslash that is the last character. */
const inText = /[^"\\]*(?:\\.[^"\\]*)*/sy;
/** Up to what a list or an object may be entered or left with. */
const inNest = /[^"[\]{}]*/y;
const inWord = /[^\s,}]*/y;
const blanks = /[ \t\r\n]*/y;

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
  /** Undefined if it was too long to be one that we know: its value is skipped. */
  #key: string | undefined;
  #depth = 0;
  /** In a key, in a text, or in a text that is inside of a list or an object. */
  #isInText = false;
  /** The last part ended with a backslash that escapes what follows. */
  #isEscaped = false;

  constructor() {
    scratch ??= new Uint8Array(limits.memberBytesMax);
    this.#kept = scratch;
  }

  push(part: Uint8Array): void {
    const text = bytewise.decode(part);
    for (let at = 0; at < text.length; ) {
      const to = this.#advance(text, at);
      if (this.#isKept()) this.#keep(part.subarray(at, to));
      at = to;
      if (at < text.length) at = this.#turn(text, at, part);
    }
  }

  end(): Members {
    if (this.#place !== "after") throw new SyntaxError("ends too early");
    return this.#members;
  }

  #isKept(): boolean {
    return this.#isInText || this.#place === "in nest" || this.#place === "in word";
  }

  /** Over all that changes nothing. */
  #advance(text: string, at: number): number {
    if (!this.#isInText) {
      const pattern =
        this.#place === "in nest" ? inNest : this.#place === "in word" ? inWord : blanks;
      return skip(pattern, text, at);
    }
    const from = this.#isEscaped ? at + 1 : at;
    const to = skip(inText, text, from);
    this.#isEscaped = to < text.length && text[to] === "\\";
    return this.#isEscaped ? text.length : to;
  }

  /** What the character there changes. Answers where to go on. */
  #turn(text: string, at: number, part: Uint8Array): number {
    const character = text[at] ?? "";
    const one = part.subarray(at, at + 1);
    if (this.#isInText) {
      this.#keep(one);
      this.#isInText = false;
      if (this.#place !== "in nest") this.#finish();
      return at + 1;
    }
    if (this.#place === "in nest") {
      this.#keep(one);
      this.#descend(character);
      return at + 1;
    }
    if (this.#place === "in word") {
      this.#finish();
      return at;
    }
    this.#step(character);
    if (this.#isKept()) this.#keep(one);
    return at + 1;
  }

  /** Between the parts of which an object is made. */
  #step(character: string): void {
    switch (this.#place) {
      case "before":
        this.#place = expect(character, "{", "first");
        return;
      case "first":
        if (character === "}") this.#place = "after";
        else this.#begin(expect(character, '"', "in key"));
        return;
      case "key":
        this.#begin(expect(character, '"', "in key"));
        return;
      case "colon":
        this.#place = expect(character, ":", "value");
        return;
      case "value":
        if (character === '"') this.#begin("in text");
        else if (character === "{" || character === "[") this.#begin("in nest");
        else if (/[-\w]/.test(character)) this.#begin("in word");
        else throw new SyntaxError("a value is expected");
        return;
      case "comma":
        this.#place = character === "}" ? "after" : expect(character, ",", "key");
        return;
      default:
        throw new SyntaxError("goes on behind its end");
    }
  }

  #begin(place: Place): void {
    this.#isInText = place === "in key" || place === "in text";
    this.#length = 0;
    this.#depth = 1;
    this.#place = place;
  }

  #descend(character: string): void {
    if (character === '"') this.#isInText = true;
    else if (character === "{" || character === "[") this.#depth += 1;
    else this.#depth -= 1;
    if (this.#depth === 0) this.#finish();
  }

  #keep(bytes: Uint8Array): void {
    const room = Math.max(0, this.#kept.length - this.#length);
    if (room > 0) this.#kept.set(bytes.subarray(0, room), this.#length);
    this.#length += bytes.length;
    if (bytes.length > room && this.#place === "in text") this.#keepLast(bytes.subarray(room));
  }

  /** Of a text that is too long: the last that was kept makes way. */
  #keepLast(bytes: Uint8Array): void {
    const end = this.#kept.subarray(-limits.textBytesMax);
    const last = bytes.subarray(-end.length);
    end.copyWithin(0, last.length);
    end.set(last, end.length - last.length);
  }

  #finish(): void {
    const value = this.#value();
    if (this.#place === "in key") {
      this.#key = typeof value === "string" ? value : undefined;
      this.#place = "colon";
      return;
    }
    if (value !== undefined && this.#key !== undefined) this.#members.set(this.#key, value);
    this.#place = "comma";
  }

  #value(): unknown {
    if (this.#length <= this.#kept.length) {
      return JSON.parse(utf8.decode(this.#kept.subarray(0, this.#length)));
    }
    if (this.#place !== "in text") return undefined;
    const head = utf8.decode(this.#kept.subarray(0, limits.textBytesMax));
    const tail = utf8.decode(this.#kept.subarray(-limits.textBytesMax));
    const first = parseCut((cut) => `${head.slice(0, head.length - cut)}"`);
    const last = parseCut((cut) => `"${tail.slice(cut)}`);
    return first === undefined || last === undefined ? undefined : `${first}\n…\n${last}`;
  }
}

/** A text may be cut in the middle of an escape, the longest of which has six characters. */
function parseCut(cutBy: (characters: number) => string): unknown {
  for (let cut = 0; cut < 6; cut += 1) {
    try {
      return JSON.parse(cutBy(cut));
    } catch {}
  }
  return undefined;
}

function skip(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  pattern.test(text);
  return Math.max(from, pattern.lastIndex);
}

function expect(character: string, expected: string, next: Place): Place {
  if (character !== expected) throw new SyntaxError("something else is expected");
  return next;
}
