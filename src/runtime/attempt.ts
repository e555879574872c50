/**
 * One execution of a job, as whoever executes it sees it: what it may say, do and spend. Every word goes through
 * the plane, so that an execution that is no longer the job's is heard no more. Workers in this process call it
 * directly, those elsewhere through their messages.
 */
import {
  type Amount,
  authorise,
  chainOf,
  type Job,
  type JobId,
  type JsonText,
  type Operation,
  type Outcome,
  printJson,
  type Refusal,
  type Rules,
  readCost,
  restToTell,
  type State,
  toNumber,
} from "../core/index.ts";
import type { Plane } from "../plane/index.ts";
import { checkEvent, type JsonObject, tellsOfQuestion } from "../wire/work/index.ts";
import { toWorkError, WorkError } from "./errors.ts";
import { limits } from "./limits.ts";
import { printBody, tellable } from "./printing.ts";

export type AttemptOptions = {
  readonly plane: Plane;
  readonly jobId: JobId;
  readonly attempt: number;
  readonly rules: Rules;
  /** What to wait for before the job says more: those who listen to it are far behind. */
  readonly pace?: (() => Promise<void> | undefined) | undefined;
};

/** By a worker elsewhere, so that what it says again is not heard twice. */
type Numbered = { readonly workerSequence?: number };

export class Attempt {
  readonly jobId: JobId;
  readonly attempt: number;
  readonly #plane: Plane;
  readonly #rules: Rules;
  readonly #caller: { readonly actor: string };
  readonly #pace: AttemptOptions["pace"];
  /** Said, and perhaps not yet kept. */
  #wordsAhead = 0;
  #bytesAhead = 0;
  #isClosed = false;
  #delegateIds: Set<string> | undefined;

  constructor({ plane, jobId, attempt, rules, pace }: AttemptOptions) {
    this.#plane = plane;
    this.jobId = jobId;
    this.attempt = attempt;
    this.#rules = rules;
    this.#caller = { actor: `job/${jobId}` };
    this.#pace = pace;
  }

  /**
   * Says something of itself. Resolves at once while little of what it said is on its way to the log, and else
   * when all of it is kept; whoever is told of it is told only then. Rejects with `invalid_argument` what is no
   * event. Once the job has ended, nobody listens, and nothing happens.
   */
  async emit(kind: string, body: unknown, numbered: Numbered = {}): Promise<void> {
    const word = readWord(kind, body);
    this.#say({ kind, ...word, ...numbered });
    this.#wordsAhead += 1;
    this.#bytesAhead += word.body.length;
    const { wordsAheadMax, bytesAheadMax } = limits;
    if (this.#wordsAhead >= wordsAheadMax || this.#bytesAhead >= bytesAheadMax) await this.flush();
    const pace = this.#pace?.();
    if (pace) await pace;
  }

  /** The same for a worker elsewhere: resolves when it is kept, or with why it will not be. */
  async tell(kind: string, body: unknown, numbered: Numbered): Promise<Refusal | undefined> {
    const refusal = this.#say({ kind, ...readWord(kind, body), ...numbered });
    await this.flush();
    const pace = this.#pace?.();
    if (pace) await pace;
    return refusal;
  }

  /** Nothing more is heard of it: the job has ended, or is another's, be that known to the plane or not. */
  close(): void {
    this.#isClosed = true;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** For a child that it asks for. False if it took the same name before. */
  takeName(delegateId: string): boolean {
    this.#delegateIds ??= new Set();
    const isFree = !this.#delegateIds.has(delegateId);
    this.#delegateIds.add(delegateId);
    return isFree;
  }

  /** Resolves when all that was said is kept. */
  async flush(): Promise<void> {
    this.#wordsAhead = 0;
    this.#bytesAhead = 0;
    await this.#plane.read(() => undefined);
  }

  /** With what is told of a budget right behind what it was spent on: nothing comes in between. */
  #say(event: {
    readonly kind: string;
    readonly body: JsonText;
    readonly spent?: Amount;
    readonly told?: string;
    readonly workerSequence?: number;
  }): Refusal | undefined {
    if (this.#isClosed) return over(this.jobId);
    const { jobId, attempt } = this;
    const { spent } = event;
    const command = { type: "job.emit", jobId, attempt, ...event } as const;
    const outcome = this.#plane.carryOut(command, this.#caller, (state, events) =>
      spent && events.length > 0 ? this.#rest(state, spent) : undefined,
    );
    const { value: rest, refusal } = outcome;
    if (spent && rest !== undefined) this.#tellRest(spent.currency, rest);
    return refusal;
  }

