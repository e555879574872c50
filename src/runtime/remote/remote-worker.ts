/**
 * A worker in another process, as the runtime sees it: one for each such process, over however many
 * connections. What it says is decided in the order in which it comes and confirmed when it is kept, so that
 * after a connection was lost it says again exactly what was not confirmed. A connection takes the place of the
 * one before it, from which nothing is heard any more.
 */
import {
  type Amount,
  type Job,
  type JobId,
  type Outcome,
  type Refusal,
  remaining,
  jobId as toJobId,
  toNumber,
} from "../../core/index.ts";
import type { Plane } from "../../plane/index.ts";
import {
  decodedBytes,
  isDeeper,
  isObject,
  type JsonObject,
  limits as jsonLimits,
  type TraceHeaders,
  usualChunk,
} from "../../wire/work/index.ts";
import {
  type Asked,
  type Delegation,
  type FromWorker,
  type Held,
  type Introduction,
  type JobFrame,
  type PersonAsked,
  prefix,
  printPersonAnswered,
  printToWorker,
  type RefusedCode,
  type ResultOf,
  type Spending,
  type ToWorker,
  type Verdict,
  limits as wireLimits,
} from "../../wire/worker/index.ts";
import { readAmount } from "../amounts.ts";
import {
  type Answered,
  readAsk,
  readKey,
  readScopeRequest,
  requireMayRequestScope,
  type Wish,
} from "../asking.ts";
import { type Attempt, over } from "../attempt.ts";
import { fullName, type Offer } from "../catalogue.ts";
import type { Delegated } from "../context.ts";
import { failureError, toWorkError, WorkError } from "../errors.ts";
import { limits as resultLimits } from "../limits.ts";
import type { Runtime } from "../runtime.ts";
import { traceIdOf } from "../trace.ts";
import type { Work, Worker } from "../worker.ts";
import { limits } from "./limits.ts";

/** A session that a worker speaks in. */
export type WorkerLink = {
  readonly sessionId: string;
  readonly principal: string;
  /** False if who is at the other end is gone when the link is: a child of ours. */
  readonly canReturn?: boolean;
  /** Queues a frame. */
  send(type: string, payload: JsonObject): void;
};

/** A job that it was started on. */
type RemoteJob = {
  readonly job: Job;
  readonly attempt: Attempt;
  /** The last number that was decided upon. */
  heard: number;
  /** As it is sent, while nobody has said that it arrived. */
  untaken: JsonObject | undefined;
  /** Its last word has come. */
  isEnding: boolean;
  streamedBytes: number;
  /** By the number that each was asked for under: what was asked for again is the same one. */
  readonly delegations: Map<number, Promise<Delegated>>;
  /** Answers of people and ends of children that the job waits for, by the id of the request. */
  readonly waits: Map<string, Promise<unknown>>;
  /** Aborts when the job is cancelled, or is no longer this worker's: then nobody waits for answers. */
  readonly ending: AbortController;
};

export type RemoteWorkerOptions = {
  readonly id: string;
  readonly offers: readonly Offer[];
  readonly jobsAtOnce: number;
  readonly runtime: Runtime;
  readonly graceMs: number;
};

export class RemoteWorker implements Worker {
  readonly id: string;
  readonly isRemote = true;
  readonly offers: readonly Offer[];
  readonly #runtime: Runtime;
  readonly #plane: Plane;
  readonly #graceMs: number;
  readonly jobsAtOnce: number;
  readonly #jobs = new Map<string, RemoteJob>();
  /** Attempts that it was told to drop, by job, the last ones. */
  readonly #dropped = new Map<string, Attempt>();
  #link: WorkerLink | undefined;
  #frameBytesMax: number = wireLimits.frameBytesMax;
  /** The number that the worker gave its last connection; 0 if it does not count them. */
  #connection = 0;
  /** Whether this connection was told where it stands: nothing is sent before that. */
  #isWelcome = false;
  #isLeaving = false;
  /** Said and not kept yet, and asked and not answered yet. */
  #unkept = 0;
  #unanswered = 0;
  /** Answers and ends of children that its jobs wait for, on whichever connection they were asked for. */
  #waits = 0;
  readonly #acks = new Map<RemoteJob, number>();

