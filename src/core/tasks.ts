/**
 * Work that waits for an agent. A task is
 * - `delayed`: created or failed with a time before which nobody gets it. Then it becomes pending;
 * - `pending`: created, or given back. Whoever claims next and has the tools gets the first in line: of
 *   the highest priority, the oldest;
 * - `claimed`: one agent works on it, until the claim expires. Completing or failing ends the claim;
 *   extending makes it last longer;
 * - `completed`: final, with an output;
 * - `dead`: it failed once more than it may be retried, or was claimed as often as it may be and never
 *   ended. A dead letter: final, unless someone requeues it;
 * - `cancelled`: called off before it ended. Final, unless someone requeues it.
 *
 * A claim that expires, or whose claimant dies, gives the task back without counting as a retry.
 * Inputs and outputs are base64 and kept beside the records, so that events can carry whole records.
 */
import { accept, type Decision, refuse } from "./decision.ts";
import type { AgentId, TaskId } from "./ids.ts";
import { limits } from "./limits.ts";
import { PriorityMap } from "./priority-map.ts";

export type Task = TaskRecord & TaskState;

type TaskRecord = {
  readonly id: TaskId;
  readonly type: string;
  readonly requiredTools: readonly string[];
  readonly maxRetries: number;
  readonly retryCount: number;
  /**
   * How often it was claimed. Of a claimed task this is the claim's token: it never goes back, so that
   * of two claims the later has the larger.
   */
  readonly deliveries: number;
  /** Those that do not count for the limit: before it was requeued, or of which nobody was told. */
  readonly deliveriesForgiven: number;
  /** As often it may be claimed before a claim that just ends makes it dead; 0: no limit. */
  readonly deliveriesMax: number;
  /** From -100 to 100; the higher goes first. */
  readonly priority: number;
  /** How long one claim lasts. */
  readonly claimMs: number;
  readonly createdAtMs: number;
  readonly failureReason: string;
  /** The claim that failed last: its claimant may not have heard that we know. */
  readonly lastFailure?: { readonly claimant: AgentId; readonly claimToken: number };
  /** The place in the queue: smaller is older. */
  readonly place: number;
};

export type TaskState =
  | { readonly state: "delayed"; readonly readyAtMs: number }
  | {
      readonly state: "pending";
      /** It may be claimed since then. */
      readonly pendingSinceMs: number;
    }
  | ({
      readonly state: "claimed";
      readonly expiresAtMs: number;
      /** What the claimant called its claim, to ask for it again. */
      readonly claimKey?: string;
    } & Claim)
  | ({ readonly state: "completed"; readonly completedAtMs: number } & Claim)
  | ({ readonly state: "dead"; readonly diedAtMs: number } & Claim)
  | { readonly state: "cancelled"; readonly cancelledAtMs: number };

type Claim = { readonly claimant: AgentId; readonly claimedAtMs: number };
type ClaimedTask = Task & { readonly state: "claimed" };

/** Pending tasks that ask for the same tools. */
type Queue = {
  readonly tools: readonly string[];
  /** By type, in the order in which they are to be claimed. */
  readonly lanes: Map<string, PriorityMap<TaskId>>;
  /** Types by their first task: who takes any type need not look at each. */
  readonly types: PriorityMap<string>;
};

export type Tasks = {
  readonly byId: ReadonlyMap<TaskId, Task>;
  readonly inputs: ReadonlyMap<TaskId, string>;
  readonly outputs: ReadonlyMap<TaskId, string>;
  readonly byClaimant: ReadonlyMap<AgentId, ReadonlySet<TaskId>>;
  /** By claimant and key, where the claimant gave one. */
  readonly byClaimKey: ReadonlyMap<string, TaskId>;
  /** Completed, dead and cancelled ones, in the order in which they ended. */
  readonly ended: ReadonlySet<TaskId>;
  readonly queues: ReadonlyMap<string, Queue>;
  readonly counts: Readonly<Record<Task["state"], number>>;
  readonly lastPlace: number;
  /** The length of all inputs and outputs. */
  readonly bytes: number;
  /** When delayed tasks are ready, claims expire and ended tasks are forgotten. */
  readonly due: Pick<PriorityMap<TaskId>, "first">;
};

