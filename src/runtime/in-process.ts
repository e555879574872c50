/** A worker that is part of this process: handlers, called. */
import type { Outcome } from "../core/index.ts";
import type { Clock } from "../plane/index.ts";
import type { JsonObject } from "../wire/work/index.ts";
import type { Attempt } from "./attempt.ts";
import { fullName, type Offer } from "./catalogue.ts";
import type { RunContext, RunContextOptions, Surroundings } from "./context.ts";
import { WorkError, wordsOf } from "./errors.ts";
import { limits } from "./limits.ts";
import { printResult } from "./printing.ts";
import { pausing, TimeLimit } from "./time-limit.ts";
import type { Work, Worker } from "./worker.ts";

/** Resolves with the result. Throws a `WorkError` to fail with a code. */
export type Handler<Context extends RunContext = RunContext> = (
  input: unknown,
  context: Context,
) => unknown;

export type ContextOf<Context extends RunContext> = (options: RunContextOptions) => Context;

export class InProcessWorker<Context extends RunContext> implements Worker {
  readonly id: string;
  readonly isRemote = false;
  readonly offers: readonly Offer[];
  readonly jobsAtOnce: number;
  readonly #handler: Handler<Context>;
  readonly #contextOf: ContextOf<Context>;
  readonly #surroundings: Surroundings;
  readonly #clock: Clock;
  readonly #timeoutMs: number | undefined;
  readonly #running = new Map<string, AbortController>();

  constructor(
    offer: Offer,
    handler: Handler<Context>,
    {
      surroundings,
      contextOf,
      clock,
      jobsAtOnce = limits.jobsAtOnce,
      timeoutMs,
    }: {
      readonly surroundings: Surroundings;
      readonly contextOf: ContextOf<Context>;
      readonly clock: Clock;
      readonly jobsAtOnce?: number | undefined;
      readonly timeoutMs?: number | undefined;
    },
  ) {
    this.id = `local/${fullName(offer)}`;
    this.offers = [offer];
    this.jobsAtOnce = jobsAtOnce;
    this.#handler = handler;
    this.#surroundings = surroundings;
    this.#contextOf = contextOf;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  run({ job, input, attempt, trace }: Work): void {
    const controller = new AbortController();
    const { signal } = controller;
    const limit = this.#limit(attempt, controller);
    const surroundings = limit ? pausing(limit, this.#surroundings) : this.#surroundings;
    const context = this.#contextOf({ job, attempt, signal, surroundings, trace });
    this.#running.set(job.id, controller);
    const onError = (error: unknown): void => {
      context.logger.error(`agent ${job.agent} failed in ${job.id}`, { error });
      surroundings.onAgentError?.(error, job);
    };
    void execute(this.#handler, input, context, onError).then((outcome) => {
      limit?.[Symbol.dispose]();
      return attempt.end(limit?.outcome ?? outcome);
    });
  }

  #limit(attempt: Attempt, controller: AbortController): TimeLimit | undefined {
    if (this.#timeoutMs === undefined) return undefined;
    return new TimeLimit({
      ms: this.#timeoutMs,
      clock: this.#clock,
      abort: (reason) => controller.abort(reason),
      end: (outcome) => void attempt.end(outcome),
    });
  }

  cancel(jobId: string, reason: string): void {
    this.#running.get(jobId)?.abort(new DOMException(reason || "cancelled", "AbortError"));
  }

  drop(jobId: string): void {
    const controller = this.#running.get(jobId);
    this.#running.delete(jobId);
    controller?.abort(hasEnded);
  }
}

/** The same for all: each job has an end, and making one takes microseconds. */
const hasEnded = new DOMException("the job has ended", "AbortError");

/** Never throws: whatever a handler does, the job has an outcome. The input is JSON. */
export async function execute<Context extends RunContext>(
  handler: Handler<Context>,
  input: string,
  context: Context,
  onError?: (error: unknown) => void,
): Promise<Outcome> {
  try {
    const value = await handler(JSON.parse(input), context);
    const { streamed } = context;
    if (streamed) {
      if (value !== undefined && value !== null) await context.log("warn", leftOut);
      await streamed.finalize();
      const { resultId, bytes, summary } = streamed;
      return {
        status: "success",
        streamed: { resultId, bytes },
        ...(summary !== undefined && { summary }),
      };
    }
    return value === undefined
      ? { status: "success" }
      : { status: "success", result: printResult(value) };
  } catch (error) {
    try {
      const understood = context.understand(error);
      // Where it was thrown is told to whoever runs the agent, and to nobody else (ARCP-105).
      if (!(understood instanceof WorkError) && !context.signal.aborted) onError?.(error);
      return failedBy(understood);
    } catch {
      // It is nothing that can be looked at.
      return failedBy(undefined);
    }
  }
}

const leftOut = "what the agent returned is left out, because its result was streamed";

/** Its code and its words; stacks stay with whoever runs this process. */
function failedBy(error: unknown): Outcome {
  if (error instanceof WorkError) {
    const { toldCode: code, retryable, details } = error;
    const message = wordsOf(error, code);
    const more = details && printDetails(details);
    return { status: "error", failure: { code, message, isRetryable: retryable, ...more } };
  }
  const message = wordsOf(error, "it failed");
  return { status: "error", failure: { code: "internal_error", message, isRetryable: true } };
}

/** Without those that JSON cannot carry: the code and the words count for more. */
function printDetails(details: JsonObject): { readonly details?: string } {
  try {
    return { details: JSON.stringify(details) };
  } catch {
    return {};
  }
}
