/** What someone may have meant. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest, slipsBetween } from "./suggest.ts";

test("wrong, missing, doubled and swapped letters are slips", () => {
  assert.equal(slipsBetween("leases", "leases"), 0);
  assert.equal(slipsBetween("leeses", "leases"), 1);
  assert.equal(slipsBetween("lases", "leases"), 1);
  assert.equal(slipsBetween("leasses", "leases"), 1);
  assert.equal(slipsBetween("laeses", "leases"), 1);
  assert.equal(slipsBetween("", "up"), 2);
  assert.equal(slipsBetween("agents", "events"), 2);
});

test("what is near is suggested, what is not is not", () => {
  const words = ["agents", "leases", "elections", "status", "up"];
  assert.equal(nearest("agnets", words), "agents");
  assert.equal(nearest("lease", words), "leases");
  assert.equal(nearest("elect", words), "elections");
  assert.equal(nearest("stats", words), "status");
  assert.equal(nearest("uo", words), "up");
  assert.equal(nearest("install", words), undefined);
  assert.equal(nearest("x", words), undefined);
});
