/** State and entries become JSON here. Tokens and terms are decimal strings: they may exceed 2^53. */
import type { Agent, Election, Lease, Liveness, Policy, State, Task } from "../../core/index.ts";
import type { Entry } from "../../log/index.ts";
import { limits } from "./limits.ts";

/** What does not change while the door is open. */
export type About = {
  readonly version: string;
  /** Names the log that is served: another log, another id. */
  readonly planeId: string;
  readonly startedAtMs: number;
  readonly pid: number;
  /** Whether what happens outlives the process. */
  readonly isKept: boolean;
  readonly dataDirectory?: string;
  /** Where agents connect, for people to read. */
  readonly grpcAddress?: string;
};

export type Rows<Row> = {
  readonly total: number;
  /** The first `limits.rowsMax`. */
  readonly rows: readonly Row[];
};

export type AgentRow = {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly tools: readonly string[];
  readonly liveness: Liveness;
  readonly ttlMs: number;
  readonly registeredAtMs: number;
  readonly lastHeartbeatAtMs: number;
  readonly diedAtMs?: number;
};

export type LeaseRow = Omit<Lease, "token"> & { readonly token: string };

export type ElectionRow = {
  readonly group: string;
  readonly term: string;
  readonly leader?: string;
  readonly changedAtMs: number;
  readonly candidateCount: number;
  /** The first `limits.candidatesShownMax`, in the order in which they joined. */
  readonly candidates: readonly string[];
};

export type Overview = About & {
  /** The time by which the rows are to be read. */
  readonly nowMs: number;
  /** The overview shows what is true after this entry; events after it complete the picture. */
  readonly sequence: number;
  readonly counts: {
    readonly agents: Readonly<Record<Liveness, number>>;
    readonly leases: number;
    readonly groups: number;
    readonly policies: number;
    readonly tasks: Readonly<Record<Task["state"], number>>;
    readonly watchers: number;
  };
  /** Unreachable, alive, dead; each newest first. */
  readonly agents: Rows<AgentRow>;
  /** Newest first. */
  readonly leases: Rows<LeaseRow>;
  /** Most recently changed first. */
  readonly elections: Rows<ElectionRow>;
  /** Newest first. */
  readonly policies: Rows<Policy>;
  /** Dead, claimed, pending, delayed, completed, cancelled; each newest first. */
  readonly tasks: Rows<Task>;
};

/** One pass over agents and one over tasks: with 100,000 of each about 8 ms, with a million 60 ms. */
export function encodeOverview(
  state: State,
  parts: {
    readonly about: About;
    readonly nowMs: number;
    readonly sequence: number;
    readonly watchers: number;
  },
): Overview {
  const { registry, leases, elections, entitlements, tasks } = state;
  const agents = {
    unreachable: new Newest<Agent>(),
    alive: new Newest<Agent>(),
    dead: new Newest<Agent>(),
  };
  for (const agent of registry.agents.values()) agents[agent.liveness].add(agent);
  const work = {
    dead: new Newest<Task>(),
    claimed: new Newest<Task>(),
    pending: new Newest<Task>(),
    delayed: new Newest<Task>(),
    completed: new Newest<Task>(),
    cancelled: new Newest<Task>(),
  };
  for (const task of tasks.byId.values()) work[task.state].add(task);

  return {
    ...parts.about,
    nowMs: parts.nowMs,
    sequence: parts.sequence,
    counts: {
      agents: {
        alive: agents.alive.count,
        unreachable: agents.unreachable.count,
        dead: agents.dead.count,
      },
      leases: leases.held.size,
      groups: elections.groups.size,
      policies: entitlements.policies.size,
      tasks: {
        pending: work.pending.count,
        delayed: work.delayed.count,
        claimed: work.claimed.count,
        completed: work.completed.count,
        cancelled: work.cancelled.count,
        dead: work.dead.count,
      },
      watchers: parts.watchers,
    },
    agents: {
      total: registry.agents.size,
      rows: first(agents).map((agent) => encodeAgent(agent, registry.heartbeats.get(agent.id))),
    },
    leases: { total: leases.held.size, rows: newestOf(leases.held).map(encodeLease) },
    elections: {
      total: elections.groups.size,
      rows: [...elections.groups.values()]
        .reverse()
        .sort((one, other) => other.changedAtMs - one.changedAtMs)
        .slice(0, limits.rowsMax)
        .map(encodeElection),
    },
    policies: { total: entitlements.policies.size, rows: newestOf(entitlements.policies) },
    tasks: {
      total: tasks.byId.size,
      rows: first(work).map((task) => ({ ...task, failureReason: shorten(task.failureReason) })),
    },
  };
}

