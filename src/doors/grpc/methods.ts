/** What each of the 22 methods does: a request becomes a command or a look at the state. */
import {
  type AgentId,
  check,
  type Event,
  type Policy,
  type Refusal,
  type State,
  type Task,
} from "../../core/index.ts";
import type { Outcome, Plane } from "../../plane/index.ts";
import type { Asked, FindQuery } from "../../views/index.ts";
import {
  ElectionServiceDefinition,
  EntitlementsServiceDefinition,
  LeaseServiceDefinition,
  RegistryServiceDefinition,
  TaskServiceDefinition,
  type Task as WireTask,
} from "../../wire/agentkeeper/index.ts";
import type { Pieces } from "../../wire/grpc/index.ts";
import {
  agentInfo,
  type Call,
  caller,
  gone,
  heldLease,
  lookAtTask,
  notFound,
  only,
  publish,
  taskInPieces,
  type WholeTask,
  wholeTask,
} from "./calls.ts";
import type { Connection } from "./connection.ts";
import * as decode from "./decode.ts";
import { encodeElection, encodeLease, encodePolicy, hasStatus } from "./encode.ts";
import { limits } from "./limits.ts";
import {
  type Answer,
  rowsInPieces,
  type StreamEnd,
  serverStream,
  unary,
  unaryInPieces,
  unaryList,
} from "./method.ts";
import type { Method } from "./server.ts";
import { watchElection, watchTopics } from "./watch.ts";

/** Finds agents by what they say of themselves: ids, best first. Called within a read of the plane. */
export type Find = (question: FindQuery, asked?: Asked) => readonly AgentId[];

/** What a model makes of a query, if one was given. Asked before the read, which waits for nothing. */
export type AskModel = (query: string) => Promise<Asked>;

/** For methods that answer with a list. */
const asList = { replyBytesMax: limits.listBytesMax } as const;

export type MethodOptions = {
  readonly find: Find;
  readonly ask?: AskModel | undefined;
  readonly taskLimits: decode.TaskLimits;
};

export function methodsOf(
  plane: Plane,
  { find, ask, taskLimits }: MethodOptions,
): readonly Method<Connection>[] {
  return [
    ...registryMethods(plane, find, ask),
    ...leaseMethods(plane),
    ...electionMethods(plane),
    ...entitlementMethods(plane),
    ...taskMethods(plane, taskLimits),
  ];
}

function registryMethods(plane: Plane, find: Find, ask?: AskModel): Method<Connection>[] {
  const { fullName, methods } = RegistryServiceDefinition;
  return [
    unary(fullName, methods.register, async (request, call: Call) => {
      const command = decode.decodeRegister(request, call.metadata(decode.keyHeader));
      if (command.refusal) return command;
      return publish(plane, command.value, call, () => ({ agentId: command.value.agentId }));
    }),
    unary(fullName, methods.heartbeat, async (request) => {
      const agentId = decode.decodeAgentId(request);
      if (agentId.refusal) return agentId;
      const command = { type: "agent.heartbeat", agentId: agentId.value } as const;
      return plane.submit(command, caller, () => ({}));
    }),
    unary(fullName, methods.deregister, async (request, call: Call) => {
      const agentId = decode.decodeAgentId(request);
      if (agentId.refusal) return agentId;
      const command = { type: "agent.deregister", agentId: agentId.value } as const;
      return publish(plane, command, call, () => ({}));
    }),
    unary(fullName, methods.getAgent, async (request) => {
      const agentId = decode.decodeAgentId(request);
      if (agentId.refusal) return agentId;
      const agent = await plane.read((state) => {
        const found = state.registry.agents.get(agentId.value);
        return found && agentInfo(state, found);
      });
      return agent ? { value: { agent } } : notFound("agent", agentId.value);
    }),
    unaryList(
      fullName,
      methods.find,
      "agents",
      async (request) => {
        const question = decode.decodeFind(request);
        if (question.refusal) return question;
        // Nothing is awaited when there is no model: calls on one connection keep their order.
        const asked = ask && (await ask(question.value.query));
        return plane.read((state) => {
          const found = find(question.value, asked);
          const agents = found.flatMap((id) => state.registry.agents.get(id) ?? []);
          const fitting = gather(agents, ({ card }) => decode.cardBytes(card));
          if (fitting.refusal) return fitting;
          return { value: { agents: fitting.value.map((agent) => agentInfo(state, agent)) } };
        });
      },
      asList,
    ),
    serverStream(fullName, methods.watch, async (request, call: Call) => {
      const topics = decode.decodeWatch(request);
      if (topics.refusal) return invalid(topics.refusal);
      return watchTopics(plane, topics.value, call);
    }),
  ];
}