  constructor({ id, offers, jobsAtOnce, runtime, graceMs }: RemoteWorkerOptions) {
    this.id = id;
    this.offers = offers;
    this.jobsAtOnce = jobsAtOnce;
    this.#runtime = runtime;
    this.#plane = runtime.plane;
    this.#graceMs = graceMs;
  }

  get takesJobs(): boolean {
    return this.#isWelcome && !this.#isLeaving;
  }

  get jobIds(): readonly JobId[] {
    return [...this.#jobs.values()].map(({ job }) => job.id);
  }

  get isAway(): boolean {
    return this.#link === undefined;
  }

  /** It may speak. */
  get isWelcome(): boolean {
    return this.#isWelcome;
  }

  /** Whether the worker made a newer connection, so that the list of jobs on this one is out of date. */
  hasReplaced({ connection = 0 }: Introduction): boolean {
    return connection > 0 && connection < this.#connection;
  }

  isOn(link: WorkerLink): boolean {
    return this.#link === link;
  }

  /** It is there, again or for the first time. `left`: what it had, for all that the log says. */
  attach(
    link: WorkerLink,
    { has, frameBytesMax, connection = 0 }: Introduction,
    left: readonly JobId[] = [],
  ): void {
    this.#connection = connection;
    const message = "this worker has another connection";
    if (this.#link) this.refuse(this.#link, "superseded", message);
    this.#link = link;
    this.#isWelcome = false;
    this.#frameBytesMax = frameBytesMax;
    this.#isLeaving = false;
    this.#unkept = 0;
    this.#unanswered = 0;
    const verdicts = has.map((held) => this.#judge(held));
    this.#lose(has, left);
    // What it is told to drop must have ended for good.
    void this.#plane
      .read(() => undefined)
      .then(() => {
        if (this.#link !== link) return;
        this.#isWelcome = true;
        const { unacknowledgedMax } = limits;
        this.#send({ type: "welcome", jobs: verdicts, unacknowledgedMax, graceMs: this.#graceMs });
        for (const remote of this.#jobs.values()) this.#remind(remote);
        this.#runtime.giveWork(this);
      });
  }

  /** Whether it goes on with something that it has. */
  #judge(held: Held): Verdict {
    const { attempt } = held;
    const jobId = toJobId(held.jobId);
    const before = this.#jobs.get(jobId);
    const isMine = this.#look((jobs) => {
      const job = jobs.byId.get(jobId);
      return job?.state === "running" && job.worker.id === this.id && job.attempt === attempt;
    });
    if (!isMine) return { ...held, verdict: "drop" };
    const command = { type: "job.reclaim", jobId, attempt } as const;
    const { value } = this.#plane.carryOut(command, this.#caller, ({ jobs }) => ({
      job: jobs.byId.get(jobId),
      workerSequence: jobs.tallies.get(jobId)?.workerSequence ?? 0,
    }));
    if (!value?.job) return { ...held, verdict: "drop" };
    const { job, workerSequence } = value;
    const remote = before ?? this.#remember(job, this.#runtime.attemptOf(job));
    // What was said and not kept, because it was no event, is judged again when it is said again.
    remote.heard = workerSequence;
    remote.untaken = undefined;
    return { ...held, verdict: "continue", workerSequence };
  }

  /** What it should have and does not: its process is another one, or it has lost it. It will not come back. */
  #lose(has: readonly Held[], left: readonly JobId[]): void {
    const named = new Set(has.map(({ jobId }) => jobId));
    const taken = [...this.#jobs.values()].filter(({ untaken }) => untaken === undefined);
    const lost = [...taken.map(({ job }) => job), ...left.flatMap((id) => this.#find(id) ?? [])];
    for (const { id: jobId, attempt } of lost) {
      if (!named.has(jobId)) this.#orphan({ jobId, attempt, graceMs: 0 });
    }
    this.#plane.tick();
  }

  #find(jobId: JobId): Job | undefined {
    return this.#look((jobs) => {
      const job = jobs.byId.get(jobId);
      return job?.state === "running" && job.worker.id === this.id ? job : undefined;
    });
  }

  #orphan(lost: { readonly jobId: JobId; readonly attempt: number; readonly graceMs: number }) {
    this.#plane.carryOut({ type: "job.orphan", ...lost }, this.#caller, () => undefined);
  }

  /** Says what may not have arrived. */
  #remind(remote: RemoteJob): void {
    const { job, untaken } = remote;
    if (untaken) this.#sendJob(untaken);
    const reason = this.#look((jobs) => {
      const now = jobs.byId.get(job.id);
      return now?.state === "running" ? now.cancelling?.reason : undefined;
    });
    if (reason !== undefined) this.cancel(job.id, reason);
  }

  /** The connection is lost. What it has waits for it, for a while. */
  detach(link: WorkerLink): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    this.#isWelcome = false;
    this.#acks.clear();
    const graceMs = link.canReturn === false ? 0 : this.#graceMs;
    for (const { job } of this.#jobs.values()) {
      this.#orphan({ jobId: job.id, attempt: job.attempt, graceMs });
    }
    if (graceMs === 0) this.#plane.tick();
  }

  /** What a child has is lost with us: nobody will come back to it. */
  loseChild(): void {
    if (this.#link?.canReturn === false) this.detach(this.#link);
  }

  /** Nothing more is heard on this connection. */
  refuse(link: WorkerLink, code: RefusedCode, message: string): void {
    link.send(`${prefix}refused`, printToWorker({ type: "refused", code, message }));
    this.detach(link);
  }

  run({ job, input, attempt, trace }: Work): void {
    const payload = printToWorker(this.#frameOf(job, input, trace?.() ?? job.trace));
    // The input was printed before, and may be long.
    const rest = JSON.stringify({ ...payload, input: null });
    const bytes = Buffer.byteLength(input) + Buffer.byteLength(rest);
    if (bytes + wireLimits.frameHeadBytes > this.#frameBytesMax) {
      const message = `with its input it is larger than the ${this.#frameBytesMax} bytes that its worker takes`;
      const failure = { code: "internal_error", message, isRetryable: true };
      void attempt.end({ status: "error", failure });
      return;
    }
    const remote = this.#remember(job, attempt);
    remote.untaken = payload;
    if (this.#isWelcome) return this.#sendJob(payload);
    // It went while the start was being kept.
    if (this.isAway) {
      this.#orphan({ jobId: job.id, attempt: job.attempt, graceMs: this.#graceMs });
    }
  }

  #remember(job: Job, attempt: Attempt): RemoteJob {
    const remote: RemoteJob = {
      job,
      attempt,
      heard: 0,
      untaken: undefined,
      isEnding: false,
      streamedBytes: 0,
      delegations: new Map(),
      waits: new Map(),
      ending: new AbortController(),
    };
    this.#jobs.set(job.id, remote);
    return remote;
  }

  #frameOf(job: Job, input: string, trace: TraceHeaders | undefined): JobFrame {
    const { id: jobId, attempt, agent, principal, contextId, parentId, grant, runMsMax } = job;
    const { capabilities, expiresAt, expiresAtMs = Number.POSITIVE_INFINITY } = grant;
    const deadlineMs = Math.min(
      expiresAtMs,
      job.createdAtMs + (runMsMax ?? Number.POSITIVE_INFINITY),
    );
    const credentials = this.#runtime.credentialsOf(jobId);
    const chunk = this.#runtime.followers.chunkOf(job);
    const counters = this.#look((jobs) => jobs.budgets.get(jobId) ?? []);
    return {
      type: "job",
      jobId,
      attempt,
      agent,
      input: JSON.parse(input),
      principal,
      sessionId: job.sessionIds[0],
      contextId,
      traceId: traceIdOf(job),
      trace,
      parentId,
      lease: capabilities,
      expiresAt,
      budget: Object.fromEntries(
        counters.map((counter) => [counter.currency, toNumber(remaining(counter))]),
      ),
      ...(credentials.length > 0 && { credentials }),
      ...(chunk !== usualChunk && { chunk }),
      ...(Number.isFinite(deadlineMs) && { deadline: new Date(deadlineMs).toISOString() }),
    };
  }

  cancel(jobId: string, reason: string): void {
    const remote = this.#jobs.get(jobId);
    if (!remote) return;
    remote.ending.abort(new WorkError("job_cancelled", reason || "cancelled"));
    this.#send({ type: "cancel", ...heldOf(remote), reason });
  }

  drop(jobId: string): void {
    const remote = this.#jobs.get(jobId);
    this.#jobs.delete(jobId);
    if (!remote) return;
    remote.ending.abort(toWorkError(over(remote.job.id)));
    this.#dropped.set(jobId, remote.attempt);
    const [oldest] = this.#dropped.keys();
    if (this.#dropped.size > limits.droppedMax && oldest !== undefined)
      this.#dropped.delete(oldest);
    // Whose last word is being kept will hear of that.
    if (!remote.isEnding) this.#send({ type: "drop", ...heldOf(remote) });
  }

  hear(said: Exclude<FromWorker, { readonly type: "offer" }>): void {
    if (said.type === "leave") {
      this.#isLeaving = true;
      return;
    }
    const remote = this.#jobs.get(said.jobId);
    if (remote?.attempt.attempt !== said.attempt) {
      if (said.type === "spend") this.#spendLate(said);
      this.#send({ type: "drop", jobId: said.jobId, attempt: said.attempt });
      return;
    }
    remote.untaken = undefined;
    switch (said.type) {
      case "taken":
        return;
      case "event":
        return this.#hearNumbered(remote, said, async () => {
          const { kind, body, workerSequence } = said;
          if (kind === "result_chunk") countChunk(remote, body);
          return await remote.attempt.tell(kind, body, { workerSequence });
        });
      case "spend":
        return this.#hearNumbered(remote, said, async () => {
          const { reservationId, workerSequence } = said;
          const { attempt } = remote;
          const refusal = attempt.spend(readAmounts(said.amounts), {
            reservationId,
            workerSequence,
          });
          await attempt.flush();
          return refusal;
        });
      case "result":
        return this.#hearEnd(remote, said.workerSequence, outcomeOf(said));
      case "error": {
        const { code, message, retryable, details } = said.error;
        const more = details && { details: JSON.stringify(details) };
        const failure = { code, message, isRetryable: retryable, ...more };
        return this.#hearEnd(remote, said.workerSequence, { status: said.status, failure });
      }
      default:
        this.#answer(remote, said);
    }
  }

  /** A tool can report what it has spent after its job has ended: see `Attempt.spend`. */
  #spendLate({ jobId, attempt, amounts, reservationId }: Spending): void {
    const dropped = this.#dropped.get(jobId);
    if (dropped?.attempt !== attempt) return;
    // Nobody is told if it is not an amount: the worker has no such job any more.
    void verdictOn(async () => dropped.spend(readAmounts(amounts), { reservationId }));
  }

  #hearNumbered(
    remote: RemoteJob,
    { workerSequence }: { readonly workerSequence: number },
    keep: () => Promise<Refusal | undefined>,
  ): void {
    if (workerSequence <= remote.heard) {
      // It was kept before, or is about to be.
      const { heard } = remote;
      void this.#plane.read(() => undefined).then(() => this.#acknowledge(remote, heard));
      return;
    }
    if (!this.#mayWait()) return;
    remote.heard = workerSequence;
    const link = this.#link;
    void verdictOn(keep).then((answer) => {
      if (this.#link === link) this.#unkept -= 1;
      switch (answer) {
        case "kept":
          return this.#acknowledge(remote, workerSequence);
        case "over":
          return this.#send({ type: "drop", ...heldOf(remote) });
        case "later":
          return;
        default: {
          const numbered = { ...heldOf(remote), workerSequence };
          this.#send({ type: "invalid", ...numbered, error: told(answer) });
        }
      }
    });
  }

  #hearEnd(remote: RemoteJob, workerSequence: number, outcome: Outcome): void {
    remote.isEnding = true;
    void remote.attempt.end(outcome).then((refusal) => {
      switch (verdictOf(refusal)) {
        case "kept":
          return this.#acknowledge(remote, workerSequence);
        case "over":
          return this.#send({ type: "drop", ...heldOf(remote) });
        case "later":
          remote.isEnding = false;
      }
    });
  }

  /** Whoever says more than may wait has not listened to us, and is sent away. */
  #mayWait(): boolean {
    this.#unkept += 1;
    if (this.#unkept <= limits.unacknowledgedMax || !this.#link) return true;
    const message = `at most ${limits.unacknowledgedMax} events may wait to be confirmed`;
    this.refuse(this.#link, "limit_reached", message);
    return false;
  }

  /** Everything that was kept in one go is confirmed in one go. */
  #acknowledge(remote: RemoteJob, workerSequence: number): void {
    if (this.#acks.size === 0) queueMicrotask(() => this.#sendAcks());
    this.#acks.set(remote, workerSequence);
  }

  #sendAcks(): void {
    for (const [remote, workerSequence] of this.#acks) {
      this.#send({ type: "ack", ...heldOf(remote), workerSequence });
    }
    this.#acks.clear();
  }

  #answer(remote: RemoteJob, asked: Asked): void {
    // What waits for a person or for a child may take days, and has a limit of its own.
    const waits = ["ask", "request_scope", "await"].includes(asked.type) ? 0 : 1;
    this.#unanswered += waits;
    const link = this.#link;
    if (this.#unanswered > limits.requestsMax && link) {
      const message = `at most ${limits.requestsMax} requests may wait to be answered`;
      return this.refuse(link, "limit_reached", message);
    }
    const { requestId } = asked;
    const reply = (answer: ToWorker): void => {
      // Who has another connection by now asks again there.
      if (this.#link !== link) return;
      this.#unanswered -= waits;
      this.#send(answer);
      // It has a number among the events, and is in the log as they are.
      if (asked.type === "delegate") this.#acknowledge(remote, asked.workerSequence);
    };
    void this.#carryOut(remote, asked).then(
      (value) => reply({ type: "answer", requestId, value }),
      (error: unknown) => {
        if (error === notNow) return;
        reply({ type: "answer", requestId, error: told(toError(error)) });
      },
    );
  }

  async #carryOut(remote: RemoteJob, asked: Asked): Promise<unknown> {
    const { job, attempt } = remote;
    switch (asked.type) {
      case "authorize": {
        const { capability, target } = asked;
        return await attempt.authorise({ capability, target });
      }
      case "reserve":
      case "settle":
        return await this.#reserveOrSettle(attempt, asked);
      case "delegate":
        return { child_job_id: (await this.#delegate(remote, asked)).jobId };
      case "ask":
      case "request_scope": {
        const { id: questionId, answer, atMs } = await this.#askPerson(remote, asked);
        return printPersonAnswered({ questionId, answer: JSON.parse(answer), answeredAtMs: atMs });
      }
      case "withdraw":
        return await this.#withdraw(attempt, readKey("", asked.key));
      case "await":
        return await this.#waitOnce(remote, asked, () => this.#childOf(job, asked.childId).done);
      case "rotate": {
        const { credentialId, value, handle } = asked;
        const held = this.#runtime.credentialsOf(job.id).find(({ id }) => id === credentialId);
        if (held?.value === value) return await this.#plane.read(() => undefined);
        const more = handle === undefined ? {} : { handle };
        return await this.#runtime.rotateCredential(attempt, credentialId, value, more);
      }
      case "cancel_child":
        return await this.#childOf(job, asked.childId).cancel(asked.reason);
    }
  }

  /** Asked again, because the answer was lost, it is done already. */
  async #reserveOrSettle(
    attempt: Attempt,
    asked: Asked & { readonly type: "reserve" | "settle" },
  ): Promise<void> {
    const { type, reservationId } = asked;
    const amounts = readAmounts(asked.amounts);
    const isOpen = this.#look((jobs) => jobs.reservations.get(attempt.jobId)?.has(reservationId));
    const isDone = (isOpen ?? false) === (type === "reserve");
    if (isDone) return await this.#plane.read(() => undefined);
    const refusal = await attempt[type](reservationId, amounts);
    if (refusal) orNotNow(toWorkError(refusal));
  }

  #askPerson(remote: RemoteJob, asked: PersonAsked): Promise<Answered> {
    return this.#waitOnce(remote, asked, () => {
      const { attempt, ending } = remote;
      const wish = this.#wishOf(remote.job, asked);
      const signals = { signal: ending.signal, given: undefined };
      return this.#runtime.askPerson(attempt, wish, signals).catch(orNotNow);
    });
  }

  /** A request that is repeated on a new connection waits for the same answer. */
  #waitOnce<Value>(
    { waits }: RemoteJob,
    { requestId }: Asked,
    start: () => Promise<Value>,
  ): Promise<Value> {
    // The same id is the same request, so that the answer has the same type.
    const known = waits.get(requestId) as Promise<Value> | undefined;
    if (known !== undefined) return known;
    const { waitsMax } = limits;
    if (this.#waits >= waitsMax) {
      const message = `this worker has reached the limit of ${waitsMax} open questions and awaited child jobs`;
      throw new WorkError("limit_reached", message);
    }
    const answered = start();
    this.#waits += 1;
    waits.set(requestId, answered);
    const settled = (): void => {
      this.#waits -= 1;
      waits.delete(requestId);
    };
    answered.then(settled, settled);
    return answered;
  }

  #wishOf({ agent }: Job, asked: PersonAsked): Wish {
    const { key, timeoutSeconds } = asked;
    // A value that is not a number is refused below.
    const timeoutMs = typeof timeoutSeconds === "number" ? timeoutSeconds * 1_000 : timeoutSeconds;
    if (asked.type === "ask") return readAsk("", asked.prompt, { ...asked, key, timeoutMs });
    const offer = this.offers.find((each) => fullName(each) === agent);
    requireMayRequestScope(agent, offer?.mayRequestScope);
    return readScopeRequest("", { ...asked, read: asked.readPatterns, key, timeoutMs });
  }

  /** The request that waits for the question is answered with `question_closed`. */
  async #withdraw({ jobId, attempt }: Attempt, key: string): Promise<void> {
    const asker = { of: "job", jobId, attempt } as const;
    const command = { type: "question.withdraw", asker, key } as const;
    const { refusal } = await this.#plane.submit(command, { actor: `job/${jobId}` }, () => {});
    if (refusal) orNotNow(toWorkError(refusal));
  }

  #delegate(remote: RemoteJob, asked: Delegation): Promise<Delegated> {
    const known = remote.delegations.get(asked.workerSequence);
    if (known !== undefined) return known;
    const isAgain = asked.workerSequence <= remote.heard;
    remote.heard = Math.max(remote.heard, asked.workerSequence);
    const delegated = isAgain
      ? this.#delegateAgain(remote, asked)
      : this.#delegateNow(remote, asked);
    remote.delegations.set(asked.workerSequence, delegated);
    return delegated;
  }

  #delegateNow({ job }: RemoteJob, asked: Delegation): Promise<Delegated> {
    const { agent, input, delegateId, workerSequence, leaseRequest, expiresAt } = asked;
    return this.#runtime.delegation.delegate(job, {
      agent,
      input,
      delegateId,
      workerSequence,
      ...(leaseRequest && { capabilities: leaseRequest }),
      ...(expiresAt !== undefined && { expiresAt }),
    });
  }

  /** An earlier process of ours was asked. What came of it is in the log, unless it was too late for that. */
  async #delegateAgain(remote: RemoteJob, asked: Delegation): Promise<Delegated> {
    const { job } = remote;
    const { delegateId } = asked;
    const child = this.#runtime.delegation.childOf(job.id, delegateId);
    if (child) return this.#runtime.delegation.delegated(job, child.id);
    for await (const { event } of this.#plane.stream(`job/${job.id}`)) {
      if (event.type !== "job.emitted" || event.kind !== "tool_result") continue;
      const body: unknown = JSON.parse(event.body);
      if (!isObject(body) || body["call_id"] !== delegateId) continue;
      throw refusedBefore(body["error"]);
    }
    return await this.#delegateNow(remote, asked);
  }

  #childOf(parent: Job, childId: string): Delegated {
    const id = toJobId(childId);
    const isChild = this.#look((jobs) => jobs.byId.get(id)?.parentId === parent.id);
    if (!isChild) throw new WorkError("job_not_found", `there is no job ${childId}`);
    return this.#runtime.delegation.delegated(parent, id);
  }

  /** What is decided by now, kept or not. Nothing of it may leave before it is kept. */
  #look<Value>(look: (jobs: Jobs) => Value): Value {
    return this.#plane.peek(({ jobs }) => look(jobs));
  }

  #sendJob(payload: JsonObject): void {
    this.#link?.send(`${prefix}job`, payload);
  }

  #send(said: ToWorker): void {
    if (this.#isWelcome) this.#link?.send(prefix + said.type, printToWorker(said));
  }

  get #caller(): { readonly actor: string } {
    return { actor: `worker/${this.id}` };
  }
}

