/**
 * One page of a long list: what matches, in some order, a part of it. A page goes on after the last row
 * of the one before, wherever that row would stand now, so that what comes and goes in between neither
 * hides nor repeats a row.
 */
import { limits as wireLimits } from "../../wire/openapi/index.ts";
import { limits } from "./limits.ts";
import type { Look } from "./slices.ts";

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

export function* cutPage<Item, Row>(
  { items, wants, rankOf, idOf }: Listing<Item>,
  { sort, limit = wireLimits.pageDefault, offset = 0, start }: Cut,
  encode: (item: Item) => Row,
): Look<CutPage<Row>> {
  const first = new Smallest<Item>(offset + limit);
  let looked = 0;
  let total = 0;
  for (const item of items) {
    looked += 1;
    if (looked % limits.fewPlaces === 0) yield;
    if (!wants(item)) continue;
    total += 1;
    const rank = rankOf(item);
    if (start && compare(start, rank, idOf(item)) >= 0) continue;
    if (first.offer(rank, idOf(item), item)) yield* first.shrink();
  }
  const rows: Row[] = [];
  let bytes = 0;
  let last: Place | undefined;
  for (const place of yield* first.from(offset)) {
    const row = encode(place.item);
    bytes += JSON.stringify(row).length;
    if (bytes > limits.pageBytesMax && rows.length > 0) break;
    rows.push(row);
    last = place;
  }
  const hasMore = offset + rows.length < first.offered;
  return { rows, total, ...(hasMore && last ? { next: printCursor(sort, last) } : {}) };
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

  /** Whether it is time to `shrink`. */
  offer(rank: Rank, id: string, item: Item): boolean {
    this.#offered += 1;
    if (this.#worst && compare(this.#worst, rank, id) < 0) return false;
    this.#kept.push({ rank, id, item });
    return this.#kept.length >= 2 * this.#count + limits.fewPlaces;
  }

  /** Forgets those that are not among the first. */
  *shrink(): Look<void> {
    const [kept] = yield* split(this.#kept, this.#count);
    this.#kept = kept;
    this.#worst = kept.reduce((worst, place) => (order(worst, place) < 0 ? place : worst));
  }

  /** In their order, without the first few. */
  *from(offset: number): Look<readonly Ranked<Item>[]> {
    const [kept] = yield* split(this.#kept, this.#count);
    const [, wanted] = yield* split(kept, offset);
    return wanted.sort(order);
  }
}

type Split<Item> = [first: Ranked<Item>[], rest: Ranked<Item>[]];

/** The first `count` and the rest, neither of them in order. */
function* split<Item>(places: readonly Ranked<Item>[], count: number): Look<Split<Item>> {
  if (count <= 0) return [[], [...places]];
  if (count >= places.length) return [[...places], []];
  const pivot = places[Math.floor(Math.random() * places.length)];
  if (!pivot || places.length <= limits.fewPlaces) {
    const sorted = places.toSorted(order);
    return [sorted.slice(0, count), sorted.slice(count)];
  }
  const before: Ranked<Item>[] = [];
  const behind: Ranked<Item>[] = [];
  for (const [index, place] of places.entries()) {
    if (index % limits.fewPlaces === 0) yield;
    (order(place, pivot) < 0 ? before : behind).push(place);
  }
  if (before.length >= count) {
    const [first, rest] = yield* split(before, count);
    return [first, rest.concat(behind)];
  }
  const [first, rest] = yield* split(behind, count - before.length);
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
