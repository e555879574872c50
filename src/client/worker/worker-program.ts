/**
 * A process that works for a runtime elsewhere: the jobs that it has, and what of their words is not confirmed.
 * Connections come and go beneath it; handlers do not notice, except that their words take longer to be kept.
 * Nothing is thrown away before the runtime has said that it is kept, or that nobody wants it any more.
 */
import { randomUUID } from "node:crypto";
import { type Handler, JobContext } from "../../arcp-context.ts";
import {
  type Amount,
  type Decimal,
  decimalOf,
  type Job,
  type Outcome,
  printAmount,
  subtract,
  jobId as toJobId,
  questionId as toQuestionId,
  sessionId as toSessionId,
} from "../../core/index.ts";
import { type Clock, SteadyClock } from "../../plane/index.ts";
import {
  type Answered,
  codedError,
  type Delegated,
  type DelegateOptions,
  execute,
  fullName,
  HeldCredential,
  type Logger,
  pausing,
  printBody,
  readWord,
  requireTimeout,
  restOf,
  type Signals,
  type Surroundings,
  TimeLimit,
  tellable,
  type Voice,
  type Wish,
  WorkError,
  limits as wordLimits,
} from "../../runtime/index.ts";
import { type Credential, isObject, type JsonObject } from "../../wire/arcp/index.ts";
import {
  type Asked,
  type FromWorker,
  type Held,
  type JobFrame,
  type PersonAsked,
  prefix,
  printFromWorker,
  type RefusedCode,
  readPersonAnswered,
  readToWorker,
  type ToWorker,
  type WorkerOffer,
  limits as wireLimits,
} from "../../wire/worker/index.ts";
import { limits } from "./limits.ts";

export type WorkerAgent = {
  readonly name: string;
  readonly version?: string;
  readonly handler: Handler;
  /** Whether a job may be run again when this process was lost in the middle of it. */
  readonly isIdempotent?: boolean;
  /** Whether its jobs may ask people for more access than they have (`ctx.requestScope`); false by default. */
  readonly mayRequestScope?: boolean;
  /**
   * The maximum running time of one attempt, in milliseconds; there is no limit by default. Time that the job spends
   * waiting for a person does not count. When the time is up, `ctx.signal` aborts, and the job ends as `timed_out`.
   */
  readonly timeoutMs?: number;
};

export type WorkerProgramOptions = {
  readonly offers: readonly WorkerAgent[];
  readonly jobsAtOnce?: number;
  /** Minted for this process if absent. Never to be used by two, nor by the next one. */
  readonly workerId?: string;
  /** What agents have to say to whoever runs this process (`ctx.logger`), and where they failed. */
  readonly logger?: Logger;
};

type Send = (type: string, payload: JsonObject) => void;

/** One connection. */
export type ProgramLink = {
  receive(type: string, payload: JsonObject): void;
  /** It is gone; what was not confirmed waits for the next. */
  lost(): void;
};

export type LinkEvents = {
  readonly onWelcome: () => void;
  readonly onRefused: (code: RefusedCode, message: string) => void;
};

/** Something that was said and not confirmed, or asked and not answered. */
type Item = {
  readonly run: Run;
  /** Grows with each. */
  readonly order: number;
  readonly type: string;
  readonly payload: JsonObject;
  readonly bytes: number;
  /** Absent: a question that is no event. */
  readonly workerSequence?: number;
  isSent: boolean;
  isKept: boolean;
  readonly settle: (error?: WorkError) => void;
};

type Pending = {
  readonly item: Item;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: WorkError) => void;
};

/** A job that this process has, from when it comes until its last word is confirmed. */
type Run = {
  readonly held: Held;
  credentials: readonly HeldCredential[];
  /** What was left when it came, less what it has said that it spent. */
  readonly budget: Map<string, Decimal>;
  readonly controller: AbortController;
  /** What is not confirmed, oldest first. */
  readonly said: Item[];
  saidBytes: number;
  lastSequence: number;
  /** The agent's own, if it has one. */
  limit: TimeLimit | undefined;
  /** Its last word was said. */
  isEnding: boolean;
  isOver: boolean;
};

