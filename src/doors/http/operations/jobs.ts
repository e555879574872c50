/** Jobs: what runs, what it says and spends, and to end it. */
import { createHash } from "node:crypto";
import { type Job, jobId, type Key } from "../../../core/index.ts";
import type { Outcome } from "../../../plane/index.ts";
import type { Input } from "../../../wire/api/index.ts";
import { canonicalJson } from "../../../wire/arcp/index.ts";
import { encodeJob } from "../encode-job.ts";
import { getJob, listJobEvents, listJobs, type WorkParts } from "../jobs.ts";
import { limits } from "../limits.ts";
import type { Handlers } from "../operations.ts";
import { answer, refused, submit } from "./answer.ts";

/** Submits a job for the caller; on whose behalf is decided where the door is opened. */
export type SubmitJob = (request: {
  readonly agent: string;
  /** JSON. */
  readonly input: string;
  readonly capabilities?: unknown;
  readonly expiresAt?: string;
  readonly runMsMax?: number;
  readonly contextId?: string;
  readonly key?: Key;
}) => Promise<Outcome<{ readonly job: Job }>>;

export function jobHandlers({
  submitJob,
  ...parts
}: WorkParts & { readonly submitJob?: SubmitJob }): Pick<
  Handlers,
  "listJobs" | "submitJob" | "getJob" | "listJobEvents" | "cancelJob"
> {
  const { plane } = parts;
  return {
    listJobs: (input, call) => listJobs(parts, input, call),
    getJob: (input, call) => getJob(parts, input, call),
    listJobEvents: (input, call) => listJobEvents(parts, input, call),
    submitJob: async (asked, { key }) => {
      if (!submitJob) {
        const message = "jobs are not taken over HTTP here; submit them over ARCP";
        return refused("skill_not_found", message);
      }
      const { input = null, ...rest } = asked;
      const named =
        key === undefined ? {} : { key: { text: key, fingerprint: fingerprintOf(asked) } };
      const outcome = await submitJob({ ...rest, input: JSON.stringify(input), ...named });
      if (outcome.refusal) return answer(plane, outcome);
      const { job } = outcome.value;
      return { value: await plane.read((state) => encodeJob(state, parts, job)) };
    },
    cancelJob: async ({ jobId: id, reason = "" }, { caller }) => {
      const wish = { jobId: jobId(id), reason, graceMs: limits.cancelGraceMs };
      return submit(plane, { type: "job.cancel", ...wish }, caller, (state) => {
        const job = state.jobs.byId.get(wish.jobId);
        return job && encodeJob(state, parts, job);
      });
    },
  };
}

/** Of all that was asked for: the same key for something else is refused. */
function fingerprintOf({ agent, input = null, ...rest }: Input<"submitJob">): string {
  const whole = canonicalJson({ agent, input, ...rest });
  return createHash("sha256").update(whole).digest("hex");
}
