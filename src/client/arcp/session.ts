/**
 * One session with a runtime: what a frame means. Frames come in here, one after the other and each to its end;
 * whoever waits for something is told from here. Connections come and go in `lifeline.ts`.
 */
import {
  type Accepted,
  ArcpError,
  answeredType,
  answerRefusedType,
  answerType,
  type Envelope,
  isArcpError,
  isOptional,
  isVendorName,
  type Jobs as JobList,
  type JobOutcome,
  printAck,
  printListJobs,
  printSubscribe,
  printUnsubscribe,
  type ResumePoint,
  readAccepted,
  readAnswered,
  readCancelled,
  readJobEvent,
  readJobs,
  readOutcome,
  readSessionError,
  readSubscribed,
  type Subscribed,
} from "../../wire/arcp/index.ts";
import { Acknowledging } from "./acknowledging.ts";
import { mintId } from "./chance.ts";
import type { Series } from "./cursors.ts";
import { ReceivedEvent } from "./event.ts";
import { Following } from "./following.ts";
import { Handlers } from "./handlers.ts";
import { type Followed, Jobs } from "./jobs.ts";
import {
  closedHere,
  expiredAt,
  isFatal,
  Lifeline,
  type SessionListener,
  type Welcomed,
} from "./lifeline.ts";
import { limits } from "./limits.ts";
import { Numbering } from "./numbering.ts";
import type { Settings } from "./options.ts";
import { type Call, Pending, type Waiting } from "./pending.ts";
import { isFinished, lostInBetween, type PeerTraits } from "./python-peer.ts";
import { RollCall, type RollCallSession } from "./roll-call.ts";

export class Session implements SessionListener, RollCallSession {
  readonly lifeline: Lifeline;
  readonly handlers: Handlers;
  readonly jobs: Jobs = new Jobs();
  readonly #settings: Settings;
  readonly #pending = new Pending();
  readonly #numbering: Numbering;
  readonly #rollCall: RollCall;
  /** Jobs that nobody follows any more, and the runtime does not know it yet. */
  readonly #left = new Set<string>();
  #acknowledging: Acknowledging | undefined;
  /** It says which request it answers, so that it would know a request again (ARCP-220). */
  #echoesRequests = false;
  #isBroken = false;
  /** What is heard of a submit that was withdrawn, while the session is being closed. */
  #onWithdrawn = (): void => {};

