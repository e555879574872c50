import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  type FrameHead,
  framePrinter,
  printEnvelope,
  printFrame,
  readEnvelope,
} from "./envelope.ts";
import type { JsonObject } from "./fields.ts";

const least = { arcp: "1.1", id: "U1", type: "session.ping", payload: {} };
const trace = "0123456789abcdef0123456789abcdef";

const id = fc.string({ minLength: 1, maxLength: 40, unit: "binary" });
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const head: fc.Arbitrary<FrameHead> = fc.record({
  id,
  type: id,
  sessionId: maybe(id),
  jobId: maybe(id),
  eventSeq: maybe(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })),
  traceId: maybe(fc.constant(trace)),
  extensions: maybe(fc.record({ "x-vendor.acme.a": fc.jsonValue(), optional: fc.boolean() })),
});
const payload: fc.Arbitrary<JsonObject> = fc.dictionary(fc.string(), fc.jsonValue());

/** As JSON has it: `-0` is 0. */
function throughText<Value>(value: Value): unknown {
  return JSON.parse(JSON.stringify(value));
}

test("[ARCP-11] what is printed reads as the same, as an object or as text", () => {
  fc.assert(
    fc.property(head, payload, (given, body) => {
      const text = printFrame(given, JSON.stringify(body));
      assert.equal(text, JSON.stringify(printEnvelope(given, body)));
      const { envelope } = readEnvelope(JSON.parse(text));
      const { extensions, ...rest } = given;
      assert.deepEqual(envelope, {
        ...rest,
        parentSpanId: undefined,
        extensions: throughText(extensions ?? null) ?? undefined,
        payload: throughText(body),
      });
    }),
  );
});

test("frames that share what stands around their number are printed like any other", () => {
  fc.assert(
    fc.property(head, fc.integer({ min: 1 }), (given, eventSeq) => {
      // Its id is one of ours, which needs no quoting.
      const { id: _, ...shared } = given;
      const own = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
      const print = framePrinter(shared);
      assert.equal(print(own, eventSeq, "{}"), printFrame({ ...given, id: own, eventSeq }, "{}"));
    }),
  );
});

test("[ARCP-16] [ARCP-28] fields have one order, and a frame is one line", () => {
  const text = printFrame(
    {
      extensions: { "x-vendor.acme.note": "a\nb" },
      traceId: trace,
      eventSeq: 7,
      jobId: "job_1",
      sessionId: "sess_1",
      type: "job.event",
      id: "msg_1",
    },
    '{"kind":"log"}',
  );
  assert.equal(
    text,
    '{"arcp":"1.1","id":"msg_1","type":"job.event","session_id":"sess_1","job_id":"job_1",' +
      `"event_seq":7,"trace_id":"${trace}","extensions":{"x-vendor.acme.note":"a\\nb"},` +
      '"payload":{"kind":"log"}}',
  );
});

test("[ARCP-6] [ARCP-10] [ARCP-190] [PY-31] nothing is sent that a peer would choke on", () => {
  const extensions = { "x-vendor.acme.a": 1, other: 2, optional: "yes", "arcpx.b": 3 };
  const given = { id: "i", type: "t", traceId: "00-not-a-trace", extensions };
  assert.deepEqual(printEnvelope(given, {}), {
    arcp: "1.1",
    id: "i",
    type: "t",
    extensions: { "x-vendor.acme.a": 1 },
    payload: {},
  });
  assert.equal(
    printFrame({ ...given, extensions: { other: 2 } }, "{}"),
    '{"arcp":"1.1","id":"i","type":"t","payload":{}}',
  );
});

test("[ARCP-2] [ARCP-7] [ARCP-8] [ARCP-22] unknown fields, nulls and a missing payload are fine", () => {
  const { envelope } = readEnvelope({
    ...least,
    payload: null,
    session_id: null,
    job_id: null,
    event_seq: null,
    trace_id: null,
    extensions: null,
    novelty: 1,
  });
  assert.deepEqual(envelope, {
    id: "U1",
    type: "session.ping",
    sessionId: undefined,
    jobId: undefined,
    eventSeq: undefined,
    traceId: undefined,
    parentSpanId: undefined,
    extensions: undefined,
    payload: {},
  });
});

