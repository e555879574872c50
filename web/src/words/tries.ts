/** How often a task was tried, which is not how often it was claimed: a claim may run out untried. */
import type { Task } from "../api.ts";

/** "1 of 3"; nothing if it was never tried. */
export function triesOf(task: Task): string {
  const tries = triesSoFar(task);
  return tries === 0 ? "" : `${tries} of ${task.maxRetries + 1}`;
}

/** "2 of 5 ×", if that is not what its tries already say. */
export function claimsOf(task: Task): string | undefined {
  const { deliveries, deliveriesMax } = task;
  if (deliveriesMax > 0) return `${deliveries} of ${deliveriesMax} ×`;
  return deliveries === triesSoFar(task) ? undefined : `${deliveries} ×`;
}

/** A task that waits was tried as often as it failed; the try that it is in, or ended in, counts too. */
function triesSoFar({ state, retryCount, deliveries }: Task): number {
  switch (state) {
    case "pending":
    case "delayed":
      return retryCount;
    case "claimed":
    case "completed":
    case "dead":
      return retryCount + 1;
    case "cancelled":
      return Math.min(retryCount + 1, deliveries);
  }
}
