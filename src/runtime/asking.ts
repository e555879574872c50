/**
 * Questions of jobs to people. The question is an entry of the log; here a job waits for its answer. A job that runs
 * again and asks the same under the same key gets the stored answer, or goes on waiting for the open question.
 */
import { randomBytes } from "node:crypto";
import {
  type Expected,
  findQuestion,
  type JobId,
  type Question,
  type QuestionId,
  type Refused,
  refuse,
  type ScopeMode,
  type ScopeRequest,
  scopeModes,
  questionId as toQuestionId,
} from "../core/index.ts";
import type { Plane } from "../plane/index.ts";
import { problemOfSchema } from "../wire/answer-schema/index.ts";
import { isDeeper, limits as jsonLimits } from "../wire/work/index.ts";
import { type Attempt, over } from "./attempt.ts";
import { toWorkError, WorkError } from "./errors.ts";
import { limits } from "./limits.ts";

export type AskOptions = {
  /** The answer is one of these. */
  readonly choices?: readonly string[] | undefined;
  /** 180,000 by default. */
  readonly timeoutMs?: number | undefined;
  /**
   * The job's name for the question. By default the questions of each attempt are numbered in the order in which they
   * are asked, so that a job that runs again and asks the same in the same order gets the stored answers.
   */
  readonly key?: string | undefined;
  /** Withdraws the question. */
  readonly signal?: AbortSignal | undefined;
};

export type AskSchemaOptions = Omit<AskOptions, "choices"> & {
  /** A JSON Schema: the answer is any JSON that it allows. */
  readonly schema: Readonly<Record<string, unknown>>;
};

export type ScopeRequestOptions = Pick<AskOptions, "key" | "signal"> & {
  /** Shown to the person who decides. */
  readonly reason: string;
  readonly read?: readonly string[] | undefined;
  readonly writePrefix?: string | undefined;
  /** How long the scope is granted for; 60 by default. */
  readonly ttlSeconds?: number | undefined;
  /** `read_only` by default. */
  readonly mode?: ScopeMode | undefined;
  /** 60,000 by default. */
  readonly timeoutMs?: number | undefined;
};

/** What a person granted. */
export type GrantedScope = {
  readonly requestId: string;
  readonly read: readonly string[];
  readonly writePrefix?: string;
  readonly mode: ScopeMode;
  readonly expiresAt: string;
};

/** A question as a job asks it. */
export type Wish = {
  readonly key: string;
  readonly prompt: string;
  readonly expects: Expected;
  readonly timeoutMs: number;
};

export type Signals = {
  /** The signal of the job: aborted when it is cancelled or has ended. */
  readonly signal: AbortSignal;
  /** The signal that the agent passed, which withdraws the question. */
  readonly given: AbortSignal | undefined;
};

type AnsweredQuestion = Question & { readonly state: "answered" };

/** An answer (JSON), and which question it belongs to. */
export type Answered = Pick<AnsweredQuestion, "id" | "answer" | "atMs">;

/** Options that are not checked yet: agents are not always type-checked, and those in other processes never are. */
type Unchecked<Options> = { readonly [Name in keyof Options]?: unknown };

export type AskingOptions = {
  readonly plane: Plane;
  readonly newId: (kind: "question" | "scope_request") => string;
  /** The current attempt of the job. Throws `attempt_over` if it is over. */
  readonly current: (attempt: Pick<Attempt, "jobId" | "attempt">) => Attempt;
  /** Gives the job's slot at its worker to another job. */
  readonly pause: (jobId: JobId) => void;
  /** Resolves when the job has a slot again; `now`: at once, even if the worker is full. */
  readonly resume: (jobId: JobId, how?: "now") => Promise<void> | undefined;
};

export class Asking {
  readonly #options: AskingOptions;
  /** How many questions each attempt waits for. */
  readonly #waits = new WeakMap<Attempt, number>();

