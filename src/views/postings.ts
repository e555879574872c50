/**
 * Numbers filed under texts. In a large index most texts occur once (the number in `agent-4711`) or a
 * few times, and a sorted list has a price of its own, about 400 bytes. So one number stands for
 * itself, a few are an array, and only many make a list.
 */
import { limits } from "./limits.ts";
import { type Block, SortedNumbers } from "./sorted-numbers.ts";

type Few = readonly number[];

const none: Few = [];
const nothing: readonly Block[] = [];
const smallerFirst = (one: number, other: number): boolean => one < other;

export class Postings {
  readonly #byKey = new Map<string, number | Few | SortedNumbers>();

  /** How many texts have numbers. */
  get size(): number {
    return this.#byKey.size;
  }

  count(key: string): number {
    const filed = this.#byKey.get(key);
    return filed instanceof SortedNumbers ? filed.size : asFew(filed).length;
  }

  has(key: string, value: number): boolean {
    const filed = this.#byKey.get(key);
    return filed instanceof SortedNumbers ? filed.has(value) : asFew(filed).includes(value);
  }

  /** Whether one of the numbers is at least `low` and at most `high`. */
  hasBetween(key: string, low: number, high: number): boolean {
    const filed = this.#byKey.get(key);
    if (!(filed instanceof SortedNumbers)) {
      return asFew(filed).some((value) => low <= value && value <= high);
    }
    const next = filed.from(low);
    return next !== undefined && next <= high;
  }

  /** Ascending. */
  blocks(key: string): readonly Block[] {
    const filed = this.#byKey.get(key);
    if (filed === undefined) return nothing;
    if (filed instanceof SortedNumbers) return filed.blocks;
    const values = Uint32Array.from(asFew(filed)).sort();
    return [{ values, length: values.length }];
  }

  /** The value is not there yet. */
  add(key: string, value: number): void {
    const filed = this.#byKey.get(key);
    if (filed === undefined) {
      this.#byKey.set(ownCopy(key), value);
    } else if (filed instanceof SortedNumbers) {
      filed.add(value);
    } else {
      const few = asFew(filed).concat(value);
      this.#byKey.set(key, few.length > limits.fewMax ? sorted(few) : few);
    }
  }

  /** The value is there. */
  delete(key: string, value: number): void {
    const filed = this.#byKey.get(key);
    if (filed instanceof SortedNumbers) {
      filed.delete(value);
      // Far below where lists begin, so that coming and going at the bound costs nothing.
      if (filed.size > limits.fewMax / 4) return;
    }
    const few = filed instanceof SortedNumbers ? listed(filed) : without(asFew(filed), value);
    const [first] = few;
    if (first === undefined) this.#byKey.delete(key);
    else this.#byKey.set(key, few.length === 1 ? first : few);
  }
}

function asFew(filed: number | Few | undefined): Few {
  if (filed === undefined) return none;
  return typeof filed === "number" ? [filed] : filed;
}

function without(few: Few, value: number): Few {
  return few.filter((one) => one !== value);
}

function sorted(few: Few): SortedNumbers {
  const numbers = new SortedNumbers(smallerFirst);
  for (const value of few) numbers.add(value);
  return numbers;
}

function listed(numbers: SortedNumbers): Few {
  return numbers.blocks.flatMap(({ values, length }) => [...values.subarray(0, length)]);
}

/** A piece cut from a text keeps the whole text in memory. A key outlives the card it was first seen in. */
function ownCopy(key: string): string {
  return key.split("").join("");
}
