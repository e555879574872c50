/** How a thing stands, as a dot and as a word: the same colours wherever it is shown. */
import type { ComponentChildren, JSX } from "preact";
import type { Agent, Liveness, SightingState, TaskState } from "../api.ts";

export type Standing =
  | { readonly kind: "agent"; readonly state: Liveness | "waiting" | "silent" }
  | { readonly kind: "sighting"; readonly state: SightingState }
  | { readonly kind: "task"; readonly state: TaskState | "stuck" };

/** Red is for what waits for an answer or is lost, amber for what may sort itself out. */
export type Tone = "busy" | "done" | "quiet" | "amber" | "red";

export function toneOf({ kind, state }: Standing): Tone {
  switch (state) {
    case "alive":
    case "working":
    case "claimed":
      return "busy";
    case "completed":
      return "done";
    case "waiting":
    case "failed":
      return "red";
    case "silent":
    case "lost":
    case "unreachable":
    case "stuck":
      return "amber";
    case "dead":
      // An agent that left needs nobody; a task that was given up does.
      return kind === "task" ? "red" : "quiet";
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
  { liveness, activity }: Agent,
  { isSilent }: { readonly isSilent: boolean },
): Standing {
  if (liveness !== "alive") return { kind: "agent", state: liveness };
  if (activity?.state === "waiting") return { kind: "agent", state: "waiting" };
  return { kind: "agent", state: isSilent ? "silent" : "alive" };
}

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