export class WorkerProgram {
  readonly workerId: string;
  readonly #options: WorkerProgramOptions;
  readonly #clock: Clock;
  readonly #agents: ReadonlyMap<string, WorkerAgent>;
  readonly #runs = new Map<string, Run>();
  readonly #questions = new Map<string, Pending>();
  /** Not sent on this connection yet. */
  #unsent: Item[] = [];
  #unsentBytes = 0;
  #lastOrder = 0;
  #connections = 0;
  #inFlight = 0;
  #inFlightMax = 1;
  #send: Send | undefined;
  #isWelcome = false;
  #isLeaving = false;
  #whenIdle: (() => void)[] = [];

  constructor(options: WorkerProgramOptions, clock: Clock = new SteadyClock()) {
    for (const { name, timeoutMs } of options.offers) requireTimeout(name, timeoutMs);
    this.workerId = options.workerId ?? `wrk_${randomUUID()}`;
    this.#options = options;
    this.#clock = clock;
    this.#agents = new Map(options.offers.map((agent) => [fullName(agent), agent]));
  }

  /** How many jobs it has. */
  get size(): number {
    return this.#runs.size;
  }

  /** A new connection, in place of the one before. */
  connect(send: Send, { onWelcome, onRefused }: LinkEvents): ProgramLink {
    this.#send = send;
    this.#isWelcome = false;
    this.#connections += 1;
    const { offers, jobsAtOnce = wireLimits.jobsAtOnce } = this.#options;
    this.#say({
      type: "offer",
      workerId: this.workerId,
      offers: offers.map(
        ({ name, version, isIdempotent = false, mayRequestScope = false }): WorkerOffer => ({
          name,
          version,
          isIdempotent,
          mayRequestScope,
        }),
      ),
      jobsAtOnce,
      has: [...this.#runs.values()].map(({ held }) => held),
      frameBytesMax: wireLimits.frameBytesMax,
      connection: this.#connections,
    });
    return {
      receive: (type, payload) => {
        // From a connection that has been replaced, nothing is heard.
        if (this.#send !== send) return;
        const { value: said } = readToWorker(type, payload);
        // What a newer runtime says is passed over.
        if (!said) return;
        if (said.type === "refused") {
          this.#send = undefined;
          return onRefused(said.code, said.message);
        }
        this.#hear(said);
        if (said.type === "welcome") onWelcome();
      },
      lost: () => {
        if (this.#send !== send) return;
        this.#send = undefined;
        this.#isWelcome = false;
      },
    };
  }

  /** Asks for no more jobs; resolves when those that it has are over. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    if (this.#isWelcome) this.#say({ type: "leave" });
    if (this.#runs.size === 0) return;
    await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  /** Its handlers are told to stop, and nothing of what they say is sent. */
  abandon(reason: unknown): void {
    this.#send = undefined;
    for (const run of [...this.#runs.values()]) this.#end(run, reason);
  }

  #hear(said: Exclude<ToWorker, { readonly type: "refused" }>): void {
    switch (said.type) {
      case "welcome":
        return this.#resume(said);
      case "job":
        return this.#take(said);
      case "answer": {
        const question = this.#questions.get(said.requestId);
        this.#questions.delete(said.requestId);
        if (said.error) question?.reject(errorOf(said.error));
        else question?.resolve(said.value);
        return;
      }
      default: {
        const run = this.#runs.get(said.jobId);
        if (run?.held.attempt === said.attempt) this.#hearOf(run, said);
      }
    }
  }

  #hearOf(
    run: Run,
    said: ToWorker & { readonly type: "ack" | "invalid" | "cancel" | "drop" },
  ): void {
    switch (said.type) {
      case "ack":
        this.#confirm(run, said.workerSequence);
        return this.#pump();
      case "invalid": {
        const at = run.said.findIndex((item) => item.workerSequence === said.workerSequence);
        const [item] = at < 0 ? [] : run.said.splice(at, 1);
        if (item) this.#settle(item, errorOf(said.error));
        return this.#pump();
      }
      case "cancel":
        run.controller.abort(new DOMException(said.reason || "cancelled", "AbortError"));
        return;
      case "drop":
        this.#end(run, ended);
        this.#pump();
    }
  }

  /** Goes on where the runtime says that it stands. */
  #resume({ jobs, unacknowledgedMax }: ToWorker & { readonly type: "welcome" }): void {
    this.#isWelcome = true;
    this.#inFlightMax = unacknowledgedMax;
    const verdicts = new Map(jobs.map((verdict) => [verdict.jobId, verdict]));
    for (const run of [...this.#runs.values()]) {
      const verdict = verdicts.get(run.held.jobId);
      if (verdict?.verdict === "continue") this.#confirm(run, verdict.workerSequence);
      else this.#end(run, new DOMException("the job is another worker's", "AbortError"));
    }
    const waiting = new Set<Item>();
    for (const run of this.#runs.values()) for (const item of run.said) waiting.add(item);
    for (const { item } of this.#questions.values()) waiting.add(item);
    for (const item of waiting) item.isSent = false;
    // In the order in which they were said: a question may be about what was said before.
    this.#unsent = [...waiting].sort((one, other) => one.order - other.order);
    this.#unsentBytes = this.#unsent.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#inFlight = 0;
    if (this.#isLeaving) this.#say({ type: "leave" });
    this.#pump();
  }

  #take(frame: JobFrame): void {
    const { jobId, attempt } = frame;
    const before = this.#runs.get(jobId);
    if (before?.held.attempt === attempt) return;
    if (before) this.#end(before, new DOMException("it was started anew", "AbortError"));
    const run: Run = {
      held: { jobId, attempt },
      credentials: (frame.credentials ?? []).map(holdCredential),
      budget: new Map(
        Object.entries(frame.budget).flatMap(([currency, left]) => {
          const rest = decimalOf(left);
          return rest ? [[currency, rest] as const] : [];
        }),
      ),
      controller: new AbortController(),
      said: [],
      saidBytes: 0,
      lastSequence: 0,
      limit: undefined,
      isEnding: false,
      isOver: false,
    };
    this.#runs.set(jobId, run);
    this.#say({ type: "taken", ...run.held });
    const agent = this.#agents.get(frame.agent);
    const limit = this.#limit(run, agent);
    run.limit = limit;
    const surroundings = this.#surroundingsOf(run, frame, agent);
    const context = new JobContext({
      job: jobOf(frame, this.workerId),
      attempt: this.#voiceOf(run),
      signal: run.controller.signal,
      surroundings: limit ? pausing(limit, surroundings) : surroundings,
    });
    const handler = agent?.handler ?? unknownAgent;
    const onError = (error: unknown): void =>
      context.logger.error(`agent ${frame.agent} failed in ${jobId}`, { error });
    void execute(handler, JSON.stringify(frame.input), context, onError).then((outcome) =>
      this.#finish(run, limit?.outcome ?? outcome),
    );
  }

  #limit(run: Run, agent: WorkerAgent | undefined): TimeLimit | undefined {
    if (agent?.timeoutMs === undefined) return undefined;
    return new TimeLimit({
      ms: agent.timeoutMs,
      clock: this.#clock,
      abort: (reason) => run.controller.abort(reason),
      end: (outcome) => this.#finish(run, outcome),
    });
  }

  #surroundingsOf(run: Run, frame: JobFrame, agent: WorkerAgent | undefined): Surroundings {
    return {
      logger: this.#options.logger,
      newId: (kind) => `${kind}_${randomUUID()}`,
      delegate: (_, wanted) => this.#delegate(run, wanted),
      askPerson: (_, wish, signals) => this.#askPerson(run, wish, signals),
      mayRequestScope: agent?.mayRequestScope,
      credentialsOf: () => run.credentials,
      budgetOf: () =>
        Object.fromEntries([...run.budget].map(([currency, rest]) => [currency, restOf(rest)])),
      chunkOf: () => frame.chunk,
      rotate: (_, credentialId, value, options) =>
        this.#rotate(run, { credentialId, value, ...options }),
    };
  }

  #voiceOf(run: Run): Voice {
    const reserve = async (
      type: "reserve" | "settle",
      reservationId: string,
      amounts: readonly Amount[],
    ): Promise<undefined> => {
      await this.#ask(run, { type, reservationId, amounts: amounts.map(printAmount) });
    };
    const { jobId, attempt } = run.held;
    return {
      jobId: toJobId(jobId),
      attempt,
      emit: (kind, body) => this.#emit(run, kind, body),
      authorise: async (operation) =>
        String(await this.#ask(run, { type: "authorize", ...operation })),
      reserve: (id, amounts) => reserve("reserve", id, amounts),
      spend: (amounts, { reservationId } = {}) => this.#spend(run, amounts, reservationId),
      settle: async (id, actual) => {
        await reserve("settle", id, actual);
        for (const amount of actual) spend(run, amount);
        return undefined;
      },
    };
  }

  /** Resolves at once while little of what it said waits to be kept, and else when this is. */
  async #emit(run: Run, kind: string, body: unknown): Promise<void> {
    // As it is now: the handler may change it while it waits.
    const { body: text, spent } = readWord(kind, body);
    if (run.isOver) return;
    const bytes = Buffer.byteLength(text);
    this.#checkRoom(bytes);
    if (spent) spend(run, spent);
    const { promise: kept, resolve, reject } = Promise.withResolvers<void>();
    const settle = (error?: WorkError): void => (error ? reject(error) : resolve());
    const said = { type: "event", kind, body: JSON.parse(text) } as const;
    this.#number(run, said, { bytes, settle });
    const { wordsAheadMax, bytesAheadMax } = wordLimits;
    const isLittle = run.said.length < wordsAheadMax && run.saidBytes < bytesAheadMax;
    // What a runtime that knows other kinds makes of it is nothing that it can help.
    if (isLittle) kept.catch(() => undefined);
    else await kept;
  }

