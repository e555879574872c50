/**
 * What a handler is given besides its input: who it is, what it may do, and how it tells what it does. Words
 * are kept in their order, and told only then, but resolve before that while few are on their way; they reject only if
 * they are no words, never because nobody is connected.
 */
import {
  type Amount,
  type Capabilities,
  type Decimal,
  type Job,
  type JobId,
  namesAddress,
  printDecimal,
  type Refusal,
  toNumber,
} from "../core/index.ts";
import {
  type ChunkSize,
  type LogLevel,
  type TraceHeaders,
  traceHeadersOf,
} from "../wire/work/index.ts";
import { type Cost, readAmount } from "./amounts.ts";
import {
  type Answered,
  type AskOptions,
  type AskSchemaOptions,
  type GrantedScope,
  grantedOf,
  readAsk,
  readScopeRequest,
  requireMayRequestScope,
  type ScopeRequestOptions,
  type Signals,
  type Wish,
} from "./asking.ts";
import type { Attempt } from "./attempt.ts";
import type { HeldCredential } from "./credentials.ts";
import { type ToolError, toolErrorOf, toWorkError, WorkError, wordsOf } from "./errors.ts";
import { fetchWithin, type Guard, readFileWithin, writeFileWithin } from "./guards.ts";
import { type Logger, withFields } from "./logger.ts";
import { type ChunkBody, ResultStream } from "./result-stream.ts";
import { traceIdOf } from "./trace.ts";

/** Does what a tool does. It says what that came to, and tells the tool where in a trace it is called. */
export type ToolRun<Result> = (
  spend: (actual: Cost) => void,
  trace: TraceHeaders,
) => Promise<Result> | Result;

export type DelegateOptions = {
  readonly agent: string;
  readonly input?: unknown;
  /**
   * What the parent calls it; made up if absent. A job that is run again finds by it what it asked for before, so that
   * nothing is done twice that was done, or is being done. What was interrupted (its worker was lost, or the runtime
   * stopped) is neither: it is done anew, also by an agent that is not idempotent. Whoever declares the parent so has
   * said that its work may be done again, and what it asks for is part of that.
   */
  readonly delegateId?: string;
  /** What the child may do and spend; nothing, if absent. */
  readonly capabilities?: Capabilities;
  /** When that ends. */
  readonly expiresAt?: string;
  /** What a worker elsewhere counts it as, among the things that it says. */
  readonly workerSequence?: number;
};

/** A job that this one has asked for. */
export type Delegated = {
  readonly jobId: string;
  /** Its result; rejects as it failed. */
  readonly done: Promise<unknown>;
  cancel(reason?: string): Promise<void>;
};

/** What an execution can say and ask, here or from elsewhere. */
export type Voice = Pick<
  Attempt,
  "jobId" | "attempt" | "emit" | "authorise" | "reserve" | "spend" | "settle"
>;

/** What is left of one currency: exactly, and as the nearest number. */
export type BudgetRest = { readonly decimal: string; readonly value: number };

/** What a context needs that is not its own. */
export type Surroundings = {
  /** What is left to spend, by currency. */
  readonly budgetOf: (jobId: JobId) => Readonly<Record<string, BudgetRest>>;
  /** How long pieces of a result may be for who reads them. */
  readonly chunkOf: (job: Job) => ChunkSize | undefined;
  readonly resultBytesMax?: number | undefined;
  /** Whether what a tool threw says that somebody else's limit for spending is reached (ARCP-160). Never throws. */
  readonly isSpendLimit?: ((error: unknown) => boolean) | undefined;
  readonly logger?: Logger | undefined;
  /** Told what a handler threw that is no error of the protocol. Never throws. */
  readonly onAgentError?: ((error: unknown, job: Job) => void) | undefined;
  /** What relative paths are in. */
  readonly workingDirectory?: string | undefined;
  readonly newId: (kind: "result" | "call" | "delegate" | "reservation") => string;
  readonly delegate: (
    parent: Job,
    options: DelegateOptions,
    trace: TraceHeaders | undefined,
  ) => Promise<Delegated>;
  readonly askPerson: (
    attempt: Pick<Attempt, "jobId" | "attempt">,
    wish: Wish,
    signals: Signals,
  ) => Promise<Answered>;
  readonly mayRequestScope?: boolean | undefined;
  readonly credentialsOf: (jobId: JobId) => readonly HeldCredential[];
  readonly rotate: (
    attempt: Pick<Attempt, "jobId" | "attempt">,
    credentialId: string,
    value: string,
    options: { readonly handle?: string },
  ) => Promise<void>;
};

