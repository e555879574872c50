/**
 * One session with a runtime, over however many connections. Frames come in here, one after the other and
 * each to its end; whoever waits for something is told from here.
 *
 *   live      there is a connection, and a welcome was received on it
 *   detached  the connection is gone, and another is being made; what is asked meanwhile waits
 *   ended     by us, by the runtime, or because there is no way back; everything that waited was told
 */
import {
  type Accepted,
  ArcpError,
  type Dialect,
  dialectOfWelcome,
  type Envelope,
  type Hello,
  intersectFeatures,
  isArcpError,
  isOptional,
  isVendorName,
  type JobOutcome,
  printAck,
  printFarewell,
  printPing,
  printPong,
  printSubscribe,
  printUnsubscribe,
  type ResumePoint,
  readAccepted,
  readCancelled,
  readFarewell,
  readJobEvent,
  readJobs,
  readOutcome,
  readPing,
  readSessionError,
  readSubscribed,
  type Subscribed,
  type Welcome,
} from "../../wire/arcp/index.ts";
import { Acknowledging } from "./acknowledging.ts";
import { mintId } from "./chance.ts";
import { Connection, printText, type Receiver } from "./connection.ts";
import type { Series } from "./cursors.ts";
import { ReceivedEvent } from "./event.ts";
import { Following } from "./following.ts";
import { Handlers } from "./handlers.ts";
import { type Followed, Jobs } from "./jobs.ts";
import { limits } from "./limits.ts";
import { Numbering } from "./numbering.ts";
import type { Settings } from "./options.ts";
import { type Call, Pending, type Request, type Waiting } from "./pending.ts";
import { Pulse } from "./pulse.ts";
import {
  checkForPython,
  isFinished,
  lostInBetween,
  type PeerTraits,
  peers,
} from "./python-peer.ts";
import { beginAnew, type Resumption, resume } from "./resumption.ts";

export class Session implements Receiver {
  readonly handlers: Handlers;
  readonly jobs: Jobs = new Jobs();
  readonly #settings: Settings;
  readonly #pending = new Pending();
  readonly #numbering: Numbering;
  readonly #leaving = new AbortController();
  /** Where a session of another program's is taken up. */
  readonly #takenUp: ResumePoint | undefined;
  #connection: Connection | undefined;
  #welcome: Welcome | undefined;
  #dialect: Dialect = "spec";
  #features: readonly string[] = [];
  #pulse: Pulse | undefined;
  #acknowledging: Acknowledging | undefined;
  #ended: ArcpError | undefined;
  /** What the runtime last said was wrong with the session; why it ends, if it does. */
  #complaint: ArcpError | undefined;
  /** It says which request it answers, so that it would know a request again (ARCP-220). */
  #echoesRequests = false;
  #isBroken = false;
  /** The runtime has forgotten it, and those who waited were told. */
  #isGone = false;
  #attached = Promise.withResolvers<void>();