  /** When the runtime has dropped the job, it is said once and not confirmed. */
  #spend(run: Run, amounts: readonly Amount[], reservationId: string | undefined): undefined {
    const said = { type: "spend", reservationId, amounts: amounts.map(printAmount) } as const;
    const bytes = printedBytes(said);
    this.#checkRoom(bytes);
    for (const amount of amounts) spend(run, amount);
    if (!run.isOver) this.#number(run, said, { bytes });
    else this.#say({ ...run.held, workerSequence: run.lastSequence + 1, ...said });
  }

  #finish(run: Run, outcome: Outcome): void {
    // A handler may return after its time was up, and the job has ended for that reason.
    if (run.isOver || run.isEnding) return;
    run.isEnding = true;
    run.limit?.[Symbol.dispose]();
    const settle = (): void => this.#end(run, ended);
    const told = tellable(outcome);
    if (told.status === "success") {
      const { result, streamed, summary } = told;
      const value = result === undefined ? undefined : { result: JSON.parse(result) };
      const bytes = Buffer.byteLength(result ?? "");
      this.#number(run, { type: "result", value, streamed, summary }, { bytes, settle });
      return;
    }
    const { code, message, isRetryable, details } = told.failure;
    const more = details === undefined ? {} : { details: JSON.parse(details) };
    const error = { code, message, retryable: isRetryable, ...more };
    const status = told.status === "timed_out" ? told.status : "error";
    this.#number(run, { type: "error", status, error }, { bytes: 0, settle });
  }

  async #ask(run: Run, asked: Question): Promise<unknown> {
    if (run.isOver) throw over(run);
    const requestId = randomUUID();
    const bytes = printedBytes(asked);
    checkSize(bytes);
    const item = this.#itemOf(run, { ...run.held, requestId, ...asked }, { bytes });
    const answered = this.#answerTo(requestId, item);
    this.#queue(item);
    return await answered;
  }

  /**
   * Asks a person through the runtime. On each new connection the worker asks again under the same key, until it has the
   * answer. A question that was withdrawn is waited for too: the job goes on when the runtime has a slot for it.
   */
  async #askPerson(run: Run, wish: Wish, { signal, given }: Signals): Promise<Answered> {
    signal.throwIfAborted();
    given?.throwIfAborted();
    const asked = askedOf(wish);
    this.#checkRoom(printedBytes(asked));
    const answered = this.#ask(run, asked);
    const withdraw = (): void => {
      // A question that is closed by then need not be withdrawn.
      this.#ask(run, { type: "withdraw", key: wish.key }).catch(() => undefined);
    };
    given?.addEventListener("abort", withdraw, { once: true });
    try {
      const value = await answered;
      given?.throwIfAborted();
      return answeredOf(value);
    } catch (error) {
      // The runtime answers with an error at once when the job is cancelled. The reason is the worker's own signal.
      signal.throwIfAborted();
      given?.throwIfAborted();
      throw error;
    } finally {
      given?.removeEventListener("abort", withdraw);
    }
  }

  /** An event and a question in one. */
  async #delegate(run: Run, wanted: DelegateOptions): Promise<Delegated> {
    const { agent, input = null, capabilities, expiresAt } = wanted;
    const delegateId = wanted.delegateId ?? `delegate_${randomUUID()}`;
    const text = printBody(input);
    if (run.isOver) throw over(run);
    const bytes = Buffer.byteLength(text) + printedBytes({ ...wanted, input: null });
    this.#checkRoom(bytes);
    const requestId = randomUUID();
    const said = {
      type: "delegate",
      requestId,
      delegateId,
      agent,
      input: JSON.parse(text),
      leaseRequest: capabilities,
      expiresAt,
    } as const;
    const item = this.#number(run, said, { bytes });
    const answer = await this.#answerTo(requestId, item);
    const childId = String(isObject(answer) ? answer["child_job_id"] : "");
    const done = this.#ask(run, { type: "await", childId });
    done.catch(() => undefined);
    const cancel = async (reason?: string): Promise<void> => {
      await this.#ask(run, { type: "cancel_child", childId, reason });
    };
    return { jobId: childId, done, cancel };
  }

  async #rotate(
    run: Run,
    newer: { readonly credentialId: string; readonly value: string; readonly handle?: string },
  ): Promise<void> {
    await this.#ask(run, { type: "rotate", ...newer });
    run.credentials = run.credentials.map((held) =>
      held.id === newer.credentialId ? held.with(newer.value) : held,
    );
  }

  #answerTo(requestId: string, item: Item): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#questions.set(requestId, { item, resolve, reject });
    return promise;
  }

  /** Who waits for its words to be kept never comes here. */
  #checkRoom(bytes: number): void {
    checkSize(bytes);
    const { unsentMax, unsentBytesMax } = limits;
    if (this.#unsent.length < unsentMax && this.#unsentBytes + bytes <= unsentBytesMax) return;
    const message = "too much was said that is not kept yet; wait for some of it to be";
    throw new WorkError("limit_reached", message);
  }

  #number(run: Run, said: Said, more: Pick<Item, "bytes"> & Partial<Pick<Item, "settle">>): Item {
    run.lastSequence += 1;
    const workerSequence = run.lastSequence;
    const item = this.#itemOf(
      run,
      { ...run.held, workerSequence, ...said },
      { workerSequence, ...more },
    );
    run.said.push(item);
    run.saidBytes += item.bytes;
    this.#queue(item);
    return item;
  }

  #itemOf(
    run: Run,
    said: FromWorker,
    more: Pick<Item, "bytes"> & Partial<Pick<Item, "workerSequence" | "settle">>,
  ): Item {
    this.#lastOrder += 1;
    const order = this.#lastOrder;
    const type = prefix + said.type;
    const payload = printFromWorker(said);
    return { run, order, type, payload, settle: () => {}, isSent: false, isKept: false, ...more };
  }

  #queue(item: Item): void {
    this.#unsent.push(item);
    this.#unsentBytes += item.bytes;
    this.#pump();
  }

  /** Sends what may be sent: of what has a number, only so much at a time. */
  #pump(): void {
    for (;;) {
      const [item] = this.#unsent;
      const send = this.#isWelcome ? this.#send : undefined;
      if (!item || !send) return;
      const isCounted = item.workerSequence !== undefined && !item.isKept;
      if (isCounted && this.#inFlight >= this.#inFlightMax) return;
      this.#unsent.shift();
      this.#unsentBytes -= item.bytes;
      if (item.run.isOver) continue;
      item.isSent = true;
      if (isCounted) this.#inFlight += 1;
      send(item.type, item.payload);
    }
  }

  #confirm(run: Run, workerSequence: number): void {
    for (;;) {
      const [item] = run.said;
      if (item?.workerSequence === undefined || item.workerSequence > workerSequence) return;
      run.said.shift();
      this.#settle(item);
    }
  }

  #settle(item: Item, error?: WorkError): void {
    item.run.saidBytes -= item.bytes;
    if (item.isSent && !item.isKept) this.#inFlight -= 1;
    item.isKept = true;
    item.settle(error);
  }

  /** Nobody wants anything of it any more. */
  #end(run: Run, reason: unknown): void {
    if (run.isOver) return;
    run.isOver = true;
    run.limit?.[Symbol.dispose]();
    this.#runs.delete(run.held.jobId);
    run.controller.abort(reason);
    for (const item of run.said.splice(0)) this.#settle(item);
    for (const [requestId, { item, reject }] of this.#questions) {
      if (item.run !== run) continue;
      this.#questions.delete(requestId);
      reject(over(run));
    }
    if (this.#runs.size === 0) for (const tell of this.#whenIdle.splice(0)) tell();
  }

  #say(said: FromWorker): void {
    this.#send?.(prefix + said.type, printFromWorker(said));
  }
}

