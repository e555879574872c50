/** What each method of the extension does. */
import {
  type AcquireLease,
  type ClaimTask,
  type Command,
  claimByKey,
  deadlinesOf,
  type Event,
  isContested,
  type State,
  type Task,
  type TaskId,
} from "../../../core/index.ts";
import type { Outcome, Plane, WaitingCommand } from "../../../plane/index.ts";
import { AgentStatus } from "../../../wire/agentkeeper/index.ts";
import {
  type ClaimTaskResponse,
  PlaneServiceDefinition,
  type TaskInfo,
} from "../../../wire/agentkeeper-ext/index.ts";
import { agentInfo, type Call, caller, gone, heldLease, publish, wholeTask } from "../calls.ts";
import type { Connection } from "../connection.ts";
import { cardBytes, decodeAgentId, decodeTaskId, type TaskLimits } from "../decode.ts";
import { encodeElection, encodeLease, encodeLiveness, encodeTask, timestamp } from "../encode.ts";
import { malformed } from "../fields.ts";
import { limits } from "../limits.ts";
import { type Answer, serverStream, unary, unaryList } from "../method.ts";
import type { Method } from "../server.ts";
import * as decode from "./decode.ts";
import { encodeTaskInfo } from "./encode.ts";
import { cutPage, decodePage, type Listing, type PageRequest } from "./pages.ts";
import { watchFrom } from "./watch.ts";

/** What does not change while the door is open. */
export type About = {
  readonly version: string;
  /** Names the log that is served. */
  readonly planeId: string;
  readonly startedAtMs: number;
  /** Whether what happens outlives the process. */
  readonly isKept: boolean;
};

/** What a caller may want to know before it relies on it. Never renamed. */
const features = [
  "claim-tokens",
  "dead-letters",
  "idempotency-keys",
  "task-delays",
  "task-priorities",
  "waiting-leases",
  "watch-resume",
] as const;

const { fullName, methods } = PlaneServiceDefinition;

export function extensionMethods(
  plane: Plane,
  about: About,
  taskLimits: TaskLimits,
): readonly Method<Connection>[] {
  return [
    unary(fullName, methods.getServerInfo, async () => {
      const { version, planeId, isKept, startedAtMs } = about;
      const current = await plane.read((state) => state.lastBusSequence);
      const startedAt = timestamp(startedAtMs);
      const currentSequence = BigInt(current);
      return { value: { version, planeId, isKept, startedAt, currentSequence, features } };
    }),
    serverStream(fullName, methods.watch, async (request, call: Call) => {
      const wish = decode.decodeWatch(request);
      if (!wish.refusal) return watchFrom(plane, wish.value, call);
      return { status: "INVALID_ARGUMENT", message: wish.refusal.message };
    }),
    ...agentMethods(plane),
    ...leaseMethods(plane),
    ...claimMethods(plane, taskLimits),
    ...taskMethods(plane, taskLimits),
  ];
}

function agentMethods(plane: Plane): Method<Connection>[] {
  return [
    unary(fullName, methods.heartbeat, async (request) => {
      const agentId = decodeAgentId(request);
      if (agentId.refusal) return agentId;
      const command = { type: "agent.heartbeat", agentId: agentId.value } as const;
      return plane.submit(command, caller, ({ registry }) => {
        const agent = registry.agents.get(agentId.value);
        if (!agent) throw new Error("an agent whose heartbeat was accepted is there");
        const { unreachableAtMs, deadAtMs } = deadlinesOf(registry, agent);
        return {
          status: encodeLiveness(agent.liveness),
          unreachableAt: timestamp(unreachableAtMs),
          deadAt: timestamp(deadAtMs),
        };
      });
    }),
    unaryList(fullName, methods.listAgents, "agents", async (request) => {
      const { status } = request;
      if (status > AgentStatus.DEAD) return malformed("status is none of those there are");
      const found = await listed(
        plane,
        request,
        ({ registry }) =>
          registry.agents
            .values()
            .filter(({ liveness }) => status === 0 || encodeLiveness(liveness) === status),
        {
          keyOf: ({ id }) => id,
          bytesOf: ({ card }) => cardBytes(card) + rowBytes,
          encode: agentInfo,
        },
      );
      if (found.refusal) return found;
      const { rows: agents, nextPageToken } = found.value;
      return { value: { agents, nextPageToken } };
    }),
    unaryList(fullName, methods.listElections, "elections", async (request) => {
      const found = await listed(
        plane,
        request,
        ({ elections }) => elections.groups.values().filter(isContested),
        {
          keyOf: ({ group }) => group,
          bytesOf: ({ group }) => group.length + rowBytes,
          encode: (_, election) => encodeElection(election),
        },
      );
      if (found.refusal) return found;
      const { rows: elections, nextPageToken } = found.value;
      return { value: { elections, nextPageToken } };
    }),
    unary(fullName, methods.withdraw, async (request, call: Call) => {
      const place = decode.decodeWithdraw(request);
      if (place.refusal) return place;
      const held = call.connection.firstCalls.hold();
      if (held !== undefined) await held;
      return plane.withdraw(place.value, caller);
    }),
  ];
}

