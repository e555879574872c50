/** What the core says went wrong, in the protocol's words. Refusals of requests are the runtime's to translate. */
import type { Failure } from "../../core/index.ts";
import { codeOf } from "../../runtime/index.ts";
import { type ErrorPayload, printError } from "../../wire/arcp/index.ts";

/** An agent may have codes of its own; only the protocol's are sent, theirs in the details (ARCP-187). */
export function errorOf(failure: Failure): ErrorPayload {
  const { message, isRetryable, details } = failure;
  return printError({
    code: codeOf(failure),
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