/** What is numbered, and what is only asked, before it is told whose it is. */
type Said = Bare<Extract<FromWorker, { readonly workerSequence: number }>, "workerSequence">;
type Question = Bare<Exclude<Asked, { readonly type: "delegate" }>, "requestId">;
type Bare<Whole, Name extends string> = Whole extends unknown
  ? Omit<Whole, keyof Held | Name>
  : never;

function askedOf({ key, prompt, expects, timeoutMs }: Wish): Bare<PersonAsked, "requestId"> {
  const timeoutSeconds = timeoutMs / 1_000;
  if (expects.of === "scope") {
    const { read: readPatterns, writePrefix, mode, ttlMs } = expects.scope;
    const ttlSeconds = ttlMs / 1_000;
    const scope = { readPatterns, writePrefix, mode, ttlSeconds };
    return { type: "request_scope", key, reason: prompt, ...scope, timeoutSeconds };
  }
  return {
    type: "ask",
    key,
    prompt,
    ...(expects.of === "choice" && { choices: expects.choices }),
    ...(expects.of === "json" && { schema: JSON.parse(expects.schema) }),
    timeoutSeconds,
  };
}

function answeredOf(value: unknown): Answered {
  const { value: said, problem } = readPersonAnswered(value);
  if (problem) throw new WorkError("internal_error", problem.message);
  const { questionId, answer, answeredAtMs: atMs } = said;
  return { id: toQuestionId(questionId), answer: JSON.stringify(answer), atMs };
}

