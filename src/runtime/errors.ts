/** What goes wrong with work, by code: the one error class of this room. Doors say it in the words of their protocol. */
import { type Failure, type Refusal, type RefusalCode, toNumber } from "../core/index.ts";
import type { JsonObject } from "../wire/work/index.ts";

/** How the core ends jobs that did not end by themselves. */
export type EndCode = "job_cancelled" | "job_timed_out" | "worker_lost" | "credentials_lost";

/** A closed set. Codes are API and are never renamed; `docs/errors.md` lists them. */
export type WorkErrorCode = RefusalCode | EndCode | "ask_timeout" | "internal_error";

export type WorkErrorDetail = {
  /** Whether the same call may succeed later, with nothing else changed; by default, as its code says. */
  readonly retryable?: boolean | undefined;
  readonly details?: JsonObject | undefined;
  /** The code that an agent gave its failure: callers are told this one, whatever it is. */
  readonly agentCode?: string | undefined;
};

export class WorkError extends Error {
  override readonly name: string = "WorkError";
  readonly code: WorkErrorCode;
  readonly retryable: boolean;
  readonly details: JsonObject | undefined;
  readonly agentCode: string | undefined;

  constructor(code: WorkErrorCode, message: string, detail: WorkErrorDetail & ErrorOptions = {}) {
    super(message, "cause" in detail ? { cause: detail.cause } : undefined);
    this.code = code;
    this.retryable = detail.retryable ?? isRetryable[code];
    this.details = detail.details;
    this.agentCode = detail.agentCode;
  }

  /** The code that callers are told. */
  get toldCode(): string {
    return this.agentCode ?? this.code;
  }
}

/** All codes, and which of them say nothing about the request: the same one may succeed later. */
const isRetryable: Readonly<Record<WorkErrorCode, boolean>> = {
  invalid_argument: false,
  permission_denied: false,
  grant_expired: false,
  budget_exhausted: false,
  grant_too_wide: false,
  job_not_found: false,
  attempt_over: false,
  key_reused: false,
  skill_not_found: false,
  skill_version_not_found: false,
  session_gone: false,
  question_not_found: false,
  question_closed: false,
  answer_invalid: false,
  ask_timeout: true,
  job_cancelled: false,
  job_timed_out: true,
  worker_lost: true,
  credentials_lost: true,
  limit_reached: true,
  unavailable: true,
  internal_error: true,
  // Codes of coordination, which no job meets.
  agent_not_found: false,
  agent_dead: false,
  lease_held: false,
  lease_not_found: false,
  token_mismatch: false,
  task_not_found: false,
  task_not_claimed: false,
  task_claimed_by_another: false,
  claim_lost: false,
  task_ended: false,
  task_not_dead: false,
  no_task: false,
};

function isWorkErrorCode(code: string): code is WorkErrorCode {
  return Object.hasOwn(isRetryable, code);
}

/** What was thrown may be anything; so may its message, whatever its type says. */
export function wordsOf(thrown: unknown, otherwise: string): string {
  const message: unknown = thrown instanceof Error ? thrown.message : thrown;
  return typeof message === "string" && message !== "" ? message : otherwise;
}

/** A refusal of the core, to be thrown. */
export function toWorkError(refusal: Refusal, about: JsonObject = {}): WorkError {
  const { code, message, path, left, jobId } = refusal;
  const details = {
    ...about,
    ...(path !== undefined && { path }),
    ...(left && { currency: left.currency, remaining: toNumber(left.amount) }),
    ...(jobId !== undefined && { existing_job_id: jobId }),
  };
  const isEmpty = Object.keys(details).length === 0;
  return new WorkError(code, message, isEmpty ? {} : { details });
}

/** A failure that was recorded. Its code may be an agent's own. */
export function failureError({
  code,
  message,
  isRetryable: retryable,
  details,
}: Failure): WorkError {
  const more = { retryable, details: details === undefined ? undefined : JSON.parse(details) };
  return codedError(code, message, more);
}

/** An error whose code may be an agent's own. */
export function codedError(
  code: string,
  message: string,
  detail: Omit<WorkErrorDetail, "agentCode"> & ErrorOptions,
): WorkError {
  if (isWorkErrorCode(code)) return new WorkError(code, message, detail);
  return new WorkError("internal_error", message, { ...detail, agentCode: code });
}

/** As the result of a tool carries it. */
export type ToolError = {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
};

export function toolErrorOf(error: unknown): ToolError {
  if (!(error instanceof WorkError)) {
    return { code: "internal_error", message: wordsOf(error, "it failed"), retryable: true };
  }
  const { toldCode: code, retryable } = error;
  return { code, message: wordsOf(error, code), retryable };
}
