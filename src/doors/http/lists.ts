/** Lists with search, order and pages. All is done here, so that a page need not hold what it shows. */
import type { Agent, Election, Event, Lease, Policy, State, Task } from "../../core/index.ts";
import type { Entry } from "../../log/index.ts";
import type { Plane } from "../../plane/index.ts";
import type * as api from "../../wire/api/index.ts";
import { limits as wireLimits } from "../../wire/openapi/index.ts";
import {
  encodeAgent,
  encodeElection,
  encodeEntry,
  encodeLease,
  encodeTask,
  nameOf,
} from "./encode.ts";
import { limits } from "./limits.ts";
import type { Reply } from "./operations.ts";
import { type Cut, cutPage, type Listing, type Rank, wordsOf } from "./pages.ts";

export function listAgents(
  plane: Plane,
  input: api.Input<"listAgents">,
): Promise<Reply<api.Page<api.Agent>>> {
  const { liveness, tool: tools = [], query, sort = "attention" } = input;
  const hasWords = wordsOf(query);
  return list(plane, input, encodeAgent, ({ registry }) => ({
    items: registry.agents.values(),
    wants: (agent) =>
      (!liveness || liveness.includes(agent.liveness)) &&
      tools.every((tool) => agent.card.tools.includes(tool)) &&
      hasWords(textOf(agent)),
    rankOf: rankAgents(registry, sort),
    idOf: ({ id }) => id,
  }));
}

/** Who waits for a person, who may be gone, who is there, who is dead; each newest first. */
function rankAgents(
  { activities }: State["registry"],
  sort: api.AgentSort,
): (agent: Agent) => Rank {
  switch (sort) {
    case "attention":
      return ({ id, liveness, registeredAtMs }) => {
        const isWaiting = liveness !== "dead" && activities.get(id)?.state === "waiting";
        const kind = isWaiting ? 0 : 1 + ["unreachable", "alive", "dead"].indexOf(liveness);
        return inKind(kind, registeredAtMs);
      };
    case "newest":
      return ({ registeredAtMs }) => -registeredAtMs;
    case "oldest":
      return ({ registeredAtMs }) => registeredAtMs;
    case "name":
      return ({ card }) => card.name.toLowerCase();
  }
}

export function listLeases(
  plane: Plane,
  input: api.Input<"listLeases">,
): Promise<Reply<api.Page<api.Lease>>> {
  const { holder, query, sort = "newest" } = input;
  const hasWords = wordsOf(query);
  return list(plane, input, encodeLease, (state) => ({
    items: state.leases.held.values(),
    wants: (lease) => {
      if (holder !== undefined && lease.holder !== holder) return false;
      const { taskId } = lease;
      return hasWords(`${taskId} ${lease.holder} ${nameOf(state, lease.holder)}`.toLowerCase());
    },
    rankOf: rankLeases(sort),
    idOf: ({ taskId }) => taskId,
  }));
}

function rankLeases(sort: api.LeaseSort): (lease: Lease) => Rank {
  switch (sort) {
    case "newest":
      return ({ acquiredAtMs }) => -acquiredAtMs;
    case "oldest":
      return ({ acquiredAtMs }) => acquiredAtMs;
    case "expiry":
      return ({ expiresAtMs }) => expiresAtMs;
    case "task":
      return ({ taskId }) => taskId;
  }
}

export function listElections(
  plane: Plane,
  input: api.Input<"listElections">,
): Promise<Reply<api.Page<api.Election>>> {
  const { query, sort = "newest" } = input;
  const hasWords = wordsOf(query);
  return list(plane, input, encodeElection, (state) => ({
    items: state.elections.groups.values(),
    wants: ({ group, leader }) => {
      const led = leader === undefined ? "" : `${leader} ${nameOf(state, leader)}`;
      return hasWords(`${group} ${led}`.toLowerCase());
    },
    rankOf: ({ group, changedAtMs }: Election) => (sort === "group" ? group : -changedAtMs),
    idOf: ({ group }) => group,
  }));
}

export function listPolicies(
  plane: Plane,
  input: api.Input<"listPolicies">,
): Promise<Reply<api.Page<api.Policy>>> {
  const { query, sort = "id" } = input;
  const hasWords = wordsOf(query);
  const same = (_: State, policy: Policy): api.Policy => policy;
  return list(plane, input, same, ({ entitlements }) => {
    // The map is in the order in which policies came.
    let place = 0;
    return {
      items: entitlements.policies.values(),
      wants: ({ id, subject, action, resource, effect }) =>
        hasWords(`${id} ${effect} ${subject} ${action} ${resource}`.toLowerCase()),
      rankOf: ({ id }: Policy) => (sort === "id" ? id : --place),
      idOf: ({ id }) => id,
    };
  });
}

export function listTasks(
  plane: Plane,
  input: api.Input<"listTasks">,
): Promise<Reply<api.Page<api.Task>>> {
  const { state: states, type, claimant, query, sort = "attention" } = input;
  const hasWords = wordsOf(query);
  return list(plane, input, encodeTask, (state) => ({
    items: state.tasks.byId.values(),
    wants: (task) => {
      if (states && !states.includes(task.state)) return false;
      if (type !== undefined && task.type !== type) return false;
      const worker = "claimant" in task ? task.claimant : undefined;
      if (claimant !== undefined && worker !== claimant) return false;
      const who = worker === undefined ? "" : `${worker} ${nameOf(state, worker)}`;
      const { id, requiredTools, failureReason } = task;
      const text = [id, task.type, task.state, ...requiredTools, failureReason, who].join(" ");
      return hasWords(text.toLowerCase());
    },
    rankOf: rankTasks(sort),
    idOf: ({ id }) => id,
  }));
}

