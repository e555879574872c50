/** What each operation takes and answers, and in words what it is for. */
import * as z from "zod";
import {
  type Answer,
  limits as apiLimits,
  type ErrorCode,
  type Input,
  isOpen,
  type OperationName,
  routes,
} from "../api/index.ts";
import { limits } from "./limits.ts";
import * as v from "./vocabulary.ts";

export type Operation<Name extends OperationName> = {
  readonly summary: string;
  /** Path, query and body in one; what is not named is refused. */
  readonly input: z.ZodType<Input<Name>>;
  readonly answer: z.ZodType<Answer<Name>>;
  /** Absent: 200. */
  readonly status?: 201;
  /** Whether `Idempotency-Key` is heeded. */
  readonly hasKey?: true;
  /** Refusals of its own; see `refusalsOf` for all. */
  readonly refusals: readonly ErrorCode[];
};

const nothing = z.object({});
const agentPath = { agentId: v.id } as const;
const taskPath = { taskId: v.id } as const;
const groupPath = { group: v.id } as const;
const needPath = { kind: v.attentionKind, id: v.id } as const;
const policyPath = { policyId: v.id } as const;
const jobPath = { jobId: v.id } as const;
const questionPath = { questionId: v.id } as const;
const claim = { agentId: v.id, claimToken: v.token.exactOptional() } as const;

const agentTtlMs = ttlMs(limits.agentTtlMsDefault);
const leaseTtlMs = ttlMs(limits.leaseTtlMsDefault);
const claimMs = ttlMs(limits.claimMsDefault);
const waitMs = v.whole(0, limits.waitMsMax).exactOptional().meta({ default: 0 });

function ttlMs(ms: number): z.ZodExactOptional<z.ZodNumber> {
  return v.whole(limits.ttlMsMin, limits.ttlMsMax).exactOptional().meta({ default: ms });
}

/** The first way to sort is the one by default. */
function paging<const Sort extends string>(sorts: readonly [Sort, ...Sort[]]) {
  return {
    query: v.word.exactOptional(),
    sort: z.enum(sorts).exactOptional().meta({ default: sorts[0] }),
    limit: v.whole(1, limits.pageMax).exactOptional().meta({ default: limits.pageDefault }),
    offset: v.whole(0).exactOptional(),
    after: z.string().max(limits.cursorLengthMax).exactOptional(),
  };
}

const living = ["agent_not_found", "agent_dead"] as const;
const claimed = [
  "task_not_found",
  "task_not_claimed",
  "task_claimed_by_another",
  "claim_lost",
] as const;