function leaseMethods(plane: Plane): Method<Connection>[] {
  return [
    unary(fullName, methods.acquireLease, async (request, call: Call) => {
      const wish = decode.decodeAcquire(request);
      return wish.refusal ? wish : acquire(plane, wish.value, call);
    }),
    unary(fullName, methods.checkToken, async (request) => {
      const taskId = decodeTaskId(request);
      if (taskId.refusal) return taskId;
      const held = await plane.read(({ leases }) => leases.held.get(taskId.value));
      const isCurrent = held?.token === request.token;
      return { value: { isCurrent, lease: held && encodeLease(held) } };
    }),
    unaryList(fullName, methods.listLeases, "leases", async (request) => {
      const { holderAgentId } = request;
      const found = await listed(
        plane,
        request,
        ({ leases }) =>
          leases.held
            .values()
            .filter(({ holder }) => holderAgentId === "" || holder === holderAgentId),
        {
          keyOf: ({ taskId }) => taskId,
          bytesOf: ({ taskId }) => taskId.length + rowBytes,
          encode: (_, lease) => encodeLease(lease),
        },
      );
      if (found.refusal) return found;
      const { rows: leases, nextPageToken } = found.value;
      return { value: { leases, nextPageToken } };
    }),
  ];
}

/** What the claimant of a task does. */
function claimMethods(plane: Plane, taskLimits: TaskLimits): Method<Connection>[] {
  return [
    unary(fullName, methods.claimTask, async (request, call: Call) => {
      const wish = decode.decodeClaim(request);
      return wish.refusal ? wish : claim(plane, wish.value, call);
    }),
    unary(fullName, methods.extendClaim, async (request, call: Call) => {
      const command = decode.decodeExtend(request);
      if (command.refusal) return command;
      return publish(plane, command.value, call, ({ tasks }) => {
        const task = tasks.byId.get(command.value.taskId);
        return {
          claimExpiresAt: task?.state === "claimed" ? timestamp(task.expiresAtMs) : undefined,
        };
      });
    }),
    unary(fullName, methods.completeTask, async (request, call: Call) => {
      const command = decode.decodeComplete(request, taskLimits);
      return command.refusal ? command : publish(plane, command.value, call, () => ({}));
    }),
    unary(fullName, methods.failTask, async (request, call: Call) => {
      const command = decode.decodeFail(request);
      return command.refusal ? command : change(plane, command.value, call);
    }),
  ];
}

/** What everyone else does with tasks. */
function taskMethods(plane: Plane, taskLimits: TaskLimits): Method<Connection>[] {
  return [
    unary(fullName, methods.createTask, async (request, call: Call) => {
      const command = decode.decodeCreate(request, taskLimits);
      return command.refusal ? command : change(plane, command.value, call);
    }),
    unary(fullName, methods.cancelTask, async (request, call: Call) => {
      const taskId = decodeTaskId(request);
      if (taskId.refusal) return taskId;
      return change(plane, { type: "task.cancel", taskId: taskId.value }, call);
    }),
    unary(fullName, methods.requeueTask, async (request, call: Call) => {
      const taskId = decodeTaskId(request);
      if (taskId.refusal) return taskId;
      return change(plane, { type: "task.requeue", taskId: taskId.value }, call);
    }),
    unaryList(fullName, methods.listTasks, "tasks", async (request) => {
      const state = decode.decodeTaskState(request.state);
      if (state.refusal) return state;
      const found = await listed(
        plane,
        request,
        ({ tasks }) =>
          tasks.byId
            .values()
            .filter((task) => state.value === undefined || task.state === state.value),
        {
          keyOf: ({ id }) => id,
          bytesOf: (task) => taskBytes(task) + rowBytes,
          encode: (_, task) => encodeTaskInfo(task, encodeTask(task)),
        },
      );
      if (found.refusal) return found;
      const { rows: tasks, nextPageToken } = found.value;
      return { value: { tasks, nextPageToken } };
    }),
  ];
}

/** What a row takes beside the texts of unknown length that are in it, generously. */
const rowBytes = 200;

