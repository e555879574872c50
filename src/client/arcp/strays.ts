/**
 * Events of jobs that nobody has told us of yet. An acceptance that was lost with its connection is sent again
 * when its submit is, but what happened to the job since then is replayed before that (ARCP-64, 68).
 */
import type { Envelope } from "../../wire/arcp/index.ts";
import { limits } from "./limits.ts";

export class Strays {
  readonly #byJob = new Map<string, Envelope[]>();
  #count = 0;

  /** Whether there was room for it. */
  keep(jobId: string, envelope: Envelope): boolean {
    if (this.#count >= limits.straysMax) return false;
    const kept = this.#byJob.get(jobId) ?? [];
    kept.push(envelope);
    this.#byJob.set(jobId, kept);
    this.#count += 1;
    return true;
  }

  /** In the order of their coming. */
  claim(jobId: string): readonly Envelope[] {
    const kept = this.#byJob.get(jobId) ?? [];
    this.#byJob.delete(jobId);
    this.#count -= kept.length;
    return kept;
  }

  clear(): void {
    this.#byJob.clear();
    this.#count = 0;
  }
}
