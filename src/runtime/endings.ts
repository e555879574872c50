/** How jobs ended: told to whoever waits for it, or found in the log. */
import type { Event, JobId, Outcome } from "../core/index.ts";
import type { Plane } from "../plane/index.ts";
import { Assembly, readChunk } from "../wire/work/index.ts";
import { failureError, WorkError } from "./errors.ts";

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

  /** The same, also where it has ended already. Rejects with `job_not_found` if it is not remembered. */
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
    throw new WorkError("job_not_found", `there is no job ${jobId}`);
  }

  /** What it came to; rejects as it failed. */
  async resultOf(jobId: JobId): Promise<unknown> {
    const outcome = await this.#outcomeOf(jobId);
    if (outcome.status !== "success") throw failureError(outcome.failure);
    const { streamed, result } = outcome;
    if (!streamed) return result === undefined ? undefined : JSON.parse(result);
    const told = this.#plane.stream(`job/${jobId}`);
    const { value, problem } = await assembleResult(told, streamed.resultId);
    if (problem) throw new WorkError("internal_error", problem.message);
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
    const chunk = readChunk(JSON.parse(event.body));
    if (chunk) assembly.add(chunk);
  }
  return assembly.finish();
}
