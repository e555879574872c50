/** The trace that a job belongs to, also where the caller named none. */
import { createHash } from "node:crypto";
import type { Job } from "../core/index.ts";

/**
 * The caller's trace id, or one made from the job id. The second is the same in every attempt and after a restart, so
 * that it need not be stored.
 */
export function traceIdOf({ id, traceId }: Pick<Job, "id" | "traceId">): string {
  return traceId ?? createHash("sha256").update(id).digest("hex").slice(0, 32);
}
