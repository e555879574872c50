/** Who waits for a worker, which workers have room, and who has what. Whether a job can be started is not known here. */
import type { Job, JobId } from "../core/index.ts";
import { fullName } from "./catalogue.ts";
import type { Worker } from "./worker.ts";

/** A job whose turn it is, and who is to do it. */
export type Turn = { readonly jobId: JobId; readonly worker: Worker };

export class Line {
  /** By the agent's full name, oldest first. */
  readonly #waiting = new Map<string, Set<JobId>>();
  readonly #workers = new Map<Worker, Set<JobId>>();
  /** By the full name of what they offer, in the order in which they came. */
  readonly #offering = new Map<string, Set<Worker>>();
  readonly #runs = new Map<JobId, Worker>();
  /** Jobs that have paused, and wait for a slot at their worker to go on; the first in line first. */
  readonly #returning = new Map<Worker, Map<JobId, PromiseWithResolvers<void>>>();

  /** Until what it answers is disposed; what the worker has then, it keeps. `has`: what it has already. */
  addWorker(worker: Worker, has: readonly JobId[]): Disposable {
    this.#workers.set(worker, new Set(has));
    const names = worker.offers.map(fullName);
    for (const name of names) {
      this.#offering.set(name, (this.#offering.get(name) ?? new Set()).add(worker));
    }
    for (const jobId of has) this.#runs.set(jobId, worker);
    return {
      [Symbol.dispose]: () => {
        this.#workers.delete(worker);
        this.#readmit(worker);
        for (const name of names) {
          const others = this.#offering.get(name);
          others?.delete(worker);
          if (others?.size === 0) this.#offering.delete(name);
        }
      },
    };
  }

  /** It is the last in line. */
  join({ id, agent }: Job): void {
    const waiting = this.#waiting.get(agent) ?? new Set();
    this.#waiting.set(agent, waiting.add(id));
  }

  /** It waits no more, if it did. */
  leave(id: JobId): void {
    for (const [agent, waiting] of this.#waiting) {
      if (waiting.delete(id) && waiting.size === 0) this.#waiting.delete(agent);
    }
  }

  /** Takes the oldest job that waits for this agent out of the line, and gives it to a worker, if one has room. */
  next(agent: string): Turn | undefined {
    const waiting = this.#waiting.get(agent);
    const [jobId] = waiting ?? [];
    const worker = jobId === undefined ? undefined : this.#freest(agent);
    if (!waiting || jobId === undefined || !worker) return undefined;
    waiting.delete(jobId);
    if (waiting.size === 0) this.#waiting.delete(agent);
    this.#workers.get(worker)?.add(jobId);
    this.#runs.set(jobId, worker);
    return { jobId, worker };
  }

  /** The one with the largest part of its room free, so that none idles while another is full. */
  #freest(agent: string): Worker | undefined {
    let best: { readonly worker: Worker; readonly free: number } | undefined;
    for (const worker of this.#offering.get(agent) ?? []) {
      if (worker.takesJobs === false) continue;
      const jobs = this.#workers.get(worker)?.size ?? 0;
      const free = 1 - jobs / worker.jobsAtOnce;
      if (free > (best?.free ?? 0)) best = { worker, free };
    }
    return best?.worker;
  }

  /** How many workers that offer an agent take jobs now. */
  workersOf(agent: string): number {
    const offering = [...(this.#offering.get(agent) ?? [])];
    return offering.filter(({ jobsAtOnce, takesJobs }) => jobsAtOnce > 0 && takesJobs !== false)
      .length;
  }

  workerOf(jobId: JobId): Worker | undefined {
    return this.#runs.get(jobId);
  }

  /** All that workers have. */
  turns(): readonly Turn[] {
    return [...this.#runs].map(([jobId, worker]) => ({ jobId, worker }));
  }

  /** Its worker has it no more, and room for another. Answers who that was. */
  release(jobId: JobId): Worker | undefined {
    const worker = this.#runs.get(jobId);
    this.#runs.delete(jobId);
    if (!worker) return undefined;
    this.#workers.get(worker)?.delete(jobId);
    this.#settle(worker, jobId);
    this.#readmit(worker);
    return worker;
  }

  /** Its worker keeps it, and has room for another meanwhile. If the job waits for a slot, it stops waiting. */
  pause(jobId: JobId): void {
    const worker = this.#runs.get(jobId);
    if (!worker) return;
    this.#workers.get(worker)?.delete(jobId);
    this.#settle(worker, jobId);
    this.#readmit(worker);
  }

  /** It goes on when its worker has room: before jobs that have not begun. `now`: without waiting for that. */
  resume(jobId: JobId, how?: "now"): Promise<void> | undefined {
    const worker = this.#runs.get(jobId);
    const jobs = worker && this.#workers.get(worker);
    if (!worker || !jobs || jobs.has(jobId)) return undefined;
    if (how === "now") {
      jobs.add(jobId);
      this.#settle(worker, jobId);
      return undefined;
    }
    const returning = this.#returning.get(worker) ?? new Map<JobId, PromiseWithResolvers<void>>();
    this.#returning.set(worker, returning);
    const place = returning.get(jobId) ?? Promise.withResolvers<void>();
    returning.set(jobId, place);
    this.#readmit(worker);
    return place.promise;
  }

  /**
   * Gives the worker's free slots to its paused jobs that can continue. If the worker has been removed, all of them
   * continue at once.
   */
  #readmit(worker: Worker): void {
    const jobs = this.#workers.get(worker);
    for (const jobId of [...(this.#returning.get(worker)?.keys() ?? [])]) {
      if (jobs && jobs.size >= worker.jobsAtOnce) return;
      jobs?.add(jobId);
      this.#settle(worker, jobId);
    }
  }

  /** It waits for a slot no more, if it did. */
  #settle(worker: Worker, jobId: JobId): void {
    const returning = this.#returning.get(worker);
    returning?.get(jobId)?.resolve();
    returning?.delete(jobId);
    if (returning?.size === 0) this.#returning.delete(worker);
  }
}
