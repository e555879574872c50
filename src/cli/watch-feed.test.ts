import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sighting, SourceKind } from "../wire/api/index.ts";
import { joinFresh } from "./watch-feed.ts";

function seen(id: string, source: SourceKind, doing: string): Sighting {
  const known = [{ source, state: "working", word: "working", heardAtMs: 1 }] as const;
  return { id, name: id, host: "here", state: "working", known, isContradicted: false, doing };
}

const doings = (agents: readonly Sighting[]): readonly (string | undefined)[] =>
  agents.map(({ doing }) => doing);

test("of a registered agent the daemon tells, of one with a file what was seen here a moment ago", () => {
  const told = [seen("a", "registry", "a as told"), seen("b", "file", "b as told")];
  const own = [seen("a", "file", "a as seen"), seen("b", "file", "b as seen")];
  assert.deepEqual(doings(joinFresh(told, own)), ["a as told", "b as seen"]);
});

test("whom only one of both knows is there once", () => {
  const told = [seen("far", "file", "on another machine")];
  const own = [seen("near", "process", "here")];
  assert.deepEqual(doings(joinFresh(told, own)).toSorted(), ["here", "on another machine"]);
  assert.equal(joinFresh([], own), own);
  assert.deepEqual(joinFresh(told, []), told);
});
