/**
 * One page of a long list: what matches, in some order, a part of it. A page goes on after the last row
 * of the one before, wherever that row would stand now, so that what comes and goes in between neither
 * hides nor repeats a row.
 */
import { limits as wireLimits } from "../../wire/openapi/index.ts";
import { limits } from "./limits.ts";

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
  readonly limit?: number;
  readonly offset?: number;
  readonly after?: string;
};

type Place = { readonly rank: Rank; readonly id: string };
type Ranked<Item> = Place & { readonly item: Item };

/** Undefined if `after` is no cursor of ours. */
export function cutPage<Item, Row>(
  { items, wants, rankOf, idOf }: Listing<Item>,
  { limit = wireLimits.pageDefault, offset = 0, after }: Cut,
  encode: (item: Item) => Row,
): { readonly rows: readonly Row[]; readonly total: number; readonly next?: string } | undefined {
  const start = after === undefined ? undefined : parseCursor(after);
  if (after !== undefined && !start) return undefined;
  let total = 0;
  const ranked: Ranked<Item>[] = [];
  for (const item of items) {
    if (!wants(item)) continue;
    total += 1;
    const place = { rank: rankOf(item), id: idOf(item), item };
    if (!start || compare(start, place) < 0) ranked.push(place);
  }
  const first = smallest(ranked, offset + limit).slice(offset);
  const rows: Row[] = [];
  let bytes = 0;
  let last: Place | undefined;
  for (const place of first) {
    const row = encode(place.item);
    bytes += JSON.stringify(row).length;
    if (bytes > limits.pageBytesMax && rows.length > 0) break;
    rows.push(row);
    last = place;
  }
  const hasMore = last !== undefined && offset + rows.length < ranked.length;
  return { rows, total, ...(hasMore && last ? { next: printCursor(last) } : {}) };
}

function compare(one: Place, other: Place): number {
  if (one.rank !== other.rank) return one.rank < other.rank ? -1 : 1;
  if (one.id !== other.id) return one.id < other.id ? -1 : 1;
  return 0;
}

/** The first `count` in order. Of many, only few are sorted. */
function smallest<Item>(places: Ranked<Item>[], count: number): Ranked<Item>[] {
  if (places.length <= count * 4) return places.sort(compare).slice(0, count);
  let kept: Ranked<Item>[] = [];
  let worst: Ranked<Item> | undefined;
  for (const place of places) {
    if (worst && compare(worst, place) < 0) continue;
    kept.push(place);
    if (kept.length < 2 * count) continue;
    kept = kept.sort(compare).slice(0, count);
    worst = kept.at(-1);
  }
  return kept.sort(compare).slice(0, count);
}

function printCursor({ rank, id }: Place): string {
  return Buffer.from(JSON.stringify([rank, id])).toString("base64url");
}

function parseCursor(text: string): Place | undefined {
  try {
    const [rank, id] = JSON.parse(Buffer.from(text, "base64url").toString());
    const isRank = typeof rank === "number" || typeof rank === "string";
    return isRank && typeof id === "string" ? { rank, id } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a text contains each word of a query, whatever their case. */
export function wordsOf(query: string | undefined): (text: string) => boolean {
  const words = (query ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return () => true;
  return (text) => words.every((word) => text.includes(word));
}
