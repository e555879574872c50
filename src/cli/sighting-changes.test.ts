import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sighting } from "../wire/api/index.ts";
import { changesBetween } from "./sighting-changes.ts";

const one: Sighting = {
  id: "one",
  name: "one",
  host: "here",
  state: "working",
  known: [{ source: "file", state: "working", word: "working", heardAtMs: 1 }],
  isContradicted: false,
};
const two: Sighting = { ...one, id: "two" };
const known = new Map([one, two].map((agent) => [agent.id, agent]));

test("who is gone comes first, then what is new, then what changed, in the order of the list", () => {
  const three = { ...one, id: "three" };
  const waiting: Sighting = { ...two, state: "waiting" };
  assert.deepEqual(changesBetween(known, [waiting, three]), [
    { type: "remove", agent: one },
    { type: "state", agent: waiting, before: "working" },
    { type: "upsert", agent: three },
  ]);
});

test("that a source was heard again is no change, and anything else is", () => {
  const [best] = one.known;
  assert.ok(best);
  const heard = { ...one, known: [{ ...best, heardAtMs: 2 }] };
  assert.deepEqual(changesBetween(known, [heard, two]), []);
  const busy = { ...one, doing: "npm test" };
  assert.deepEqual(changesBetween(known, [busy, two]), [{ type: "upsert", agent: busy }]);
});
