import assert from "node:assert/strict";
import { test } from "node:test";
import { type Accepted, readError } from "../../wire/arcp/index.ts";
import { type Call, Pending, type Waiting } from "./pending.ts";

const none = (): void => {};
const request = { type: "x", payload: {} };

function submit(traceId: string, more: Partial<Call> = {}): Call {
  const call = {
    kind: "submit",
    agent: "a",
    traceId,
    key: undefined,
    hasOwnTrace: true,
    namesParent: false,
  } as const;
  return Object.assign({ ...call, request, answered: none, refused: none }, more) as Call;
}

const list: Call = { kind: "list", request, answered: none, refused: none };

function subscribe(jobId: string): Call {
  return { kind: "subscribe", jobId, request, answered: none, refused: none };
}

function cancel(jobId: string): Call {
  return { kind: "cancel", jobId, request, answered: none, refused: none };
}

/** All sent, named 1, 2, 3 and so on. */
function sent(...calls: readonly Call[]): Pending {
  const pending = new Pending();
  for (const [index, call] of calls.entries()) pending.add(String(index + 1), call).wasSent = true;
  return pending;
}

const accepted: Accepted = { jobId: "j", agent: "a", lease: {} };

function idOf(waiting: Waiting | undefined): string | undefined {
  return waiting?.id;
}

test("[ARCP-213] an acceptance belongs to the submit that it names, else to the trace, else to the oldest", () => {
  const pending = sent(list, submit("t1"), submit("t2"), submit("t3"));
  const matched = (more: Partial<Accepted>) => idOf(pending.ofAccepted({ ...accepted, ...more }));
  assert.equal(matched({ requestId: "4", traceId: "t2" }), "4");
  assert.equal(matched({ traceId: "t3" }), "4");
  assert.equal(matched({ requestId: "unknown", traceId: "t2" }), "3");
  assert.equal(matched({ traceId: "other" }), "2");
  assert.equal(matched({ requestId: "of one who gave up" }), undefined);
  assert.equal(matched({}), "2");
  assert.equal(matched({ requestId: "1" }), undefined);
});

test("[ARCP-213] a child's acceptance answers nothing, unless the submit named a parent", () => {
  const child = { ...accepted, parentJobId: "p", traceId: "t1" };
  assert.equal(sent(submit("t1")).ofAccepted(child), undefined);
  assert.equal(sent(submit("t1")).ofAccepted({ ...accepted, delegateId: "d" }), undefined);
  const asked = sent(submit("t1"), submit("t1", { namesParent: true }));
  assert.equal(idOf(asked.ofAccepted(child)), "2");
});

test("[ARCP-213] what has not gone out yet has no answer", () => {
  const pending = new Pending();
  pending.add("1", submit("t1"));
  assert.equal(pending.ofAccepted({ ...accepted, traceId: "t1" }), undefined);
});

const failure = { code: "X", requestId: undefined, jobId: undefined, traceId: undefined };

test("[ARCP-214] an error of a job belongs to the call that it names", () => {
  const pending = sent(submit("t1"), cancel("j"), submit("t2"));
  assert.equal(idOf(pending.ofJobError({ ...failure, requestId: "2", jobId: "j" }, true)), "2");
  assert.equal(idOf(pending.ofJobError({ ...failure, requestId: "3", jobId: "k" }, false)), "3");
});

test("[ARCP-214] an error of a job that nobody knows refuses a submit: by trace, else the oldest", () => {
  const pending = sent(submit("t1"), submit("t2"));
  assert.equal(idOf(pending.ofJobError({ ...failure, jobId: "k", traceId: "t2" }, false)), "2");
  assert.equal(idOf(pending.ofJobError({ ...failure, jobId: "k" }, false)), "1");
  // T names the job that has the key already.
  const duplicate = { ...failure, code: "DUPLICATE_KEY", jobId: "running" };
  assert.equal(idOf(pending.ofJobError(duplicate, true)), "1");
  assert.equal(sent(list).ofJobError({ ...failure, jobId: "k" }, false), undefined);
});

test("[ARCP-214] an error of a known job refuses its cancel or its subscribe, or ends it", () => {
  const pending = sent(submit("t1"), cancel("j"), subscribe("k"), cancel("l"));
  const matched = (code: string, jobId: string) =>
    idOf(pending.ofJobError({ ...failure, code, jobId }, true));
  assert.equal(matched("PERMISSION_DENIED", "j"), "2");
  assert.equal(matched("JOB_NOT_FOUND", "j"), "2");
  assert.equal(matched("JOB_NOT_FOUND", "k"), "3");
  assert.equal(matched("PERMISSION_DENIED", "k"), undefined);
  assert.equal(matched("INTERNAL_ERROR", "j"), undefined);
  assert.equal(matched("CANCELLED", "j"), undefined);
});

function sessionError(code: string, message = "m", more: object = {}) {
  return { error: readError({ code, message }), ...more };
}

const anyOrder = { isInOrder: false };

test("[ARCP-215] an error of the session belongs to the request that it names, or to none", () => {
  const pending = sent(submit("t1"), list);
  const named = sessionError("INTERNAL_ERROR", "m", { requestId: "2" });
  assert.equal(idOf(pending.ofSessionError(named, anyOrder)), "2");
  const unknown = sessionError("INVALID_REQUEST", "m", { requestId: "gone" });
  assert.equal(pending.ofSessionError(unknown, anyOrder), undefined);
});

