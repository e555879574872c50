/**
 * Whether bytes are a message at all: every tag, length and group in its place, down to the innermost
 * message. The generated code is lenient there, and would take a cut or padded message for a whole one.
 */
import { describeMessages } from "../descriptors.ts";

const messages = describeMessages();

const nestingMax = 100;

export function isWellFormed(typeName: string, bytes: Uint8Array): boolean {
  return new Walk(bytes).message(typeName, bytes.length, 0);
}

/** One pass over the bytes. Each step answers false where they make no sense. */
class Walk {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  message(typeName: string, end: number, depth: number): boolean {
    const fields = messages.get(typeName);
    while (this.#at < end) {
      const tag = this.#varint(end);
      if (tag === undefined || !this.#field(tag, fields, end, depth)) return false;
    }
    return this.#at === end;
  }

  #field(
    tag: number,
    fields: ReadonlyMap<number, string> | undefined,
    end: number,
    depth: number,
  ): boolean {
    const number = Math.floor(tag / 8);
    if (number < 1 || number > 536_870_911 || depth > nestingMax) return false;
    switch (tag % 8) {
      case 0:
        return this.#varint(end) !== undefined;
      case 1:
        return this.#skip(8, end);
      case 2: {
        const length = this.#varint(end);
        if (length === undefined || length > end - this.#at) return false;
        const typeName = fields?.get(number);
        if (typeName === undefined || !messages.has(typeName)) return this.#skip(length, end);
        return this.message(typeName, this.#at + length, depth + 1);
      }
      case 3:
        return this.#group(number, end, depth + 1);
      case 5:
        return this.#skip(4, end);
      default:
        return false;
    }
  }

  /** Nobody sends groups any more; who does must close each. */
  #group(number: number, end: number, depth: number): boolean {
    while (this.#at < end) {
      const tag = this.#varint(end);
      if (tag === undefined) return false;
      if (tag % 8 === 4) return Math.floor(tag / 8) === number;
      if (!this.#field(tag, undefined, end, depth)) return false;
    }
    return false;
  }

  /** At most ten bytes. Exact up to 2^53; beyond that only its end matters here. */
  #varint(end: number): number | undefined {
    let value = 0;
    let weight = 1;
    for (let count = 0; count < 10 && this.#at < end; count++) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 0x7f) * weight;
      if (byte < 0x80) return value;
      weight *= 128;
    }
    return undefined;
  }

  #skip(length: number, end: number): boolean {
    this.#at += length;
    return this.#at <= end;
  }
}
