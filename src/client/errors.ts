/**
 * One class for everything that goes wrong, told apart by `code`. Codes of the daemon are listed in
 * `wire/api/errors.ts`; the others are made here. `docs/errors.md` says what to do about each.
 */
import type { ErrorCode, Lease, Question } from "../wire/api/index.ts";

export type ClientErrorCode =
  /** No daemon answers, or not in time. */
  | "unreachable"
  /** Something answers, but not as Tipstaff does. */
  | "bad_answer"
  /** The log does not reach back to where a watch wanted to go on. */
  | "gap"
  /** A watch was to go on, and the daemon now serves another log. */
  | "other_log"
  /** A lease ended without being released. */
  | "lease_lost"
  /** The agent no longer leads, or cannot know. */
  | "leadership_lost"
  /** Nobody answered a question before its deadline. */
  | "ask_timeout"
  /** The client, or what was asked of it, is closed. */
  | "closed";

export type TipstaffErrorCode = ErrorCode | ClientErrorCode;

/** What is known beyond code and message. */
export type ErrorDetail = {
  /** With `lease_held`: the lease that is in the way. */
  readonly lease?: Lease | undefined;
  /** With `question_closed` and `ask_timeout`: the question, with its answer or the reason why it closed. */
  readonly question?: Question | undefined;
  /** With `gap`: the oldest entry there is. */
  readonly oldestSequence?: number | undefined;
  /** With `gap`: a watch after this one misses nothing that is still there. */
  readonly resumeAfter?: number | undefined;
  /** How long the daemon wants to be left alone. */
  readonly retryAfterMs?: number | undefined;
};

export class TipstaffError extends Error {
  override readonly name = "TipstaffError";
  readonly code: TipstaffErrorCode;
  /** Whether the same call may succeed later, with nothing else changed. */
  readonly retryable: boolean;
  // Only those that are known become properties, so that a printed error has no lines with `undefined`.
  declare readonly lease: Lease | undefined;
  declare readonly question: Question | undefined;
  declare readonly oldestSequence: number | undefined;
  declare readonly resumeAfter: number | undefined;
  declare readonly retryAfterMs: number | undefined;

  constructor(code: TipstaffErrorCode, message: string, detail: ErrorDetail & ErrorOptions = {}) {
    const { cause, ...rest } = detail;
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryable = passing.has(code);
    for (const [name, value] of Object.entries(rest)) {
      if (value !== undefined) Object.assign(this, { [name]: value });
    }
  }
}

const passing: ReadonlySet<TipstaffErrorCode> = new Set<TipstaffErrorCode>([
  "unreachable",
  "unavailable",
  "limit_reached",
]);

/** Whether it is one of ours with one of these codes. Not by class: two copies of a package are common. */
export function hasCode(error: unknown, ...codes: readonly TipstaffErrorCode[]): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  return codes.some((code) => code === error.code);
}