  constructor(options: AskingOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the answered question. Rejects with `ask_timeout` if nobody answered in time, with the reason of
   * whichever signal aborts, and otherwise with the code of the refusal.
   */
  async ask(
    { jobId, attempt }: Pick<Attempt, "jobId" | "attempt">,
    wish: Wish,
    signals: Signals,
  ): Promise<AnsweredQuestion> {
    const { plane, newId, current } = this.#options;
    const { signal, given } = signals;
    signal.throwIfAborted();
    given?.throwIfAborted();
    const voice = current({ jobId, attempt });
    const asker = { of: "job", jobId, attempt } as const;
    const command = {
      type: "question.ask",
      questionId: toQuestionId(newId(wish.expects.of === "scope" ? "scope_request" : "question")),
      asker,
      ...wish,
    } as const;
    const asked = await plane.submit(command, { actor: `job/${jobId}` }, ({ questions }) =>
      findQuestion(questions, asker, wish.key),
    );
    const { value: question, refusal } = asked;
    if (refusal) throw toWorkError(refusal);
    // By now the job may run elsewhere. The slot is that attempt's, which asks again by itself.
    if (!question || voice.isClosed) throw toWorkError(over(jobId));
    // The answer of an earlier attempt needs no waiting, and so no slot is given up.
    if (question.state !== "open") return answeredOf(question);
    return answeredOf(
      await this.#outsideSlot(voice, signal, () => this.#untilClosed(voice, question, signals)),
    );
  }

  /**
   * A job that waits for people leaves its slot to another until none of its questions is open. What it does after an
   * earlier answer needs no slot. Once it is cancelled, it unwinds without waiting for one.
   */
  async #outsideSlot<Value>(
    voice: Attempt,
    signal: AbortSignal,
    wait: () => Promise<Value>,
  ): Promise<Value> {
    if (this.#countWait(voice, 1) === 1) this.#options.pause(voice.jobId);
    try {
      return await wait();
    } finally {
      if (this.#countWait(voice, -1) === 0) await this.#resume(voice, signal);
    }
  }

  #countWait(voice: Attempt, by: 1 | -1): number {
    const count = (this.#waits.get(voice) ?? 0) + by;
    this.#waits.set(voice, count);
    return count;
  }

  /** Rejects with the signal's reason. */
  async #resume(voice: Attempt, signal: AbortSignal): Promise<void> {
    if (voice.isClosed) return;
    const { resume } = this.#options;
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const giveUp = (): void => {
      if (!voice.isClosed) void resume(voice.jobId, "now");
      reject(signal.reason);
    };
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      await Promise.race([aborted, resume(voice.jobId)]);
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  async #untilClosed(voice: Attempt, question: Question, signals: Signals): Promise<Question> {
    const { plane } = this.#options;
    const { signal, given } = signals;
    const { id } = question;
    try {
      const either = given ? AbortSignal.any([signal, given]) : signal;
      const { value: closed, refusal } = await plane.untilClosed(id, { signal: either });
      if (refusal) throw toWorkError(refusal);
      if (!closed) throw toWorkError(over(voice.jobId));
      return closed;
    } catch (error) {
      // When the job ends, the core closes the question, or keeps it for the next attempt.
      if (!signal.aborted) await this.#withdraw(voice, question);
      throw error;
    }
  }

  /** Nobody waits for the answer any more. A question that is no longer open stays as it is. */
  async #withdraw({ jobId, attempt, isClosed }: Attempt, { key }: Question): Promise<void> {
    if (isClosed) return;
    const asker = { of: "job", jobId, attempt } as const;
    const command = { type: "question.withdraw", asker, key } as const;
    await this.#options.plane.submit(command, { actor: `job/${jobId}` }, () => undefined);
  }
}

function answeredOf(question: Question): AnsweredQuestion {
  const { id } = question;
  const details = { question_id: id };
  switch (question.state) {
    case "answered":
      return question;
    case "open":
      throw new WorkError("internal_error", `question ${id} is open`, { details });
    case "closed":
      if (question.reason === "timed_out") {
        const message = `question ${id} was not answered in time`;
        throw new WorkError("ask_timeout", message, { details });
      }
      throw new WorkError("question_closed", `question ${id} was closed: ${question.reason}`, {
        details,
      });
  }
}

/**
 * Checks what `ctx.ask` was called with, in this process or elsewhere. `key` is used if the options have none. Throws
 * `invalid_argument`.
 */
export function readAsk(
  key: string,
  prompt: unknown,
  options: Unchecked<AskOptions & AskSchemaOptions>,
): Wish {
  const { choices, schema, timeoutMs = limits.askTimeoutMs } = options;
  return {
    key: readKey(key, options.key),
    prompt: readText("prompt", prompt),
    expects: requireExpected(choices, schema),
    timeoutMs: readMs("timeoutMs", timeoutMs),
  };
}

function requireExpected(choices: unknown, schema: unknown): Expected {
  const read = readExpected(choices, schema);
  if (read.refusal) throw toWorkError(read.refusal);
  return read.expects;
}

