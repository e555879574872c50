/**
 * Who does the work. Jobs come in, wait for a worker that offers their agent, and are started there; what becomes
 * of them is in the log, and is heard from there like by everyone else.
 */
import {
  type Credential,
  type Event,
  type Failure,
  findAsked,
  type Job,
  type JobId,
  type Outcome as JobOutcome,
  listStuck,
  type Refusal,
  type Rules,
  remaining,
  type SessionId,
  jobId as toJobId,
} from "../core/index.ts";
import { type Clock, type Outcome, type Plane, SteadyClock } from "../plane/index.ts";
import type { JsonObject, TraceHeaders } from "../wire/work/index.ts";
import { type Answered, Asking } from "./asking.ts";
import { Attempt, over } from "./attempt.ts";
import { Catalogue, fullName, type Offer } from "./catalogue.ts";
import { type BudgetRest, type DelegateOptions, RunContext, restOf } from "./context.ts";
import {
  type HeldCredential,
  type Provisioner,
  Provisioning,
  type Rotation,
} from "./credentials.ts";
import { Delegation } from "./delegation.ts";
import { Endings } from "./endings.ts";
import { toWorkError, WorkError } from "./errors.ts";
import { Followers } from "./followers.ts";
import { type ContextOf, type Handler, InProcessWorker } from "./in-process.ts";
import { limits } from "./limits.ts";
import { Line, type Turn } from "./line.ts";
import { type Logger, withFields } from "./logger.ts";
import { requireTimeout } from "./time-limit.ts";
import { traceIdOf } from "./trace.ts";
import type { Work, Worker } from "./worker.ts";

export type RuntimeOptions = {
  readonly plane: Plane;
  /** Ids that nobody had before. */
  readonly newId: (kind: IdKind) => string;
  readonly rules?: Rules;
  /** Unfinished jobs that one principal may have; 50,000 by default. */
  readonly jobsOfPrincipalMax?: number | undefined;
  /** Of all pieces of one result, decoded. */
  readonly resultBytesMax?: number | undefined;
  /** Whether what was thrown says that somebody else's limit for spending is reached. */
  readonly isSpendLimit?: ((error: unknown) => boolean) | undefined;
  /** Told in words of what whoever runs this process may want to know. */
  readonly logger?: Logger | undefined;
  /** Told what an agent of this process threw that is no error of the protocol. */
  readonly onAgentError?: ((error: unknown, job: Job) => void) | undefined;
  readonly around?: Around;
  readonly onFault: (fault: unknown) => void;
  /** Makes credentials for jobs that need some. Without it, no job has any. */
  readonly provisioner?: Provisioner;
  /** For the time limits of agents, of credentials, and between tries to revoke those. */
  readonly clock?: Clock;
  /** Told of each credential that several tries could not revoke. It is tried on. */
  readonly onRevocationFailure?: (credential: Credential) => void;
  /** Told why a job got no credentials. Whoever asked for it is not told that. */
  readonly onIssueFailure?: (failure: { readonly jobId: JobId; readonly error: unknown }) => void;
};

/**
 * Something that every attempt of a job is run inside of: a span of a trace, say. It calls `run`, which resolves when
 * the attempt is over, however that came about. Given what says where in a trace whoever asks just then is, what the
 * job asks others for is asked for from there.
 */
export type Around = (
  job: Job & { readonly traceId: string },
  run: (trace?: () => TraceHeaders) => Promise<AttemptOutcome>,
) => unknown;

/** How the job ended, or `lost` if it goes on without this attempt. */
export type AttemptOutcome = JobOutcome | { readonly status: "lost"; readonly failure: Failure };

export type IdKind =
  | "job"
  | "result"
  | "call"
  | "delegate"
  | "reservation"
  | "credential"
  | "question"
  | "scope_request";

export type AgentOptions = {
  readonly version?: string;
  /** Whether a job may be run again when its worker was lost in the middle of it. */
  readonly isIdempotent?: boolean;
  /** How many of its jobs run at a time; those that wait for a person do not count. */
  readonly jobsAtOnce?: number;
  /** Whether its jobs may ask people for more access than they have (`ctx.requestScope`); false by default. */
  readonly mayRequestScope?: boolean;
  /**
   * The maximum running time of one attempt, in milliseconds; there is no limit by default. Time that the job spends
   * waiting for a person does not count. When the time is up, `ctx.signal` aborts, and the job ends as `timed_out`.
   */
  readonly timeoutMs?: number;
};

