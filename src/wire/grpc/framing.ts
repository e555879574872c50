/** Messages in a gRPC body: a flag byte, four bytes of length, the message. */
const headBytes = 5;
const smallestBuffer = 1_024;

/** The prefix of a message of this many bytes. */
export function frameHead(length: number): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(length, 1);
  return head;
}

/** A message with its head, ready to be written. */
export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(headBytes + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, headBytes);
  return framed;
}

export type FramingProblem = "compressed" | "too_long";

/** Cuts a body, arriving in chunks of any size, into messages. */
export class Unframer {
  readonly #messageBytesMax: number;
  /**
   * The received part of an incomplete message: the first `#length` bytes. It doubles as needed, up to the size of the
   * message, so that a caller cannot make us allocate memory for bytes that it only announces.
   */
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;
  #counted = 0;

  constructor(messageBytesMax: number) {
    this.#messageBytesMax = messageBytesMax;
  }

  /** The messages that are complete with this chunk, or what is wrong. The length is checked first. */
  push(chunk: Buffer): readonly Buffer[] | FramingProblem {
    const messages: Buffer[] = [];
    let rest = this.#length === 0 ? chunk : this.#append(chunk);
    while (rest.length >= headBytes) {
      const length = rest.readUInt32BE(1);
      if (length > this.#messageBytesMax) return "too_long";
      if (rest[0] !== 0) return "compressed";
      if (rest.length < headBytes + length) break;
      messages.push(rest.subarray(headBytes, headBytes + length));
      rest = rest.subarray(headBytes + length);
    }
    if (messages.length > 0 || this.#length === 0) this.#keep(rest);
    return messages;
  }

  /** Whether the body ended in the middle of a message. */
  get isTruncated(): boolean {
    return this.#length > 0;
  }

  /** How much more is kept than when last asked; less is negative. */
  countBytes(): number {
    const more = this.#buffer.length - this.#counted;
    this.#counted = this.#buffer.length;
    return more;
  }

  get countedBytes(): number {
    return this.#counted;
  }

  #append(chunk: Buffer): Buffer {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) {
      const start = this.#length === 0 ? chunk : this.#buffer.subarray(0, this.#length);
      const larger = Buffer.allocUnsafeSlow(roomFor(length, start));
      larger.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.#length);
    this.#length = length;
    return this.#buffer.subarray(0, length);
  }

  /** Starts over with a copy of what is left: messages that were handed out keep their own bytes. */
  #keep(rest: Buffer): void {
    this.#buffer = Buffer.alloc(0);
    this.#length = 0;
    if (rest.length > 0) this.#append(rest);
  }
}

/** For `length` bytes of a message that begins as `start` does. */
function roomFor(length: number, start: Buffer): number {
  const doubled = Math.max(smallestBuffer, 2 * length);
  if (start.length < headBytes) return doubled;
  // Bytes after the message may be the beginning of the next one.
  return Math.max(length, Math.min(doubled, headBytes + start.readUInt32BE(1)));
}
