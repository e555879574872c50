/** What the core says went wrong, in the protocol's words. Refusals of requests are the runtime's to translate. */
import type { Failure } from "../../core/index.ts";
import { codeOf } from "../../runtime/index.ts";
import { type ErrorPayload, isErrorCode, printError } from "../../wire/arcp/index.ts";

/** An agent may have codes of its own; only the protocol's are sent (ARCP-187). */
export function errorOf(failure: Failure): ErrorPayload {
  const code = codeOf(failure);
  const { message, isRetryable, details } = failure;
  return printError({
    code: isErrorCode(code) ? code : "INTERNAL_ERROR",
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