type Jobs = Parameters<Parameters<Plane["peek"]>[0]>[0]["jobs"];

/** We shut down. Who asks will ask the next process. */
const notNow = new Error("the plane is shutting down");

function orNotNow(error: unknown): never {
  throw error instanceof WorkError && error.code === "unavailable" ? notNow : error;
}

function heldOf({ job, attempt }: RemoteJob): Held {
  return { jobId: job.id, attempt: attempt.attempt };
}

async function verdictOn(
  keep: () => Promise<Refusal | undefined>,
): Promise<"kept" | "over" | "later" | WorkError> {
  try {
    return verdictOf(await keep());
  } catch (error) {
    return toError(error);
  }
}

function verdictOf(refusal: Refusal | undefined): "kept" | "over" | "later" {
  if (!refusal) return "kept";
  return refusal.code === "unavailable" ? "later" : "over";
}

function outcomeOf({ value, streamed, summary }: ResultOf): Outcome {
  const isNested = value && isDeeper(value.result, jsonLimits.depthMax);
  if (isNested) {
    const message = "the result is nested too deep";
    return { status: "error", failure: { code: "internal_error", message, isRetryable: false } };
  }
  return {
    status: "success",
    ...(value && !streamed && { result: JSON.stringify(value.result) }),
    ...(streamed && { streamed }),
    ...(summary !== undefined && { summary }),
  };
}

