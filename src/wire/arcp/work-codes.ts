/**
 * Our own codes in ARCP's words. Codes that are not here are the agent's own, or those of a log that was written when
 * jobs failed with ARCP's codes; they stay as they are.
 */
import type { ErrorCode } from "./errors.ts";

export type WorkCode =
  | "invalid_argument"
  | "permission_denied"
  | "grant_expired"
  | "budget_exhausted"
  | "grant_too_wide"
  | "job_not_found"
  | "attempt_over"
  | "key_reused"
  | "skill_not_found"
  | "skill_version_not_found"
  | "session_gone"
  | "question_not_found"
  | "question_closed"
  | "answer_invalid"
  | "ask_timeout"
  | "job_cancelled"
  | "job_timed_out"
  | "limit_reached"
  | "unavailable"
  | "worker_lost"
  | "credentials_lost"
  | "internal_error";

export const workCodes: Readonly<Record<WorkCode, ErrorCode>> = {
  invalid_argument: "INVALID_REQUEST",
  permission_denied: "PERMISSION_DENIED",
  grant_expired: "LEASE_EXPIRED",
  budget_exhausted: "BUDGET_EXHAUSTED",
  grant_too_wide: "LEASE_SUBSET_VIOLATION",
  job_not_found: "JOB_NOT_FOUND",
  attempt_over: "CANCELLED",
  key_reused: "DUPLICATE_KEY",
  skill_not_found: "AGENT_NOT_AVAILABLE",
  skill_version_not_found: "AGENT_VERSION_NOT_AVAILABLE",
  session_gone: "RESUME_WINDOW_EXPIRED",
  question_not_found: "INVALID_REQUEST",
  question_closed: "INVALID_REQUEST",
  answer_invalid: "INVALID_REQUEST",
  ask_timeout: "INTERNAL_ERROR",
  job_cancelled: "CANCELLED",
  job_timed_out: "TIMEOUT",
  limit_reached: "INTERNAL_ERROR",
  unavailable: "INTERNAL_ERROR",
  worker_lost: "INTERNAL_ERROR",
  credentials_lost: "INTERNAL_ERROR",
  internal_error: "INTERNAL_ERROR",
};

/** A code that is not in the table is an agent's own, and stays as it is. */
export function arcpCodeOf(code: string): string {
  return isWorkCode(code) ? workCodes[code] : code;
}

/** Whether ARCP's code is less specific than ours, so that our code is added to the details. */
export function isVague(code: string): boolean {
  return code === "limit_reached" || code === "ask_timeout" || code === "question_closed";
}

function isWorkCode(code: string): code is WorkCode {
  return Object.hasOwn(workCodes, code);
}
