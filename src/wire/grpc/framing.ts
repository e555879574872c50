/** Messages in a gRPC body: a flag byte, four bytes of length, the message. */
const headBytes = 5;

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
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(messageBytesMax: number) {
    this.#messageBytesMax = messageBytesMax;
  }

  /** The messages that are complete with this chunk, or what is wrong. The length is checked first. */
  push(chunk: Buffer): readonly Buffer[] | FramingProblem {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    const messages: Buffer[] = [];
    while (this.#bytes >= headBytes) {
      const head = this.#peek(headBytes);
      const length = head.readUInt32BE(1);
      if (length > this.#messageBytesMax) return "too_long";
      if (head[0] !== 0) return "compressed";
      if (this.#bytes < headBytes + length) break;
      messages.push(this.#take(headBytes + length).subarray(headBytes));
    }
    return messages;
  }

  /** Whether the body ended in the middle of a message. */
  get isTruncated(): boolean {
    return this.#bytes > 0;
  }

  #peek(bytes: number): Buffer {
    const [first] = this.#chunks;
    if (first && first.length >= bytes) return first;
    return this.#joined();
  }

  #take(bytes: number): Buffer {
    const all = this.#joined();
    this.#bytes -= bytes;
    this.#chunks = this.#bytes > 0 ? [all.subarray(bytes)] : [];
    return all.subarray(0, bytes);
  }

  #joined(): Buffer {
    const [first] = this.#chunks;
    if (first && this.#chunks.length === 1) return first;
    const all = Buffer.concat(this.#chunks, this.#bytes);
    this.#chunks = [all];
    return all;
  }
}
