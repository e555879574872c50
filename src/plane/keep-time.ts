/** The one timer of the plane. */
import type { Clock } from "./clock.ts";
import { limits } from "./limits.ts";
import type { Plane } from "./plane.ts";

/** Ends what falls due until the signal aborts. */
export async function keepTime(plane: Plane, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const wakeAtMs = Math.min(plane.nextDueAtMs(), clock.nowMs() + limits.sleepMsMax);
    try {
      await clock.until(wakeAtMs, signal);
    } catch (reason) {
      if (signal.aborted) return;
      throw reason;
    }
    plane.tick();
  }
}
