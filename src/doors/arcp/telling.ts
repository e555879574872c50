/**
 * What one session is told, while somebody is connected: first what it missed, then what happens. Both come out of
 * the log, under the numbers that follow from it.
 *
 * Whoever keeps up is handed what is durable as it comes. Whoever does not (a slow connection, a job's past that
 * was asked for, a result that must be put together first) is told from the log, a piece at a time, until it has
 * caught up. So nothing piles up here, and nobody waits for anybody else.
 *
 * Answers to requests go out in between, in the order of the requests: none before what it rests on is durable, and
 * none after an entry that came later.
 */
import {
  covers,
  type Job,
  type JobId,
  lastEventSequence,
  type SessionId,
  type Stretch,
  skipsOf,
  stretchesAfter,
} from "../../core/index.ts";
import type { Entry } from "../../log/index.ts";
import type { Plane } from "../../plane/index.ts";
import type { Audience } from "./audience.ts";
import { limits } from "./limits.ts";
import { entriesOf, type ReadStream } from "./numbered.ts";

/** How it gets to whoever is connected. */
export interface Outlet {
  /** Whether more can be queued. */
  readonly hasRoom: boolean;
  drained(): Promise<void>;
  /** One entry under its number. Answers a promise if it must be put together first. */
  tell(entry: Entry, eventSequence: number): Promise<void> | undefined;
  /** What to say of a job that was accepted and not answered to anybody, if anything. */
  announce(job: Job): Send | undefined;
  /** What comes next is no longer in the log: who comes back is told so. Nothing is told any more. */
  lose(): void;
}

/** May answer a promise for what must pass before anything else is told. */
export type Send = () => Promise<void> | void;

/** Where an answer stands: before all entries later than `after`, once those up to `needs` are durable. */
export type Place = { readonly after: number; readonly needs: number };

type Answer = Place & {
  /** Absent: it is being worked on. */
  send: Send | undefined;
};

export type TellingOptions = {
  readonly plane: Plane;
  readonly audience: Audience;
  readonly sessionId: SessionId;
  readonly outlet: Outlet;
  /** The last number that the other side has seen. */
  readonly afterEventSequence: number;
  readonly onFault: (fault: unknown) => void;
};

export class Telling {
  readonly sessionId: SessionId;
  readonly #options: TellingOptions;
  readonly #follows = new Set<JobId>();
  #skips: readonly string[] = [];
  /** The last number that was told. */
  #told: number;
  readonly #answers: Answer[] = [];
  /** Resolves when an answer that others wait behind has come. */
  #unblock: (() => void) | undefined;
  /** What came while it was behind, if not too much. */
  #waiting: Entry[] | "too many" = [];
  /** Whose events may be its own by then: what it followed when it looked at what it missed, and since. */
  #mayFollow = new Set<JobId>();
  #isBehind = true;
  /** While the other side takes less than it is told: what its jobs wait for. */
  #slow: { readonly over: Promise<void>; readonly end: () => void } | undefined;
  /** While more answers wait than may. */
  #crowd: PromiseWithResolvers<void> | undefined;
  #isClosed = false;

  constructor(options: TellingOptions) {
    this.#options = options;
    this.sessionId = options.sessionId;
    this.#told = options.afterEventSequence;
  }

  /** Begins with what was missed. */
  start(): void {
    this.#options.audience.join(this);
    void this.#catchUp();
  }

  close(): void {
    this.#isClosed = true;
    this.#endSlowness();
    this.#endCrowd();
    this.#unblock?.();
    this.#options.audience.leave(this, this.#follows);
    this.#follows.clear();
  }

  get hasAnswers(): boolean {
    return this.#answers.length > 0;
  }

  /** Resolves when the other side has caught up, if it is far behind. */
  get pace(): Promise<void> | undefined {
    return this.#slow?.over;
  }

