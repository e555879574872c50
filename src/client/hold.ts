/**
 * Something that is ours for a time and kept by renewing it: a lease, a claim. Whether we still hold it is
 * decided by our own clock when asked, counted from before the request that granted or renewed it was
 * sent: the daemon began to count later, so what we believe to hold is ours. What was lost once stays
 * lost, whatever a late answer says.
 */
import { type Clock, elapsedMs, later, type Moment, now } from "./deadline.ts";
import { hasCode, type TipstaffError, type TipstaffErrorCode } from "./errors.ts";
import { limits } from "./limits.ts";
import { pauseMs } from "./retry.ts";

export type HoldOptions = {
  readonly clock: Clock;
  /** Before the request that granted it was sent. */
  readonly since: Moment;
  readonly ttlMs: number;
  /** Asks once for as long again; resolves with the time granted. */
  readonly renew: (signal: AbortSignal, leftMs: number) => Promise<number>;
  /** Refusals after which there is nothing left to renew. */
  readonly finalCodes: readonly TipstaffErrorCode[];
  readonly toLoss: (cause: unknown) => TipstaffError;
};

export class Hold {
  readonly #options: HoldOptions;
  readonly #lost = new AbortController();
  readonly #ended = new AbortController();
  #since: Moment;
  #ttlMs: number;
  /** How long after `#since` to renew. */
  #renewAfterMs: number;
  #failures = 0;
  #isRenewing = false;
  #callOff: () => void = () => {};

  constructor(options: HoldOptions) {
    this.#options = options;
    this.#since = options.since;
    this.#ttlMs = options.ttlMs;
    this.#renewAfterMs = options.ttlMs / limits.renewalsPerTtl;
    this.#watch();
  }

  /** Aborts when it is lost. Reading it looks at the clock too. */
  get signal(): AbortSignal {
    this.#look();
    return this.#lost.signal;
  }

  get isHeld(): boolean {
    this.#look();
    return !this.#lost.signal.aborted && !this.#ended.signal.aborted;
  }

  /** No more renewals. Nothing was lost. */
  end(): void {
    this.#callOff();
    this.#ended.abort();
  }

  lose(cause: unknown): void {
    if (this.#lost.signal.aborted || this.#ended.signal.aborted) return;
    this.end();
    this.#lost.abort(this.#options.toLoss(cause));
  }

  #look(): void {
    if (this.#leftMs() <= 0) this.lose(undefined);
  }

  #leftMs(): number {
    const certainMs = this.#ttlMs * (1 - limits.marginShare) - limits.marginMs;
    return certainMs - elapsedMs(this.#options.clock, this.#since);
  }

  /** One timer for both: when to renew, and when it is over. */
  #watch(): void {
    if (!this.isHeld) return;
    const elapsed = elapsedMs(this.#options.clock, this.#since);
    if (!this.#isRenewing && elapsed >= this.#renewAfterMs) void this.#renew();
    const nextMs = this.#isRenewing ? this.#ttlMs : Math.min(this.#renewAfterMs, this.#ttlMs);
    const ms = Math.min(Math.max(nextMs - elapsed, limits.lookEveryMsMin), limits.lookEveryMs);
    this.#callOff = later(() => this.#watch(), ms);
  }

  async #renew(): Promise<void> {
    this.#isRenewing = true;
    const since = now(this.#options.clock);
    try {
      const ttlMs = await this.#options.renew(this.#ended.signal, this.#leftMs());
      // An answer that comes after our time was up changes nothing.
      if (!this.isHeld) return;
      this.#since = since;
      this.#ttlMs = ttlMs;
      this.#renewAfterMs = ttlMs / limits.renewalsPerTtl;
      this.#failures = 0;
    } catch (error) {
      if (hasCode(error, ...this.#options.finalCodes)) return this.lose(error);
      this.#failures += 1;
      const pause = Math.min(pauseMs(this.#failures), this.#ttlMs / limits.renewalsPerTtl);
      this.#renewAfterMs = elapsedMs(this.#options.clock, this.#since) + pause;
    } finally {
      this.#isRenewing = false;
    }
    if (!this.isHeld) return;
    this.#callOff();
    this.#watch();
  }
}
