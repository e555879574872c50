import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  ArcpError,
  type ErrorCode,
  errorClasses,
  errorCodes,
  isArcpError,
  isErrorCode,
  printError,
  readError,
} from "./errors.ts";

const codes = Object.keys(errorCodes).filter(isErrorCode);

test("[ARCP-186] whatever anyone claims, what is over is never retryable and what is ours always is", () => {
  for (const retryable of [true, false, undefined]) {
    assert.equal(printError({ code: "LEASE_EXPIRED", message: "m", retryable }).retryable, false);
    assert.equal(
      printError({ code: "BUDGET_EXHAUSTED", message: "m", retryable }).retryable,
      false,
    );
    assert.equal(printError({ code: "INTERNAL_ERROR", message: "m", retryable }).retryable, true);
    assert.equal(new ArcpError("LEASE_EXPIRED", "m", { retryable }).retryable, false);
  }
});

test("[ARCP-186] the others have a default, and may say otherwise", () => {
  assert.equal(printError({ code: "TIMEOUT", message: "m" }).retryable, true);
  assert.equal(printError({ code: "TIMEOUT", message: "m", retryable: false }).retryable, false);
  assert.equal(printError({ code: "CANCELLED", message: "m" }).retryable, false);
  assert.equal(
    printError({ code: "HEARTBEAT_LOST", message: "m", retryable: true }).retryable,
    true,
  );
});

test("[ARCP-187] a code that we do not know is kept when it comes in, and never sent", () => {
  const error = ArcpError.fromPayload({
    code: "TEAPOT",
    message: "short and stout",
    details: null,
  });
  assert.equal(error.code, "TEAPOT");
  assert.equal(error.retryable, false);
  assert.equal(error.details, undefined);
  assert.deepEqual(error.toPayload(), {
    code: "INTERNAL_ERROR",
    message: "short and stout",
    retryable: true,
    details: { original_code: "TEAPOT" },
  });
});

test("[ARCP-21] a message is never empty", () => {
  assert.equal(printError({ code: "TIMEOUT", message: "" }).message, "TIMEOUT");
  assert.equal(readError({ code: "TIMEOUT", message: "" }).message, "TIMEOUT");
  assert.equal(printError({ code: "", message: "" }).message, "INTERNAL_ERROR");
});

const names: Readonly<Record<ErrorCode, string>> = {
  PERMISSION_DENIED: "PermissionDeniedError",
  LEASE_SUBSET_VIOLATION: "LeaseSubsetViolationError",
  JOB_NOT_FOUND: "JobNotFoundError",
  DUPLICATE_KEY: "DuplicateKeyError",
  AGENT_NOT_AVAILABLE: "AgentNotAvailableError",
  AGENT_VERSION_NOT_AVAILABLE: "AgentVersionNotAvailableError",
  CANCELLED: "CancelledError",
  TIMEOUT: "TimeoutError",
  RESUME_WINDOW_EXPIRED: "ResumeWindowExpiredError",
  HEARTBEAT_LOST: "HeartbeatLostError",
  LEASE_EXPIRED: "LeaseExpiredError",
  BUDGET_EXHAUSTED: "BudgetExhaustedError",
  INVALID_REQUEST: "InvalidRequestError",
  UNAUTHENTICATED: "UnauthenticatedError",
  INTERNAL_ERROR: "InternalError",
};

test("[ARCP-188] every code has a class, and an error knows its own", () => {
  for (const code of codes) {
    const error = ArcpError.fromPayload({ code, message: "m", details: { a: 1 } });
    assert(error instanceof ArcpError && error instanceof errorClasses[code], code);
    assert.equal(error.name, names[code]);
    assert.deepEqual(error.toPayload().details, { a: 1 });
    const others = codes.filter((other) => other !== code);
    assert(others.every((other) => !(error instanceof errorClasses[other])));
  }
});

test("[ARCP-188] an error of another copy of the package is recognised", async () => {
  const address = "./errors.ts?another-copy";
  const copy: { ArcpError: typeof ArcpError; errorClasses: typeof errorClasses } = await import(
    address
  );
  const error = new copy.errorClasses.TIMEOUT("late");
  assert.notEqual(copy.ArcpError, ArcpError);
  assert(isArcpError(error));
  assert(error instanceof ArcpError);
  assert(error instanceof errorClasses.TIMEOUT);
  assert(!(error instanceof errorClasses.CANCELLED));
  assert(!(new Error("plain") instanceof ArcpError));
});

test("a class that someone derives is not every error", () => {
  class Own extends ArcpError {}
  assert(new Own("TIMEOUT", "m") instanceof Own);
  assert(!(new ArcpError("TIMEOUT", "m") instanceof Own));
});

test("a cause is kept, and not sent", () => {
  const cause = new Error("inside");
  const error = new ArcpError("INTERNAL_ERROR", "outside", { cause });
  assert.equal(error.cause, cause);
  assert.deepEqual(error.toPayload(), {
    code: "INTERNAL_ERROR",
    message: "outside",
    retryable: true,
  });
});

test("any JSON at all becomes an error that can be sent", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const { code, message, retryable } = ArcpError.fromPayload(value).toPayload();
      assert(isErrorCode(code) && message !== "" && typeof retryable === "boolean");
    }),
  );
});
