import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { canonicalJson, submitFingerprint } from "./canonical.ts";
import { isObject } from "./fields.ts";

/** The same, with the members of every object the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, inner]) => [key, reversed(inner)]),
  );
}

test("[ARCP-94] equal values have one text, whatever the order of their keys, and it reads as the value", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value);
      assert.equal(canonicalJson(reversed(value)), text);
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
    }),
  );
});

test("[ARCP-94] values that differ have texts that differ", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      const [a, b] = [one, other].map((value) => JSON.parse(JSON.stringify(value)));
      const isSame = canonicalJson(a) === canonicalJson(b);
      if (isSame) assert.deepEqual(a, b);
      else assert.notDeepEqual(a, b);
    }),
  );
  assert.notEqual(canonicalJson({ a: "1" }), canonicalJson({ a: 1 }));
  assert.notEqual(canonicalJson([1, [2]]), canonicalJson([1, 2]));
});

test("[ARCP-94] the key itself and absent inputs make no difference to a submit; everything else does", () => {
  const submit = { agent: "a", lease_request: { b: ["2"], a: ["1"] } };
  const same = submitFingerprint({ ...submit, idempotency_key: "k1", input: null });
  assert.equal(
    submitFingerprint({ lease_request: { a: ["1"], b: ["2"] }, agent: "a", idempotency_key: "k2" }),
    same,
  );
  assert.notEqual(submitFingerprint({ ...submit, input: 0 }), same);
  assert.notEqual(submitFingerprint({ ...submit, max_runtime_sec: 1 }), same);
  assert.notEqual(
    submitFingerprint({ ...submit, input: { a: null } }),
    submitFingerprint({ ...submit, input: {} }),
  );
});
