/**
 * The registry of agents. An agent is
 * - `alive`: it registered, and its heartbeats come in time;
 * - `unreachable`: a heartbeat is overdue. The next one makes it alive again;
 * - `dead`: it left (`hasLeft`), or died: it sent no heartbeat for a whole further ttl. Final, because the agent's
 *   leases have been released.
 *
 * The time of the last heartbeat is not durable: it is stored outside the agent records, makes no event, and may be
 * older after a crash. The changes that it causes (unreachable, died) are events.
 */
import { accept, type Decision, refuse } from "./decision.ts";
import type { AgentId } from "./ids.ts";
import { limits } from "./limits.ts";
import { PriorityMap } from "./priority-map.ts";

export type Capability = { readonly name: string; readonly description: string };

export type Card = {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly capabilities: readonly Capability[];
  readonly tools: readonly string[];
  /** Pairs, not an object: any text may be a key. */
  readonly metadata: readonly (readonly [key: string, value: string])[];
};

export type Liveness = "alive" | "unreachable" | "dead";

export type Agent = {
  readonly id: AgentId;
  readonly card: Card;
  readonly ttlMs: number;
  readonly registeredAtMs: number;
  /** Its client reconnects within seconds. Absent: it may pause for two minutes, or an older log does not say. */
  readonly reconnectsSoon?: true;
  /** The same for all agents of one process, if its client says so. */
  readonly process?: string;
} & (
  | { readonly liveness: "alive" | "unreachable" }
  | {
      readonly liveness: "dead";
      readonly diedAtMs: number;
      /** It was deregistered. Absent: it was silent for too long, or an older log does not say. */
      readonly hasLeft?: true;
    }
);

/** What an agent says it is doing; `waiting` is for a person. */
export type ActivityState = (typeof activityStates)[number];
const activityStates = ["thinking", "reading", "writing", "waiting", "idle"] as const;

export function isActivityState(text: string): text is ActivityState {
  return activityStates.some((state) => state === text);
}

export type Activity = {
  readonly state: ActivityState;
  /** In its own words. */
  readonly note: string;
  /** When this state began. */
  readonly sinceMs: number;
  /** When the agent first said this note. Absent if that is when the state began, and in older logs. */
  readonly reportedAtMs?: number;
};

export type Registry = {
  readonly agents: ReadonlyMap<AgentId, Agent>;
  /** Of those that said so and live. */
  readonly activities: ReadonlyMap<AgentId, Activity>;
  /** When each last repeated its activity. In memory only, like heartbeats, and empty after a restart. */
  readonly reports: ReadonlyMap<AgentId, number>;
  /** In the order of their deaths. */
  readonly dead: ReadonlySet<AgentId>;
  readonly counts: Readonly<Record<Liveness, number>>;
  /** How many of the dead have left. */
  readonly leftCount: number;
  readonly heartbeats: ReadonlyMap<AgentId, number>;
  /** When the plane began to listen, or listened again: silence before that is no agent's fault. */
  readonly listeningSinceMs: number;
  /** When to look at each agent next. A heartbeat does not move it: whoever looks asks `dueAtMs`. */
  readonly due: Pick<PriorityMap<AgentId>, "first">;
};

export type OwnRegistry = {
  readonly agents: Map<AgentId, Agent>;
  readonly activities: Map<AgentId, Activity>;
  readonly reports: Map<AgentId, number>;
  readonly dead: Set<AgentId>;
  readonly counts: Record<Liveness, number>;
  leftCount: number;
  readonly heartbeats: Map<AgentId, number>;
  listeningSinceMs: number;
  readonly due: PriorityMap<AgentId>;
};

/** With an id that exists: nothing happens if it is the same agent, otherwise it is refused. */
export type RegisterAgent = {
  readonly type: "agent.register";
  readonly agentId: AgentId;
  readonly card: Card;
  readonly ttlMs: number;
  /** See `Agent`. */
  readonly reconnectsSoon?: true;
  readonly process?: string;
};
export type Heartbeat = {
  readonly type: "agent.heartbeat";
  readonly agentId: AgentId;
  /** Absent: it does as it did. */
  readonly activity?: Pick<Activity, "state" | "note">;
};

/** Each carries the whole agent: what was published then can be read again years later. */
export type RegistryEvent =
  | {
      readonly type: "agent.registered" | "agent.unreachable" | "agent.recovered" | "agent.died";
      readonly agent: Agent;
      /** The last heartbeat that was recorded: heartbeats before a restart are mostly lost. */
      readonly lastHeartbeatAtMs: number;
      /** Of an agent that is unreachable or dead: when the plane restarted, if the agent was not heard since. */
      readonly unheardSinceMs?: number;
    }
  | { readonly type: "agent.active"; readonly agentId: AgentId; readonly activity: Activity }
  | { readonly type: "agent.forgotten"; readonly agentId: AgentId };

