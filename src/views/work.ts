/**
 * Jobs at a glance: how many stand where, and what each that runs has said last of how far it is and what it does.
 * What was said is soft: a view that was built anew knows it again when it is said again.
 */
import type { EndStatus, Event, Job, JobEvent, JobId, State } from "../core/index.ts";
import { limits } from "./limits.ts";
import type { View } from "./view.ts";

/** Where a job stands that was accepted. */
export type JobStanding = "pending" | "running" | EndStatus;

export type LastWords = {
  /** The body of its last event of this kind, as JSON. */
  readonly progress?: string;
  /** The last event that says what it does. */
  readonly doing?: { readonly kind: string; readonly body: string };
};

/** Kinds that say what a job does. */
const doingKinds: ReadonlySet<string> = new Set([
  "status",
  "thought",
  "log",
  "tool_call",
  "delegate",
]);

export class WorkView implements View {
  readonly #standings = new Map<JobId, JobStanding>();
  readonly #words = new Map<JobId, LastWords>();
  #counts = noJobs();

  get counts(): Readonly<Record<JobStanding, number>> {
    return this.#counts;
  }

  wordsOf(jobId: JobId): LastWords {
    return this.#words.get(jobId) ?? {};
  }

  reset({ jobs }: State): void {
    this.#standings.clear();
    this.#words.clear();
    this.#counts = noJobs();
    for (const job of jobs.byId.values()) this.#place(job.id, standingOf(job));
  }

  apply(event: Event): void {
    if (isJobEvent(event)) this.#hear(event);
  }

  #hear(event: JobEvent): void {
    switch (event.type) {
      case "job.accepted":
        return this.#place(event.job.id, "pending");
      case "job.started":
        this.#words.delete(event.jobId);
        return this.#place(event.jobId, "running");
      case "job.offered":
        this.#words.delete(event.jobId);
        return this.#place(event.jobId, "pending");
      case "job.ended":
        this.#words.delete(event.jobId);
        return this.#place(event.jobId, event.outcome.status);
      case "job.withdrawn":
      case "job.forgotten":
        return this.#place(event.jobId, undefined);
      case "job.emitted":
        return this.#listen(event);
      case "job.preparing":
      case "job.joined":
      case "job.reserved":
      case "job.settled":
      case "job.cancelling":
      case "job.orphaned":
      case "job.reclaimed":
        return;
    }
  }

  /** Bodies are read by whoever looks, which is seldom beside how often jobs speak. */
  #listen({ jobId, kind, body }: JobEvent & { readonly type: "job.emitted" }): void {
    if (body.length > limits.wordsLengthMax) return;
    const words = this.#words.get(jobId);
    if (kind === "progress") this.#words.set(jobId, { ...words, progress: body });
    else if (doingKinds.has(kind)) this.#words.set(jobId, { ...words, doing: { kind, body } });
  }

  #place(jobId: JobId, standing: JobStanding | undefined): void {
    const before = this.#standings.get(jobId);
    if (before !== undefined) this.#counts[before] -= 1;
    if (standing === undefined) {
      this.#standings.delete(jobId);
      return;
    }
    this.#standings.set(jobId, standing);
    this.#counts[standing] += 1;
  }
}

function isJobEvent(event: Event): event is JobEvent {
  return event.type.startsWith("job.");
}

function standingOf(job: Job): JobStanding | undefined {
  if (job.state === "preparing") return undefined;
  return job.state === "ended" ? job.status : job.state;
}

function noJobs(): Record<JobStanding, number> {
  return { pending: 0, running: 0, success: 0, error: 0, cancelled: 0, timed_out: 0 };
}
