/** What is said of a job, wherever it is shown. */
import type { Tone } from "../terminal/index.ts";
import {
  type Job,
  type JobCost,
  type JobProgress,
  type JobState,
  readableAmount,
} from "../wire/api/index.ts";
import { limits } from "./limits.ts";
import { forHowLong, grouped } from "./times.ts";

/** Of a job that nothing can be heard of. */
export const daemonIsAway = "the daemon is away; waiting for it";

/** While it runs, what may come of it counts for more than that it does. */
export function standingOf({ state, cancelling, orphanedUntilMs }: Job): string {
  if (cancelling) return "ending";
  if (orphanedUntilMs !== undefined) return "worker away";
  return stateOf(state, 1);
}

function stateOf(state: JobState, count: number): string {
  if (state === "pending") return count === 1 ? "waits" : "wait";
  return state.replace("_", " ");
}

/** `1 running`, `2 wait`: how many there are of each, in this order. */
export function countsIn(
  jobs: readonly Pick<Job, "state">[],
  states: readonly JobState[],
): readonly string[] {
  return states.flatMap((wanted) => {
    const { length } = jobs.filter(({ state }) => state === wanted);
    return length === 0 ? [] : [`${grouped(length)} ${stateOf(wanted, length)}`];
  });
}

/** Why nothing comes of it just now; nothing where something may. An older daemon does not say whom it waits for. */
export function lullOf(job: Job, nowMs: number): string {
  const { agent, waiting, orphanedUntilMs } = job;
  if (orphanedUntilMs !== undefined) return `its worker is away, and ${briefLullOf(job, nowMs)}`;
  return waiting ? `waits for ${agent}; ${briefLullOf(job, nowMs)}` : "";
}

/** The same where its agent and how it stands are said already. */
export function briefLullOf({ waiting, orphanedUntilMs }: Job, nowMs: number): string {
  if (orphanedUntilMs !== undefined) {
    return `has ${forHowLong(Math.max(0, orphanedUntilMs - nowMs))} to come back`;
  }
  if (!waiting) return "";
  const { workers } = waiting;
  if (workers === 0) return "none is connected";
  return workers === 1 ? "the only one is busy" : `all ${grouped(workers)} are busy`;
}

/** `asks: Pay 5 EUR?`, `wants to read docs/**: to compare`, while it waits for a person. */
export function asksIn({ question }: Job): string {
  if (!question) return "";
  const { kind, prompt, openCount } = question;
  const more = openCount > 1 ? ` (and ${grouped(openCount - 1)} more)` : "";
  return `${kind === "scope" ? "" : "asks: "}${oneLine(prompt)}${more}`;
}

/** `2 wait for painter; none is connected`, for each agent that some wait for; the most wanted first. */
export function waitsIn(jobs: readonly Job[], nowMs: number): readonly string[] {
  const waiting = jobs.filter(({ state }) => state === "pending");
  const byLull = Map.groupBy(waiting, (job) => lullOf(job, nowMs) || "waits for a worker");
  const groups = [...byLull].toSorted(([, one], [, other]) => other.length - one.length);
  return groups
    .slice(0, limits.namesakesShownMax)
    .map(([lull, { length }]) =>
      length === 1 ? `1 ${lull}` : `${grouped(length)} ${lull.replace(/^waits/, "wait")}`,
    );
}

/** On one line, whatever its agent said. */
export function oneLine(message: string): string {
  return message.replaceAll(/\s+/g, " ").trim();
}

export function jobTone({ state, cancelling, orphanedUntilMs, waiting }: Job): Tone | undefined {
  if (cancelling || orphanedUntilMs !== undefined || waiting?.workers === 0) return "warn";
  switch (state) {
    case "running":
      return "good";
    case "waiting":
      return "warn";
    case "error":
    case "timed_out":
      return "bad";
    case "pending":
    case "success":
    case "cancelled":
      return "dim";
  }
}

/** `3 of 10 pages (30 %)`, as far as it says. */
export function progressOf(progress: JobProgress | undefined): string {
  if (!progress) return "";
  const { current, total, units = "" } = progress;
  if (units === "percent" || units === "%") return `${plain(current)} %`;
  const what = units === "" ? "" : ` ${units}`;
  if (total === undefined || total <= 0) return `${plain(current)}${what}`;
  return `${plain(current)} of ${plain(total)}${what} (${Math.floor((current / total) * 100)} %)`;
}

function plain(value: number): string {
  const [whole = "", fraction] = String(Math.round(value * 100) / 100).split(".");
  return fraction === undefined ? grouped(Number(whole)) : `${grouped(Number(whole))}.${fraction}`;
}

/** `1.20 of 5.00 USD`, or `1.20 USD` without a budget, for each currency. An older daemon does not report the cost. */
export function spentOf({
  cost = [],
}: {
  readonly cost?: readonly Pick<JobCost, "currency" | "total" | "cap">[];
}): string {
  const costs = cost.map(({ currency, total, cap }) => {
    const bound = cap === undefined ? "" : ` of ${readableAmount(cap, currency)}`;
    return `${readableAmount(total, currency)}${bound} ${currency}`;
  });
  return costs.join(" · ");
}

/** Whether all of some currency is spent. */
export function isSpent({ cost = [] }: Partial<Job>): boolean {
  return cost.some(({ cap, total }) => cap !== undefined && Number(total) >= Number(cap));
}