/** What somebody asks for. */
export type JobRequest = {
  /** Made up if absent. */
  readonly jobId?: JobId;
  readonly agent: string;
  /** JSON. */
  readonly input: string;
  readonly principal: string;
  /** The session that follows it from the start. */
  readonly sessionId?: SessionId;
  /** Unique within the session. */
  readonly requestId?: string;
  /** Groups the jobs of one conversation. */
  readonly contextId?: string;
  readonly traceId?: string;
  /** Where in a trace it was asked for, if that was told. */
  readonly trace?: TraceHeaders;
  readonly capabilities?: unknown;
  readonly expiresAt?: string;
  /** How long it may take, from now: waiting for a worker counts. */
  readonly runMsMax?: number;
  readonly key?: { readonly text: string; readonly fingerprint: string };
  readonly parentId?: JobId;
  readonly delegateId?: string;
  /** Whether whoever asks can make use of credentials. See `Runtime.submit`. */
  readonly needsCredentials?: boolean;
};

export type Submitted = {
  readonly job: Job;
  /** Whether it was asked for before. */
  readonly isRepeated: boolean;
  /** Where in the log that stands: all that is told of the job comes after it. */
  readonly sequence: number;
};

export class Runtime implements Disposable {
  readonly catalogue: Catalogue = new Catalogue();
  readonly delegation: Delegation;
  /** Listeners for what jobs emit, which doors add. */
  readonly followers: Followers = new Followers();
  readonly plane: Plane;
  readonly logger: Logger;
  readonly #options: RuntimeOptions;
  readonly #clock: Clock;
  readonly #line = new Line();
  readonly #endings: Endings;
  readonly #asking: Asking;
  /** Of jobs that run, as far as whoever runs them is here. */
  readonly #attempts = new Map<JobId, Attempt>();
  /** How to tell what their attempts are run inside of. */
  readonly #surrounded = new Map<JobId, (outcome: AttemptOutcome) => void>();
  readonly #tap: Disposable;
  #isClosing = false;
  readonly #provisioning: Provisioning | undefined;
  /** Those whose credentials are being made. */
  readonly #preparations = new Map<JobId, Promise<Outcome<Submitted>>>();

