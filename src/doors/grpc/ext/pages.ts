/**
 * A part of a long list, in the order of its keys. A page goes on after the last key of the one before,
 * so that what comes and goes in between neither hides nor repeats anything.
 */
import { malformed, type Parsed } from "../fields.ts";
import { limits } from "../limits.ts";

export type Listing<Item> = {
  /** No two items have the same. */
  readonly keyOf: (item: Item) => string;
  /** About what an item takes in the reply. */
  readonly bytesOf: (item: Item) => number;
};

export type Page<Item> = { readonly items: readonly Item[]; readonly nextPageToken: string };

export type PageRequest = { readonly pageSize: number; readonly pageToken: string };

/** Where a page begins, and how long it may be. */
export type PageStart = { readonly after: string | undefined; readonly size: number };

export function decodePage({ pageSize, pageToken }: PageRequest): Parsed<PageStart> {
  const size = Math.min(pageSize === 0 ? limits.pageDefault : pageSize, limits.pageMax);
  if (pageToken === "") return { value: { after: undefined, size } };
  const after = Buffer.from(pageToken, "base64url").toString();
  if (printToken(after) !== pageToken) return malformed("page_token is none of ours");
  return { value: { after, size } };
}

export function cutPage<Item>(
  items: Iterable<Item>,
  { keyOf, bytesOf }: Listing<Item>,
  { after, size }: PageStart,
): Page<Item> {
  const found = new Smallest<Item>(size + 1);
  for (const item of items) {
    const key = keyOf(item);
    if (after === undefined || key > after) found.offer(key, item);
  }
  const page: Item[] = [];
  let bytes = 0;
  let lastKey = "";
  for (const { key, item } of found.inOrder) {
    bytes += bytesOf(item);
    const isFull = page.length === size || (page.length > 0 && bytes > limits.listBytesMax / 2);
    if (isFull) return { items: page, nextPageToken: printToken(lastKey) };
    page.push(item);
    lastKey = key;
  }
  return { items: page, nextPageToken: "" };
}

function printToken(key: string): string {
  return Buffer.from(key).toString("base64url");
}

/** The few smallest keys of many. Most that come by are too large, and cost one comparison. */
class Smallest<Item> {
  readonly inOrder: { readonly key: string; readonly item: Item }[] = [];
  readonly #size: number;

  constructor(size: number) {
    this.#size = size;
  }

  offer(key: string, item: Item): void {
    const { inOrder } = this;
    const last = inOrder.at(-1);
    if (inOrder.length === this.#size && last && key > last.key) return;
    let low = 0;
    let high = inOrder.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((inOrder[middle]?.key ?? "") < key) low = middle + 1;
      else high = middle;
    }
    inOrder.splice(low, 0, { key, item });
    if (inOrder.length > this.#size) inOrder.pop();
  }
}