export type OwnTasks = {
  readonly byId: Map<TaskId, Task>;
  readonly inputs: Map<TaskId, string>;
  readonly outputs: Map<TaskId, string>;
  readonly byClaimant: Map<AgentId, Set<TaskId>>;
  readonly byClaimKey: Map<string, TaskId>;
  readonly ended: Set<TaskId>;
  readonly queues: Map<string, Queue>;
  readonly counts: Record<Task["state"], number>;
  lastPlace: number;
  bytes: number;
  readonly due: PriorityMap<TaskId>;
};

/** With an id that exists: nothing happens if it asks for the same task, otherwise it is refused. */
export type CreateTask = {
  readonly type: "task.create";
  readonly taskId: TaskId;
  readonly taskType: string;
  readonly input: string;
  readonly requiredTools: readonly string[];
  readonly maxRetries: number;
  readonly claimMs: number;
  /** 0 if absent. */
  readonly priority?: number;
  /** No limit if absent or 0. */
  readonly deliveriesMax?: number;
  /** How long nobody gets it. Of a task that exists it is not compared: it may have passed. */
  readonly delayMs?: number;
};
/** With the key of a claim that the agent has, nothing happens: see `claimByKey`. */
export type ClaimTask = {
  readonly type: "task.claim";
  readonly agentId: AgentId;
  /** Absent: any. */
  readonly types?: readonly string[];
  readonly key?: string;
};
/** The claimant was gone before it could be told: the task returns to its old place. */
export type UnclaimTask = {
  readonly type: "task.unclaim";
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  /** Of a later claim it knows nothing. */
  readonly claimToken: number;
};
/** Without a token, whoever is the claimant now is believed. */
type UnderClaim = {
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  readonly claimToken?: number;
};
export type ExtendTask = UnderClaim & {
  readonly type: "task.extend";
  /** From now on; absent: as long as the task says. */
  readonly claimMs?: number;
};
export type CompleteTask = UnderClaim & {
  readonly type: "task.complete";
  readonly output: string;
};
export type FailTask = UnderClaim & {
  readonly type: "task.fail";
  readonly reason: string;
  /** If it is retried, how long nobody gets it. */
  readonly retryAfterMs?: number;
};
export type CancelTask = { readonly type: "task.cancel"; readonly taskId: TaskId };
/** Of a dead or cancelled task: all begins anew, but for the claim tokens. */
export type RequeueTask = { readonly type: "task.requeue"; readonly taskId: TaskId };

export type TaskCommand =
  | CreateTask
  | UnclaimTask
  | ExtendTask
  | CompleteTask
  | FailTask
  | CancelTask
  | RequeueTask;

export type TaskEvent =
  | { readonly type: "task.created"; readonly task: Task; readonly input: string }
  | { readonly type: "task.completed"; readonly task: Task; readonly output: string }
  | {
      readonly type:
        | "task.ready"
        | "task.claimed"
        | "task.extended"
        | "task.failed"
        | "task.requeued"
        | "task.cancelled"
        | "task.dead";
      readonly task: Task;
    }
  | { readonly type: "task.forgotten"; readonly taskId: TaskId };

export function emptyTasks(): OwnTasks {
  return {
    byId: new Map(),
    inputs: new Map(),
    outputs: new Map(),
    byClaimant: new Map(),
    byClaimKey: new Map(),
    ended: new Set(),
    queues: new Map(),
    counts: { delayed: 0, pending: 0, claimed: 0, completed: 0, dead: 0, cancelled: 0 },
    lastPlace: 0,
    bytes: 0,
    due: new PriorityMap(),
  };
}

