/** What each operation does: its input becomes a command, or a look at the state. */
import { randomBytes } from "node:crypto";
import {
  agentId,
  type Card,
  type Command,
  check,
  claimByKey,
  deadlinesOf,
  type Event,
  groupName,
  type Policy,
  policyId,
  type Refusal,
  type State,
  type Task,
  taskId,
  token,
} from "../../core/index.ts";
import { type Caller, idFromKey, type Outcome, type Plane } from "../../plane/index.ts";
import type {
  Answer,
  ErrorCode,
  Input,
  Lease,
  OperationName,
  Overview,
} from "../../wire/api/index.ts";
import { limits as wireLimits } from "../../wire/openapi/index.ts";
import { attentionIn } from "./attention.ts";
import type { Credentials } from "./credentials.ts";
import {
  encodeAgent,
  encodeCounts,
  encodeElection,
  encodeLease,
  encodeRetained,
  encodeTask,
  encodeTaskDetail,
} from "./encode.ts";
import { limits } from "./limits.ts";
import {
  listAgents,
  listElections,
  listEntries,
  listLeases,
  listPolicies,
  listTasks,
} from "./lists.ts";
import type { Timeline } from "./timeline.ts";

/** What runs here. */
export type About = Omit<Overview, "nowMs" | "sequence" | "counts" | "retained" | "find">;

export type FindQuestion = {
  readonly query: string;
  readonly tools: readonly string[];
  readonly limit: number;
};
/** Looked up within `plane.read`: best first. */
export type Finding = {
  readonly hits: readonly {
    readonly agentId: string;
    readonly score: number;
    readonly matched: readonly string[];
  }[];
  readonly ranking: "table" | "model";
  readonly reason?: string;
};

export type OperationParts = {
  readonly plane: Plane;
  readonly about: () => About;
  readonly timeline: Timeline;
  readonly credentials: Credentials;
  readonly find: (question: FindQuestion) => Promise<Finding>;
  /** By what `find` ranks at the moment. */
  readonly ranking: () => Overview["find"];
};

export type Call = {
  readonly caller: Caller;
  /** Aborts when the caller is gone. */
  readonly signal: AbortSignal;
  /** The `Idempotency-Key`. */
  readonly key?: string;
  readonly mayWrite: boolean;
};

export type Reply<Value> =
  | { readonly value: Value; readonly refusal?: never }
  | { readonly refusal: ApiRefusal; readonly value?: never };

export type ApiRefusal = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly lease?: Lease;
};

export type Handler<Name extends OperationName> = (
  input: Input<Name>,
  call: Call,
) => Promise<Reply<Answer<Name>>>;

export type Handlers = { readonly [Name in OperationName]: Handler<Name> };

export function handlersOf(parts: OperationParts): Handlers {
  const { plane } = parts;
  return {
    ...overviewHandlers(parts),
    ...agentHandlers(parts),
    ...leaseHandlers(plane),
    ...electionHandlers(plane),
    ...policyHandlers(plane),
    ...taskHandlers(plane),
    ...sessionHandlers(parts),
  };
}

function overviewHandlers(
  parts: OperationParts,
): Pick<Handlers, "getOverview" | "getAttention" | "getTimeline" | "listEntries"> {
  const { plane, about, timeline, ranking, find } = parts;
  return {
    getOverview: async () => {
      const value = await plane.read((state, nowMs) => ({
        ...about(),
        nowMs,
        sequence: plane.lastSequence,
        counts: encodeCounts(state, plane.watchers),
        retained: encodeRetained(plane.retained()),
        find: ranking(),
      }));
      return { value };
    },
    getAttention: async () => ({ value: await attentionIn(plane, find) }),
    getTimeline: async () => ({ value: timeline.print() }),
    listEntries: async (input) => ({ value: await listEntries(plane, input) }),
  };
}

function agentHandlers(
  parts: OperationParts,
): Pick<
  Handlers,
  | "listAgents"
  | "registerAgent"
  | "getAgent"
  | "heartbeat"
  | "deregisterAgent"
  | "withdraw"
  | "findAgents"
