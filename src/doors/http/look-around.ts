/** Every agent that the daemon knows: from its registry, the files it watches, and this machine's processes. */
import type { AgentId, State } from "../../core/index.ts";
import type { Plane } from "../../plane/index.ts";
import {
  type FoundProcess,
  type RegisteredAgent,
  type StatusFile,
  type Surroundings,
  sight,
} from "../../sightings/index.ts";
import type { Sighting } from "../../wire/api/index.ts";
import { limits } from "./limits.ts";

/** Who waits for a person first. */
export type LookAround = (options: {
  readonly silentAfterMs: number;
}) => Promise<readonly Sighting[]>;

export type Sources = {
  readonly plane: Plane;
  /** As they were last read. */
  readonly files: () => readonly StatusFile[];
  readonly findProcesses: () => readonly FoundProcess[];
  /** This machine. */
  readonly hostName: string;
  readonly surroundings?: Surroundings;
};

export function makeLookAround({
  plane,
  files: filesNow,
  findProcesses,
  hostName,
  surroundings,
}: Sources): LookAround {
  let found: { readonly processes: readonly FoundProcess[]; readonly atMs: number } | undefined;
  return async ({ silentAfterMs }) => {
    const nowMs = Date.now();
    // Many may ask at once, and processes do not come and go that fast.
    if (!found || nowMs - found.atMs >= limits.processesKeptMs) {
      found = { processes: findProcesses(), atMs: nowMs };
    }
    const { processes } = found;
    const registered = await plane.read(registeredIn);
    const files = filesNow();
    const seen = sight({ files, registered, processes }, { nowMs, silentAfterMs, hostName });
    return surroundings ? surroundings.look(seen, { files, processes }) : seen;
  };
}

/** Those who say what they do first: of a large fleet, not everyone is shown. */
function registeredIn(state: State): readonly RegisteredAgent[] {
  const { registry } = state;
  const chosen = new Set<AgentId>();
  for (const ids of [registry.activities.keys(), registry.agents.keys()]) {
    for (const id of ids) {
      if (chosen.size >= limits.registeredShownMax) break;
      if (registry.agents.get(id)?.liveness !== "dead") chosen.add(id);
    }
  }
  return [...chosen].flatMap((id) => registeredAs(state, id) ?? []);
}

function registeredAs(
  { registry, leases, tasks }: State,
  id: AgentId,
): RegisteredAgent | undefined {
  const agent = registry.agents.get(id);
  if (!agent) return undefined;
  const activity = registry.activities.get(id);
  const reportedAtMs = registry.reports.get(id);
  const held = [...(leases.byHolder.get(id)?.values().take(limits.holdsShownMax) ?? [])];
  const claimed = [...(tasks.byClaimant.get(id)?.values().take(limits.holdsShownMax) ?? [])];
  const types = claimed.flatMap((taskId) => tasks.byId.get(taskId)?.type ?? []);
  const holds = [...held.map((taskId) => `task ${taskId}`), ...types];
  const told = new Map(agent.card.metadata);
  const pid = Number(told.get("pid"));
  const startedAtMs = Number(told.get("startedAtMs"));
  const host = told.get("host");
  const workspace = told.get("workspace");
  return {
    id,
    name: agent.card.name,
    liveness: agent.liveness,
    heardAtMs: registry.heartbeats.get(id) ?? agent.registeredAtMs,
    ...(activity
      ? { activity: { ...activity, ...(reportedAtMs === undefined ? {} : { reportedAtMs }) } }
      : {}),
    ...(holds.length > 0 ? { holds } : {}),
    ...(host === undefined ? {} : { host }),
    ...(Number.isSafeInteger(pid) && pid > 0 ? { pid } : {}),
    ...(Number.isSafeInteger(startedAtMs) && startedAtMs > 0 ? { startedAtMs } : {}),
    ...(workspace === undefined ? {} : { workspace }),
  };
}
