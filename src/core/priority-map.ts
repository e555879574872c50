/**
 * Keys with a number each, the smallest first: deadlines, and places in a queue. A binary heap whose
 * nodes know their place, so that changing or deleting a key is logarithmic and leaves nothing behind.
 */
type Node<Key> = { readonly key: Key; at: number; index: number };

export class PriorityMap<Key> {
  readonly #heap: Node<Key>[] = [];
  readonly #nodes = new Map<Key, Node<Key>>();

  get size(): number {
    return this.#heap.length;
  }

  /** The key with the smallest number. */
  get first(): { readonly key: Key; readonly at: number } | undefined {
    return this.#heap[0];
  }

  /** So many keys with the smallest numbers, in order. */
  least(count: number): readonly Key[] {
    if (count <= 1) return this.#heap.slice(0, Math.max(0, count)).map(({ key }) => key);
    const inOrder = this.#heap.toSorted((one, other) => one.at - other.at);
    return inOrder.slice(0, count).map(({ key }) => key);
  }

  set(key: Key, at: number): void {
    const known = this.#nodes.get(key);
    if (known) {
      known.at = at;
      this.#settle(known);
      return;
    }
    const node = { key, at, index: this.#heap.length };
    this.#nodes.set(key, node);
    this.#heap.push(node);
    this.#settle(node);
  }

  delete(key: Key): void {
    const node = this.#nodes.get(key);
    if (!node) return;
    this.#nodes.delete(key);
    const last = this.#heap.pop();
    if (!last || last === node) return;
    last.index = node.index;
    this.#heap[last.index] = last;
    this.#settle(last);
  }

  #settle(node: Node<Key>): void {
    this.#rise(node);
    this.#sink(node);
  }

  #rise(node: Node<Key>): void {
    while (node.index > 0) {
      const parent = this.#heap[(node.index - 1) >> 1];
      if (!parent || parent.at <= node.at) return;
      this.#swap(node, parent);
    }
  }

  #sink(node: Node<Key>): void {
    for (;;) {
      const left = this.#heap[2 * node.index + 1];
      const right = this.#heap[2 * node.index + 2];
      const smaller = left && right && right.at < left.at ? right : left;
      if (!smaller || smaller.at >= node.at) return;
      this.#swap(node, smaller);
    }
  }

  #swap(one: Node<Key>, other: Node<Key>): void {
    const index = one.index;
    one.index = other.index;
    other.index = index;
    this.#heap[one.index] = one;
    this.#heap[other.index] = other;
  }
}
