/** A monotonic clock and its timers, which stand still until they are moved. */

type Timer = { readonly atMs: number; readonly run: () => void };

export class ManualTime {
  readonly #timers = new Set<Timer>();
  #nowMs = 0;

  nowMs(): number {
    return this.#nowMs;
  }

  /** How many wait for a later time. */
  get timers(): number {
    return this.#timers.size;
  }

  later(run: () => void, ms: number): () => void {
    const timer: Timer = { atMs: this.#nowMs + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (signal.aborted) return Promise.reject(signal.reason);
    const stop = this.later(resolve, ms);
    signal.addEventListener("abort", () => {
      stop();
      reject(signal.reason);
    });
    return promise;
  }

  /** Moves time in steps, and lets whoever wakes act after each. */
  async pass(ms: number, stepMs: number = ms): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.#nowMs += Math.min(left, stepMs);
      for (const timer of [...this.#timers].toSorted((a, b) => a.atMs - b.atMs)) {
        if (timer.atMs <= this.#nowMs && this.#timers.delete(timer)) timer.run();
      }
      await settled();
    }
  }
}

/** What follows from what has happened, over memory transports too, has happened. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 8; turn += 1) await new Promise(setImmediate);
}
