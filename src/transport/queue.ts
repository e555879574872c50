/** First in, first out, in constant time, with the size of what waits. */
export class Queue<Item> {
  #items: (Item | undefined)[] = [];
  #first = 0;
  #bytes = 0;
  readonly #bytesOf: (item: Item) => number;

  constructor(bytesOf: (item: Item) => number) {
    this.#bytesOf = bytesOf;
  }

  get length(): number {
    return this.#items.length - this.#first;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(item: Item): void {
    this.#items.push(item);
    this.#bytes += this.#bytesOf(item);
  }

  shift(): Item | undefined {
    const item = this.#items[this.#first];
    if (item === undefined) return undefined;
    this.#items[this.#first] = undefined;
    this.#first += 1;
    this.#bytes -= this.#bytesOf(item);
    // Moving the rest forward costs no more than was taken since the last time.
    const isEmpty = this.#first === this.#items.length;
    if (isEmpty || (this.#first >= 1_024 && this.#first * 2 >= this.#items.length)) this.#forget();
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#first = 0;
    this.#bytes = 0;
  }

  /** Lets go of the places before the first. */
  #forget(): void {
    this.#items.splice(0, this.#first);
    this.#first = 0;
  }
}