  constructor(options: RuntimeOptions) {
    this.#options = options;
    this.plane = options.plane;
    this.logger = withFields(options.logger, {});
    this.#endings = new Endings(options.plane);
    this.#clock = options.clock ?? new SteadyClock();
    this.#provisioning = provisioningOf(options, this.#clock, this.logger);
    this.delegation = new Delegation({
      plane: options.plane,
      newId: options.newId,
      catalogue: this.catalogue,
      endings: this.#endings,
      current: (attempt) => this.#current(attempt),
      submit: (request) => this.submit(request),
      preparationOf: (jobId) => this.#preparations.get(jobId),
    });
    this.#asking = new Asking({
      plane: options.plane,
      newId: options.newId,
      current: (attempt) => this.#current(attempt),
      pause: (jobId) => this.#pause(jobId),
      resume: (jobId, how) => this.#line.resume(jobId, how),
    });
    const pending = options.plane.peek(({ jobs }) =>
      [...jobs.pending].flatMap((id) => jobs.byId.get(id) ?? []),
    );
    const oldestFirst = pending.toSorted((one, other) => one.place - other.place);
    for (const job of oldestFirst) this.#line.join(job);
    this.#tap = options.plane.tap((entries) => {
      for (const { event } of entries) this.#hear(event);
    });
  }

  /** Until what it answers is disposed. */
  registerAgent(name: string, handler: Handler, options: AgentOptions = {}): Disposable {
    return this.registerAgentWith((parts) => new RunContext(parts), name, handler, options);
  }

  /** The same with a context of a protocol's own. */
  registerAgentWith<Context extends RunContext>(
    contextOf: ContextOf<Context>,
    name: string,
    handler: Handler<Context>,
    options: AgentOptions = {},
  ): Disposable {
    const { version, isIdempotent = false, mayRequestScope = false } = options;
    const { jobsAtOnce, timeoutMs } = options;
    requireTimeout(name, timeoutMs);
    const offer: Offer = {
      name,
      ...(version !== undefined && { version }),
      isRepeatable: isIdempotent,
    };
    const {
      newId,
      rules = {},
      resultBytesMax,
      isSpendLimit,
      onAgentError,
      onFault,
    } = this.#options;
    const surroundings = {
      newId,
      workingDirectory: rules.workingDirectory,
      chunkOf: (job: Job) => this.followers.chunkOf(job),
      resultBytesMax,
      isSpendLimit: guarded(onFault, isSpendLimit, false),
      logger: this.#options.logger,
      onAgentError: guarded(onFault, onAgentError, undefined),
      budgetOf: (jobId: JobId) => this.budgetOf(jobId),
      delegate: (parent: Job, wanted: DelegateOptions, trace?: TraceHeaders) =>
        this.delegation.delegate(parent, wanted, trace),
      askPerson: (...asked: Parameters<Asking["ask"]>) => this.askPerson(...asked),
      mayRequestScope,
      credentialsOf: (jobId: JobId) => this.credentialsOf(jobId),
      rotate: (...rotation: Parameters<Runtime["rotateCredential"]>) =>
        this.rotateCredential(...rotation),
    };
    const clock = this.#clock;
    const parts = { surroundings, contextOf, clock, jobsAtOnce, timeoutMs };
    return this.addWorker(new InProcessWorker(offer, handler, parts));
  }

  /** Until what it answers is disposed. `has`: jobs that it was started on by an earlier process of ours. */
  addWorker(worker: Worker, has: readonly JobId[] = []): Disposable {
    using offers = new DisposableStack();
    for (const offer of worker.offers) offers.use(this.catalogue.add(offer));
    offers.use(this.#line.addWorker(worker, has));
    const all = offers.move();
    this.giveWork(worker);
    return all;
  }

  /** Starts what waits for a worker like this. To be called when one has room that had none. */
  giveWork({ offers }: Worker): void {
    for (const offer of offers) this.#assign(fullName(offer));
  }

  /**
   * Resolves when it is kept. It may be running by then. Where it needs credentials those are made first, and a job
   * that cannot have them is refused as if it had never been asked for. Where the same was asked for before and is
   * not answered yet, it waits for that answer (ARCP-98). `onDecided` is called with the answer before it is kept:
   * see `Plane.carryOut`.
   */
  async submit(
    request: JobRequest,
    options: {
      readonly withinMs?: number;
      readonly onDecided?: (outcome: Outcome<Submitted>) => void;
    } = {},
  ): Promise<Outcome<Submitted>> {
    const { withinMs = limits.issueWithinMs, onDecided } = options;
    const decided = async (outcome: Outcome<Submitted>): Promise<Outcome<Submitted>> => {
      onDecided?.(outcome);
      await this.plane.read(() => undefined);
      return outcome;
    };
    const provisioning = request.needsCredentials ? this.#provisioning : undefined;
    const asked = this.#ask(request, { needsPreparing: provisioning !== undefined });
    if (asked.refusal || asked.value.job.state !== "preparing") return await decided(asked);
    const { job, isRepeated } = asked.value;
    if (isRepeated || !provisioning) {
      const first = await this.#preparations.get(job.id);
      if (first?.value) return await this.submit(request, options);
      return await decided(first ?? { refusal: vanished });
    }
    const preparation = provisioning
      .issue(job, { withinMs })
      .then((issued) => decided(this.#accept(provisioning.conclude(job.id, issued))));
    this.#preparations.set(job.id, preparation);
    return await preparation.finally(() => this.#preparations.delete(job.id));
  }

  #accept(
    concluded: Outcome<{ readonly job: Job; readonly sequence: number } | undefined>,
  ): Outcome<Submitted> {
    if (!concluded.value) return { refusal: notIssued };
    const { job, sequence } = concluded.value;
    this.#enlist(job);
    return { value: { job, sequence, isRepeated: false } };
  }

  /** Whether jobs can have credentials. */
  get hasProvisioner(): boolean {
    return this.#provisioning !== undefined;
  }

  /** Those that a job has, with their values, while it runs. For whoever asked for it, and for nobody else. */
  credentialsOf(jobId: JobId): readonly HeldCredential[] {
    return this.#provisioning?.of(jobId) ?? [];
  }

  /** What is left to a job, by currency. */
  budgetOf(jobId: JobId): Readonly<Record<string, BudgetRest>> {
    const budget = this.plane.peek(({ jobs }) => jobs.budgets.get(jobId) ?? []);
    return Object.fromEntries(
      budget.map((counter) => [counter.currency, restOf(remaining(counter))] as const),
    );
  }

  /** Those that could not be revoked yet, though they were tried several times. */
  unrevoked(): Promise<readonly Credential[]> {
    return this.plane.read(({ credentials }) => listStuck(credentials));
  }

  /** A newer value for one that a job has; `handle` is what the provisioner will know it by, if that is new too. */
  async rotateCredential(
    attempt: Pick<Attempt, "jobId" | "attempt">,
    credentialId: string,
    value: string,
    options: { readonly handle?: string } = {},
  ): Promise<void> {
    this.#current(attempt);
    if (!this.#provisioning) throw new WorkError("invalid_argument", "this job has no credentials");
    await this.#provisioning.rotate(attempt, credentialId, value, options);
  }

  /** Asks a person on behalf of a job, and waits for the answer: see `Asking.ask`. */
  askPerson(...asked: Parameters<Asking["ask"]>): Promise<Answered> {
    return this.#asking.ask(...asked);
  }

  /** Told of each newer value before its entry is kept: see `Rotation`. */
  onRotation(listener: (rotation: Rotation) => void): Disposable {
    return this.#provisioning?.onRotation(listener) ?? { [Symbol.dispose]: () => undefined };
  }

  /**
   * As `submit`, but answers before it is kept: see `Plane.carryOut`. Without credentials; a job that is `preparing`
   * was asked for before, and `submit` waits for it.
   */
  ask(request: JobRequest): Outcome<Submitted> {
    return this.#ask(request, { needsPreparing: false });
  }

  #ask(
    { agent: reference, ...request }: JobRequest,
    { needsPreparing }: { readonly needsPreparing: boolean },
  ): Outcome<Submitted> {
    const resolved = this.catalogue.resolve(reference);
    const command = {
      type: "job.submit",
      jobId: toJobId(this.#options.newId("job")),
      ...request,
      agent: resolved.refusal ? resolved : { name: resolved.agent },
      isRepeatable: !resolved.refusal && resolved.isRepeatable,
      needsPreparing,
      jobsOfPrincipalMax: this.#options.jobsOfPrincipalMax,
    } as const;
    const actor = `principal/${request.principal}`;
    const outcome = this.plane.carryOut(command, { actor }, ({ jobs, lastSequence }, events) => {
      const made = events.find(
        (event) => event.type === "job.accepted" || event.type === "job.preparing",
      );
      const isRepeated = made === undefined;
      const job = made?.job ?? findAsked(jobs, request);
      return job && { job, isRepeated, sequence: lastSequence };
    });
    if (outcome.refusal) return outcome;
    if (!outcome.value) return { refusal: vanished };
    const { job, isRepeated } = outcome.value;
    // Before anything is kept, so that the job and its start are kept in one go.
    if (!isRepeated && !needsPreparing) this.#enlist(job);
    return { value: outcome.value };
  }

  /** Has a running job say something that whoever runs it did not. */
  remark(jobId: JobId, kind: string, body: JsonObject): void {
    const job = this.plane.peek(({ jobs }) => jobs.byId.get(jobId));
    if (job?.state !== "running") return;
    this.attemptOf(job).emit(kind, body).catch(this.#options.onFault);
  }

  /** Resolves when the job ends. */
  ending(jobId: JobId): Promise<JobOutcome> {
    return this.#endings.next(jobId);
  }

  /** The last execution of a job that runs. */
  attemptOf(job: Job): Attempt {
    const { id: jobId, attempt } = job;
    const known = this.#attempts.get(jobId);
    if (known?.attempt === attempt) return known;
    const { plane, rules = {} } = this.#options;
    const pace = (): Promise<void> | undefined => this.followers.paceOf(job);
    const made = new Attempt({ plane, jobId, attempt, rules, pace });
    this.#attempts.set(jobId, made);
    return made;
  }

  /** The same for the current attempt. Throws `attempt_over` if it is over. */
  #current({ jobId, attempt }: Pick<Attempt, "jobId" | "attempt">): Attempt {
    const known = this.#attempts.get(jobId);
    if (known?.attempt === attempt && !known.isClosed) return known;
    throw toWorkError(over(jobId));
  }

  #enlist(job: Job): void {
    this.#line.join(job);
    this.#assign(job.agent);
  }

  /** Starts what waits, as far as there are workers. */
  #assign(agent: string): void {
    if (this.#isClosing) return;
    for (let turn = this.#line.next(agent); turn; turn = this.#line.next(agent)) this.#start(turn);
  }

  /** How many that offer an agent, by its full name, are connected. */
  workersOf(agent: string): number {
    return this.#line.workersOf(agent);
  }

  #start({ jobId, worker }: Turn): void {
    const { id, isRemote } = worker;
    let started: Job | undefined;
    const kept = this.plane.submit(
      { type: "job.start", jobId, worker: { id, isRemote } },
      { actor: `worker/${id}` },
      ({ jobs }) => {
        started = jobs.byId.get(jobId);
        return jobs.inputs.get(jobId);
      },
    );
    if (!started) {
      // It has ended, and nobody has heard of it yet: the room is for the next in line.
      this.#line.release(jobId);
      return;
    }
    const job = started;
    const attempt = this.attemptOf(job);
    void attempt.emit("status", { phase: "running" });
    const begin = ({ value: input }: Outcome<string | undefined>): void => {
      // It may have ended in the meantime.
      if (input !== undefined) this.#run(worker, { job, input, attempt });
    };
    kept.then(begin).catch(this.#options.onFault);
  }

  /** Whatever becomes of what it is run inside of, it is run, and once. */
  #run(worker: Worker, work: Work): void {
    const { around, onFault } = this.#options;
    if (!around || work.attempt.isClosed) return this.#hand(worker, work);
    const { promise: over, resolve } = Promise.withResolvers<AttemptOutcome>();
    this.#surrounded.set(work.job.id, resolve);
    let isHanded = false;
    const run = (trace?: () => TraceHeaders): Promise<AttemptOutcome> => {
      if (!isHanded) this.#hand(worker, trace ? { ...work, trace } : work);
      isHanded = true;
      return over;
    };
    const { job } = work;
    void Promise.try(around, { ...job, traceId: traceIdOf(job) }, run)
      .catch(onFault)
      .then(() => run());
  }

  #hand(worker: Worker, work: Work): void {
    // It may have ended in the meantime.
    if (work.attempt.isClosed) return;
    worker.run(work);
    // That it is to end may have been heard before there was anyone to tell.
    const now = this.plane.peek(({ jobs }) => jobs.byId.get(work.job.id));
    if (now?.state === "running" && now.cancelling) worker.cancel(now.id, now.cancelling.reason);
  }

  /** Its attempt is over. */
  #silence(jobId: JobId, outcome: AttemptOutcome): void {
    this.#attempts.get(jobId)?.close();
    this.#attempts.delete(jobId);
    this.#surrounded.get(jobId)?.(outcome);
    this.#surrounded.delete(jobId);
  }

  #free(jobId: JobId): void {
    const worker = this.#line.release(jobId);
    if (!worker) return;
    worker.drop(jobId);
    this.giveWork(worker);
  }

  /** The job waits for a person, so its worker has room for another job. */
  #pause(jobId: JobId): void {
    const worker = this.#line.workerOf(jobId);
    if (!worker) return;
    this.#line.pause(jobId);
    this.giveWork(worker);
  }

  /** What happens to jobs, by whoever's doing. */
  #hear(event: Event): void {
    switch (event.type) {
      case "job.cancelling":
        this.#line.workerOf(event.jobId)?.cancel(event.jobId, event.reason);
        return;
      case "job.ended": {
        this.#silence(event.jobId, event.outcome);
        this.#noteLoss(event);
        if (this.#line.workerOf(event.jobId)) this.#free(event.jobId);
        else this.#line.leave(event.jobId);
        this.#endings.tell(event.jobId, event.outcome);
        return;
      }
      case "credential.ended":
        this.#provisioning?.hearEnded(event.credential);
        return;
      case "job.offered": {
        this.#silence(event.jobId, lost("its worker was lost; it is run again"));
        this.#noteLoss(event);
        this.#free(event.jobId);
        const job = this.plane.peek(({ jobs }) => jobs.byId.get(event.jobId));
        if (job?.state !== "pending") return;
        if (!this.#hasLostCredentials(job.id)) this.#enlist(job);
        return;
      }
      default:
    }
  }

  #noteLoss(event: Event & { readonly type: "job.ended" | "job.offered" }): void {
    const { jobId } = event;
    if (event.type === "job.offered") {
      this.logger.warn(`${jobId} has lost its worker, and is run again`, { jobId });
    } else if (event.outcome.status === "error" && event.outcome.failure.code === "worker_lost") {
      this.logger.warn(`${jobId} has lost its worker, and has failed`, { jobId });
    }
  }

  /** A job is not run again without what it was accepted with. Only a process before this one knew the values. */
  #hasLostCredentials(jobId: JobId): boolean {
    const isBound = this.plane.peek(({ credentials }) => credentials.byJob.has(jobId));
    if (!isBound || this.credentialsOf(jobId).length > 0) return false;
    const reason = "its credentials were lost when the runtime restarted";
    const wish = { reason, graceMs: 0, isInterruption: true };
    const command = { type: "job.cancel", jobId, ...wish } as const;
    this.plane.carryOut(command, { actor: "runtime" }, () => undefined);
    return true;
  }

  /**
   * Starts nothing more, and ends what runs in this process: what may be repeated is left to whoever opens the log
   * next, the rest is cancelled and has so long to unwind.
   */
  async close({ graceMs }: { readonly graceMs: number }): Promise<void> {
    this.#isClosing = true;
    const endings: Promise<unknown>[] = [];
    for (const { jobId, worker } of this.#line.turns()) {
      if (worker.isRemote) continue;
      const isLeft =
        this.plane.isKept && this.plane.peek(({ jobs }) => jobs.byId.get(jobId)?.isRepeatable);
      if (isLeft) {
        this.#attempts.get(jobId)?.close();
        worker.drop(jobId);
        continue;
      }
      endings.push(this.ending(jobId));
      const command = {
        type: "job.cancel",
        jobId,
        reason: "the runtime shuts down",
        graceMs,
        isInterruption: true,
      } as const;
      this.plane.carryOut(command, { actor: "system" }, () => undefined);
    }
    // The core ends them at the end of their time, whatever they do; unless nobody keeps the time any more.
    const late = new Promise((resolve) =>
      setTimeout(resolve, graceMs + limits.closeSlackMs).unref(),
    );
    if (endings.length > 0) await Promise.race([Promise.all(endings), late]);
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#tap[Symbol.dispose]();
    const left = lost("the runtime shuts down, and the job is not over");
    for (const tell of this.#surrounded.values()) tell(left);
    this.#surrounded.clear();
    this.#provisioning?.[Symbol.dispose]();
  }
}

