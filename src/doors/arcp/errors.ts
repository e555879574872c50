/** Errors of jobs, translated to ARCP's codes. */
import type { CoordinationCode, Failure, Refusal } from "../../core/index.ts";
import { toWorkError, type WorkErrorCode } from "../../runtime/index.ts";
import {
  ArcpError,
  arcpCodeOf,
  type ErrorCode,
  type ErrorPayload,
  type JsonObject,
  printError,
  withArcpCode,
  workCodes,
} from "../../wire/arcp/index.ts";

/**
 * Every code that a job can fail with has a code in ARCP: if one is missing in the table, this does not compile. No
 * job fails with a code of leases or elections; if one does, it is an internal error.
 */
const codes: Readonly<Record<Exclude<WorkErrorCode, CoordinationCode>, ErrorCode>> = workCodes;

export function toArcpError(refusal: Refusal, about: JsonObject = {}): ArcpError {
  // ARCP has no code for a limit. The original code in the details tells callers that they can retry later.
  const original = refusal.code === "limit_reached" ? { original_code: refusal.code } : {};
  const { code, message, details, retryable } = toWorkError(refusal, { ...about, ...original });
  const arcpCode = Object.hasOwn(codes, code) ? arcpCodeOf(code) : "INTERNAL_ERROR";
  return new ArcpError(arcpCode, message, { retryable, details });
}

/** An agent may have codes of its own; only the protocol's are sent, theirs in the details (ARCP-187). */
export function errorOf(failure: Failure): ErrorPayload {
  const { code, message, isRetryable: retryable, details } = failure;
  const more = details === undefined ? {} : { details: JSON.parse(details) };
  return printError(withArcpCode({ code, message: message || "it failed", retryable, ...more }));
}

export function failureOf({ code, message, retryable, details }: ErrorPayload): Failure {
  return {
    code,
    message,
    isRetryable: retryable,
    ...(details && { details: JSON.stringify(details) }),
  };
}
