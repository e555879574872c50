/**
 * Jobs at a glance: how many stand where, and what each that runs has said last of how far it is and what it does.
 * The latter is soft: a view that was built anew knows what was said when it is said again.
 */
import type {
  EndStatus,
  Event,
  Job,
  JobEvent,
  JobId,
  Question,
  QuestionId,
  State,
} from "../core/index.ts";
import { limits } from "./limits.ts";
import type { View } from "./view.ts";

/** Where a job stands that was accepted. */
export type JobStanding = "pending" | "running" | "waiting" | EndStatus;

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
  /** The state of each job, except whether it waits for an answer. */
  readonly #standings = new Map<JobId, Exclude<JobStanding, "waiting">>();
  /** The open questions of each job that has some. */
  readonly #questions = new Map<JobId, Set<QuestionId>>();
  readonly #words = new Map<JobId, LastWords>();
  #counts = noJobs();

  get counts(): Readonly<Record<JobStanding, number>> {
    return this.#counts;
  }

  wordsOf(jobId: JobId): LastWords {
    return this.#words.get(jobId) ?? {};
  }

  reset({ jobs, questions }: State): void {
    this.#standings.clear();
    this.#questions.clear();
    this.#words.clear();
    this.#counts = noJobs();
    for (const job of jobs.byId.values()) this.#place(job.id, standingOf(job));
    for (const id of questions.open) {
      const question = questions.byId.get(id);
      if (question) this.#follow(question);
    }
  }

  apply(event: Event): void {
    if (isJobEvent(event)) this.#hear(event);
    else if ("question" in event) this.#follow(event.question);
  }

  #follow({ id, asker, state }: Question): void {
    if (asker.of !== "job") return;
    const { jobId } = asker;
    this.#recount(jobId, () => {
      const open = this.#questions.get(jobId) ?? new Set();
      if (state === "open") open.add(id);
      else open.delete(id);
      if (open.size === 0) this.#questions.delete(jobId);
      else this.#questions.set(jobId, open);
    });
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
      case "job.spent":
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

  #place(jobId: JobId, standing: Exclude<JobStanding, "waiting"> | undefined): void {
    this.#recount(jobId, () => {
      if (standing === undefined) this.#standings.delete(jobId);
      else this.#standings.set(jobId, standing);
    });
  }

  #recount(jobId: JobId, change: () => void): void {
    const before = this.#shown(jobId);
    if (before !== undefined) this.#counts[before] -= 1;
    change();
    const after = this.#shown(jobId);
    if (after !== undefined) this.#counts[after] += 1;
  }

  #shown(jobId: JobId): JobStanding | undefined {
    const standing = this.#standings.get(jobId);
    const isUnfinished = standing === "pending" || standing === "running";
    return isUnfinished && this.#questions.has(jobId) ? "waiting" : standing;
  }
}

function isJobEvent(event: Event): event is JobEvent {
  return event.type.startsWith("job.");
}

function standingOf(job: Job): Exclude<JobStanding, "waiting"> | undefined {
  if (job.state === "preparing") return undefined;
  return job.state === "ended" ? job.status : job.state;
}

function noJobs(): Record<JobStanding, number> {
  return { pending: 0, running: 0, waiting: 0, success: 0, error: 0, cancelled: 0, timed_out: 0 };
}
