/**
 * Keys in the order in which they came, from which a page is taken anywhere: a keyset, so that a page does not
 * shift when others come or go. What goes leaves its place behind; places are done away with now and then.
 */
export class Roll<Key> {
  #places: number[] = [];
  #keys: (Key | undefined)[] = [];
  #gone = 0;

  get size(): number {
    return this.#keys.length - this.#gone;
  }

  /** Places only grow. */
  add(key: Key, place: number): void {
    this.#keys.push(key);
    this.#places.push(place);
  }

  delete(place: number): void {
    const index = this.#indexAfter(place - 1);
    if (this.#places[index] !== place || this.#keys[index] === undefined) return;
    this.#keys[index] = undefined;
    this.#gone += 1;
    // When half of them are empty: so each is moved once, on average.
    if (this.#gone < this.#keys.length / 2) return;
    this.#places = this.#places.filter((_, at) => this.#keys[at] !== undefined);
    this.#keys = this.#keys.filter((other) => other !== undefined);
    this.#gone = 0;
  }

  /** Those after a place, in order. */
  *after(place: number): Generator<Key> {
    for (let index = this.#indexAfter(place); index < this.#keys.length; index += 1) {
      const key = this.#keys[index];
      if (key !== undefined) yield key;
    }
  }

  /** Of the first place that is larger. */
  #indexAfter(place: number): number {
    let low = 0;
    let high = this.#places.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#places[middle] ?? 0) <= place) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
