/**
 * Protobuf messages of up to megabytes that are printed piece by piece. gRPC sends the length of a message first, so
 * the length must be known before the bytes exist. A reply in this form holds no more memory than the records that it
 * is printed from.
 */
import { BinaryWriter } from "@bufbuild/protobuf/wire";

export type Pieces = {
  /** Of the whole message. */
  readonly length: number;
  /** Memory that is held until the message is encoded, besides what others hold anyway. */
  readonly heldBytes: number;
  /** Prints the message from its beginning. Pieces may be of any length; none is much longer than `pieceBytes`. */
  readonly print: () => Iterable<Uint8Array>;
};

/**
 * Bytes of a long field that are decoded at a time. A multiple of 3, so that base64 is split after a group of four
 * characters.
 */
const pieceBytes = 24_576;

export function piecesOfBytes(bytes: Uint8Array): Pieces {
  return { length: bytes.length, heldBytes: bytes.length, print: () => [bytes] };
}

/** The bytes that `text` encodes: base64 with its padding and nothing else. The caller keeps the text in memory. */
export function piecesOfBase64(text: string): Pieces {
  return {
    length: Buffer.byteLength(text, "base64"),
    heldBytes: 0,
    *print() {
      const step = (pieceBytes / 3) * 4;
      for (let from = 0; from < text.length; from += step) {
        yield Buffer.from(text.slice(from, from + step), "base64");
      }
    },
  };
}

/** A field of a message: bytes, or a message within it. */
export function piecesOfField(number: number, value: Pieces): Pieces {
  const lengthDelimited = 2;
  const head = new BinaryWriter().tag(number, lengthDelimited).uint32(value.length).finish();
  return joinPieces([piecesOfBytes(head), value]);
}

/** One after another. Fields of a message may be in any order. */
export function joinPieces(all: readonly Pieces[]): Pieces {
  return {
    length: all.reduce((sum, { length }) => sum + length, 0),
    heldBytes: all.reduce((sum, { heldBytes }) => sum + heldBytes, 0),
    *print() {
      for (const { print } of all) yield* print();
    },
  };
}
