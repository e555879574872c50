/** Lists with search, order and pages. All is done here, so that a page need not hold what it shows. */
import {
  type Agent,
  type AgentId,
  type Election,
  type Event,
  hasLeft,
  idOfWork,
  isContested,
  isWorkEvent,
  type Lease,
  openQuestionsOf,
  type Policy,
  type Question,
  type State,
  type Task,
} from "../../core/index.ts";
import type { Entry } from "../../log/index.ts";
import type { Plane } from "../../plane/index.ts";
import type * as api from "../../wire/api/index.ts";
import { limits as wireLimits } from "../../wire/openapi/index.ts";
import {
  encodeAgent,
  encodeElection,
  encodeEntry,
  encodeLease,
  encodeTask,
  nameOf,
} from "./encode.ts";
import { limits } from "./limits.ts";
import type { Call, Reply } from "./operations.ts";
import { cutPage, type Listing, parseCursor, type Rank, wordsOf } from "./pages.ts";
import { isPersonal } from "./personal.ts";
import { lookInSlices, lookInTurns, type Turn } from "./slices.ts";

export function listAgents(
  plane: Plane,
  input: api.Input<"listAgents">,
  { signal, maySee }: Pick<Call, "signal" | "maySee">,
): Promise<Reply<api.Page<api.Agent>>> {
  const { liveness, hasLeft: wantsLeft, tool: tools = [], query, sort = "attention" } = input;
  const hasWords = wordsOf(query, textOf);
  const encode = (state: State, agent: Agent): api.Agent => encodeAgent(state, agent, { maySee });
  return list({ plane, signal }, { ...input, sort }, encode, (state) => ({
    items: state.registry.agents.values(),
    wants: (agent) =>
      (!liveness || liveness.includes(agent.liveness)) &&
      (wantsLeft === undefined || wantsLeft === hasLeft(agent)) &&
      tools.every((tool) => agent.card.tools.includes(tool)) &&
      hasWords(agent),
    rankOf: rankAgents(state, sort),
    idOf: ({ id }) => id,
  }));
}

const agentOrder: Readonly<Record<api.Liveness, number>> = { unreachable: 1, alive: 2, dead: 3 };

/** Who waits for a person, who may be gone, who is there, who is dead; each newest first. */
function rankAgents({ registry, questions }: State, sort: api.AgentSort): (agent: Agent) => Rank {
  switch (sort) {
    case "attention":
      return ({ id, liveness, registeredAtMs }) => {
        const isAsking = openQuestionsOf(questions, { of: "agent", agentId: id }).length > 0;
        const isWaiting = isAsking || registry.activities.get(id)?.state === "waiting";
        return inKind(isWaiting && liveness !== "dead" ? 0 : agentOrder[liveness], registeredAtMs);
      };
    case "newest":
      return ({ registeredAtMs }) => -registeredAtMs;
    case "oldest":
      return ({ registeredAtMs }) => registeredAtMs;
    case "name":
      return ({ card }) => card.name.toLowerCase();
  }
}

export function listLeases(
  plane: Plane,
  input: api.Input<"listLeases">,
  signal: AbortSignal,
): Promise<Reply<api.Page<api.Lease>>> {
  const { holder, query, sort = "newest" } = input;
  return list({ plane, signal }, { ...input, sort }, encodeLease, (state) => {
    const hasWords = wordsOf(query, ({ taskId, holder: id }: Lease) =>
      [taskId, id, nameOf(state, id)].join(" "),
    );
    return {
      items: state.leases.held.values(),
      wants: (lease) => (holder === undefined || lease.holder === holder) && hasWords(lease),
      rankOf: rankLeases(sort),
      idOf: ({ taskId }) => taskId,
    };
  });
}

function rankLeases(sort: api.LeaseSort): (lease: Lease) => Rank {
  switch (sort) {
    case "newest":
      return ({ acquiredAtMs }) => -acquiredAtMs;
    case "oldest":
      return ({ acquiredAtMs }) => acquiredAtMs;
    case "expiry":
      return ({ expiresAtMs }) => expiresAtMs;
    case "task":
      return ({ taskId }) => taskId;
  }
}

export function listElections(
  plane: Plane,
  input: api.Input<"listElections">,
  signal: AbortSignal,
): Promise<Reply<api.Page<api.Election>>> {
  const { query, sort = "newest" } = input;
  return list({ plane, signal }, { ...input, sort }, encodeElection, (state) => ({
    items: state.elections.groups.values().filter(isContested),
    wants: wordsOf(query, ({ group, leader }) =>
      leader === undefined ? group : [group, leader, nameOf(state, leader)].join(" "),
    ),
    rankOf: ({ group, changedAtMs }: Election) => (sort === "group" ? group : -changedAtMs),
    idOf: ({ group }) => group,
  }));
}

