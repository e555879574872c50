/** Requests of the extension as commands. Limits are those of the other services. */
import { agentId, limits as coreLimits, type Task, taskId } from "../../../core/index.ts";
import {
  type AcquireLeaseRequest,
  type ClaimTaskRequest,
  type CompleteTaskRequest,
  type CreateTaskRequest,
  type ExtendClaimRequest,
  type FailTaskRequest,
  TaskState,
  type WatchRequest,
} from "../../../wire/agentkeeper-ext/index.ts";
import {
  type CommandOf,
  decodeWatch as decodeTopics,
  newTaskId,
  newTaskProblem,
  type TaskLimits,
} from "../decode.ts";
import {
  count,
  first,
  length,
  name,
  type Parsed,
  type Problem,
  parse,
  payload,
  taskAndAgent,
  text,
} from "../fields.ts";
import { limits } from "../limits.ts";

/** How long to wait for something that cannot be had now; 0: not at all. */
export type Patient<Command> = { readonly command: Command; readonly waitMs: number };

export function decodeAcquire(
  request: AcquireLeaseRequest,
): Parsed<Patient<CommandOf<"lease.acquire">>> {
  const problem =
    taskAndAgent(request) ??
    duration("ttl_ms", request.ttlMs) ??
    length("idempotency_key", request.idempotencyKey, limits.nameBytesMax);
  return parse(problem, () => ({
    waitMs: request.waitMs,
    command: {
      type: "lease.acquire",
      taskId: taskId(request.taskId),
      agentId: agentId(request.agentId),
      ttlMs: orElse(request.ttlMs, 60_000),
      ...keyed(request),
    },
  }));
}

export function decodeCreate(
  request: CreateTaskRequest,
  taskLimits: TaskLimits,
): Parsed<CommandOf<"task.create">> {
  const { priority } = request;
  const { priorityMax } = coreLimits;
  const problem =
    newTaskProblem(request, taskLimits) ??
    duration("claim_ms", request.claimMs) ??
    duration("delay_ms", request.delayMs) ??
    length("idempotency_key", request.idempotencyKey, limits.nameBytesMax) ??
    (Math.abs(priority) > priorityMax
      ? `priority must be from -${priorityMax} to ${priorityMax}`
      : undefined);
  return parse(problem, () => ({
    type: "task.create",
    taskId: newTaskId(keyed(request).key),
    taskType: request.type,
    input: request.input.toString("base64"),
    requiredTools: request.requiredTools,
    maxRetries: request.maxRetries,
    claimMs: orElse(request.claimMs, 60_000),
    priority,
    deliveriesMax: request.maxDeliveries,
    delayMs: Number(request.delayMs),
  }));
}

export function decodeClaim(request: ClaimTaskRequest): Parsed<Patient<CommandOf<"task.claim">>> {
  const { types } = request;
  const problem =
    name("agent_id", request.agentId) ??
    count("types", types.length) ??
    first(types, (type) => name("a type", type)) ??
    length("idempotency_key", request.idempotencyKey, limits.nameBytesMax);
  return parse(problem, () => ({
    waitMs: request.waitMs,
    command: {
      type: "task.claim",
      agentId: agentId(request.agentId),
      ...(types.length === 0 ? {} : { types }),
      ...keyed(request),
    },
  }));
}

export function decodeExtend(request: ExtendClaimRequest): Parsed<CommandOf<"task.extend">> {
  const { claimMs } = request;
  const problem = taskAndAgent(request) ?? duration("claim_ms", claimMs);
  return parse(problem, () => ({
    type: "task.extend",
    ...claimed(request),
    ...(claimMs === 0n ? {} : { claimMs: Number(claimMs) }),
  }));
}

export function decodeComplete(
  request: CompleteTaskRequest,
  { outputBytesMax }: TaskLimits,
): Parsed<CommandOf<"task.complete">> {
  return parse(taskAndAgent(request) ?? payload("output", request.output, outputBytesMax), () => ({
    type: "task.complete",
    ...claimed(request),
    output: request.output.toString("base64"),
  }));
}

export function decodeFail(request: FailTaskRequest): Parsed<CommandOf<"task.fail">> {
  const { reason, retryAfterMs } = request;
  const problem =
    taskAndAgent(request) ?? text("reason", reason) ?? duration("retry_after_ms", retryAfterMs);
  return parse(problem, () => ({
    type: "task.fail",
    ...claimed(request),
    reason,
    retryAfterMs: Number(retryAfterMs),
  }));
}

/** `afterSequence` is undefined for "from now on", and may be larger than any that exists. */
export function decodeWatch(request: WatchRequest): Parsed<{
  readonly topics: readonly string[];
  readonly afterSequence: number | undefined;
}> {
  const topics = decodeTopics(request);
  if (topics.refusal) return topics;
  const { afterSequence } = request;
  return {
    value: {
      topics: topics.value,
      afterSequence: afterSequence === undefined ? undefined : Number(afterSequence),
    },
  };
}

const taskStates: ReadonlyMap<TaskState, Task["state"]> = new Map([
  [TaskState.DELAYED, "delayed"],
  [TaskState.PENDING, "pending"],
  [TaskState.CLAIMED, "claimed"],
  [TaskState.COMPLETED, "completed"],
  [TaskState.DEAD, "dead"],
  [TaskState.CANCELLED, "cancelled"],
]);

/** Undefined: all. */
export function decodeTaskState(state: TaskState): Parsed<Task["state"] | undefined> {
  const known = taskStates.get(state);
  const isKnown = known !== undefined || state === TaskState.UNSPECIFIED;
  return parse(isKnown ? undefined : "state is none of those there are", () => known);
}

export function decodeWithdraw(request: {
  readonly agentId: string;
  readonly idempotencyKey: string;
}): Parsed<{ readonly agentId: ReturnType<typeof agentId>; readonly key: string }> {
  const problem =
    name("agent_id", request.agentId) ?? name("idempotency_key", request.idempotencyKey);
  return parse(problem, () => ({
    agentId: agentId(request.agentId),
    key: request.idempotencyKey,
  }));
}

/** A token of 0 was never given to anyone: it means that none is. One beyond 2^53 is nobody's. */
function claimed(request: {
  readonly taskId: string;
  readonly agentId: string;
  readonly claimToken: bigint;
}): Pick<CommandOf<"task.extend">, "taskId" | "agentId" | "claimToken"> {
  const named = { taskId: taskId(request.taskId), agentId: agentId(request.agentId) };
  if (request.claimToken === 0n) return named;
  return { ...named, claimToken: Number(request.claimToken) };
}

function keyed({ idempotencyKey }: { readonly idempotencyKey: string }): { readonly key?: string } {
  return idempotencyKey === "" ? {} : { key: idempotencyKey };
}

function duration(field: string, ms: bigint): Problem {
  return ms <= limits.durationMsMax ? undefined : `${field} is more than ${limits.durationMsMax}`;
}

function orElse(ms: bigint, defaultMs: number): number {
  return ms === 0n ? defaultMs : Number(ms);
}