  /** Resolves when there is room for more answers, if there is none. */
  get room(): Promise<void> | undefined {
    if (this.#answers.length < limits.answersMax || this.#isClosed) return undefined;
    this.#crowd ??= Promise.withResolvers();
    return this.#crowd.promise;
  }

  /** In its place; by default when all that was decided so far is durable, before anything later. */
  answer(send: Send, place?: Place): void {
    this.#queue({ ...(place ?? this.#here()), send });
  }

  /** Keeps the place for an answer that takes a while. Later answers wait for it; what happens does not. */
  answerLater(): (send: Send, place?: Place) => void {
    const answer: Answer = { ...this.#here(), send: undefined };
    this.#queue(answer);
    return (send, place = this.#here()) => {
      // What it rests on was decided only now, and it comes before what was answered since all the same.
      const next = this.#answers[this.#answers.indexOf(answer) + 1];
      const after = Math.min(place.after, next?.after ?? place.after);
      Object.assign(answer, place, { after, send });
      this.#unblock?.();
      this.settle();
    };
  }

  /** What has just become durable, and may be this session's. In order. */
  hear(entry: Entry): void {
    try {
      this.#hear(entry);
    } catch (fault) {
      this.#fail(fault);
    }
  }

  #hear(entry: Entry): void {
    if (this.#isClosed) return;
    if (entry.event.type === "job.accepted") this.#announce(entry.event.job, entry.sequence);
    if (!this.#isBehind) {
      this.#live(entry);
      return;
    }
    if (this.#waiting === "too many" || !this.#mayConcern(entry)) return;
    this.#waiting.push(entry);
    if (this.#waiting.length > limits.entriesBehindMax) this.#waiting = "too many";
  }

  /** Others' events would only crowd out its own. */
  #mayConcern({ event }: Entry): boolean {
    switch (event.type) {
      case "job.emitted":
      case "job.ended":
        return this.#mayFollow.has(event.jobId);
      case "job.accepted":
        this.#mayFollow.add(event.job.id);
        return true;
      case "job.joined":
      case "session.followed":
        this.#mayFollow.add(event.jobId);
        return true;
      default:
        return true;
    }
  }

  /** All that is durable has been heard. */
  settle(): void {
    this.#unblock?.();
    if (this.#isBehind || this.#isClosed) return;
    try {
      const held = this.#sendAnswers(Number.POSITIVE_INFINITY);
      if (held !== undefined) this.#fallBehind(held);
    } catch (fault) {
      this.#fail(fault);
    }
  }

  /** What cannot be told to this one must not keep others from being told, nor end the one writer. */
  #fail(fault: unknown): void {
    this.#options.onFault(fault);
    this.#lose();
  }

  /** It stands where it happened, though later things may have been answered already. */
  #announce(job: Job, sequence: number): void {
    const send = this.#options.outlet.announce(job);
    if (!send) return;
    const at = this.#answers.findIndex(({ after }) => after > sequence);
    const answer = { after: sequence, needs: sequence, send };
    this.#answers.splice(at < 0 ? this.#answers.length : at, 0, answer);
    this.#options.audience.expect(this);
  }

  #here(): Place {
    const { lastSequence } = this.#options.plane;
    return { after: lastSequence, needs: lastSequence };
  }

  #queue(answer: Answer): void {
    this.#answers.push(answer);
    this.#options.audience.expect(this);
    if (this.#options.plane.durableSequence >= answer.needs) this.settle();
  }

  #live(entry: Entry): void {
    const held = this.#sendAnswers(entry.sequence - 1);
    if (held !== undefined) {
      this.#fallBehind(held);
      return;
    }
    const { event } = entry;
    switch (event.type) {
      case "job.accepted":
        this.#follow(event.job.id);
        return;
      case "job.joined":
        this.#follow(event.jobId);
        return;
      case "session.followed":
        // The past is in the log.
        if (event.recalled) this.#fallBehind();
        else if (!event.hasEnded) this.#follow(event.jobId);
        return;
      case "session.left":
        this.#unfollow(event.jobId);
        return;
      case "session.rejected":
        this.#tellLive(entry);
        return;
      case "job.emitted":
        if (this.#follows.has(event.jobId) && !this.#skips.includes(event.kind)) {
          this.#tellLive(entry);
        }
        return;
      case "job.ended":
        if (!this.#follows.has(event.jobId)) return;
        this.#tellLive(entry);
        this.#unfollow(event.jobId);
        return;
      default:
    }
  }

  #follow(jobId: JobId): void {
    this.#follows.add(jobId);
    this.#options.audience.follow(this, jobId);
  }

