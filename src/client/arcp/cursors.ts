/**
 * Where this session is in the numbered events (ARCP-120). One count for the whole session; with a runtime
 * that counts subscriptions apart, one more for each of them, and only the session's own is worth resuming
 * from (PYC-11).
 */

/** `own`, or the id of a job that is subscribed to. */
export type Series = string;
export const own: Series = "own";

export type Verdict = "next" | "duplicate" | "gap";

export class Cursors {
  readonly #areApart: boolean;
  readonly #last = new Map<Series, number>();

  constructor(lastEventSeq: number, { areApart }: { readonly areApart: boolean }) {
    this.#areApart = areApart;
    this.#last.set(own, lastEventSeq);
  }

  /** The last number up to which nothing of the session's own is missing. */
  get resumeFrom(): number {
    return this.lastOf(own);
  }

  lastOf(series: Series): number {
    return this.#last.get(this.#seriesOf(series)) ?? 0;
  }

  judge(eventSeq: number, series: Series): Verdict {
    const counted = this.#seriesOf(series);
    const last = this.#last.get(counted) ?? 0;
    if (eventSeq <= last) return "duplicate";
    // A subscription without history begins somewhere.
    return eventSeq === last + 1 || counted !== own ? "next" : "gap";
  }

  move(eventSeq: number, series: Series): void {
    this.#last.set(this.#seriesOf(series), eventSeq);
  }

  /** A new subscription counts from 1, or goes on: both are right. */
  begin(series: Series): void {
    if (this.#seriesOf(series) !== own) this.#last.set(series, 0);
  }

  forget(series: Series): void {
    if (this.#seriesOf(series) !== own) this.#last.delete(series);
  }

  #seriesOf(series: Series): Series {
    return this.#areApart ? series : own;
  }
}
