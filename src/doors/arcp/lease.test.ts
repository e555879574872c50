/** A lease is enforced outside of a job as it is inside. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { validateLeaseOp } from "./lease.ts";

const lease = { "fs.read": ["/w/**"], "tool.call": ["search.*"], "cost.budget": ["USD:1.00"] };
const constraints = { expires_at: "2030-01-01T00:00:00Z" };
const now = Date.parse("2029-01-01T00:00:00Z");

test("[ARCP-145] [ARCP-149] what a lease allows is allowed outside of a job, and the target to use is returned", () => {
  const ctx = { constraints, now };
  const read = { lease, capability: "fs.read", ctx };
  assert.equal(validateLeaseOp({ ...read, target: "/w/a/../b" }), "/w/b");
  assert.equal(
    validateLeaseOp({ lease, capability: "tool.call", target: "search.web" }),
    "search.web",
  );
  const inside = { ...ctx, workingDirectory: "/w" };
  assert.equal(validateLeaseOp({ ...read, target: "b", ctx: inside }), "/w/b");
});

test("[ARCP-145] what it does not allow throws: expiry first, then budget, then pattern", () => {
  const denied = { lease, capability: "fs.read", target: "/w/../etc/passwd" };
  const about = { capability: "fs.read", target: "/w/../etc/passwd" };
  const over = { currency: "USD", remaining: -0.12 };
  const budgetRemaining = { USD: -0.12 };
  assert.throws(() => validateLeaseOp({ ...denied, ctx: { constraints, now } }), {
    code: "PERMISSION_DENIED",
    details: about,
  });
  for (const rest of [budgetRemaining, new Map(Object.entries(budgetRemaining))]) {
    const ctx = { constraints, now, budgetRemaining: rest };
    assert.throws(() => validateLeaseOp({ ...denied, ctx }), {
      code: "BUDGET_EXHAUSTED",
      details: { ...about, ...over },
    });
  }
  const late = { constraints, now: Date.parse(constraints.expires_at), budgetRemaining };
  assert.throws(() => validateLeaseOp({ ...denied, ctx: late }), { code: "LEASE_EXPIRED" });
});

test("[ARCP-144] a lease or a bound that is malformed is refused, and allows nothing", () => {
  const operation = { lease, capability: "tool.call", target: "search.web" };
  const malformed = [
    { ...operation, lease: { "tool.call": [""] } },
    { ...operation, lease: { "any.thing": ["*"] } },
    { ...operation, ctx: { constraints: { expires_at: "tomorrow" } } },
    { ...operation, ctx: { budgetRemaining: { USD: Number.NaN } } },
    { ...operation, ctx: { constraints, now: Number.NaN } },
  ];
  for (const input of malformed) {
    assert.throws(() => validateLeaseOp(input), { code: "INVALID_REQUEST" });
  }
});
