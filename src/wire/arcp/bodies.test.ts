import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isKind, kinds, normaliseBody } from "./bodies.ts";
import { checkBody, isBeyondTotal } from "./body-rules.ts";

const error = { code: "PERMISSION_DENIED", message: "m", retryable: false };

const right: readonly (readonly [string, unknown])[] = [
  ["log", { level: "info", message: "" }],
  ["log", { level: "critical", message: "m", attributes: { a: 1 } }],
  ["thought", { text: "t" }],
  ["tool_call", { tool: "t", call_id: "c" }],
  ["tool_call", { tool: "t", args: {}, call_id: "c" }],
  ["tool_result", { call_id: "c", result: null }],
  ["tool_result", { call_id: "c", error }],
  ["tool_result", { call_id: "c", error: { ...error, details: {} } }],
  ["status", { phase: "running" }],
  ["status", { phase: "credential_rotated", message: "m", id: "cred_1", value: "v" }],
  ["metric", { name: "n", value: -1.5 }],
  ["metric", { name: "cost.x", value: 1, unit: "USD", dimensions: { a: "b" } }],
  ["artifact_ref", { uri: "u", content_type: "text/plain" }],
  ["artifact_ref", { uri: "u", content_type: "text/plain", byte_size: 0, sha256: "a".repeat(64) }],
  [
    "artifact_ref",
    { uri: "u", content_type: "text/plain", sha256: "sha256:47DEQpj8HBSa+/TImW+5JA==" },
  ],
  ["artifact_ref", { uri: "u", content_type: "text/plain", sha256: "" }],
  ["delegate", { delegate_id: "d", agent: "a" }],
  [
    "delegate",
    {
      delegate_id: "d",
      agent: "a@1",
      input: null,
      lease_request: { "fs.read": ["/x"] },
      lease_constraints: { expires_at: "2099-01-01T00:00:00Z" },
      child_job_id: "job_1",
    },
  ],
  ["progress", { current: 0 }],
  ["progress", { current: 7, total: 5, units: "u", message: "m" }],
  ["result_chunk", { result_id: "r", chunk_seq: 0, data: "", encoding: "utf8", more: false }],
  ["result_chunk", { result_id: "r", chunk_seq: 1, data: "AAE=", encoding: "base64", more: true }],
  ["x-vendor.acme", 7],
  ["x-vendor.acme.sub", null],
];

const wrong: readonly (readonly [string, unknown, string])[] = [
  ["log", { level: "warning", message: "m" }, "body.level"],
  ["log", { level: "info" }, "body.message"],
  ["log", { level: "info", message: "m", attributes: [] }, "body.attributes"],
  ["log", { level: "info", message: "m", attributes: null }, "body.attributes"],
  ["log", "m", "body"],
  ["log", null, "body"],
  ["thought", {}, "body.text"],
  ["tool_call", { name: "t", tool_call_id: "c" }, "body.tool"],
  ["tool_call", { tool: "t" }, "body.call_id"],
  ["tool_call", { tool: "t", call_id: "c", args: [] }, "body.args"],
  ["tool_result", { call_id: "c" }, "body"],
  ["tool_result", { call_id: "c", result: null, error }, "body"],
  ["tool_result", { call_id: "c", error: "m" }, "body.error"],
  ["tool_result", { call_id: "c", error: { ...error, code: "X" } }, "body.error.code"],
  ["tool_result", { call_id: "c", error: { ...error, message: "" } }, "body.error.message"],
  ["tool_result", { call_id: "c", error: { ...error, retryable: 1 } }, "body.error.retryable"],
  [
    "tool_result",
    { call_id: "c", error: { ...error, code: "LEASE_EXPIRED", retryable: true } },
    "body.error.retryable",
  ],
  ["tool_result", { call_id: "c", error: { ...error, details: [] } }, "body.error.details"],
  ["status", { phase: "" }, "body.phase"],
  ["status", { phase: "p", message: null }, "body.message"],
  ["metric", { name: "n", value: Number.NaN }, "body.value"],
  ["metric", { name: "n", value: Number.POSITIVE_INFINITY }, "body.value"],
  ["metric", { name: "n", value: "1" }, "body.value"],
  ["artifact_ref", { uri: "u" }, "body.content_type"],
  ["artifact_ref", { uri: "u", content_type: "t", byte_size: -1 }, "body.byte_size"],
  ["artifact_ref", { uri: "u", content_type: "t", sha256: 7 }, "body.sha256"],
  ["delegate", { delegate_id: "d" }, "body.agent"],
  [
    "delegate",
    { delegate_id: "d", agent: "a", lease_request: { "fs.read": "/x" } },
    "body.lease_request",
  ],
  ["progress", { current: -1 }, "body.current"],
  ["progress", { current: 1, total: -1 }, "body.total"],
  [
    "result_chunk",
    { result_id: "r", chunk_seq: 0.5, data: "", encoding: "utf8", more: false },
    "body.chunk_seq",
  ],
  [
    "result_chunk",
    { result_id: "r", chunk_seq: 0, data: "", encoding: "hex", more: false },
    "body.encoding",
  ],
  [
    "result_chunk",
    { result_id: "r", chunk_seq: 0, data: "A", encoding: "base64", more: false },
    "body.data",
  ],
  ["result_chunk", { result_id: "r", chunk_seq: 0, data: "", encoding: "utf8" }, "body.more"],
  ["brand_new", {}, "kind"],
  ["x-vendor.", {}, "kind"],
  ["X-VENDOR.a", {}, "kind"],
  ["__proto__", {}, "kind"],
];

