/** A job as whoever submitted it, or follows it, holds it. */
import {
  type Accepted,
  type Chunk,
  type LeaseConstraints,
  type LeaseShape,
  printAmounts,
  type Subscribed,
} from "../../wire/arcp/index.ts";
import { type Abortable, orAborted } from "./abort.ts";
import { JobCredential } from "./credential.ts";
import type { ReceivedEvent } from "./event.ts";
import type { EventsOptions, Following, JobDone } from "./following.ts";

/** Amounts by currency. */
export type Budget = Readonly<Record<string, number>>;

/** What a handle asks of its session. */
export interface HandleSession {
  cancelJob(
    jobId: string,
    options: Abortable & { readonly reason?: string | undefined },
  ): Promise<void>;
  answerQuestion(
    jobId: string,
    said: { readonly questionId: string; readonly answer: unknown },
    options: Abortable,
  ): Promise<void>;
  unsubscribe(jobId: string, following: Following): void;
}

export class JobHandle implements Disposable {
  readonly jobId: string;
  /** With the version that was chosen, if the runtime has versions. */
  readonly agent: string;
  /** What the job may do: at most what was asked for. */
  readonly lease: LeaseShape;
  readonly leaseConstraints: LeaseConstraints | undefined;
  readonly budget: Budget | undefined;
  readonly credentials: readonly JobCredential[];
  readonly traceId: string | undefined;
  readonly parentJobId: string | undefined;
  readonly #following: Following;
  readonly #session: HandleSession;

  constructor(facts: Accepted | Subscribed, following: Following, session: HandleSession) {
    this.jobId = facts.jobId;
    this.agent = facts.agent;
    this.lease = facts.lease;
    this.leaseConstraints = facts.leaseConstraints;
    this.budget = facts.budget && readBudget(facts.budget);
    this.credentials = (facts.credentials ?? []).map((each) => new JobCredential(each));
    this.traceId = facts.traceId;
    this.parentJobId = facts.parentJobId;
    this.#following = following;
    this.#session = session;
  }

  /**
   * Resolves with the payload of `job.result`, rejects with the error of `job.error`. It settles in any case:
   * also if the client is closed, or the session is lost for good.
   */
  get done(): Promise<JobDone> {
    return this.#following.done;
  }

  /**
   * Events in order, until the job ends. The first who asks gets what has come so far, later ones what comes
   * from then on. At most 1,024 wait for someone to ask; then the oldest are dropped, and the next event
   * says how many. Throws if the session is lost.
   */
  events(options?: EventsOptions): AsyncIterableIterator<ReceivedEvent, undefined> {
    return this.#following.events(options);
  }

  /** The pieces of a streamed result as they come, each once. A job that is run again begins anew, with another id. */
  chunks(): AsyncIterableIterator<Chunk, undefined> {
    return this.#following.chunks();
  }

  /** A streamed result, whole: a text if all its pieces were text, else bytes. Once given up, its pieces are gone. */
  async collectChunks({ signal }: Abortable = {}): Promise<string | Uint8Array> {
    signal?.throwIfAborted();
    return orAborted(this.#following.collectChunks(), signal, () => this.chunks().return?.());
  }

  /** Resolves when the runtime has taken the wish, or the job is over. How the job ends, `done` tells. */
  cancel(reason?: string, { signal }: Abortable = {}): Promise<void> {
    return this.#session.cancelJob(this.jobId, { reason, signal });
  }

  /**
   * Answers a question of the job: `question_id` of the event `x-vendor.runctx.question`, or `request_id` of
   * `x-vendor.runctx.scope_request`. Resolves when the answer counts. Rejects with `INVALID_REQUEST` if it does not, and
   * `details.original_code` says why; with `question_closed` the message says who was first. Only runtimes of ours take
   * answers.
   */
  answer(questionId: string, answer: unknown, { signal }: Abortable = {}): Promise<void> {
    return this.#session.answerQuestion(this.jobId, { questionId, answer }, { signal });
  }

  /** Stops following the job. The job goes on; its events end here, and `done` rejects with `CANCELLED`. */
  unsubscribe(): void {
    this.#session.unsubscribe(this.jobId, this.#following);
  }

  [Symbol.dispose](): void {
    this.unsubscribe();
  }
}

export class SubscribedJob extends JobHandle {
  /** When the subscription began. */
  readonly currentStatus: string;
  /** Whether events from before the subscription came along. */
  readonly replayed: boolean;
  readonly subscribedFrom: number;

  constructor(facts: Subscribed, following: Following, session: HandleSession) {
    super(facts, following, session);
    this.currentStatus = facts.currentStatus;
    this.replayed = facts.replayed;
    this.subscribedFrom = facts.subscribedFrom;
  }
}

export function readBudget(budget: Parameters<typeof printAmounts>[0]): Budget {
  // Only numbers come out of it.
  return printAmounts(budget) as Budget;
}
