/**
 * A result that is told in pieces while it is made (ARCP 1.1 §8.4). One for each job. Whoever writes more at once
 * than a message should have gets it cut; a piece of text never ends within a character.
 */
import {
  type ChunkEncoding,
  type ChunkSize,
  decodedBytes,
  encodeBase64,
  splitBytes,
  splitText,
  usualChunk,
} from "../wire/work/index.ts";
import { WorkError } from "./errors.ts";
import { limits } from "./limits.ts";

export type ChunkBody = {
  readonly result_id: string;
  readonly chunk_seq: number;
  readonly data: string;
  readonly encoding: ChunkEncoding;
  readonly more: boolean;
};

type Say = (body: ChunkBody) => Promise<void>;

export type ResultStreamOptions = {
  /** How long a piece is if the agent writes more at once. */
  readonly chunk?: ChunkSize | undefined;
  /** Of all pieces together, decoded. */
  readonly bytesMax?: number | undefined;
};

export class ResultStream {
  readonly resultId: string;
  readonly #say: Say;
  readonly #chunk: ChunkSize;
  readonly #bytesMax: number;
  /** The last piece has to say that it is the last, so it is held until another comes or the end does. */
  #held: { readonly data: string; readonly encoding: ChunkEncoding } | undefined;
  #chunks = 0;
  #bytes = 0;
  #isFinished = false;
  #summary: string | undefined;

  constructor(resultId: string, say: Say, { chunk, bytesMax }: ResultStreamOptions = {}) {
    this.resultId = resultId;
    this.#say = say;
    this.#chunk = chunk ?? usualChunk;
    this.#bytesMax = bytesMax ?? limits.resultBytesMax;
  }

  /** Decoded. */
  get bytes(): number {
    return this.#bytes;
  }

  get isFinished(): boolean {
    return this.#isFinished;
  }

  get summary(): string | undefined {
    return this.#summary;
  }

  async write(data: string | Uint8Array): Promise<void> {
    const { bytesMax, printedBytesMax } = this.#chunk;
    const pieces =
      typeof data === "string"
        ? splitText(data, bytesMax, printedBytesMax).map(
            (text) => ({ data: text, encoding: "utf8" }) as const,
          )
        : splitBytes(data, bytesMax).map(
            (bytes) => ({ data: encodeBase64(bytes), encoding: "base64" }) as const,
          );
    await Promise.all(pieces.map((piece) => this.#put(piece)));
  }

  /** Nothing can be written any more. Finishing twice is fine. */
  async finalize({ summary }: { readonly summary?: string } = {}): Promise<void> {
    if (this.#isFinished) return;
    if (summary !== undefined && typeof summary !== "string") {
      throw new WorkError("invalid_argument", "a summary is a text");
    }
    this.#isFinished = true;
    this.#summary = summary;
    await this.#tell(this.#held ?? { data: "", encoding: "utf8" }, { more: false });
  }

  /** A piece that the agent has made up itself, with its own number. */
  async put(chunk: ChunkBody): Promise<void> {
    const isNext =
      chunk.result_id === this.resultId && chunk.chunk_seq === this.#chunks && !this.#held;
    if (this.#isFinished || !isNext) {
      throw new WorkError(
        "invalid_argument",
        "pieces of one result come in order, and none after the last",
      );
    }
    this.#count(chunk);
    this.#isFinished = !chunk.more;
    await this.#tell(chunk, { more: chunk.more });
  }

  /** Never throws at once: of several pieces the ones before are awaited all the same. */
  async #put(piece: { readonly data: string; readonly encoding: ChunkEncoding }): Promise<void> {
    if (this.#isFinished) throw new WorkError("invalid_argument", "this result is finished");
    this.#count(piece);
    const before = this.#held;
    this.#held = piece;
    if (before) await this.#tell(before, { more: true });
  }

  #count({ data, encoding }: { readonly data: string; readonly encoding: ChunkEncoding }): void {
    const bytes = decodedBytes(data, encoding) ?? 0;
    if (bytes > limits.chunkBytesMax || this.#bytes + bytes > this.#bytesMax) {
      const message = `a result has at most ${this.#bytesMax} bytes, and a piece of it ${limits.chunkBytesMax}`;
      throw new WorkError("internal_error", message);
    }
    this.#bytes += bytes;
  }

  #tell(
    { data, encoding }: { readonly data: string; readonly encoding: ChunkEncoding },
    { more }: { readonly more: boolean },
  ): Promise<void> {
    const chunk_seq = this.#chunks;
    this.#chunks += 1;
    return this.#say({ result_id: this.resultId, chunk_seq, data, encoding, more });
  }
}
