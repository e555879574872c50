/** The things that the API speaks of, as schemas. Each is held to its type in `wire/api`. */
import * as z from "zod";
import { limits as coreLimits } from "../../core/index.ts";
import type * as api from "../api/index.ts";
import { limits } from "./limits.ts";
import { statusOf } from "./status.ts";

/** With a name of its own in the document. */
function name<Value>(id: string, schema: z.ZodType<Value>): z.ZodType<Value> {
  return schema.meta({ id });
}

const utf8 = new TextEncoder();

function textOf(bytesMax: number): z.ZodString {
  const tooLong = `may have ${bytesMax} bytes`;
  return wellFormed(z.string().max(bytesMax, tooLong)).refine(
    (text) => isWithin(text, bytesMax),
    tooLong,
  );
}

function wellFormed(text: z.ZodString): z.ZodString {
  return text.refine((given) => given.isWellFormed(), "has half a character");
}

/** A character has one to three bytes for each unit of its length. */
function isWithin(text: string, bytesMax: number): boolean {
  return text.length * 3 <= bytesMax || utf8.encode(text).length <= bytesMax;
}

/** May be empty. */
export const word: z.ZodString = textOf(limits.nameBytesMax);
export const id: z.ZodString = word.min(1);
export const text: z.ZodString = textOf(limits.textBytesMax);
export const words: z.ZodType<readonly string[]> = z.array(word).max(limits.itemsMax);
export const queryWords: z.ZodType<readonly string[]> = z.array(word).max(limits.queryItemsMax);
export const bytes: z.ZodBase64 = z.base64().max(limits.payloadLengthMax);
const digits = "must be a text of 1 to 20 digits";
export const token: z.ZodString = z.string(digits).regex(/^\d{1,20}$/, digits);

export function whole(min: number, max: number = Number.MAX_SAFE_INTEGER): z.ZodNumber {
  const wanted = max === Number.MAX_SAFE_INTEGER ? `, at least ${min}` : ` from ${min} to ${max}`;
  const words = `must be a whole number${wanted}`;
  return z.int(words).min(min, words).max(max, words);
}

const count: z.ZodNumber = whole(0);
const timeMs: z.ZodNumber = whole(0);

/** A closed set of values. `options` lists them. */
type Values<Value extends string> = z.ZodEnum<{ [Each in Value]: Each }>;

export const liveness: Values<api.Liveness> = z.enum(["alive", "unreachable", "dead"]);
export const taskState: Values<api.TaskState> = z.enum([
  "delayed",
  "pending",
  "claimed",
  "completed",
  "cancelled",
  "dead",
]);
export const activityState: z.ZodType<api.ActivityState> = z.enum([
  "thinking",
  "reading",
  "writing",
  "waiting",
  "idle",
]);

/** Before each is looked at. */
function boundPairs(given: unknown, context: z.RefinementCtx): unknown {
  const isObject = typeof given === "object" && given !== null;
  if (!isObject || Object.keys(given).length <= limits.itemsMax) return given;
  context.addIssue({ code: "custom", message: `may have ${limits.itemsMax} pairs` });
  return z.NEVER;
}

export const newCard: z.ZodType<api.Input<"registerAgent">["card"]> = name(
  "NewCard",
  z.strictObject({
    name: id,
    description: text.exactOptional(),
    version: word.exactOptional(),
    capabilities: z
      .array(z.strictObject({ name: word, description: text }))
      .max(limits.itemsMax)
      .exactOptional(),
    tools: words.exactOptional(),
    metadata: z
      .preprocess(boundPairs, z.record(word, text))
      .meta({ maxProperties: limits.itemsMax })
      .exactOptional(),
  }),
);

const card: z.ZodType<api.Card> = name(
  "Card",
  z.object({
    name: z.string(),
    description: z.string(),
    version: z.string(),
    capabilities: z.array(z.object({ name: z.string(), description: z.string() })),
    tools: z.array(z.string()),
    metadata: z.record(z.string(), z.string()),
  }),
);

