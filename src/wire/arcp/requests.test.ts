import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Envelope, readEnvelope } from "./envelope.ts";
import type { JsonObject, Read } from "./fields.ts";
import { readLease } from "./parts.ts";
import {
  printAck,
  printCancel,
  printFarewell,
  printHello,
  printListJobs,
  printPing,
  printPong,
  printSubmit,
  printSubscribe,
  printUnsubscribe,
  readAck,
  readCancel,
  readFarewell,
  readHello,
  readListJobs,
  readPing,
  readPong,
  readSubmit,
  readSubscribe,
  readUnsubscribe,
} from "./requests.ts";

const session = "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV";
const bare = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/** As it arrives: printed, parsed, and with its envelope read. */
function received(type: string, payload: unknown, more: JsonObject = {}): Envelope {
  const frame = { arcp: "1.1", id: bare, type, session_id: session, ...more, payload };
  const { envelope } = readEnvelope(JSON.parse(JSON.stringify(frame)));
  assert(envelope);
  return envelope;
}

/** What is there: a field that is undefined is not. */
function present(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function valueIn<Value>(read: Read<Value>): unknown {
  assert.equal(read.problem, undefined);
  return present(read.value);
}

const client = { name: "cancel-client", version: "1.0.0" };
const auth = { scheme: "bearer", token: "demo-token" };

test("[PY-1] [PYR-20] the Python client's hello is read", () => {
  const payload = { client, auth, capabilities: { encodings: ["json"], features: [], agents: [] } };
  assert.deepEqual(present(readHello(received("session.hello", payload)).value), {
    client,
    token: "demo-token",
    capabilities: { encodings: ["json"], features: [], vendor: {} },
  });
});

test("[PY-3] [ARCP-60] a hello may ask to resume", () => {
  const resume = { session_id: session, resume_token: "rt_1", last_event_seq: 2 };
  const read = readHello(received("session.hello", { client, auth, resume }));
  assert.deepEqual(read.value?.resume, {
    sessionId: session,
    resumeToken: "rt_1",
    lastEventSeq: 2,
  });
});

test("[PY-4] extensions of a hello are kept on its envelope", () => {
  const key = "x-vendor.opentelemetry.tracecontext";
  const context = { traceparent: "00-392b193cf3cefb1e7864ff0932afab10-90ebdc8a3358ab63-03" };
  const hello = received("session.hello", { client, auth }, { extensions: { [key]: context } });
  assert.deepEqual(hello.extensions, { [key]: context });
  assert(readHello(hello).value);
});

test("the draft's session.resume has the resume point in its payload, and may leave out the rest", () => {
  const payload = { session_id: session, resume_token: "rt_1", last_event_seq: 0, auth };
  assert.deepEqual(present(readHello(received("session.resume", payload)).value), {
    token: "demo-token",
    resume: { sessionId: session, resumeToken: "rt_1", lastEventSeq: 0 },
  });
});

test("[ARCP-53] a client's other capabilities are its vendor's", () => {
  const capabilities = { features: ["ack"], agents: [], "x-vendor.acme.schemes": ["mtls"] };
  const { value } = readHello(received("session.hello", { client, auth, capabilities }));
  assert.deepEqual(value?.capabilities?.vendor, { "x-vendor.acme.schemes": ["mtls"] });
});

test("[ARCP-7] [ARCP-22] [ARCP-50] nulls, a missing version and missing features are fine", () => {
  const payload = { client: { name: "c", version: null }, auth, capabilities: null, resume: null };
  assert.deepEqual(present(readHello(received("session.hello", payload)).value), {
    client: { name: "c" },
    token: "demo-token",
  });
});

test("[ARCP-47] [ARCP-48] a token that is missing, empty or of another scheme is told in one way, and never repeated", () => {
  const rows = [
    undefined,
    null,
    {},
    { scheme: "bearer" },
    { scheme: "bearer", token: "" },
    { scheme: "bearer", token: 7 },
    { scheme: "basic", token: "s3cr3t" },
    { scheme: "bearer", token: "s3cr3t".repeat(10_000) },
  ];
  for (const auth of rows) {
    const { problem } = readHello(received("session.hello", { client, auth }));
    assert.deepEqual(problem, {
      code: "UNAUTHENTICATED",
      path: "payload.auth",
      message: "payload.auth must have a valid bearer token",
    });
  }
  assert(readHello(received("session.hello", { client, auth: { token: "t" } })).value);
});

test("[ARCP-47] a hello of the wrong shape says where", () => {
  const rows: readonly (readonly [JsonObject, string])[] = [
    [{ auth }, "payload.client"],
    [{ client: {}, auth }, "payload.client.name"],
    [{ client: "c", auth }, "payload.client"],
    [{ client, auth, capabilities: [] }, "payload.capabilities"],
    [{ client, auth, capabilities: { features: "ack" } }, "payload.capabilities.features"],
    [{ client, auth, capabilities: { features: [7] } }, "payload.capabilities.features"],
    [{ client, auth, resume: {} }, "payload.resume.session_id"],
    [
      { client, auth, resume: { session_id: "s", resume_token: "r", last_event_seq: -1 } },
      "payload.resume.last_event_seq",
    ],
  ];
  for (const [payload, path] of rows) {
    const { problem } = readHello(received("session.hello", payload));
    assert.equal(problem?.code, "INVALID_REQUEST");
    assert.equal(problem.path, path);
  }
});

test("[PY-5] [ARCP-87] a submit without input has the input null", () => {
  const submit = received("job.submit", { agent: "a", lease_request: {} });
  assert.deepEqual(valueIn(readSubmit(submit)), { agent: "a", input: null, leaseRequest: {} });
});

test("[PY-6] [ARCP-87] a submit is read with everything in it, and its input is unchanged", () => {
  const payload = {
    agent: "a@1.0",
    input: { k: null, é: 1.0 },
    lease_request: { "fs.read": ["/x/*"] },
    lease_constraints: { expires_at: "2099-01-01T00:00:00Z" },
    idempotency_key: "k",
    max_runtime_sec: 5,
    parent_job_id: "job_P",
  };
  assert.deepEqual(valueIn(readSubmit(received("job.submit", payload))), {
    agent: "a@1.0",
    input: { k: null, é: 1 },
    leaseRequest: { "fs.read": ["/x/*"] },
    leaseConstraints: { expiresAt: "2099-01-01T00:00:00Z" },
    idempotencyKey: "k",
    maxRuntimeSec: 5,
    parentJobId: "job_P",
  });
});

test("[ARCP-15] [ARCP-93] a malformed submit says where, in few words and not in those of its sender", () => {
  const secret = "s3cr3t\n".repeat(200);
  const rows: readonly (readonly [JsonObject, string])[] = [
    [{}, "payload.agent"],
    [{ agent: "" }, "payload.agent"],
    [{ agent: secret }, "payload.agent"],
    [{ agent: "a", lease_request: [secret] }, "payload.lease_request"],
    [{ agent: "a", lease_constraints: secret }, "payload.lease_constraints"],
    [{ agent: "a", lease_constraints: { expires_at: 7 } }, "payload.lease_constraints.expires_at"],
    [{ agent: "a", idempotency_key: "" }, "payload.idempotency_key"],
    [{ agent: "a", idempotency_key: "k".repeat(257) }, "payload.idempotency_key"],
    [{ agent: "a", max_runtime_sec: 0 }, "payload.max_runtime_sec"],
    [{ agent: "a", max_runtime_sec: 1.5 }, "payload.max_runtime_sec"],
    [{ agent: "a", parent_job_id: {} }, "payload.parent_job_id"],
  ];
  for (const [payload, path] of rows) {
    const { problem } = readSubmit(received("job.submit", payload));
    assert.equal(problem?.path, path);
    assert(problem.message.length < 300 && !/s3cr3t|\n/.test(problem.message));
  }
});

test("an input that is nested too deeply to be printed again is refused", () => {
  const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;
  const submit = (levels: number): Envelope => ({
    ...received("job.submit", {}),
    payload: { agent: "a", input: JSON.parse(nested(levels)) },
  });
  assert(readSubmit(submit(499)).value);
  assert.equal(readSubmit(submit(100_000)).problem?.path, "payload.input");
});

test("[ARCP-144] a lease is lists of texts, and says where it is not", () => {
  assert.deepEqual(readLease(undefined, "l").value, {});
  assert.deepEqual(readLease({ "fs.read": [] }, "l").value, { "fs.read": [] });
  const rows: readonly (readonly [unknown, string])[] = [
    [[], "l"],
    [{ "fs.read": "/x" }, 'l["fs.read"]'],
    [{ "fs.read": ["/x", ""] }, 'l["fs.read"][1]'],
    [{ [`${"s3cr3t".repeat(50)}`]: 7 }, "l[…]"],
  ];
  for (const [value, path] of rows) assert.equal(readLease(value, "l").problem?.path, path);
});

test("[PY-7] [ARCP-110] a cancel names its job on the envelope, or in the payload", () => {
  const cancel = received("job.cancel", { reason: "client.cancel" }, { job_id: "job_J" });
  assert.deepEqual(readCancel(cancel).value, { jobId: "job_J", reason: "client.cancel" });
  assert.equal(readCancel(received("job.cancel", { job_id: "job_J" })).value?.jobId, "job_J");
  assert.equal(readCancel(received("job.cancel", {})).problem?.path, "payload.job_id");
});

test("[PY-8] [ARCP-24] a list may have no filter, or one without its wrapping", () => {
  assert.deepEqual(valueIn(readListJobs(received("session.list_jobs", {}))), {});
  const filter = { status: ["running"], agent: "a", created_after: "2026-01-01T00:00:00+01:00" };
  const expected = {
    status: ["running"],
    agent: "a",
    createdAfterMs: Date.UTC(2025, 11, 31, 23),
    limit: 2,
    cursor: "c",
  };
  const page = { limit: 2, cursor: "c" };
  const wrapped = readListJobs(received("session.list_jobs", { filter, ...page }));
  assert.deepEqual(valueIn(wrapped), expected);
  const bareFilter = readListJobs(received("session.list_jobs", { ...filter, ...page }));
  assert.deepEqual(valueIn(bareFilter), expected);
});

test("[ARCP-130] a list with a bad time or limit is refused", () => {
  const rows: readonly (readonly [JsonObject, string])[] = [
    [{ filter: { created_after: "yesterday" } }, "payload.filter.created_after"],
    [{ filter: { created_before: 7 } }, "payload.filter.created_before"],
    [{ limit: 0 }, "payload.limit"],
    [{ limit: 1.5 }, "payload.limit"],
    [{ filter: [] }, "payload.filter"],
  ];
  for (const [payload, path] of rows) {
    assert.equal(readListJobs(received("session.list_jobs", payload)).problem?.path, path);
  }
});

test("[PY-9] [ARCP-137] a subscription without history ignores where it should begin", () => {
  const subscribe = (payload: JsonObject) =>
    readSubscribe(received("job.subscribe", payload, { job_id: "job_J" })).value;
  const live = { jobId: "job_J", history: false, fromEventSeq: 0 };
  assert.deepEqual(subscribe({ job_id: "job_J", history: false }), live);
  assert.deepEqual(subscribe({ from_event_seq: 7 }), live);
  assert.deepEqual(subscribe({ history: true, from_event_seq: 7 }), {
    ...live,
    history: true,
    fromEventSeq: 7,
  });
});

test("[PY-10] an unsubscribe names its job in the payload only", () => {
  const read = readUnsubscribe(received("job.unsubscribe", { job_id: "job_J" }));
  assert.deepEqual(read.value, { jobId: "job_J" });
});

test("[PY-11] [PY-12] a farewell is one, whatever it looks like", () => {
  assert.deepEqual(readFarewell(received("session.bye", { reason: "client.close" })), {
    reason: "client.close",
  });
  for (const reason of [undefined, null, 7, {}]) {
    assert.deepEqual(readFarewell(received("session.bye", { reason })), {});
  }
});

test("[PY-26] [PY-54] a ping's nonce is all that it needs", () => {
  const sent_at = "2026-11-15T18:59:11.454364+00:00";
  const ping = readPing(received("session.ping", { nonce: bare, sent_at })).value;
  assert.equal(ping?.nonce, bare);
  assert.equal(readPing(received("session.ping", { nonce: "p", sent_at: "?" })).value?.nonce, "p");
  assert.equal(readPing(received("session.ping", {})).problem?.path, "payload.nonce");
});

test("[ARCP-212] our farewells and cancels have a reason, for those who insist", () => {
  assert.deepEqual(printCancel({}), { reason: "client.cancel" });
  assert.deepEqual(printFarewell({ reason: "client.close" }), { reason: "client.close" });
});

const text = fc.string({ minLength: 1, maxLength: 20 });
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const atMs = fc.integer({ min: 0, max: 4_000_000_000_000 });
const count = fc.nat();

test("[PYC-2] whatever a client prints, a runtime reads as the same, and none of it is null", () => {
  const hello = fc.record({
    client: fc.record({
      name: text,
      version: text,
      fingerprint: maybe(text),
      principal: maybe(text),
    }),
    token: text,
    capabilities: maybe(
      fc.record({
        encodings: maybe(fc.array(text)),
        features: fc.array(text),
        vendor: fc.constant({ "x-vendor.acme.a": 1 }),
      }),
    ),
    resume: maybe(fc.record({ sessionId: text, resumeToken: text, lastEventSeq: count })),
  });
  const submit = fc.record({
    agent: text,
    input: fc.jsonValue(),
    leaseRequest: fc.dictionary(text, fc.array(text)),
    leaseConstraints: maybe(fc.record({ expiresAt: text })),
    idempotencyKey: maybe(text),
    maxRuntimeSec: maybe(fc.integer({ min: 1, max: 86_400 })),
    parentJobId: maybe(text),
    delegateId: maybe(text),
  });
  const list = fc.record({
    status: maybe(fc.array(text)),
    agent: maybe(text),
    createdAfterMs: maybe(atMs),
    createdBeforeMs: maybe(atMs),
    limit: maybe(fc.integer({ min: 1, max: 1_000 })),
    cursor: maybe(text),
  });
  const same = (
    printed: JsonObject,
    read: (envelope: Envelope) => Read<unknown>,
    given: unknown,
  ) => {
    assert(Object.values(printed).every((value) => value !== null));
    assert.deepEqual(valueIn(read(received("job.any", printed))), present(given));
  };
  fc.assert(
    fc.property(hello, submit, list, count, (aHello, aSubmit, aList, aCount) => {
      assert.deepEqual(
        present(readHello(received("session.hello", printHello(aHello))).value),
        present(aHello),
      );
      same(printSubmit(aSubmit), readSubmit, aSubmit);
      same(printListJobs(aList), readListJobs, aList);
      same(printAck({ lastProcessedSeq: aCount }), readAck, { lastProcessedSeq: aCount });
      const subscribe = { jobId: "j", history: aCount > 0, fromEventSeq: aCount };
      same(printSubscribe(subscribe), readSubscribe, subscribe);
      same(printUnsubscribe({ jobId: "j" }), readUnsubscribe, { jobId: "j" });
      const ping = { nonce: "p", sentAtMs: aCount };
      same(printPing(ping), readPing, ping);
      const pong = { pingNonce: "p", receivedAtMs: aCount };
      same(printPong(pong), readPong, pong);
    }),
  );
});

test("no payload makes a reader throw", () => {
  const readers = [
    readHello,
    readSubmit,
    readCancel,
    readSubscribe,
    readUnsubscribe,
    readListJobs,
    readAck,
    readPing,
    readPong,
    readFarewell,
  ];
  const names = fc.constantFrom(
    ...["client", "auth", "capabilities", "resume", "agent", "input", "lease_request", "filter"],
    ...["lease_constraints", "limit", "cursor", "job_id", "history", "nonce", "reason", "status"],
  );
  fc.assert(
    fc.property(fc.dictionary(names, fc.jsonValue()), (payload) => {
      for (const reader of readers) reader(received("session.resume", payload));
    }),
    { numRuns: 1_000 },
  );
});
