/**
 * Work that waits for an agent. A task is
 * - `pending`: created, or given back. Whoever claims next and has the tools gets the oldest;
 * - `claimed`: one agent works on it, until the claim expires. Completing or failing ends the claim;
 * - `completed`: final, with an output;
 * - `dead`: final, it failed once more than it may be retried.
 *
 * A claim that expires, or whose claimant dies, gives the task back without counting as a retry.
 * Inputs and outputs are base64 and kept beside the records, so that events can carry whole records.
 */
import { accept, type Decision, refuse } from "./decision.ts";
import type { AgentId, TaskId } from "./ids.ts";
import { limits } from "./limits.ts";
import { PriorityMap } from "./priority-map.ts";

export type Task = {
  readonly id: TaskId;
  readonly type: string;
  readonly requiredTools: readonly string[];
  readonly maxRetries: number;
  readonly retryCount: number;
  /** How often it was claimed. */
  readonly deliveries: number;
  /** How long one claim lasts. */
  readonly claimMs: number;
  readonly createdAtMs: number;
  readonly failureReason: string;
  /** The place in the queue: smaller is older. */
  readonly place: number;
} & TaskState;

export type TaskState =
  | { readonly state: "pending" }
  | ({ readonly state: "claimed"; readonly expiresAtMs: number } & Claim)
  | ({ readonly state: "completed"; readonly completedAtMs: number } & Claim)
  | ({ readonly state: "dead"; readonly diedAtMs: number } & Claim);

type Claim = { readonly claimant: AgentId; readonly claimedAtMs: number };

/** Pending tasks that ask for the same tools, oldest first. */
type Queue = { readonly tools: readonly string[]; readonly waiting: PriorityMap<TaskId> };

export type Tasks = {
  readonly byId: ReadonlyMap<TaskId, Task>;
  readonly inputs: ReadonlyMap<TaskId, string>;
  readonly outputs: ReadonlyMap<TaskId, string>;
  readonly byClaimant: ReadonlyMap<AgentId, ReadonlySet<TaskId>>;
  /** Completed and dead ones, in the order in which they ended. */
  readonly ended: ReadonlySet<TaskId>;
  readonly queues: ReadonlyMap<string, Queue>;
  readonly lastPlace: number;
  /** The length of all inputs and outputs. */
  readonly bytes: number;
  /** When claims expire and ended tasks are forgotten. */
  readonly due: Pick<PriorityMap<TaskId>, "first">;
};

export type OwnTasks = {
  readonly byId: Map<TaskId, Task>;
  readonly inputs: Map<TaskId, string>;
  readonly outputs: Map<TaskId, string>;
  readonly byClaimant: Map<AgentId, Set<TaskId>>;
  readonly ended: Set<TaskId>;
  readonly queues: Map<string, Queue>;
  lastPlace: number;
  bytes: number;
  readonly due: PriorityMap<TaskId>;
};

export type CreateTask = {
  readonly type: "task.create";
  readonly taskId: TaskId;
  readonly taskType: string;
  readonly input: string;
  readonly requiredTools: readonly string[];
  readonly maxRetries: number;
  readonly claimMs: number;
};
export type ClaimTask = { readonly type: "task.claim"; readonly agentId: AgentId };
/** The claimant was gone before it could be told: the task returns to its old place. */
export type UnclaimTask = {
  readonly type: "task.unclaim";
  readonly taskId: TaskId;
  readonly agentId: AgentId;
};
export type CompleteTask = {
  readonly type: "task.complete";
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  readonly output: string;
};
export type FailTask = {
  readonly type: "task.fail";
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  readonly reason: string;
};

export type TaskEvent =
  | { readonly type: "task.created"; readonly task: Task; readonly input: string }
  | { readonly type: "task.completed"; readonly task: Task; readonly output: string }
  | {
      readonly type: "task.claimed" | "task.failed" | "task.requeued" | "task.dead";
      readonly task: Task;
    }
  | { readonly type: "task.forgotten"; readonly taskId: TaskId };

export function emptyTasks(): OwnTasks {
  return {
    byId: new Map(),
    inputs: new Map(),
    outputs: new Map(),
    byClaimant: new Map(),
    ended: new Set(),
    queues: new Map(),
    lastPlace: 0,
    bytes: 0,
    due: new PriorityMap(),
  };
}

export function decide(
  tasks: Tasks,
  command: CreateTask | UnclaimTask | CompleteTask | FailTask,
  nowMs: number,
): Decision<TaskEvent> {
  switch (command.type) {
    case "task.create":
      return create(tasks, command, nowMs);
    case "task.unclaim": {
      const task = tasks.byId.get(command.taskId);
      if (task?.state !== "claimed" || task.claimant !== command.agentId) return accept();
      return accept({ type: "task.requeued", task: toPending(task, { place: task.place }) });
    }
    case "task.complete":
      return complete(tasks, command, nowMs);
    case "task.fail":
      return fail(tasks, command, nowMs);
  }
}