function provisioningOf(
  options: RuntimeOptions,
  clock: Clock,
  logger: Logger,
): Provisioning | undefined {
  const { plane, newId, provisioner, onFault } = options;
  if (!provisioner) return undefined;
  const onRevocationFailure = guarded(onFault, options.onRevocationFailure, undefined);
  const onIssueFailure = guarded(onFault, options.onIssueFailure, undefined);
  return new Provisioning({
    plane,
    clock,
    newId,
    provisioner,
    onRevocationFailure: (credential) => {
      const { jobId, credentialId, handle } = credential;
      const fields = { jobId, credentialId, ...(handle !== undefined && { handle }) };
      logger.warn(`${credentialId} of ${jobId} could not be revoked; it is tried on`, fields);
      onRevocationFailure(credential);
    },
    onIssueFailure: (failure) => {
      const { jobId } = failure;
      // Why is told to the hook alone: it may have a secret in it.
      logger.warn(`no credentials were issued for ${jobId}, and it is refused`, { jobId });
      onIssueFailure(failure);
    },
  });
}

/** What goes wrong in a hook must not look like what it is told of. One that fails has not answered. */
function guarded<Told extends readonly unknown[], Answer>(
  onFault: (fault: unknown) => void,
  hook: ((...told: Told) => Answer) | undefined,
  otherwise: Answer,
): (...told: Told) => Answer {
  return (...told) => {
    try {
      return hook ? hook(...told) : otherwise;
    } catch (fault) {
      onFault(fault);
      return otherwise;
    }
  };
}

function lost(message: string): AttemptOutcome {
  return { status: "lost", failure: { code: "worker_lost", message, isRetryable: true } };
}

const notIssued: Refusal = {
  code: "unavailable",
  message: "the credentials that this job needs could not be issued",
};

const vanished: Refusal = { code: "unavailable", message: "the job is gone already" };
