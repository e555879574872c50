/**
 * One page of a long list: what matches, in some order, a part of it. A page goes on after the last row
 * of the one before, wherever that row would stand now, so that what comes and goes in between neither
 * hides nor repeats a row.
 */
import { limits as wireLimits } from "../../wire/openapi/index.ts";
import { limits } from "./limits.ts";
import { sliceEnd } from "./slices.ts";

/** Where an item stands: smaller is earlier. Texts by code unit. */
export type Rank = number | string;

export type Listing<Item> = {
  readonly items: Iterable<Item>;
  readonly wants: (item: Item) => boolean;
  readonly rankOf: (item: Item) => Rank;
  /** Decides between equals. No two items have the same. */
  readonly idOf: (item: Item) => string;
};

export type Cut = {
  /** The name of the order. */
  readonly sort: string;
  readonly limit?: number;
  readonly offset?: number;
  /** From `parseCursor`. */
  readonly start?: Place | undefined;
};

export type Place = { readonly rank: Rank; readonly id: string };
type Ranked<Item> = Place & { readonly item: Item };

export type CutPage<Row> = {
  readonly rows: readonly Row[];
  /** How many match, on all pages. */
  readonly total: number;
  readonly next?: string;
};

/** Goes through a list in slices, and keeps what may be on the page. */
export class Scan<Item> {
  readonly #listing: Listing<Item>;
  readonly #left: Iterator<Item>;
  readonly #sort: string;
  readonly #start: Place | undefined;
  readonly #offset: number;
  readonly #first: Smallest<Item>;
  #total = 0;

  constructor(listing: Listing<Item>, cut: Cut) {
    const { sort, limit = wireLimits.pageDefault, offset = 0, start } = cut;
    this.#listing = listing;
    this.#left = listing.items[Symbol.iterator]();
    this.#sort = sort;
    this.#start = start;
    this.#offset = offset;
    this.#first = new Smallest(offset + limit);
  }

  /** Looks at some more; true when everything was looked at. */
  goOn(): boolean {
    const { wants, rankOf, idOf } = this.#listing;
    const isOver = sliceEnd();
    do {
      const { value: item, done } = this.#left.next();
      if (done) return true;
      if (!wants(item)) continue;
      this.#total += 1;
      const rank = rankOf(item);
      if (!this.#start || compare(this.#start, rank, idOf(item)) < 0) {
        this.#first.offer(rank, idOf(item), item);
      }
    } while (!isOver());
    return false;
  }

  page<Row>(encode: (item: Item) => Row): CutPage<Row> {
    const rows: Row[] = [];
    let bytes = 0;
    let last: Place | undefined;
    for (const place of this.#first.from(this.#offset)) {
      const row = encode(place.item);
      bytes += JSON.stringify(row).length;
      if (bytes > limits.pageBytesMax && rows.length > 0) break;
      rows.push(row);
      last = place;
    }
    const hasMore = this.#offset + rows.length < this.#first.offered;
    const next = hasMore && last ? { next: printCursor(this.#sort, last) } : {};
    return { rows, total: this.#total, ...next };
  }
}

/** The first so many of all that it is offered. Of many, only few are sorted. */
export class Smallest<Item> {
  readonly #count: number;
  #kept: Ranked<Item>[] = [];
  #worst: Place | undefined;
  #offered = 0;

  constructor(count: number) {
    this.#count = count;
  }

  get offered(): number {
    return this.#offered;
  }

  offer(rank: Rank, id: string, item: Item): void {
    this.#offered += 1;
    if (this.#worst && compare(this.#worst, rank, id) < 0) return;
    this.#kept.push({ rank, id, item });
    if (this.#kept.length < 2 * this.#count + limits.fewPlaces) return;
    this.#kept = split(this.#kept, this.#count)[0];
    this.#worst = this.#kept.reduce((worst, place) => (order(worst, place) < 0 ? place : worst));
  }

  /** In their order, without the first few. */
  from(offset: number): readonly Ranked<Item>[] {
    const [kept] = split(this.#kept, this.#count);
    const [, wanted] = split(kept, offset);
    return wanted.sort(order);
  }
}

/** The first `count` and the rest, neither of them in order. */
function split<Item>(
  places: readonly Ranked<Item>[],
  count: number,
): [first: Ranked<Item>[], rest: Ranked<Item>[]] {
  if (count <= 0) return [[], [...places]];
  if (count >= places.length) return [[...places], []];
  const pivot = places[Math.floor(Math.random() * places.length)];
  if (!pivot || places.length <= limits.fewPlaces) {
    const sorted = places.toSorted(order);
    return [sorted.slice(0, count), sorted.slice(count)];
  }
  const before: Ranked<Item>[] = [];
  const behind: Ranked<Item>[] = [];
  for (const place of places) (order(place, pivot) < 0 ? before : behind).push(place);
  if (before.length >= count) {
    const [first, rest] = split(before, count);
    return [first, rest.concat(behind)];
  }
  const [first, rest] = split(behind, count - before.length);
  return [before.concat(first), rest];
}

function order(one: Place, { rank, id }: Place): number {
  return compare(one, rank, id);
}

function compare(one: Place, rank: Rank, id: string): number {
  if (one.rank !== rank) return one.rank < rank ? -1 : 1;
  if (one.id !== id) return one.id < id ? -1 : 1;
  return 0;
}

/** Short also where texts are strange: an address has no room for escapes. */
function printCursor(sort: string, { rank, id }: Place): string {
  const kind = typeof rank === "number" ? "n" : "s";
  const text = String(rank);
  return Buffer.from(`${sort} ${kind}${text.length} ${text}${id}`).toString("base64url");
}

/** Undefined if it is no cursor of ours, or one in another order. */
export function parseCursor(cursor: string, sort: string): Place | undefined {
  const text = Buffer.from(cursor, "base64url").toString();
  const [, name, kind, length, rest = ""] = /^(\w+) ([ns])(\d{1,5}) (.*)$/s.exec(text) ?? [];
  if (name !== sort) return undefined;
  const rank = rest.slice(0, Number(length));
  return { rank: kind === "n" ? Number(rank) : rank, id: rest.slice(Number(length)) };
}

/** Whether what `textOf` makes of an item has each word of a query, whatever their case. */
export function wordsOf<Item>(
  query: string | undefined,
  textOf: (item: Item) => string,
): (item: Item) => boolean {
  const words = (query ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return () => true;
  return (item) => {
    const text = textOf(item).toLowerCase();
    return words.every((word) => text.includes(word));
  };
}
