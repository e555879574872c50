import assert from "node:assert/strict";
import { test } from "node:test";
import { eventKinds } from "../../wire/work/index.ts";
import { encodeEvent } from "./events.ts";

function encoded(kind: string, body: unknown): unknown {
  const { kind: told, body: text } = encodeEvent(kind, JSON.stringify(body));
  return [told, JSON.parse(text)];
}

test("kinds that we and ARCP have in common, ARCP's own and vendors' are printed as they were stored", () => {
  const same: readonly (readonly [string, string])[] = [
    ["log", '{ "level":"info", "message":"a" }'],
    ["progress", '{"message":"half","current":1}'],
    ["tool_result", '{"call_id":"c","result": 1 }'],
    ["artifact_ref", '{"uri":"a:b","content_type":"text/plain"}'],
    ["x-vendor.acme.mood", " [1]"],
  ];
  for (const [kind, body] of same) assert.deepEqual(encodeEvent(kind, body), { kind, body });
});

test("events of our own become ARCP's kinds where it has one, and vendor kinds otherwise", () => {
  assert.deepEqual(encoded("progress", { message: 'the "current": page' }), [
    "status",
    { phase: "progress", message: 'the "current": page' },
  ]);
  const artifact = { name: "a", uri: "x:1", mime_type: "", size_bytes: 3, sha256: "0a" };
  assert.deepEqual(encoded("artifact", artifact), [
    "artifact_ref",
    { name: "a", uri: "x:1", content_type: "application/octet-stream", byte_size: 3, sha256: "0a" },
  ]);
  assert.deepEqual(encoded("error", { message: "", code: "E1" }), [
    "log",
    { level: "error", message: "error", attributes: { code: "E1" } },
  ]);
  assert.deepEqual(encoded("text_delta", { text: "a" }), [
    "x-vendor.runctx.text_delta",
    { text: "a" },
  ]);
  const question = { question_id: "q", prompt: "why?" };
  assert.deepEqual(encoded("question", question), ["x-vendor.runctx.question", question]);
  const closed = { question_id: "q", outcome: "answered", by: "ada" };
  assert.deepEqual(encoded("question_closed", closed), ["x-vendor.runctx.question_closed", closed]);
  assert.deepEqual(encoded("My Mood!", [7]), [
    "x-vendor.runctx.my-mood-",
    { kind: "My Mood!", payload: [7] },
  ]);
});

test("only kinds that are not in our vocabulary are wrapped", () => {
  for (const kind of eventKinds) assert.doesNotMatch(encodeEvent(kind, "{}").body, /"payload"/);
});

test("[ARCP-123] the error of a tool has a code of the protocol, whatever was stored", () => {
  const told = (error: object): unknown => {
    const [, body] = encoded("tool_result", { call_id: "c", error }) as [string, { error: object }];
    return body.error;
  };
  const denied = { message: "no", retryable: false };
  assert.deepEqual(told({ ...denied, code: "permission_denied" }), {
    ...denied,
    code: "PERMISSION_DENIED",
  });
  assert.deepEqual(told({ ...denied, code: "PERMISSION_DENIED" }), {
    ...denied,
    code: "PERMISSION_DENIED",
  });
  assert.deepEqual(told({ ...denied, code: "OUT_OF_INK" }), {
    message: "no",
    retryable: true,
    code: "INTERNAL_ERROR",
    details: { original_code: "OUT_OF_INK" },
  });
});
