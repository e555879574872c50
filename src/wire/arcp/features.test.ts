import assert from "node:assert/strict";
import { test } from "node:test";
import { features, intersectFeatures, skippedKinds, skipsKind } from "./features.ts";
import { isOptional, isVendorKind, isVendorName, sendableExtensions } from "./vendor.ts";

test("[ARCP-49] [PYC-3] [PYR-19] [PY-2] what both know is effective, in the client's order, once", () => {
  const offered = ["subscribe", "ack", "ack", "telepathy", "heartbeat"];
  assert.deepEqual(intersectFeatures(offered, features), ["subscribe", "ack", "heartbeat"]);
  const usual = features.slice(0, 9);
  assert.deepEqual(intersectFeatures(usual, features), usual);
});

test("[ARCP-50] no features are none, and a vendor's are like any other", () => {
  assert.deepEqual(intersectFeatures([], features), []);
  const own = "x-vendor.acme.fast";
  assert.deepEqual(intersectFeatures([own], [...features, own]), [own]);
  assert.deepEqual(intersectFeatures(["__proto__"], features), []);
});

test("[ARCP-54] progress and chunks are only for those who asked for them", () => {
  assert.deepEqual(skippedKinds(new Set()), ["progress", "result_chunk"]);
  assert.deepEqual(skippedKinds(new Set(["progress"])), ["result_chunk"]);
  assert(!skipsKind(new Set(), "log") && !skipsKind(new Set(), "x-vendor.acme"));
});

test("[ARCP-189] names of vendors have a vendor and a name; kinds need only one of them", () => {
  for (const name of ["x-vendor.acme.a", "x-vendor.acme.a.b-c_d.1"]) assert(isVendorName(name));
  const others = ["x-vendor", "x-vendor.acme", "x-vendor.acme.", "x-vendor..a", "x-vendor.Acme.a"];
  for (const name of [...others, "y-vendor.acme.a", `x-vendor.acme.${"a".repeat(300)}`]) {
    assert(!isVendorName(name), name);
  }
  assert(isVendorKind("x-vendor.acme") && isVendorKind("x-vendor.acme.a"));
  assert(!isVendorKind("x-vendor.") && !isVendorKind("x-vendor.A"));
});

test("[ARCP-190] [ARCP-192] only vendors' keys are sent, and `optional` if it is a boolean", () => {
  const own = { "x-vendor.acme.a": { deep: [1] } };
  assert.equal(sendableExtensions(own), own);
  assert.deepEqual(sendableExtensions({ ...own, optional: true, "arcpx.a": 1, b: 2 }), {
    ...own,
    optional: true,
  });
  assert.equal(sendableExtensions({ optional: "yes" }), undefined);
  assert.equal(sendableExtensions({}), undefined);
  assert.equal(sendableExtensions(undefined), undefined);
});

test("[ARCP-191] a message is optional only if it says so", () => {
  assert(isOptional({ optional: true }));
  for (const optional of [false, "true", 1, null]) assert(!isOptional({ optional }));
  assert(!isOptional(undefined));
});
