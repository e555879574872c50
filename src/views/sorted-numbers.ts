/**
 * Numbers in order, in blocks: adding and deleting move one block at most, whatever the length of the
 * list, and leave nothing behind to clean up later. Each takes about 4 bytes. Numbers that arrive in
 * order fill their blocks completely.
 */
import { limits } from "./limits.ts";

/** The first `length` of `values` count; the rest is room to grow. */
export type Block = { readonly values: Uint32Array; readonly length: number };
type OwnBlock = { values: Uint32Array; length: number };
type Place = { readonly index: number; readonly block: OwnBlock; readonly position: number };

/** Whether `one` comes before `other`. Of two different numbers, exactly one does. */
export type Before = (one: number, other: number) => boolean;

export class SortedNumbers {
  readonly #before: Before;
  readonly #blocks: OwnBlock[] = [];
  #size = 0;

  constructor(before: Before) {
    this.#before = before;
  }

  get size(): number {
    return this.#size;
  }

  /** For loops that must be quick. None is empty. */
  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  has(value: number): boolean {
    const place = this.#place(value);
    return place !== undefined && holds(place, value);
  }

  /** The value, or the next that comes after it. */
  from(value: number): number | undefined {
    const place = this.#place(value);
    if (!place) return undefined;
    const { index, block, position } = place;
    return position < block.length ? block.values[position] : this.#blocks[index + 1]?.values[0];
  }

  /** The value is not there yet. */
  add(value: number): void {
    const place = this.#placeWithRoom(value);
    if (place) insert(place.block, place.position, value);
    else this.#blocks.push({ values: Uint32Array.of(value, 0), length: 1 });
    this.#size += 1;
  }

  delete(value: number): void {
    const place = this.#place(value);
    if (!place || !holds(place, value)) return;
    const { index, block, position } = place;
    block.values.copyWithin(position, position + 1, block.length);
    block.length -= 1;
    this.#size -= 1;
    if (block.length === 0) {
      this.#blocks.splice(index, 1);
      return;
    }
    if (block.length * 4 <= block.values.length) {
      block.values = block.values.slice(0, block.length * 2);
    }
    this.#merge(index);
    this.#merge(index - 1);
  }

  /** Where the value is, or would go. Nowhere if there are no blocks. */
  #place(value: number): Place | undefined {
    let low = 0;
    let high = this.#blocks.length;
    // The last block first: most values are new, and go to the end.
    let middle = high - 1;
    while (high - low > 1) {
      const first = this.#blocks[middle]?.values[0] ?? 0;
      if (this.#before(value, first)) high = middle;
      else low = middle;
      middle = (low + high) >> 1;
    }
    const block = this.#blocks[low];
    return block && { index: low, block, position: this.#positionIn(block, value) };
  }

  /** How many in the block come before the value. */
  #positionIn(block: Block, value: number): number {
    let low = 0;
    let high = block.length;
    let middle = high - 1;
    while (low < high) {
      if (this.#before(block.values[middle] ?? 0, value)) low = middle + 1;
      else high = middle;
      middle = (low + high) >> 1;
    }
    return low;
  }

  /** Where the value goes; nowhere if it needs a new block at the end. */
  #placeWithRoom(value: number): Place | undefined {
    const place = this.#place(value);
    if (!place || place.block.length < limits.blockLengthMax) return place;
    const isLast = place.index === this.#blocks.length - 1;
    if (isLast && place.position === place.block.length) return undefined;
    this.#split(place);
    return this.#place(value);
  }

  #split({ index, block }: Place): void {
    const half = block.length >> 1;
    const values = block.values.slice(half, block.length);
    this.#blocks.splice(index + 1, 0, { values, length: values.length });
    block.values = block.values.slice(0, half);
    block.length = half;
  }

  /** Two neighbours that fill no more than half a block become one, so that no list stays sparse. */
  #merge(index: number): void {
    const left = this.#blocks[index];
    const right = this.#blocks[index + 1];
    if (!left || !right || left.length + right.length > limits.blockLengthMax / 2) return;
    const values = new Uint32Array(left.length + right.length);
    values.set(left.values.subarray(0, left.length));
    values.set(right.values.subarray(0, right.length), left.length);
    this.#blocks.splice(index, 2, { values, length: values.length });
  }
}

/** From the last block to the first. */
export function backwards(blocks: readonly Block[]): readonly Block[] {
  return blocks.toReversed();
}

function holds({ block, position }: Place, value: number): boolean {
  return position < block.length && block.values[position] === value;
}

function insert(block: OwnBlock, position: number, value: number): void {
  if (block.length === block.values.length) {
    const roomy = new Uint32Array(Math.min(block.length * 2, limits.blockLengthMax));
    roomy.set(block.values);
    block.values = roomy;
  }
  if (position < block.length) block.values.copyWithin(position + 1, position, block.length);
  block.values[position] = value;
  block.length += 1;
}
