/**
 * Shelves by a hash. Nearly all look-ups find nothing, so that is what is made cheap: one bit is read,
 * in an array that is short enough to stay near, where a `Map` follows two references.
 *
 * What is on a shelf is compared in full by whoever comes by, so that things with different hashes may
 * share one where it is crowded. That is how nobody makes a look-up slow by choosing hashes: it ends
 * after a few steps, at a free slot or at the shelf that all of them share.
 */
export type Shelf<Item> = {
  readonly items: Item[];
  /** The last turn that came by: one visit is enough. */
  turn: number;
  /** Where in its text that turn came by, in order; kept for long texts only. */
  visits: number[] | undefined;
};

/** Something that stands on a shelf, and knows where. */
export type Shelved<Item> = {
  readonly hash: number;
  shelf: Shelf<Item> | undefined;
  place: number;
};

const reach = 16;
const slotsMin = 8;

export class Shelves<Item extends Shelved<Item>> {
  /** Zero where nothing stands. A shelf that was emptied stands there until all are moved. */
  #hashes = new Int32Array(slotsMin);
  /** For each slot, 32 bits: which hashes at home there may stand somewhere. See `find`. */
  #sieve = new Int32Array(slotsMin);
  #shelves: (Shelf<Item> | undefined)[] = new Array(slotsMin).fill(undefined);
  #shift = shiftFor(slotsMin);
  #standing = 0;
  #size = 0;

  /** How many things there are. */
  get size(): number {
    return this.#size;
  }

  /** The shelf on which things of this hash stand, or would stand. */
  find(hash: number): Shelf<Item> | undefined {
    const wanted = orOne(hash);
    const mixed = mix(wanted);
    const shift = this.#shift;
    const home = mixed >>> shift;
    if (((this.#sieve[home] ?? 0) & sieveBit(mixed, shift)) === 0) return undefined;
    const hashes = this.#hashes;
    for (let step = 0; step < reach; step++) {
      const slot = (home + step) & (hashes.length - 1);
      const there = hashes[slot];
      if (there === wanted) return this.#shelves[slot];
      if (there === 0) return undefined;
    }
    return this.#shelves[home];
  }

  add(item: Item): void {
    if (2 * this.#standing >= this.#hashes.length) this.#move();
    this.#put(item);
    this.#size += 1;
  }

  remove(item: Item): void {
    takeDown(item);
    this.#size -= 1;
  }

  #put(item: Item): void {
    const hash = orOne(item.hash);
    const mixed = mix(hash);
    const home = mixed >>> this.#shift;
    // First, because without its bit nothing is found.
    this.#sieve[home] = (this.#sieve[home] ?? 0) | sieveBit(mixed, this.#shift);
    const shelf = this.find(hash) ?? this.#build(hash, home);
    putUp(item, shelf);
  }

  /** `find` came to a free slot: there. */
  #build(hash: number, home: number): Shelf<Item> {
    const shelf: Shelf<Item> = { items: [], turn: 0, visits: undefined };
    let slot = home;
    while (this.#hashes[slot] !== 0) slot = (slot + 1) & (this.#hashes.length - 1);
    this.#hashes[slot] = hash;
    this.#shelves[slot] = shelf;
    this.#standing += 1;
    return shelf;
  }

  /** To where a quarter of the slots is taken; what was emptied is left behind. */
  #move(): void {
    const full = this.#shelves.filter((shelf) => shelf && shelf.items.length > 0);
    let slots = slotsMin;
    while (slots < 4 * full.length) slots *= 2;
    this.#hashes = new Int32Array(slots);
    this.#sieve = new Int32Array(slots);
    this.#shelves = new Array(slots).fill(undefined);
    this.#shift = shiftFor(slots);
    this.#standing = 0;
    for (const shelf of full) {
      for (const item of shelf?.items ?? []) this.#put(item);
    }
  }
}

export function putUp<Item extends Shelved<Item>>(item: Item, shelf: Shelf<Item>): void {
  item.shelf = shelf;
  item.place = shelf.items.length;
  shelf.items.push(item);
}

/** The last one on its shelf takes its place. */
export function takeDown<Item extends Shelved<Item>>(item: Item): void {
  if (!item.shelf) return;
  const { items } = item.shelf;
  const last = items.pop();
  if (last && last !== item) {
    items[item.place] = last;
    last.place = item.place;
  }
  item.shelf = undefined;
}

/** Zero is for free slots. */
function orOne(hash: number): number {
  return hash === 0 ? 1 : hash;
}

/** The upper bits of a product are the well mixed ones. */
function mix(hash: number): number {
  return Math.imul(hash, 0x85eb_ca6b);
}

/** By the five bits below those that say where home is. */
function sieveBit(mixed: number, shift: number): number {
  return 1 << (mixed >>> (shift - 5));
}

function shiftFor(slots: number): number {
  return Math.clz32(slots) + 1;
}
