import assert from "node:assert/strict";
import { test } from "node:test";
import { workCodes } from "../arcp/index.ts";
import {
  type FromWorker,
  prefix,
  printFromWorker,
  printToWorker,
  readFromWorker,
  readToWorker,
  type ToWorker,
} from "./messages.ts";

const held = { jobId: "job_1", attempt: 1, workerSequence: 2 };

function failed(code: string, details?: Readonly<Record<string, unknown>>) {
  return { code, message: "it failed", retryable: true, ...(details && { details }) };
}

function toRuntime(said: FromWorker): unknown {
  const payload = JSON.parse(JSON.stringify(printFromWorker(said)));
  return readFromWorker(prefix + said.type, payload).value;
}

function toWorker(said: ToWorker): unknown {
  const payload = JSON.parse(JSON.stringify(printToWorker(said)));
  return readToWorker(prefix + said.type, payload).value;
}

test("an error keeps our code, or the agent's own, in both directions, although ARCP has fewer codes", () => {
  for (const code of [...Object.keys(workCodes), "OUT_OF_INK", "UNAUTHENTICATED"]) {
    // ARCP says of some codes whether they are retryable, whatever the error says.
    const isFinal = code === "grant_expired" || code === "budget_exhausted";
    for (const details of [undefined, { path: "body.text" }]) {
      const error = { ...failed(code, details), retryable: !isFinal };
      const status = code === "job_timed_out" ? "timed_out" : "error";
      const said = { type: "error", ...held, status, error } as const;
      assert.deepEqual(toRuntime(said), said);
      const answer = { type: "answer", requestId: "r", error } as const;
      assert.deepEqual(toWorker(answer), answer);
      const invalid = { type: "invalid", ...held, error } as const;
      assert.deepEqual(toWorker(invalid), invalid);
    }
  }
});

test("a worker in another language fails with ARCP's codes, and the runtime reads ours", () => {
  const read = (code: string, details?: object): unknown => {
    const payload = { job_id: "job_1", attempt: 1, worker_seq: 2, code, message: "no", details };
    const { value } = readFromWorker(`${prefix}error`, JSON.parse(JSON.stringify(payload)));
    const error = value?.type === "error" ? value.error : assert.fail();
    return error.details ? [error.code, error.details] : error.code;
  };
  assert.equal(read("BUDGET_EXHAUSTED"), "budget_exhausted");
  assert.equal(read("CANCELLED"), "job_cancelled");
  assert.equal(read("INVALID_REQUEST"), "invalid_argument");
  assert.equal(read("INTERNAL_ERROR"), "internal_error");
  assert.equal(read("TEAPOT"), "TEAPOT");
  assert.equal(read("INTERNAL_ERROR", { original_code: "ask_timeout" }), "ask_timeout");
  // A code that contradicts the one beside it is not believed.
  for (const original_code of ["budget_exhausted", "PERMISSION_DENIED", "", 7]) {
    assert.deepEqual(read("INTERNAL_ERROR", { original_code }), [
      "internal_error",
      { original_code },
    ]);
  }
  assert.deepEqual(read("PERMISSION_DENIED", { original_code: "OUT_OF_INK" }), [
    "permission_denied",
    { original_code: "OUT_OF_INK" },
  ]);
});

test("only an error with the code of a timeout can say that the job timed out", () => {
  const statusOf = (more: object): unknown => {
    const payload = { job_id: "job_1", attempt: 1, worker_seq: 2, message: "late", ...more };
    const { value } = readFromWorker(`${prefix}error`, payload);
    return value?.type === "error" && value.status;
  };
  assert.equal(statusOf({ code: "TIMEOUT", final_status: "timed_out" }), "timed_out");
  assert.equal(statusOf({ code: "TIMEOUT" }), "error");
  assert.equal(statusOf({ code: "INTERNAL_ERROR", final_status: "timed_out" }), "error");
});