const activity: z.ZodType<api.Activity> = name(
  "Activity",
  z.object({
    state: activityState,
    note: z.string(),
    sinceMs: timeMs,
    reportedAtMs: timeMs,
    source: z.literal("protocol"),
  }),
);

const questionKind: z.ZodType<api.Question["kind"]> = z.enum(["input", "scope"]);

const firstQuestion: z.ZodType<api.FirstQuestion> = name(
  "FirstQuestion",
  z.object({
    id: z.string(),
    kind: questionKind,
    prompt: z.string(),
    askedAtMs: timeMs,
    expiresAtMs: timeMs.exactOptional(),
    openCount: count,
  }),
);

const agentFields = {
  id: z.string(),
  card,
  liveness,
  ttlMs: count,
  registeredAtMs: timeMs,
  lastHeartbeatAtMs: timeMs,
  unheardSinceMs: timeMs.exactOptional(),
  diedAtMs: timeMs.exactOptional(),
  hasLeft: z.literal(true).exactOptional(),
  activity: activity.exactOptional(),
  question: firstQuestion.exactOptional(),
  holds: z
    .object({
      leases: z.array(z.string()),
      leaseCount: count,
      claimCount: count,
      leads: z.array(z.string()),
    })
    .exactOptional(),
} as const;

export const agent: z.ZodType<api.Agent> = name("Agent", z.object(agentFields));

export const lease: z.ZodType<api.Lease> = name(
  "Lease",
  z.object({
    taskId: z.string(),
    holder: z.string(),
    holderName: z.string(),
    token,
    ttlMs: count,
    acquiredAtMs: timeMs,
    expiresAtMs: timeMs,
  }),
);

const taskFields = {
  id: z.string(),
  type: z.string(),
  state: taskState,
  priority: z.int(),
  requiredTools: z.array(z.string()),
  maxRetries: count,
  retryCount: count,
  deliveries: count,
  deliveriesMax: count,
  claimMs: count,
  createdAtMs: timeMs,
  failureReason: z.string(),
  readyAtMs: timeMs.exactOptional(),
  claimant: z.string().exactOptional(),
  claimantName: z.string().exactOptional(),
  claimedAtMs: timeMs.exactOptional(),
  claimExpiresAtMs: timeMs.exactOptional(),
  claimToken: token.exactOptional(),
  endedAtMs: timeMs.exactOptional(),
} as const;

export const task: z.ZodType<api.Task> = name("Task", z.object(taskFields));

export const taskDetail: z.ZodType<api.TaskDetail> = name(
  "TaskDetail",
  z.object({ ...taskFields, input: z.base64(), output: z.base64() }),
);

export const jobState: Values<api.JobState> = z.enum([
  "pending",
  "running",
  "waiting",
  "success",
  "error",
  "cancelled",
  "timed_out",
]);

const jobCounts = z.object({
  pending: count,
  running: count,
  waiting: count,
  success: count,
  error: count,
  cancelled: count,
  timed_out: count,
});

/** What an agent may ask, within the limits that the core enforces. */
export const prompt: z.ZodString = wellFormed(z.string().min(1).max(coreLimits.promptLengthMax));
export const choices: z.ZodType<readonly string[]> = z
  .array(wellFormed(z.string().min(1).max(coreLimits.choiceLengthMax)))
  .min(1)
  .max(coreLimits.choicesMax);
export const questionTimeoutMs: z.ZodNumber = whole(1, coreLimits.questionTimeoutMsMax);

export const questionState: Values<api.QuestionState> = z.enum(["open", "answered", "closed"]);