function create(tasks: Tasks, command: CreateTask, nowMs: number): Decision<TaskEvent> {
  if (tasks.byId.size >= limits.tasksMax) {
    return refuse("limit_reached", `there are ${limits.tasksMax} tasks already`);
  }
  const { input, requiredTools, maxRetries, claimMs } = command;
  if (tasks.queues.size >= limits.queuesMax && !tasks.queues.has(queueName(requiredTools))) {
    const message = `pending tasks ask for ${limits.queuesMax} different sets of tools already`;
    return refuse("limit_reached", message);
  }
  if (tasks.bytes + input.length > limits.taskBytesMax) return tooManyBytes();
  const task: Task = {
    id: command.taskId,
    type: command.taskType,
    requiredTools,
    maxRetries,
    retryCount: 0,
    deliveries: 0,
    claimMs,
    createdAtMs: nowMs,
    failureReason: "",
    place: tasks.lastPlace + 1,
    state: "pending",
  };
  return accept({ type: "task.created", task, input });
}

/** `tools` are those of the claiming agent. Of the tasks they suffice for, the oldest. */
export function claim(
  tasks: Tasks,
  { agentId, tools }: { readonly agentId: AgentId; readonly tools: readonly string[] },
  nowMs: number,
): Decision<TaskEvent> {
  let oldest: Task | undefined;
  const owned = new Set(tools);
  for (const queue of tasks.queues.values()) {
    const first = queue.waiting.first;
    if (!first || (oldest && oldest.place < first.at)) continue;
    if (queue.tools.every((tool) => owned.has(tool))) oldest = tasks.byId.get(first.key);
  }
  if (!oldest) return refuse("no_task", `no pending task for agent ${agentId}`);
  const task: Task = {
    ...withoutState(oldest),
    deliveries: oldest.deliveries + 1,
    state: "claimed",
    claimant: agentId,
    claimedAtMs: nowMs,
    expiresAtMs: nowMs + oldest.claimMs,
  };
  return accept({ type: "task.claimed", task });
}

function complete(tasks: Tasks, command: CompleteTask, nowMs: number): Decision<TaskEvent> {
  const { taskId, agentId, output } = command;
  const before = tasks.byId.get(taskId);
  // A repeated completion is a lost reply, not a mistake.
  const isRepeat = before?.state === "completed" && before.claimant === agentId;
  if (isRepeat && (tasks.outputs.get(taskId) ?? "") === output) return accept();
  const mine = requireClaim(before, command);
  if (mine.refusal) return mine;
  if (tasks.bytes + output.length > limits.taskBytesMax) return tooManyBytes();
  const { claimant, claimedAtMs } = mine.task;
  const ending = { state: "completed", claimant, claimedAtMs, completedAtMs: nowMs } as const;
  const task: Task = { ...withoutState(mine.task), ...ending };
  return accept<TaskEvent>({ type: "task.completed", task, output }, ...makeRoom(tasks));
}

function fail(tasks: Tasks, command: FailTask, nowMs: number): Decision<TaskEvent> {
  const mine = requireClaim(tasks.byId.get(command.taskId), command);
  if (mine.refusal) return mine;
  const failed = { ...mine.task, failureReason: command.reason };
  if (failed.retryCount < failed.maxRetries) {
    const retried = { ...failed, retryCount: failed.retryCount + 1 };
    const task = toPending(retried, { place: tasks.lastPlace + 1 });
    return accept({ type: "task.failed", task });
  }
  const { claimant, claimedAtMs } = failed;
  const ending = { state: "dead", claimant, claimedAtMs, diedAtMs: nowMs } as const;
  const task: Task = { ...withoutState(failed), ...ending };
  return accept<TaskEvent>({ type: "task.dead", task }, ...makeRoom(tasks));
}

/** Gives back a task whose claim ran out. It joins the end of the queue. */
export function endClaim(tasks: Tasks, task: Task): TaskEvent {
  return { type: "task.requeued", task: toPending(task, { place: tasks.lastPlace + 1 }) };
}

/** What a claimant's death gives back, oldest first. */
export function endAllClaimsOf(tasks: Tasks, claimant: AgentId): TaskEvent[] {
  const claimed: Task[] = [];
  for (const id of tasks.byClaimant.get(claimant) ?? []) {
    const task = tasks.byId.get(id);
    if (task) claimed.push(task);
  }
  claimed.sort((one, other) => one.place - other.place);
  return claimed.map((task, index) => {
    const place = tasks.lastPlace + 1 + index;
    return { type: "task.requeued", task: toPending(task, { place }) };
  });
}

