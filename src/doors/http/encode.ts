/** State and entries as the API's vocabulary. Tokens and terms become decimal strings. */
import {
  type Agent,
  type AgentId,
  countAgents,
  countTasks,
  type Election,
  type Event,
  hasLeft,
  isWorkEvent,
  type Lease,
  lastHeard,
  type State,
  type Task,
  topics,
} from "../../core/index.ts";
import type { Entry } from "../../log/index.ts";
import type { Retained } from "../../plane/index.ts";
import type * as api from "../../wire/api/index.ts";
import { encodeWork, firstQuestionOf, type Telling, type WorkLook } from "./encode-job.ts";
import { limits } from "./limits.ts";

/**
 * Held, led and worked on: the first few of each, and how many. `maySee`: whether the caller may read what the agent
 * asks.
 */
export function encodeAgent(
  state: State,
  agent: Agent,
  { maySee }: { readonly maySee: boolean },
): api.Agent {
  const { registry, leases, tasks, elections } = state;
  const held = leases.byHolder.get(agent.id);
  const claimed = tasks.byClaimant.get(agent.id);
  const led = elections.byCandidate
    .get(agent.id)
    ?.values()
    .filter((group) => elections.groups.get(group)?.leader === agent.id)
    .take(limits.heldShownMax)
    .toArray();
  const isFree = !held && !claimed && !led?.length;
  return {
    ...encodeRecord(agent, lastHeard(registry, agent, state.openedAtMs)),
    ...activityOf(state, agent.id),
    ...(maySee && firstQuestionOf(state, { of: "agent", agentId: agent.id })),
    ...(isFree
      ? {}
      : {
          holds: {
            leases: [...(held?.values().take(limits.heldShownMax) ?? [])],
            leaseCount: held?.size ?? 0,
            claimCount: claimed?.size ?? 0,
            leads: led ?? [],
          },
        }),
  };
}

function activityOf({ registry }: State, id: AgentId): Pick<api.Agent, "activity"> {
  const activity = registry.activities.get(id);
  if (!activity) return {};
  const { reports } = registry;
  const { sinceMs, reportedAtMs = sinceMs } = activity;
  const told = { ...activity, reportedAtMs: reports.get(id) ?? reportedAtMs };
  return { activity: { ...told, source: "protocol" } };
}

function encodeRecord(agent: Agent, heard: ReturnType<typeof lastHeard>): api.Agent {
  const { id, card, liveness, ttlMs, registeredAtMs } = agent;
  const metadata = Object.fromEntries(card.metadata);
  const record = { id, card: { ...card, metadata }, liveness, ttlMs, registeredAtMs };
  const died = agent.liveness === "dead" ? { diedAtMs: agent.diedAtMs } : {};
  const left = hasLeft(agent) ? { hasLeft: true as const } : {};
  return { ...record, ...heard, ...died, ...left };
}

export function nameOf({ registry }: State, id: AgentId): string {
  return registry.agents.get(id)?.card.name ?? "";
}

export function encodeLease(state: State, lease: Lease): api.Lease {
  return { ...bareLease(lease), holderName: nameOf(state, lease.holder) };
}

function bareLease(lease: Lease): Omit<api.Lease, "holderName"> {
  const { taskId, holder, token, ttlMs, acquiredAtMs, expiresAtMs } = lease;
  return { taskId, holder, token: String(token), ttlMs, acquiredAtMs, expiresAtMs };
}

export function encodeElection(state: State, election: Election): api.Election {
  const { group, term, leader, changedAtMs, candidates } = election;
  return {
    group,
    term: String(term),
    changedAtMs,
    candidateCount: candidates.length,
    candidates: candidates
      .slice(0, limits.candidatesShownMax)
      .map((agentId) => ({ agentId, name: nameOf(state, agentId) })),
    ...(leader === undefined ? {} : { leader, leaderName: nameOf(state, leader) }),
  };
}

export function encodeTask(state: State, task: Task): api.Task {
  const name = "claimant" in task ? { claimantName: nameOf(state, task.claimant) } : {};
  return { ...bareTask(task), ...name };
}

export function encodeTaskDetail(state: State, task: Task): api.TaskDetail {
  const { inputs, outputs } = state.tasks;
  const payload = { input: inputs.get(task.id) ?? "", output: outputs.get(task.id) ?? "" };
  return { ...encodeTask(state, task), ...payload };
}

