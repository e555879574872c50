/** What needs a person: who waits for one, who fell silent, what nobody can or will do. */
import type { Agent, State } from "../../core/index.ts";
import type { Plane } from "../../plane/index.ts";
import type { Answer, Attention } from "../../wire/api/index.ts";
import { limits } from "./limits.ts";
import type { OperationParts } from "./operations.ts";

/** Waiting for a person first; then what stopped, and then what may have. Each longest first. */
const order: readonly Attention["kind"][] = [
  "agent_waiting",
  "task_dead",
  "task_stuck",
  "agent_silent",
  "agent_unreachable",
  "group_leaderless",
];

export async function attentionIn(
  plane: Plane,
  find: OperationParts["find"],
): Promise<Answer<"getAttention">> {
  const { items, waiting } = await plane.read((state, nowMs) => ({
    items: [...agentsIn(state, nowMs), ...deadTasksIn(state), ...leaderlessIn(state)],
    waiting: longWaitingIn(state, nowMs),
  }));
  for (const { tools, item } of waiting) {
    const able = await find({ query: "", tools, limit: 1 });
    if (able.hits.length === 0) items.push(item);
  }
  items.sort(
    (one, other) =>
      order.indexOf(one.kind) - order.indexOf(other.kind) || one.sinceMs - other.sinceMs,
  );
  return { items: items.slice(0, limits.attentionMax), total: items.length };
}

function agentsIn({ registry }: State, nowMs: number): Attention[] {
  const items: Attention[] = [];
  for (const [id, activity] of registry.activities) {
    const agent = registry.agents.get(id);
    if (agent?.liveness !== "alive") continue;
    const about = { id, name: agent.card.name };
    const { state, note, sinceMs } = activity;
    const heardAtMs = registry.reports.get(id) ?? Math.max(sinceMs, registry.listeningSinceMs);
    if (state === "waiting") {
      const text = note === "" ? "waits for a person" : `waits: ${note}`;
      items.push({ kind: "agent_waiting", ...about, sinceMs, text });
    } else if (state !== "idle" && nowMs - heardAtMs > limits.silentMs) {
      const last = note === "" ? state : `${state}: ${note}`;
      const text = `says it works, but nothing was heard of its progress; last: ${last}`;
      items.push({ kind: "agent_silent", ...about, sinceMs: heardAtMs, text });
    }
  }
  if (registry.counts.unreachable === 0) return items;
  for (const agent of registry.agents.values()) {
    if (agent.liveness === "unreachable") items.push(unreachable(registry, agent));
  }
  return items;
}

function unreachable(
  { heartbeats }: State["registry"],
  { id, card, registeredAtMs }: Agent,
): Attention {
  const sinceMs = heartbeats.get(id) ?? registeredAtMs;
  const text = "its heartbeats stopped; what it holds is freed when it is declared dead";
  return { kind: "agent_unreachable", id, name: card.name, sinceMs, text };
}

function deadTasksIn({ tasks }: State): Attention[] {
  if (tasks.counts.dead === 0) return [];
  const items: Attention[] = [];
  for (const id of tasks.ended) {
    const task = tasks.byId.get(id);
    if (task?.state !== "dead") continue;
    const why = task.failureReason === "" ? "" : `: ${task.failureReason}`;
    const text = `failed for good${why}`;
    items.push({ kind: "task_dead", id, name: task.type, sinceMs: task.diedAtMs, text });
  }
  return items;
}

/** The first of each queue, if it waits for long: nobody may have the tools for it. */
function longWaitingIn(
  { tasks }: State,
  nowMs: number,
): { readonly tools: readonly string[]; readonly item: Attention }[] {
  const found: { readonly tools: readonly string[]; readonly item: Attention }[] = [];
  for (const queue of tasks.queues.values()) {
    if (found.length >= limits.queuesLookedAt) break;
    if (queue.tools.length === 0) continue;
    for (const lane of queue.lanes.values()) {
      const task = lane.first && tasks.byId.get(lane.first.key);
      if (!task || nowMs - task.createdAtMs < limits.stuckMs) continue;
      const text = `${lane.size} waiting for an agent with ${queue.tools.join(", ")}; there is none`;
      const about = { id: task.id, name: task.type, sinceMs: task.createdAtMs };
      found.push({ tools: queue.tools, item: { kind: "task_stuck", ...about, text } });
    }
  }
  return found;
}

function leaderlessIn({ elections }: State): Attention[] {
  const items: Attention[] = [];
  for (const { group, leader, changedAtMs } of elections.groups.values()) {
    if (leader !== undefined) continue;
    const text = "has no leader and no candidate";
    items.push({ kind: "group_leaderless", id: group, name: group, sinceMs: changedAtMs, text });
  }
  return items;
}
