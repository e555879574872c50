/** The core's things as AgentKeeper says them. */
import type { Agent, Election, Event, Lease, Liveness, Policy, Task } from "../../core/index.ts";
import { isWorkEvent, topics } from "../../core/index.ts";
import type { Entry } from "../../log/index.ts";
import * as wire from "../../wire/agentkeeper/index.ts";
import { frame } from "../../wire/grpc/index.ts";

const statusOf = {
  alive: wire.AgentStatus.ALIVE,
  unreachable: wire.AgentStatus.UNREACHABLE,
  dead: wire.AgentStatus.DEAD,
} as const;

export function encodeAgent(agent: Agent, lastHeartbeatAtMs: number): wire.AgentInfo {
  const { name, description, version, capabilities, tools, metadata } = agent.card;
  return {
    agentId: agent.id,
    card: { name, description, version, capabilities, tools, metadata: new Map(metadata) },
    status: statusOf[agent.liveness],
    registeredAt: timestamp(agent.registeredAtMs),
    lastHeartbeatAt: timestamp(lastHeartbeatAtMs),
  };
}

export function encodeLiveness(liveness: Liveness): wire.AgentStatus {
  return statusOf[liveness];
}

export function encodeLease(lease: Lease): wire.Lease {
  return {
    taskId: lease.taskId,
    holderAgentId: lease.holder,
    token: { value: lease.token },
    acquiredAt: timestamp(lease.acquiredAtMs),
    expiresAt: timestamp(lease.expiresAtMs),
  };
}

export function encodeElection(
  election: Pick<Election, "group" | "leader" | "term" | "changedAtMs">,
): wire.ElectionState {
  const { group, leader, term, changedAtMs } = election;
  return {
    group,
    leaderAgentId: leader ?? "",
    term,
    electedAt: leader === undefined ? undefined : timestamp(changedAtMs),
  };
}

export function encodePolicy({ id, subject, action, resource, effect }: Policy): wire.Policy {
  const number = effect === "allow" ? wire.PolicyEffect.ALLOW : wire.PolicyEffect.DENY;
  return { id, subject, action, resource, effect: number };
}

/** AgentKeeper has no word for a task that waits for its time, nor for one that was called off. */
const taskStatusOf = {
  delayed: wire.TaskStatus.PENDING,
  pending: wire.TaskStatus.PENDING,
  claimed: wire.TaskStatus.CLAIMED,
  completed: wire.TaskStatus.COMPLETED,
  dead: wire.TaskStatus.DEAD,
  cancelled: wire.TaskStatus.DEAD,
} as const;

/** FAILED is never entered: a failed attempt leads to PENDING or DEAD. */
export function hasStatus(task: Task, status: wire.TaskStatus): boolean {
  return taskStatusOf[task.state] === status;
}

/** `input` and `output` are base64, as the core keeps them. */
export function encodeTask(
  task: Task,
  { input = "", output = "" }: { input?: string | undefined; output?: string | undefined } = {},
): wire.Task {
  const claim = "claimant" in task ? task : undefined;
  return {
    id: task.id,
    type: task.type,
    input: Buffer.from(input, "base64"),
    output: Buffer.from(output, "base64"),
    status: taskStatusOf[task.state],
    requiredTools: task.requiredTools,
    maxRetries: task.maxRetries,
    retryCount: task.retryCount,
    claimedByAgentId: claim?.claimant ?? "",
    failureReason: task.failureReason,
    createdAt: timestamp(task.createdAtMs),
    claimedAt: claim && timestamp(claim.claimedAtMs),
    completedAt: task.state === "completed" ? timestamp(task.completedAtMs) : undefined,
    claimToken: task.state === "claimed" ? BigInt(task.deliveries) : 0n,
    claimExpiresAt: task.state === "claimed" ? timestamp(task.expiresAtMs) : undefined,
    deliveryCount: task.deliveries,
  };
}

/** A published event as one framed message. Made once for each entry, whoever watches. */
export function encodeEntry(entry: Entry): Buffer {
  const known = frames.get(entry);
  if (known) return known;
  const framed = encodeEvent(entry.event, entry);
  frames.set(entry, framed);
  return framed;
}

const frames = new WeakMap<Entry, Buffer>();

type When = { readonly busSequence: number; readonly atMs: number };

export function encodeEvent(event: Event, when: When): Buffer {
  return frame(wire.Event.encode(toWireEvent(event, when)).finish());
}

export function toWireEvent(event: Event, { busSequence, atMs }: When): wire.Event {
  return {
    topic: topics[event.type],
    payload: payloadOf(event),
    sequenceNumber: BigInt(busSequence),
    occurredAt: timestamp(atMs),
  };
}

function payloadOf(event: Event): wire.Event["payload"] {
  if (isWorkEvent(event)) return undefined;
  switch (event.type) {
    case "agent.registered":
    case "agent.unreachable":
    case "agent.recovered":
    case "agent.died": {
      const info = encodeAgent(event.agent, event.lastHeartbeatAtMs);
      return any("AgentInfo", wire.AgentInfo.encode(info).finish());
    }
    case "lease.acquired":
    case "lease.renewed":
    case "lease.released":
    case "lease.expired":
      return any("Lease", wire.Lease.encode(encodeLease(event.lease)).finish());
    case "leader.changed":
      return any("ElectionState", wire.ElectionState.encode(encodeElection(event)).finish());
    case "policy.changed":
    case "policy.deleted":
      return any("Policy", wire.Policy.encode(encodePolicy(event.policy)).finish());
    case "task.created":
    case "task.ready":
    case "task.claimed":
    case "task.extended":
    case "task.completed":
    case "task.failed":
    case "task.requeued":
    case "task.cancelled":
    case "task.dead":
      return any("Task", wire.Task.encode(encodeTask(event.task)).finish());
    case "agent.active":
    case "agent.forgotten":
    case "task.forgotten":
    case "election.joined":
    case "election.left":
    case "observed.changed":
    case "observed.left":
    case "need.dismissed":
    case "need.restored":
    case "plane.opened":
    case "plane.resumed":
      return undefined;
  }
}

/** SDKs read the name after the last slash, and insist on the slash. */
function any(name: string, value: Uint8Array): wire.Event["payload"] {
  return { typeUrl: `type.googleapis.com/agentkeeper.v1.${name}`, value: Buffer.from(value) };
}

export function timestamp(ms: number): wire.Timestamp {
  const seconds = Math.floor(ms / 1_000);
  return { seconds: BigInt(seconds), nanos: (ms - seconds * 1_000) * 1_000_000 };
}