export function emptyRegistry(): OwnRegistry {
  return {
    agents: new Map(),
    activities: new Map(),
    reports: new Map(),
    dead: new Set(),
    counts: { alive: 0, unreachable: 0, dead: 0 },
    leftCount: 0,
    heartbeats: new Map(),
    listeningSinceMs: 0,
    due: new PriorityMap(),
  };
}

export function decide(
  registry: Registry,
  command: RegisterAgent | Heartbeat,
  nowMs: number,
): Decision<RegistryEvent> {
  switch (command.type) {
    case "agent.register": {
      const known = registry.agents.get(command.agentId);
      if (known) return registerAgain(known, command);
      if (livingCount(registry) >= limits.agentsMax) {
        return refuse("limit_reached", `there are ${limits.agentsMax} agents already`);
      }
      const { agentId: id, card, ttlMs } = command;
      const record = { id, card, ttlMs, registeredAtMs: nowMs, ...marksOf(command) };
      const agent: Agent = { ...record, liveness: "alive" };
      return accept({ type: "agent.registered", agent, lastHeartbeatAtMs: nowMs });
    }
    case "agent.heartbeat": {
      const living = requireLiving(registry, command.agentId);
      if (living.refusal) return living;
      const active = report(registry, command, nowMs);
      if (living.agent.liveness === "alive") return accept(...active);
      const agent: Agent = { ...withoutLiveness(living.agent), liveness: "alive" };
      const recovered = { type: "agent.recovered", agent, lastHeartbeatAtMs: nowMs } as const;
      return accept<RegistryEvent>(recovered, ...active);
    }
  }
}

/** Only what changes is a fact. A new note in the same state does not begin it anew. */
function report(
  { activities }: Registry,
  { agentId, activity }: Heartbeat,
  nowMs: number,
): RegistryEvent[] {
  if (!activity) return [];
  const before = activities.get(agentId);
  const isSameState = before?.state === activity.state;
  if (isSameState && before.note === activity.note) return [];
  const times = isSameState ? { sinceMs: before.sinceMs, reportedAtMs: nowMs } : { sinceMs: nowMs };
  return [{ type: "agent.active", agentId, activity: { ...activity, ...times } }];
}

/** A lost reply is asked for again; anything else under the same id is a mistake. */
function registerAgain(known: Agent, { card, ttlMs }: RegisterAgent): Decision<RegistryEvent> {
  const { id } = known;
  if (known.ttlMs !== ttlMs || !isSameCard(known.card, card)) {
    return refuse("key_reused", `agent ${id} registered with another card or ttl`);
  }
  return known.liveness === "dead" ? refuse("agent_dead", `agent is dead: ${id}`) : accept();
}

function isSameCard(one: Card, other: Card): boolean {
  return printCard(one) === printCard(other);
}

/** Metadata have no order: some callers send them in another one each time. */
function printCard({ name, description, version, capabilities, tools, metadata }: Card): string {
  const able = capabilities.map((capability) => [capability.name, capability.description]);
  const pairs = metadata.map(([key, value]) => JSON.stringify([key, value])).sort();
  return JSON.stringify([name, description, version, able, tools, pairs]);
}

/** Whoever acts as an agent must be registered and not dead. */
export function requireLiving(
  registry: Registry,
  id: AgentId,
): { readonly agent: Agent; readonly refusal?: never } | ReturnType<typeof refuse> {
  const agent = registry.agents.get(id);
  if (!agent) return refuse("agent_not_found", `agent not found: ${id}`);
  if (agent.liveness === "dead") return refuse("agent_dead", `agent is dead: ${id}`);
  return { agent };
}

/** The death of one agent and, at the bound, the forgetting of the one that died first. */
export function die(
  registry: Registry,
  agent: Agent,
  {
    nowMs,
    openedAtMs,
    hasLeft = false,
  }: { readonly nowMs: number; readonly openedAtMs: number; readonly hasLeft?: boolean },
): RegistryEvent[] {
  const end = { liveness: "dead", diedAtMs: nowMs, ...(hasLeft && { hasLeft }) } as const;
  const died: Agent = { ...withoutLiveness(agent), ...end };
  const heard = lastHeard(registry, agent, openedAtMs);
  const events: RegistryEvent[] = [{ type: "agent.died", agent: died, ...heard }];
  const [oldest] = registry.dead;
  if (oldest !== undefined && registry.dead.size >= limits.deadAgentsMax) {
    events.push({ type: "agent.forgotten", agentId: oldest });
  }
  return events;
}

/** The first missed deadline of an agent. It does not die of it. */
export function loseSight(
  registry: Registry,
  agent: Agent,
  { openedAtMs }: { readonly openedAtMs: number },
): RegistryEvent {
  const lost: Agent = { ...withoutLiveness(agent), liveness: "unreachable" };
  return { type: "agent.unreachable", agent: lost, ...lastHeard(registry, agent, openedAtMs) };
}

