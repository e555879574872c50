import assert from "node:assert/strict";
import { test } from "node:test";
import { describeAround } from "./ps.ts";
import { nowMs, seen } from "./testing.ts";

test("a list of nobody offers the one command that makes them appear", () => {
  const none = describeAround([], { agents: [], warnings: [], nowMs });
  assert.match(none, /^no agents; tipstaff install claude-code .*\n$/);
  const hidden = describeAround([], { agents: [seen()], warnings: [], nowMs });
  assert.match(hidden, /1 that ended or were lost: --all shows them\n$/);
});