function encodeAgent(agent: Agent, lastHeartbeatAtMs: number | undefined): AgentRow {
  const { id, card, ttlMs, registeredAtMs, liveness } = agent;
  const row = {
    id,
    name: card.name,
    version: card.version,
    description: shorten(card.description),
    tools: card.tools.slice(0, limits.toolsShownMax),
    liveness,
    ttlMs,
    registeredAtMs,
    lastHeartbeatAtMs: lastHeartbeatAtMs ?? registeredAtMs,
  };
  return agent.liveness === "dead" ? { ...row, diedAtMs: agent.diedAtMs } : row;
}

function encodeLease(lease: Lease): LeaseRow {
  return { ...lease, token: String(lease.token) };
}

function encodeElection({ group, term, leader, changedAtMs, candidates }: Election): ElectionRow {
  const row = {
    group,
    term: String(term),
    changedAtMs,
    candidateCount: candidates.length,
    candidates: candidates.slice(0, limits.candidatesShownMax),
  };
  return leader === undefined ? row : { ...row, leader };
}

function shorten(text: string): string {
  return text.length <= limits.textLengthMax ? text : `${text.slice(0, limits.textLengthMax - 1)}…`;
}

/** Counts what passes by and keeps the last of it, at the same cost for each. */
class Newest<Item> {
  readonly #kept: Item[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(item: Item): void {
    this.#kept[this.#count % limits.rowsMax] = item;
    this.#count += 1;
  }

  newestFirst(): Item[] {
    const split = this.#count % limits.rowsMax;
    const inOrder =
      this.#count <= limits.rowsMax
        ? this.#kept
        : [...this.#kept.slice(split), ...this.#kept.slice(0, split)];
    return inOrder.toReversed();
  }
}

/** The first rows of all kinds together, in the order of the kinds. */
function first<Item>(kinds: Readonly<Record<string, Newest<Item>>>): Item[] {
  return Object.values(kinds)
    .flatMap((kind) => kind.newestFirst())
    .slice(0, limits.rowsMax);
}

/** The maps of the state are in the order in which things came. */
function newestOf<Item>(items: ReadonlyMap<unknown, Item>): Item[] {
  return [...items.values().drop(Math.max(0, items.size - limits.rowsMax))].reverse();
}

/** One message of a stream of server-sent events. JSON has no line breaks, so data is one line. */
export function encodeMessage(message: {
  readonly event?: string;
  readonly id: number;
  readonly data: string;
}): string {
  const name = message.event === undefined ? "" : `event: ${message.event}\n`;
  return `${name}id: ${message.id}\ndata: ${message.data}\n\n`;
}

/**
 * An entry as JSON. Its body was printed when it was logged and is only spliced in; inputs and outputs
 * of tasks are left out: they may be large, and are for who works on the task.
 */
export function encodeEntry(entry: Entry): string {
  const { sequence, busSequence, atMs, event } = entry;
  const actor = JSON.stringify(entry.actor);
  const head = `{"sequence":${sequence},"busSequence":${busSequence},"actor":${actor},"type":"${event.type}"`;
  switch (event.type) {
    case "task.created":
    case "task.completed":
      return `${head},"atMs":${atMs},"task":${JSON.stringify(event.task)}}`;
    case "plane.opened":
    case "plane.resumed":
      // These say themselves when they happened.
      return `${head},${entry.body.slice(1)}`;
    default:
      return `${head},"atMs":${atMs},${entry.body.slice(1)}`;
  }
}