/** What a person may have to look at comes first; each newest first. */
const taskOrder = ["dead", "claimed", "pending", "delayed", "cancelled", "completed"] as const;

function rankTasks(sort: api.TaskSort): (task: Task) => Rank {
  switch (sort) {
    case "attention":
      return ({ state, createdAtMs }) => inKind(taskOrder.indexOf(state), createdAtMs);
    case "newest":
      return ({ createdAtMs }) => -createdAtMs;
    case "oldest":
      return ({ createdAtMs }) => createdAtMs;
  }
}

/** Kinds in their order, and in each the newest first. */
function inKind(kind: number, atMs: number): number {
  return kind * 2 ** 48 - atMs;
}

async function list<Item, Row>(
  plane: Plane,
  cut: Cut,
  encode: (state: State, item: Item) => Row,
  listing: (state: State) => Listing<Item>,
): Promise<Reply<api.Page<Row>>> {
  const value = await plane.read((state, nowMs) => {
    const page = cutPage(listing(state), cut, (item) => encode(state, item));
    return page && { ...page, sequence: plane.lastSequence, nowMs };
  });
  if (value) return { value };
  const message = "after: must be the `next` of the page before";
  return { refusal: { code: "invalid_argument", message } };
}

const texts = new WeakMap<Agent, string>();

/** What can be searched for, made once: records are never changed in place. */
function textOf(agent: Agent): string {
  const known = texts.get(agent);
  if (known !== undefined) return known;
  const { name, description, version, tools, capabilities } = agent.card;
  const named = capabilities.map((capability) => capability.name);
  const text = [name, agent.id, version, description, ...tools, ...named].join(" ").toLowerCase();
  texts.set(agent, text);
  return text;
}

/** Reads the log backwards, in pieces, until there are enough or too many were looked at. */
export async function listEntries(
  plane: Plane,
  input: api.Input<"listEntries">,
): Promise<api.LogPage> {
  const { limit = wireLimits.pageDefault, type: types = [], about, query } = input;
  const hasWords = wordsOf(query);
  const wants = ({ event }: Entry): boolean =>
    (types.length === 0 || types.some((type) => event.type.startsWith(type))) &&
    (about === undefined || mentions(event, about));
  const sequence = plane.durableSequence;
  const { oldestSequence } = plane;
  const rows: api.Entry[] = [];
  let before = Math.min(input.before ?? sequence + 1, sequence + 1);
  const stopAt = Math.max(oldestSequence, before - limits.entriesScannedMax);
  while (before > stopAt && rows.length < limit) {
    const from = Math.max(stopAt, before - limits.entriesReadMax);
    const piece = await readPiece(plane, from, before, (entry) => {
      if (!wants(entry)) return undefined;
      const row = encodeEntry(entry);
      return query === undefined || hasWords(JSON.stringify(row).toLowerCase()) ? row : undefined;
    });
    const newest = piece.toReversed().slice(0, limit - rows.length);
    rows.push(...newest);
    const isCut = newest.length < piece.length;
    before = isCut ? (newest.at(-1)?.sequence ?? from) : from;
  }
  const next = before > oldestSequence ? { next: before } : {};
  return { rows, ...next, oldestSequence, sequence };
}

/** Rows of the entries from one sequence up to another. What is not shown is let go at once. */
async function readPiece(
  plane: Plane,
  from: number,
  before: number,
  encode: (entry: Entry) => api.Entry | undefined,
): Promise<api.Entry[]> {
  const rows: api.Entry[] = [];
  let after = from - 1;
  while (after < before - 1) {
    const entries = await plane.history(after, before - 1 - after);
    for (const entry of entries) {
      const row = encode(entry);
      if (row) rows.push(row);
    }
    const last = entries.at(-1);
    if (!last) break;
    after = last.sequence;
  }
  return rows;
}

/** Whether an event is about an agent, a task, a group or a policy. */
function mentions(event: Event, id: string): boolean {
  switch (event.type) {
    case "agent.registered":
    case "agent.unreachable":
    case "agent.recovered":
    case "agent.died":
      return event.agent.id === id;
    case "agent.active":
    case "agent.forgotten":
      return event.agentId === id;
    case "lease.acquired":
    case "lease.renewed":
    case "lease.released":
    case "lease.expired":
      return event.lease.holder === id || event.lease.taskId === id;
    case "leader.changed":
      return event.group === id || event.leader === id;
    case "election.joined":
    case "election.left":
      return event.group === id || event.agentId === id;
    case "policy.changed":
    case "policy.deleted":
      return event.policy.id === id;
    case "task.created":
    case "task.ready":
    case "task.claimed":
    case "task.extended":
    case "task.completed":
    case "task.failed":
    case "task.requeued":
    case "task.cancelled":
    case "task.dead":
      return event.task.id === id || ("claimant" in event.task && event.task.claimant === id);
    case "task.forgotten":
      return event.taskId === id;
    case "plane.opened":
    case "plane.resumed":
      return false;
  }
}
