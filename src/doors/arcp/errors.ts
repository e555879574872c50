/** What went wrong with work, in the protocol's words. */
import type { Failure, Refusal } from "../../core/index.ts";
import { toWorkError, type WorkErrorCode } from "../../runtime/index.ts";
import {
  ArcpError,
  arcpCodeOf,
  type ErrorCode,
  type ErrorPayload,
  type JsonObject,
  printError,
  workCodes,
} from "../../wire/arcp/index.ts";

/** Codes of coordination: no job meets them. Should one be met, it is our fault. */
type CoordinationCode =
  | "agent_not_found"
  | "agent_dead"
  | "lease_held"
  | "lease_not_found"
  | "token_mismatch"
  | "task_not_found"
  | "task_not_claimed"
  | "task_claimed_by_another"
  | "claim_lost"
  | "task_ended"
  | "task_not_dead"
  | "no_task";

/** Every code that work can end with has a word in ARCP: leave one out of the table, and this does not compile. */
const codes: Readonly<Record<Exclude<WorkErrorCode, CoordinationCode>, ErrorCode>> = workCodes;

export function toArcpError(refusal: Refusal, about: JsonObject = {}): ArcpError {
  // The protocol has no code for it. Callers learn from this one that the fault is not ours, and that waiting helps.
  const original = refusal.code === "limit_reached" ? { original_code: refusal.code } : {};
  const { code, message, details, retryable } = toWorkError(refusal, { ...about, ...original });
  const arcpCode = Object.hasOwn(codes, code) ? arcpCodeOf(code) : "INTERNAL_ERROR";
  return new ArcpError(arcpCode, message, { retryable, details });
}

/** An agent may have codes of its own; only the protocol's are sent, theirs in the details (ARCP-187). */
export function errorOf(failure: Failure): ErrorPayload {
  const { code, message, isRetryable, details } = failure;
  return printError({
    code: arcpCodeOf(code),
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