  constructor(settings: Settings, takenUp?: ResumePoint) {
    this.#settings = settings;
    this.#takenUp = takenUp;
    this.#numbering = new Numbering(this.jobs, this.#pending, (cause, gap) =>
      this.#heal(cause, gap),
    );
    this.handlers = new Handlers(settings.onProtocolError);
    for (const [type, listener] of Object.entries(settings.on)) this.handlers.on(type, listener);
    this.#attached.promise.catch(() => {});
  }

  /** Rejects as `Connection.open` does, or as the transport could not be made. */
  async open(): Promise<void> {
    const takenUp = this.#takenUp;
    try {
      await this.#attempt(takenUp);
    } catch (error) {
      const isRefused = isArcpError(error) && error.code === "RESUME_WINDOW_EXPIRED";
      const mayBeEmpty = takenUp !== undefined && takenUp.lastEventSeq > 0;
      if (!isRefused || !mayBeEmpty || !this.#settings.canReconnect) throw error;
      // There may have been nothing to replay (ARCP-222).
      await this.#attempt({ ...takenUp, lastEventSeq: takenUp.lastEventSeq - 1 });
    }
  }

  get welcome(): Welcome {
    if (!this.#welcome) throw new ArcpError("INVALID_REQUEST", "there is no session yet");
    return this.#welcome;
  }

  get features(): readonly string[] {
    return this.#features;
  }

  get traits(): PeerTraits {
    return peers[this.#dialect];
  }

  get lastEventSeq(): number {
    return this.#numbering.cursors.resumeFrom;
  }

  get isLive(): boolean {
    return this.#connection !== undefined;
  }

  get isEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Asks now, or as soon as there is a connection. The call is told of its answer, or of its end. */
  ask(call: Call): Waiting {
    if (this.#ended) throw this.#ended;
    if (this.#pending.size >= limits.pendingMax && !this.#pending.forgetAbandoned()) {
      throw new ArcpError("INTERNAL_ERROR", `${limits.pendingMax} requests wait for an answer`);
    }
    const id = mintId("envelope");
    const text = this.#print(id, call.request);
    const waiting = this.#pending.add(id, call);
    if (this.#connection) this.#send(waiting, text);
    return waiting;
  }

  /** Throws if there is no connection; `whenLive` says when there is. */
  say(request: Request): void {
    if (this.#ended) throw this.#ended;
    const id = mintId("envelope");
    const text = this.#print(id, request);
    if (!this.#connection) throw new ArcpError("HEARTBEAT_LOST", "there is no connection now");
    this.#write(this.#connection, text);
  }

  /** Rejects when there will be no connection any more. */
  async whenLive(): Promise<void> {
    if (this.#ended) throw this.#ended;
    await this.#attached.promise;
  }

  /** Nobody waits for its answer any more. */
  abandon(waiting: Waiting, error: ArcpError): void {
    if (waiting.isAbandoned) return;
    waiting.isAbandoned = true;
    waiting.stopTimer();
    waiting.call.refused(error);
    // An acceptance may still come, and a job that nobody wants is to be cancelled then.
    if (!waiting.wasSent || waiting.call.kind !== "submit") this.#pending.remove(waiting);
  }

  requireFeature(name: string): void {
    if (this.#ended) throw this.#ended;
    if (this.#features.includes(name)) return;
    throw new ArcpError(
      "INVALID_REQUEST",
      `the runtime and this client have not agreed on ${name}`,
    );
  }

  acknowledge(seq: number): void {
    this.requireFeature("ack");
    const lastProcessedSeq = Math.min(seq, this.lastEventSeq);
    if (this.isLive) this.say({ type: "session.ack", payload: printAck({ lastProcessedSeq }) });
  }

  /** Takes note of a job that this session has submitted. */
  accepted({ jobId }: Accepted, envelope: Envelope): Following {
    const following = this.jobs.claim(jobId);
    const isElsewhere =
      envelope.sessionId !== undefined && envelope.sessionId !== this.welcome.sessionId;
    const mustAsk = isElsewhere && !this.traits.continuesJobs;
    const followed = this.jobs.submitted(jobId, following, !mustAsk);
    // Somebody else's session gets its events (PYC-17).
    if (mustAsk) this.#follow(followed, { history: true });
    else if (following.isOver) this.#release(followed);
    return following;
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
    if (followed && replayed && isBehind && !this.traits.countsSubscriptionsApart) {
      // All of the past is yet to come, also what came of it before: to others here, or to the same request.
      following.discard();
      followed.history = { following, untilSeq: subscribedFrom };
    }
    following.answered();
    if (followed && following.isOver) this.#release(followed);
    // Nothing will come of a job that was over before anybody asked (PYC-15).
    if (!this.traits.continuesJobs && isFinished(currentStatus)) {
      this.settle(jobId, lostInBetween(jobId));
    }
  }

  /** A subscribe that was refused is nothing to take back. */
  leave(
    jobId: string,
    following: Following,
    { wasRefused = false }: { readonly wasRefused?: boolean } = {},
  ): void {
    const isLast = this.jobs.leave(jobId, following);
    following.fail(new ArcpError("CANCELLED", "nobody follows this job here any more"));
    if (!isLast) return;
    this.#numbering.cursors.forget(jobId);
    if (!wasRefused && this.isLive && this.#features.includes("subscribe")) {
      this.say({ type: "job.unsubscribe", payload: printUnsubscribe({ jobId }) });
    }
  }

  /** As far as anyone here will ever know, the job is over. */
  settle(jobId: string, error: ArcpError): void {
    for (const following of this.jobs.forget(jobId)) following.fail(error);
    this.answerCancels(jobId);
  }

  /** There is nothing more to wait for. */
  answerCancels(jobId: string): void {
    for (const waiting of this.#pending.cancelsOf(jobId)) {
      this.#settle(waiting, waiting.call.answered);
    }
  }

  async close(reason: string): Promise<void> {
    const connection = this.#connection;
    this.#end(new ArcpError("CANCELLED", "the client was closed"), { isWanted: true });
    if (!connection) return;
    const isBye = this.#settings.closeMessage === "bye" || !this.traits.knowsClose;
    const type = isBye ? "session.bye" : "session.close";
    const farewell = { type, payload: printFarewell({ reason }) };
    this.#write(connection, this.#print(mintId("envelope"), farewell));
    await connection.closedByPeer(limits.farewellMs, this.#settings.time);
    await connection.close(reason);
  }

  // What a connection tells.

  welcomed(connection: Connection, welcome: Welcome, envelope: Envelope): void {
    if (this.#ended) {
      connection.close("client.close").catch(() => {});
      return;
    }
    const before = this.#welcome?.sessionId ?? this.#takenUp?.sessionId;
    const goesOn = before === welcome.sessionId;
    if (this.#welcome && !goesOn && !this.#isGone) {
      this.#loseSession(expiredAt(this.lastEventSeq));
    }
    this.#isGone = false;
    const isFirst = this.#welcome === undefined;
    this.#connection = connection;
    this.#welcome = welcome;
    this.#dialect = dialectOfWelcome(envelope, this.#settings.peer);
    this.#features = intersectFeatures(this.#settings.features, welcome.features);
    if (isFirst || !goesOn) {
      const from = goesOn ? (this.#takenUp?.lastEventSeq ?? 0) : 0;
      this.#numbering.restart(from, { areApart: this.traits.countsSubscriptionsApart });
      this.#echoesRequests = false;
    }
    this.#watch();
    if (!isFirst) this.#sendAgain();
    if (!isFirst && goesOn && !this.traits.continuesJobs) this.#followAgain();
    this.#attached.resolve();
  }

  received(envelope: Envelope): void {
    if (this.#ended) return;
    this.#pulse?.heard();
    this.#complaint = undefined;
    const series = this.#numbering.take(envelope);
    if (series === undefined) return;
    if (envelope.eventSeq !== undefined) this.#acknowledging?.note();
    const isVendor = isVendorName(envelope.type);
    const isOffered = this.handlers.offer(envelope);
    if (isVendor && !isOffered && !isOptional(envelope.extensions)) {
      this.malformed(`nobody here knows ${envelope.type}`);
    }
    if (!isVendor) this.#handle(envelope, series);
  }

  malformed(problem: string): void {
    this.#settings.onProtocolError(problem);
  }

  lost(connection: Connection, cause: ArcpError): void {
    if (connection !== this.#connection) return;
    this.#detach();
    if (this.#ended) return;
    const why = this.#complaint ?? cause;
    if (!this.#settings.canReconnect) this.#end(why);
    else void this.#comeBack(why);
  }

  #handle(envelope: Envelope, series: Series): void {
    switch (envelope.type) {
      case "session.ping":
        this.#pong(envelope);
        return;
      case "session.error":
        this.#refused(envelope);
        return;
      case "session.jobs":
        this.#answer(readJobs(envelope), (jobs) => {
          const waiting = this.#pending.ofJobs(jobs);
          if (waiting) this.#settle(waiting, () => waiting.call.answered(jobs, envelope));
        });
        return;
      case "job.accepted":
        this.#answer(readAccepted(envelope), (accepted) => {
          const waiting = this.#pending.ofAccepted(accepted);
          if (accepted.requestId !== undefined) this.#echoesRequests = true;
          if (waiting) this.#settle(waiting, () => waiting.call.answered(accepted, envelope));
        });
        return;
      case "job.subscribed":
        this.#answer(readSubscribed(envelope), (subscribed) => {
          const waiting = this.#pending.ofSubscribed(subscribed);
          if (waiting) this.#settle(waiting, () => waiting.call.answered(subscribed, envelope));
        });
        return;
      case "job.cancelled":
        this.#answer(readCancelled(envelope), (cancelled) => {
          const waiting = this.#pending.ofCancelled(cancelled);
          if (waiting) this.#settle(waiting, waiting.call.answered);
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
      case "session.bye":
      case "session.closed":
        this.#farewell(envelope);
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

  #settle(waiting: Waiting, tell: () => void): void {
    this.#pending.remove(waiting);
    tell();
    if (!this.#pending.isAskingAgain) this.jobs.dropUnclaimed();
  }

  /** Whether the missing events will come. */
  #heal(cause: ArcpError, { wasAskedFor }: { readonly wasAskedFor: boolean }): boolean {
    this.#break(cause);
    const connection = this.#connection;
    const canHeal = this.traits.replaysGaps && this.#settings.canReconnect && !wasAskedFor;
    if (canHeal && connection) {
      this.#leave(connection, cause);
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
    const { countsSubscriptionsApart } = this.traits;
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
        this.#settle(waiting, () => waiting.call.refused(ArcpError.fromPayload(error)));
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
    const matching = { isInOrder: this.traits.answersInOrder };
    const waiting = isFatal(error) ? undefined : this.#pending.ofSessionError(refusal, matching);
    if (refusal.requestId !== undefined && waiting) this.#echoesRequests = true;
    if (waiting) {
      this.#settle(waiting, () => waiting.call.refused(error));
      return;
    }
    this.#complaint = error;
    const connection = this.#connection;
    if (!isFatal(error) || !connection) return;
    if (error.code === "HEARTBEAT_LOST" && this.#settings.canReconnect) {
      this.#settings.onHeartbeatLost();
      this.#leave(connection, error);
      return;
    }
    this.#end(error);
    connection.close("the session is over").catch(() => {});
  }

  #farewell(envelope: Envelope): void {
    const { reason = "" } = readFarewell(envelope);
    const cause = new ArcpError("CANCELLED", `the runtime said goodbye: ${reason}`);
    const connection = this.#connection;
    if (!connection) return;
    // A runtime that stops comes back, with what it remembers.
    if (reason === "shutdown" && this.#settings.canReconnect) {
      this.#leave(connection, cause);
      return;
    }
    this.#end(cause);
    connection.close("peer.bye").catch(() => {});
  }

  #pong(envelope: Envelope): void {
    const ping = readPing(envelope);
    if (ping.problem) {
      this.malformed(ping.problem.message);
      return;
    }
    const pong = { pingNonce: ping.value.nonce, receivedAtMs: Date.now() };
    this.say({ type: "session.pong", payload: printPong(pong) });
  }

  // The way out.

  /** Throws what cannot be said, to anybody or to this runtime. */
  #print(id: string, request: Request): string {
    const text = printText(id, { ...request, sessionId: this.#welcome?.sessionId });
    if (this.#dialect !== "python") return text;
    const bytes = new TextEncoder().encode(text).length;
    const problem = checkForPython(request, { bytes, isLine: this.#connection?.isLine ?? false });
    if (problem) throw problem;
    return text;
  }

  #send(waiting: Waiting, text: string): void {
    const connection = this.#connection;
    if (!connection) return;
    waiting.wasSent = true;
    waiting.stopTimer();
    const { answerMs, time } = this.#settings;
    waiting.stopTimer = time.later(() => {
      const message = `the runtime did not answer ${waiting.call.request.type} within ${answerMs} ms`;
      this.abandon(waiting, new ArcpError("TIMEOUT", message));
    }, answerMs);
    this.#write(connection, text);
  }

  #write(connection: Connection, text: string): void {
    connection.send(text);
    this.#pulse?.said();
  }

  // Losing connections, and finding back.

  async #attempt(resumePoint: ResumePoint | undefined): Promise<void> {
    const { token, client, features, vendor, handshakeMs, time, dial } = this.#settings;
    const hello: Hello = {
      client,
      token,
      capabilities: { encodings: ["json"], features, vendor },
      resume: resumePoint,
    };
    const { signal } = this.#leaving;
    const transport = await dial(signal);
    if (this.#ended) {
      transport.close("nobody wants it any more").catch(() => {});
      throw this.#ended;
    }
    await Connection.open(transport, this, { hello, handshakeMs, time, signal });
  }

  #watch(): void {
    const { time, ackPace, isAckAsked } = this.#settings;
    const seconds = this.welcome.heartbeatIntervalSec;
    if (seconds !== undefined && this.#features.includes("heartbeat")) {
      this.#pulse = new Pulse(seconds * 1_000, time, {
        ping: () => this.#ping(),
        lost: () => this.#silent(),
      });
    }
    const mayAck = this.traits.acksUnasked || isAckAsked;
    if (ackPace && mayAck && this.#features.includes("ack")) {
      this.#acknowledging = new Acknowledging(ackPace, time, {
        deliveredSeq: () => this.#deliveredSeq(),
        send: (seq) => this.acknowledge(seq),
      });
    }
  }

  #deliveredSeq(): number {
    let delivered = this.lastEventSeq;
    const areApart = this.traits.countsSubscriptionsApart;
    for (const following of this.jobs.ownFollowings({ areApart })) {
      const unread = following.firstUnreadSeq;
      if (unread !== undefined && unread <= delivered) delivered = unread - 1;
    }
    return delivered;
  }

  #ping(): void {
    if (!this.isLive) return;
    const ping = { nonce: mintId("nonce"), sentAtMs: Date.now() };
    this.say({ type: "session.ping", payload: printPing(ping) });
  }

  #silent(): void {
    const connection = this.#connection;
    if (!connection) return;
    this.#settings.onHeartbeatLost();
    const message = "the runtime has been silent for two heartbeats";
    this.#leave(connection, new ArcpError("HEARTBEAT_LOST", message));
  }

  /** We give this connection up, and look for another. */
  #leave(connection: Connection, cause: ArcpError): void {
    this.#detach();
    const closing = connection.close(cause.message).catch(() => {});
    if (this.#settings.canReconnect) void this.#comeBack(cause, closing);
    else this.#end(cause);
  }

  #detach(): void {
    this.#pulse?.stop();
    this.#acknowledging?.stop();
    this.#pulse = undefined;
    this.#acknowledging = undefined;
    if (!this.#connection) return;
    this.#connection = undefined;
    this.#attached = Promise.withResolvers();
    this.#attached.promise.catch(() => {});
    for (const { stopTimer } of this.#pending.all()) stopTimer();
  }

  async #comeBack(cause: ArcpError, closing?: Promise<void>): Promise<void> {
    const { resumeToken, resumeWindowSec, sessionId } = this.welcome;
    const windowMs = (resumeWindowSec || limits.resumeWindowSec) * 1_000;
    const { traits } = this;
    const resumption: Resumption = {
      lastEventSeq: this.lastEventSeq,
      windowMs,
      traits,
      time: this.#settings.time,
      signal: this.#leaving.signal,
      attempt: (lastEventSeq) =>
        this.#attempt(
          lastEventSeq === undefined ? undefined : { sessionId, resumeToken, lastEventSeq },
        ),
    };
    try {
      if (traits.resumesAfterClose) await closing;
      await resume(resumption);
    } catch (error) {
      if (this.#ended) return;
      const failure = isArcpError(error) ? error : cause;
      if (failure.code === "RESUME_WINDOW_EXPIRED") await this.#afterRefusal(resumption, failure);
      else this.#end(failure);
    }
  }

  /** ARCP-221. */
  async #afterRefusal(resumption: Resumption, refusal: ArcpError): Promise<void> {
    this.#loseSession(refusal);
    const isUnreachable = refusal.details?.["unreachable"] === true;
    if (!this.#settings.opensFresh || isUnreachable) {
      this.#end(refusal);
      return;
    }
    try {
      await beginAnew(resumption);
    } catch (error) {
      this.#end(isArcpError(error) ? error : refusal);
    }
  }

  /** The session is gone, and with it everything that only it knew of. */
  #loseSession(error: ArcpError): void {
    this.#isGone = true;
    this.jobs.dropUnclaimed();
    this.#tellGap(error);
    for (const waiting of this.#pending.all()) {
      const canWait = waiting.call.kind === "submit" || waiting.call.kind === "list";
      if (waiting.wasSent || !canWait) this.#settle(waiting, () => waiting.call.refused(error));
    }
    for (const { jobId } of this.jobs.all()) {
      for (const following of this.jobs.forget(jobId)) following.breakOff(error);
    }
  }

  #tellGap(cause: ArcpError): void {
    const { lastEventSeq } = this;
    this.#settings.onGap({ sessionId: this.welcome.sessionId, lastEventSeq, cause });
  }

  /** What had no answer when the connection was lost (ARCP-220). */
  #sendAgain(): void {
    const waitings = this.#pending.all();
    for (const waiting of waitings) {
      const { call, wasSent } = waiting;
      if (!wasSent) {
        this.#repeat(waiting, waiting.id);
        continue;
      }
      if (call.kind !== "submit") {
        // Under a new id: some runtimes drop without a word what they believe to have seen.
        this.#repeat(waiting, mintId("envelope"));
        continue;
      }
      const isKnownAgain = this.#echoesRequests && this.traits.knowsSubmitsAgain;
      if (call.hasKey || isKnownAgain) {
        this.#repeat(waiting, waiting.id);
        continue;
      }
      const message = "the connection was lost before the runtime answered; the job may run or not";
      this.#settle(waiting, () => call.refused(new ArcpError("HEARTBEAT_LOST", message)));
    }
  }

  #repeat(waiting: Waiting, id: string): void {
    this.#pending.renew(waiting, id);
    try {
      this.#send(waiting, this.#print(id, waiting.call.request));
    } catch (error) {
      // Another runtime answers at this address now, and could not take it.
      const refusal = isArcpError(error) ? error : expiredAt(this.lastEventSeq);
      this.#settle(waiting, () => waiting.call.refused(refusal));
    }
  }

  /** The jobs of a resumed session whose events do not come by themselves (PYC-15). */
  #followAgain(): void {
    for (const followed of this.jobs.all()) {
      if (this.#pending.hasSubscribe(followed.jobId)) continue;
      if (this.#features.includes("subscribe")) this.#follow(followed, { history: false });
      else this.settle(followed.jobId, lostInBetween(followed.jobId));
    }
  }

  #follow({ jobId }: Followed, { history }: { readonly history: boolean }): void {
    this.ask({
      kind: "subscribe",
      jobId,
      request: {
        type: "job.subscribe",
        jobId,
        payload: printSubscribe({ jobId, history, fromEventSeq: 0 }),
      },
      answered: (subscribed) => this.#followedAgain(subscribed),
      refused: () => this.settle(jobId, lostInBetween(jobId)),
    });
  }

  #followedAgain({ jobId, currentStatus }: Subscribed): void {
    const followed = this.jobs.get(jobId);
    if (!followed) return;
    followed.isOwn = false;
    this.#numbering.cursors.begin(jobId);
    if (isFinished(currentStatus)) this.settle(jobId, lostInBetween(jobId));
  }

  #break(error: ArcpError): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#settings.onSessionBroken(error);
  }

  /** Everything that waits is told, once and for good (ARCP-208). */
  #end(error: ArcpError, { isWanted = false } = {}): void {
    if (this.#ended) return;
    this.#ended = error;
    this.#detach();
    this.jobs.dropUnclaimed();
    this.#leaving.abort(error);
    for (const waiting of this.#pending.all()) {
      this.#settle(waiting, () => waiting.call.refused(error));
    }
    for (const { jobId } of this.jobs.all()) {
      for (const following of this.jobs.forget(jobId)) following.breakOff(error);
    }
    this.#attached.reject(error);
    if (!isWanted) this.#break(error);
  }
}

const fatal: ReadonlySet<string> = new Set([
  "UNAUTHENTICATED",
  "HEARTBEAT_LOST",
  "RESUME_WINDOW_EXPIRED",
]);

/** ARCP-59. */
function isFatal({ code }: ArcpError): boolean {
  return fatal.has(code);
}

function expiredAt(lastEventSeq: number): ArcpError {
  const message = `the runtime opened another session; events after ${lastEventSeq} are lost`;
  return new ArcpError("RESUME_WINDOW_EXPIRED", message);
}
