/** How a thing stands, as a dot and as a word: the same colours wherever it is shown. */
import type { ComponentChildren, JSX } from "preact";
import type { Agent, Job, JobState, Liveness, SightingState, TaskState } from "../api.ts";

export type Standing =
  | {
      readonly kind: "agent";
      readonly state: Exclude<Liveness, "dead"> | "died" | "left" | "waiting" | "silent";
    }
  | { readonly kind: "sighting"; readonly state: SightingState }
  | { readonly kind: "task"; readonly state: TaskState | "stuck" }
  | { readonly kind: "job"; readonly state: JobState | "cancelling" | "orphaned" | "unserved" };

/** Red is for what waits for an answer or is lost, amber for what may sort itself out. */
export type Tone = "busy" | "done" | "quiet" | "amber" | "red";

export function toneOf({ state }: Standing): Tone {
  switch (state) {
    case "alive":
    case "working":
    case "claimed":
    case "running":
      return "busy";
    case "completed":
    case "success":
      return "done";
    case "waiting":
    case "failed":
    case "error":
      return "red";
    case "timed_out":
    case "cancelling":
    case "orphaned":
    case "unserved":
    case "silent":
    case "lost":
    case "unreachable":
    case "stuck":
    case "died":
      return "amber";
    case "dead":
      return "red";
    case "left":
    case "idle":
    case "stopped":
    case "unknown":
    case "pending":
    case "delayed":
    case "cancelled":
      return "quiet";
  }
}

export function standingOf(
  { liveness, hasLeft, activity, question }: Agent,
  { isSilent }: { readonly isSilent: boolean },
): Standing {
  if (liveness === "dead") return { kind: "agent", state: hasLeft ? "left" : "died" };
  if (liveness !== "alive") return { kind: "agent", state: liveness };
  if (question || activity?.state === "waiting") return { kind: "agent", state: "waiting" };
  return { kind: "agent", state: isSilent ? "silent" : "alive" };
}

/** While it runs, what may come of it counts for more than that it does. */
export function jobStanding(
  job: Pick<Job, "state" | "cancelling" | "orphanedUntilMs" | "waiting">,
): Standing {
  if (job.cancelling) return { kind: "job", state: "cancelling" };
  if (job.orphanedUntilMs !== undefined) return { kind: "job", state: "orphaned" };
  if (job.waiting?.workers === 0) return { kind: "job", state: "unserved" };
  return { kind: "job", state: job.state };
}

/** As people say it. */
export const jobWords: Readonly<Record<JobState | "cancelling" | "orphaned" | "unserved", string>> =
  {
    pending: "waits",
    unserved: "waits",
    running: "running",
    waiting: "asks you",
    cancelling: "ending",
    orphaned: "worker away",
    success: "done",
    error: "failed",
    cancelled: "cancelled",
    timed_out: "timed out",
  };

export function Dot({ standing }: { readonly standing: Standing }): JSX.Element {
  const { state } = standing;
  return (
    <span class="dot" data-tone={toneOf(standing)} role="img" aria-label={state} title={state} />
  );
}

/** What it does, or its state if nothing else is said. */
export function StateWord({
  standing,
  children = standing.state,
}: {
  readonly standing: Standing;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <span class="activity" data-tone={toneOf(standing)}>
      {children}
    </span>
  );
}