> {
  const { plane, find } = parts;
  return {
    listAgents: (input) => listAgents(plane, input),
    registerAgent: async ({ card, ttlMs = wireLimits.agentTtlMsDefault }, { caller, key }) => {
      const whole = decodeCard(card);
      if (cardBytes(whole) > limits.cardBytesMax) {
        return invalid(`card: is longer than ${limits.cardBytesMax} bytes`);
      }
      const id = agentId(key === undefined ? newId() : idFromKey("agent", key));
      const command = { type: "agent.register", agentId: id, card: whole, ttlMs } as const;
      return submit(plane, command, caller, (state) => {
        const agent = state.registry.agents.get(id);
        return agent && encodeAgent(state, agent);
      });
    },
    getAgent: async ({ agentId: id }) => {
      const value = await plane.read((state) => {
        const agent = state.registry.agents.get(agentId(id));
        return agent && detail(state, agent);
      });
      return value ? { value } : refused("agent_not_found", `agent not found: ${id}`);
    },
    heartbeat: async ({ agentId: id, activity }, { caller }) => {
      const said = activity && { state: activity.state, note: activity.note ?? "" };
      const beat = { type: "agent.heartbeat", agentId: agentId(id) } as const;
      const command = said ? { ...beat, activity: said } : beat;
      return submit(plane, command, caller, (state) => {
        const agent = state.registry.agents.get(agentId(id));
        return agent && { liveness: agent.liveness, ...deadlinesOf(state.registry, agent) };
      });
    },
    deregisterAgent: async ({ agentId: id }, { caller }) =>
      submit(plane, { type: "agent.deregister", agentId: agentId(id) }, caller, () => ({})),
    withdraw: async ({ agentId: id, key }, { caller }) => {
      plane.withdraw({ agentId: agentId(id), key });
      await giveBack(plane, { agentId: id, key, caller });
      return { value: {} };
    },
    findAgents: async ({ query = "", tool: tools = [], limit = wireLimits.findDefault }) => {
      const { hits, ...how } = await find({ query, tools, limit });
      const encoded = await plane.read((state) =>
        hits.flatMap(({ agentId: id, score, matched }) => {
          const agent = state.registry.agents.get(agentId(id));
          return agent ? [{ agent: encodeAgent(state, agent), score, matched }] : [];
        }),
      );
      return { value: { hits: encoded, ...how } };
    },
  };
}

function decodeCard(card: Input<"registerAgent">["card"]): Card {
  const { name, description = "", version = "", capabilities = [], tools = [] } = card;
  const metadata = Object.entries(card.metadata ?? {});
  return { name, description, version, capabilities, tools, metadata };
}

function cardBytes({ description, tools, capabilities, metadata }: Card): number {
  const named = capabilities.flatMap(({ name, description }) => [name, description]);
  const texts = [description, ...tools, ...named, ...metadata.flat()];
  return texts.reduce((total, text) => total + Buffer.byteLength(text), 0);
}

function detail(state: State, agent: Parameters<typeof encodeAgent>[1]): Answer<"getAgent"> {
  const { leases, tasks, elections } = state;
  const held = leases.byHolder.get(agent.id) ?? new Set();
  const claimed = tasks.byClaimant.get(agent.id) ?? new Set();
  const groups = elections.byCandidate.get(agent.id) ?? new Set();
  const shown = limits.detailRowsMax;
  return {
    ...encodeAgent(state, agent),
    leases: [...held.values().take(shown)].flatMap((id) => {
      const lease = leases.held.get(id);
      return lease ? [encodeLease(state, lease)] : [];
    }),
    claims: [...claimed.values().take(shown)].flatMap((id) => {
      const task = tasks.byId.get(id);
      return task ? [encodeTask(state, task)] : [];
    }),
    groups: [...groups.values().take(shown)].map((group) => ({
      group,
      isLeader: elections.groups.get(group)?.leader === agent.id,
    })),
  };
}

function leaseHandlers(
  plane: Plane,
): Pick<
  Handlers,
  "listLeases" | "getLease" | "acquireLease" | "renewLease" | "releaseLease" | "checkToken"
