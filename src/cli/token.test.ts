import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { temporaryDirectory } from "../testing/temporary.ts";
import { ensureToken, readToken, tokenPath } from "./token.ts";

test("a token is made once, and kept", async () => {
  await using place = await temporaryDirectory();
  const token = ensureToken(place.path);
  assert.match(token, /^[\w-]{43}$/);
  assert.equal(ensureToken(place.path), token);
  assert.equal(readToken(place.path), token);
});

test("a token file that is empty or has bytes that no header can carry is refused by name", async () => {
  await using place = await temporaryDirectory();
  for (const text of ["", "\n", "one two", "half\u0000", "caf\u00e9"]) {
    writeFileSync(tokenPath(place.path), text);
    assert.throws(() => ensureToken(place.path), {
      message: `${tokenPath(place.path)} is empty, damaged or not readable; delete it and start again`,
    });
  }
});
