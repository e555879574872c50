/** What the core says went wrong, in the protocol's words. Refusals of requests are the runtime's to translate. */
import type { Failure } from "../../core/index.ts";
import {
  type ErrorCode,
  type ErrorPayload,
  isErrorCode,
  printError,
} from "../../wire/arcp/index.ts";

/** How jobs end by the core's doing. */
const codes: Readonly<Record<string, ErrorCode>> = {
  job_cancelled: "CANCELLED",
  job_timed_out: "TIMEOUT",
  grant_expired: "LEASE_EXPIRED",
  worker_lost: "INTERNAL_ERROR",
};

/** An agent may have codes of its own; only the protocol's are sent (ARCP-187). */
export function errorOf({ code, message, isRetryable, details }: Failure): ErrorPayload {
  const known = codes[code] ?? (isErrorCode(code) ? code : "INTERNAL_ERROR");
  return printError({
    code: known,
    message: message || "it failed",
    retryable: isRetryable,
    details: details === undefined ? undefined : JSON.parse(details),
  });
}

export function failureOf({ code, message, retryable, details }: ErrorPayload): Failure {
  return {
    code,
    message,
    isRetryable: retryable,
    ...(details && { details: JSON.stringify(details) }),
  };
}
