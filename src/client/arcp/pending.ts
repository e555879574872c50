/**
 * Requests without an answer, and which of them an answer belongs to (ARCP-213 to 217). Our runtime says so
 * in `request_id`; others leave it out here and there, and then the trace, the job, the code and the order
 * in which requests went out are what there is to go by.
 */
import {
  type Accepted,
  type ArcpError,
  type Cancelled,
  type Envelope,
  isErrorCode,
  type Jobs,
  type JsonObject,
  type QuestionAnswered,
  type ReceivedError,
  type SessionError,
  type Subscribed,
} from "../../wire/arcp/index.ts";
import { limits } from "./limits.ts";
import { callOfPythonError } from "./python-peer.ts";

/** What goes out, but for its id and session. */
export type Request = {
  readonly type: string;
  readonly jobId?: string | undefined;
  readonly traceId?: string | undefined;
  readonly extensions?: JsonObject | undefined;
  readonly payload: JsonObject;
};

type CallOf<Kind extends string, Answer> = {
  readonly kind: Kind;
  readonly request: Request;
  readonly answered: (answer: Answer, envelope: Envelope) => void;
  readonly refused: (error: ArcpError) => void;
};

export type SubmitCall = CallOf<"submit", Accepted> & {
  readonly agent: string;
  readonly traceId: string;
  readonly key: string | undefined;
  /** No other submit has its trace. */
  readonly hasOwnTrace: boolean;
  readonly namesParent: boolean;
};
export type ListCall = CallOf<"list", Jobs>;
export type SubscribeCall = CallOf<"subscribe", Subscribed> & { readonly jobId: string };
export type CancelCall = {
  readonly kind: "cancel";
  readonly jobId: string;
  readonly request: Request;
  readonly answered: () => void;
  readonly refused: (error: ArcpError) => void;
};

export type AnswerCall = CallOf<"answer", void>;

export type Call = SubmitCall | ListCall | SubscribeCall | CancelCall | AnswerCall;

export type Waiting<Kind extends Call = Call> = {
  /** Of the envelope that asked. */
  id: string;
  readonly call: Kind;
  /** The connection it went out on may be gone. */
  wasSent: boolean;
  /** Nobody waits for it any more, but an answer may still come. */
  isAbandoned: boolean;
  stopTimer: () => void;
};

export type Matching = {
  /** Answers come strictly in order, and errors say nothing of what they answer (PYC-6). */
  readonly isInOrder: boolean;
};

export class Pending {
  readonly #byId = new Map<string, Waiting>();
  // Asked for with every event and every end of a job, so that nobody goes through all that waits for them.
  /** Submits that were sent once more, on another connection. */
  readonly #askedAgain = new Set<Waiting>();
  readonly #cancels = new Map<string, Set<Waiting<CancelCall>>>();
  /** Submits that nobody wants any more, and whose answer was lost with a connection, by trace. */
  readonly #withdrawn = new Map<string, SubmitCall>();

  get size(): number {
    return this.#byId.size;
  }

  add(id: string, call: Call): Waiting {
    const waiting: Waiting = {
      id,
      call,
      wasSent: false,
      isAbandoned: false,
      stopTimer: () => {},
    };
    this.#byId.set(id, waiting);
    if (isCancel(waiting)) {
      const { jobId } = waiting.call;
      const cancels = this.#cancels.get(jobId) ?? new Set();
      this.#cancels.set(jobId, cancels.add(waiting));
    }
    return waiting;
  }

