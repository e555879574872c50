/**
 * Who was only seen. An observed agent never spoke at a door: a status file tells of it, which somebody wrote or
 * its host's hooks did. Processes say nothing that would be worth remembering, and never come here. It is seen, not
 * coordinated: it has no leases, no tasks and no heartbeat here, and nobody finds it by its tools. What is
 * kept is what it was last seen doing; how it came to that is in the log.
 */
import { accept, type Decision, refuse } from "./decision.ts";
import type { ObservedId } from "./ids.ts";
import { limits } from "./limits.ts";

/** `waiting` is for a person; `lost`: it should be heard of, and is not. */
export type ObservedState = (typeof observedStates)[number];
export const observedStates = [
  "waiting",
  "working",
  "failed",
  "lost",
  "idle",
  "stopped",
  "unknown",
] as const;

export type Observed = {
  readonly id: ObservedId;
  readonly name: string;
  readonly state: ObservedState;
  /** What it is doing or waiting for, in its own words; empty if it does not say. */
  readonly note: string;
  /** What it is there for. */
  readonly goal: string;
  readonly workspace: string;
  /** How we know. */
  readonly source: "hook" | "file";
  /** When this state began. */
  readonly sinceMs: number;
};

export type ObservedAgents = {
  readonly byId: ReadonlyMap<ObservedId, Observed>;
  readonly counts: Readonly<Record<ObservedState, number>>;
};

export type OwnObservedAgents = {
  readonly byId: Map<ObservedId, Observed>;
  readonly counts: Record<ObservedState, number>;
};

export type ObservedCommand =
  /** It was seen like this. Nothing happens if it was already. */
  | {
      readonly type: "observed.report";
      /** Without a time, a new state begins now. */
      readonly observed: Omit<Observed, "sinceMs"> & { readonly sinceMs?: number };
    }
  /** It is no longer there. */
  | { readonly type: "observed.leave"; readonly observedId: ObservedId };

export type ObservedEvent = {
  readonly type: "observed.changed" | "observed.left";
  readonly observed: Observed;
};

export function emptyObserved(): OwnObservedAgents {
  return {
    byId: new Map(),
    counts: { waiting: 0, working: 0, failed: 0, lost: 0, idle: 0, stopped: 0, unknown: 0 },
  };
}

export function decide(
  { byId }: ObservedAgents,
  command: ObservedCommand,
  nowMs: number,
): Decision<ObservedEvent> {
  switch (command.type) {
    case "observed.report": {
      const { observed: seen } = command;
      const known = byId.get(seen.id);
      if (!known && byId.size >= limits.observedMax) {
        return refuse("limit_reached", `${limits.observedMax} agents are observed already`);
      }
      const sinceMs = Math.min(seen.sinceMs ?? lastChange(known, seen, nowMs), nowMs);
      const observed = { ...seen, sinceMs };
      return known && isSame(known, observed)
        ? accept()
        : accept({ type: "observed.changed", observed });
    }
    case "observed.leave": {
      const observed = byId.get(command.observedId);
      return observed ? accept({ type: "observed.left", observed }) : accept();
    }
  }
}

function lastChange(
  known: Observed | undefined,
  { state }: Pick<Observed, "state">,
  nowMs: number,
): number {
  return known?.state === state ? known.sinceMs : nowMs;
}

/** When a state began is no news by itself. */
function isSame(one: Observed, other: Observed): boolean {
  return (
    one.state === other.state &&
    one.note === other.note &&
    one.goal === other.goal &&
    one.name === other.name &&
    one.workspace === other.workspace &&
    one.source === other.source
  );
}

export function evolve(observed: OwnObservedAgents, event: ObservedEvent): void {
  const { id } = event.observed;
  const before = observed.byId.get(id);
  if (before) observed.counts[before.state] -= 1;
  if (event.type === "observed.changed") putObserved(observed, event.observed);
  else observed.byId.delete(id);
}

/** Its state is counted: who was there before must not be any more. */
export function putObserved({ byId, counts }: OwnObservedAgents, observed: Observed): void {
  byId.set(observed.id, observed);
  counts[observed.state] += 1;
}
