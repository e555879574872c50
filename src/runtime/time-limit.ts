/**
 * The longest that one attempt of a job may run, as its agent was registered, here or in a worker's process. The time in which the job waits for a
 * person does not count. When the time is up, the handler's signal aborts. The handler then has the grace period of a
 * cancelled job to return.
 */
import type { Outcome } from "../core/index.ts";
import type { Clock } from "../plane/index.ts";
import type { Surroundings } from "./context.ts";
import { WorkError } from "./errors.ts";
import { limits } from "./limits.ts";

export type TimeLimitOptions = {
  readonly ms: number;
  readonly clock: Clock;
  /** Called when the time is up. */
  readonly abort: (reason: WorkError) => void;
  /** Called when the handler did not return within the grace. */
  readonly end: (outcome: Outcome) => void;
};

export class TimeLimit implements Disposable {
  readonly #options: TimeLimitOptions;
  readonly #disposed = new AbortController();
  #leftMs: number;
  /** Aborted when the count pauses. */
  #counting = new AbortController();
  /** A job may ask several people at a time. */
  #waits = 0;
  #outcome: Outcome | undefined;

  constructor(options: TimeLimitOptions) {
    this.#options = options;
    this.#leftMs = options.ms;
    this.#count();
  }

  /** How the job ends, once the time is up. */
  get outcome(): Outcome | undefined {
    return this.#outcome;
  }

  /** Does not count the time until `wait` settles. */
  async pauseDuring<Value>(wait: () => Promise<Value>): Promise<Value> {
    this.#waits += 1;
    this.#counting.abort();
    try {
      return await wait();
    } finally {
      this.#waits -= 1;
      if (this.#waits === 0 && !this.#outcome) this.#count();
    }
  }

  [Symbol.dispose](): void {
    this.#disposed.abort();
  }

  #count(): void {
    const { clock } = this.#options;
    this.#counting = new AbortController();
    const { signal } = this.#counting;
    const startedAtMs = clock.nowMs();
    const pause = (): void => {
      this.#leftMs -= clock.nowMs() - startedAtMs;
    };
    signal.addEventListener("abort", pause, { once: true });
    this.#at(startedAtMs + this.#leftMs, () => this.#reach(), signal);
  }

  #reach(): void {
    const { ms, clock, abort, end } = this.#options;
    const message = `the job ran longer than its agent's limit of ${ms} ms`;
    const reason = new WorkError("job_timed_out", message);
    const failure = { code: reason.code, message, isRetryable: reason.retryable };
    const outcome: Outcome = { status: "timed_out", failure };
    this.#outcome = outcome;
    abort(reason);
    this.#at(clock.nowMs() + limits.cancelGraceMs, () => end(outcome));
  }

  /** Unless the handler has returned by then, or `signal` aborts. */
  #at(atMs: number, act: () => void, signal?: AbortSignal): void {
    const { signal: disposed } = this.#disposed;
    const either = signal ? AbortSignal.any([disposed, signal]) : disposed;
    this.#options.clock.until(atMs, either).then(act, () => undefined);
  }
}

/** The same, with a limit that does not count the time in which a job waits for a person. */
export function pausing(limit: TimeLimit, surroundings: Surroundings): Surroundings {
  const { askPerson } = surroundings;
  return { ...surroundings, askPerson: (...asked) => limit.pauseDuring(() => askPerson(...asked)) };
}

export function requireTimeout(agent: string, timeoutMs: number | undefined): void {
  if (timeoutMs === undefined || timeoutMs > 0) return;
  throw new RangeError(`timeoutMs of agent ${agent} must be greater than 0`);
}