export function decide(tasks: Tasks, command: TaskCommand, nowMs: number): Decision<TaskEvent> {
  switch (command.type) {
    case "task.create":
      return create(tasks, command, nowMs);
    case "task.unclaim":
      return unclaim(tasks, command, nowMs);
    case "task.extend":
      return extend(tasks, command, nowMs);
    case "task.complete":
      return complete(tasks, command, nowMs);
    case "task.fail":
      return fail(tasks, command, nowMs);
    case "task.cancel":
      return cancel(tasks, command, nowMs);
    case "task.requeue":
      return requeue(tasks, command, nowMs);
  }
}

function create(tasks: Tasks, command: CreateTask, nowMs: number): Decision<TaskEvent> {
  const existing = tasks.byId.get(command.taskId);
  if (existing) {
    if (isSame(tasks, existing, command)) return accept();
    return refuse("key_reused", `task ${existing.id} was created with other contents`);
  }
  if (tasks.byId.size >= limits.tasksMax) {
    return refuse("limit_reached", `there are ${limits.tasksMax} tasks already`);
  }
  const { input, requiredTools, maxRetries, claimMs } = command;
  const { priority = 0, deliveriesMax = 0, delayMs = 0 } = command;
  if (!Number.isInteger(priority) || Math.abs(priority) > limits.priorityMax) {
    const { priorityMax } = limits;
    return refuse("invalid_argument", `priority must be from -${priorityMax} to ${priorityMax}`);
  }
  if (!hasQueueFor(tasks, requiredTools)) return tooManyQueues();
  if (tasks.bytes + input.length > limits.taskBytesMax) return tooManyBytes();
  const record: TaskRecord = {
    id: command.taskId,
    type: command.taskType,
    requiredTools,
    maxRetries,
    retryCount: 0,
    deliveries: 0,
    deliveriesForgiven: 0,
    deliveriesMax,
    priority,
    claimMs,
    createdAtMs: nowMs,
    failureReason: "",
    place: tasks.lastPlace + 1,
  };
  return accept({ type: "task.created", task: waitingFor(record, delayMs, nowMs), input });
}

/** Whether a task is what would be created; how long it was delayed has been forgotten. */
function isSame(tasks: Tasks, task: Task, command: CreateTask): boolean {
  const { requiredTools } = task;
  return (
    task.type === command.taskType &&
    task.maxRetries === command.maxRetries &&
    task.claimMs === command.claimMs &&
    task.priority === (command.priority ?? 0) &&
    task.deliveriesMax === (command.deliveriesMax ?? 0) &&
    requiredTools.length === command.requiredTools.length &&
    requiredTools.every((tool, index) => tool === command.requiredTools[index]) &&
    (tasks.inputs.get(task.id) ?? "") === command.input
  );
}

export type Claiming = {
  readonly agentId: AgentId;
  /** Those of the claiming agent. */
  readonly tools: readonly string[];
  readonly types?: readonly string[] | undefined;
  readonly key?: string | undefined;
};

/** Of the tasks that the tools suffice for, the first in line. */
export function claim(tasks: Tasks, claiming: Claiming, nowMs: number): Decision<TaskEvent> {
  const { agentId, key } = claiming;
  const first = firstInLine(tasks, claiming);
  if (!first) return refuse("no_task", `no pending task for agent ${agentId}`);
  const task: Task = {
    ...recordOf(first),
    deliveries: first.deliveries + 1,
    state: "claimed",
    claimant: agentId,
    claimedAtMs: nowMs,
    expiresAtMs: nowMs + first.claimMs,
    ...(key === undefined ? {} : { claimKey: key }),
  };
  return accept({ type: "task.claimed", task });
}

/** Looks at one task for each set of tools, or for each type that was asked for in it. */
function firstInLine(tasks: Tasks, { tools, types }: Claiming): Task | undefined {
  const owned = new Set(tools);
  const wanted = types && new Set(types);
  let first: { readonly key: TaskId; readonly at: number } | undefined;
  for (const queue of tasks.queues.values()) {
    const { types: offered } = queue;
    if (!offered.first || (first && first.at < offered.first.at)) continue;
    if (!queue.tools.every((tool) => owned.has(tool))) continue;
    const candidates = wanted ? lanesOf(queue, wanted) : [queue.lanes.get(offered.first.key)];
    for (const lane of candidates) {
      if (lane?.first && !(first && first.at < lane.first.at)) first = lane.first;
    }
  }
  return first && tasks.byId.get(first.key);
}

