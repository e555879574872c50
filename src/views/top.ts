/** The best few of many: a heap that holds no more than it is asked for, the worst of them on top. */
export type Scored = { readonly item: number; readonly score: number };

export class Top {
  readonly #size: number;
  readonly #isFirst: (one: number, other: number) => boolean;
  readonly #heap: Scored[] = [];

  /** Of equals, the one that `isFirst` is better. */
  constructor(size: number, isFirst: (one: number, other: number) => boolean) {
    this.#size = size;
    this.#isFirst = isFirst;
  }

  /** Nobody gets in with less. For loops that must be quick. */
  get bar(): number {
    if (this.#heap.length < this.#size) return Number.NEGATIVE_INFINITY;
    return this.#heap[0]?.score ?? Number.POSITIVE_INFINITY;
  }

  /** Whether the item would get in. */
  admits(item: number, score: number): boolean {
    if (this.#heap.length < this.#size) return true;
    const worst = this.#heap[0];
    return worst !== undefined && this.#isBetter({ item, score }, worst);
  }

  offer(item: number, score: number): void {
    if (!this.admits(item, score)) return;
    if (this.#heap.length >= this.#size) {
      this.#sink({ item, score });
    } else {
      this.#heap.push({ item, score });
      this.#rise({ item, score });
    }
  }

  /** Best first. */
  sorted(): Scored[] {
    return this.#heap.toSorted((one, other) => (this.#isBetter(one, other) ? -1 : 1));
  }

  #isBetter(one: Scored, other: Scored): boolean {
    return one.score === other.score
      ? this.#isFirst(one.item, other.item)
      : one.score > other.score;
  }

  /** The item takes the place of the worst, and goes down to where it belongs. */
  #sink(item: Scored): void {
    const heap = this.#heap;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      const one = heap[left];
      const other = heap[right];
      if (one === undefined) break;
      const isRightWorse = other !== undefined && this.#isBetter(one, other);
      const worse = isRightWorse ? other : one;
      if (!this.#isBetter(item, worse)) break;
      heap[index] = worse;
      index = isRightWorse ? right : left;
    }
    heap[index] = item;
  }

  /** The item is last, and goes up to where it belongs. */
  #rise(item: Scored): void {
    const heap = this.#heap;
    let index = heap.length - 1;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !this.#isBetter(parent, item)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = item;
  }
}