export function listPolicies(
  plane: Plane,
  input: api.Input<"listPolicies">,
  signal: AbortSignal,
): Promise<Reply<api.Page<api.Policy>>> {
  const { query, subjectPrefix = "", sort = "id" } = input;
  const hasWords = wordsOf(query, ({ id, subject, action, resource, effect }: Policy) =>
    [id, effect, subject, action, resource].join(" "),
  );
  const same = (_: State, policy: Policy): api.Policy => policy;
  return list({ plane, signal }, { ...input, sort }, same, ({ entitlements }) => ({
    items: entitlements.policies.values(),
    wants: (policy) => policy.subject.startsWith(subjectPrefix) && hasWords(policy),
    rankOf: (policy) => (sort === "id" ? policy.id : -numberOf(policy)),
    idOf: ({ id }) => id,
  }));
}

const numbers = new WeakMap<Policy, number>();
let lastNumber = 0;

/** Policies have no time; they are numbered as they are first seen, in the order in which they came. */
function numberOf(policy: Policy): number {
  const known = numbers.get(policy);
  if (known !== undefined) return known;
  lastNumber += 1;
  numbers.set(policy, lastNumber);
  return lastNumber;
}

export function listTasks(
  plane: Plane,
  input: api.Input<"listTasks">,
  signal: AbortSignal,
): Promise<Reply<api.Page<api.Task>>> {
  const { state: states, type, claimant, query, sort = "attention" } = input;
  return list({ plane, signal }, { ...input, sort }, encodeTask, (state) => {
    const hasWords = wordsOf(query, (task: Task) => {
      const worker = claimantOf(task);
      const who = worker === undefined ? [] : [worker, nameOf(state, worker)];
      const { id, requiredTools, failureReason } = task;
      return [id, task.type, task.state, ...requiredTools, failureReason, ...who].join(" ");
    });
    return {
      items: state.tasks.byId.values(),
      wants: (task) =>
        (!states || states.includes(task.state)) &&
        (type === undefined || task.type === type) &&
        (claimant === undefined || claimantOf(task) === claimant) &&
        hasWords(task),
      rankOf: rankTasks(sort),
      idOf: ({ id }) => id,
    };
  });
}

function claimantOf(task: Task): AgentId | undefined {
  return "claimant" in task ? task.claimant : undefined;
}

/** What a person may have to look at comes first; each newest first. */
const taskOrder: Readonly<Record<api.TaskState, number>> = {
  dead: 0,
  claimed: 1,
  pending: 2,
  delayed: 3,
  cancelled: 4,
  completed: 5,
};

function rankTasks(sort: api.TaskSort): (task: Task) => Rank {
  switch (sort) {
    case "attention":
      return ({ state, createdAtMs }) => inKind(taskOrder[state], createdAtMs);
    case "newest":
      return ({ createdAtMs }) => -createdAtMs;
    case "oldest":
      return ({ createdAtMs }) => createdAtMs;
  }
}

/** Kinds in their order, and in each the newest first. */
function inKind(kind: number, atMs: number): number {
  return kind * 2 ** 48 - atMs;
}

/**
 * Of a long list not all is seen at the same moment. What happens meanwhile comes after the sequence
 * that the page names, and so is seen again by whoever goes on from there.
 */
export async function list<Item, Row>(
  { plane, signal }: { readonly plane: Plane; readonly signal: AbortSignal },
  input: api.PageRequest<string> & { readonly sort: string },
  encode: (state: State, item: Item) => Row,
  listing: (state: State) => Listing<Item>,
): Promise<Reply<api.Page<Row>>> {
  const { after, sort } = input;
  const start = after === undefined ? undefined : parseCursor(after, sort);
  if (after !== undefined && !start) {
    const message = "after: must be the `next` of the page before, in the same order";
    return { refusal: { code: "invalid_argument", message } };
  }
  return lookInSlices(plane, signal, function* (state, nowMs) {
    const { lastSequence: sequence } = plane;
    const encodeNow = (item: Item): Row => encode(state, item);
    const page = yield* cutPage(listing(state), { ...input, start }, encodeNow);
    return { ...page, sequence, nowMs };
  });
}

const texts = new WeakMap<Agent, string>();

/** What can be searched for, made once: records are never changed in place. */
function textOf(agent: Agent): string {
  const known = texts.get(agent);
  if (known !== undefined) return known;
  const { name, description, version, tools, capabilities } = agent.card;
  const named = capabilities.map((capability) => capability.name);
  const text = [name, agent.id, version, description, ...tools, ...named].join(" ").toLowerCase();
  texts.set(agent, text);
  return text;
}

export function listEntries(
  plane: Plane,
  input: api.Input<"listEntries">,
  { signal, maySee }: Pick<Call, "signal" | "maySee">,
): Promise<Reply<api.LogPage>> {
  return lookInTurns(plane, signal, (turn) => readEntries(plane, input, { turn, maySee }));
}