test("[ARCP-10] a whole traceparent is a trace id, and a broken one is nothing", () => {
  const span = "90ebdc8a3358ab63";
  const { envelope } = readEnvelope({ ...least, trace_id: `00-${trace}-${span}-03` });
  assert.equal(envelope?.traceId, trace);
  assert.equal(envelope?.parentSpanId, span);
  for (const trace_id of ["0".repeat(32), "x", 7, {}, trace.toUpperCase()]) {
    assert.equal(readEnvelope({ ...least, trace_id }).envelope?.traceId, undefined);
  }
});

test("[ARCP-5] [ARCP-12] [ARCP-15] [PY-32] [PY-33] [PY-35] what is malformed is told by its path, in one line, and nothing of it is repeated", () => {
  const secret = "s3cr3t".repeat(100);
  const rows: readonly (readonly [unknown, string])[] = [
    [undefined, "frame"],
    [null, "frame"],
    [[], "frame"],
    ["{bad", "frame"],
    [7, "frame"],
    [{}, "arcp"],
    [{ ...least, arcp: 1.1 }, "arcp"],
    [{ ...least, arcp: secret }, "arcp"],
    [{ ...least, id: undefined }, "id"],
    [{ ...least, id: "" }, "id"],
    [{ ...least, id: secret }, "id"],
    [{ ...least, type: 7 }, "type"],
    [{ ...least, session_id: "" }, "session_id"],
    [{ ...least, session_id: [secret] }, "session_id"],
    [{ ...least, job_id: 1 }, "job_id"],
    [{ ...least, event_seq: 0 }, "event_seq"],
    [{ ...least, event_seq: 1.5 }, "event_seq"],
    [{ ...least, event_seq: "1" }, "event_seq"],
    [{ ...least, event_seq: 2 ** 53 }, "event_seq"],
    [{ ...least, payload: [] }, "payload"],
    [{ ...least, payload: secret }, "payload"],
  ];
  for (const [value, path] of rows) {
    const { problem } = readEnvelope(value);
    assert.equal(problem?.path, path);
    assert(problem.message.startsWith(`${path} must be `) && problem.message.length < 300);
    assert(!/s3cr3t|\n/.test(problem.message));
  }
  assert.equal(readEnvelope({ ...least, event_seq: 1.0 }).envelope?.eventSeq, 1);
});

test("[ARCP-12] the id of a malformed frame is known where it could be read", () => {
  assert.equal(readEnvelope({ ...least, type: 7 }).id, "U1");
  assert.equal(readEnvelope({ ...least, arcp: "2.0" }).id, "U1");
  assert.equal(readEnvelope({ ...least, id: 7 }).id, undefined);
});

test("[ARCP-14] [PY-34] another version is told apart from nonsense", () => {
  assert.equal(readEnvelope({ ...least, arcp: "1.2" }).problem?.kind, "version");
  assert.equal(readEnvelope({ ...least, arcp: null }).problem?.kind, "malformed");
});

test("[ARCP-12] no value makes reading throw, and a mutated frame is either read or told", () => {
  const frames = fc.oneof(
    fc.anything(),
    fc.jsonValue(),
    fc
      .tuple(fc.constantFrom(...Object.keys(least), "session_id", "event_seq"), fc.anything())
      .map(([name, value]) => ({ ...least, [name]: value })),
  );
  fc.assert(
    fc.property(frames, (frame) => {
      const { envelope, problem } = readEnvelope(frame);
      assert.equal(envelope === undefined, problem !== undefined);
    }),
    { numRuns: 2_000 },
  );
});

test("extensions that are too deep to be printed again are none", () => {
  const deep = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
  const { envelope } = readEnvelope({ ...least, extensions: { "x-vendor.a.b": deep } });
  assert.equal(envelope?.extensions, undefined);
});

test("keys of a prototype are keys like any other", () => {
  const { envelope } = readEnvelope(
    JSON.parse('{"arcp":"1.1","id":"a","type":"t","payload":{"__proto__":{"agent":"x"}}}'),
  );
  assert(envelope && !("agent" in envelope.payload));
});
