/** Commands in few words, with the defaults of the AgentKeeper SDK. */
import {
  agentId,
  type Card,
  type ClaimTask,
  type Command,
  groupName,
  policyId,
  taskId,
  token,
} from "../core/index.ts";

type Of<Type extends Command["type"]> = Command & { readonly type: Type };

export function card(name: string, tools: readonly string[] = []): Card {
  return { name, description: "", version: "", capabilities: [], tools, metadata: [] };
}

/** The name is also the id. */
export function register(
  name: string,
  { ttlMs = 30_000, tools = [] }: { readonly ttlMs?: number; readonly tools?: string[] } = {},
): Of<"agent.register"> {
  return { type: "agent.register", agentId: agentId(name), card: card(name, tools), ttlMs };
}

export function heartbeat(name: string): Of<"agent.heartbeat"> {
  return { type: "agent.heartbeat", agentId: agentId(name) };
}

export function deregister(name: string): Of<"agent.deregister"> {
  return { type: "agent.deregister", agentId: agentId(name) };
}

export function acquire(task: string, name: string, ttlMs = 60_000): Of<"lease.acquire"> {
  return { type: "lease.acquire", taskId: taskId(task), agentId: agentId(name), ttlMs };
}

export function renew(
  task: string,
  name: string,
  presented: bigint,
  ttlMs?: number,
): Of<"lease.renew"> {
  const named = { taskId: taskId(task), agentId: agentId(name), token: token(presented) };
  return { type: "lease.renew", ...named, ...(ttlMs === undefined ? {} : { ttlMs }) };
}

export function release(task: string, name: string, presented: bigint): Of<"lease.release"> {
  const named = { taskId: taskId(task), agentId: agentId(name), token: token(presented) };
  return { type: "lease.release", ...named };
}

export function campaign(group: string, name: string): Of<"election.campaign"> {
  return { type: "election.campaign", group: groupName(group), agentId: agentId(name) };
}

export function resign(group: string, name: string): Of<"election.resign"> {
  return { type: "election.resign", group: groupName(group), agentId: agentId(name) };
}

/** `subject action resource`, in one text. */
export function setPolicy(
  id: string,
  effect: "allow" | "deny",
  rule: `${string} ${string} ${string}`,
): Of<"policy.set"> {
  const [subject = "", action = "", resource = ""] = rule.split(" ");
  return { type: "policy.set", policy: { id: policyId(id), subject, action, resource, effect } };
}

export function deletePolicy(id: string): Of<"policy.delete"> {
  return { type: "policy.delete", policyId: policyId(id) };
}

export function createTask(
  task: string,
  {
    input = "",
    requiredTools = [],
    maxRetries = 0,
    claimMs = 60_000,
  }: {
    readonly input?: string;
    readonly requiredTools?: readonly string[];
    readonly maxRetries?: number;
    readonly claimMs?: number;
  } = {},
): Of<"task.create"> {
  const asked = { input, requiredTools, maxRetries, claimMs };
  return { type: "task.create", taskId: taskId(task), taskType: "work", ...asked };
}

export function claim(name: string): ClaimTask {
  return { type: "task.claim", agentId: agentId(name) };
}

export function unclaim(task: string, name: string): Of<"task.unclaim"> {
  return { type: "task.unclaim", taskId: taskId(task), agentId: agentId(name) };
}

export function complete(task: string, name: string, output = ""): Of<"task.complete"> {
  return { type: "task.complete", taskId: taskId(task), agentId: agentId(name), output };
}

export function fail(task: string, name: string, reason = ""): Of<"task.fail"> {
  return { type: "task.fail", taskId: taskId(task), agentId: agentId(name), reason };
}
