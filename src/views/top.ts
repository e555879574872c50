/** The best few of many: a heap that holds no more than it is asked for, the worst of them on top. */
export class Top {
  readonly #size: number;
  readonly #isBetter: (one: number, other: number) => boolean;
  readonly #heap: number[] = [];

  constructor(size: number, isBetter: (one: number, other: number) => boolean) {
    this.#size = size;
    this.#isBetter = isBetter;
  }

  get isFull(): boolean {
    return this.#heap.length >= this.#size;
  }

  /** Whether the item would get in. */
  admits(item: number): boolean {
    if (!this.isFull) return true;
    const worst = this.#heap[0];
    return worst !== undefined && this.#isBetter(item, worst);
  }

  offer(item: number): void {
    if (!this.admits(item)) return;
    if (this.isFull) {
      this.#sink(item);
    } else {
      this.#heap.push(item);
      this.#rise(item);
    }
  }

  /** Best first. */
  sorted(): number[] {
    return this.#heap.toSorted((one, other) => (this.#isBetter(one, other) ? -1 : 1));
  }

  /** The item takes the place of the worst, and goes down to where it belongs. */
  #sink(item: number): void {
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
  #rise(item: number): void {
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