function taskBytes({ type, requiredTools, failureReason }: Task): number {
  const texts = [type, failureReason, ...requiredTools];
  return texts.reduce((total, text) => total + Buffer.byteLength(text), 0);
}

/** A page of what the state has. */
async function listed<Item, Row>(
  plane: Plane,
  request: PageRequest,
  itemsOf: (state: State) => Iterable<Item>,
  listing: Listing<Item> & { readonly encode: (state: State, item: Item) => Row },
): Promise<Answer<{ readonly rows: readonly Row[]; readonly nextPageToken: string }>> {
  const start = decodePage(request);
  if (start.refusal) return start;
  return plane.read((state) => {
    const { items, nextPageToken } = cutPage(itemsOf(state), listing, start.value);
    return { value: { rows: items.map((item) => listing.encode(state, item)), nextPageToken } };
  });
}

/** A command on a task, and the task as it is then, without its bytes. */
async function change(
  plane: Plane,
  command: Extract<Command, { readonly taskId: TaskId }>,
  call: Call,
): Promise<Outcome<{ readonly task: TaskInfo | undefined }>> {
  return publish(plane, command, call, ({ tasks }) => {
    const task = tasks.byId.get(command.taskId);
    return { task: task && encodeTaskInfo(task, encodeTask(task)) };
  });
}

async function acquire(
  plane: Plane,
  { command, waitMs }: decode.Patient<AcquireLease>,
  call: Call,
): Promise<Answer<ReturnType<typeof methods.acquireLease.responseType.decode>>> {
  const { taskId, agentId, key } = command;
  const answer = await patiently(plane, command, waitMs, call, (state) => heldLease(state, taskId));
  if (answer === "too late") {
    const held = await plane.read(({ leases }) => leases.held.get(taskId));
    return { value: { acquired: false, lease: held && encodeLease(held) } };
  }
  const held = answer.refusal?.lease;
  if (held) return { value: { acquired: false, lease: encodeLease(held) } };
  if (answer.refusal) return answer;
  const { token } = answer.value;
  if (call.isOver && key === undefined) {
    // Nobody knows of it, and nobody could ask for it again.
    const command = { type: "lease.release", taskId, agentId, token } as const;
    await plane.submit(command, caller, () => undefined);
    return gone;
  }
  return { value: { acquired: true, lease: encodeLease(answer.value) } };
}

async function claim(
  plane: Plane,
  { command, waitMs }: decode.Patient<ClaimTask>,
  call: Call,
): Promise<Answer<ClaimTaskResponse>> {
  const { agentId, key } = command;
  const answer = await patiently(plane, command, waitMs, call, ({ tasks }, events) => {
    const task = claimedIn(events) ?? claimByKey(tasks, agentId, key ?? "");
    if (task?.state !== "claimed") throw new Error("a claim that was accepted has a task");
    return { task, info: encodeTaskInfo(task, wholeTask(tasks, task)) };
  });
  if (answer === "too late" || answer.refusal?.code === "no_task") {
    return { value: { task: undefined, claimToken: 0n, claimExpiresAt: undefined } };
  }
  if (answer.refusal) return answer;
  const { task, info } = answer.value;
  if (call.isOver && key === undefined) {
    const claimToken = task.deliveries;
    const command = { type: "task.unclaim", taskId: task.id, agentId, claimToken } as const;
    await plane.submit(command, caller, () => undefined);
    return gone;
  }
  const claimToken = BigInt(task.deliveries);
  return { value: { task: info, claimToken, claimExpiresAt: timestamp(task.expiresAtMs) } };
}

function claimedIn(events: readonly Event[]): Task | undefined {
  const [event] = events;
  return event?.type === "task.claimed" ? event.task : undefined;
}

/** Waits, at most so long, for what cannot be had now. */
async function patiently<Value>(
  plane: Plane,
  command: WaitingCommand,
  waitMs: number,
  call: Call,
  look: (state: State, events: readonly Event[]) => Value,
): Promise<Outcome<Value> | "too late"> {
  if (waitMs === 0) return publish(plane, command, call, look);
  const held = call.connection.firstCalls.hold();
  if (held !== undefined) await held;
  const late = AbortSignal.timeout(Math.min(waitMs, limits.waitMsMax));
  const signal = AbortSignal.any([call.signal, late]);
  if (call.signal.aborted) return gone;
  try {
    return await plane.wait(command, caller, look, { signal, isTrusted: call.isTrusted });
  } catch (reason) {
    if (call.signal.aborted) return gone;
    if (late.aborted) return "too late";
    throw reason;
  }
}
