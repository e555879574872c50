/** The jobs that somebody follows here, and who is told of which of their events. */
import { type Cursors, own, type Series } from "./cursors.ts";
import { Following } from "./following.ts";
import { limits } from "./limits.ts";

export type Followed = {
  readonly jobId: string;
  /** Submitted in this session, so that its events come unasked, among the session's own. */
  isOwn: boolean;
  /** By the runtime's clock, if it was submitted here. */
  acceptedAtMs: number | undefined;
  /** Submitted here with a key: the job may be older than its acceptance. */
  hasKey?: boolean;
  readonly submitted: Set<Following>;
  readonly subscribed: Set<Following>;
  /** Up to this number events are of the past, and for the one who asked for them. */
  history: { readonly following: Following; readonly untilSeq: number } | undefined;
};

/** Where an event stands among the others. */
export type Numbered = {
  readonly series: Series;
  readonly eventSeq: number | undefined;
  readonly areApart: boolean;
};

export class Jobs {
  readonly #followed = new Map<string, Followed>();
  /** What is over may still be heard of: the series that it is counted in. */
  readonly #forgotten = new Map<string, Series>();
  /** Heard of before the answer to who asked for them: that was lost with a connection, and comes again. */
  readonly #unclaimed = new Map<string, Following>();

  get(jobId: string | undefined): Followed | undefined {
    return jobId === undefined ? undefined : this.#followed.get(jobId);
  }

  /** Followed now, or a while ago. */
  isKnown(jobId: string | undefined): boolean {
    if (jobId === undefined) return false;
    return this.#followed.has(jobId) || this.#forgotten.has(jobId) || this.#unclaimed.has(jobId);
  }

  isOver(jobId: string): boolean {
    return this.#forgotten.has(jobId) && !this.#followed.has(jobId);
  }

  /** Whether somebody who has submitted it still wants it. */
  isWanted(jobId: string): boolean {
    const { submitted = [] } = this.get(jobId) ?? {};
    return [...submitted].some(({ isAbandoned }) => !isAbandoned);
  }

  all(): readonly Followed[] {
    return [...this.#followed.values()];
  }

  /** Those whose events are among the session's own. */
  ownFollowings({ areApart }: { readonly areApart: boolean }): readonly Following[] {
    return this.all().flatMap(({ isOwn, submitted, subscribed }) => {
      if (!areApart) return [...submitted, ...subscribed];
      return isOwn ? [...submitted] : [];
    });
  }

  submitted(jobId: string, following: Following, isOwn: boolean): Followed {
    const followed = this.#open(jobId);
    followed.submitted.add(following);
    followed.isOwn ||= isOwn;
    return followed;
  }

  /** For a job that nobody here has been told is theirs; nothing, if there are far too many. */
  unclaimed(jobId: string): Following | undefined {
    const known = this.#unclaimed.get(jobId);
    if (known || this.#unclaimed.size >= limits.unclaimedMax) return known;
    const following = new Following();
    this.#unclaimed.set(jobId, following);
    return following;
  }

  /** With what was heard of the job so far. */
  claim(jobId: string): Following {
    const following = this.#unclaimed.get(jobId) ?? new Following();
    this.#unclaimed.delete(jobId);
    return following;
  }

  /** Nobody will ask for them. */
  dropUnclaimed(): void {
    this.#unclaimed.clear();
  }

  subscribed(jobId: string, following: Following): Followed {
    const followed = this.#open(jobId);
    followed.subscribed.add(following);
    return followed;
  }

  /** Whether nobody is left who wants to hear of the job. */
  leave(jobId: string, following: Following): boolean {
    const followed = this.#followed.get(jobId);
    if (!followed) return false;
    followed.subscribed.delete(following);
    followed.submitted.delete(following);
    if (followed.submitted.size + followed.subscribed.size > 0) return false;
    this.forget(jobId);
    return true;
  }

  /** Everybody who followed it. */
  forget(jobId: string): readonly Following[] {
    const followed = this.#followed.get(jobId);
    if (!followed) return [];
    this.#followed.delete(jobId);
    this.#forgotten.delete(jobId);
    this.#forgotten.set(jobId, followed.isOwn ? own : jobId);
    const [oldest] = this.#forgotten.keys();
    if (this.#forgotten.size > limits.forgottenJobsMax && oldest !== undefined) {
      this.#forgotten.delete(oldest);
    }
    return [...followed.submitted, ...followed.subscribed];
  }

  /**
   * Which count an event is numbered in. A job that was submitted and subscribed to in one session comes twice
   * where subscriptions are counted apart (PYC-12): once in either count.
   */
  seriesOf(
    jobId: string | undefined,
    eventSeq: number,
    cursors: Cursors,
    isAsking: boolean,
  ): Series {
    const followed = this.get(jobId);
    if (!followed) return (jobId !== undefined && this.#forgotten.get(jobId)) || own;
    if (!followed.isOwn) return followed.jobId;
    if (followed.subscribed.size === 0) return own;
    const isNextOwn = eventSeq === cursors.lastOf(own) + 1;
    const isNextSubscribed = eventSeq === cursors.lastOf(followed.jobId) + 1;
    if (isNextOwn === isNextSubscribed) return isAsking ? followed.jobId : own;
    return isNextOwn ? own : followed.jobId;
  }

  /** Who is told of an event of this count and number. */
  audience(followed: Followed, { series, eventSeq, areApart }: Numbered): readonly Following[] {
    const { submitted, subscribed, history } = followed;
    if (history && eventSeq !== undefined) {
      if (eventSeq <= history.untilSeq) return [history.following];
      followed.history = undefined;
    }
    if (!areApart || !followed.isOwn || subscribed.size === 0) return [...submitted, ...subscribed];
    return series === own ? [...submitted] : [...subscribed];
  }

  #open(jobId: string): Followed {
    const known = this.#followed.get(jobId);
    if (known) return known;
    const followed: Followed = {
      jobId,
      isOwn: false,
      acceptedAtMs: undefined,
      submitted: new Set(),
      subscribed: new Set(),
      history: undefined,
    };
    this.#followed.set(jobId, followed);
    return followed;
  }
}
