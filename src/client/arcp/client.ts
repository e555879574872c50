/**
 * A client of an ARCP runtime. It submits jobs and follows them over a connection that may break: it comes
 * back by itself, and what it has handed out stays valid.
 */
import {
  type AgentOffer,
  ArcpError,
  answerType,
  isArcpError,
  isTraceId,
  type JobEntry,
  type JsonObject,
  type LeaseConstraints,
  type LeaseShape,
  printAnswer,
  printCancel,
  printListJobs,
  printSubmit,
  printSubscribe,
  type QuestionAnswer,
  readTimestamp,
  type Welcome,
} from "../../wire/arcp/index.ts";
import { type Abortable, orAborted } from "./abort.ts";
import { mintId, mintTraceId } from "./chance.ts";
import type { Following } from "./following.ts";
import { type Budget, type HandleSession, JobHandle, readBudget, SubscribedJob } from "./handle.ts";
import type { FrameListener } from "./handlers.ts";
import { closedHere } from "./lifeline.ts";
import { limits } from "./limits.ts";
import { type ClientOptions, settle, type Target } from "./options.ts";
import type { Call, Request } from "./pending.ts";
import { isNeverToEnd, isVersionOf } from "./python-peer.ts";
import { Session } from "./session.ts";
import { systemTime, type Timekeeper } from "./time.ts";

export type SubmitOptions = {
  /** `name` or `name@version`. */
  readonly agent: string;
  readonly input?: unknown;
  /** What the job may do: nothing, if not said. */
  readonly lease?: LeaseShape | undefined;
  /** Another name for `lease`. */
  readonly leaseRequest?: LeaseShape | undefined;
  /** Also as it stands on the wire. */
  readonly leaseConstraints?:
    | (LeaseConstraints & { readonly expires_at?: string | undefined })
    | undefined;
  /** The same key and the same request are the same job. */
  readonly idempotencyKey?: string | undefined;
  /** Counted from the acceptance: what the job waits for a worker is part of it. */
  readonly maxRuntimeSec?: number | undefined;
  /** 32 hex digits; a fresh one, if not said. */
  readonly traceId?: string | undefined;
  readonly parentJobId?: string | undefined;
  readonly delegateId?: string | undefined;
  readonly extensions?: JsonObject | undefined;
  /**
   * Withdraws the submit, or cancels the job that came of it. After a loss of the connection in between, the job is
   * cancelled as soon as it is heard of; one with a `traceId` of yours, only if it has an `idempotencyKey`.
   */
  readonly signal?: AbortSignal | undefined;
};

export type JobFilter = {
  readonly status?: readonly string[] | undefined;
  readonly agent?: string | undefined;
  readonly createdAfter?: Date | string | undefined;
  readonly createdBefore?: Date | string | undefined;
};

export type Page = Abortable & {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
};

export type SubscribeOptions = Abortable & {
  /** What the job said so far is told, too. */
  readonly history?: boolean;
  readonly fromEventSeq?: number;
};

export type CancelOptions = Abortable & { readonly reason?: string | undefined };

export type ListedJob = Omit<JobEntry, "budget"> & { readonly budget?: Budget | undefined };

export type JobPage = {
  readonly jobs: readonly ListedJob[];
  /** Undefined on the last page. */
  readonly nextCursor: string | undefined;
};

/** Enough to take the session up elsewhere. Secret, for its token. */
export type ResumeFrom = {
  readonly session_id: string;
  readonly resume_token: string;
  readonly last_event_seq: number;
};

/**
 * `ARCPClient.connect` makes a client with a session. `new ARCPClient(options)` makes one without, for programs that
 * connect it later; until then its methods throw `INVALID_REQUEST`.
 */