export const operations: { readonly [Name in OperationName]: Operation<Name> } = {
  getOverview: {
    summary: "What runs here, and how much of everything there is",
    input: z.strictObject({}),
    answer: v.overview,
    refusals: [],
  },
  getAttention: {
    summary: "What needs a person: the most urgent kind first, then the longest",
    input: z.strictObject({ dismissed: z.boolean().exactOptional() }),
    answer: z.object({ items: z.array(v.attention), total: v.whole(0) }),
    refusals: ["limit_reached"],
  },
  dismissNeed: {
    summary: "Dismiss or snooze an item of the list of items that need a person",
    input: z.strictObject({
      ...needPath,
      sinceMs: v.whole(0),
      forMs: v.whole(apiLimits.snoozeMsMin, apiLimits.snoozeMsMax).exactOptional(),
    }),
    answer: nothing,
    refusals: [],
  },
  restoreNeed: {
    summary: "Restore a dismissed or snoozed item to the list of items that need a person",
    input: z.strictObject(needPath),
    answer: nothing,
    refusals: [],
  },
  getTimeline: {
    summary: "Throughput and latency of the last hour",
    input: z.strictObject({}),
    answer: v.timeline,
    refusals: [],
  },
  getStatus: {
    summary:
      "Every agent that is known: from the registry, files, hosts and processes; with the token, or through the socket",
    input: z.strictObject({
      limit: v.whole(1, limits.pageMax).exactOptional().meta({ default: limits.pageDefault }),
      agent: v.word.exactOptional(),
      silentAfterMs: v
        .whole(1_000, limits.silentAfterMsMax)
        .exactOptional()
        .meta({ default: apiLimits.silentAfterMs }),
    }),
    answer: v.sightings,
    refusals: ["limit_reached"],
  },
  listEntries: {
    summary: "The log, newest first",
    input: z.strictObject({
      before: v.whole(1).exactOptional(),
      limit: v.whole(1, limits.pageMax).exactOptional().meta({ default: limits.pageDefault }),
      type: v.queryWords.exactOptional(),
      about: v.word.exactOptional(),
      query: v.word.exactOptional(),
    }),
    answer: v.logPage,
    refusals: ["limit_reached"],
  },

  listAgents: {
    summary: "Agents, those that need attention first",
    input: z.strictObject({
      ...paging(["attention", "newest", "oldest", "name"]),
      liveness: z.array(v.liveness).max(v.liveness.options.length).exactOptional(),
      hasLeft: z.boolean().exactOptional(),
      tool: v.queryWords.exactOptional(),
    }),
    answer: v.pageOf(v.agent),
    refusals: ["limit_reached"],
  },
  registerAgent: {
    summary: "Register an agent; it must send heartbeats from then on",
    input: z.strictObject({
      card: v.newCard,
      ttlMs: agentTtlMs,
      process: v.id.exactOptional(),
    }),
    answer: v.agent,
    status: 201,
    hasKey: true,
    refusals: ["key_reused", "agent_dead"],
  },
  getAgent: {
    summary: "One agent, with what it holds, leads and works on",
    input: z.strictObject(agentPath),
    answer: v.agentDetail,
    refusals: ["agent_not_found"],
  },
  heartbeat: {
    summary: "Say that the agent lives, and what it is doing",
    input: z.strictObject({
      ...agentPath,
      activity: z
        .strictObject({ state: v.activityState, note: v.text.exactOptional() })
        .exactOptional(),
    }),
    answer: v.heartbeat,
    refusals: living,
  },
  deregisterAgent: {
    summary: "End an agent: what it holds is free at once",
    input: z.strictObject(agentPath),
    answer: nothing,
    refusals: ["agent_not_found"],
  },
  withdraw: {
    summary: "Give up what is waited for under a key, or give it back if it was granted",
    input: z.strictObject({ ...agentPath, key: v.id }),
    answer: nothing,
    refusals: [],
  },
  findAgents: {
    summary: "Who can do this? Tools are a must, the query ranks",
    input: z.strictObject({
      query: v.text.exactOptional(),
      tool: v.queryWords.exactOptional(),
      limit: v.whole(1, limits.findMax).exactOptional().meta({ default: limits.findDefault }),
    }),
    answer: v.found,
    refusals: [],
  },

  listLeases: {
    summary: "Leases that are held",
    input: z.strictObject({
      ...paging(["newest", "oldest", "expiry", "task"]),
      holder: v.word.exactOptional(),
    }),
    answer: v.pageOf(v.lease),
    refusals: ["limit_reached"],
  },
  getLease: {
    summary: "The lease on a task",
    input: z.strictObject(taskPath),
    answer: v.lease,
    refusals: ["lease_not_found"],
  },
  acquireLease: {
    summary: "Hold a task alone; with waitMs, stand in line for it",
    input: z.strictObject({ ...taskPath, agentId: v.id, ttlMs: leaseTtlMs, waitMs }),
    answer: v.lease,
    hasKey: true,
    refusals: [...living, "lease_held"],
  },
  renewLease: {
    summary: "Hold it longer; by default as long as it was last asked for",
    input: z.strictObject({
      ...taskPath,
      agentId: v.id,
      token: v.token,
      ttlMs: v.whole(limits.ttlMsMin, limits.ttlMsMax).exactOptional(),
    }),
    answer: v.lease,
    refusals: ["lease_not_found", "token_mismatch"],
  },
  releaseLease: {
    summary: "Let it go",
    input: z.strictObject({ ...taskPath, agentId: v.id, token: v.token }),
    answer: nothing,
    refusals: ["lease_not_found", "token_mismatch"],
  },
  checkToken: {
    summary: "Whether a fencing token holds the task now, for stores that fence",
    input: z.strictObject({ ...taskPath, token: v.token }),
    answer: v.tokenCheck,
    refusals: [],
  },

  listElections: {
    summary: "Groups and who leads them",
    input: z.strictObject(paging(["newest", "group"])),
    answer: v.pageOf(v.election),
    refusals: ["limit_reached"],
  },
  getElection: {
    summary: "One group",
    input: z.strictObject(groupPath),
    answer: v.election,
    refusals: ["election_not_found"],
  },
  campaign: {
    summary: "Stand as a candidate",
    input: z.strictObject({ ...groupPath, agentId: v.id }),
    answer: v.election,
    refusals: living,
  },
  resign: {
    summary: "Stand no longer; if it leads, the next candidate does",
    input: z.strictObject({ ...groupPath, agentId: v.id }),
    answer: v.election,
    refusals: ["election_not_found"],
  },

  listPolicies: {
    summary: "Policies",
    input: z.strictObject({
      ...paging(["id", "newest"]),
      subjectPrefix: v.word.exactOptional(),
    }),
    answer: v.pageOf(v.policy),
    refusals: ["limit_reached"],
  },
  getPolicy: {
    summary: "One policy",
    input: z.strictObject(policyPath),
    answer: v.policy,
    refusals: ["policy_not_found"],
  },
  setPolicy: {
    summary: "Create a policy, or replace the one of that id",
    input: z.strictObject({
      ...policyPath,
      subject: v.id,
      action: v.id,
      resource: v.id,
      effect: v.effect,
    }),
    answer: v.policy,
    refusals: [],
  },
  deletePolicy: {
    summary: "Delete a policy; it need not exist",
    input: z.strictObject(policyPath),
    answer: nothing,
    refusals: [],
  },
  checkPolicy: {
    summary: "May this subject do this? Deny wins; nothing applies means no",
    input: z.strictObject({
      subject: v.word,
      action: v.word,
      resource: v.word,
      explain: z.boolean().exactOptional(),
    }),
    answer: v.policyCheck,
    refusals: [],
  },
  whoMay: {
    summary: "Which agents that are here may do this, each asked as agent:<name>",
    input: z.strictObject({ action: v.word, resource: v.word }),
    answer: v.who,
    refusals: ["limit_reached"],
  },

  listTasks: {
    summary: "Tasks, those that need attention first",
    input: z.strictObject({
      ...paging(["attention", "newest", "oldest"]),
      state: z.array(v.taskState).max(v.taskState.options.length).exactOptional(),
      type: v.word.exactOptional(),
      claimant: v.word.exactOptional(),
    }),
    answer: v.pageOf(v.task),
    refusals: ["limit_reached"],
  },
  createTask: {
    summary: "Queue a task for whoever has the tools",
    input: z.strictObject({
      type: v.id,
      input: v.bytes.exactOptional(),
      requiredTools: v.words.exactOptional(),
      maxRetries: v.whole(0, limits.retriesMax).exactOptional().meta({ default: 0 }),
      claimMs,
      priority: v
        .whole(-limits.priorityMax, limits.priorityMax)
        .exactOptional()
        .meta({ default: 0 }),
      deliveriesMax: v.whole(0, limits.retriesMax).exactOptional().meta({ default: 0 }),
      delayMs: v.whole(0, limits.delayMsMax).exactOptional().meta({ default: 0 }),
    }),
    answer: v.task,
    status: 201,
    hasKey: true,
    refusals: ["key_reused"],
  },
  getTask: {
    summary: "One task, with its input and output",
    input: z.strictObject(taskPath),
    answer: v.taskDetail,
    refusals: ["task_not_found"],
  },
  claimTask: {
    summary: "Take the next task the agent has the tools for; with waitMs, wait for one",
    input: z.strictObject({ agentId: v.id, types: v.words.exactOptional(), waitMs }),
    answer: z.object({ task: v.taskDetail.exactOptional() }),
    hasKey: true,
    refusals: living,
  },
  extendClaim: {
    summary: "Work on it longer",
    input: z.strictObject({ ...taskPath, ...claim, claimMs }),
    answer: v.task,
    refusals: claimed,
  },
  completeTask: {
    summary: "The task is done",
    input: z.strictObject({ ...taskPath, ...claim, output: v.bytes.exactOptional() }),
    answer: v.task,
    refusals: claimed,
  },
  failTask: {
    summary: "The attempt failed: it is retried, or ends among the dead letters",
    input: z.strictObject({
      ...taskPath,
      ...claim,
      reason: v.text.exactOptional(),
      retryAfterMs: v.whole(0, limits.delayMsMax).exactOptional().meta({ default: 0 }),
    }),
    answer: v.task,
    refusals: claimed,
  },
  cancelTask: {
    summary: "Nobody shall do it any more",
    input: z.strictObject(taskPath),
    answer: v.task,
    refusals: ["task_not_found", "task_ended"],
  },
  requeueTask: {
    summary: "Try a dead or cancelled task anew",
    input: z.strictObject(taskPath),
    answer: v.task,
    refusals: ["task_not_found", "task_not_dead"],
  },

  listJobs: {
    summary: "List jobs, running jobs first. Requires the token, or the Unix socket",
    input: z.strictObject({
      ...paging(["attention", "newest", "oldest"]),
      state: z.array(v.jobState).max(v.jobState.options.length).exactOptional(),
      agent: v.word.exactOptional(),
      principal: v.word.exactOptional(),
      parent: v.word.exactOptional(),
    }),
    answer: v.jobPage,
    refusals: ["limit_reached"],
  },
  submitJob: {
    summary: "Ask an agent that runs jobs to do something",
    input: z.strictObject({
      agent: v.id,
      input: z.unknown().exactOptional(),
      capabilities: v.newCapabilities.exactOptional(),
      expiresAt: v.word.exactOptional(),
      runMsMax: v.whole(1, limits.delayMsMax).exactOptional(),
      contextId: v.id.exactOptional(),
    }),
    answer: v.job,
    status: 201,
    hasKey: true,
    refusals: ["skill_not_found", "skill_version_not_found", "key_reused"],
  },
  getJob: {
    summary: "One job, with what it was given, what came of it, and all that belong to it",
    input: z.strictObject(jobPath),
    answer: v.jobDetail,
    refusals: ["job_not_found", "limit_reached"],
  },
  listJobEvents: {
    summary: "What happened to a job and what it said, newest first; or what came after an entry",
    input: z.strictObject({
      ...jobPath,
      after: v.whole(0).exactOptional(),
      before: v.whole(1).exactOptional(),
      limit: v.whole(1, limits.pageMax).exactOptional().meta({ default: limits.pageDefault }),
      kind: v.queryWords.exactOptional(),
    }),
    answer: v.logPage,
    refusals: ["job_not_found", "limit_reached"],
  },
  cancelJob: {
    summary: "Ask a job to end; one that nobody works on yet ends at once",
    input: z.strictObject({ ...jobPath, reason: v.text.exactOptional() }),
    answer: v.job,
    refusals: ["job_not_found"],
  },

  listQuestions: {
    summary:
      "List questions to people, open questions first. Requires the token, or the Unix socket",
    input: z.strictObject({
      ...paging(["attention", "newest", "oldest"]),
      state: z.array(v.questionState).max(v.questionState.options.length).exactOptional(),
      asker: v.id.exactOptional(),
    }),
    answer: v.pageOf(v.question),
    refusals: ["limit_reached"],
  },
  getQuestion: {
    summary: "One question; or wait until it is closed",
    input: z.strictObject({ ...questionPath, waitMs }),
    answer: v.question,
    refusals: ["question_not_found"],
  },
  answerQuestion: {
    summary: "Answer a question: the first valid answer wins, and later ones are refused",
    input: z.strictObject({
      ...questionPath,
      // Absent is no answer; null may be one.
      answer: z.unknown().refine((said) => said !== undefined, "is missing"),
      by: v.id.exactOptional(),
    }),
    answer: v.question,
    hasKey: true,
    refusals: ["question_not_found", "question_closed", "answer_invalid"],
  },
  askQuestion: {
    summary:
      "Ask a person on behalf of an agent, and wait for the answer. A retry with the same Idempotency-Key returns the same question",
    input: z.strictObject({
      ...agentPath,
      prompt: v.prompt,
      choices: v.choices.exactOptional(),
      schema: z.record(z.string(), z.unknown()).exactOptional(),
      timeoutMs: v.questionTimeoutMs.exactOptional(),
      waitMs,
    }),
    answer: v.question,
    status: 201,
    hasKey: true,
    refusals: [...living, "key_reused"],
  },
  withdrawQuestion: {
    summary: "Withdraw an agent's open question. A closed question is not changed",
    input: z.strictObject({ ...agentPath, key: v.id }),
    answer: v.question,
    refusals: ["question_not_found"],
  },

  openSession: {
    summary: "Exchange the key of a one-time link for the dashboard's cookie",
    input: z.strictObject({ key: v.word }),
    answer: z.object({ pageKey: z.string() }),
    refusals: ["link_used"],
  },
  getSession: {
    summary: "Whether this caller may write",
    input: z.strictObject({}),
    answer: z.object({ mayWrite: z.boolean() }),
    refusals: [],
  },
  createLink: {
    summary: "A one-time link by which a browser gets the dashboard's cookie",
    input: z.strictObject({}),
    answer: z.object({ path: z.string() }),
    refusals: [],
  },
};

/** Whether what it is asked with, but for its path, comes as a body. */
export function hasBody(name: OperationName): boolean {
  return routes[name].method === "POST" || routes[name].method === "PUT";
}

/** Every way in which an operation may be refused. */
export function refusalsOf(name: OperationName): readonly ErrorCode[] {
  return [
    "invalid_argument",
    ...(isOpen(name) ? [] : (["token_required"] as const)),
    ...operations[name].refusals,
    ...(hasBody(name) ? (["body_too_long", "unsupported_media_type"] as const) : []),
    ...(routes[name].method === "GET" ? [] : (["limit_reached"] as const)),
    ...everyones,
  ];
}

/** Of any request at all. */
export const everyones: readonly ErrorCode[] = [
  "forbidden_origin",
  "wrong_host",
  "too_slow",
  "url_too_long",
  "headers_too_long",
  "unavailable",
  "internal",
];
