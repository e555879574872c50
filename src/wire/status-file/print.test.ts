import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareCodePoints } from "./order.ts";
import { printJson, printRecord } from "./print.ts";
import type { Json } from "./record.ts";

/** Any at all, halves of characters included. */
const character = fc
  .oneof(fc.nat(0x7f), fc.nat(0xffff), fc.nat(0x10_ffff))
  .map((code) => String.fromCodePoint(code));

test("[TV-1] the least record has one printed form", () => {
  const record = {
    schema_version: "agent-status/v1alpha1",
    agent_id: "a",
    agent_name: "n",
    runtime: { updated_at: "2026-06-20T16:45:00Z", lifecycle: "running" },
  } as const;
  assert.equal(
    printRecord(record),
    `{
  "agent_id": "a",
  "agent_name": "n",
  "runtime": {
    "lifecycle": "running",
    "updated_at": "2026-06-20T16:45:00Z"
  },
  "schema_version": "agent-status/v1alpha1"
}
`,
  );
});

test("[TV-29] names are in the order of their characters, also those that look like numbers", () => {
  const value: Json = JSON.parse('{"10":1,"9":2,"__proto__":{"z":1},"B":1,"a":[],"A":1}');
  assert.deepEqual(namesIn(printJson(value)), ["10", "9", "A", "B", "__proto__", "z", "a"]);
});

test("[TV-30] what lies beyond 16 bits comes after what does not", () => {
  const value = { "\u{1f600}k": 1, "\ufffdk": 2, "\ud83d": 3 };
  const text = printJson(value);
  assert(text.indexOf('\\ud83d"') < text.indexOf("\\ufffdk"));
  assert(text.indexOf("\\ufffdk") < text.indexOf("\\ud83d\\ude00k"));
});

test("[TV-8] only ASCII is printed", () => {
  assert.equal(printJson("naïve 😀 日本"), '"na\\u00efve \\ud83d\\ude00 \\u65e5\\u672c"\n');
  assert.equal(
    printJson('\n\r\t\b\f"\\/\u0000\u001b\u007f'),
    '"\\n\\r\\t\\b\\f\\"\\\\/\\u0000\\u001b\\u007f"\n',
  );
});

test("empty things take no line, and lists keep their order", () => {
  assert.equal(
    printJson({ b: [], a: {}, c: [2, 1, [null]] }),
    `{
  "a": {},
  "b": [],
  "c": [
    2,
    1,
    [
      null
    ]
  ]
}
`,
  );
});

test("what JSON has no word for is left out or null", () => {
  const value: object = { a: undefined, b: Number.NaN, c: -0 };
  assert.equal(printJson(value as Json), '{\n  "b": null,\n  "c": 0\n}\n');
});

test("deeper than readers go is an error, not an endless file", () => {
  let value: Json = 1;
  for (let level = 0; level < 500; level++) value = [value];
  assert(printJson(value).length > 0);
  assert.throws(() => printJson([value]), RangeError);
  const round: Json[] = [];
  round.push(round);
  assert.throws(() => printJson(round), RangeError);
});

test("the order of code points is that of UTF-32", () => {
  const characters = fc.string({ unit: character, maxLength: 4 });
  fc.assert(
    fc.property(characters, characters, (a, b) => {
      const [one, other] = [[...a], [...b]].map((each) =>
        each.map((character) => (character.codePointAt(0) ?? 0).toString(16).padStart(6, "0")),
      );
      const expected = Math.sign(compareTexts(one?.join("") ?? "", other?.join("") ?? ""));
      assert.equal(Math.sign(compareCodePoints(a, b)), expected);
    }),
    { numRuns: 2_000 },
  );
});

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/"([^"]+)":/g)].map(([, name = ""]) => name);
}