export class ARCPClient implements AsyncDisposable {
  readonly #options: ClientOptions;
  readonly #time: Timekeeper;
  /** Undefined until it is connected. */
  #opened: Session | undefined;
  readonly #handles: HandleSession = {
    cancelJob: (jobId, options) => this.cancelJob(jobId, options),
    answerQuestion: (jobId, said, options) => this.#answerQuestion({ jobId, ...said }, options),
    unsubscribe: (jobId, following) => this.#session.leave(jobId, following),
  };
  /** Jobs that somebody has withdrawn from, and that a submit under the same key may get: asked again after it. */
  readonly #undecided = new Map<string, () => void>();
  #closing: Promise<void> | undefined;

  /**
   * Rejects with what the runtime says (`UNAUTHENTICATED` above all), with `TIMEOUT`, or as the transport
   * could not be made. It is tried once.
   */
  static async connect(target: Target, options: ClientOptions): Promise<ARCPClient> {
    const client = new ARCPClient(options);
    await client.connect(target);
    return client;
  }

  /**
   * Takes up a session that was begun elsewhere. Rejects with `RESUME_WINDOW_EXPIRED` if it is gone. Its jobs
   * have no handles here: what is replayed comes to the handlers in `options.on`, and `subscribe` follows.
   */
  static async resume(
    target: Target,
    from: ResumeFrom,
    options: ClientOptions,
  ): Promise<ARCPClient> {
    const client = new ARCPClient(options);
    await client.resume(target, from);
    return client;
  }

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#time = options.time ?? systemTime;
  }

  /** Same as the static `ARCPClient.connect`, for a client made with `new`. Rejects if the client already has a session. */
  async connect(target: Target): Promise<Welcome> {
    await this.#open(new Session(settle(target, this.#options)));
    return this.welcome;
  }

  /** Same as the static `ARCPClient.resume`, for a client made with `new`. Rejects if the client already has a session. */
  async resume(
    target: Target,
    { session_id, resume_token, last_event_seq }: ResumeFrom,
  ): Promise<Welcome> {
    const session = new Session(settle(target, this.#options), {
      sessionId: session_id,
      resumeToken: resume_token,
      lastEventSeq: last_event_seq,
    });
    try {
      await this.#open(session);
    } catch (error) {
      // A Python runtime calls it so, and nobody else says it to a hello.
      const isGone = isArcpError(error) && error.code === "PERMISSION_DENIED";
      throw isGone ? gone(session_id, error) : error;
    }
    if (this.sessionId === session_id) return this.welcome;
    await this.close();
    throw gone(session_id);
  }

  /** A client that could not be connected may try again. */
  async #open(session: Session): Promise<void> {
    if (this.#closing !== undefined) throw closedHere();
    if (this.#opened) throw new ArcpError("INVALID_REQUEST", "this client has a session already");
    this.#opened = session;
    try {
      await session.lifeline.open(this.#options.signal);
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }

  get #session(): Session {
    if (this.#opened) return this.#opened;
    throw new ArcpError("INVALID_REQUEST", "this client is not connected: call connect first");
  }

  get sessionId(): string {
    return this.welcome.sessionId;
  }

  /** What both sides know, in our order. */
  get features(): readonly string[] {
    return this.#session.lifeline.features;
  }

  /** The newest: there is one for each connection. */
  get welcome(): Welcome {
    return this.#session.lifeline.welcome;
  }

  get agents(): readonly AgentOffer[] {
    return this.welcome.agents;
  }

  /** The last event up to which nothing is missing. */
  get lastEventSeq(): number {
    return this.#session.lastEventSeq;
  }

  get isConnected(): boolean {
    return this.#opened?.lifeline.isLive === true;
  }

  /** By us, by the runtime, or for want of a way back. Whatever is asked then rejects. */
  get isClosed(): boolean {
    return this.#closing !== undefined || this.#opened?.lifeline.isEnded === true;
  }

  /** For `ARCPClient.resume`, here or elsewhere. */
  get resumeFrom(): ResumeFrom {
    const { sessionId, resumeToken } = this.welcome;
    return {
      session_id: sessionId,
      resume_token: resumeToken,
      last_event_seq: this.lastEventSeq,
    };
  }

  /**
   * Resolves when the runtime has accepted the job. While there is no connection it waits for one. Rejects with
   * the runtime's refusal; with `HEARTBEAT_LOST` if the connection was lost in between and nobody knows
   * whether the job runs; with `TIMEOUT` if no answer came: an acceptance that comes later cancels the job; with
   * `CANCELLED`, and its reason as the cause, if the signal came first.
   */
  async submit(options: SubmitOptions): Promise<JobHandle> {
    const { agent, idempotencyKey: key, signal, traceId = mintTraceId(), extensions } = options;
    if (!isTraceId(traceId)) {
      throw new ArcpError("INVALID_REQUEST", "a trace id has 32 lower-case hex digits");
    }
    try {
      return await this.#ask(signal, (resolve, refused, isAbandoned) => ({
        kind: "submit",
        agent,
        traceId,
        key,
        hasOwnTrace: options.traceId === undefined,
        namesParent: options.parentJobId !== undefined || options.delegateId !== undefined,
        request: { type: "job.submit", traceId, extensions, payload: printSubmission(options) },
        answered: (accepted, envelope) => {
          // It is followed in any case: how it ends answers none of those who wait.
          const following = this.#session.accepted(accepted, envelope, key !== undefined);
          const withdraw = (): void => this.#withdraw(accepted.jobId, following, key);
          if (isAbandoned()) {
            withdraw();
            return;
          }
          signal?.addEventListener("abort", withdraw, { once: true });
          following.whenOver(() => signal?.removeEventListener("abort", withdraw));
          const facts = { ...accepted, traceId: accepted.traceId ?? traceId };
          resolve(new JobHandle(facts, following, this.#handles));
        },
        refused,
      }));
    } catch (error) {
      const isWithdrawn = signal?.aborted && error === signal.reason;
      throw isWithdrawn ? withdrawn(error) : error;
    } finally {
      if (key !== undefined) {
        const decide = this.#undecided.get(key);
        this.#undecided.delete(key);
        decide?.();
      }
    }
  }

  /** Follows a job that another session has submitted, or this one. */
  async subscribe(
    jobId: string,
    { history = false, fromEventSeq = 0, signal }: SubscribeOptions = {},
  ): Promise<SubscribedJob> {
    this.#session.lifeline.requireFeature("subscribe");
    signal?.throwIfAborted();
    const following = this.#session.subscribing(jobId);
    try {
      return await this.#ask(signal, (resolve, refused) => ({
        kind: "subscribe",
        jobId,
        request: {
          type: "job.subscribe",
          jobId,
          payload: printSubscribe({ jobId, history, fromEventSeq }),
        },
        answered: (subscribed) => {
          this.#session.subscribed(subscribed, following);
          resolve(new SubscribedJob(subscribed, following, this.#handles));
        },
        refused,
      }));
    } catch (error) {
      // One that was not answered may have been taken nevertheless.
      const wasRefused = isArcpError(error) && error.code !== "TIMEOUT" && !signal?.aborted;
      this.#session.leave(jobId, following, { wasRefused });
      throw error;
    }
  }

  /** A page may have fewer jobs than its limit and still not be the last. */
  async listJobs(filter: JobFilter = {}, page: Page = {}): Promise<JobPage> {
    const { agent } = filter;
    const { findsVersions } = this.#session.lifeline.traits;
    if (agent === undefined || agent.includes("@") || findsVersions) {
      return this.#listPage(filter, page);
    }
    // Of all agents, and what was asked for is picked here; pages without any are passed over.
    let { cursor } = page;
    for (let pages = 1; ; pages += 1) {
      const listed = await this.#listPage({ ...filter, agent: undefined }, { ...page, cursor });
      const jobs = listed.jobs.filter((job) => isVersionOf(job.agent, agent));
      cursor = listed.nextCursor;
      if (jobs.length > 0 || cursor === undefined || pages >= limits.pagesMax) {
        return { jobs, nextCursor: cursor };
      }
    }
  }

  async #listPage(filter: JobFilter, { limit, cursor, signal }: Page): Promise<JobPage> {
    this.#session.lifeline.requireFeature("list_jobs");
    const payload = printListJobs({
      status: filter.status,
      agent: filter.agent,
      createdAfterMs: readTime(filter.createdAfter),
      createdBeforeMs: readTime(filter.createdBefore),
      limit,
      cursor,
    });
    return this.#ask(signal, (resolve, refused) => ({
      kind: "list",
      request: { type: "session.list_jobs", payload },
      answered: ({ jobs, nextCursor }) => {
        const listed = jobs.map(({ budget, ...job }) => ({
          ...job,
          ...(budget && { budget: readBudget(budget) }),
        }));
        resolve({ jobs: listed, nextCursor });
      },
      refused,
    }));
  }

  /**
   * Resolves when the runtime has taken the wish, or the job is over anyway. A Python runtime does not say
   * whether it has: there it resolves when the job ends, or after a while.
   */
  async cancelJob(jobId: string, { reason, signal }: CancelOptions = {}): Promise<void> {
    if (this.#session.jobs.isOver(jobId)) return;
    const payload = printCancel(reason === undefined ? {} : { reason });
    const cancelling = this.#ask<void>(signal, (answered, refused) => ({
      kind: "cancel",
      jobId,
      request: { type: "job.cancel", jobId, payload },
      answered,
      refused,
    }));
    const { answersCancels } = this.#session.lifeline.traits;
    if (!answersCancels) this.#lookAfterCancel(jobId, limits.cancelLooksMax);
    return cancelling;
  }

  /** Sent again after a lost connection. The key tells the runtime that it is the same answer. */
  async #answerQuestion(
    said: Omit<QuestionAnswer, "idempotencyKey">,
    { signal }: Abortable,
  ): Promise<void> {
    if (this.welcome.vendor[answerType] === undefined) {
      throw new ArcpError("INVALID_REQUEST", "this runtime does not accept answers to questions");
    }
    const payload = printAnswer({ ...said, idempotencyKey: mintId("envelope") });
    return await this.#ask<void>(signal, (answered, refused) => ({
      kind: "answer",
      request: { type: answerType, payload },
      answered,
      refused,
    }));
  }

  /** Tells the runtime that everything up to this event was read, and need not be kept for us. */
  ack(seq: number): void {
    this.#session.acknowledge(seq);
  }

  /** Every frame of a type, vendors' or not, in order, each handler awaited. Answers with how to stop it. */
  on(type: string, handler: FrameListener): () => void {
    return this.#session.handlers.on(type, handler);
  }

  /** Says something of a vendor's. Waits for a connection, if there is none. */
  async send(request: Request, { signal }: Abortable = {}): Promise<void> {
    signal?.throwIfAborted();
    await orAborted(this.#session.lifeline.whenLive(), signal, () => {});
    this.#session.lifeline.say(request);
  }

  /** What waits for something rejects with `CANCELLED`. Jobs go on, but for those whose submit was withdrawn. */
  close(reason = "client.close"): Promise<void> {
    this.#closing ??= this.#opened?.close(reason) ?? Promise.resolve();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Throws at once what cannot be asked. */
  #ask<Value>(
    signal: AbortSignal | undefined,
    callOf: (
      resolve: (value: Value) => void,
      refused: (error: ArcpError) => void,
      isAbandoned: () => boolean,
    ) => Call,
  ): Promise<Value> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Value>();
    const call = callOf(resolve, reject, () => waiting.isAbandoned);
    if (this.#closing && call.kind !== "cancel") throw closedHere();
    const waiting = this.#session.ask(call);
    return orAborted(promise, signal, () => this.#session.abandon(waiting));
  }

  /** A job that nobody wants is cancelled, once. How it ends, its handle tells. */
  #withdraw(jobId: string, following: Following, key: string | undefined): void {
    following.isAbandoned = true;
    if (this.#session.jobs.isWanted(jobId) || this.#session.isCancelling(jobId)) return;
    if (key !== undefined && this.#session.isAskedFor(key)) {
      this.#undecided.set(key, () => this.#withdraw(jobId, following, key));
      return;
    }
    this.cancelJob(jobId, { reason: "client.abort" }).catch(() => {});
  }

  /**
   * A runtime that answers no cancel may leave a job as it is for ever (PYC-9). It is asked now and then what
   * became of the job.
   */
  #lookAfterCancel(jobId: string, looks: number): void {
    this.#time.later(() => {
      if (this.isClosed || this.#session.jobs.isOver(jobId)) return;
      this.#session.statusesOf([jobId]).then(
        (statuses) => {
          const status = statuses?.get(jobId);
          if (status !== undefined && isNeverToEnd(status)) {
            this.#session.settle(jobId, new ArcpError("CANCELLED", "the job was cancelled"));
          } else if (looks > 1 && this.#session.jobs.get(jobId)) {
            this.#lookAfterCancel(jobId, looks - 1);
          }
          this.#session.answerCancels(jobId);
        },
        () => this.#session.answerCancels(jobId),
      );
    }, limits.cancelGraceMs);
  }
}