/** Whichever is shorter decides how long this takes: the types that are wanted, or those that are there. */
function lanesOf({ lanes }: Queue, wanted: ReadonlySet<string>): PriorityMap<TaskId>[] {
  if (wanted.size <= lanes.size) return [...wanted].flatMap((type) => lanes.get(type) ?? []);
  return [...lanes].flatMap(([type, lane]) => (wanted.has(type) ? lane : []));
}

/** The claim that an agent has under a key: what it was given when it claimed with it. */
export function claimByKey(tasks: Tasks, agentId: AgentId, key: string): ClaimedTask | undefined {
  const id = tasks.byClaimKey.get(claimName(agentId, key));
  const task = id === undefined ? undefined : tasks.byId.get(id);
  return task?.state === "claimed" ? task : undefined;
}

function unclaim(tasks: Tasks, command: UnclaimTask, nowMs: number): Decision<TaskEvent> {
  const { taskId, agentId, claimToken } = command;
  const task = tasks.byId.get(taskId);
  if (task?.state !== "claimed" || task.claimant !== agentId) return accept();
  return claimToken === task.deliveries ? accept(giveBack(task, nowMs)) : accept();
}

/** The claim that an agent has under a key and no longer wants. */
export function unclaimByKey(
  tasks: Tasks,
  { claimant, key }: { readonly claimant: AgentId; readonly key: string },
  nowMs: number,
): TaskEvent[] {
  const task = claimByKey(tasks, claimant, key);
  return task ? [giveBack(task, nowMs)] : [];
}

/** To its old place. Nobody worked on it, so it is no sign of anything wrong with the task. */
function giveBack(task: ClaimedTask, nowMs: number): TaskEvent {
  const forgiven = { ...task, deliveriesForgiven: task.deliveriesForgiven + 1 };
  return { type: "task.requeued", task: toPending(forgiven, { place: task.place }, nowMs) };
}

function extend(tasks: Tasks, command: ExtendTask, nowMs: number): Decision<TaskEvent> {
  const mine = requireClaim(tasks.byId.get(command.taskId), command);
  if (mine.refusal) return mine;
  const expiresAtMs = nowMs + (command.claimMs ?? mine.task.claimMs);
  return accept({ type: "task.extended", task: { ...mine.task, expiresAtMs } });
}

function complete(tasks: Tasks, command: CompleteTask, nowMs: number): Decision<TaskEvent> {
  const { taskId, agentId, claimToken, output } = command;
  const before = tasks.byId.get(taskId);
  // A repeated completion is a lost reply, not a mistake.
  const isRepeat =
    before?.state === "completed" &&
    before.claimant === agentId &&
    before.deliveries === (claimToken ?? before.deliveries);
  if (isRepeat && (tasks.outputs.get(taskId) ?? "") === output) return accept();
  const mine = requireClaim(before, command);
  if (mine.refusal) return mine;
  if (tasks.bytes + output.length > limits.taskBytesMax) return tooManyBytes();
  const { claimant, claimedAtMs } = mine.task;
  const ending = { state: "completed", claimant, claimedAtMs, completedAtMs: nowMs } as const;
  const task: Task = { ...recordOf(mine.task), ...ending };
  return accept<TaskEvent>({ type: "task.completed", task, output }, ...makeRoom(tasks, 1));
}