/** Reads the log backwards, in pieces, until there are enough or too many were looked at. */
async function readEntries(
  plane: Plane,
  input: api.Input<"listEntries">,
  { turn, maySee }: { readonly turn: Turn; readonly maySee: boolean },
): Promise<api.LogPage> {
  const { limit = wireLimits.pageDefault, type: types = [], about, query } = input;
  const hasWords = wordsOf(query, ({ text }: Printed) => text);
  const wants = ({ event }: Entry): boolean =>
    (maySee || !isPersonal(event)) &&
    (types.length === 0 || types.some((type) => event.type.startsWith(type))) &&
    (about === undefined || mentions(event, about));
  const encode = (entry: Entry): Printed | undefined => {
    if (!wants(entry)) return undefined;
    const row = encodeEntry(entry, { maySee });
    const printed = { row, text: JSON.stringify(row) };
    return hasWords(printed) ? printed : undefined;
  };
  const sequence = plane.durableSequence;
  const { oldestSequence } = plane;
  const rows: api.Entry[] = [];
  const newest = Math.min(input.before ?? sequence + 1, sequence + 1);
  const stopAt = Math.max(oldestSequence, newest - limits.entriesScannedMax);
  let before = newest;
  let step: number = limits.entriesReadFirst;
  let bytesRead = 0;
  let bytesShown = 0;
  let isFull = false;
  while (before > stopAt && !isFull && bytesRead < limits.entriesScannedBytesMax) {
    const from = Math.max(stopAt, before - step);
    const piece = await readPiece(plane, { from, before, turn }, encode);
    bytesRead += piece.bytes;
    // Where entries are long, fewer are read than might be shown.
    const isLong = piece.bytes > limits.entriesReadBytes;
    step = isLong ? Math.ceil(step / 4) : Math.min(step * 4, limits.entriesReadMax);
    before = from;
    for (const { row, text } of piece.rows.toReversed()) {
      bytesShown += text.length;
      isFull = rows.length === limit || (bytesShown > limits.pageBytesMax && rows.length > 0);
      if (isFull) {
        before = row.sequence + 1;
        break;
      }
      rows.push(row);
    }
  }
  const next = before > oldestSequence ? { next: before } : {};
  return { rows, ...next, oldestSequence, sequence };
}

type Printed = { readonly row: api.Entry; readonly text: string };

/** Rows of the entries from one sequence up to another. What is not shown is let go at once. */
async function readPiece(
  plane: Plane,
  { from, before, turn }: { readonly from: number; readonly before: number; readonly turn: Turn },
  encode: (entry: Entry) => Printed | undefined,
): Promise<{ readonly rows: readonly Printed[]; readonly bytes: number }> {
  const rows: Printed[] = [];
  let bytes = 0;
  let after = from - 1;
  while (after < before - 1) {
    await turn();
    const entries = await plane.history(after, before - 1 - after);
    for (const entry of entries) {
      bytes += entry.body.length;
      const row = encode(entry);
      if (row) rows.push(row);
    }
    const last = entries.at(-1);
    if (!last) break;
    after = last.sequence;
  }
  return { rows, bytes };
}

function idOfAsker({ asker }: Question): string {
  return asker.of === "job" ? asker.jobId : asker.agentId;
}

/** Whether an event is about an agent, a task, a job, a question, a group or a policy. */
function mentions(event: Event, id: string): boolean {
  if ("question" in event && idOfAsker(event.question) === id) return true;
  if (isWorkEvent(event)) return idOfWork(event) === id;
  switch (event.type) {
    case "agent.registered":
    case "agent.unreachable":
    case "agent.recovered":
    case "agent.died":
      return event.agent.id === id;
    case "agent.active":
    case "agent.forgotten":
      return event.agentId === id;
    case "lease.acquired":
    case "lease.renewed":
    case "lease.released":
    case "lease.expired":
      return event.lease.holder === id || event.lease.taskId === id;
    case "leader.changed":
      return event.group === id || event.leader === id;
    case "election.joined":
    case "election.left":
      return event.group === id || event.agentId === id;
    case "policy.changed":
    case "policy.deleted":
      return event.policy.id === id;
    case "task.created":
    case "task.ready":
    case "task.claimed":
    case "task.extended":
    case "task.completed":
    case "task.failed":
    case "task.requeued":
    case "task.cancelled":
    case "task.dead":
      return event.task.id === id || ("claimant" in event.task && event.task.claimant === id);
    case "task.forgotten":
      return event.taskId === id;
    case "observed.changed":
    case "observed.left":
      return event.observed.id === id;
    case "need.dismissed":
      return event.dismissal.id === id;
    case "need.restored":
      return event.id === id;
    case "plane.opened":
    case "plane.resumed":
      return false;
  }
}
