import assert from "node:assert/strict";
import { test } from "node:test";
import { statOf } from "./stat.ts";

const rest = "1 7 7 34816 7 4194304 109 0 0 0 0 0 0 0 20 0 1 0 98765 5 0";

test("a process has a state, a parent and a start, whatever it calls itself", () => {
  for (const name of ["sh", "a b", ") Z 9 (", "(", "x) R 2 ", ""]) {
    assert.deepEqual(statOf(`42 (${name}) S ${rest}\n`), {
      state: "S",
      parent: 1,
      startTicks: "98765",
    });
  }
});

test("what is no such line says nothing", () => {
  for (const text of ["", "42", "42 (sh", "42 (sh) S", "42 (sh) S 1 7", `42 (sh) S x ${rest}`]) {
    assert.equal(statOf(text), undefined, text);
  }
});
