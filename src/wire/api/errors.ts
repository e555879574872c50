/** Why a request was refused. A closed set, never renamed; `docs/errors.md` says what a caller should do. */
import type { Lease, Question } from "./types.ts";

export type ErrorCode =
  | "invalid_argument"
  | "token_required"
  | "link_used"
  | "forbidden_origin"
  | "wrong_host"
  | "not_found"
  | "method_not_allowed"
  | "too_slow"
  | "url_too_long"
  | "headers_too_long"
  | "body_too_long"
  | "unsupported_media_type"
  | "agent_not_found"
  | "agent_dead"
  | "lease_held"
  | "lease_not_found"
  | "token_mismatch"
  | "election_not_found"
  | "policy_not_found"
  | "task_not_found"
  | "task_not_claimed"
  | "task_claimed_by_another"
  | "claim_lost"
  | "task_ended"
  | "task_not_dead"
  | "key_reused"
  | "permission_denied"
  | "grant_expired"
  | "budget_exhausted"
  | "grant_too_wide"
  | "skill_not_found"
  | "skill_version_not_found"
  | "job_not_found"
  | "attempt_over"
  | "session_gone"
  | "question_not_found"
  | "question_closed"
  | "answer_invalid"
  | "limit_reached"
  | "unavailable"
  | "internal";

export type ErrorBody = {
  readonly error: {
    readonly code: ErrorCode;
    /** Names the thing and the way out. */
    readonly message: string;
    /** With `lease_held`: the lease that is in the way. */
    readonly lease?: Lease;
    /** With `question_closed`: the question, with its answer or the reason why it closed. */
    readonly question?: Question;
  };
};
