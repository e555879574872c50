import assert from "node:assert/strict";
import { test } from "node:test";
import { describeAround } from "./ps.ts";
import { nowMs, seen } from "./testing.ts";

test("a list of nobody offers the one command that makes them appear", () => {
  const none = describeAround([], { agents: [], warnings: [], untold: 0, nowMs });
  assert.match(none, /^no agents; tipstaff install claude-code .*\n$/);
  const hidden = describeAround([], { agents: [seen()], warnings: [], untold: 0, nowMs });
  assert.match(hidden, /1 that ended or were lost: --all shows them\n$/);
});

test("of a fleet that is not told whole, that is said", () => {
  const agents = [seen()];
  const list = describeAround(agents, { agents, warnings: [], untold: 200, nowMs });
  assert.match(list, /1 agent · at least 200 more are registered: tipstaff agents lists them\n$/);
});
