/** A map that says it is full: bounds of a million can be tested without a million records. */
export class Crowd<Key, Value> extends Map<Key, Value> {
  readonly #size: number;

  constructor(size: number) {
    super();
    this.#size = size;
  }

  override get size(): number {
    // The constructor of Map may ask before there is an answer.
    return this.#size ?? 0;
  }
}