test("[ARCP-121] [ARCP-123] [ARCP-192] bodies as the protocol has them are sent, vendors' whatever they are", () => {
  for (const [kind, body] of right) assert.equal(checkBody(kind, body), undefined, kind);
});

test("[ARCP-121] [ARCP-122] [ARCP-123] any other body is told by its path, and not sent", () => {
  for (const [kind, body, path] of wrong) {
    const problem = checkBody(kind, body);
    assert.equal(problem?.path, path, JSON.stringify([kind, body]));
    assert(problem.message.length < 300);
  }
});

test("[ARCP-121] progress beyond its total is sent, and can be told", () => {
  assert.equal(checkBody("progress", { current: 7, total: 5 }), undefined);
  assert(isBeyondTotal({ current: 7, total: 5 }));
  assert(!isBeyondTotal({ current: 5, total: 5 }) && !isBeyondTotal({ current: 7 }));
});

test("[ARCP-189] kinds are those of the protocol and of vendors", () => {
  const isSent = (kind: string): boolean => checkBody(kind, {})?.path !== "kind";
  for (const kind of kinds) assert(isKind(kind) && isSent(kind));
  assert(isSent("x-vendor.acme") && !isKind("x-vendor.acme"));
  assert(!isSent("brand_new"));
});

test("[ARCP-122] the spellings of others are one in the view", () => {
  const rows: readonly (readonly [string, unknown, unknown])[] = [
    [
      "log",
      { level: "WARNING", message: "m", fields: { a: 1 } },
      { level: "warn", message: "m", attributes: { a: 1 } },
    ],
    ["log", { level: "fatal", message: "m" }, { level: "critical", message: "m" }],
    ["log", { level: 7, message: "m" }, { level: "info", message: "m" }],
    [
      "tool_call",
      { name: "t", arguments: { a: 1 }, tool_call_id: "c" },
      { tool: "t", args: { a: 1 }, callId: "c" },
    ],
    ["tool_result", { tool_call_id: "c", output: 7 }, { callId: "c", result: 7 }],
    [
      "tool_result",
      { tool_call_id: "c", error: "no such tool" },
      {
        callId: "c",
        result: null,
        error: { code: "INTERNAL_ERROR", message: "no such tool", retryable: true },
      },
    ],
    ["status", { phase: "p", details: { a: 1 }, b: 2 }, { phase: "p", details: { a: 1, b: 2 } }],
    [
      "metric",
      { name: "n", value: 1, dims: { a: 1 } },
      { name: "n", value: 1, dimensions: { a: 1 } },
    ],
    [
      "metric",
      { name: "n", value: 1, attributes: { a: 1 } },
      { name: "n", value: 1, dimensions: { a: 1 } },
    ],
    [
      "artifact_ref",
      { artifact_id: "u", media_type: "t", size_bytes: 3, summary: "s" },
      { uri: "u", contentType: "t", byteSize: 3, summary: "s" },
    ],
    [
      "delegate",
      { child_job_id: "job_1", agent: "a", lease: { "fs.read": ["/x"] } },
      { agent: "a", input: null, leaseRequest: { "fs.read": ["/x"] }, childJobId: "job_1" },
    ],
    [
      "result_chunk",
      { result_id: "r", chunk_seq: 0, data: "d", more: true },
      { resultId: "r", chunkSeq: 0, data: "d", encoding: "utf8", more: true },
    ],
  ];
  for (const [kind, body, expected] of rows) {
    const view = JSON.parse(JSON.stringify(normaliseBody(kind, body)));
    assert.deepEqual(view, { kind, ...Object(expected) });
  }
});

test("[ARCP-122] whatever we send has a view, and what nobody understands has none", () => {
  for (const [kind, body] of right.filter(([kind]) => isKind(kind))) {
    assert.equal(normaliseBody(kind, body)?.kind, kind);
  }
  for (const kind of [...kinds, "brand_new", "x-vendor.acme"]) {
    for (const body of [null, [], "text", {}]) assert.equal(normaliseBody(kind, body), undefined);
  }
});

test("no body makes checking or viewing throw", () => {
  const names = [...new Set(right.flatMap(([, body]) => Object.keys(Object(body))))];
  const bodies = fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom(...names), fc.jsonValue()));
  fc.assert(
    fc.property(fc.constantFrom(...kinds), bodies, (kind, body) => {
      normaliseBody(kind, body);
      const problem = checkBody(kind, body);
      if (problem === undefined) assert(normaliseBody(kind, body));
    }),
    { numRuns: 2_000 },
  );
});