/**
 * When the agent was last heard. Heartbeats make no events, so after a restart only an old one is known, and
 * `unheardSinceMs` says that it must not be shown as the last.
 */
export function lastHeard(
  registry: Registry,
  agent: Agent,
  openedAtMs: number,
): { readonly lastHeartbeatAtMs: number; readonly unheardSinceMs?: number } {
  const lastHeartbeatAtMs = registry.heartbeats.get(agent.id) ?? agent.registeredAtMs;
  const isUnheard = agent.liveness !== "dead" && lastHeartbeatAtMs < openedAtMs;
  return { lastHeartbeatAtMs, ...(isUnheard && { unheardSinceMs: openedAtMs }) };
}

/** When the agent's liveness changes next if nothing is heard of it. */
export function dueAtMs(registry: Registry, agent: Agent): number {
  if (agent.liveness === "dead") return agent.diedAtMs + limits.deadAgentKeptMs;
  const { unreachableAtMs, deadAtMs } = deadlinesOf(registry, agent);
  return agent.liveness === "alive" ? unreachableAtMs : deadAtMs;
}

/** When what follows if nothing more is heard of the agent; of a dead one, when it died. */
export function deadlinesOf(
  registry: Registry,
  agent: Agent,
): { readonly unreachableAtMs: number; readonly deadAtMs: number } {
  if (agent.liveness === "dead") {
    return { unreachableAtMs: agent.diedAtMs, deadAtMs: agent.diedAtMs };
  }
  const heardAtMs = registry.heartbeats.get(agent.id) ?? agent.registeredAtMs;
  const sinceMs = Math.max(heardAtMs, registry.listeningSinceMs);
  const hasBeenHeard = heardAtMs >= registry.listeningSinceMs;
  return {
    unreachableAtMs: sinceMs + agent.ttlMs + limits.heartbeatSlackMs,
    deadAtMs: sinceMs + (hasBeenHeard ? patienceMs(agent) : graceMs(agent)),
  };
}

/** How long an agent may be silent before it is dead. */
function patienceMs({ ttlMs }: Agent): number {
  return 2 * ttlMs + limits.heartbeatSlackMs;
}

/** The same after a restart, until the agent is heard for the first time. */
function graceMs(agent: Agent): number {
  if (agent.reconnectsSoon) return 2 * agent.ttlMs + limits.reconnectMs;
  return Math.max(patienceMs(agent), limits.graceMs);
}

/** Alive or unreachable. */
export function livingCount(registry: Registry): number {
  return registry.agents.size - registry.dead.size;
}

export function evolve(registry: OwnRegistry, event: RegistryEvent): void {
  switch (event.type) {
    case "agent.registered":
    case "agent.unreachable":
    case "agent.recovered":
    case "agent.died":
      putAgent(registry, event.agent, event.lastHeartbeatAtMs);
      return;
    case "agent.active":
      registry.activities.set(event.agentId, event.activity);
      return;
    case "agent.forgotten":
      uncount(registry, event.agentId);
      registry.agents.delete(event.agentId);
      registry.dead.delete(event.agentId);
      registry.heartbeats.delete(event.agentId);
      registry.due.delete(event.agentId);
      return;
  }
}

export function putAgent(registry: OwnRegistry, agent: Agent, lastHeartbeatAtMs: number): void {
  uncount(registry, agent.id);
  registry.counts[agent.liveness] += 1;
  if (hasLeft(agent)) registry.leftCount += 1;
  registry.agents.set(agent.id, agent);
  registry.heartbeats.set(agent.id, lastHeartbeatAtMs);
  if (agent.liveness === "dead") {
    registry.dead.add(agent.id);
    registry.activities.delete(agent.id);
    registry.reports.delete(agent.id);
  }
  registry.due.set(agent.id, dueAtMs(registry, agent));
}

function uncount(registry: OwnRegistry, id: AgentId): void {
  const before = registry.agents.get(id);
  if (!before) return;
  registry.counts[before.liveness] -= 1;
  if (hasLeft(before)) registry.leftCount -= 1;
}

/** Whether it ended in order, so that nobody misses it. */
export function hasLeft(agent: Agent): boolean {
  return agent.liveness === "dead" && agent.hasLeft === true;
}

function withoutLiveness(agent: Agent): Omit<Agent, "liveness"> {
  const { id, card, ttlMs, registeredAtMs } = agent;
  return { id, card, ttlMs, registeredAtMs, ...marksOf(agent) };
}

type Marks = Pick<Agent, "reconnectsSoon" | "process">;

function marksOf({ reconnectsSoon, process }: Marks): Marks {
  return {
    ...(reconnectsSoon && { reconnectsSoon }),
    ...(process === undefined ? {} : { process }),
  };
}
