/**
 * Asks again, with growing pauses, what may be asked again. Each pause is shortened at random, so that
 * a thousand workers that lost the same daemon do not all come back in the same moment.
 */
import { type Clock, elapsedMs, now, sleep } from "./deadline.ts";
import { TipstaffError } from "./errors.ts";
import { limits } from "./limits.ts";

export function pauseMs(failures: number): number {
  const longest = Math.min(limits.pauseMs * 2 ** Math.min(failures - 1, 20), limits.pauseMsMax);
  return longest * (0.5 + Math.random() / 2);
}

export type RetryOptions = {
  readonly clock: Clock;
  readonly patienceMs: number;
  readonly signal?: AbortSignal | undefined;
};

/** Rejects with the last error once patience has run out, or with the signal's reason. */
export async function retrying<Value>(
  attempt: () => Promise<Value>,
  { clock, patienceMs, signal }: RetryOptions,
): Promise<Value> {
  const since = now(clock);
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof TipstaffError) || !error.retryable) throw error;
      const pause = Math.max(pauseMs(failures), error.retryAfterMs ?? 0);
      if (elapsedMs(clock, since) + pause > patienceMs) throw error;
      await sleep(pause, signal);
    }
  }
}