function leaseMethods(plane: Plane): Method<Connection>[] {
  const { fullName, methods } = LeaseServiceDefinition;
  return [
    unary(fullName, methods.acquireLease, async (request, call: Call) => {
      const command = decode.decodeAcquire(request, call.metadata(decode.keyHeader));
      if (command.refusal) return command;
      const { taskId } = command.value;
      const outcome = await publish(plane, command.value, call, (state) =>
        encodeLease(heldLease(state, taskId)),
      );
      // AgentKeeper does not fail here: it says no, and shows whose lease is in the way.
      const held = outcome.refusal?.lease;
      if (held) return { value: { acquired: false, lease: encodeLease(held) } };
      return outcome.refusal ? outcome : { value: { acquired: true, lease: outcome.value } };
    }),
    unary(fullName, methods.renewLease, async (request, call: Call) => {
      const command = decode.decodeRenew(request);
      if (command.refusal) return command;
      return publish(plane, command.value, call, (_, events) => ({
        lease: encodeLease(only(events, "lease.renewed").lease),
      }));
    }),
    unary(fullName, methods.releaseLease, async (request, call: Call) => {
      const command = decode.decodeRelease(request);
      return command.refusal ? command : publish(plane, command.value, call, () => ({}));
    }),
  ];
}

function electionMethods(plane: Plane): Method<Connection>[] {
  const { fullName, methods } = ElectionServiceDefinition;
  return [
    unary(fullName, methods.campaign, async (request, call: Call) => {
      const command = decode.decodeElection("election.campaign", request);
      if (command.refusal) return command;
      const { group, agentId } = command.value;
      return publish(plane, command.value, call, (state) => {
        const election = state.elections.groups.get(group);
        if (election) call.connection.knownTerms.learn(group, agentId, election.term);
        return { state: election && encodeElection(election) };
      });
    }),
    unary(fullName, methods.resign, async (request, call: Call) => {
      const command = decode.decodeElection("election.resign", request);
      return command.refusal ? command : publish(plane, command.value, call, () => ({}));
    }),
    serverStream(fullName, methods.watchElection, async (request, call: Call) => {
      const group = decode.decodeGroup(request);
      return group.refusal ? invalid(group.refusal) : watchElection(plane, group.value, call);
    }),
  ];
}

function entitlementMethods(plane: Plane): Method<Connection>[] {
  const { fullName, methods } = EntitlementsServiceDefinition;
  return [
    unary(fullName, methods.setPolicy, async (request, call: Call) => {
      const command = decode.decodeSetPolicy(request);
      if (command.refusal) return command;
      const policy = encodePolicy(command.value.policy);
      return publish(plane, command.value, call, () => ({ policy }));
    }),
    unary(fullName, methods.deletePolicy, async (request, call: Call) => {
      const command = decode.decodeDeletePolicy(request);
      return command.refusal ? command : publish(plane, command.value, call, () => ({}));
    }),
    unaryList(
      fullName,
      methods.listPolicies,
      "policies",
      async ({ subjectPrefix }) => {
        const wanted = (policy: Policy): boolean => policy.subject.startsWith(subjectPrefix);
        const fitting = await plane.read(({ entitlements }) =>
          gather(
            entitlements.policies.values().filter(wanted),
            ({ id, subject, action, resource }) =>
              id.length + subject.length + action.length + resource.length,
          ),
        );
        if (fitting.refusal) return fitting;
        const policies = fitting.value.sort((one, other) => (one.id < other.id ? -1 : 1));
        return { value: { policies: policies.map(encodePolicy) } };
      },
      asList,
    ),
    unary(fullName, methods.checkPolicy, async (request) => {
      const question = decode.decodeCheckPolicy(request);
      if (question.refusal) return question;
      const answer = await plane.read((state) => check(state.entitlements, question.value));
      const { allowed, decidedBy } = answer;
      if (!decidedBy) return { value: { allowed, reason: "no matching policy" } };
      const word = allowed ? "allowed" : "denied";
      return { value: { allowed, reason: `${word} by policy "${decidedBy.id}"` } };
    }),
  ];
}

