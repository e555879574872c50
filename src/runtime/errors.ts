/** What the core refuses, in the words that agents know. */
import { type Failure, type Refusal, type RefusalCode, toNumber } from "../core/index.ts";
import { ArcpError, type ErrorCode, type JsonObject } from "../wire/arcp/index.ts";

/** Those that are about agents, leases and tasks cannot be met here; should one be, it is our fault. */
const codes: Readonly<Record<RefusalCode, ErrorCode>> = {
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
  limit_reached: "INTERNAL_ERROR",
  unavailable: "INTERNAL_ERROR",
  agent_not_found: "INTERNAL_ERROR",
  agent_dead: "INTERNAL_ERROR",
  lease_held: "INTERNAL_ERROR",
  lease_not_found: "INTERNAL_ERROR",
  token_mismatch: "INTERNAL_ERROR",
  task_not_found: "INTERNAL_ERROR",
  task_not_claimed: "INTERNAL_ERROR",
  task_claimed_by_another: "INTERNAL_ERROR",
  claim_lost: "INTERNAL_ERROR",
  task_ended: "INTERNAL_ERROR",
  task_not_dead: "INTERNAL_ERROR",
  no_task: "INTERNAL_ERROR",
};

/** How jobs end by the core's doing. No plain object: a code may come from elsewhere, and be the name of anything. */
const ends: ReadonlyMap<string, ErrorCode> = new Map([
  ["job_cancelled", "CANCELLED"],
  ["job_timed_out", "TIMEOUT"],
  ["grant_expired", "LEASE_EXPIRED"],
  ["worker_lost", "INTERNAL_ERROR"],
  ["credentials_lost", "INTERNAL_ERROR"],
]);

/** The code of a failure: the protocol's for what the core ended, else whatever the agent said. */
export function codeOf({ code }: Failure): string {
  return ends.get(code) ?? code;
}

/** What was thrown may be anything; so may its message, whatever its type says. */
export function wordsOf(thrown: unknown, otherwise: string): string {
  const message: unknown = thrown instanceof Error ? thrown.message : thrown;
  return typeof message === "string" && message !== "" ? message : otherwise;
}

export function toArcpError(refusal: Refusal, about: JsonObject = {}): ArcpError {
  const { code, message, path, left, jobId } = refusal;
  const details = {
    ...about,
    // The protocol has no code for it. Callers learn from this one that the fault is not ours, and that waiting helps.
    ...(code === "limit_reached" && { original_code: code }),
    ...(path !== undefined && { path }),
    ...(left && { currency: left.currency, remaining: toNumber(left.amount) }),
    ...(jobId !== undefined && { existing_job_id: jobId }),
  };
  const isEmpty = Object.keys(details).length === 0;
  return new ArcpError(codes[code], message, isEmpty ? {} : { details });
}
