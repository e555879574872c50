/** Every agent that the daemon knows: from its registry, the files it watches, and this machine's processes. */
import { performance } from "node:perf_hooks";
import {
  type AgentId,
  type Card,
  lastHeard,
  openQuestionsOf,
  type State,
} from "../../core/index.ts";
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

/** The same, with what lies around them on this machine's disk. To be asked only for whom is shown. */
export type LookClosely = (seen: readonly Sighting[]) => readonly Sighting[];

export type Sources = {
  readonly plane: Plane;
  /** As they were last read. */
  readonly files: () => readonly StatusFile[];
  readonly findProcesses: () => readonly FoundProcess[];
  /** This machine. */
  readonly hostName: string;
  /** Absent: the disk is not looked at. */
  readonly surroundings?: Surroundings;
};

export function makeLookAround(sources: Sources): {
  readonly lookAround: LookAround;
  readonly lookClosely: LookClosely;
} {
  const { plane, files, hostName, surroundings } = sources;
  const processes = remembering(sources.findProcesses, limits.processesKeptMs);
  let last: Shared | undefined;

  const look = async (silentAfterMs: number): Promise<readonly Sighting[]> => {
    const { registered, nowMs } = await plane.read((state, nowMs) => ({
      registered: registeredIn(state),
      nowMs,
    }));
    const found = { files: files(), registered, processes: processes() };
    return sight(found, { nowMs, silentAfterMs, hostName });
  };

  return {
    lookAround: ({ silentAfterMs }) => {
      const { lastSequence: sequence } = plane;
      const atMs = performance.now();
      // A page asks for its list and for what needs a person at once, and several pages do: one look serves
      // all, unless something has happened since.
      const isFresh =
        last?.sequence === sequence &&
        last.silentAfterMs === silentAfterMs &&
        atMs - last.atMs < limits.lookSharedMs;
      if (!last || !isFresh) last = { seen: look(silentAfterMs), silentAfterMs, sequence, atMs };
      return last.seen;
    },
    lookClosely: (seen) =>
      surroundings ? surroundings.look(seen, { files: files(), processes: processes() }) : seen,
  };
}

/** A look, and what it was a look at. */
type Shared = {
  readonly seen: Promise<readonly Sighting[]>;
  readonly silentAfterMs: number;
  readonly sequence: number;
  readonly atMs: number;
};

/** Many may ask at once, and processes do not come and go that fast. */
function remembering<Value>(find: () => Value, keptMs: number): () => Value {
  let kept: { readonly value: Value; readonly atMs: number } | undefined;
  return () => {
    const atMs = performance.now();
    if (!kept || atMs - kept.atMs >= keptMs) kept = { value: find(), atMs };
    return kept.value;
  };
}

/** Agents that ask come first, then those that report what they do. Of a large fleet, not all are shown. */
function registeredIn(state: State): readonly RegisteredAgent[] {
  const { registry } = state;
  const chosen = new Set<AgentId>();
  for (const ids of [askersIn(state), registry.activities.keys(), registry.agents.keys()]) {
    for (const id of ids) {
      if (chosen.size >= limits.registeredShownMax) break;
      if (registry.agents.get(id)?.liveness !== "dead") chosen.add(id);
    }
  }
  return [...chosen].flatMap((id) => registeredAs(state, id) ?? []);
}

function* askersIn({ questions }: State): Generator<AgentId> {
  for (const id of questions.open) {
    const asker = questions.byId.get(id)?.asker;
    if (asker?.of === "agent") yield asker.agentId;
  }
}

function registeredAs(
  { registry, leases, tasks, questions, openedAtMs }: State,
  id: AgentId,
): RegisteredAgent | undefined {
  const agent = registry.agents.get(id);
  if (!agent) return undefined;
  const activity = registry.activities.get(id);
  const reportedAtMs = registry.reports.get(id) ?? activity?.reportedAtMs;
  const { lastHeartbeatAtMs: heardAtMs, ...unheard } = lastHeard(registry, agent, openedAtMs);
  const held = [...(leases.byHolder.get(id)?.values().take(limits.holdsShownMax) ?? [])];
  const claimed = [...(tasks.byClaimant.get(id)?.values().take(limits.holdsShownMax) ?? [])];
  const types = claimed.flatMap((taskId) => tasks.byId.get(taskId)?.type ?? []);
  const holds = [...held.map((taskId) => `task ${taskId}`), ...types];
  const [question] = openQuestionsOf(questions, { of: "agent", agentId: id });
  return {
    id,
    name: agent.card.name,
    liveness: agent.liveness,
    heardAtMs,
    ...unheard,
    listeningSinceMs: registry.listeningSinceMs,
    ...(activity
      ? { activity: { ...activity, ...(reportedAtMs === undefined ? {} : { reportedAtMs }) } }
      : {}),
    ...(question ? { question } : {}),
    ...(holds.length > 0 ? { holds } : {}),
    ...placeIn(agent.card.metadata),
  };
}

/**
 * Which process an agent is, if its card says so: `host`, `pid`, `startedAtMs` and `workspace` in its metadata.
 * With the first three it is one with the process that we find, and with the records of that process; docs in
 * the README. Anything else under these names is somebody's own.
 */
function placeIn(
  metadata: Card["metadata"],
): Pick<RegisteredAgent, "host" | "pid" | "startedAtMs" | "workspace"> {
  const told = new Map(metadata);
  const text = (name: string, lengthMax: number): string | undefined => {
    const value = told.get(name);
    return value && value.length <= lengthMax ? value : undefined;
  };
  const whole = (name: string): number | undefined => {
    const value = told.get(name) ?? "";
    return /^[1-9]\d{0,14}$/.test(value) ? Number(value) : undefined;
  };
  const host = text("host", limits.hostNameLengthMax);
  const workspace = text("workspace", limits.workspaceLengthMax);
  const pid = whole("pid");
  const startedAtMs = whole("startedAtMs");
  return {
    ...(host === undefined ? {} : { host }),
    ...(pid === undefined ? {} : { pid }),
    ...(startedAtMs === undefined ? {} : { startedAtMs }),
    ...(workspace === undefined ? {} : { workspace }),
  };
}