export const question: z.ZodType<api.Question> = name(
  "Question",
  z.object({
    id: z.string(),
    state: questionState,
    kind: questionKind,
    asker: z.object({ kind: z.enum(["job", "agent"]), id: z.string() }),
    askerName: z.string(),
    key: z.string(),
    principal: z.string().exactOptional(),
    prompt: z.string(),
    choices: z.array(z.string()).exactOptional(),
    schema: z.unknown().exactOptional(),
    scope: z
      .object({
        read: z.array(z.string()),
        writePrefix: z.string().exactOptional(),
        mode: z.enum(["read_only", "read_write_overlay", "read_write_direct"]),
        ttlMs: count,
      })
      .exactOptional(),
    askedAtMs: timeMs,
    expiresAtMs: timeMs.exactOptional(),
    answer: z.unknown().exactOptional(),
    answeredBy: z.string().exactOptional(),
    reason: z.enum(["withdrawn", "timed_out", "asker_ended", "cannot_run_again"]).exactOptional(),
    closedAtMs: timeMs.exactOptional(),
  }),
);

const amount = z.string().regex(/^-?\d+(\.\d+)?$/);

const jobCost: z.ZodType<api.JobCost> = name(
  "JobCost",
  z.object({
    currency: z.string(),
    total: amount,
    own: amount.exactOptional(),
    children: amount.exactOptional(),
    cap: amount.exactOptional(),
    reserved: amount.exactOptional(),
  }),
);

const jobFields = {
  id: z.string(),
  agent: z.string(),
  principal: z.string(),
  state: jobState,
  createdAtMs: timeMs,
  startedAtMs: timeMs.exactOptional(),
  endedAtMs: timeMs.exactOptional(),
  attempt: count,
  contextId: z.string().exactOptional(),
  waiting: z.object({ workers: count }).exactOptional(),
  worker: z.object({ id: z.string(), isRemote: z.boolean() }).exactOptional(),
  parentId: z.string().exactOptional(),
  delegateId: z.string().exactOptional(),
  depth: count,
  childCount: count,
  eventCount: count,
  cost: z.array(jobCost),
  budget: z.array(z.object({ currency: z.string(), cap: amount, spent: amount, reserved: amount })),
  unbudgeted: z.array(z.object({ currency: z.string(), spent: amount })).exactOptional(),
  cancelling: z.object({ reason: z.string(), untilMs: timeMs }).exactOptional(),
  orphanedUntilMs: timeMs.exactOptional(),
  question: firstQuestion.exactOptional(),
  progress: z
    .object({
      current: z.number(),
      total: z.number().exactOptional(),
      units: z.string().exactOptional(),
      message: z.string().exactOptional(),
    })
    .exactOptional(),
  doing: z.string().exactOptional(),
  failure: z
    .object({ code: z.string(), message: z.string(), isRetryable: z.boolean() })
    .exactOptional(),
} as const;

export const job: z.ZodType<api.Job> = name("Job", z.object(jobFields));

const capabilities = z.record(z.string(), z.array(z.string()));

export const jobDetail: z.ZodType<api.JobDetail> = name(
  "JobDetail",
  z.object({
    ...jobFields,
    traceId: z.string(),
    sessionIds: z.array(z.string()),
    grant: z.object({ capabilities, expiresAtMs: timeMs.exactOptional() }),
    runMsMax: count.exactOptional(),
    isRepeatable: z.boolean(),
    input: z.unknown().exactOptional(),
    result: z.unknown().exactOptional(),
    streamed: z.object({ resultId: z.string(), bytes: count }).exactOptional(),
    summary: z.string().exactOptional(),
    children: z.array(z.string()),
    tree: z.array(job),
  }),
);

/** What it may do and spend is looked at by whoever grants it. */
export const newCapabilities: z.ZodType<Readonly<Record<string, readonly string[]>>> = z
  .preprocess(boundPairs, z.record(word, words))
  .meta({ maxProperties: limits.itemsMax });

export const jobPage: z.ZodType<api.JobPage> = z.object({
  ...pageFields(job),
  counts: jobCounts,
});

export const agentDetail: z.ZodType<api.AgentDetail> = name(
  "AgentDetail",
  z.object({
    ...agentFields,
    leases: z.array(lease),
    claims: z.array(task),
    groups: z.array(z.object({ group: z.string(), isLeader: z.boolean() })),
  }),
);