> {
  return {
    listLeases: (input) => listLeases(plane, input),
    getLease: async ({ taskId: id }) => {
      const value = await plane.read((state) => {
        const lease = state.leases.held.get(taskId(id));
        return lease && encodeLease(state, lease);
      });
      return value ? { value } : refused("lease_not_found", `task ${id} is not leased`);
    },
    acquireLease: async (input, call) => {
      const { ttlMs = wireLimits.leaseTtlMsDefault, waitMs = 0 } = input;
      const command = {
        type: "lease.acquire",
        taskId: taskId(input.taskId),
        agentId: agentId(input.agentId),
        ttlMs,
        ...(call.key === undefined ? {} : { key: call.key }),
      } as const;
      const look = (state: State): Lease | undefined => {
        const lease = state.leases.held.get(command.taskId);
        return lease && encodeLease(state, lease);
      };
      const outcome = await waited(plane, command, { call, waitMs, look });
      // Nobody would know of it, and nobody could ask for it again.
      if (outcome.value && call.signal.aborted && call.key === undefined) {
        const held = { taskId: command.taskId, agentId: command.agentId };
        const release = {
          ...held,
          type: "lease.release",
          token: token(BigInt(outcome.value.token)),
        };
        await plane.submit({ ...release, type: "lease.release" }, call.caller, () => undefined);
      }
      return answer(plane, outcome);
    },
    renewLease: async (input, { caller }) => {
      const { ttlMs } = input;
      const command = { type: "lease.renew", ...ownLease(input) } as const;
      const whole = ttlMs === undefined ? command : { ...command, ttlMs };
      return submit(plane, whole, caller, (state) => {
        const lease = state.leases.held.get(command.taskId);
        return lease && encodeLease(state, lease);
      });
    },
    releaseLease: async (input, { caller }) =>
      submit(plane, { type: "lease.release", ...ownLease(input) }, caller, () => ({})),
    checkToken: async ({ taskId: id, token: presented }) => {
      const value = await plane.read((state) => {
        const lease = state.leases.held.get(taskId(id));
        if (!lease) return { isCurrent: false };
        const isCurrent = lease.token === BigInt(presented);
        return { isCurrent, lease: encodeLease(state, lease) };
      });
      return { value };
    },
  };
}

function ownLease(input: Input<"releaseLease">) {
  return {
    taskId: taskId(input.taskId),
    agentId: agentId(input.agentId),
    token: token(BigInt(input.token)),
  };
}

function electionHandlers(
  plane: Plane,
): Pick<Handlers, "listElections" | "getElection" | "campaign" | "resign"> {
  const look = (group: string) => (state: State) => {
    const election = state.elections.groups.get(groupName(group));
    return election && encodeElection(state, election);
  };
  const unknown = (group: string) => refused("election_not_found", `no group is called ${group}`);
  return {
    listElections: (input) => listElections(plane, input),
    getElection: async ({ group }) => {
      const value = await plane.read(look(group));
      return value ? { value } : unknown(group);
    },
    campaign: async ({ group, agentId: id }, { caller }) => {
      const standing = { group: groupName(group), agentId: agentId(id) };
      return submit(plane, { type: "election.campaign", ...standing }, caller, look(group));
    },
    resign: async ({ group, agentId: id }, { caller }) => {
      const standing = { group: groupName(group), agentId: agentId(id) };
      const command = { type: "election.resign", ...standing } as const;
      const { value, refusal } = await plane.submit(command, caller, look(group));
      if (refusal) return answer(plane, { refusal });
      return value ? { value } : unknown(group);
    },
  };
}

function policyHandlers(
  plane: Plane,
): Pick<
  Handlers,
  "listPolicies" | "getPolicy" | "setPolicy" | "deletePolicy" | "checkPolicy" | "whoMay"
> {
  return {
    listPolicies: (input) => listPolicies(plane, input),
    getPolicy: async ({ policyId: id }) => {
      const value = await plane.read(({ entitlements }) => entitlements.policies.get(policyId(id)));
      return value ? { value } : refused("policy_not_found", `no policy is called ${id}`);
    },
    setPolicy: async ({ policyId: id, subject, action, resource, effect }, { caller }) => {
      const policy = { id: policyId(id), subject, action, resource, effect };
      return submit(plane, { type: "policy.set", policy }, caller, () => policy);
    },
    deletePolicy: async ({ policyId: id }, { caller }) =>
      submit(plane, { type: "policy.delete", policyId: policyId(id) }, caller, () => ({})),
    checkPolicy: async ({ explain: isExplained, ...question }) => {
      const value = await plane.read(({ entitlements }) => {
        const answer = check(entitlements, question);
        const matches = answer.decidedBy ? [answer.decidedBy] : [];
        return { ...encodeCheck(answer), ...(isExplained ? { matches } : {}) };
      });
      return { value };
    },
    whoMay: async ({ action, resource }) => {
      const value = await plane.read(({ registry, entitlements }) => {
        const living = registry.agents.values().filter(({ liveness }) => liveness !== "dead");
        const agents = [...living.take(limits.whoMax)].map(({ id, card: { name } }) => {
          const question = { subject: `agent:${name}`, action, resource };
          const { allowed, decidedBy } = check(entitlements, question);
          const decided = decidedBy ? { decidedBy: decidedBy.id } : {};
          return { agentId: id, name, allowed, ...decided };
        });
        return { agents, total: registry.agents.size - registry.dead.size };
      });
      return { value };
    },
  };
}

