/** How alike each document is to a query. Only those that are alike at all are listed. */
export class Scores {
  #values = new Float64Array(0);
  #alike = new Uint32Array(0);
  #count = 0;

  /** Makes room for documents with smaller numbers than this. */
  reserve(documents: number): void {
    this.#values = new Float64Array(documents);
    this.#alike = new Uint32Array(documents);
    this.#count = 0;
  }

  /** More than nothing. */
  add(document: number, score: number): void {
    const known = this.#values[document] ?? 0;
    if (known === 0) this.#alike[this.#count++] = document;
    this.#values[document] = known + score;
  }

  /** By number. For loops that must be quick. */
  get values(): Float64Array {
    return this.#values;
  }

  clear(): void {
    for (const document of this.#alike.subarray(0, this.#count)) this.#values[document] = 0;
    this.#count = 0;
  }
}