/** What a valid answer is, from the `choices` or the `schema` of an asker at any door; a text if there are neither. */
export function readExpected(
  choices: unknown,
  schema: unknown,
): { readonly expects: Expected; readonly refusal?: never } | Refused {
  if (choices !== undefined && schema !== undefined) {
    return refuseInvalid("schema", "cannot be given together with choices");
  }
  if (choices !== undefined) {
    if (!isTexts(choices)) return refuseInvalid("choices", "must be a list of strings");
    return { expects: { of: "choice", choices: [...choices] } };
  }
  if (schema === undefined) return { expects: { of: "text" } };
  const problem = problemOfSchema(schema);
  if (problem !== undefined) return refuseInvalid("schema", problem);
  // The values of `default` and `const` can be nested, too.
  if (isDeeper(schema, jsonLimits.depthMax)) return refuseInvalid("schema", "is nested too deep");
  return { expects: { of: "json", schema: JSON.stringify(schema) } };
}

/** Short, because people type it. The prefixes are those of RunContext. */
export function newQuestionId(kind: "question" | "scope_request" = "question"): QuestionId {
  return toQuestionId(`${kind === "question" ? "q" : "sr"}_${randomBytes(6).toString("hex")}`);
}

/** The same for `ctx.requestScope`. */
export function readScopeRequest(
  key: string,
  options: Unchecked<ScopeRequestOptions>,
): Wish & { readonly expects: { readonly of: "scope" } } {
  const { read = [], writePrefix, ttlSeconds = limits.scopeTtlSeconds, mode } = options;
  const prompt = readText("reason", options.reason);
  if (prompt.trim() === "") throw invalid("reason", "must not be blank");
  const scope: ScopeRequest = {
    read: readTexts("read", read),
    ...(writePrefix !== undefined && { writePrefix: readText("writePrefix", writePrefix) }),
    mode: readMode(mode),
    ttlMs: readMs("ttlSeconds", ttlSeconds, 1_000),
  };
  return {
    key: readKey(key, options.key),
    prompt,
    expects: { of: "scope", scope },
    timeoutMs: readMs("timeoutMs", options.timeoutMs ?? limits.scopeRequestTimeoutMs),
  };
}

/** Throws `permission_denied` unless the agent was registered for it. */
export function requireMayRequestScope(agent: string, may: boolean | undefined): void {
  if (may) return;
  const message = `agent ${agent} may not request a scope: register it with mayRequestScope`;
  throw new WorkError("permission_denied", message);
}

/** Throws `permission_denied` if the person said no. */
export function grantedOf({ id, answer, atMs }: Answered, scope: ScopeRequest): GrantedScope {
  const said: { readonly granted: boolean; readonly reason?: string } = JSON.parse(answer);
  if (!said.granted) {
    const message = said.reason || "a person denied the scope";
    throw new WorkError("permission_denied", message, { details: { request_id: id } });
  }
  const { read, writePrefix, mode, ttlMs } = scope;
  return {
    requestId: id,
    read,
    ...(writePrefix !== undefined && { writePrefix }),
    mode,
    expiresAt: new Date(atMs + ttlMs).toISOString(),
  };
}

export function readKey(counted: string, given: unknown): string {
  return given === undefined ? counted : readText("key", given);
}

function readText(path: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw invalid(path, "must be a string");
}

function readTexts(path: string, value: unknown): readonly string[] {
  if (isTexts(value)) return [...value];
  throw invalid(path, "must be a list of strings");
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function readMode(mode: unknown = "read_only"): ScopeMode {
  const known = scopeModes.find((one) => one === mode);
  if (known !== undefined) return known;
  throw invalid("mode", `must be one of ${scopeModes.join(", ")}`);
}

/** Whole milliseconds: they are added to a time of the log. 16.1 s are 16,100 ms, though 16.1 * 1,000 is a little more. */
function readMs(path: string, value: unknown, factor = 1): number {
  if (Number.isFinite(value)) return Math.ceil(Number((Number(value) * factor).toFixed(3)));
  throw invalid(path, "must be a finite number");
}

function invalid(path: string, problem: string): WorkError {
  return toWorkError(refuseInvalid(path, problem).refusal);
}

function refuseInvalid(path: string, problem: string): Refused {
  return refuse("invalid_argument", `${path}: ${problem}`, { path });
}