function taskMethods(plane: Plane, taskLimits: decode.TaskLimits): Method<Connection>[] {
  const { fullName, methods } = TaskServiceDefinition;
  return [
    unary(fullName, methods.createTask, async (request, call: Call) => {
      const key = call.metadata(decode.keyHeader);
      const command = decode.decodeCreateTask(request, taskLimits, key);
      if (command.refusal) return command;
      const { taskId } = command.value;
      return publish(plane, command.value, call, ({ tasks }) => {
        const task = tasks.byId.get(taskId);
        return { task: task && wholeTask(tasks, task) };
      });
    }),
    unary(fullName, methods.claimTask, async (request, call: Call) => {
      const agentId = decode.decodeAgentId(request);
      if (agentId.refusal) return agentId;
      const held = call.connection.firstCalls.hold();
      if (held !== undefined) await held;
      return claim(plane, agentId.value, call);
    }),
    unary(fullName, methods.completeTask, async (request, call: Call) => {
      const command = decode.decodeCompleteTask(request, taskLimits);
      return command.refusal ? command : publish(plane, command.value, call, () => ({}));
    }),
    unary(fullName, methods.failTask, async (request, call: Call) => {
      const command = decode.decodeFailTask(request);
      return command.refusal ? command : publish(plane, command.value, call, () => ({}));
    }),
    unaryInPieces(fullName, methods.getTask, async (request) => {
      const taskId = decode.decodeTaskId(request);
      if (taskId.refusal) return taskId;
      const task = await plane.read(({ tasks }) => {
        const found = tasks.byId.get(taskId.value);
        return found && lookAtTask(tasks, found);
      });
      return task ? { value: taskInPieces(taskField, task) } : notFound("task", taskId.value);
    }),
    unaryInPieces(
      fullName,
      methods.listTasks,
      async ({ status }, call: Call) => {
        const wanted = (task: Task): boolean => status === 0 || hasStatus(task, status);
        const found = await plane.read(({ tasks }): Answer<readonly WholeTask[]> => {
          const fitting = gather(tasks.byId.values().filter(wanted), ({ id }) => {
            const input = tasks.inputs.get(id)?.length ?? 0;
            const output = tasks.outputs.get(id)?.length ?? 0;
            return id.length + ((input + output) * 3) / 4;
          });
          if (fitting.refusal) return fitting;
          const sorted = fitting.value.sort(byCreation);
          return { value: sorted.map((task) => lookAtTask(tasks, task)) };
        });
        if (found.refusal) return found;
        const inPieces = (task: WholeTask): Pieces => taskInPieces(taskField, task);
        return { value: await rowsInPieces(found.value, inPieces, call) };
      },
      asList,
    ),
  ];
}

/** The number of `task` in GetTaskResponse, and of `tasks` in ListTasksResponse. */
const taskField = 1;

/** Waits for a task. One that was claimed for a caller who is gone by then goes back to its place. */
async function claim(
  plane: Plane,
  agentId: AgentId,
  call: Call,
): Promise<Answer<{ readonly task: WireTask }>> {
  const { signal, isTrusted } = call;
  if (signal.aborted) return gone;
  const look = ({ tasks }: State, events: readonly Event[]): Claimed => {
    const { task } = only(events, "task.claimed");
    return { task, whole: wholeTask(tasks, task) };
  };
  let outcome: Outcome<Claimed>;
  try {
    const command = { type: "task.claim", agentId } as const;
    outcome = await plane.wait(command, caller, look, { signal, isTrusted });
  } catch (reason) {
    if (signal.aborted) return gone;
    throw reason;
  }
  if (outcome.refusal) return outcome;
  const { task, whole } = outcome.value;
  if (!call.isOver) return { value: { task: whole } };
  const { id: taskId, deliveries: claimToken } = task;
  const unclaim = { type: "task.unclaim", taskId, agentId, claimToken } as const;
  await plane.submit(unclaim, caller, () => undefined);
  return gone;
}

type Claimed = { readonly task: Task; readonly whole: WireTask };

function byCreation(one: Task, other: Task): number {
  return one.createdAtMs - other.createdAtMs || (one.id < other.id ? -1 : 1);
}

/** All of it, unless the reply would be too long. `bytesOf` is at most what an item takes in it. */
function gather<Item>(items: Iterable<Item>, bytesOf: (item: Item) => number): Answer<Item[]> {
  const found: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    bytes += bytesOf(item);
    if (bytes > limits.listBytesMax) {
      const message = `the reply would exceed ${limits.listBytesMax} bytes; ask for fewer items`;
      return { refusal: { code: "limit_reached", message } };
    }
    found.push(item);
  }
  return { value: found };
}

function invalid({ message }: Refusal): StreamEnd {
  return { status: "INVALID_ARGUMENT", message };
}