type ToldError = NonNullable<(ToWorker & { readonly type: "answer" })["error"]>;

/** The handler's context translates it to ARCP's codes, as it does for agents in the runtime's process. */
function errorOf({ code, message, ...detail }: ToldError): WorkError {
  return codedError(code, message, detail);
}

const ended = new DOMException("the job has ended", "AbortError");

function printedBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}

/** A message that no connection can carry must not be queued: it would be sent again on every new one. */
function checkSize(bytes: number): void {
  const bytesMax = wireLimits.frameBytesMax - wireLimits.frameHeadBytes;
  if (bytes <= bytesMax) return;
  throw new WorkError(
    "invalid_argument",
    `the message is larger than the limit of ${bytesMax} bytes`,
  );
}

function over({ held }: Run): WorkError {
  return new WorkError("attempt_over", `job ${held.jobId} has ended, or is another worker's`);
}

const unknownAgent: Handler = (_, { agentRef }) => {
  throw new WorkError("skill_not_found", `this worker does not offer ${agentRef}`);
};

function holdCredential({ id, value, endpoint, profile, constraints }: Credential): HeldCredential {
  return new HeldCredential(id, {
    value,
    endpoint,
    ...(profile !== undefined && { profile }),
    ...(constraints && { constraints }),
  });
}

function spend({ budget }: Run, { currency, value }: Amount): void {
  const rest = budget.get(currency);
  if (rest) budget.set(currency, subtract(rest, value));
}

/** As a context wants it. What only the runtime knows is left as it would be at the start. */
function jobOf(frame: JobFrame, workerId: string): Job {
  const { jobId, attempt, agent, principal, sessionId, parentId, lease, expiresAt } = frame;
  const { contextId, traceId, trace } = frame;
  return {
    id: toJobId(jobId),
    agent,
    principal,
    sessionIds: sessionId === undefined ? [] : [toSessionId(sessionId)],
    ...(contextId !== undefined && { contextId }),
    traceId,
    ...(trace && { trace }),
    ...(parentId !== undefined && { parentId: toJobId(parentId) }),
    depth: 0,
    grant: { capabilities: lease, ...(expiresAt !== undefined && { expiresAt }) },
    isRepeatable: false,
    createdAtMs: 0,
    place: 0,
    attempt,
    state: "running",
    worker: { id: workerId, isRemote: true },
    startedAtMs: 0,
  };
}
