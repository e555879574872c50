/**
 * Items on their way to one reader, who takes them when it comes to them. What is held for it has a bound; at
 * the bound the oldest go and are counted, or the feed fails, as it was told.
 */
import { ArcpError } from "../../wire/arcp/index.ts";

export type FeedOptions<Item> = {
  readonly countMax: number;
  readonly weightMax: number;
  readonly weigh: (item: Item) => number;
  /** Without it the feed fails where it would have to drop. */
  readonly mark?: (item: Item, droppedBefore: number) => Item;
};

export class Feed<Item> implements AsyncIterableIterator<Item, undefined> {
  readonly #options: FeedOptions<Item>;
  #countMax: number;
  #weightMax: number;
  #items: (Item | undefined)[] = [];
  #first = 0;
  #weight = 0;
  #dropped = 0;
  #readers: PromiseWithResolvers<IteratorResult<Item, undefined>>[] = [];
  #end: { readonly error: ArcpError | undefined } | undefined;

  constructor(options: FeedOptions<Item>) {
    this.#options = options;
    this.#countMax = options.countMax;
    this.#weightMax = options.weightMax;
  }

  /** The item that is read next, if there is one. */
  get head(): Item | undefined {
    return this.#items[this.#first];
  }

  /** Someone reads now: it may hold more than for nobody. */
  widen(countMax: number, weightMax: number): void {
    this.#countMax = countMax;
    this.#weightMax = weightMax;
  }

  /** Whether there is still anybody for it. */
  push(item: Item): boolean {
    if (this.#end) return false;
    const reader = this.#readers.shift();
    if (reader) {
      reader.resolve({ value: item, done: false });
      return true;
    }
    this.#items.push(item);
    this.#weight += this.#options.weigh(item);
    while (this.#isFull()) this.#overflow();
    return true;
  }

  /** What is held can still be read; then the feed is over, or throws this. */
  end(error?: ArcpError): void {
    if (this.#end) return;
    this.#end = { error };
    for (const reader of this.#readers.splice(0)) {
      if (error) reader.reject(error);
      else reader.resolve({ value: undefined, done: true });
    }
  }

  next(): Promise<IteratorResult<Item, undefined>> {
    const item = this.#shift();
    if (item !== undefined) {
      const dropped = this.#dropped;
      this.#dropped = 0;
      const { mark } = this.#options;
      const value = dropped > 0 && mark ? mark(item, dropped) : item;
      return Promise.resolve({ value, done: false });
    }
    if (this.#end?.error) {
      const { error } = this.#end;
      this.#end = { error: undefined };
      return Promise.reject(error);
    }
    if (this.#end) return Promise.resolve({ value: undefined, done: true });
    const reader = Promise.withResolvers<IteratorResult<Item, undefined>>();
    this.#readers.push(reader);
    return reader.promise;
  }

  /** Whoever leaves its loop wants no more. */
  return(): Promise<IteratorResult<Item, undefined>> {
    this.#clear();
    this.end();
    this.#end = { error: undefined };
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #isFull(): boolean {
    const count = this.#items.length - this.#first;
    // One always fits.
    return count > this.#countMax || (count > 1 && this.#weight > this.#weightMax);
  }

  #overflow(): void {
    if (this.#options.mark) {
      this.#shift();
      this.#dropped += 1;
      return;
    }
    this.#clear();
    const message = `more than ${this.#weightMax} bytes were held for nobody`;
    this.end(new ArcpError("INTERNAL_ERROR", message));
  }

  #shift(): Item | undefined {
    const item = this.#items[this.#first];
    if (item === undefined) return undefined;
    // Whoever has taken it may be done with it long before the list is cut.
    this.#items[this.#first] = undefined;
    this.#first += 1;
    this.#weight -= this.#options.weigh(item);
    if (this.#first > 256 && this.#first * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }

  #clear(): void {
    this.#items = [];
    this.#first = 0;
    this.#weight = 0;
  }
}