export type RunContextOptions = {
  readonly job: Job;
  readonly attempt: Voice;
  readonly signal: AbortSignal;
  readonly surroundings: Surroundings;
  /** Where in a trace the job is, if someone knows better than whoever asked for it. */
  readonly trace?: (() => TraceHeaders) | undefined;
};

/** The neutral context; a protocol may extend it with names and errors of its own. */
export class RunContext {
  readonly jobId: string;
  /** The session that submitted the job, if one did. */
  readonly sessionId: string | undefined;
  /** The conversation that the job belongs to, if the caller named one. A session of ARCP is one. */
  readonly contextId: string | undefined;
  /** On whose behalf it runs. */
  readonly principal: string;
  /** The name alone, its version, and both. */
  readonly agent: string;
  readonly agentVersion: string | undefined;
  readonly agentRef: string;
  /** What it may do and spend, and until when. */
  readonly grant: { readonly capabilities: Capabilities; readonly expiresAt?: string };
  readonly traceId: string;
  /** Aborts when the job is cancelled, or has ended otherwise. */
  readonly signal: AbortSignal;
  readonly #job: Job;
  readonly #attempt: Voice;
  readonly #surroundings: Surroundings;
  readonly #trace: (() => TraceHeaders) | undefined;
  #logger: Logger | undefined;
  #stream: ResultStream | undefined;
  #questions = 0;

  constructor({ job, attempt, signal, surroundings, trace }: RunContextOptions) {
    const [agent = "", version] = job.agent.split("@");
    const { capabilities, expiresAt } = job.grant;
    this.jobId = job.id;
    this.sessionId = job.sessionIds[0];
    this.contextId = job.contextId;
    this.principal = job.principal;
    this.agent = agent;
    this.agentVersion = version;
    this.agentRef = job.agent;
    this.grant = { capabilities, ...(expiresAt !== undefined && { expiresAt }) };
    this.traceId = traceIdOf(job);
    this.signal = signal;
    this.#job = job;
    this.#attempt = attempt;
    this.#surroundings = surroundings;
    this.#trace = trace;
  }

  /** To whoever runs this agent, each line with the job it is about. Nothing of it is told to callers. */
  get logger(): Logger {
    const { jobId, agentRef: agent } = this;
    this.#logger ??= withFields(this.#surroundings.logger, { jobId, agent });
    return this.#logger;
  }

  /** Where in its trace the job is: for whoever it asks for something. */
  get traceContext(): TraceHeaders {
    return this.#trace?.() ?? this.#job.trace ?? traceHeadersOf(this.traceId);
  }

  emitEvent(kind: string, body: unknown): Promise<void> {
    if (kind === "result_chunk") return this.resultChunk(body as ChunkBody);
    return this.#attempt.emit(kind, body);
  }

  log(
    level: LogLevel,
    message: string,
    attributes?: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    return this.#attempt.emit("log", { level, message, ...(attributes && { attributes }) });
  }

  thought(text: string): Promise<void> {
    return this.#attempt.emit("thought", { text });
  }

  status(phase: string, message?: string): Promise<void> {
    return this.#attempt.emit("status", { phase, ...(message !== undefined && { message }) });
  }

  metric(metric: {
    readonly name: string;
    readonly value: number;
    readonly unit?: string;
    readonly dimensions?: Readonly<Record<string, unknown>>;
  }): Promise<void> {
    return this.#attempt.emit("metric", metric);
  }

  progress(
    current: number,
    more: { readonly total?: number; readonly units?: string; readonly message?: string } = {},
  ): Promise<void> {
    return this.#attempt.emit("progress", { current, ...more });
  }

  /** Emits the next piece of a text that the job is writing. */
  textDelta(text: string): Promise<void> {
    return this.#attempt.emit("text_delta", { text });
  }

