/** Requests as commands. Limits are checked here, before anything is stored. */
import {
  type AgentId,
  agentId,
  type Card,
  type Command,
  type GroupName,
  groupName,
  type Policy,
  policyId,
  type TaskId,
  taskId,
  token,
} from "../../core/index.ts";
import { idFromKey } from "../../plane/index.ts";
import {
  type AcquireLeaseRequest,
  type AgentCard,
  type CampaignRequest,
  type CheckPolicyRequest,
  type CompleteTaskRequest,
  type CreateTaskRequest,
  type FailTaskRequest,
  type FindRequest,
  PolicyEffect,
  type RegisterRequest,
  type ReleaseLeaseRequest,
  type RenewLeaseRequest,
  type SetPolicyRequest,
  type WatchRequest,
  type Policy as WirePolicy,
} from "../../wire/agentkeeper/index.ts";
import {
  bytesOf,
  count,
  first,
  keyProblem,
  length,
  malformed,
  name,
  newId,
  type Parsed,
  type Problem,
  parse,
  payload,
  taskAndAgent,
  text,
  toolNames,
  ttlMs,
} from "./fields.ts";
import { limits } from "./limits.ts";

/** Metadata under which AgentKeeper's own calls may carry a key. */
export const keyHeader = "idempotency-key";

export type CommandOf<Type extends Command["type"]> = Extract<Command, { type: Type }>;

/** With a key, the id follows from it: whoever registers again finds itself. */
export function decodeRegister(
  request: RegisterRequest,
  key?: string,
): Parsed<CommandOf<"agent.register">> {
  const { card, ttlSeconds } = request;
  if (!card) return malformed("card is required");
  return parse(cardProblem(card) ?? keyProblem(keyHeader, key), () => ({
    type: "agent.register",
    agentId: agentId(key === undefined ? newId() : idFromKey("agent", key)),
    card: decodeCard(card),
    ttlMs: ttlMs(ttlSeconds, 30),
  }));
}

function cardProblem(card: AgentCard): Problem {
  return (
    name("card.name", card.name) ??
    text("card.description", card.description) ??
    length("card.version", card.version, limits.nameBytesMax) ??
    toolNames("card.tools", card.tools) ??
    count("card.capabilities", card.capabilities.length) ??
    first(
      card.capabilities,
      (capability) =>
        length("capability name", capability.name, limits.nameBytesMax) ??
        text("capability description", capability.description),
    ) ??
    count("card.metadata", card.metadata.size) ??
    first(
      card.metadata,
      ([key, value]) =>
        length("metadata key", key, limits.nameBytesMax) ?? text("metadata value", value),
    ) ??
    (cardBytes(card) > limits.cardBytesMax
      ? `card is longer than ${limits.cardBytesMax} bytes`
      : undefined)
  );
}

/** Of the card as we or the wire have it: metadata are pairs in both. */
export function cardBytes(
  card: Pick<Card, "description" | "tools" | "capabilities"> & {
    readonly metadata: Iterable<readonly [string, string]>;
  },
): number {
  const capabilities = card.capabilities.flatMap(({ name, description }) => [name, description]);
  return bytesOf([card.description, ...card.tools, ...capabilities, ...[...card.metadata].flat()]);
}

function decodeCard(card: AgentCard): Card {
  const { name, description, version, tools } = card;
  const capabilities = card.capabilities.map(({ name, description }) => ({ name, description }));
  return { name, description, version, capabilities, tools, metadata: [...card.metadata] };
}

export function decodeFind(
  request: FindRequest,
): Parsed<{ readonly query: string; readonly tools: readonly string[]; readonly limit: number }> {
  const { query, tools, limit } = request;
  return parse(text("query", query) ?? toolNames("tools", tools), () => ({
    query,
    tools,
    limit: Math.min(limit === 0 ? limits.findDefault : limit, limits.findMax),
  }));
}

/** An empty list, and an empty text in it, mean everything. */
export function decodeWatch({ topics }: WatchRequest): Parsed<readonly string[]> {
  const problem =
    count("topics", topics.length) ??
    first(topics, (topic) => length("topic", topic, limits.nameBytesMax));
  return parse(problem, () => (topics.length === 0 ? [""] : topics));
}

export function decodeAgentId(request: { readonly agentId: string }): Parsed<AgentId> {
  return parse(name("agent_id", request.agentId), () => agentId(request.agentId));
}

export function decodeTaskId(request: { readonly taskId: string }): Parsed<TaskId> {
  return parse(name("task_id", request.taskId), () => taskId(request.taskId));
}

export function decodeGroup(request: { readonly group: string }): Parsed<GroupName> {
  return parse(name("group", request.group), () => groupName(request.group));
}

export function decodeAcquire(
  request: AcquireLeaseRequest,
  key?: string,
): Parsed<CommandOf<"lease.acquire">> {
  return parse(taskAndAgent(request) ?? keyProblem(keyHeader, key), () => ({
    type: "lease.acquire",
    taskId: taskId(request.taskId),
    agentId: agentId(request.agentId),
    ttlMs: ttlMs(request.ttlSeconds, 60),
    ...(key === undefined ? {} : { key }),
  }));
}