function bareTask(task: Task): Omit<api.Task, "claimantName"> {
  const { id, type, state, priority, requiredTools, maxRetries, retryCount } = task;
  const { deliveries, deliveriesMax, claimMs, createdAtMs, failureReason } = task;
  const order = { id, type, state, priority, requiredTools, claimMs, createdAtMs };
  const tries = { maxRetries, retryCount, deliveries, deliveriesMax, failureReason };
  return { ...order, ...tries, ...stateOf(task) };
}

function stateOf(task: Task): Partial<api.Task> {
  switch (task.state) {
    case "delayed":
      return { readyAtMs: task.readyAtMs };
    case "pending":
      return {};
    case "claimed": {
      const { claimant, claimedAtMs, expiresAtMs: claimExpiresAtMs } = task;
      return { claimant, claimedAtMs, claimExpiresAtMs, claimToken: String(task.deliveries) };
    }
    case "completed": {
      const { claimant, claimedAtMs, completedAtMs: endedAtMs } = task;
      return { claimant, claimedAtMs, endedAtMs };
    }
    case "dead": {
      const { claimant, claimedAtMs, diedAtMs: endedAtMs } = task;
      return { claimant, claimedAtMs, endedAtMs };
    }
    case "cancelled":
      return { endedAtMs: task.cancelledAtMs };
  }
}

export function encodeCounts(
  state: State,
  { watchers, work }: { readonly watchers: number; readonly work: WorkLook },
): api.Counts {
  return {
    agents: countAgents(state),
    leases: state.leases.held.size,
    elections: state.elections.contestedCount,
    policies: state.entitlements.policies.size,
    tasks: countTasks(state),
    jobs: { ...work.counts },
    questions: state.questions.open.size,
    watchers,
  };
}

export function encodeRetained(retained: Retained): api.Retained {
  const { oldestSequence, oldestAtMs, entriesBytes: bytes, diskBytes, keep } = retained;
  const bounds =
    "entries" in keep ? { keepEntries: keep.entries } : { keepMs: keep.ms, keepBytes: keep.bytes };
  return { oldestSequence, oldestAtMs, bytes, diskBytes, ...bounds };
}

/** Inputs and outputs of tasks are left out: they may be large, and are for who works on the task. */
export function encodeEntry(entry: Entry, telling: Telling): api.Entry {
  const { sequence, busSequence, atMs, actor, event } = entry;
  const topic = topics[event.type];
  // Whose jobs they are is told as little as what they are.
  const isBare = isWorkEvent(event) && !telling.maySee;
  const who = isBare ? (actor.split("/")[0] ?? "") : actor;
  const body = encodeEvent(event, { atMs, telling });
  return { sequence, busSequence, topic, atMs, actor: who, ...body };
}

function encodeEvent(
  event: Event,
  { atMs, telling }: { readonly atMs: number; readonly telling: Telling },
): api.EntryBody {
  if (isWorkEvent(event)) return encodeWork(event, telling);
  switch (event.type) {
    case "agent.registered":
    case "agent.unreachable":
    case "agent.recovered":
    case "agent.died": {
      const { type, agent, ...heard } = event;
      return { type, agent: encodeRecord(agent, heard) };
    }
    case "agent.active": {
      const { type, agentId, activity } = event;
      const told = { ...activity, reportedAtMs: atMs, source: "protocol" } as const;
      return { type, agentId, activity: told };
    }
    case "lease.acquired":
    case "lease.renewed":
    case "lease.released":
    case "lease.expired":
      return { type: event.type, lease: bareLease(event.lease) };
    case "leader.changed":
      return { ...event, term: String(event.term) };
    case "task.created":
    case "task.ready":
    case "task.claimed":
    case "task.extended":
    case "task.completed":
    case "task.failed":
    case "task.requeued":
    case "task.cancelled":
    case "task.dead":
      return { type: event.type, task: bareTask(event.task) };
    case "plane.opened":
    case "plane.resumed":
      return { type: event.type };
    case "agent.forgotten":
    case "task.forgotten":
    case "election.joined":
    case "election.left":
    case "policy.changed":
    case "policy.deleted":
    case "observed.changed":
    case "observed.left":
    case "need.dismissed":
    case "need.restored":
      return event;
  }
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
