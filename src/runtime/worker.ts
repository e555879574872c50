/** Who executes jobs, as the runtime sees it. One may be a part of this process, a child of it, or far away. */
import type { Job } from "../core/index.ts";
import type { TraceHeaders } from "../wire/work/index.ts";
import type { Attempt } from "./attempt.ts";
import type { Offer } from "./catalogue.ts";

/** A job that was started, and is kept as started. */
export type Work = {
  readonly job: Job;
  /** JSON. */
  readonly input: string;
  readonly attempt: Attempt;
  /** Where in a trace the job is, whenever that is asked. */
  readonly trace?: () => TraceHeaders;
};

export interface Worker {
  readonly id: string;
  /** Whether it may outlive this process, and come back to what it had. */
  readonly isRemote: boolean;
  readonly offers: readonly Offer[];
  /** How many jobs it runs at a time. Jobs that wait for a person do not count. */
  readonly jobsAtOnce: number;
  /** False while the worker gets no new jobs because it is disconnected or leaving. Its current jobs go on. */
  readonly takesJobs?: boolean;
  run(work: Work): void;
  /** The job is to end soon, whatever it has come to. */
  cancel(jobId: string, reason: string): void;
  /** The job has ended, or is another's. Its attempt is closed: nothing of what it says is heard any more. */
  drop(jobId: string): void;
}