  #unfollow(jobId: JobId): void {
    this.#follows.delete(jobId);
    this.#options.audience.unfollow(this, jobId);
  }

  #tellLive(entry: Entry): void {
    const { outlet } = this.#options;
    if (!outlet.hasRoom) {
      this.#beginSlowness();
      this.#fallBehind();
      return;
    }
    const telling = outlet.tell(entry, this.#told + 1);
    this.#told += 1;
    if (telling !== undefined) this.#fallBehind(telling);
  }

  /** From here on it is told from the log, once that has passed. */
  #fallBehind(after?: Promise<void>): void {
    this.#isBehind = true;
    this.#waiting = [];
    this.#options.audience.fallBehind(this, this.#follows);
    this.#follows.clear();
    void this.#catchUp(after);
  }

  async #catchUp(after?: Promise<void>): Promise<void> {
    try {
      await after;
      for (;;) {
        await this.#options.outlet.drained();
        if (this.#isClosed) return;
        if (await this.#tellMissed()) return;
      }
    } catch (fault) {
      this.#fail(fault);
    }
  }

  /** Answers whether there is nothing left to catch up with. */
  async #tellMissed(): Promise<boolean> {
    const { plane, sessionId } = this.#options;
    this.#waiting = [];
    const missed = await plane.read(({ sessions, lastSequence: upToSequence }) => {
      const journal = sessions.journals.get(sessionId);
      const last = lastEventSequence(sessions, sessionId);
      const { oldestSequence } = plane;
      this.#mayFollow = new Set(journal?.follows);
      return (
        journal && {
          last,
          isCovered: covers(journal, { after: this.#told, last, oldestSequence }),
          stretches: stretchesAfter(journal, { after: this.#told, upToSequence }),
          follows: [...journal.follows],
          skips: skipsOf(sessions, sessionId),
          upToSequence,
        }
      );
    });
    if (!missed || this.#isClosed) return true;
    if (!missed.isCovered) this.#lose();
    for (const [at, stretch] of missed.stretches.entries()) {
      await this.#tellStretch(stretch);
      // All that is left of it may have been cut.
      const end = missed.stretches[at + 1]?.eventSequence ?? missed.last;
      if (!this.#isClosed && this.#told < end) this.#lose();
    }
    if (this.#isClosed) return true;
    await this.#sendAnswers(missed.upToSequence);
    if (this.#isClosed) return true;
    const waiting: Entry[] | "too many" = this.#takeWaiting();
    if (waiting === "too many") return false;
    this.#goLive(missed);
    for (const entry of waiting) {
      // Who falls behind again reads the rest from the log.
      if (this.#isBehind) return true;
      if (entry.sequence > missed.upToSequence) this.#live(entry);
    }
    this.settle();
    return true;
  }

  #takeWaiting(): Entry[] | "too many" {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }

  #goLive({
    follows,
    skips,
  }: {
    readonly follows: readonly JobId[];
    readonly skips: readonly string[];
  }): void {
    this.#isBehind = false;
    this.#skips = skips;
    this.#endSlowness();
    this.#options.audience.catchUp(this);
    for (const job of follows) this.#follow(job);
  }

  async #tellStretch(stretch: Stretch): Promise<void> {
    const { plane, outlet } = this.#options;
    let number = stretch.eventSequence;
    // The answer that announces the past comes before it.
    if (stretch.isRecalled) await this.#sendAnswers(stretch.upToSequence);
    const read: ReadStream = (stream, options) => plane.stream(stream, options);
    for await (const entry of entriesOf(read, stretch)) {
      if (this.#isClosed) return;
      // It was cut in the meantime: of what is left nobody knows under which number it was told.
      if (plane.oldestSequence > stretch.afterSequence + 1) return this.#lose();
      number += 1;
      if (number <= this.#told) continue;
      if (!stretch.isRecalled) await this.#sendAnswers(entry.sequence - 1);
      await outlet.tell(entry, number);
      this.#told = number;
      // The log has the rest: nothing is printed before it can be sent.
      await outlet.drained();
    }
  }

  #lose(): void {
    this.close();
    this.#options.outlet.lose();
  }

  /** Answers a promise if what comes next has to wait. */
  #sendAnswers(upToSequence: number): Promise<void> | undefined {
    for (;;) {
      const { durableSequence } = this.#options.plane;
      const [next] = this.#answers;
      if (!next || next.after > upToSequence) return undefined;
      if (!next.send || next.needs > durableSequence) {
        // Only what later requests were answered has to wait, and what happens after that.
        const isWaitedFor = (this.#answers[1]?.after ?? Number.POSITIVE_INFINITY) <= upToSequence;
        if (!isWaitedFor || this.#isClosed) return undefined;
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#unblock = resolve;
        return promise.then(() => this.#sendAnswers(upToSequence));
      }
      this.#answers.shift();
      if (this.#answers.length <= limits.answersMax / 2) this.#endCrowd();
      const held = next.send();
      if (held !== undefined) return held.then(() => this.#sendAnswers(upToSequence));
    }
  }

  #endCrowd(): void {
    this.#crowd?.resolve();
    this.#crowd = undefined;
  }

  #beginSlowness(): void {
    if (this.#slow) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#slow = { over: promise, end: resolve };
  }

  #endSlowness(): void {
    this.#slow?.end();
    this.#slow = undefined;
  }
}