  /** In the order in which they were asked. */
  all(): readonly Waiting[] {
    return [...this.#byId.values()];
  }

  /** It goes to the end of the line, with another id if it must have one. */
  renew(waiting: Waiting, id: string): void {
    this.#byId.delete(waiting.id);
    waiting.id = id;
    if (waiting.wasSent && isSubmit(waiting)) this.#askedAgain.add(waiting);
    this.#byId.set(id, waiting);
  }

  /** Whether there was one that nobody waits for any more: the oldest makes room. */
  forgetAbandoned(): boolean {
    for (const waiting of this.#byId.values()) {
      if (!waiting.isAbandoned) continue;
      this.remove(waiting);
      return true;
    }
    return false;
  }

  remove(waiting: Waiting): void {
    waiting.stopTimer();
    this.#byId.delete(waiting.id);
    this.#askedAgain.delete(waiting);
    if (!isCancel(waiting)) return;
    const { jobId } = waiting.call;
    const cancels = this.#cancels.get(jobId);
    cancels?.delete(waiting);
    if (cancels?.size === 0) this.#cancels.delete(jobId);
  }

  /** Nothing will be said of it, but by the job that may have come of it. */
  withdraw(call: SubmitCall): void {
    if (!call.hasOwnTrace) return;
    this.#withdrawn.set(call.traceId, call);
    const [oldest] = this.#withdrawn.keys();
    if (this.#withdrawn.size > limits.withdrawnMax && oldest) this.#withdrawn.delete(oldest);
  }

  /** The submit that nobody wants any more, and that a job of this trace has come of; it is told once. */
  ofUnwanted(traceId: string | undefined): SubmitCall | undefined {
    const call = traceId === undefined ? undefined : this.#withdrawn.get(traceId);
    if (call) this.#withdrawn.delete(call.traceId);
    return call;
  }

  /** Whether somebody waits for the job of this key. */
  hasKey(key: string): boolean {
    for (const { call, isAbandoned } of this.#byId.values()) {
      if (call.kind === "submit" && call.key === key && !isAbandoned) return true;
    }
    return false;
  }

  hasSubscribe(jobId: string): boolean {
    return this.#oldest(isOf("subscribe", jobId)) !== undefined;
  }

  /** Whether a job's frames may be for a submit whose answer was lost with a connection. */
  mayHaveAsked(
    traceId: string | undefined,
    { isFollowed }: { readonly isFollowed: boolean },
  ): boolean {
    for (const waiting of this.#askedAgain) {
      if (hasTrace(traceId)(waiting)) return true;
      // A job that nobody here follows may have been asked for with a key, under another trace.
      const { call } = waiting;
      const hasKey = call.kind === "submit" && call.key !== undefined;
      if (!isFollowed && (traceId === undefined || hasKey)) return true;
    }
    return false;
  }

  get isAskingAgain(): boolean {
    return this.#askedAgain.size > 0;
  }

  /** ARCP-213. A child's acceptance is told to its parent's session, too, and answers nothing there. */
  ofAccepted(accepted: Accepted): Waiting<SubmitCall> | undefined {
    const { requestId, traceId, parentJobId, delegateId } = accepted;
    const isChild = parentJobId !== undefined || delegateId !== undefined;
    const mayBe = (waiting: Waiting): waiting is Waiting<SubmitCall> =>
      isSubmit(waiting) && (!isChild || waiting.call.namesParent);
    const named = this.#named(requestId);
    if (named) return mayBe(named) ? named : undefined;
    const traced = this.#oldest(both(mayBe, hasTrace(traceId)));
    // It answers somebody who has given up: the oldest of the others is not meant.
    return traced ?? (requestId === undefined ? this.#oldest(mayBe) : undefined);
  }

  /** ARCP-214. Undefined: it ends the job that it names. */
  ofJobError(
    error: {
      readonly code: string;
      readonly requestId: string | undefined;
      readonly jobId: string | undefined;
      readonly traceId: string | undefined;
    },
    isKnownJob: boolean,
  ): Waiting | undefined {
    const { code, requestId, jobId, traceId } = error;
    const named = this.#named(requestId);
    if (named) return named;
    if (code === "DUPLICATE_KEY" || !isKnownJob) {
      const traced = this.#oldest(both(isSubmit, hasTrace(traceId)));
      return traced ?? (requestId === undefined ? this.#oldest(isSubmit) : undefined);
    }
    if (jobId === undefined) return undefined;
    const isRefusal = code === "PERMISSION_DENIED" || code === "JOB_NOT_FOUND";
    const cancel = isRefusal ? this.#oldest(isOf("cancel", jobId)) : undefined;
    if (cancel) return cancel;
    return code === "JOB_NOT_FOUND" ? this.#oldest(isOf("subscribe", jobId)) : undefined;
  }

  /** ARCP-215. Undefined: it is about the session. */
  ofSessionError(
    { error, requestId, jobId }: SessionError,
    { isInOrder }: Matching,
  ): Waiting | undefined {
    if (requestId !== undefined) return this.#named(requestId);
    if (isInOrder) return callOfPythonError(error.message, this.all());
    if (!isErrorCode(error.code)) return undefined;
    switch (error.code) {
      case "AGENT_VERSION_NOT_AVAILABLE":
      case "AGENT_NOT_AVAILABLE":
      case "DUPLICATE_KEY":
      case "LEASE_SUBSET_VIOLATION":
        return this.#submitNamedIn(error) ?? this.#oldest(isSubmit);
      case "PERMISSION_DENIED":
      case "JOB_NOT_FOUND":
        return this.#ofJobRefusal(jobId);
      case "INVALID_REQUEST":
        return this.#oldest(isAny);
      default:
        return undefined;
    }
  }

  /** ARCP-216. */
  ofSubscribed({ requestId, jobId }: Subscribed): Waiting<SubscribeCall> | undefined {
    const named = this.#named(requestId);
    if (named) return isSubscribe(named) ? named : undefined;
    return this.#oldest(isOf("subscribe", jobId));
  }

  /** ARCP-217. Who leaves out the id of the request has answered the oldest. */
  ofJobs({ requestId }: Jobs): Waiting<ListCall> | undefined {
    const named = this.#named(requestId);
    if (named || requestId !== undefined) return named && isList(named) ? named : undefined;
    return this.#oldest(isList);
  }

  ofCancelled({ requestId, jobId }: Cancelled): Waiting<CancelCall> | undefined {
    const named = this.#named(requestId);
    if (named) return isCancel(named) ? named : undefined;
    return this.#oldest(isOf("cancel", jobId));
  }

  /** Only our runtime takes answers, and it says which request it replies to. */
  ofAnswered({ requestId }: QuestionAnswered): Waiting<AnswerCall> | undefined {
    const named = this.#named(requestId);
    return named && isAnswer(named) ? named : undefined;
  }

  /** A job that is over needs no cancelling. */
  cancelsOf(jobId: string): readonly Waiting<CancelCall>[] {
    return [...(this.#cancels.get(jobId) ?? [])];
  }

  #named(requestId: string | undefined): Waiting | undefined {
    return requestId === undefined ? undefined : this.#byId.get(requestId);
  }

  #oldest<Kind extends Call>(
    isOne: (waiting: Waiting) => waiting is Waiting<Kind>,
  ): Waiting<Kind> | undefined {
    for (const waiting of this.#byId.values()) {
      if (waiting.wasSent && isOne(waiting)) return waiting;
    }
    return undefined;
  }

  /** `name` occurs in what names `name@version`, so that the longest wins. */
  #submitNamedIn({ message }: ReceivedError): Waiting | undefined {
    let best: Waiting<SubmitCall> | undefined;
    for (const waiting of this.#byId.values()) {
      if (!isSubmit(waiting) || !waiting.wasSent || !message.includes(waiting.call.agent)) continue;
      if (!best || waiting.call.agent.length > best.call.agent.length) best = waiting;
    }
    return best;
  }

  #ofJobRefusal(jobId: string | undefined): Waiting | undefined {
    const exact =
      jobId === undefined
        ? undefined
        : (this.#oldest(isOf("subscribe", jobId)) ?? this.#oldest(isOf("cancel", jobId)));
    return exact ?? this.#oldest(isSubscribe) ?? this.#oldest(isCancel);
  }
}

function isAny(waiting: Waiting): waiting is Waiting {
  return waiting.wasSent;
}

/** Of this kind, and about this job, if one is named. */
function isOf<Kind extends Call["kind"]>(kind: Kind, jobId?: string) {
  return (waiting: Waiting): waiting is Waiting<Extract<Call, { readonly kind: Kind }>> => {
    const { call } = waiting;
    return call.kind === kind && (jobId === undefined || ("jobId" in call && call.jobId === jobId));
  };
}

const isSubmit = isOf("submit");
const isList = isOf("list");
const isSubscribe = isOf("subscribe");
const isCancel = isOf("cancel");
const isAnswer = isOf("answer");

function hasTrace(traceId: string | undefined) {
  return ({ call }: Waiting): boolean =>
    traceId !== undefined && call.kind === "submit" && call.traceId === traceId;
}

function both(
  isOne: (waiting: Waiting) => waiting is Waiting<SubmitCall>,
  isToo: (waiting: Waiting) => boolean,
) {
  return (waiting: Waiting): waiting is Waiting<SubmitCall> => isOne(waiting) && isToo(waiting);
}