function fail(tasks: Tasks, command: FailTask, nowMs: number): Decision<TaskEvent> {
  const before = tasks.byId.get(command.taskId);
  if (before && isRepeatedFailure(before, command)) return accept();
  const mine = requireClaim(before, command);
  if (mine.refusal) return mine;
  const { claimant, deliveries: claimToken } = mine.task;
  const lastFailure = { claimant, claimToken };
  const failed = { ...mine.task, failureReason: command.reason, lastFailure };
  if (failed.retryCount < failed.maxRetries) {
    const place = tasks.lastPlace + 1;
    const retried = recordOf({ ...failed, retryCount: failed.retryCount + 1, place });
    const task = waitingFor(retried, command.retryAfterMs ?? 0, nowMs);
    return accept({ type: "task.failed", task });
  }
  return accept<TaskEvent>(
    { type: "task.dead", task: toDead(failed, nowMs) },
    ...makeRoom(tasks, 1),
  );
}

/** A lost reply: the claim failed just so, and nobody has claimed the task since. */
function isRepeatedFailure(task: Task, command: FailTask): boolean {
  const { claimToken, agentId, reason } = command;
  return (
    task.lastFailure !== undefined &&
    task.lastFailure.claimToken === claimToken &&
    task.lastFailure.claimant === agentId &&
    task.deliveries === claimToken &&
    task.failureReason === reason
  );
}

function cancel(tasks: Tasks, { taskId }: CancelTask, nowMs: number): Decision<TaskEvent> {
  const before = tasks.byId.get(taskId);
  switch (before?.state) {
    case undefined:
      return notFound(taskId);
    case "delayed":
    case "pending":
    case "claimed": {
      const task: Task = { ...recordOf(before), state: "cancelled", cancelledAtMs: nowMs };
      return accept<TaskEvent>({ type: "task.cancelled", task }, ...makeRoom(tasks, 1));
    }
    case "cancelled":
      return accept();
    case "completed":
    case "dead":
      return refuse("task_ended", `task ${taskId} is ${before.state} already`);
  }
}

function requeue(tasks: Tasks, { taskId }: RequeueTask, nowMs: number): Decision<TaskEvent> {
  const before = tasks.byId.get(taskId);
  if (!before) return notFound(taskId);
  if (before.state !== "dead" && before.state !== "cancelled") {
    const message = `task ${taskId} is ${before.state}; only dead and cancelled tasks are requeued`;
    return refuse("task_not_dead", message);
  }
  if (!hasQueueFor(tasks, before.requiredTools)) return tooManyQueues();
  const anew = { ...before, retryCount: 0, deliveriesForgiven: before.deliveries };
  const task = toPending(anew, { place: tasks.lastPlace + 1 }, nowMs);
  return accept({ type: "task.requeued", task });
}

/** A delayed task whose time has come joins the end of the queue. */
export function makeReady(tasks: Tasks, task: Task, nowMs: number): TaskEvent {
  return { type: "task.ready", task: toPending(task, { place: tasks.lastPlace + 1 }, nowMs) };
}

/** Gives back a task whose claim ran out. It joins the end of the queue, unless that was the last time. */
export function endClaim(tasks: Tasks, task: ClaimedTask, nowMs: number): TaskEvent[] {
  return endClaims(tasks, [task], nowMs);
}

/** What a claimant's death gives back, oldest first. */
export function endAllClaimsOf(tasks: Tasks, claimant: AgentId, nowMs: number): TaskEvent[] {
  const claimed: ClaimedTask[] = [];
  for (const id of tasks.byClaimant.get(claimant) ?? []) {
    const task = tasks.byId.get(id);
    if (task?.state === "claimed") claimed.push(task);
  }
  claimed.sort((one, other) => one.place - other.place);
  return endClaims(tasks, claimed, nowMs);
}

function endClaims(tasks: Tasks, claimed: readonly ClaimedTask[], nowMs: number): TaskEvent[] {
  let place = tasks.lastPlace;
  let dead = 0;
  const events = claimed.map((task): TaskEvent => {
    const delivered = task.deliveries - task.deliveriesForgiven;
    if (task.deliveriesMax > 0 && delivered >= task.deliveriesMax) {
      dead += 1;
      const times = delivered === 1 ? "once" : `${delivered} times`;
      const failureReason = `delivered ${times} and never ended`;
      return { type: "task.dead", task: toDead({ ...task, failureReason }, nowMs) };
    }
    place += 1;
    return { type: "task.requeued", task: toPending(task, { place }, nowMs) };
  });
  return [...events, ...makeRoom(tasks, dead)];
}

