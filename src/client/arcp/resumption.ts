/**
 * The way back after a loss (ARCP-218 to 222): again and again, with growing pauses, until there is a session
 * again or it is certain that there will be none.
 */
import { ArcpError, isArcpError } from "../../wire/arcp/index.ts";
import { limits } from "./limits.ts";
import type { PeerTraits } from "./python-peer.ts";
import type { Timekeeper } from "./time.ts";

export type Resumption = {
  /** Connects, and says hello with this number; without one, as someone new. */
  readonly attempt: (lastEventSeq: number | undefined) => Promise<void>;
  readonly lastEventSeq: number;
  readonly windowMs: number;
  readonly traits: PeerTraits;
  readonly time: Timekeeper;
  readonly signal: AbortSignal;
};

/**
 * Resolves when the session goes on. Rejects with `RESUME_WINDOW_EXPIRED` if it cannot, with another error of
 * the runtime's if that will not change, or with the signal's reason.
 */
export async function resume(resumption: Resumption): Promise<void> {
  const { traits, lastEventSeq, time, signal } = resumption;
  if (traits.resumesAfterClose) await time.sleep(limits.closeSettleMs, signal);
  await replayFrom(lastEventSeq, traits, (from) => persist(resumption, from));
}

/**
 * Attempts to resume from this event. A refusal may mean that there was nothing to replay: once more, from one
 * event before (ARCP-222). Rejects as the attempt did, or with `RESUME_WINDOW_EXPIRED` if the session is gone.
 */
export async function replayFrom(
  lastEventSeq: number,
  traits: Pick<PeerTraits, "refusalsOfResume" | "refusesEmptyReplay">,
  attempt: (from: number) => Promise<void>,
): Promise<void> {
  try {
    await attempt(lastEventSeq);
  } catch (error) {
    if (!isRefusal(error, traits)) throw error;
    const isUnreachable = error.details?.["unreachable"] === true;
    const mayBeEmpty = traits.refusesEmptyReplay && lastEventSeq > 0 && !isUnreachable;
    if (!mayBeEmpty) throw expired(error);
    await replayFrom(lastEventSeq - 1, { ...traits, refusesEmptyReplay: false }, attempt);
  }
}

/** Opens a session anew, as patiently. */
export async function beginAnew(resumption: Resumption): Promise<void> {
  await persist(resumption, undefined);
}

async function persist(resumption: Resumption, from: number | undefined): Promise<void> {
  const { attempt, windowMs, traits, time, signal } = resumption;
  const deadlineMs = time.nowMs() + windowMs;
  for (let failures = 0; ; failures += 1) {
    await time.sleep(pauseMs(failures), signal);
    try {
      await attempt(from);
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (isRefusal(error, traits) || isFinal(error)) throw error;
      if (time.nowMs() >= deadlineMs) {
        const message = `no connection within the ${windowMs / 1_000} s that the session is kept for`;
        const details = { unreachable: true };
        throw new ArcpError("RESUME_WINDOW_EXPIRED", message, { cause: error, details });
      }
    }
  }
}

/** Full jitter: clients that lost the same runtime do not all come back in one moment. */
export function pauseMs(failures: number): number {
  const longest = Math.min(limits.reconnectMs * 2 ** Math.min(failures, 20), limits.reconnectMsMax);
  return longest * Math.random();
}

function isRefusal(
  error: unknown,
  { refusalsOfResume }: Pick<PeerTraits, "refusalsOfResume">,
): error is ArcpError {
  return isArcpError(error) && refusalsOfResume.has(error.code) && !isOurs(error);
}

/** A connection that ended before the welcome is called an internal error, too, and may be tried again. */
function isOurs(error: ArcpError): boolean {
  return error.code === "INTERNAL_ERROR" && error.cause !== undefined;
}

function isFinal(error: unknown): boolean {
  return isArcpError(error) && !error.retryable;
}

function expired(cause: ArcpError): ArcpError {
  if (cause.code === "RESUME_WINDOW_EXPIRED") return cause;
  const message = `the session cannot be resumed: ${cause.message}`;
  return new ArcpError("RESUME_WINDOW_EXPIRED", message, { cause });
}