function printSubmission(options: SubmitOptions): JsonObject {
  const { agent, input, leaseConstraints = {}, idempotencyKey, maxRuntimeSec } = options;
  // NaN would become null in JSON, which means no limit.
  if (
    maxRuntimeSec !== undefined &&
    !(maxRuntimeSec >= 1 && maxRuntimeSec < Number.POSITIVE_INFINITY)
  ) {
    const message = `maxRuntimeSec must be a whole number of seconds, 1 or more, not ${maxRuntimeSec}`;
    throw new ArcpError("INVALID_REQUEST", message);
  }
  return printSubmit({
    agent,
    input,
    leaseRequest: options.lease ?? options.leaseRequest ?? {},
    leaseConstraints: { expiresAt: leaseConstraints.expiresAt ?? leaseConstraints.expires_at },
    idempotencyKey,
    maxRuntimeSec,
    parentJobId: options.parentJobId,
    delegateId: options.delegateId,
  });
}

function readTime(time: Date | string | undefined): number | undefined {
  if (time === undefined) return undefined;
  const ms = typeof time === "string" ? readTimestamp(time) : time.getTime();
  if (ms !== undefined && Number.isFinite(ms)) return ms;
  throw new ArcpError(
    "INVALID_REQUEST",
    "a time is a Date, or a text such as 2026-05-13T19:42:13Z",
  );
}

function gone(sessionId: string, cause?: ArcpError): ArcpError {
  const message = `session ${sessionId} cannot be resumed`;
  return new ArcpError("RESUME_WINDOW_EXPIRED", message, { cause });
}

function withdrawn(cause: unknown): ArcpError {
  return new ArcpError("CANCELLED", "the submit was withdrawn", { cause });
}