  /** Emits a reference to something that the job made. The content is not stored. */
  artifact(artifact: {
    readonly uri: string;
    readonly name?: string;
    readonly mimeType?: string;
    readonly sizeBytes?: number;
    readonly sha256?: string;
  }): Promise<void> {
    const { uri, name, mimeType, sizeBytes, sha256 } = artifact;
    return this.#attempt.emit("artifact", {
      ...(name !== undefined && { name }),
      uri,
      ...(mimeType !== undefined && { mime_type: mimeType }),
      ...(sizeBytes !== undefined && { size_bytes: sizeBytes }),
      ...(sha256 !== undefined && { sha256 }),
    });
  }

  /** Reports an error that does not end the job. */
  error(message: string, code: string | null = null): Promise<void> {
    return this.#attempt.emit("error", { message, code });
  }

  /**
   * Says that a tool is called, and asks whether it may be. One that may not is told as its result too, and
   * rejects (ARCP-201).
   */
  async toolCall(call: {
    readonly tool: string;
    readonly args?: Readonly<Record<string, unknown>>;
    readonly call_id?: string;
  }): Promise<string> {
    const { tool, args, call_id = this.#surroundings.newId("call") } = call;
    await this.#attempt.emit("tool_call", { tool, call_id, ...(args && { args }) });
    try {
      await this.authorize("tool.call", tool);
      return call_id;
    } catch (error) {
      await this.#failTool(call_id, this.understand(error));
      throw error;
    }
  }

  #failTool(call_id: string, error: unknown): Promise<void> {
    const told = toolErrorOf(error);
    return this.#attempt.emit("tool_result", { call_id, error: told });
  }

  toolResult(
    result:
      | { readonly call_id: string; readonly result: unknown }
      | { readonly call_id: string; readonly error: ToolError },
  ): Promise<void> {
    return this.#attempt.emit("tool_result", result);
  }

  /**
   * Emits the call, runs the tool, and emits the result. A cost that `run` reports with `spend` is counted at once,
   * whatever becomes of the tool and the job. With `costMax`, that amount is reserved first, and is counted if `run`
   * reported nothing.
   */
  async callTool<Result>(
    call: {
      readonly tool: string;
      readonly args?: Readonly<Record<string, unknown>>;
      readonly costMax?: Cost;
    },
    run: ToolRun<Result>,
  ): Promise<Result> {
    const call_id = await this.toolCall(call);
    try {
      const result = await this.#within(call.costMax, run);
      await this.#attempt.emit("tool_result", { call_id, result: result ?? null });
      return result;
    } catch (thrown) {
      const error = this.understand(thrown);
      await this.#failTool(call_id, error);
      throw error;
    }
  }

  /**
   * Translates an error of an upstream service that says that its spending limit is reached to `budget_exhausted`.
   * Other errors are returned as they are.
   */
  understand(error: unknown): unknown {
    if (error instanceof WorkError || !this.#surroundings.isSpendLimit?.(error)) return error;
    return new WorkError("budget_exhausted", wordsOf(error, "it is spent"), { cause: error });
  }

  async #within<Result>(costMax: Cost | undefined, run: ToolRun<Result>): Promise<Result> {
    const most = costMax === undefined ? undefined : readAmount(costMax);
    const reservationId = most && (await this.#setAside([most]));
    let hasSpent = false;
    const spend = (cost: Cost): void => {
      requireTaken(this.#attempt.spend([readAmount(cost)], { reservationId }));
      hasSpent = true;
    };
    const settle = async (): Promise<void> => {
      if (!most || reservationId === undefined) return;
      // If the tool reported no cost, the call may have cost all of `costMax`, so all of it is counted.
      requireTaken(await this.#attempt.settle(reservationId, hasSpent ? [] : [most]));
    };
    let result: Result;
    try {
      result = await run(spend, this.traceContext);
    } catch (error) {
      // What it threw says more than that the job is over, and its money settled.
      await settle().catch(() => undefined);
      throw error;
    }
    await settle();
    return result;
  }

  /** Resolves with the target as it was compared, which is the one to use; rejects if it is not allowed. */
  authorize(capability: string, target: string): Promise<string> {
    return this.#attempt.authorise({ capability, target });
  }

  /** All of a file that the job may read: what a link leads to counts, not its name. */
  readFile(path: string): Promise<Buffer>;
  readFile(path: string, encoding: BufferEncoding): Promise<string>;
  async readFile(path: string, encoding?: BufferEncoding): Promise<Buffer | string> {
    const data = await readFileWithin(this.#guard, path);
    return encoding === undefined ? data : data.toString(encoding);
  }

  /** In place of what it held. Its directory must be there. */
  writeFile(path: string, data: string | Uint8Array): Promise<void> {
    return writeFileWithin(this.#guard, path, data);
  }

  /**
   * Like the global `fetch`, for URLs that the job's grant allows; each redirection is checked too. It sends the trace
   * headers of the job. Patterns match host names. It connects to an address that is not public only if a pattern
   * names it literally (`http://127.0.0.1:8080/**`, `http://localhost/**`), and otherwise rejects with
   * `permission_denied`. No proxy is used.
   */
  fetch(url: string | URL, init?: RequestInit): Promise<Response> {
    return fetchWithin(this.#guard, url, init);
  }

  get #guard(): Guard {
    const { signal, traceContext } = this;
    const { workingDirectory } = this.#surroundings;
    const authorize: Guard["authorize"] = (capability, target) =>
      this.authorize(capability, target);
    const { capabilities } = this.#job.grant;
    const isNamed = (url: string): boolean => namesAddress(capabilities, url);
    return { authorize, namesAddress: isNamed, workingDirectory, signal, traceContext };
  }

  async authorizeModel(model: string): Promise<void> {
    await this.authorize("model.use", model);
  }

  /** Sets money aside for work that costs at most that, until what it answers is settled. */
  async reserve(...most: Cost[]): Promise<{ settle: (...actual: Cost[]) => Promise<void> }> {
    const id = await this.#setAside(most.map(readAmount));
    return {
      settle: async (...actual) =>
        requireTaken(await this.#attempt.settle(id, actual.map(readAmount))),
    };
  }

  async #setAside(amounts: readonly Amount[]): Promise<string> {
    const id = this.#surroundings.newId("reservation");
    requireTaken(await this.#attempt.reserve(id, amounts));
    return id;
  }

  /** The result, in pieces. The same one however often it is asked for. */
  streamResult({ resultId }: { readonly resultId?: string } = {}): ResultStream {
    const id = resultId ?? this.#stream?.resultId ?? this.#surroundings.newId("result");
    const { chunkOf, resultBytesMax: bytesMax } = this.#surroundings;
    this.#stream ??= new ResultStream(id, (body) => this.#attempt.emit("result_chunk", body), {
      chunk: chunkOf(this.#job),
      bytesMax,
    });
    if (this.#stream.resultId === id) return this.#stream;
    const message = `the job already streams a result with the id ${this.#stream.resultId}; a job can have only one`;
    throw new WorkError("invalid_argument", message);
  }

  async resultChunk(chunk: ChunkBody): Promise<void> {
    await this.streamResult({ resultId: chunk.result_id }).put(chunk);
  }

  /** What is left to spend just now, by currency. Below zero if more was spent than there was. */
  get budget(): Readonly<Record<string, BudgetRest>> {
    return this.#surroundings.budgetOf(this.#attempt.jobId);
  }

  /** Those that were made for this job, with their newest values. */
  get credentials(): readonly HeldCredential[] {
    return this.#surroundings.credentialsOf(this.#attempt.jobId);
  }

  /**
   * Tells whoever asked for this job a newer value of a credential; the older one is revoked. `handle` is what the
   * provisioner will know the newer one by, if that is new too.
   */
  rotateCredential(
    id: string,
    value: string,
    options: { readonly handle?: string } = {},
  ): Promise<void> {
    return this.#surroundings.rotate(this.#attempt, id, value, options);
  }

  /** Asks another agent to do something, within what this job may do itself. */
  delegate(options: DelegateOptions): Promise<Delegated> {
    return this.#surroundings.delegate(this.#job, options, this.#trace?.());
  }

  /**
   * Asks a person, and resolves with the first valid answer: a text, one of `choices`, or JSON that `schema` allows.
   * While it waits, another job can run in its place. A job that runs again gets the stored answer. Rejects with
   * `ask_timeout` if nobody answers in time, with `question_closed` if an earlier attempt withdrew the question, with
   * `key_reused` if it asked something else under the same key, and with the signal's reason.
   */
  ask(prompt: string, options?: AskOptions): Promise<string>;
  ask(prompt: string, options: AskSchemaOptions): Promise<unknown>;
  async ask(prompt: string, options: AskOptions | AskSchemaOptions = {}): Promise<unknown> {
    const wish = readAsk(this.#nextKey(), prompt, options);
    const { answer } = await this.#askPerson(wish, options.signal);
    return JSON.parse(answer);
  }

  /**
   * Asks a person for more access than the job has. Resolves with what was granted; rejects with `permission_denied` if
   * that is denied, and else as `ask` does. The grant is for what the agent does itself: what `authorize`, `readFile`,
   * `writeFile` and `fetch` allow stays the same.
   */
  async requestScope(request: ScopeRequestOptions): Promise<GrantedScope> {
    requireMayRequestScope(this.agentRef, this.#surroundings.mayRequestScope);
    const wish = readScopeRequest(this.#nextKey(), request);
    return grantedOf(await this.#askPerson(wish, request.signal), wish.expects.scope);
  }

  /** The default key of the next question. Each attempt counts from 1. */
  #nextKey(): string {
    this.#questions += 1;
    return `#${this.#questions}`;
  }

  #askPerson(wish: Wish, given: AbortSignal | undefined): Promise<Answered> {
    const signals = { signal: this.signal, given };
    return this.#surroundings.askPerson(this.#attempt, wish, signals);
  }

  /** What was streamed, if anything was. For who runs the handler. */
  get streamed(): ResultStream | undefined {
    return this.#stream;
  }
}

function requireTaken(refusal: Refusal | undefined): void {
  if (refusal) throw toWorkError(refusal);
}

export function restOf(rest: Decimal): BudgetRest {
  return { decimal: printDecimal(rest), value: toNumber(rest) };
}
