/** The time, as the plane is told it. */
import { setTimeout as sleep } from "node:timers/promises";
import { limits } from "./limits.ts";

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
  readonly #keepsAlive: boolean;

  /** `keepsAlive`: whether a process goes on for no other reason than that somebody waits for a time. */
  constructor({ keepsAlive = true }: { readonly keepsAlive?: boolean } = {}) {
    this.#keepsAlive = keepsAlive;
  }

  nowMs(): number {
    const monotonicMs = performance.now();
    const steadyMs = this.#lastMs + (monotonicMs - this.#lastMonotonicMs);
    this.#lastMs = Math.max(Date.now(), steadyMs);
    this.#lastMonotonicMs = monotonicMs;
    return Math.floor(this.#lastMs);
  }

  async until(atMs: number, signal: AbortSignal): Promise<void> {
    do {
      const leftMs = Math.max(0, atMs - this.nowMs());
      await sleep(Math.min(leftMs, limits.timerMsMax), undefined, {
        signal,
        ref: this.#keepsAlive,
      });
    } while (this.nowMs() < atMs);
  }
}
