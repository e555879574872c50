/** Results in pieces: how a long one is cut, and how pieces become one again (ARCP-124 to 128). */
import { isInteger, isObject, type Problem, problemAt } from "./json.ts";
import { limits } from "./limits.ts";

export type ChunkEncoding = "utf8" | "base64";

/** How long a chunk may be: decoded, and inside a printed message, where escapes take their share. */
export type ChunkSize = { readonly bytesMax: number; readonly printedBytesMax: number };

/** For readers that say nothing else: not only Python's ARCP client reads at most 1 MiB a message. */
export const usualChunk: ChunkSize = {
  bytesMax: limits.chunkBytes,
  printedBytesMax: limits.chunkPrintedBytes,
};

export type Chunk = {
  readonly resultId: string;
  readonly chunkSeq: number;
  readonly data: string;
  readonly encoding: ChunkEncoding;
  readonly more: boolean;
};

/** A received `result_chunk`; undefined if the value is not one. */
export function readChunk(body: unknown): Chunk | undefined {
  if (!isObject(body)) return undefined;
  const { result_id: resultId, chunk_seq: chunkSeq, data, encoding = "utf8", more } = body;
  const isNamed = typeof resultId === "string" && isInteger(chunkSeq);
  if (!isNamed || typeof data !== "string" || typeof more !== "boolean") return undefined;
  if (encoding !== "utf8" && encoding !== "base64") return undefined;
  return { resultId, chunkSeq, data, encoding, more };
}

/**
 * Pieces of at most so many bytes of UTF-8, never inside of a surrogate pair (ARCP-125); and, if it is asked
 * for, of at most so many bytes inside a printed frame, where escapes make up to six bytes of one. There is
 * always at least one piece, which is empty if the text is.
 */
export function splitText(
  text: string,
  bytesMax: number,
  printedBytesMax: number = Number.POSITIVE_INFINITY,
): readonly string[] {
  if (!(bytesMax >= 4 && printedBytesMax >= 6)) {
    throw new RangeError("a chunk has room for any character: 4 bytes, 6 when printed");
  }
  if (text.length * 3 <= bytesMax && text.length * 6 <= printedBytesMax) return [text];
  const pieces: string[] = [];
  let start = 0;
  let bytes = 0;
  let printed = 0;
  for (let at = 0; at < text.length; ) {
    const point = text.codePointAt(at) ?? 0;
    const [size, printedSize] = [utf8Size(point), jsonSize(point)];
    if (bytes + size > bytesMax || printed + printedSize > printedBytesMax) {
      pieces.push(text.slice(start, at));
      start = at;
      bytes = 0;
      printed = 0;
    }
    bytes += size;
    printed += printedSize;
    at += point > 0xffff ? 2 : 1;
  }
  pieces.push(text.slice(start));
  return pieces;
}

/** Inside a JSON text, as JSON.stringify escapes it. */
function jsonSize(point: number): number {
  if (point === 0x22 || point === 0x5c) return 2;
  if (point < 0x20) return "\b\t\n\f\r".includes(String.fromCharCode(point)) ? 2 : 6;
  return point >= 0xd800 && point <= 0xdfff ? 6 : utf8Size(point);
}

/** Views of at most so many bytes; at least one. */
export function splitBytes(bytes: Uint8Array, bytesMax: number): readonly Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length || at === 0; at += bytesMax) {
    pieces.push(bytes.subarray(at, at + bytesMax));
  }
  return pieces;
}

/** How many bytes a chunk stands for; undefined if its data is not what its encoding says. */
export function decodedBytes(data: string, encoding: ChunkEncoding): number | undefined {
  if (encoding === "utf8") return utf8Bytes(data);
  if (data.length % 4 !== 0 || !base64Form.test(data)) return undefined;
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return (data.length / 4) * 3 - padding;
}

const base64Form = /^[A-Za-z0-9+/]*={0,2}$/;

function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; ) {
    const point = text.codePointAt(at) ?? 0;
    bytes += utf8Size(point);
    at += point > 0xffff ? 2 : 1;
  }
  return bytes;
}

/** Half a pair is written as the replacement character, which has three bytes as well. */
function utf8Size(point: number): number {
  if (point < 0x80) return 1;
  if (point < 0x800) return 2;
  return point < 0x1_0000 ? 3 : 4;
}

export function encodeBase64(bytes: Uint8Array): string {
  let text = "";
  // Arguments of a call have a limit; a multiple of three keeps padding to the end.
  for (let at = 0; at < bytes.length; at += 0x6000) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + 0x6000)));
  }
  return text;
}

export function decodeBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

export type Assembled =
  | { readonly value: string | Uint8Array; readonly problem?: never }
  | { readonly problem: Problem; readonly value?: never };

/**
 * The chunks of one result as they arrive: in any order, some of them twice. A text if all of them were
 * text, else bytes (ARCP-128). Holds no more than it is told to.
 */
export class Assembly {
  readonly resultId: string;
  readonly #bytesMax: number;
  readonly #chunks = new Map<number, Chunk>();
  #bytes = 0;

  constructor(resultId: string, bytesMax: number = limits.resultBytesMax) {
    this.resultId = resultId;
    this.#bytesMax = bytesMax;
  }

  /** Decoded bytes so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What is wrong with the chunk, if anything; then it is not kept. */
  add(chunk: Chunk): Problem | undefined {
    const { resultId, chunkSeq, data, encoding } = chunk;
    if (resultId !== this.resultId) return problemAt("result_id", "the one of this result");
    if (!isInteger(chunkSeq) || chunkSeq < 0)
      return problemAt("chunk_seq", "an integer, 0 or more");
    if (this.#chunks.has(chunkSeq)) return undefined;
    const size = decodedBytes(data, encoding);
    if (size === undefined) return problemAt("data", "base64");
    if (this.#bytes + size > this.#bytesMax) {
      return problemAt("data", `at most ${this.#bytesMax} bytes in all`);
    }
    this.#bytes += size;
    this.#chunks.set(chunkSeq, chunk);
    return undefined;
  }

  finish(): Assembled {
    const chunks = [...this.#chunks.values()].toSorted((a, b) => a.chunkSeq - b.chunkSeq);
    const gap = chunks.findIndex(({ chunkSeq }, index) => chunkSeq !== index);
    if (chunks.length === 0 || gap !== -1) {
      return {
        problem: problemAt("chunk_seq", `0, 1, 2 and so on; ${Math.max(gap, 0)} is missing`),
      };
    }
    const early = chunks.findIndex(({ more }, index) => more !== index < chunks.length - 1);
    if (early !== -1) {
      return { problem: problemAt("more", "true on every chunk but the last, and false there") };
    }
    if (chunks.every(({ encoding }) => encoding === "utf8")) {
      return { value: chunks.map(({ data }) => data).join("") };
    }
    return { value: joined(chunks.map(decode), this.#bytes) };
  }
}

const encoder = new TextEncoder();

function decode({ data, encoding }: Chunk): Uint8Array {
  return encoding === "utf8" ? encoder.encode(data) : decodeBase64(data);
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
