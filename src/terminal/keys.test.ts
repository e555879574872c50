import assert from "node:assert/strict";
import { test } from "node:test";
import { type Key, KeyReader } from "./keys.ts";

const namesOf = (keys: readonly Key[]): readonly string[] =>
  keys.map((key) => (key.name === "text" ? key.text : key.name));

test("arrows of every kind of terminal are arrows, also with shift", () => {
  const keys = new KeyReader();
  assert.deepEqual(namesOf(keys.read("\x1b[A\x1bOB\x1b[1;2C\x1b[D")), [
    "up",
    "down",
    "right",
    "left",
  ]);
  assert.deepEqual(namesOf(keys.read("\x1b[5~\x1b[6~\x1b[H\x1b[4~\x1bOM")), [
    "page-up",
    "page-down",
    "home",
    "end",
    "enter",
  ]);
});

test("a key that comes in pieces is one key", () => {
  const keys = new KeyReader();
  assert.deepEqual(keys.read("\x1b"), []);
  assert.deepEqual(keys.read("["), []);
  assert.deepEqual(namesOf(keys.read("Aj")), ["up", "j"]);
  assert.equal(keys.isPending, false);
});

test("an escape after which nothing comes is the key, and one before a letter is too", () => {
  const keys = new KeyReader();
  assert.deepEqual(keys.read("\x1b"), []);
  assert.equal(keys.isPending, true);
  assert.deepEqual(namesOf(keys.flush()), ["escape"]);
  assert.deepEqual(namesOf(keys.read("\x1bq\x1b\x1b[B")), ["escape", "q", "escape", "down"]);
});

test("what is no key we know is dropped, and what follows is heard", () => {
  const keys = new KeyReader();
  assert.deepEqual(namesOf(keys.read("\x1b[200~\x1b[?1;2c\x1b[24~\x00\x02j")), ["j"]);
  // Half a sequence that never ends must not swallow the keys after it.
  assert.deepEqual(keys.read(`\x1b[${"1".repeat(100)}`).at(-1), { name: "text", text: "1" });
});

test("letters of any writing are text, one key each", () => {
  const keys = new KeyReader();
  assert.deepEqual(namesOf(keys.read("aß😀 ")), ["a", "ß", "😀", " "]);
});
