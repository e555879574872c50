import assert from "node:assert/strict";
import { test } from "node:test";
import { idFromKey } from "./idempotency.ts";

test("a key gives one id of 32 hex digits, and another for another kind", () => {
  assert.match(idFromKey("agent", "k"), /^[0-9a-f]{32}$/);
  assert.equal(idFromKey("agent", "k"), idFromKey("agent", "k"));
  assert.notEqual(idFromKey("agent", "k"), idFromKey("task", "k"));
  assert.notEqual(idFromKey("agent", "k"), idFromKey("agent", "K"));
});

test("ids do not change from release to release", () => {
  assert.equal(idFromKey("task", "order-7"), "9bb13001d92427cd7fc6e0d4dec3f7f6");
});
