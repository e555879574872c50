/**
 * Cuts a stream of bytes into lines, at `\n` alone: U+2028 is a character like any other. A line's end may
 * be `\r\n`, which JSON takes for a space. What has no line's end yet is kept, up to a bound.
 */
export class Lines {
  readonly #bytesMax: number;
  /** `undefined` stands for a line that was too long. */
  readonly #take: (line: Buffer | undefined) => void;
  /** The beginning of a line. A peer that sends byte by byte must not cost an object for each. */
  #kept: Buffer = Buffer.alloc(0);
  #keptBytes = 0;
  #isTooLong = false;

  constructor(bytesMax: number, take: (line: Buffer | undefined) => void) {
    this.#bytesMax = bytesMax;
    this.#take = take;
  }

  add(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(10, start);
      if (end < 0) break;
      this.#cut(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  /** The last line may lack its end. */
  end(): void {
    if (this.#keptBytes > 0 || this.#isTooLong) this.#cut(Buffer.alloc(0));
  }

  #cut(rest: Buffer): void {
    let line = rest;
    if (this.#keptBytes > 0) {
      this.#keep(rest);
      line = this.#kept.subarray(0, this.#keptBytes);
    }
    const isTooLong = this.#isTooLong || line.length > this.#bytesMax;
    this.#forget();
    this.#isTooLong = false;
    this.#take(isTooLong ? undefined : line);
  }

  #keep(part: Buffer): void {
    const bytes = this.#keptBytes + part.length;
    if (this.#isTooLong || bytes > this.#bytesMax) {
      this.#isTooLong = true;
      this.#forget();
      return;
    }
    if (bytes > this.#kept.length) {
      const grown = Buffer.allocUnsafe(Math.max(bytes, this.#kept.length * 2));
      this.#kept.copy(grown, 0, 0, this.#keptBytes);
      this.#kept = grown;
    }
    part.copy(this.#kept, this.#keptBytes);
    this.#keptBytes = bytes;
  }

  #forget(): void {
    this.#kept = Buffer.alloc(0);
    this.#keptBytes = 0;
  }
}
