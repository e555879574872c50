/**
 * Asks the runtime whether it still knows jobs that we wait for. Some runtimes forget a job without a word: every job
 * when a connection drops, or a job that has ended and is submitted again under its key. Nothing more would come of such
 * a job, and whoever waits for its end would wait for ever (ARCP-208). A runtime that lists no jobs is asked by a
 * subscription. One that has no subscriptions either cannot be asked: there a forgotten job looks like one that is silent.
 */
import { limits } from "./limits.ts";
import { isFinished } from "./python-peer.ts";
import type { Timekeeper } from "./time.ts";

/** What a roll call needs from its session. */
export interface RollCallSession {
  /** Whether somebody waits for the job, and the runtime can be asked. */
  isOpen(jobId: string): boolean;
  /** Whether the runtime lists jobs. */
  readonly isListing: boolean;
  /** Undefined, if the runtime lists more jobs than we read. */
  statusesOf(jobIds: readonly string[]): Promise<ReadonlyMap<string, string> | undefined>;
  /** The runtime does not know the job, or does not say how it ended. */
  lost(jobId: string): void;
  /** Subscribes to the job: a runtime that does not know it refuses. Does nothing without subscriptions. */
  probe(jobId: string): void;
}

export class RollCall {
  readonly #session: RollCallSession;
  readonly #time: Timekeeper;
  /** How many more times the runtime is asked for each job. */
  readonly #doubted = new Map<string, number>();

  constructor(session: RollCallSession, time: Timekeeper) {
    this.#session = session;
    this.#time = time;
  }

  /** Schedules a question to the runtime about this job, together with others. */
  doubt(jobId: string, calls: number = limits.rollCalls): void {
    if (this.#doubted.size === 0) {
      this.#time.later(() => {
        this.#call().catch(() => {});
      }, limits.rollCallMs);
    }
    this.#doubted.set(jobId, calls);
  }

  /** Rejects if the runtime cannot be asked. Then no job counts as lost. */
  async #call(): Promise<void> {
    const doubted = [...this.#doubted].filter(([jobId]) => this.#session.isOpen(jobId));
    this.#doubted.clear();
    if (doubted.length === 0) return;
    if (!this.#session.isListing) {
      for (const [jobId] of doubted) this.#session.probe(jobId);
      return;
    }
    const statuses = await this.#session.statusesOf(doubted.map(([jobId]) => jobId));
    if (!statuses) return;
    for (const [jobId, calls] of doubted) {
      const status = statuses.get(jobId);
      if (status !== undefined && !isFinished(status)) continue;
      // The job has ended, and its last event may still be on its way.
      if (status !== undefined && calls > 1) this.doubt(jobId, calls - 1);
      else if (this.#session.isOpen(jobId)) this.#session.lost(jobId);
    }
  }
}
