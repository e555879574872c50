import assert from "node:assert/strict";
import { test } from "node:test";
import {
  printTraceparent,
  readTraceparent,
  traceHeadersIn,
  traceHeadersKey,
  traceHeadersOf,
} from "./trace-headers.ts";

const traceId = "392b193cf3cefb1e7864ff0932afab10";
const spanId = "90ebdc8a3358ab63";

test("[ARCP-183] flags of a trace may be any byte, and come back as they were", () => {
  for (const [text, flags] of [
    ["00", 0],
    ["01", 1],
    ["03", 3],
    ["ff", 255],
  ] as const) {
    const traceparent = `00-${traceId}-${spanId}-${text}`;
    assert.deepEqual(readTraceparent(traceparent), { traceId, spanId, flags });
    assert.equal(printTraceparent({ traceId, spanId, flags }), traceparent);
  }
});

test("a later version of the header is read as far as it is known, and passed on as the first", () => {
  const carried = { traceparent: `cc-${traceId}-${spanId}-03-what the future holds ü` };
  assert.deepEqual(traceHeadersIn({ [traceHeadersKey]: carried }), {
    traceparent: `00-${traceId}-${spanId}-03`,
  });
});

test("what is no header is as good as nothing", () => {
  const traceparent = `00-${traceId}-${spanId}-01`;
  const nothing: readonly unknown[] = [
    undefined,
    null,
    traceparent,
    {},
    { traceparent: 1 },
    { traceparent: traceId },
    { traceparent: `00-${traceId}-0000000000000000-01` },
    { traceparent: `00-${"0".repeat(32)}-${spanId}-01` },
    { traceparent: traceparent.toUpperCase() },
    { traceparent: `ff-${traceId}-${spanId}-01` },
    { traceparent: `${traceparent}\r\nx-injected: 1` },
  ];
  for (const carried of nothing) {
    assert.equal(traceHeadersIn({ [traceHeadersKey]: carried }), undefined);
  }
  assert.equal(traceHeadersIn(undefined), undefined);
  for (const tracestate of [1, "", "a=1\r\nx: 1", "ü=1", "a".repeat(513)]) {
    const carried = { traceparent, tracestate };
    assert.deepEqual(traceHeadersIn({ [traceHeadersKey]: carried }), { traceparent });
  }
  const whole = { traceparent, tracestate: "vendor=some, other=1" };
  assert.deepEqual(traceHeadersIn({ [traceHeadersKey]: whole }), whole);
});

test("a trace of which only the id is known has headers that can be read", () => {
  for (const id of [traceId, `${"0".repeat(31)}1`, `1${"0".repeat(31)}`]) {
    const point = readTraceparent(traceHeadersOf(id).traceparent);
    assert.equal(point?.traceId, id);
    assert.equal(point.flags, 1);
    assert.deepEqual(traceHeadersOf(id), traceHeadersOf(id));
  }
});