export const heartbeat: z.ZodType<api.Heartbeat> = name(
  "Heartbeat",
  z.object({ liveness, unreachableAtMs: timeMs, deadAtMs: timeMs }),
);

const ranking = z.enum(["table", "model"]);

export const found: z.ZodType<api.Found> = name(
  "Found",
  z.object({
    hits: z.array(z.object({ agent, score: z.number(), matched: z.array(z.string()) })),
    ranking,
    reason: z.string().exactOptional(),
  }),
);

export const tokenCheck: z.ZodType<api.TokenCheck> = name(
  "TokenCheck",
  z.object({ isCurrent: z.boolean(), lease: lease.exactOptional() }),
);

export const election: z.ZodType<api.Election> = name(
  "Election",
  z.object({
    group: z.string(),
    term: token,
    leader: z.string().exactOptional(),
    leaderName: z.string().exactOptional(),
    changedAtMs: timeMs,
    candidateCount: count,
    candidates: z.array(z.object({ agentId: z.string(), name: z.string() })),
  }),
);

export const effect: z.ZodType<api.Policy["effect"]> = z.enum(["allow", "deny"]);

export const policy: z.ZodType<api.Policy> = name(
  "Policy",
  z.object({
    id: z.string(),
    subject: z.string(),
    action: z.string(),
    resource: z.string(),
    effect,
  }),
);

export const policyCheck: z.ZodType<api.PolicyCheck> = name(
  "PolicyCheck",
  z.object({
    allowed: z.boolean(),
    reason: z.string(),
    decidedBy: policy.exactOptional(),
    matches: z.array(policy).exactOptional(),
    moreMatches: count.exactOptional(),
  }),
);

export const who: z.ZodType<api.Who> = name(
  "Who",
  z.object({
    agents: z.array(
      z.object({
        agentId: z.string(),
        name: z.string(),
        allowed: z.boolean(),
        decidedBy: z.string().exactOptional(),
      }),
    ),
    total: count,
  }),
);

export const overview: z.ZodType<api.Overview> = name(
  "Overview",
  z.object({
    version: z.string(),
    planeId: z.string(),
    pid: count,
    startedAtMs: timeMs,
    isKept: z.boolean(),
    dataDirectory: z.string().exactOptional(),
    grpcAddress: z.string().exactOptional(),
    httpAddress: z.string().exactOptional(),
    arcpAddress: z.string().exactOptional(),
    nowMs: timeMs,
    sequence: count,
    counts: z.object({
      agents: z.object({ alive: count, unreachable: count, dead: count, left: count }),
      leases: count,
      elections: count,
      policies: count,
      tasks: z.object({
        delayed: count,
        pending: count,
        claimed: count,
        completed: count,
        cancelled: count,
        dead: count,
      }),
      jobs: jobCounts,
      questions: count,
      watchers: count,
    }),
    retained: z.object({
      oldestSequence: count,
      oldestAtMs: timeMs,
      bytes: count,
      diskBytes: count,
      keepMs: count.exactOptional(),
      keepBytes: count.exactOptional(),
      keepEntries: count.exactOptional(),
    }),
    find: z.object({ ranking, reason: z.string().exactOptional() }),
  }),
);

export const attentionKind: z.ZodType<api.AttentionKind> = z.enum([
  "question",
  "agent_waiting",
  "agent_silent",
  "agent_unreachable",
  "task_dead",
  "task_stuck",
  "job_failed",
]);

export const attention: z.ZodType<api.Attention> = name(
  "Attention",
  z.object({
    kind: attentionKind,
    id: z.string(),
    source: z.enum(["registry", "hook", "file", "process"]),
    name: z.string(),
    sinceMs: timeMs,
    text: z.string(),
    tools: z.array(z.string()).exactOptional(),
    asker: z.object({ kind: z.enum(["job", "agent"]), id: z.string() }).exactOptional(),
    expiresAtMs: timeMs.exactOptional(),
    agents: z.array(z.object({ id: z.string(), name: z.string() })).exactOptional(),
    agentCount: count.exactOptional(),
    dismissed: z
      .object({ by: z.string(), atMs: timeMs, untilMs: timeMs.exactOptional() })
      .exactOptional(),
  }),
);

