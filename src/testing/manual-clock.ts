/** A clock that stands still until it is moved. */
import type { Clock } from "../plane/index.ts";

type Sleeper = { readonly atMs: number; readonly wake: () => void };

export class ManualClock implements Clock {
  #nowMs: number;
  readonly #sleepers = new Set<Sleeper>();

  constructor(nowMs = 1_700_000_000_000) {
    this.#nowMs = nowMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  until(atMs: number, signal: AbortSignal): Promise<void> {
    if (atMs <= this.#nowMs) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sleeper = { atMs, wake: resolve };
    this.#sleepers.add(sleeper);
    signal.addEventListener("abort", () => {
      this.#sleepers.delete(sleeper);
      reject(signal.reason);
    });
    return promise;
  }

  /** Moves time in one leap, as it looks to a process that was suspended. */
  leap(ms: number): void {
    this.#nowMs += ms;
    for (const sleeper of this.#sleepers) {
      if (sleeper.atMs > this.#nowMs) continue;
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
  }

  /** Moves time in steps, and lets whoever wakes act after each. */
  async pass(ms: number, stepMs = 100): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.leap(Math.min(left, stepMs));
      await new Promise(setImmediate);
    }
  }
}
