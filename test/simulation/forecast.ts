/** What a command must come to, by the letter of the contract, in the plainest words that will do. */
import { isDeepStrictEqual } from "node:util";
import type {
  AccessQuery,
  AccessVerdict,
  AgentId,
  ClaimTask,
  Command,
  Policy,
  State,
  Task,
} from "../../src/core/index.ts";

/** The code of the refusal; undefined if the command must be accepted. */
export function forecast(state: State, command: Command): string | undefined {
  switch (command.type) {
    case "agent.heartbeat":
    case "election.campaign":
      return livingOrNot(state, command.agentId);
    case "agent.deregister":
      return state.registry.agents.has(command.agentId) ? undefined : "agent_not_found";
    case "lease.acquire": {
      const problem = livingOrNot(state, command.agentId);
      const held = state.leases.held.get(command.taskId);
      return problem ?? (held && held.holder !== command.agentId ? "lease_held" : undefined);
    }
    case "lease.renew":
    case "lease.release": {
      const held = state.leases.held.get(command.taskId);
      if (!held) return "lease_not_found";
      const isOwn = held.holder === command.agentId && held.token === command.token;
      return isOwn ? undefined : "token_mismatch";
    }
    case "task.claim": {
      const problem = livingOrNot(state, command.agentId);
      if (problem !== undefined || claimUnder(state, command)) return problem;
      return fitting(state, command) === 0 ? "no_task" : undefined;
    }
    case "task.extend":
    case "task.complete":
    case "task.fail":
      return forecastClaim(state, command);
    case "task.cancel": {
      const task = state.tasks.byId.get(command.taskId);
      if (!task) return "task_not_found";
      return ["completed", "dead"].includes(task.state) ? "task_ended" : undefined;
    }
    case "task.requeue": {
      const task = state.tasks.byId.get(command.taskId);
      if (!task) return "task_not_found";
      return ["cancelled", "dead"].includes(task.state) ? undefined : "task_not_dead";
    }
    case "agent.register": {
      const agent = state.registry.agents.get(command.agentId);
      if (!agent) return undefined;
      const isSame = agent.ttlMs === command.ttlMs && isDeepStrictEqual(agent.card, command.card);
      if (!isSame) return "key_reused";
      return agent.liveness === "dead" ? "agent_dead" : undefined;
    }
    case "task.create": {
      const task = state.tasks.byId.get(command.taskId);
      if (!task) return undefined;
      const { taskType, input, requiredTools, maxRetries, claimMs } = command;
      const { priority = 0, deliveriesMax = 0 } = command;
      const asked = [taskType, input, requiredTools, maxRetries, claimMs, priority, deliveriesMax];
      const found = [
        task.type,
        state.tasks.inputs.get(task.id) ?? "",
        task.requiredTools,
        task.maxRetries,
        task.claimMs,
        task.priority,
        task.deliveriesMax,
      ];
      return isDeepStrictEqual(found, asked) ? undefined : "key_reused";
    }
    case "plane.open":
    case "plane.resume":
    case "tick":
    case "election.resign":
    case "policy.set":
    case "policy.delete":
    case "task.unclaim":
    case "key.withdraw":
    case "observed.report":
    case "observed.leave":
      return undefined;
    default:
      throw new Error(`what ${command.type} must come to is told elsewhere`);
  }
}

type UnderClaim = Extract<Command, { type: "task.extend" | "task.complete" | "task.fail" }>;

function forecastClaim(state: State, command: UnderClaim): string | undefined {
  const task = state.tasks.byId.get(command.taskId);
  if (!task) return "task_not_found";
  const isOwn = "claimant" in task && task.claimant === command.agentId;
  const { claimToken } = command;
  const isThisClaim = claimToken === undefined || claimToken === task.deliveries;
  if (command.type === "task.complete" && task.state === "completed" && isOwn && isThisClaim) {
    const before = state.tasks.outputs.get(task.id) ?? "";
    if (before === command.output) return undefined;
  }
  if (command.type === "task.fail" && claimToken === task.deliveries) {
    const failure = task.lastFailure;
    const wasOwn = failure?.claimant === command.agentId && failure.claimToken === claimToken;
    if (wasOwn && task.failureReason === command.reason) return undefined;
  }
  if (task.state !== "claimed") return "task_not_claimed";
  if (!isThisClaim) return "claim_lost";
  return isOwn ? undefined : "task_claimed_by_another";
}

/** The claim that the agent has under the same key. */
export function claimUnder(state: State, { agentId, key }: ClaimTask): Task | undefined {
  if (key === undefined) return undefined;
  return [...state.tasks.byId.values()].find(
    (task) => task.state === "claimed" && task.claimant === agentId && task.claimKey === key,
  );
}

/** How many pending tasks an agent could be given now. */
export function fitting(state: State, { agentId, types }: ClaimTask): number {
  const agent = state.registry.agents.get(agentId);
  if (agent?.liveness !== "alive") return 0;
  return [...state.tasks.byId.values()].filter(
    (task) =>
      task.state === "pending" &&
      (types === undefined || types.includes(task.type)) &&
      task.requiredTools.every((tool) => agent.card.tools.includes(tool)),
  ).length;
}

/** Deny wins; then allow; else no. Of several, the smallest id is named. */
export function judge(policies: Iterable<Policy>, query: AccessQuery): AccessVerdict {
  const applying = [...policies]
    .filter(({ subject }) => stars(subject).test(query.subject))
    .filter(({ action }) => stars(action).test(query.action))
    .filter(({ resource }) => stars(resource).test(query.resource))
    .sort((one, other) => (one.id < other.id ? -1 : 1));
  const deciding = applying.find(({ effect }) => effect === "deny") ?? applying[0];
  if (!deciding) return { allowed: false };
  return { allowed: deciding.effect === "allow", decidedBy: deciding };
}

function stars(pattern: string): RegExp {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[^\w]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}

function livingOrNot(state: State, id: AgentId): string | undefined {
  const liveness = state.registry.agents.get(id)?.liveness;
  if (liveness === undefined) return "agent_not_found";
  return liveness === "dead" ? "agent_dead" : undefined;
}
