import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { limits } from "../limits.ts";
import { cutPage, decodePage } from "./pages.ts";

const listing = { keyOf: (key: string) => key, bytesOf: () => 1 };

test("pages in a row show everything once, in the order of the keys", () => {
  const keys = fc.uniqueArray(fc.string({ unit: "grapheme", minLength: 1 }), { maxLength: 60 });
  fc.assert(
    fc.property(keys, fc.integer({ min: 1, max: 20 }), (keys, pageSize) => {
      const seen: string[] = [];
      let pageToken = "";
      do {
        const start = decodePage({ pageSize, pageToken });
        assert(!start.refusal);
        const page = cutPage(keys, listing, start.value);
        assert(page.items.length <= pageSize);
        assert(page.items.length > 0 || keys.length === 0, "a page before the last has something");
        seen.push(...page.items);
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
      assert.deepEqual(
        seen,
        keys.toSorted((one, other) => (one < other ? -1 : 1)),
      );
    }),
  );
});

test("what comes and goes in between neither hides nor repeats the others", () => {
  const first = cutPage(["a", "c", "e", "g"], listing, { after: undefined, size: 2 });
  assert.deepEqual(first.items, ["a", "c"]);
  const start = decodePage({ pageSize: 2, pageToken: first.nextPageToken });
  assert(!start.refusal);
  const second = cutPage(["b", "d", "e", "g"], listing, start.value);
  assert.deepEqual(second.items, ["d", "e"]);
});

test("a page is as long as asked for, within bounds, and never too long to be sent", () => {
  const sizeOf = (pageSize: number): number | undefined => {
    const start = decodePage({ pageSize, pageToken: "" });
    return start.refusal ? undefined : start.value.size;
  };
  assert.deepEqual([sizeOf(0), sizeOf(7), sizeOf(2 ** 32 - 1)], [100, 7, 1_000]);
  const heavy = { keyOf: (key: string) => key, bytesOf: () => limits.listBytesMax };
  const page = cutPage(["a", "b"], heavy, { after: undefined, size: 10 });
  assert.deepEqual(page.items, ["a"], "one in any case");
  assert.notEqual(page.nextPageToken, "");
});

test("a token that is none of ours is refused", () => {
  for (const pageToken of ["*", "YQ==", "YQ\n", "_w", "YR"]) {
    assert.equal(decodePage({ pageSize: 0, pageToken }).refusal?.code, "invalid_argument");
  }
});
