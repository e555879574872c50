/** What was going on, in steps that are coarse enough to be looked at. */
import type { Timeline } from "../api.ts";

export type Pace = {
  readonly stepMs: number;
  readonly startAtMs: number;
  readonly eventsPerMinute: readonly number[];
  readonly callsPerMinute: readonly number[];
  readonly p50Ms: readonly (number | null)[];
  readonly p99Ms: readonly (number | null)[];
  readonly commitP99Ms: readonly (number | null)[];
};

const pointsMax = 120;
const minuteMs = 60_000;

/** Without the last step, which is still running: as a rate it would look like a drop. */
export function paceOf(timeline: Timeline): Pace {
  const { stepMs, startAtMs } = timeline;
  const whole = timeline.events.length - 1;
  const together = whole > pointsMax ? Math.max(1, Math.round(minuteMs / stepMs)) : 1;
  // Counted from the end, so that the newest point is always whole.
  const skipped = whole % together;
  const group = <Value>(values: readonly Value[]): Value[][] => {
    const groups: Value[][] = [];
    for (let start = skipped; start < whole; start += together) {
      groups.push(values.slice(start, start + together));
    }
    return groups;
  };
  const perMinute = (values: readonly number[]): number[] =>
    group(values).map((each) => (sum(each) * minuteMs) / (stepMs * together));
  // The worst of a group: an average would hide what a percentile is there to show.
  const worst = (values: readonly (number | null)[]): (number | null)[] =>
    group(values).map((each) => {
      const known = each.filter((value) => value !== null);
      return known.length > 0 ? Math.max(...known) : null;
    });
  return {
    stepMs: stepMs * together,
    startAtMs: startAtMs + skipped * stepMs,
    eventsPerMinute: perMinute(timeline.events),
    callsPerMinute: perMinute(timeline.calls),
    p50Ms: worst(timeline.p50Ms),
    p99Ms: worst(timeline.p99Ms),
    commitP99Ms: worst(timeline.commitP99Ms),
  };
}

/** How many in the last whole minute, or at that rate if there is less. */
export function lastMinute({
  stepMs,
  events,
}: {
  readonly stepMs: number;
  readonly events: readonly number[];
}): number {
  const steps = Math.max(1, Math.round(minuteMs / stepMs));
  const last = events.slice(0, -1).slice(-steps);
  return last.length === 0 ? 0 : (sum(last) * minuteMs) / (stepMs * last.length);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