function readAmounts(texts: readonly string[]): readonly Amount[] {
  return texts.map(readAmount);
}

/** Pieces are kept in the log; a result may not fill it. */
function countChunk(remote: RemoteJob, body: unknown): void {
  if (!isObject(body) || typeof body["data"] !== "string") return;
  const encoding = body["encoding"] === "base64" ? "base64" : "utf8";
  const bytes = decodedBytes(body["data"], encoding) ?? 0;
  remote.streamedBytes += bytes;
  const { chunkBytesMax, resultBytesMax } = resultLimits;
  if (bytes <= chunkBytesMax && remote.streamedBytes <= resultBytesMax) return;
  const message = `a result has at most ${resultBytesMax} bytes, and a piece of it ${chunkBytesMax}`;
  throw new WorkError("internal_error", message);
}

function toError(error: unknown): WorkError {
  if (error instanceof WorkError) return error;
  return new WorkError("internal_error", "it failed");
}

type ToldError = NonNullable<(ToWorker & { readonly type: "answer" })["error"]>;

/** As it goes to a worker. */
function told(error: WorkError): ToldError {
  const { toldCode: code, message, retryable, details } = error;
  return { code, message: message || code, retryable, ...(details && { details }) };
}

/** What the result of a tool says: an earlier process of ours refused it. */
function refusedBefore(error: unknown): WorkError {
  const { code, message, retryable, details } = isObject(error) ? error : {};
  return failureError({
    code: typeof code === "string" ? code : "internal_error",
    message: typeof message === "string" ? message : "it was refused",
    isRetryable: retryable === true,
    ...(isObject(details) && { details: JSON.stringify(details) }),
  });
}