test("[ARCP-215] an error of the session without a request belongs by its code", () => {
  const pending = sent(list, cancel("c"), submit("t1"), submit("t2"), subscribe("s"));
  const matched = (code: string, more?: object) =>
    idOf(pending.ofSessionError(sessionError(code, "m", more), anyOrder));
  for (const code of [
    "AGENT_VERSION_NOT_AVAILABLE",
    "AGENT_NOT_AVAILABLE",
    "DUPLICATE_KEY",
    "LEASE_SUBSET_VIOLATION",
  ]) {
    assert.equal(matched(code), "3", code);
  }
  assert.equal(matched("PERMISSION_DENIED"), "5");
  assert.equal(matched("JOB_NOT_FOUND"), "5");
  assert.equal(matched("JOB_NOT_FOUND", { jobId: "c" }), "2");
  assert.equal(matched("INVALID_REQUEST"), "1");
  assert.equal(matched("INTERNAL_ERROR"), undefined);
  assert.equal(matched("SOMETHING_NEW"), undefined);
  assert.equal(
    idOf(sent(cancel("c")).ofSessionError(sessionError("PERMISSION_DENIED"), anyOrder)),
    "1",
  );
});

test("[ARCP-215] the agent that a message names is found, its version too", () => {
  const pending = sent(
    submit("t1", { agent: "other" }),
    submit("t2", { agent: "summarize" }),
    submit("t3", { agent: "summarize@9.9.9" }),
  );
  const matched = (message: string) =>
    idOf(pending.ofSessionError(sessionError("AGENT_VERSION_NOT_AVAILABLE", message), anyOrder));
  assert.equal(matched("unknown agent version: summarize@9.9.9"), "3");
  assert.equal(matched("unknown agent: summarize"), "2");
  assert.equal(matched("no such thing"), "1");
});

test("[ARCP-216] a subscription finds its answer by request, else by job", () => {
  const pending = sent(subscribe("j"), subscribe("k"), subscribe("j"));
  const subscribed = { currentStatus: "running", agent: "a", lease: {}, subscribedFrom: 0 };
  const matched = (jobId: string, requestId?: string) =>
    idOf(pending.ofSubscribed({ ...subscribed, jobId, requestId, replayed: false }));
  assert.equal(matched("j", "3"), "3");
  assert.equal(matched("k"), "2");
  assert.equal(matched("j"), "1");
  assert.equal(matched("m"), undefined);
});

test("[ARCP-217] a list finds its answer by request", () => {
  const pending = sent(list, list);
  assert.equal(idOf(pending.ofJobs({ requestId: "2", jobs: [] })), "2");
  assert.equal(pending.ofJobs({ requestId: "gone", jobs: [] }), undefined);
  assert.equal(idOf(pending.ofJobs({ jobs: [] })), "1");
});

test("[PYC-6] an error of the Python runtime belongs to the oldest request that it answers at all", () => {
  const inOrder = { isInOrder: true };
  const pending = sent(cancel("c"), list, submit("t1"), subscribe("s"));
  const matched = (message: string) =>
    idOf(pending.ofSessionError(sessionError("JOB_NOT_FOUND", message), inOrder));
  assert.equal(matched("boom"), "2");
  assert.equal(matched("unknown job_id: c"), "1");
  assert.equal(matched("unknown job_id: s"), "2");
  assert.equal(matched("unknown job_id: elsewhere"), "2");
  const both = sent(subscribe("s"), cancel("s"));
  const unknown = sessionError("JOB_NOT_FOUND", "unknown job_id: s");
  assert.equal(idOf(both.ofSessionError(unknown, inOrder)), "1");
});

test("a request that is sent again keeps its place among those that are", () => {
  const pending = sent(submit("t1"), list, submit("t2"));
  for (const waiting of pending.all()) {
    pending.renew(waiting, waiting.call.kind === "list" ? "new" : waiting.id);
  }
  assert.deepEqual(
    pending.all().map(({ id }) => id),
    ["1", "new", "3"],
  );
  assert.equal(idOf(pending.ofJobs({ requestId: "new", jobs: [] })), "new");
  assert.equal(pending.ofJobs({ requestId: "2", jobs: [] }), undefined);
});

test("only what went out before is sent again", () => {
  const pending = sent(submit("t1"));
  const fresh = pending.add("2", submit("t2"));
  pending.renew(fresh, "2");
  assert.equal(pending.isAskingAgain, false);
  for (const waiting of pending.all()) pending.renew(waiting, waiting.id);
  assert.equal(pending.isAskingAgain, true);
  for (const waiting of pending.all()) pending.remove(waiting);
  assert.equal(pending.isAskingAgain, false);
});

test("the cancels of a job are those that still wait, under whatever id", () => {
  const pending = sent(cancel("a"), cancel("b"), cancel("a"), subscribe("a"));
  const [first] = pending.all();
  assert(first);
  pending.renew(first, "again");
  assert.deepEqual(pending.cancelsOf("a").map(idOf), ["again", "3"]);
  for (const waiting of pending.cancelsOf("a")) pending.remove(waiting);
  assert.deepEqual(pending.cancelsOf("a"), []);
  assert.deepEqual(pending.all().map(idOf), ["2", "4"]);
});
