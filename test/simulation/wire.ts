/**
 * A link between a client and a runtime, byte by byte: whoever holds it decides how far each byte gets, and when
 * either end learns that no more will come. Both ends are the real transport over a pair of streams.
 */
import { Readable, Writable } from "node:stream";
import { fromStreams, type Transport } from "../../src/transport/index.ts";

/** Who is told at once that the link is gone. The other finds out some time, or never. */
export type Noticed = { readonly client: boolean; readonly runtime: boolean };

/** With an error, or as if the other side had just stopped in the middle of what it said. */
export type Cut = Noticed & { readonly isAbrupt: boolean };

export class Wire {
  readonly client: Transport;
  readonly runtime: Transport;
  readonly up: Lane;
  readonly down: Lane;

  /** `onLine` sees each line as it is said, whether or not it will arrive. */
  constructor(onLine: (direction: "up" | "down", line: string) => void) {
    this.up = new Lane((line) => onLine("up", line));
    this.down = new Lane((line) => onLine("down", line));
    this.client = fromStreams({ input: this.down.input, output: this.up.output });
    this.runtime = fromStreams({ input: this.up.input, output: this.down.output });
  }

  /** Whether bytes still cross it. */
  get isWhole(): boolean {
    return !this.up.isDead && !this.client.closed && !this.runtime.closed;
  }

  /** Whether an end does not know yet that the link is gone. */
  get isHaunted(): boolean {
    return this.up.isDead && !(this.client.closed && this.runtime.closed);
  }

  /** Whether both ends have let go of it. */
  get isGone(): boolean {
    return this.up.input.destroyed && this.down.input.destroyed;
  }

  /** Moves at most so many bytes, or an end that was said after all of them. Answers whether there was something. */
  pass(direction: "up" | "down", bytesMax: number): boolean {
    const lane = this[direction];
    const { passed } = lane;
    const isHeard = !(direction === "up" ? this.runtime : this.client).closed;
    const isThere = lane.pass(bytesMax);
    if (!isHeard) lane.passed = passed;
    return isThere;
  }

  cut({ client, runtime, isAbrupt }: Cut): void {
    for (const lane of [this.up, this.down]) lane.isDead = true;
    if (client) letKnow(this.down.input, this.up.output, isAbrupt);
    if (runtime) letKnow(this.up.input, this.down.output, isAbrupt);
  }
}

function letKnow(input: Readable, output: Writable, isAbrupt: boolean): void {
  if (!isAbrupt) {
    if (!input.readableEnded && !input.destroyed) input.push(null);
    return;
  }
  input.destroy(new Error("read ECONNRESET"));
  output.destroy(new Error("write ECONNRESET"));
}

/** One direction. A writer has said something once all of it has been passed, as with a full socket. */
class Lane {
  readonly input: Readable = new Readable({ read: () => {} });
  readonly output: Writable;
  /** So many bytes have arrived while somebody listened. */
  passed = 0;
  isDead = false;
  #underWay: Buffer = Buffer.alloc(0);
  #sent: () => void = () => {};
  #ended: (() => void) | undefined;

  constructor(onLine: (line: string) => void) {
    const take = (bytes: Buffer, done: () => void): void => {
      for (const line of bytes.toString().split("\n")) if (line !== "") onLine(line);
      this.#underWay = bytes;
      this.#sent = done;
    };
    this.output = new Writable({
      write: (chunk: Buffer, _encoding, done) => take(chunk, done),
      writev: (chunks, done) => take(Buffer.concat(chunks.map(({ chunk }) => chunk)), done),
      final: (done) => {
        this.#ended = done;
      },
    });
  }

  pass(bytesMax: number): boolean {
    if (this.isDead || this.output.destroyed) return false;
    if (this.#underWay.length > 0) {
      const part = this.#underWay.subarray(0, bytesMax);
      this.#underWay = this.#underWay.subarray(part.length);
      if (this.input.destroyed) {
        this.output.destroy(new Error("write EPIPE"));
      } else if (!this.input.readableEnded) {
        this.input.push(part);
        this.passed += part.length;
      }
      if (this.#underWay.length === 0) this.#sent();
      return true;
    }
    const ended = this.#ended;
    if (!ended) return false;
    this.#ended = undefined;
    if (!this.input.destroyed) this.input.push(null);
    ended();
    return true;
  }
}
