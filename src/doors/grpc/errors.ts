/** Every refusal of the core as a gRPC status. Leave one out and this does not compile. */
import type { RefusalCode } from "../../core/index.ts";
import type { StatusName } from "../../wire/grpc/index.ts";

/** The core's refusals, and what only this door can refuse. */
export type DoorCode = RefusalCode | "service_not_found";

export const grpcStatus: Readonly<Record<DoorCode, StatusName>> = {
  invalid_argument: "INVALID_ARGUMENT",
  agent_not_found: "NOT_FOUND",
  agent_dead: "NOT_FOUND",
  // AcquireLease itself answers `acquired = false` instead; nothing else is refused with this.
  lease_held: "FAILED_PRECONDITION",
  lease_not_found: "NOT_FOUND",
  token_mismatch: "PERMISSION_DENIED",
  task_not_found: "NOT_FOUND",
  task_not_claimed: "FAILED_PRECONDITION",
  task_claimed_by_another: "PERMISSION_DENIED",
  claim_lost: "FAILED_PRECONDITION",
  task_ended: "FAILED_PRECONDITION",
  task_not_dead: "FAILED_PRECONDITION",
  key_reused: "ALREADY_EXISTS",
  permission_denied: "PERMISSION_DENIED",
  grant_expired: "FAILED_PRECONDITION",
  budget_exhausted: "FAILED_PRECONDITION",
  grant_too_wide: "PERMISSION_DENIED",
  skill_not_found: "NOT_FOUND",
  skill_version_not_found: "NOT_FOUND",
  job_not_found: "NOT_FOUND",
  attempt_over: "FAILED_PRECONDITION",
  session_gone: "NOT_FOUND",
  question_not_found: "NOT_FOUND",
  question_closed: "FAILED_PRECONDITION",
  answer_invalid: "INVALID_ARGUMENT",
  // A claim waits instead; this is the answer to who does not want to.
  no_task: "NOT_FOUND",
  limit_reached: "RESOURCE_EXHAUSTED",
  unavailable: "UNAVAILABLE",
  service_not_found: "NOT_FOUND",
};