const sightingStates = [
  "waiting",
  "working",
  "silent",
  "failed",
  "lost",
  "idle",
  "stopped",
  "unknown",
] as const;
const sightingState: z.ZodType<api.SightingState> = z.enum(sightingStates);

const known: z.ZodType<api.Known> = name(
  "Known",
  z.object({
    source: z.enum(["registry", "hook", "file", "process"]),
    state: z.enum(sightingStates).exclude(["silent"]),
    word: z.string(),
    sinceMs: timeMs.exactOptional(),
    heardAtMs: timeMs,
    unheardSinceMs: timeMs.exactOptional(),
    path: z.string().exactOptional(),
  }),
);

const sighting: z.ZodType<api.Sighting> = name(
  "Sighting",
  z.object({
    id: z.string(),
    name: z.string(),
    host: z.string(),
    pid: count.exactOptional(),
    startedAtMs: timeMs.exactOptional(),
    state: sightingState,
    sinceMs: timeMs.exactOptional(),
    lastProgressAtMs: timeMs.exactOptional(),
    known: z.array(known),
    isContradicted: z.boolean(),
    workspace: z.string().exactOptional(),
    branch: z.string().exactOptional(),
    doing: z.string().exactOptional(),
    task: z.string().exactOptional(),
    goal: z.string().exactOptional(),
    tokens: z.object({ input: count, output: count }).exactOptional(),
    costUsd: z.number().exactOptional(),
    tmux: z.object({ socket: z.string(), pane: z.string() }).exactOptional(),
    questionId: z.string().exactOptional(),
    hint: z.string().exactOptional(),
  }),
);

export const sightings: z.ZodType<api.Sightings> = name(
  "Sightings",
  z.object({
    agents: z.array(sighting),
    total: count,
    counts: z.record(z.enum(sightingStates), count),
    nowMs: timeMs,
  }),
);

const milliseconds = z.array(z.number().nullable());

export const timeline: z.ZodType<api.Timeline> = name(
  "Timeline",
  z.object({
    stepMs: count,
    startAtMs: timeMs,
    events: z.array(count),
    calls: z.array(count),
    p50Ms: milliseconds,
    p99Ms: milliseconds,
    commitP99Ms: milliseconds,
  }),
);

/** An entry has the fields of its type besides these. */
const entry = name(
  "Entry",
  z.looseObject({
    sequence: count,
    busSequence: count,
    topic: z.string(),
    atMs: timeMs,
    actor: z.string(),
    type: z.string(),
  }) as unknown as z.ZodType<api.Entry>,
);

export const logPage: z.ZodType<api.LogPage> = name(
  "LogPage",
  z.object({
    rows: z.array(entry),
    next: count.exactOptional(),
    oldestSequence: count,
    sequence: count,
  }),
);

export function pageOf<Row>(row: z.ZodType<Row>): z.ZodType<api.Page<Row>> {
  return z.object(pageFields(row));
}

function pageFields<Row>(row: z.ZodType<Row>) {
  return {
    rows: z.array(row),
    total: count,
    next: z.string().exactOptional(),
    sequence: count,
    nowMs: timeMs,
  };
}

const errorCode: z.ZodType<api.ErrorCode> = z.enum(
  Object.keys(statusOf) as [api.ErrorCode, ...api.ErrorCode[]],
);

export const error: z.ZodType<api.ErrorBody> = name(
  "Error",
  z.object({
    error: z.object({
      code: errorCode,
      message: z.string(),
      lease: lease.exactOptional(),
      question: question.exactOptional(),
    }),
  }),
);