function requireClaim(
  task: Task | undefined,
  { taskId, agentId }: CompleteTask | FailTask,
):
  | { readonly task: Task & { readonly state: "claimed" }; readonly refusal?: never }
  | ReturnType<typeof refuse> {
  if (!task) return refuse("task_not_found", `task not found: ${taskId}`);
  if (task.state !== "claimed") {
    return refuse(
      "task_not_claimed",
      `task ${taskId} is ${task.state}, not claimed; claim it again`,
    );
  }
  if (task.claimant !== agentId) {
    return refuse("task_claimed_by_another", `task ${taskId} is claimed by agent ${task.claimant}`);
  }
  return { task };
}

function tooManyBytes(): ReturnType<typeof refuse> {
  return refuse("limit_reached", `tasks hold ${limits.taskBytesMax} bytes already`);
}

/** At the bound, the task that ended first is forgotten. */
function makeRoom(tasks: Tasks): TaskEvent[] {
  const [oldest] = tasks.ended;
  if (oldest === undefined || tasks.ended.size < limits.endedTasksMax) return [];
  return [{ type: "task.forgotten", taskId: oldest }];
}

function toPending(task: Task, { place }: { readonly place: number }): Task {
  return { ...withoutState(task), place, state: "pending" };
}

function withoutState(task: Task): Omit<Task, "state"> {
  const { id, type, requiredTools, maxRetries, retryCount, deliveries } = task;
  const { claimMs, createdAtMs, failureReason, place } = task;
  const kept = { id, type, requiredTools, maxRetries, retryCount, deliveries };
  return { ...kept, claimMs, createdAtMs, failureReason, place };
}

export function evolve(tasks: OwnTasks, event: TaskEvent): void {
  switch (event.type) {
    case "task.created":
      keepBytes(tasks, tasks.inputs, event.task.id, event.input);
      putTask(tasks, event.task);
      return;
    case "task.completed":
      keepBytes(tasks, tasks.outputs, event.task.id, event.output);
      putTask(tasks, event.task);
      return;
    case "task.claimed":
    case "task.failed":
    case "task.requeued":
    case "task.dead":
      putTask(tasks, event.task);
      return;
    case "task.forgotten":
      unfile(tasks, tasks.byId.get(event.taskId));
      tasks.byId.delete(event.taskId);
      dropBytes(tasks, tasks.inputs, event.taskId);
      dropBytes(tasks, tasks.outputs, event.taskId);
      return;
  }
}

export function keepBytes(
  tasks: OwnTasks,
  where: Map<TaskId, string>,
  id: TaskId,
  bytes: string,
): void {
  if (bytes === "") return;
  where.set(id, bytes);
  tasks.bytes += bytes.length;
}

function dropBytes(tasks: OwnTasks, where: Map<TaskId, string>, id: TaskId): void {
  tasks.bytes -= where.get(id)?.length ?? 0;
  where.delete(id);
}

export function putTask(tasks: OwnTasks, task: Task): void {
  unfile(tasks, tasks.byId.get(task.id));
  tasks.byId.set(task.id, task);
  if (task.place > tasks.lastPlace) tasks.lastPlace = task.place;
  file(tasks, task);
}

/** Puts the task into the index of its state. */
function file(tasks: OwnTasks, task: Task): void {
  switch (task.state) {
    case "pending": {
      const name = queueName(task.requiredTools);
      const queue = tasks.queues.get(name) ?? {
        tools: task.requiredTools,
        waiting: new PriorityMap<TaskId>(),
      };
      queue.waiting.set(task.id, task.place);
      tasks.queues.set(name, queue);
      return;
    }
    case "claimed": {
      tasks.due.set(task.id, task.expiresAtMs);
      const claimed = tasks.byClaimant.get(task.claimant);
      if (claimed) claimed.add(task.id);
      else tasks.byClaimant.set(task.claimant, new Set([task.id]));
      return;
    }
    case "completed":
      tasks.due.set(task.id, task.completedAtMs + limits.endedTaskKeptMs);
      tasks.ended.add(task.id);
      return;
    case "dead":
      tasks.due.set(task.id, task.diedAtMs + limits.endedTaskKeptMs);
      tasks.ended.add(task.id);
      return;
  }
}

function unfile(tasks: OwnTasks, task: Task | undefined): void {
  if (!task) return;
  switch (task.state) {
    case "pending": {
      const name = queueName(task.requiredTools);
      const queue = tasks.queues.get(name);
      queue?.waiting.delete(task.id);
      if (queue?.waiting.size === 0) tasks.queues.delete(name);
      return;
    }
    case "claimed": {
      tasks.due.delete(task.id);
      const claimed = tasks.byClaimant.get(task.claimant);
      claimed?.delete(task.id);
      if (claimed?.size === 0) tasks.byClaimant.delete(task.claimant);
      return;
    }
    case "completed":
    case "dead":
      tasks.due.delete(task.id);
      tasks.ended.delete(task.id);
      return;
  }
}

/** Tools are a set here: their order and repetition do not matter. */
function queueName(requiredTools: readonly string[]): string {
  if (requiredTools.length === 0) return "";
  return JSON.stringify([...new Set(requiredTools)].sort());
}