  constructor(settings: Settings, takenUp?: ResumePoint) {
    this.#settings = settings;
    this.lifeline = new Lifeline(settings, this, takenUp);
    this.#numbering = new Numbering(this.jobs, this.#pending, (cause, gap) =>
      this.#heal(cause, gap),
    );
    this.#rollCall = new RollCall(this, settings.time);
    this.handlers = new Handlers(settings.onProtocolError);
    for (const [type, listener] of Object.entries(settings.on)) this.handlers.on(type, listener);
  }

  get lastEventSeq(): number {
    return this.#numbering.cursors.resumeFrom;
  }

  get #traits(): PeerTraits {
    return this.lifeline.traits;
  }

  /** Asks now, or as soon as there is a connection. The call is told of its answer, or of its end. */
  ask(call: Call): Waiting {
    this.lifeline.requireOpen();
    if (this.#pending.size >= limits.pendingMax && !this.#pending.forgetAbandoned()) {
      throw new ArcpError("INTERNAL_ERROR", `${limits.pendingMax} requests wait for an answer`);
    }
    const id = mintId("envelope");
    const text = this.lifeline.print(id, call.request);
    const waiting = this.#pending.add(id, call);
    if (this.lifeline.isLive) this.#send(waiting, text);
    return waiting;
  }

  /** Nobody waits for its answer any more; if one is still to come, it is that of no other request. */
  abandon(waiting: Waiting): void {
    waiting.isAbandoned = true;
    if (!waiting.wasSent) this.#pending.remove(waiting);
  }

  /** Everybody is told at once. A submit that was withdrawn may have a job, which is cancelled if we hear of it soon. */
  async close(reason: string): Promise<void> {
    let withdrawn = this.#pending.all().filter(isWithdrawn).length;
    if (this.lifeline.isLive && withdrawn > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const stopTimer = this.#settings.time.later(resolve, limits.farewellMs);
      // That the connection is lost meanwhile breaks nothing.
      this.#isBroken = true;
      this.#giveUp(closedHere(), (waiting) => !isWithdrawn(waiting));
      this.#onWithdrawn = () => {
        withdrawn -= 1;
        if (withdrawn === 0) resolve();
      };
      await promise;
      stopTimer();
    }
    await this.lifeline.close(reason);
  }

  acknowledge(seq: number): void {
    this.lifeline.requireFeature("ack");
    const lastProcessedSeq = Math.min(seq, this.lastEventSeq);
    if (!this.lifeline.isLive) return;
    this.lifeline.say({ type: "session.ack", payload: printAck({ lastProcessedSeq }) });
  }

  /** Takes note of a job that this session has submitted. With a key, it may have ended before. */
  accepted({ jobId, acceptedAtMs }: Accepted, envelope: Envelope, hasKey: boolean): Following {
    const following = this.jobs.claim(jobId);
    const isElsewhere =
      envelope.sessionId !== undefined && envelope.sessionId !== this.lifeline.welcome.sessionId;
    const mustAsk = isElsewhere && !this.#traits.continuesJobs;
    const followed = this.jobs.submitted(jobId, following, !mustAsk);
    followed.acceptedAtMs = acceptedAtMs;
    followed.hasKey = hasKey;
    // Our own runtime forgets no job without a word.
    if (hasKey && !(answerType in this.lifeline.welcome.vendor)) {
      this.#settings.time.later(() => {
        if (following.isSilent) this.#rollCall.doubt(jobId);
      }, limits.rollCallMs);
    }
    // Somebody else's session gets its events (PYC-17).
    if (mustAsk) this.#follow(followed, { history: true });
    else if (following.isOver) this.#release(followed);
    return following;
  }

  /** Whether somebody will get the job of this key: who asks again gets the same one. */
  isAskedFor(key: string): boolean {
    return this.#pending.hasKey(key);
  }

  isCancelling(jobId: string): boolean {
    return this.#pending.cancelsOf(jobId).length > 0;
  }

  /** The follower is there before the answer: events may be, too (ARCP-216, PYC-13). */
  subscribing(jobId: string): Following {
    const following = new Following();
    following.awaitAnswer();
    this.#numbering.cursors.begin(jobId);
    this.jobs.subscribed(jobId, following);
    return following;
  }

  subscribed(
    { jobId, subscribedFrom, replayed, currentStatus }: Subscribed,
    following: Following,
  ): void {
    const followed = this.jobs.get(jobId);
    const isBehind = subscribedFrom > this.lastEventSeq;
    if (followed && replayed && isBehind && !this.#traits.countsSubscriptionsApart) {
      // All of the past is yet to come, also what came of it before: to others here, or to the same request.
      following.discard();
      followed.history = { following, untilSeq: subscribedFrom };
    }
    following.answered();
    if (followed && following.isOver) this.#release(followed);
    // Nothing will come of a job that was over before anybody asked (PYC-15).
    if (!this.#traits.continuesJobs && isFinished(currentStatus)) {
      this.#lose(jobId);
    }
  }

  /** A subscribe that was refused is nothing to take back. */
  leave(
    jobId: string,
    following: Following,
    { wasRefused = false }: { readonly wasRefused?: boolean } = {},
  ): void {
    const isLast = this.jobs.leave(jobId, following);
    following.fail(new ArcpError("CANCELLED", "the job is no longer followed"));
    if (!isLast) return;
    this.#numbering.cursors.forget(jobId);
    // Jobs are followed by those who submit them, also where the runtime has no subscriptions to end.
    if (wasRefused || !this.lifeline.features.includes("subscribe")) return;
    this.#left.add(jobId);
    this.#takeLeave();
  }

  /** As far as anyone here will ever know, the job is over. */
  settle(jobId: string, error: ArcpError): void {
    for (const following of this.jobs.forget(jobId)) following.fail(error);
    this.answerCancels(jobId);
  }

  /** Nobody here will learn how the job ends. */
  #lose(jobId: string): void {
    for (const following of this.jobs.forget(jobId)) following.breakOff(lostInBetween(jobId));
    this.answerCancels(jobId);
  }

  /** There is nothing more to wait for. */
  answerCancels(jobId: string): void {
    for (const waiting of this.#pending.cancelsOf(jobId)) {
      this.#settle(waiting, (call) => call.answered());
    }
  }

  // The methods of `RollCallSession`.

  isOpen(jobId: string): boolean {
    return this.lifeline.isLive && this.jobs.get(jobId) !== undefined;
  }

  get isListing(): boolean {
    return this.lifeline.features.includes("list_jobs");
  }

  async statusesOf(jobIds: readonly string[]): Promise<ReadonlyMap<string, string> | undefined> {
    const wanted = new Set(jobIds);
    const acceptedAtMs = jobIds.map((jobId) => this.jobs.get(jobId)?.acceptedAtMs ?? 0);
    const sinceMs = Math.min(...acceptedAtMs) - limits.acceptanceMsMax;
    const createdAfterMs = sinceMs > 0 ? sinceMs : undefined;
    const statuses = new Map<string, string>();
    let cursor: string | undefined;
    for (let pages = 0; pages < limits.pagesMax; pages += 1) {
      const page = await this.#list({ createdAfterMs, limit: limits.pageJobs, cursor });
      for (const { jobId, status } of page.jobs) if (wanted.has(jobId)) statuses.set(jobId, status);
      cursor = page.nextCursor;
      if (cursor === undefined) return statuses;
    }
    return undefined;
  }

  /**
   * The list may leave out jobs that others submitted, and one that was submitted again under its key may have been
   * created long before. Subscribing again tells whether the runtime still knows the job.
   */
  lost(jobId: string): void {
    const followed = this.jobs.get(jobId);
    if (followed?.hasKey || followed?.submitted.size === 0) {
      this.#follow(followed, { history: false });
    } else this.#lose(jobId);
  }

  probe(jobId: string): void {
    const followed = this.jobs.get(jobId);
    if (!followed || !this.lifeline.features.includes("subscribe")) return;
    this.#follow(followed, { history: false, isProbe: true });
  }

  #list(list: Parameters<typeof printListJobs>[0]): Promise<JobList> {
    this.lifeline.requireFeature("list_jobs");
    const { promise, resolve: answered, reject: refused } = Promise.withResolvers<JobList>();
    const request = { type: "session.list_jobs", payload: printListJobs(list) };
    this.ask({ kind: "list", request, answered, refused });
    return promise;
  }

  // What the lifeline tells.

  attached({ isFirst, goesOn, startsAfter }: Welcomed): void {
    const { continuesJobs, countsSubscriptionsApart } = this.#traits;
    if (startsAfter !== undefined) {
      this.#numbering.restart(startsAfter, { areApart: countsSubscriptionsApart });
      this.#echoesRequests = false;
    }
    this.#keepAcknowledging();
    if (!goesOn) this.#left.clear();
    this.#takeLeave();
    if (!isFirst) this.#sendAgain();
    if (isFirst || !goesOn) return;
    if (!continuesJobs) this.#followAgain();
    else for (const { jobId } of this.jobs.all()) this.#rollCall.doubt(jobId);
  }

  detached(): void {
    this.#acknowledging?.stop();
    this.#acknowledging = undefined;
    for (const { stopTimer } of this.#pending.all()) stopTimer();
  }

  received(envelope: Envelope): void {
    const series = this.#numbering.take(envelope);
    if (series === undefined) return;
    if (envelope.eventSeq !== undefined) this.#acknowledging?.note();
    // The replies to our answers are vendor messages that nobody else handles.
    const isVendor = isVendorName(envelope.type) && !envelope.type.startsWith(answerType);
    const isOffered = this.handlers.offer(envelope);
    if (isVendor && !isOffered && !isOptional(envelope.extensions)) {
      this.malformed(`unknown message type ${envelope.type}`);
    }
    if (isVendor) return;
    this.#recognise(envelope);
    this.#handle(envelope, series);
  }

  malformed(problem: string): void {
    this.#settings.onProtocolError(problem);
  }

  forgotten(error: ArcpError): void {
    this.#tellGap(error);
    this.#giveUp(error, ({ call, wasSent, isAbandoned }) => {
      // A job that nobody wants is found by its key in any session.
      if (call.kind === "submit" && call.key !== undefined && isAbandoned) return false;
      return wasSent || !(call.kind === "submit" || call.kind === "list");
    });
  }

  /** Everything that waits is told, once and for good (ARCP-208). */
  ended(error: ArcpError, { wasClosedHere }: { readonly wasClosedHere: boolean }): void {
    this.#giveUp(error, () => true);
    if (!wasClosedHere) this.#break(error);
  }

  /** A job that nobody wants any more is known by its trace, and as good as accepted. */
  #recognise(envelope: Envelope): void {
    const { jobId, traceId, eventSeq } = envelope;
    if (jobId === undefined || eventSeq === undefined || this.jobs.isKnown(jobId)) return;
    const call = this.#pending.ofUnwanted(traceId);
    call?.answered({ jobId, agent: call.agent, lease: {} }, envelope);
  }

  #handle(envelope: Envelope, series: Series): void {
    switch (envelope.type) {
      case "session.error":
        this.#refused(envelope);
        return;
      case "session.jobs":
        this.#answer(readJobs(envelope), (jobs) =>
          this.#settle(this.#pending.ofJobs(jobs), (call) => call.answered(jobs, envelope)),
        );
        return;
      case "job.accepted":
        this.#answer(readAccepted(envelope), (accepted) => {
          if (accepted.requestId !== undefined) this.#echoesRequests = true;
          const waiting = this.#pending.ofAccepted(accepted);
          this.#settle(waiting, (call) => call.answered(accepted, envelope));
        });
        return;
      case "job.subscribed":
        this.#answer(readSubscribed(envelope), (subscribed) => {
          const waiting = this.#pending.ofSubscribed(subscribed);
          this.#settle(waiting, (call) => call.answered(subscribed, envelope));
        });
        return;
      case "job.cancelled":
        this.#answer(readCancelled(envelope), (cancelled) =>
          this.#settle(this.#pending.ofCancelled(cancelled), (call) => call.answered()),
        );
        return;
      case answerRefusedType:
        this.#refused(envelope);
        return;
      case answeredType:
        this.#answer(readAnswered(envelope), (answered) => {
          const waiting = this.#pending.ofAnswered(answered);
          this.#settle(waiting, (call) => call.answered(undefined, envelope));
        });
        return;
      case "job.event":
        this.#answer(readJobEvent(envelope), (event) => {
          this.#tell(envelope, series, new ReceivedEvent(event, envelope));
        });
        return;
      case "job.result":
      case "job.error":
        this.#answer(readOutcome(envelope), (outcome) => this.#outcome(envelope, series, outcome));
        return;
    }
  }

  #answer<Value>(
    read: { readonly value?: Value; readonly problem?: { readonly message: string } },
    take: (value: Value) => void,
  ): void {
    if (read.problem) this.malformed(read.problem.message);
    else if (read.value !== undefined) take(read.value);
  }

  #settle<Kind extends Call>(waiting: Waiting<Kind> | undefined, tell: (call: Kind) => void): void {
    if (!waiting) return;
    this.#pending.remove(waiting);
    tell(waiting.call);
    if (isWithdrawn(waiting)) this.#onWithdrawn();
    if (!this.#pending.isAskingAgain) this.jobs.dropUnclaimed();
  }

  #refuse(waiting: Waiting, error: ArcpError): void {
    this.#settle(waiting, (call) => call.refused(error));
  }

  /** All jobs, and those requests, are told that there is nothing more to come. */
  #giveUp(error: ArcpError, isOver: (waiting: Waiting) => boolean): void {
    this.jobs.dropUnclaimed();
    for (const waiting of this.#pending.all()) if (isOver(waiting)) this.#refuse(waiting, error);
    for (const { jobId } of this.jobs.all()) {
      for (const following of this.jobs.forget(jobId)) following.breakOff(error);
    }
  }

  /** Whether the missing events will come. */
  #heal(cause: ArcpError, { wasAskedFor }: { readonly wasAskedFor: boolean }): boolean {
    this.#break(cause);
    const canHeal = this.#traits.replaysGaps && this.#settings.canReconnect && !wasAskedFor;
    if (canHeal && this.lifeline.isLive) {
      this.lifeline.leave(cause);
      return true;
    }
    this.#tellGap(cause);
    return false;
  }

  #tell(envelope: Envelope, series: Series, event: ReceivedEvent): void {
    const followed = this.jobs.get(envelope.jobId ?? event.jobId);
    for (const following of this.#audience(followed, envelope, series)) following.take(event);
  }

  /** Only what has a number is told again after a loss (ARCP-65): what a job said may come before its acceptance. */
  #mayBeAskedFor({ jobId, traceId }: Envelope): boolean {
    const isFollowed = this.jobs.get(jobId) !== undefined;
    return this.#pending.mayHaveAsked(traceId, { isFollowed });
  }

  #unclaimed(envelope: Envelope): readonly Following[] {
    const { jobId } = envelope;
    if (jobId === undefined || !this.#mayBeAskedFor(envelope)) return [];
    const following = this.jobs.unclaimed(jobId);
    return following ? [following] : [];
  }

  #audience(
    followed: Followed | undefined,
    envelope: Envelope,
    series: Series,
  ): readonly Following[] {
    const { eventSeq } = envelope;
    const unclaimed = this.#unclaimed(envelope);
    if (!followed) return unclaimed;
    const { countsSubscriptionsApart } = this.#traits;
    const numbered = { series, eventSeq, areApart: countsSubscriptionsApart };
    return [...this.jobs.audience(followed, numbered), ...unclaimed];
  }

  #outcome(envelope: Envelope, series: Series, outcome: JobOutcome): void {
    const { jobId } = envelope;
    if (outcome.status === "failed") {
      const { error, requestId } = outcome;
      const refusal = { code: error.code, requestId, jobId, traceId: envelope.traceId };
      // A runtime that says what it refuses has ended a job that we do not know of yet.
      const isEnd =
        requestId === undefined && this.#echoesRequests && this.#mayBeAskedFor(envelope);
      const waiting =
        envelope.type === "job.error" && !isEnd
          ? this.#pending.ofJobError(refusal, this.jobs.isKnown(jobId))
          : undefined;
      if (waiting) {
        this.#refuse(waiting, ArcpError.fromPayload(error));
        return;
      }
    }
    const followed = this.jobs.get(jobId);
    for (const following of this.#audience(followed, envelope, series)) following.conclude(outcome);
    if (followed) this.#release(followed);
  }

  /** Those for whom it is over hear no more of it. */
  #release({ jobId, submitted, subscribed }: Followed): void {
    for (const followings of [submitted, subscribed]) {
      for (const following of followings) if (following.isOver) followings.delete(following);
    }
    if (submitted.size + subscribed.size > 0) return;
    this.jobs.forget(jobId);
    this.answerCancels(jobId);
  }

  /** It answers one request, or is about the session (ARCP-59, 215). */
  #refused(envelope: Envelope): void {
    const refusal = readSessionError(envelope);
    const error = ArcpError.fromPayload(refusal.error);
    const matching = { isInOrder: this.#traits.answersInOrder };
    const waiting = isFatal(error) ? undefined : this.#pending.ofSessionError(refusal, matching);
    if (refusal.requestId !== undefined && waiting) this.#echoesRequests = true;
    if (waiting) this.#refuse(waiting, error);
    else this.lifeline.complained(error);
  }

  // The way out.

  #send(waiting: Waiting, text: string): void {
    if (!this.lifeline.isLive) return;
    waiting.wasSent = true;
    waiting.stopTimer();
    const { answerMs, time } = this.#settings;
    waiting.stopTimer = time.later(() => {
      const message = `the runtime did not answer ${waiting.call.request.type} within ${answerMs} ms`;
      this.abandon(waiting);
      waiting.call.refused(new ArcpError("TIMEOUT", message));
      // An acceptance may still come, and a job that nobody wants is to be cancelled then.
      if (waiting.call.kind !== "submit") this.#pending.remove(waiting);
    }, answerMs);
    this.lifeline.write(text);
  }

  #takeLeave(): void {
    if (!this.lifeline.isLive) return;
    for (const jobId of this.#left) {
      // Somebody may have come back to it meanwhile.
      if (this.jobs.get(jobId)) continue;
      this.lifeline.say({ type: "job.unsubscribe", payload: printUnsubscribe({ jobId }) });
    }
    this.#left.clear();
  }

  #keepAcknowledging(): void {
    const { time, ackPace, isAckAsked } = this.#settings;
    const mayAck = this.#traits.acksUnasked || isAckAsked;
    if (!ackPace || !mayAck || !this.lifeline.features.includes("ack")) return;
    this.#acknowledging = new Acknowledging(ackPace, time, {
      deliveredSeq: () => this.#deliveredSeq(),
      send: (seq) => this.acknowledge(seq),
    });
  }

  #deliveredSeq(): number {
    let delivered = this.lastEventSeq;
    const areApart = this.#traits.countsSubscriptionsApart;
    for (const following of this.jobs.ownFollowings({ areApart })) {
      const unread = following.firstUnreadSeq;
      if (unread !== undefined && unread <= delivered) delivered = unread - 1;
    }
    return delivered;
  }

  #tellGap(cause: ArcpError): void {
    const { lastEventSeq } = this;
    this.#settings.onGap({ sessionId: this.lifeline.welcome.sessionId, lastEventSeq, cause });
  }

  /** What had no answer when the connection was lost (ARCP-220). */
  #sendAgain(): void {
    for (const waiting of this.#pending.all()) {
      const { call, wasSent, isAbandoned } = waiting;
      if (!wasSent) {
        this.#repeat(waiting, waiting.id);
        continue;
      }
      if (isAbandoned && call.kind !== "submit" && call.kind !== "cancel") {
        this.#pending.remove(waiting);
        continue;
      }
      if (call.kind !== "submit") {
        // Under a new id: some runtimes drop without a word what they believe to have seen.
        this.#repeat(waiting, mintId("envelope"));
        continue;
      }
      // Whether its job runs, nobody knows. A key finds it, and it is cancelled; without one a copy might start it.
      const hasKey = call.key !== undefined;
      if (isAbandoned && !hasKey) this.#pending.withdraw(call);
      const isKnownAgain = this.#echoesRequests && this.#traits.knowsSubmitsAgain && !isAbandoned;
      if (hasKey || isKnownAgain) {
        this.#repeat(waiting, waiting.id);
        continue;
      }
      const message = "the connection was lost before the runtime answered; the job may run or not";
      this.#refuse(waiting, new ArcpError("HEARTBEAT_LOST", message));
    }
  }

  #repeat(waiting: Waiting, id: string): void {
    this.#pending.renew(waiting, id);
    try {
      this.#send(waiting, this.lifeline.print(id, waiting.call.request));
    } catch (error) {
      // Another runtime answers at this address now, and could not take it.
      const refusal = isArcpError(error) ? error : expiredAt(this.lastEventSeq);
      this.#refuse(waiting, refusal);
    }
  }

  /** The jobs of a resumed session whose events do not come by themselves (PYC-15). */
  #followAgain(): void {
    for (const followed of this.jobs.all()) {
      if (this.#pending.hasSubscribe(followed.jobId)) continue;
      if (this.lifeline.features.includes("subscribe")) this.#follow(followed, { history: false });
      else this.#lose(followed.jobId);
    }
  }

  /**
   * A refused probe does not always mean that the job is gone: a runtime may refuse a second subscription to a job.
   */
  #follow(
    { jobId }: Followed,
    { history, isProbe = false }: { readonly history: boolean; readonly isProbe?: boolean },
  ): void {
    this.ask({
      kind: "subscribe",
      jobId,
      request: {
        type: "job.subscribe",
        jobId,
        payload: printSubscribe({ jobId, history, fromEventSeq: 0 }),
      },
      answered: (subscribed) => this.#followedAgain(subscribed),
      refused: ({ code }) => {
        if (!isProbe || code === "JOB_NOT_FOUND") this.#lose(jobId);
      },
    });
  }

  #followedAgain({ jobId, currentStatus }: Subscribed): void {
    const followed = this.jobs.get(jobId);
    if (!followed) return;
    followed.isOwn = false;
    this.#numbering.cursors.begin(jobId);
    if (isFinished(currentStatus)) this.#lose(jobId);
  }

  #break(error: ArcpError): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#settings.onSessionBroken(error);
  }
}

function isWithdrawn({ call, isAbandoned }: Waiting): boolean {
  return isAbandoned && call.kind === "submit";
}
