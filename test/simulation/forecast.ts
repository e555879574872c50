/** What a command must come to, by the letter of the contract, in the plainest words that will do. */
import type { AgentId, Answer, Command, Policy, Question, State } from "../../src/core/index.ts";

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
      return problem ?? (fitting(state, command.agentId) === 0 ? "no_task" : undefined);
    }
    case "task.complete":
    case "task.fail": {
      const task = state.tasks.byId.get(command.taskId);
      if (!task) return "task_not_found";
      const isOwn = "claimant" in task && task.claimant === command.agentId;
      if (command.type === "task.complete" && task.state === "completed" && isOwn) {
        const before = state.tasks.outputs.get(task.id) ?? "";
        if (before === command.output) return undefined;
      }
      if (task.state !== "claimed") return "task_not_claimed";
      return isOwn ? undefined : "task_claimed_by_another";
    }
    case "plane.open":
    case "plane.resume":
    case "tick":
    case "agent.register":
    case "election.resign":
    case "policy.set":
    case "policy.delete":
    case "task.create":
    case "task.unclaim":
      return undefined;
  }
}

/** How many pending tasks an agent could be given now. */
export function fitting(state: State, id: AgentId): number {
  const agent = state.registry.agents.get(id);
  if (agent?.liveness !== "alive") return 0;
  return [...state.tasks.byId.values()].filter(
    (task) =>
      task.state === "pending" &&
      task.requiredTools.every((tool) => agent.card.tools.includes(tool)),
  ).length;
}

/** Deny wins; then allow; else no. Of several, the smallest id is named. */
export function judge(policies: Iterable<Policy>, question: Question): Answer {
  const applying = [...policies]
    .filter(({ subject }) => stars(subject).test(question.subject))
    .filter(({ action }) => stars(action).test(question.action))
    .filter(({ resource }) => stars(resource).test(question.resource))
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
