/** What `decide` answers: the events that follow from a command, or why it is refused. */
import type { Decimal } from "./decimal.ts";
import type { JobId } from "./ids.ts";
import type { Lease } from "./leases.ts";
import type { Question } from "./questions.ts";

/** A closed set and part of the API: never renamed. `docs/errors.md` says what a caller should do. */
export type RefusalCode =
  | CoordinationCode
  | "invalid_argument"
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
  | "unavailable";

/** Codes for callers of agents, leases and tasks. Jobs never fail with them. */
export type CoordinationCode =
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

export type Refusal = {
  readonly code: RefusalCode;
  /** Names the thing and the way out. */
  readonly message: string;
  /** With `lease_held`: the lease that is in the way. */
  readonly lease?: Lease;
  /** With `invalid_argument`, where it is known: which part of what was asked. */
  readonly path?: string;
  /** With `budget_exhausted`: what is left, in which currency. */
  readonly left?: { readonly currency: string; readonly amount: Decimal };
  /** With `key_reused`: the job that has the key. */
  readonly jobId?: JobId;
  /** With `question_closed`: the question, with its answer or the reason why it closed. */
  readonly question?: Question;
};

export type Refused = { readonly refusal: Refusal };

export type Decision<Event> =
  | { readonly events: readonly Event[]; readonly refusal?: never }
  | Refused;

export function accept<Event>(...events: Event[]): { readonly events: readonly Event[] } {
  return { events };
}

export function refuse(
  code: RefusalCode,
  message: string,
  detail?: Omit<Refusal, "code" | "message">,
): Refused {
  return { refusal: { code, message, ...detail } };
}
