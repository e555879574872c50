/**
 * Which job is meant. People give a part of its id, as it was shown to them: ids begin with the time, so that those of
 * one day begin alike, and lists show their ends.
 */
import { printable } from "../terminal/index.ts";
import { type Failure, no } from "./failure.ts";
import { limits } from "./limits.ts";
import { countOf } from "./times.ts";

/** Whether it is a whole id, and nothing has to be looked up. */
export function isWholeId(named: string): boolean {
  return /^job_[0-9A-Z]{26}$/.test(named);
}

/** `…` stands for what was left out, at either end; without it, the part may be either. */
export function isMeant(jobId: string, named: string): boolean {
  const part = named.replaceAll("…", "").toUpperCase();
  const whole = jobId.toUpperCase();
  if (part === "") return false;
  const isBeginning = whole.startsWith(part) || whole.startsWith(`JOB_${part}`);
  return (isBeginning && !named.startsWith("…")) || (whole.endsWith(part) && !named.endsWith("…"));
}

/** The only one of those that are meant; `unknown` says what it means that there is none. */
export function onlyJob(found: readonly string[], named: string, unknown: () => Failure): string {
  const [only, ...others] = found;
  if (only === undefined) throw unknown();
  if (others.length === 0) return only;
  const shown = found.slice(-limits.namesakesShownMax);
  const more = found.length > shown.length ? ", …" : "";
  throw no(
    `${countOf(found.length, "job")} go by ${printable(named)}: ${shown.join(", ")}${more}`,
    "write more of the one you mean",
  );
}