  #rest(state: State, spent: Amount): number | undefined {
    const rest = restToTell(state.jobs.budgets.get(this.jobId) ?? [], spent);
    return rest && toNumber(rest);
  }

  #tellRest(currency: string, rest: number): void {
    const body = { name: "cost.budget.remaining", value: rest, unit: currency };
    this.#say({ kind: "metric", body: printJson(body), told: currency });
  }

  /** Whether it may do that, now; answers the target as it was compared, which is the one to use. */
  async authorise(operation: Operation): Promise<string> {
    const answer = await this.#plane.read((state, nowMs) => {
      const job = this.#find(state);
      if (!job) return undefined;
      return authorise(chainOf(state.jobs, job), operation, nowMs, this.#rules);
    });
    if (!answer) throw toWorkError(over(this.jobId));
    if (!answer.refusal) return answer.target;
    throw toWorkError(answer.refusal, { ...operation });
  }

  /** Sets money aside for work whose cost is known to be at most that; or it is said why not. */
  async reserve(reservationId: string, amounts: readonly Amount[]): Promise<Refusal | undefined> {
    const { jobId, attempt } = this;
    if (this.#isClosed) return over(jobId);
    const command = { type: "job.reserve", jobId, attempt, reservationId, amounts } as const;
    const { refusal } = await this.#plane.submit(command, this.#caller, () => undefined);
    return refusal;
  }

  /**
   * Counts what was spent, whatever has become of the job: decided at once, durable soon. `reservationId`: what was set
   * aside for it.
   */
  spend(
    amounts: readonly Amount[],
    more: Numbered & { readonly reservationId?: string | undefined } = {},
  ): Refusal | undefined {
    const { jobId, attempt } = this;
    const { reservationId, ...numbered } = more;
    const from = reservationId === undefined ? {} : { reservationId };
    const command = { type: "job.spend", jobId, attempt, amounts, ...from, ...numbered } as const;
    return this.#plane.carryOut(command, this.#caller, () => undefined).refusal;
  }

  /** What the work came to. That is heard though nothing else is: it was spent. */
  async settle(reservationId: string, actual: readonly Amount[]): Promise<Refusal | undefined> {
    const { jobId, attempt } = this;
    const command = { type: "job.settle", jobId, attempt, reservationId, actual } as const;
    const { refusal } = await this.#plane.submit(command, this.#caller, () => undefined);
    // At the end of an attempt all that is open is settled by itself.
    return refusal && this.#isClosed ? over(jobId) : refusal;
  }

  /** The last word. If the job has ended otherwise, nothing happens, and it is said why. */
  async end(outcome: Outcome): Promise<Refusal | undefined> {
    const { jobId, attempt } = this;
    if (this.#isClosed) return over(jobId);
    const command = { type: "job.end", jobId, attempt, outcome: tellable(outcome) } as const;
    const { refusal } = await this.#plane.submit(command, this.#caller, () => undefined);
    return refusal;
  }

  #find(state: State): Job | undefined {
    if (this.#isClosed) return undefined;
    const job = state.jobs.byId.get(this.jobId);
    return job?.state === "running" && job.attempt === this.attempt ? job : undefined;
  }
}

/** What is refused of an execution that is no longer the job's. */
export function over(jobId: JobId): Refusal {
  return { code: "attempt_over", message: `job ${jobId} has ended, or is another worker's` };
}

/** What is said is kept, and the values of credentials must not be (ARCP-174). */
function hasValue({ phase, value }: JsonObject): boolean {
  return phase === "credential_rotated" && value !== undefined;
}

/** The event as the log stores it. Throws `invalid_argument` if it is not a valid event. */
export function readWord(
  kind: string,
  body: unknown,
): { readonly body: JsonText; readonly spent?: Amount } {
  if (tellsOfQuestion(String(kind))) {
    const message = `only a question emits ${kind}: call ask or requestScope`;
    throw new WorkError("invalid_argument", message, { details: { path: "kind" } });
  }
  const problem = checkEvent(kind, body);
  if (problem) {
    throw new WorkError("invalid_argument", problem.message, { details: { path: problem.path } });
  }
  if (kind === "status" && hasValue(body as JsonObject)) {
    throw new WorkError(
      "invalid_argument",
      "a status event must not contain the value of a credential; use rotateCredential",
      {
        details: { path: "body.value" },
      },
    );
  }
  const spent = kind === "metric" ? costIn(body as JsonObject) : undefined;
  return { body: printBody(body), ...(spent && { spent }) };
}

/** A cost that an event reports, if it does. Throws for one that cannot be. */
function costIn({ name, value, unit }: JsonObject): Amount | undefined {
  const isCost = typeof name === "string" && name.startsWith("cost.");
  if (!isCost || name === "cost.budget.remaining" || typeof unit !== "string") return undefined;
  const read = readCost(unit, Number(value));
  if (!read.refusal) return read.amount;
  throw new WorkError("invalid_argument", read.refusal.message, {
    details: { path: "body.value" },
  });
}