function encodeCheck({
  allowed,
  decidedBy,
}: {
  readonly allowed: boolean;
  readonly decidedBy?: Policy;
}): Answer<"checkPolicy"> {
  if (!decidedBy) return { allowed, reason: "no matching policy" };
  const word = allowed ? "allowed" : "denied";
  return { allowed, reason: `${word} by policy "${decidedBy.id}"`, decidedBy };
}

function taskHandlers(
  plane: Plane,
): Pick<
  Handlers,
  | "listTasks"
  | "createTask"
  | "getTask"
  | "claimTask"
  | "extendClaim"
  | "completeTask"
  | "failTask"
  | "cancelTask"
  | "requeueTask"
> {
  const lookAt = (id: string) => (state: State) => {
    const task = state.tasks.byId.get(taskId(id));
    return task && encodeTask(state, task);
  };
  return {
    listTasks: (input) => listTasks(plane, input),
    createTask: async (task, { caller, key }) => {
      const { type: taskType, input = "", requiredTools = [], maxRetries = 0 } = task;
      const { claimMs = wireLimits.claimMsDefault, priority = 0, deliveriesMax = 0 } = task;
      const toolBytes = requiredTools.reduce((total, tool) => total + Buffer.byteLength(tool), 0);
      if (toolBytes > limits.requiredToolsBytesMax) {
        return invalid(`requiredTools: are longer than ${limits.requiredToolsBytesMax} bytes`);
      }
      const id = key === undefined ? newId() : idFromKey("task", key);
      const work = { taskType, input, requiredTools, maxRetries, claimMs, priority, deliveriesMax };
      const delay = { delayMs: task.delayMs ?? 0 };
      const command = { type: "task.create", taskId: taskId(id), ...work, ...delay } as const;
      return submit(plane, command, caller, (state, events) => {
        // As it was made: someone who waits may have it already.
        const made = events.find((event): event is TaskCreated => event.type === "task.created");
        const created = made?.task ?? state.tasks.byId.get(command.taskId);
        return created && encodeTask(state, created);
      });
    },
    getTask: async ({ taskId: id }) => {
      const value = await plane.read((state) => {
        const task = state.tasks.byId.get(taskId(id));
        return task && encodeTaskDetail(state, task);
      });
      return value ? { value } : refused("task_not_found", `task not found: ${id}`);
    },
    claimTask: async ({ agentId: id, types, waitMs = 0 }, call) => {
      const { key } = call;
      const command = {
        type: "task.claim",
        agentId: agentId(id),
        ...(types === undefined ? {} : { types }),
        ...(key === undefined ? {} : { key }),
      } as const;
      const look = (state: State, events: readonly Event[]) => {
        const claimed = events.find((event): event is TaskClaimed => event.type === "task.claimed");
        const known = key === undefined ? undefined : claimByKey(state.tasks, command.agentId, key);
        const task = claimed?.task ?? known;
        return task && encodeTaskDetail(state, task);
      };
      const outcome = await waited(plane, command, { call, waitMs, look });
      if (outcome.refusal?.code === "no_task") return { value: {} };
      if (outcome.refusal) return answer(plane, outcome);
      const { value: task } = outcome;
      if (task && call.signal.aborted && key === undefined) {
        const unclaim = {
          type: "task.unclaim",
          taskId: taskId(task.id),
          agentId: agentId(id),
        } as const;
        await plane.submit(unclaim, call.caller, () => undefined);
      }
      return { value: task ? { task } : {} };
    },
    extendClaim: async (input, { caller }) => {
      const { claimMs } = input;
      const length = claimMs === undefined ? {} : { claimMs };
      const command = { type: "task.extend", ...ownClaim(input), ...length } as const;
      return submit(plane, command, caller, lookAt(input.taskId));
    },
    completeTask: async (input, { caller }) => {
      const { output = "" } = input;
      const command = { type: "task.complete", ...ownClaim(input), output } as const;
      return submit(plane, command, caller, lookAt(input.taskId));
    },
    failTask: async (input, { caller }) => {
      const { reason = "", retryAfterMs = 0 } = input;
      const command = { type: "task.fail", ...ownClaim(input), reason, retryAfterMs } as const;
      return submit(plane, command, caller, lookAt(input.taskId));
    },
    cancelTask: async ({ taskId: id }, { caller }) =>
      submit(plane, { type: "task.cancel", taskId: taskId(id) }, caller, lookAt(id)),
    requeueTask: async ({ taskId: id }, { caller }) =>
      submit(plane, { type: "task.requeue", taskId: taskId(id) }, caller, lookAt(id)),
  };
}

