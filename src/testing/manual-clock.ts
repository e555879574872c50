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

  /** How many wait for a later time. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  async until(atMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (atMs <= this.#nowMs) {
      // A timer of no time at all still lets others go first: whoever spins must not stop the test.
      await new Promise(setImmediate);
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sleeper = { atMs, wake: resolve };
    const abort = (): void => reject(signal.reason);
    this.#sleepers.add(sleeper);
    signal.addEventListener("abort", abort);
    try {
      await promise;
    } finally {
      this.#sleepers.delete(sleeper);
      signal.removeEventListener("abort", abort);
    }
  }

  /** Moves time in one leap, as it looks to a process that was suspended. */
  leap(ms: number): void {
    this.#nowMs += ms;
    for (const sleeper of this.#sleepers) {
      if (sleeper.atMs <= this.#nowMs) sleeper.wake();
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
