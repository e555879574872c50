/** Every code has its status. A code is API: never renamed. */
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { RefusalCode } from "../../core/index.ts";
import type { ErrorBody, ErrorCode, Lease } from "../../wire/api/index.ts";

/** The core's `no_task` is no error here: the answer has no task. */
export const httpStatus: Readonly<
  Record<ErrorCode | Exclude<RefusalCode, "no_task">, ContentfulStatusCode>
> = {
  invalid_argument: 400,
  token_required: 401,
  link_used: 403,
  forbidden_origin: 403,
  not_found: 404,
  agent_not_found: 404,
  lease_not_found: 404,
  election_not_found: 404,
  policy_not_found: 404,
  task_not_found: 404,
  method_not_allowed: 405,
  lease_held: 409,
  token_mismatch: 409,
  task_not_claimed: 409,
  task_claimed_by_another: 409,
  claim_lost: 409,
  task_ended: 409,
  task_not_dead: 409,
  key_reused: 409,
  agent_dead: 410,
  body_too_long: 413,
  url_too_long: 414,
  unsupported_media_type: 415,
  wrong_host: 421,
  limit_reached: 429,
  internal: 500,
  unavailable: 503,
};

export function errorBody(code: ErrorCode, message: string, lease?: Lease): ErrorBody {
  return { error: { code, message, ...(lease ? { lease } : {}) } };
}
