/** What is said of a job, wherever it is shown. */
import type { Tone } from "../terminal/index.ts";
import type { Job, JobProgress } from "../wire/api/index.ts";
import { forHowLong, grouped } from "./times.ts";

/** While it runs, what may come of it counts for more than that it does. */
export function standingOf({ state, cancelling, orphanedUntilMs }: Job): string {
  if (cancelling) return "ending";
  if (orphanedUntilMs !== undefined) return "worker away";
  return state === "pending" ? "waits" : state.replace("_", " ");
}

/** Why nothing comes of it just now; nothing where something may. An older daemon does not say whom it waits for. */
export function lullOf({ agent, waiting, orphanedUntilMs }: Job, nowMs: number): string {
  if (orphanedUntilMs !== undefined) {
    const left = forHowLong(Math.max(0, orphanedUntilMs - nowMs));
    return `its worker is away, and has ${left} to come back`;
  }
  if (!waiting) return "";
  const { workers } = waiting;
  if (workers === 0) return `waits for ${agent}; none is connected`;
  return `waits for ${agent}; ${workers === 1 ? "the only one is busy" : `all ${workers} are busy`}`;
}

/** Why it failed, on one line. */
export function failureOf({ code, message }: { code: string; message: string }): string {
  return `${code} ${message.replaceAll(/\s+/g, " ").trim()}`;
}

export function jobTone({ state, cancelling, orphanedUntilMs }: Job): Tone | undefined {
  if (cancelling || orphanedUntilMs !== undefined) return "warn";
  switch (state) {
    case "running":
      return "good";
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

/** `1.20 of 5.00 USD`, or `1.20 USD` where nobody bounds it; of several currencies, each. */
export function spentOf({ budget, unbudgeted = [] }: Job): string {
  return [
    ...budget.map(({ currency, cap, spent }) => `${likewise(spent, cap)} of ${cap} ${currency}`),
    ...unbudgeted.map(({ currency, spent }) => `${likewise(spent, "0.00")} ${currency}`),
  ].join(" · ");
}

/** With at least as many digits behind the point as the other has. */
function likewise(amount: string, other: string): string {
  const [whole = "", fraction = ""] = amount.split(".");
  const digits = fraction.padEnd(other.split(".")[1]?.length ?? 0, "0");
  return digits === "" ? whole : `${whole}.${digits}`;
}

/** Whether all of some currency is spent. */
export function isSpent({ budget }: Job): boolean {
  return budget.some(({ cap, spent }) => Number(spent) >= Number(cap));
}
