import assert from "node:assert/strict";
import { test } from "node:test";
import type { Known, Sighting, SourceKind } from "../wire/api/index.ts";
import { goesBy, joined } from "./one-list.ts";
import { seen } from "./testing.ts";

function from(id: string, source: SourceKind, doing: string): Sighting {
  return seen({ id, doing, known: [{ ...known, source }] });
}

const known: Known = { source: "hook", state: "working", word: "working", heardAtMs: 1 };

const file = (path: string): Known => ({ ...known, path });

const doings = (agents: readonly Sighting[]): readonly (string | undefined)[] =>
  agents.map(({ doing }) => doing);

test("of a registered agent the daemon tells, of one with a file what was seen here a moment ago", () => {
  const told = [from("a", "registry", "a as told"), from("b", "file", "b as told")];
  const own = [from("a", "file", "a as seen"), from("b", "file", "b as seen")];
  assert.deepEqual(doings(joined(told, own)), ["a as told", "b as seen"]);
});

test("whom only one of both knows is there once", () => {
  const told = [from("far", "file", "on another machine")];
  const own = [from("near", "process", "here")];
  assert.deepEqual(doings(joined(told, own)).toSorted(), ["here", "on another machine"]);
  assert.equal(joined([], own), own);
  assert.deepEqual(joined(told, []), told);
});

test("under another id, the same process or file is the same agent, and whoever waits comes first", () => {
  const registered = seen({ id: "r", known: [{ ...file("/s/a.json"), source: "registry" }] });
  const process = seen({ id: "p", pid: 7, startedAtMs: 5, known: [] });
  const told = [registered, process];
  const ids = (own: readonly Sighting[]): readonly string[] =>
    joined(told, own).map(({ id }) => id);
  assert.deepEqual(ids([seen({ id: "a", known: [file("/s/a.json")] })]), ["r", "p"]);
  assert.deepEqual(ids([seen({ id: "q", pid: 7, startedAtMs: 5, known: [] })]), ["q", "r"]);
  const waiting = seen({ id: "w", state: "waiting", known: [file("/s/w.json")] });
  assert.deepEqual(ids([waiting]), ["w", "p", "r"]);
});

test("the same process number on another machine is another agent", () => {
  const there = seen({ id: "x", host: "b", pid: 7, startedAtMs: 5, known: [file("/s/a.json")] });
  const here = seen({ id: "y", pid: 7, startedAtMs: 5, known: [file("/s/a.json")] });
  assert.equal(joined([there], [here]).length, 2);
});

test("an agent goes by its id and by its name, not by a part of them", () => {
  const agent = seen({ id: "codex-1", name: "codex" });
  assert.deepEqual(
    ["codex-1", "codex", "code", ""].map((word) => goesBy(agent, word)),
    [true, true, false, false],
  );
});