function requireClaim(
  task: Task | undefined,
  { taskId, agentId, claimToken }: UnderClaim,
): { readonly task: ClaimedTask; readonly refusal?: never } | ReturnType<typeof refuse> {
  if (!task) return notFound(taskId);
  if (task.state !== "claimed") {
    return refuse(
      "task_not_claimed",
      `task ${taskId} is ${task.state}, not claimed; claim it again`,
    );
  }
  if (claimToken !== undefined && claimToken !== task.deliveries) {
    return refuse("claim_lost", `task ${taskId} was claimed again since; stop work on it`);
  }
  if (task.claimant !== agentId) {
    return refuse("task_claimed_by_another", `task ${taskId} is claimed by agent ${task.claimant}`);
  }
  return { task };
}

function notFound(taskId: TaskId): ReturnType<typeof refuse> {
  return refuse("task_not_found", `task not found: ${taskId}`);
}

function tooManyBytes(): ReturnType<typeof refuse> {
  return refuse("limit_reached", `tasks hold ${limits.taskBytesMax} bytes already`);
}

function hasQueueFor(tasks: Tasks, requiredTools: readonly string[]): boolean {
  return tasks.queues.size < limits.queuesMax || tasks.queues.has(queueName(requiredTools));
}

function tooManyQueues(): ReturnType<typeof refuse> {
  const message = `pending tasks ask for ${limits.queuesMax} different sets of tools already`;
  return refuse("limit_reached", message);
}

/** At the bound, those that ended first are forgotten when `count` more end. */
function makeRoom(tasks: Tasks, count: number): TaskEvent[] {
  const excess = Math.max(0, tasks.ended.size + count - limits.endedTasksMax);
  if (count === 0 || excess === 0) return [];
  return [...tasks.ended.values().take(excess)].map((taskId) => ({
    type: "task.forgotten",
    taskId,
  }));
}

function waitingFor(record: TaskRecord, delayMs: number, nowMs: number): Task {
  if (delayMs > 0) return { ...record, state: "delayed", readyAtMs: nowMs + delayMs };
  return { ...record, state: "pending", pendingSinceMs: nowMs };
}

function toPending(task: Task, { place }: { readonly place: number }, nowMs: number): Task {
  return { ...recordOf(task), place, state: "pending", pendingSinceMs: nowMs };
}

function toDead(task: ClaimedTask, nowMs: number): Task {
  const { claimant, claimedAtMs } = task;
  return { ...recordOf(task), state: "dead", claimant, claimedAtMs, diedAtMs: nowMs };
}

/** A task without its state. */
function recordOf(task: TaskRecord): TaskRecord {
  const { lastFailure } = task;
  const record = {
    id: task.id,
    type: task.type,
    requiredTools: task.requiredTools,
    maxRetries: task.maxRetries,
    retryCount: task.retryCount,
    deliveries: task.deliveries,
    deliveriesForgiven: task.deliveriesForgiven,
    deliveriesMax: task.deliveriesMax,
    priority: task.priority,
    claimMs: task.claimMs,
    createdAtMs: task.createdAtMs,
    failureReason: task.failureReason,
    place: task.place,
  };
  return lastFailure === undefined ? record : { ...record, lastFailure };
}