type TaskCreated = Extract<Event, { readonly type: "task.created" }>;
type TaskClaimed = Extract<Event, { readonly task: Task }>;

function ownClaim({ taskId: id, agentId: claimant, claimToken }: Input<"completeTask">) {
  const claim = { taskId: taskId(id), agentId: agentId(claimant) };
  return claimToken === undefined ? claim : { ...claim, claimToken: Number(claimToken) };
}

function sessionHandlers({
  credentials,
}: OperationParts): Pick<Handlers, "openSession" | "getSession" | "createLink"> {
  return {
    // The cookie is set where headers are: see `api.ts`.
    openSession: async ({ key }) => {
      if (credentials.redeem(key, Date.now())) return { value: { pageKey: credentials.pageKey } };
      return refused("link_used", "this link was used or is too old; tipstaff dashboard makes one");
    },
    getSession: async (_, { mayWrite }) => ({ value: { mayWrite } }),
    createLink: async () => ({ value: { path: `/#key=${credentials.makeLink(Date.now())}` } }),
  };
}

async function submit<Value>(
  plane: Plane,
  command: Command,
  caller: Caller,
  look: (state: State, events: readonly Event[]) => Value | undefined,
): Promise<Reply<Value>> {
  return answer(plane, await plane.submit(command, caller, look));
}

/** A refusal with what it needs to be understood. What a command has just made is there to be looked at. */
async function answer<Value>(
  plane: Plane,
  { value, refusal }: Outcome<Value | undefined>,
): Promise<Reply<Value>> {
  if (!refusal) {
    if (value === undefined) throw new Error("an accepted command left nothing to look at");
    return { value };
  }
  const { code, message, lease } = refusal;
  if (code === "no_task") throw new Error("no_task is no error");
  if (!lease) return { refusal: { code, message } };
  const inTheWay = await plane.read((state) => encodeLease(state, lease));
  return { refusal: { code, message, lease: inTheWay } };
}

type Waitable = Parameters<Plane["wait"]>[0];

/** Stands in line for as long as the caller wants and is there; then it is told what is so now. */
async function waited<Value>(
  plane: Plane,
  command: Waitable,
  options: {
    readonly call: Call;
    readonly waitMs: number;
    readonly look: (state: State, events: readonly Event[]) => Value | undefined;
  },
): Promise<Outcome<Value | undefined>> {
  const { call, waitMs, look } = options;
  if (waitMs === 0) return plane.submit(command, call.caller, look);
  const patience = AbortSignal.timeout(waitMs);
  const signal = AbortSignal.any([call.signal, patience]);
  try {
    return await plane.wait(command, call.caller, look, { signal });
  } catch (reason) {
    if (!signal.aborted) throw reason;
    if (call.signal.aborted) return { refusal: gone };
    return plane.submit(command, call.caller, look);
  }
}

/** Told to nobody. */
const gone: Refusal = { code: "unavailable", message: "the caller is gone" };

/** What was granted under a key to someone who no longer wants it. */
async function giveBack(
  plane: Plane,
  {
    agentId: id,
    key,
    caller,
  }: { readonly agentId: string; readonly key: string; readonly caller: Caller },
): Promise<void> {
  const owner = agentId(id);
  const granted = await plane.read(({ leases, tasks }) => {
    const held = [...(leases.byHolder.get(owner) ?? [])].map((task) => leases.held.get(task));
    return { lease: held.find((lease) => lease?.key === key), task: claimByKey(tasks, owner, key) };
  });
  const { lease, task } = granted;
  if (lease) {
    const { taskId, token } = lease;
    await plane.submit(
      { type: "lease.release", taskId, agentId: owner, token },
      caller,
      () => ({}),
    );
  }
  if (task) {
    await plane.submit(
      { type: "task.unclaim", taskId: task.id, agentId: owner },
      caller,
      () => ({}),
    );
  }
}

function newId(): string {
  return randomBytes(16).toString("hex");
}

function refused(code: ErrorCode, message: string): { readonly refusal: ApiRefusal } {
  return { refusal: { code, message } };
}

function invalid(message: string): { readonly refusal: ApiRefusal } {
  return refused("invalid_argument", message);
}
