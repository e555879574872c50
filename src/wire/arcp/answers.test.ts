import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  printAccepted,
  printCancelled,
  printEventPayload,
  printJobError,
  printJobResult,
  printJobs,
  printSessionError,
  printSubscribed,
  printWelcome,
  readAccepted,
  readCancelled,
  readJobEvent,
  readJobs,
  readOutcome,
  readSessionError,
  readSubscribed,
  readWelcome,
} from "./answers.ts";
import { type Envelope, readEnvelope } from "./envelope.ts";
import type { JsonObject, Read } from "./fields.ts";

const bare = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const session = `sess_${bare}`;
const time = "2026-05-13T19:42:13.020Z";
const timeMs = Date.UTC(2026, 4, 13, 19, 42, 13, 20);

function received(type: string, payload: unknown, more: JsonObject = {}): Envelope {
  const frame = { arcp: "1.1", id: bare, type, ...more, payload };
  const { envelope } = readEnvelope(JSON.parse(JSON.stringify(frame)));
  assert(envelope);
  return envelope;
}

function present(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function valueIn<Value>(read: Read<Value>): unknown {
  assert.equal(read.problem, undefined);
  return present(read.value);
}

const job = { job_id: "job_J" };

test("[PY-20] [PY-36] [ARCP-9] the welcome has its session in payload and all that a strict client requires", () => {
  const printed = printWelcome({
    runtime: { name: "rt", version: "1" },
    sessionId: session,
    acceptedAtMs: timeMs,
    resumeToken: "rt_1",
    resumeWindowSec: 600,
    heartbeatIntervalSec: 30,
    features: [],
    agents: [{ name: "echo", versions: ["1", "2"], default: "2" }],
    vendor: { "x-vendor.acme.a": 1, features: ["not these"] },
  });
  assert.deepEqual(printed, {
    runtime: { name: "rt", version: "1" },
    session_id: session,
    accepted_at: time,
    resume_token: "rt_1",
    resume_window_sec: 600,
    capabilities: { encodings: ["json"], features: [], agents: ["echo"], "x-vendor.acme.a": 1 },
  });
});

test("[ARCP-21] [ARCP-52] with versions, agents are objects that always list theirs; intervals are whole and never 0", () => {
  const printed = printWelcome({
    runtime: { name: "rt" },
    sessionId: session,
    acceptedAtMs: timeMs,
    resumeToken: "rt_1",
    resumeWindowSec: 0.2,
    heartbeatIntervalSec: 0.4,
    features: ["heartbeat", "agent_versions"],
    agents: [
      { name: "bare", versions: [] },
      { name: "echo", versions: ["1"], default: "1" },
    ],
    vendor: {},
  });
  assert.equal(printed["heartbeat_interval_sec"], 1);
  assert.equal(printed["resume_window_sec"], 1);
  assert.deepEqual(printed["capabilities"], {
    encodings: ["json"],
    features: ["heartbeat", "agent_versions"],
    agents: [
      { name: "bare", versions: [] },
      { name: "echo", versions: ["1"], default: "1" },
    ],
  });
});

test("[ARCP-22] [ARCP-52] [PYC-7] a welcome is read with agents by name or as objects, and with little else", () => {
  const least = { runtime: { name: "r" }, session_id: session, resume_token: "t" };
  assert.deepEqual(valueIn(readWelcome(received("session.welcome", least))), {
    runtime: { name: "r" },
    sessionId: session,
    resumeToken: "t",
    resumeWindowSec: 0,
    features: [],
    agents: [],
    vendor: {},
  });
  const agents = ["echo", { name: "sum", versions: ["1"] }, { name: 7 }, null];
  const capabilities = { features: ["ack"], agents, "x-vendor.acme.a": 1 };
  const read = readWelcome(
    received("session.welcome", { ...least, capabilities, heartbeat_interval_sec: null }),
  );
  assert.deepEqual(read.value?.agents, [
    { name: "echo", versions: [] },
    { name: "sum", versions: ["1"], default: undefined },
  ]);
  assert.deepEqual(read.value?.vendor, { "x-vendor.acme.a": 1 });
});

test("[PY-50] [PY-51] [PY-65] a session error without session, details or request is read", () => {
  const message = "invalid bearer token";
  const payload = { code: "UNAUTHENTICATED", message, retryable: false, details: null };
  const { error, requestId } = readSessionError(received("session.error", payload));
  assert.deepEqual(error, { code: "UNAUTHENTICATED", message, retryable: false });
  assert.equal(requestId, undefined);
});

test("[ARCP-20] [ARCP-57] a session error names the request that provoked it", () => {
  const error = { code: "JOB_NOT_FOUND", message: "there is no such job" } as const;
  const printed = printSessionError({ error, requestId: "msg_1", jobId: "job_J" });
  assert.deepEqual(printed, {
    ...error,
    retryable: false,
    request_id: "msg_1",
    job_id: "job_J",
  });
  const read = readSessionError(received("session.error", printed));
  assert.equal(read.requestId, "msg_1");
  assert.equal(read.jobId, "job_J");
});

const accepted = {
  jobId: "job_J",
  agent: "caller",
  lease: { "cost.budget": ["USD:1.50", "USD:0.50", "credits:10"] },
  budget: [
    { currency: "USD", text: "2.00" },
    { currency: "credits", text: "10" },
  ],
  acceptedAtMs: timeMs,
  requestId: "msg_1",
};

test("[PY-71] [PY-37] [PYR-5] a budget is numbers, and texts with their decimals for the Python client", () => {
  const spec = printAccepted(accepted, "spec");
  assert.deepEqual(spec["budget"], { USD: 2, credits: 10 });
  const python = printAccepted(accepted, "python");
  assert.deepEqual(python["budget"], { USD: "USD:2.00", credits: "credits:10" });
});

test("[PY-21] [PY-38] [ARCP-6] an acceptance has no null, and no field without a value", () => {
  const least = { jobId: "job_J", agent: "a", lease: {}, acceptedAtMs: timeMs };
  const empty = { budget: [], credentials: [], leaseConstraints: {} };
  assert.deepEqual(printAccepted({ ...least, ...empty }, "spec"), {
    job_id: "job_J",
    agent: "a",
    lease: {},
    accepted_at: time,
  });
});

test("[ARCP-84] [ARCP-176] an acceptance says whose child it is, in which trace, on which request", () => {
  const printed = printAccepted(
    { ...accepted, parentJobId: "job_P", delegateId: "d", traceId: "a".repeat(32) },
    "spec",
  );
  assert.equal(printed["parent_job_id"], "job_P");
  assert.equal(printed["delegate_id"], "d");
  assert.equal(printed["trace_id"], "a".repeat(32));
  assert.equal(printed["request_id"], "msg_1");
});

test("[PY-52] [ARCP-21] [PYC-7] a budget is read from numbers and from both kinds of text", () => {
  const budgetOf = (budget: unknown) =>
    readAccepted(received("job.accepted", { ...job, agent: "a", budget })).value?.budget;
  assert.deepEqual(budgetOf({ USD: "USD:1.00" }), [{ currency: "USD", text: "1.00" }]);
  assert.deepEqual(budgetOf({ USD: "5.00" }), [{ currency: "USD", text: "5.00" }]);
  assert.deepEqual(budgetOf({ USD: 0.1, credits: -0.12 }), [
    { currency: "USD", text: "0.1" },
    { currency: "credits", text: "-0.12" },
  ]);
  assert.deepEqual(budgetOf({ a: 1e-7, b: 1.5e21, c: "EUR:1", d: null, e: "x" }), [
    { currency: "a", text: "0.0000001" },
    { currency: "b", text: "1500000000000000000000" },
  ]);
  assert.equal(budgetOf(null), undefined);
});

test("[PY-58] [PY-39] [ARCP-173] credentials are read in three spellings; of another scheme they are left out", () => {
  const credential = { id: "cred_1", scheme: "bearer", value: "v", endpoint: "https://g.test/v1" };
  const read = readAccepted(
    received("job.accepted", {
      ...job,
      agent: "a",
      credentials: [
        {
          ...credential,
          profile: "test",
          constraints: { cost_budget: ["USD:1.00"], model_use: ["tier-fast/*"] },
        },
        { ...credential, constraints: { "cost.budget": ["USD:2"], "model.use": ["m"] } },
        {
          ...credential,
          constraints: { allowed_models: ["n"], max_spend: { currency: "USD", amount: 3 } },
        },
        { ...credential, scheme: "basic" },
        { id: "incomplete" },
        null,
      ],
    }),
  );
  assert.deepEqual(present(read.value?.credentials?.map(({ constraints }) => constraints)), [
    { costBudget: ["USD:1.00"], modelUse: ["tier-fast/*"] },
    { costBudget: ["USD:2"], modelUse: ["m"] },
    { costBudget: ["USD:3"], modelUse: ["n"] },
  ]);
});

test("[PY-27] [ARCP-122] an event of a new kind, without a time, is delivered as it came", () => {
  const event = received("job.event", { kind: "brand_new", body: { x: 1 } }, job);
  assert.deepEqual(valueIn(readJobEvent(event)), {
    jobId: "job_J",
    kind: "brand_new",
    body: { x: 1 },
  });
  assert.equal(readJobEvent(received("job.event", { kind: "log" }, job)).value?.body, null);
});

test("an event is printed around a body that is text already", () => {
  const text = printEventPayload("x-vendor.a", timeMs, '{"a":1}');
  assert.deepEqual(JSON.parse(text), { kind: "x-vendor.a", ts: time, body: { a: 1 } });
  assert.deepEqual(readJobEvent(received("job.event", JSON.parse(text), job)).value, {
    jobId: "job_J",
    kind: "x-vendor.a",
    atMs: timeMs,
    body: { a: 1 },
  });
});

test("[ARCP-23] [ARCP-105] [PY-22] a result is inline or streamed, never both; undefined is left out, null is sent", () => {
  const completedAtMs = timeMs;
  const printed = printJobResult({ result: 1, resultId: "res_1", resultSize: 3, completedAtMs });
  assert.deepEqual(printed, {
    final_status: "success",
    result_id: "res_1",
    result_size: 3,
    completed_at: time,
  });
  const least = { final_status: "success", completed_at: time };
  assert.deepEqual(printJobResult({ result: undefined, completedAtMs }), least);
  assert.deepEqual(printJobResult({ result: null, completedAtMs }), { ...least, result: null });
});

test("[PY-22] [PY-64] [ARCP-22] a result may be missing, or called output", () => {
  const outcome = (payload: JsonObject) => readOutcome(received("job.result", payload, job)).value;
  const success = { status: "success", result: null };
  assert.deepEqual(present(outcome({ final_status: "success" })), success);
  assert.deepEqual(present(outcome({})), success);
  assert.deepEqual(present(outcome({ output: 7 })), { ...success, result: 7 });
  assert.deepEqual(present(outcome({ result_id: "res_1", result_size: 2 })), {
    status: "success",
    resultId: "res_1",
    resultSize: 2,
  });
});

test("[PY-53] [PYC-8] [PY-42] [ARCP-22] a result that was cancelled or timed out is a failure", () => {
  const rows = [
    ["cancelled", "CANCELLED"],
    ["timed_out", "TIMEOUT"],
    ["error", "INTERNAL_ERROR"],
  ] as const;
  for (const [final_status, code] of rows) {
    const { value } = readOutcome(received("job.result", { final_status }, job));
    assert(value?.status === "failed");
    assert.equal(value.finalStatus, final_status);
    assert.equal(value.error.code, code);
  }
});

test("[PY-23] [ARCP-22] an error without status or retryable has those of its code", () => {
  const outcome = (payload: JsonObject) => readOutcome(received("job.error", payload, job)).value;
  const failed = (code: string, finalStatus: string, retryable: boolean) => {
    const value = outcome({ code, message: "m", details: null });
    const error = { code, message: "m", retryable };
    assert.deepEqual(present(value), { status: "failed", finalStatus, error });
  };
  failed("CANCELLED", "cancelled", false);
  failed("TIMEOUT", "timed_out", true);
  failed("PERMISSION_DENIED", "error", false);
  failed("TEAPOT", "error", false);
  const dialect = outcome({ code: "CANCELLED", message: "m", final_status: "error" });
  assert(dialect?.status === "failed" && dialect.finalStatus === "cancelled");
});

test("[PY-70] [PY-40] [PY-41] [PYR-8] [PYR-9] to the Python client every failure is an error, with the time it ended", () => {
  const failure = {
    finalStatus: "cancelled",
    error: { code: "CANCELLED", message: "stop" },
    completedAtMs: timeMs,
  } as const;
  const expected = { code: "CANCELLED", message: "stop", retryable: false, completed_at: time };
  const python = printJobError(failure, "python");
  assert.deepEqual(python, { final_status: "error", ...expected });
  const spec = printJobError({ ...failure, requestId: "msg_1" }, "spec");
  assert.deepEqual(spec, { final_status: "cancelled", ...expected, request_id: "msg_1" });
});

test("[ARCP-112] a cancel is acknowledged with its job and its request", () => {
  const printed = printCancelled({ jobId: "job_J", reason: "stop", requestId: "msg_1" });
  assert.deepEqual(printed, { reason: "stop", job_id: "job_J", request_id: "msg_1" });
  assert.equal(readCancelled(received("job.cancelled", {}, job)).value?.jobId, "job_J");
});

test("[PY-24] [PY-44] [PY-55] [ARCP-6] [ARCP-133] [PYR-12] a listed job has both of its times and a parent, if only null", () => {
  const entry = {
    jobId: "job_J",
    agent: "a",
    status: "running",
    lease: {},
    createdAtMs: timeMs,
    lastEventSeq: 0,
  };
  assert.deepEqual(printJobs({ requestId: "msg_1", jobs: [entry] }), {
    request_id: "msg_1",
    jobs: [
      {
        job_id: "job_J",
        agent: "a",
        status: "running",
        lease: {},
        parent_job_id: null,
        created_at: time,
        submitted_at: time,
        last_event_seq: 0,
      },
    ],
    next_cursor: null,
  });
});

test("[PY-55] [ARCP-21] [ARCP-22] [PYC-7] a list of the least that is sent is read", () => {
  const submitted_at = "2026-11-15T18:59:32.694817Z";
  const entry = { ...job, agent: "hold", status: "running", submitted_at };
  const read = readJobs(received("session.jobs", { request_id: "q", jobs: [entry] }));
  assert.deepEqual(valueIn(read), {
    requestId: "q",
    jobs: [
      {
        jobId: "job_J",
        agent: "hold",
        status: "running",
        lease: {},
        createdAtMs: Date.UTC(2026, 10, 15, 18, 59, 32) + 694.817,
        lastEventSeq: 0,
      },
    ],
  });
  const bad = readJobs(received("session.jobs", { jobs: [entry, { ...entry, agent: 7 }] }));
  assert.equal(bad.problem?.path, "payload.jobs[1].agent");
});

test("[PY-25] [PY-59] [ARCP-21] [PYR-13] replayed is true or false when sent, and may come as a count", () => {
  const least = { request_id: "q", ...job, current_status: "running", agent: "a" };
  const replayed = (value: unknown) =>
    readSubscribed(received("job.subscribed", { ...least, replayed: value })).value?.replayed;
  assert.deepEqual([true, 4, false, 0, null].map(replayed), [true, true, false, false, false]);
  const printed = printSubscribed({
    requestId: "q",
    jobId: "job_J",
    currentStatus: "running",
    agent: "a",
    lease: {},
    subscribedFrom: 4,
    replayed: true,
  });
  assert.deepEqual(printed, {
    ...least,
    lease: {},
    parent_job_id: null,
    subscribed_from: 4,
    replayed: true,
  });
});

const text = fc.string({ minLength: 1, maxLength: 20 });
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const atMs = fc.integer({ min: 0, max: 4_000_000_000_000 });
const trace = fc.constant("0123456789abcdef0123456789abcdef");
const amounts = fc.uniqueArray(
  fc.record({
    currency: fc.constantFrom("USD", "EUR", "credits"),
    text: fc.nat({ max: 1_000_000 }).map((cents) => String(cents / 100)),
  }),
  { selector: ({ currency }) => currency, minLength: 1 },
);
const authority = {
  lease: fc.dictionary(text, fc.array(text)),
  leaseConstraints: maybe(fc.record({ expiresAt: text })),
  budget: maybe(amounts),
};
const credential = fc.record({
  id: text,
  scheme: fc.constant("bearer"),
  value: text,
  endpoint: text,
  profile: maybe(text),
  constraints: maybe(
    fc.record({
      expiresAt: maybe(text),
      costBudget: maybe(fc.array(text)),
      modelUse: maybe(fc.array(text)),
    }),
  ),
});
const credentials = maybe(fc.array(credential, { minLength: 1, maxLength: 2 }));

test("whatever a runtime prints, a client reads as the same, in either dialect", () => {
  const anAccepted = fc.record({
    ...authority,
    jobId: text,
    agent: text,
    credentials,
    acceptedAtMs: atMs,
    parentJobId: maybe(text),
    delegateId: maybe(text),
    traceId: maybe(trace),
    requestId: maybe(text),
  });
  const aWelcome = fc.record({
    runtime: fc.record({ name: text, version: text }),
    sessionId: text,
    acceptedAtMs: atMs,
    resumeToken: text,
    resumeWindowSec: fc.integer({ min: 1, max: 600 }),
    features: fc.constant(["agent_versions"]),
    agents: fc.array(fc.record({ name: text, versions: fc.array(text), default: maybe(text) })),
    vendor: fc.constant({ "x-vendor.acme.a": [1] }),
  });
  const somejobs = fc.record({
    requestId: text,
    jobs: fc.array(
      fc.record({
        ...authority,
        jobId: text,
        agent: text,
        status: text,
        parentJobId: maybe(text),
        createdAtMs: atMs,
        traceId: maybe(trace),
        lastEventSeq: fc.nat(),
      }),
    ),
    nextCursor: maybe(text),
  });
  const aSubscribed = fc.record({
    ...authority,
    requestId: text,
    jobId: text,
    currentStatus: text,
    agent: text,
    credentials,
    parentJobId: maybe(text),
    traceId: maybe(trace),
    subscribedFrom: fc.nat(),
    replayed: fc.boolean(),
  });
  fc.assert(
    fc.property(anAccepted, aWelcome, somejobs, aSubscribed, (one, two, three, four) => {
      for (const dialect of ["spec", "python"] as const) {
        const printed = received("job.accepted", printAccepted(one, dialect));
        assert.deepEqual(valueIn(readAccepted(printed)), present(one));
      }
      const welcome = received("session.welcome", printWelcome(two));
      assert.deepEqual(valueIn(readWelcome(welcome)), present(two));
      assert.deepEqual(
        valueIn(readJobs(received("session.jobs", printJobs(three)))),
        present(three),
      );
      const subscribed = received("job.subscribed", printSubscribed(four));
      assert.deepEqual(valueIn(readSubscribed(subscribed)), present(four));
    }),
  );
});

test("no payload makes a reader throw", () => {
  const readers = [
    readWelcome,
    readSessionError,
    readAccepted,
    readJobEvent,
    readOutcome,
    readCancelled,
    readJobs,
    readSubscribed,
  ];
  const names = fc.constantFrom(
    ...["runtime", "capabilities", "resume_token", "code", "message", "details", "job_id", "agent"],
    ...["lease", "budget", "credentials", "lease_constraints", "kind", "jobs", "final_status"],
    ...["result_id", "result_size", "replayed", "next_cursor", "heartbeat_interval_sec"],
  );
  fc.assert(
    fc.property(fc.dictionary(names, fc.jsonValue()), (payload) => {
      for (const reader of readers) {
        reader(received("job.result", payload));
        reader(received("job.error", payload, job));
      }
    }),
    { numRuns: 1_000 },
  );
});
