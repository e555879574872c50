/**
 * Time as a holder must see it. The monotonic clock stands still while a machine sleeps, the wall clock
 * can be set; elapsed time is the larger of the two, so that a process that was away never believes that
 * less time has passed than it has.
 */

export interface Clock {
  monotonicMs(): number;
  wallMs(): number;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
};

export type Moment = { readonly monotonicMs: number; readonly wallMs: number };

export function now(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

export function elapsedMs(clock: Clock, since: Moment): number {
  const { monotonicMs, wallMs } = now(clock);
  return Math.max(monotonicMs - since.monotonicMs, wallMs - since.wallMs, 0);
}

/**
 * Calls `run` after a while, and says how to call it off. Such a timer does not keep a program running:
 * what it serves is no reason for a program to live.
 */
export function later(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms);
  if (typeof timer === "object") timer.unref();
  return () => clearTimeout(timer);
}

/** Someone awaits this, so it keeps the program running. Rejects with the signal's reason. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
  });
}