/** Fills in what a task that an older release wrote down does not have. */
export function withDefaults<Written extends Task>(task: Written): Written {
  const isPending = task.state === "pending";
  if (task.priority !== undefined && !(isPending && task.pendingSinceMs === undefined)) return task;
  const defaults = { deliveriesForgiven: 0, deliveriesMax: 0, priority: 0 };
  return { ...defaults, ...(isPending && { pendingSinceMs: task.createdAtMs }), ...task };
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
    case "task.ready":
    case "task.claimed":
    case "task.extended":
    case "task.failed":
    case "task.requeued":
    case "task.cancelled":
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
  tasks.counts[task.state] += 1;
  switch (task.state) {
    case "delayed":
      tasks.due.set(task.id, task.readyAtMs);
      return;
    case "pending":
      enqueue(tasks, task);
      return;
    case "claimed": {
      tasks.due.set(task.id, task.expiresAtMs);
      const claimed = tasks.byClaimant.get(task.claimant);
      if (claimed) claimed.add(task.id);
      else tasks.byClaimant.set(task.claimant, new Set([task.id]));
      const { claimant, claimKey } = task;
      if (claimKey !== undefined) tasks.byClaimKey.set(claimName(claimant, claimKey), task.id);
      return;
    }
    case "completed":
      return fileEnded(tasks, task.id, task.completedAtMs);
    case "dead":
      return fileEnded(tasks, task.id, task.diedAtMs);
    case "cancelled":
      return fileEnded(tasks, task.id, task.cancelledAtMs);
  }
}

function fileEnded(tasks: OwnTasks, id: TaskId, endedAtMs: number): void {
  tasks.due.set(id, endedAtMs + limits.endedTaskKeptMs);
  tasks.ended.add(id);
}

function unfile(tasks: OwnTasks, task: Task | undefined): void {
  if (!task) return;
  tasks.counts[task.state] -= 1;
  switch (task.state) {
    case "delayed":
      tasks.due.delete(task.id);
      return;
    case "pending":
      dequeue(tasks, task);
      return;
    case "claimed": {
      tasks.due.delete(task.id);
      const claimed = tasks.byClaimant.get(task.claimant);
      claimed?.delete(task.id);
      if (claimed?.size === 0) tasks.byClaimant.delete(task.claimant);
      const { claimant, claimKey } = task;
      if (claimKey !== undefined) tasks.byClaimKey.delete(claimName(claimant, claimKey));
      return;
    }
    case "completed":
    case "dead":
    case "cancelled":
      tasks.due.delete(task.id);
      tasks.ended.delete(task.id);
      return;
  }
}

function enqueue(tasks: OwnTasks, task: Task): void {
  const name = queueName(task.requiredTools);
  const queue = tasks.queues.get(name) ?? {
    tools: task.requiredTools,
    lanes: new Map<string, PriorityMap<TaskId>>(),
    types: new PriorityMap<string>(),
  };
  const lane = queue.lanes.get(task.type) ?? new PriorityMap<TaskId>();
  lane.set(task.id, lineOf(task));
  queue.lanes.set(task.type, lane);
  tasks.queues.set(name, queue);
  rank(queue, task.type, lane);
}

function dequeue(tasks: OwnTasks, task: Task): void {
  const name = queueName(task.requiredTools);
  const queue = tasks.queues.get(name);
  const lane = queue?.lanes.get(task.type);
  if (!queue || !lane) return;
  lane.delete(task.id);
  rank(queue, task.type, lane);
  if (lane.size === 0) queue.lanes.delete(task.type);
  if (queue.lanes.size === 0) tasks.queues.delete(name);
}

function rank({ types }: Queue, type: string, lane: PriorityMap<TaskId>): void {
  if (lane.first) types.set(type, lane.first.at);
  else types.delete(type);
}

/** Priority first, then place, in one number: places may go up to 2^44 before they would touch priorities. */
function lineOf({ priority, place }: Task): number {
  return (limits.priorityMax - priority) * 2 ** 44 + place;
}

/** Tools are a set here: their order and repetition do not matter. */
function queueName(requiredTools: readonly string[]): string {
  if (requiredTools.length === 0) return "";
  return JSON.stringify([...new Set(requiredTools)].sort());
}

function claimName(agentId: AgentId, key: string): string {
  return JSON.stringify([agentId, key]);
}
