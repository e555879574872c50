/** How jobs ended: told to whoever waits for it, or found in the log. */
import type { Event, JobId, Outcome } from "../core/index.ts";
import type { Plane } from "../plane/index.ts";
import { ArcpError, Assembly, type JsonObject, normaliseBody } from "../wire/arcp/index.ts";
import { codeOf } from "./errors.ts";

export class Endings {
  readonly #plane: Plane;
  readonly #awaited = new Map<JobId, ((outcome: Outcome) => void)[]>();

  constructor(plane: Plane) {
    this.#plane = plane;
  }

  /** Resolves when the job ends. */
  next(jobId: JobId): Promise<Outcome> {
    return new Promise((resolve) => {
      const waiting = this.#awaited.get(jobId) ?? [];
      waiting.push(resolve);
      this.#awaited.set(jobId, waiting);
    });
  }

  /** It has ended. */
  tell(jobId: JobId, outcome: Outcome): void {
    for (const tell of this.#awaited.get(jobId) ?? []) tell(outcome);
    this.#awaited.delete(jobId);
  }

  /** The same, also where it has ended already. Rejects with `JOB_NOT_FOUND` if it is not remembered. */
  async #outcomeOf(jobId: JobId): Promise<Outcome> {
    const job = this.#plane.peek(({ jobs }) => jobs.byId.get(jobId));
    if (job && job.state !== "ended") return await this.next(jobId);
    await this.#plane.read(() => undefined);
    const afterSequence = job && job.endedSequence - 1;
    const told =
      afterSequence === undefined ? [] : this.#plane.stream(`job/${jobId}`, { afterSequence });
    for await (const { event } of told) {
      if (event.type === "job.ended") return event.outcome;
    }
    throw new ArcpError("JOB_NOT_FOUND", `there is no job ${jobId}`);
  }

  /** What it came to; rejects as it failed. */
  async resultOf(jobId: JobId): Promise<unknown> {
    const outcome = await this.#outcomeOf(jobId);
    if (outcome.status !== "success") {
      const { message, isRetryable, details } = outcome.failure;
      const code = codeOf(outcome.failure);
      const more: JsonObject | undefined = details === undefined ? undefined : JSON.parse(details);
      throw new ArcpError(code, message, { retryable: isRetryable, details: more });
    }
    const { streamed, result } = outcome;
    if (!streamed) return result === undefined ? undefined : JSON.parse(result);
    const told = this.#plane.stream(`job/${jobId}`);
    const { value, problem } = await assembleResult(told, streamed.resultId);
    if (problem) throw new ArcpError("INTERNAL_ERROR", problem.message);
    return value;
  }
}

type Assembled = ReturnType<Assembly["finish"]>;

/** A streamed result in one piece, out of what a job's stream tells of it. */
export async function assembleResult(
  told: AsyncIterable<{ readonly event: Event }>,
  resultId: string,
): Promise<Assembled> {
  const assembly = new Assembly(resultId);
  for await (const { event } of told) {
    if (event.type !== "job.emitted" || event.kind !== "result_chunk") continue;
    const chunk = normaliseBody(event.kind, JSON.parse(event.body));
    if (chunk?.kind === "result_chunk") assembly.add(chunk);
  }
  return assembly.finish();
}
