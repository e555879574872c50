/** The time, as the plane is told it. */
import { setTimeout as sleep } from "node:timers/promises";

export interface Clock {
  /** Milliseconds since 1970. Never goes back. */
  nowMs(): number;
  /** Resolves at or after `atMs`; rejects with the signal's reason. */
  until(atMs: number, signal: AbortSignal): Promise<void>;
}

/**
 * The wall clock, made steady: when it is set back, time goes on at the pace of the monotonic clock
 * until the wall has caught up. When it is set forward, or the machine slept, time jumps with it.
 */
export class SteadyClock implements Clock {
  #lastMs = Date.now();
  #lastMonotonicMs = performance.now();

  nowMs(): number {
    const monotonicMs = performance.now();
    const steadyMs = this.#lastMs + (monotonicMs - this.#lastMonotonicMs);
    this.#lastMs = Math.max(Date.now(), steadyMs);
    this.#lastMonotonicMs = monotonicMs;
    return Math.floor(this.#lastMs);
  }

  async until(atMs: number, signal: AbortSignal): Promise<void> {
    await sleep(Math.max(0, atMs - this.nowMs()), undefined, { signal });
  }
}