/** A missing token is a token of 0, which nobody was ever given. */
export function decodeRenew(request: RenewLeaseRequest): Parsed<CommandOf<"lease.renew">> {
  const { ttlSeconds } = request;
  return parse(taskAndAgent(request), () => ({
    type: "lease.renew",
    taskId: taskId(request.taskId),
    agentId: agentId(request.agentId),
    token: token(request.token?.value ?? 0n),
    ...(ttlSeconds === 0 ? {} : { ttlMs: ttlSeconds * 1_000 }),
  }));
}

export function decodeRelease(request: ReleaseLeaseRequest): Parsed<CommandOf<"lease.release">> {
  return parse(taskAndAgent(request), () => ({
    type: "lease.release",
    taskId: taskId(request.taskId),
    agentId: agentId(request.agentId),
    token: token(request.token?.value ?? 0n),
  }));
}

export function decodeElection<Type extends "election.campaign" | "election.resign">(
  type: Type,
  request: CampaignRequest,
): Parsed<{ type: Type; group: GroupName; agentId: AgentId }> {
  const problem = name("group", request.group) ?? name("agent_id", request.agentId);
  return parse(problem, () => ({
    type,
    group: groupName(request.group),
    agentId: agentId(request.agentId),
  }));
}

export function decodeSetPolicy({ policy }: SetPolicyRequest): Parsed<CommandOf<"policy.set">> {
  if (!policy) return malformed("policy is required");
  return parse(policyProblem(policy), () => ({ type: "policy.set", policy: decodePolicy(policy) }));
}

function policyProblem(policy: WirePolicy): Problem {
  const { effect } = policy;
  const hasEffect = effect === PolicyEffect.ALLOW || effect === PolicyEffect.DENY;
  return (
    name("policy.id", policy.id) ??
    name("policy.subject", policy.subject) ??
    name("policy.action", policy.action) ??
    name("policy.resource", policy.resource) ??
    (hasEffect ? undefined : "policy.effect must be ALLOW or DENY")
  );
}

function decodePolicy({ id, subject, action, resource, effect }: WirePolicy): Policy {
  const word = effect === PolicyEffect.ALLOW ? "allow" : "deny";
  return { id: policyId(id), subject, action, resource, effect: word };
}

export function decodeDeletePolicy(request: {
  readonly id: string;
}): Parsed<CommandOf<"policy.delete">> {
  return parse(name("id", request.id), () => ({
    type: "policy.delete",
    policyId: policyId(request.id),
  }));
}

/** Empty fields are just compared; only texts that would hold up everyone else are refused. */
export function decodeCheckPolicy(request: CheckPolicyRequest): Parsed<CheckPolicyRequest> {
  const { subject, action, resource } = request;
  const problem = text("subject", subject) ?? text("action", action) ?? text("resource", resource);
  return parse(problem, () => request);
}

/** How many bytes a task may bring along, and leave behind. */
export type TaskLimits = { readonly inputBytesMax: number; readonly outputBytesMax: number };

/** With a key, the id follows from it: whoever creates it again finds it. */
export function decodeCreateTask(
  request: CreateTaskRequest,
  taskLimits: TaskLimits,
  key?: string,
): Parsed<CommandOf<"task.create">> {
  return parse(newTaskProblem(request, taskLimits) ?? keyProblem(keyHeader, key), () => ({
    type: "task.create",
    taskId: newTaskId(key),
    taskType: request.type,
    input: request.input.toString("base64"),
    requiredTools: request.requiredTools,
    maxRetries: request.maxRetries,
    claimMs: ttlMs(request.ttlSeconds, 60),
  }));
}

/** What is wrong with a task that is to be created. */
export function newTaskProblem(
  request: Pick<CreateTaskRequest, "type" | "input" | "requiredTools">,
  { inputBytesMax }: TaskLimits,
): Problem {
  return (
    name("type", request.type) ??
    payload("input", request.input, inputBytesMax) ??
    toolNames("required_tools", request.requiredTools) ??
    (bytesOf(request.requiredTools) > limits.requiredToolsBytesMax
      ? `required_tools are longer than ${limits.requiredToolsBytesMax} bytes`
      : undefined)
  );
}

export function newTaskId(key: string | undefined): TaskId {
  return taskId(key === undefined ? newId() : idFromKey("task", key));
}

export function decodeCompleteTask(
  request: CompleteTaskRequest,
  { outputBytesMax }: TaskLimits,
): Parsed<CommandOf<"task.complete">> {
  return parse(taskAndAgent(request) ?? payload("output", request.output, outputBytesMax), () => ({
    type: "task.complete",
    taskId: taskId(request.taskId),
    agentId: agentId(request.agentId),
    output: request.output.toString("base64"),
  }));
}

export function decodeFailTask(request: FailTaskRequest): Parsed<CommandOf<"task.fail">> {
  return parse(taskAndAgent(request) ?? text("reason", request.reason), () => ({
    type: "task.fail",
    taskId: taskId(request.taskId),
    agentId: agentId(request.agentId),
    reason: request.reason,
  }));
}
