/**
 * Our own codes in ARCP's words, and back. Codes that are not here are the agent's own, or those of a log that was written
 * when jobs failed with ARCP's codes; they stay as they are.
 */
import { type ErrorCode, isErrorCode, type ReceivedError } from "./errors.ts";
import { limits } from "./limits.ts";

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

/** Of our codes that share one in ARCP, those that ARCP's code means by itself. */
const general: readonly WorkCode[] = ["invalid_argument", "job_cancelled", "internal_error"];

const meanings: ReadonlyMap<string, string> = new Map(
  [...Object.keys(workCodes), ...general].map((code) => [arcpCodeOf(code), code]),
);

/** The same error in ARCP's words. Where ARCP's code is less specific than ours, the details have ours. */
export function withArcpCode(error: ReceivedError): ReceivedError {
  const { code, details } = error;
  const arcpCode = arcpCodeOf(code);
  const told = { ...error, code: arcpCode };
  const isExact = arcpCode === code || meanings.get(arcpCode) === code;
  return isExact ? told : { ...told, details: { ...details, original_code: code } };
}

/** The inverse: the same error with our code, or with the agent's own. */
export function withOwnCode(error: ReceivedError): ReceivedError {
  const { code, details, ...rest } = error;
  const { original_code: original, ...others } = details ?? {};
  if (!isOriginalOf(code, original)) return { ...error, code: meanings.get(code) ?? code };
  const hasOthers = Object.keys(others).length > 0;
  return { ...rest, code: original, ...(hasOthers && { details: others }) };
}

/** Whether an error with this code of ARCP can have been one with the other code. */
function isOriginalOf(code: string, original: unknown): original is string {
  if (typeof original !== "string") return false;
  if (isWorkCode(original)) return workCodes[original] === code;
  // `printError` sends an agent's own code like this.
  const isOwn = original !== "" && original.length <= limits.nameLengthMax;
  return code === "INTERNAL_ERROR" && isOwn && !isErrorCode(original);
}

function isWorkCode(code: string): code is WorkCode {
  return Object.hasOwn(workCodes, code);
}
