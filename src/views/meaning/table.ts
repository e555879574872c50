/**
 * What word pieces mean: a row of numbers for each, trained so that the rows of a text, added up, point where
 * a good model of language would point. How it is made: `tools/embedding`.
 *
 * The file, little-endian: the number of rows, their width and their usual length, a scale for each row, the
 * rows as whole numbers from -127 to 127, and the pieces as lines of text.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { eachPiece } from "./word-pieces.ts";

const headerBytes = 12;

export class Table {
  readonly width: number;
  readonly #rows: ReadonlyMap<string, number>;
  readonly #scales: Float32Array;
  readonly #values: Int8Array;
  readonly #usualLength: number;

  constructor(file: Uint8Array) {
    const header = new DataView(file.buffer, file.byteOffset, headerBytes);
    const count = header.getUint32(0, true);
    this.width = header.getUint32(4, true);
    this.#usualLength = header.getFloat32(8, true);
    const valuesAt = headerBytes + 4 * count;
    const piecesAt = valuesAt + count * this.width;
    // A copy, because a file's bytes need not begin where a number may. (`slice` of a Buffer makes none.)
    const { buffer, byteOffset } = file;
    this.#scales = new Float32Array(buffer.slice(byteOffset + headerBytes, byteOffset + valuesAt));
    this.#values = new Int8Array(file.buffer, file.byteOffset + valuesAt, count * this.width);
    const pieces = new TextDecoder().decode(file.subarray(piecesAt)).split("\n");
    assert.equal(pieces.length, count, "the table has a piece for each row");
    this.#rows = new Map(pieces.map((piece, row) => [piece, row]));
  }

  /** The rows of a text, added up and made as long as `weight`. A text that says nothing adds nothing. */
  addTo(sum: Float32Array, text: string, weight: number): void {
    const own = this.#sumOf(text);
    const length = lengthOf(own);
    if (length === 0) return;
    const factor = weight / length;
    for (let index = 0; index < own.length; index++) {
      sum[index] = (sum[index] ?? 0) + factor * (own[index] ?? 0);
    }
  }

  /**
   * How much a word says, whatever it says: from 0 for those that only hold a sentence together or wrap a wish
   * ("I need someone who can help with") to 1. Training makes their rows short. A word without a row may be
   * a name: nothing says more.
   */
  weightOf(word: string): number {
    const length = lengthOf(this.#sumOf(word));
    if (length === 0) return 1;
    return Math.min(Math.max((2 * length) / this.#usualLength - 1, 0), 1);
  }

  #sumOf(text: string): Float32Array {
    const sum = new Float32Array(this.width);
    const scales = this.#scales;
    const values = this.#values;
    eachPiece(text, this.#rows, (row) => {
      const scale = scales[row] ?? 0;
      const start = row * sum.length;
      for (let index = 0; index < sum.length; index++) {
        sum[index] = (sum[index] ?? 0) + scale * (values[start + index] ?? 0);
      }
    });
    return sum;
  }
}

function lengthOf(vector: Float32Array): number {
  let square = 0;
  for (const value of vector) square += value * value;
  return Math.sqrt(square);
}

let loaded: Table | undefined;

/** Read when it is first needed, and then kept: it never changes. */
export function table(): Table {
  loaded ??= new Table(readFileSync(new URL("table.bin", import.meta.url)));
  return loaded;
}
