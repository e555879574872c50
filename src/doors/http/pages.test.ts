import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { limits } from "./limits.ts";
import {
  type Cut,
  type CutPage,
  cutPage,
  parseCursor,
  type Rank,
  Smallest,
  wordsOf,
} from "./pages.ts";
import type { Look } from "./slices.ts";

type Item = { readonly id: string; readonly rank: Rank };

const everything = { limit: 1_000_000 };

function cut(
  items: readonly Item[],
  rest: Partial<Cut> & { readonly after?: string } = {},
): CutPage<string> {
  const { after, ...given } = rest;
  const start = after === undefined ? undefined : parseCursor(after, "by");
  assert.equal(start === undefined, after === undefined);
  const listing = {
    items,
    wants: () => true,
    rankOf: ({ rank }: Item) => rank,
    idOf: ({ id }: Item) => id,
  };
  return done(cutPage(listing, { sort: "by", start, ...given }, ({ id }) => id));
}

/** Goes on wherever a look may be interrupted. */
function done<Value>(look: Look<Value>): Value {
  for (;;) {
    const step = look.next();
    if (step.done) return step.value;
  }
}

function inOrder(items: readonly Item[]): readonly string[] {
  return items
    .toSorted((one, other) => {
      if (one.rank !== other.rank) return one.rank < other.rank ? -1 : 1;
      return one.id < other.id ? -1 : 1;
    })
    .map(({ id }) => id);
}

const numbered = fc.record({
  id: fc.string({ unit: "binary" }),
  rank: fc.integer({ min: -9, max: 9 }),
});
const named = fc.record({ id: fc.string(), rank: fc.string({ unit: "binary" }) });
const items: fc.Arbitrary<Item[]> = fc.oneof(
  fc.uniqueArray(numbered, { selector: ({ id }) => id }),
  fc.uniqueArray(named, { selector: ({ id }) => id }),
);

test("a page is the part of the whole order that was asked for", () => {
  fc.assert(
    fc.property(items, fc.nat(20), fc.integer({ min: 1, max: 20 }), (all, offset, limit) => {
      const { rows, total } = cut(all, { offset, limit });
      assert.deepEqual(rows, inOrder(all).slice(offset, offset + limit));
      assert.equal(total, all.length);
    }),
  );
});

test("walking the pages gives each row that stays exactly once, in order, whatever comes and goes", () => {
  const step = fc.record({
    limit: fc.integer({ min: 1, max: 5 }),
    gone: fc.nat(3),
    come: fc.nat(3),
  });
  fc.assert(
    fc.property(items, fc.array(step), fc.infiniteStream(fc.nat()), (all, steps, chance) => {
      const pick = (): number => chance.next().value ?? 0;
      const rankLike = (): Rank => all[pick() % all.length]?.rank ?? 0;
      const present = new Map(all.map((item) => [item.id, item]));
      const stayed = new Set(present.keys());
      const seen: string[] = [];
      let after: string | undefined;
      for (let turn = 0; ; turn++) {
        const { limit = 3, gone = 0, come = 0 } = steps[turn] ?? {};
        const page = cut([...present.values()], {
          limit,
          ...(after === undefined ? {} : { after }),
        });
        seen.push(...page.rows);
        if (page.next === undefined) break;
        after = page.next;
        for (let index = 0; index < gone; index++) {
          const [id = ""] = [...present.keys()].slice(pick() % present.size);
          present.delete(id);
          stayed.delete(id);
        }
        for (let index = 0; index < come && all.length > 0; index++) {
          const id = `new-${turn}-${index}`;
          present.set(id, { id, rank: rankLike() });
        }
      }
      assert.equal(new Set(seen).size, seen.length, "no row twice");
      const wanted = inOrder(all.filter(({ id }) => stayed.has(id)));
      assert.deepEqual(
        seen.filter((id) => stayed.has(id)),
        wanted,
      );
    }),
  );
});

test("a page goes on after a row that is gone", () => {
  const all = ["a", "b", "c", "d"].map((id) => ({ id, rank: id }));
  const { next = "" } = cut(all, { limit: 2 });
  assert.deepEqual(cut(all.slice(2), { after: next }).rows, ["c", "d"]);
  const further = cut(all, { after: next, offset: 1 });
  assert.deepEqual([further.rows, further.total, further.next], [["d"], 4, undefined]);
});

test("beyond the end there is nothing, and nothing after it", () => {
  const all = [{ id: "a", rank: 1 }];
  assert.deepEqual(cut(all, { offset: Number.MAX_SAFE_INTEGER }), { rows: [], total: 1 });
  assert.deepEqual(cut([]), { rows: [], total: 0 });
});

test("a page ends early where rows are long, and has at least one", () => {
  const long = limits.pageBytesMax / 2;
  const all = ["a", "b", "c"].map((letter) => ({ id: letter.repeat(long - 2), rank: letter }));
  const first = cut(all);
  assert.deepEqual([first.rows.length, first.total], [2, 3]);
  assert.equal(cut([{ id: "x".repeat(limits.pageBytesMax + 1), rank: 0 }]).rows.length, 1);
});

test("a cursor fits into an address, and is one of its own order only", () => {
  const worst = "\u0000".repeat(1_024);
  const all = [1, 2].map((number) => ({ id: `${number}${worst.slice(1)}`, rank: worst }));
  const { next = "" } = cut(all, { limit: 1 });
  assert(next.length < 4_096, `${next.length}`);
  assert.deepEqual(parseCursor(next, "by"), all[0]);
  assert.equal(parseCursor(next, "other"), undefined);
  for (const text of ["", "x", "====", Buffer.from("by n").toString("base64url"), "ü"]) {
    assert.equal(parseCursor(text, "by"), undefined, text);
  }
});

test("the first few of many are the same as if all were sorted", () => {
  const many = Array.from({ length: 5_000 }, (_, number) => (number * 7_919) % 5_000);
  for (const numbers of [many, many.toSorted((a, b) => a - b), many.toSorted((a, b) => b - a)]) {
    const first = new Smallest<number>(10);
    for (const number of numbers) {
      if (first.offer(number, String(number), number)) done(first.shrink());
    }
    const shown = done(first.from(3)).map(({ item }) => item);
    assert.deepEqual(shown, [3, 4, 5, 6, 7, 8, 9]);
    assert.equal(first.offered, 5_000);
  }
});

test("a long list can be interrupted often, wherever its page begins", () => {
  const all = Array.from({ length: 10_000 }, (_, number) => ({ id: String(number), rank: number }));
  let looked = 0;
  const wants = (): boolean => {
    looked += 1;
    return true;
  };
  const rankOf = ({ rank }: Item): Rank => rank;
  const listing = { items: all, wants, rankOf, idOf: ({ id }: Item) => id };
  for (const offset of [0, 5_000]) {
    const look = cutPage(listing, { sort: "by", offset }, ({ id }) => id);
    for (let before = looked; !look.next().done; before = looked) {
      assert(looked - before <= limits.fewPlaces);
    }
  }
});

test("a text has each word of a query, whatever their case", () => {
  const has = (query: string, text: string): boolean =>
    wordsOf(query, (item: string) => item)(text);
  assert(has("", "anything"));
  assert(has("  ", "anything"));
  assert(has("fetch PAGES", "Fetches web pages"));
  assert(has("Ü", "ü"));
  assert(!has("fetch images", "Fetches web pages"));
  assert(!has("*", "anything"));
  assert.equal(cut([], everything).total, 0);
});
