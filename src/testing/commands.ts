/** Commands in few words, with the defaults of the AgentKeeper SDK. */
import assert from "node:assert/strict";
import {
  type Amount,
  agentId,
  type Card,
  type ClaimTask,
  type Command,
  groupName,
  isActivityState,
  isJson,
  type JsonText,
  jobId,
  observedId,
  observedStates,
  parseAmount,
  policyId,
  questionId,
  sessionId,
  taskId,
  token,
} from "../core/index.ts";

type Of<Type extends Command["type"]> = Command & { readonly type: Type };

export function card(name: string, tools: readonly string[] = []): Card {
  return { name, description: "", version: "", capabilities: [], tools, metadata: [] };
}

/** The name is also the id. */
export function register(
  name: string,
  {
    ttlMs = 30_000,
    tools = [],
    reconnectsSoon = false,
  }: {
    readonly ttlMs?: number;
    readonly tools?: string[];
    readonly reconnectsSoon?: boolean;
  } = {},
): Of<"agent.register"> {
  const command = { agentId: agentId(name), card: card(name, tools), ttlMs };
  return { type: "agent.register", ...command, ...(reconnectsSoon && { reconnectsSoon }) };
}

/** `doing` is what the agent says of itself: a state, and a note after it. */
export function heartbeat(name: string, doing?: string): Of<"agent.heartbeat"> {
  const beat = { type: "agent.heartbeat", agentId: agentId(name) } as const;
  if (doing === undefined) return beat;
  const [state = "", ...note] = doing.split(" ");
  assert(isActivityState(state), state);
  return { ...beat, activity: { state, note: note.join(" ") } };
}

export function deregister(name: string): Of<"agent.deregister"> {
  return { type: "agent.deregister", agentId: agentId(name) };
}

export function acquire(
  task: string,
  name: string,
  ttlMs = 60_000,
  key?: string,
): Of<"lease.acquire"> {
  const named = {
    taskId: taskId(task),
    agentId: agentId(name),
    ...(key === undefined ? {} : { key }),
  };
  return { type: "lease.acquire", ...named, ttlMs };
}

export function renew(
  task: string,
  name: string,
  presented: bigint,
  ttlMs?: number,
): Of<"lease.renew"> {
  const named = { taskId: taskId(task), agentId: agentId(name), token: token(presented) };
  return { type: "lease.renew", ...named, ...(ttlMs === undefined ? {} : { ttlMs }) };
}

export function release(task: string, name: string, presented: bigint): Of<"lease.release"> {
  const named = { taskId: taskId(task), agentId: agentId(name), token: token(presented) };
  return { type: "lease.release", ...named };
}

/** Whatever was granted under the key. */
export function withdraw(name: string, key: string): Of<"key.withdraw"> {
  return { type: "key.withdraw", agentId: agentId(name), key };
}

export function campaign(group: string, name: string): Of<"election.campaign"> {
  return { type: "election.campaign", group: groupName(group), agentId: agentId(name) };
}

export function resign(group: string, name: string): Of<"election.resign"> {
  return { type: "election.resign", group: groupName(group), agentId: agentId(name) };
}

/** `subject action resource`, in one text. */
export function setPolicy(
  id: string,
  effect: "allow" | "deny",
  rule: `${string} ${string} ${string}`,
): Of<"policy.set"> {
  const [subject = "", action = "", resource = ""] = rule.split(" ");
  return { type: "policy.set", policy: { id: policyId(id), subject, action, resource, effect } };
}

export function deletePolicy(id: string): Of<"policy.delete"> {
  return { type: "policy.delete", policyId: policyId(id) };
}

export function observe(id: string, doing: string): Of<"observed.report"> {
  const [state = "", ...note] = doing.split(" ");
  const known = observedStates.find((one) => one === state);
  assert(known, state);
  const about = { id: observedId(id), name: id, goal: "", workspace: "", source: "file" } as const;
  return { type: "observed.report", observed: { ...about, state: known, note: note.join(" ") } };
}

export function createTask(
  task: string,
  options: Partial<Omit<Of<"task.create">, "type" | "taskId">> = {},
): Of<"task.create"> {
  const defaults = { input: "", requiredTools: [], maxRetries: 0, claimMs: 60_000 };
  return {
    type: "task.create",
    taskId: taskId(task),
    taskType: "work",
    ...defaults,
    ...options,
  };
}

export function claim(
  name: string,
  options: { readonly types?: readonly string[]; readonly key?: string } = {},
): ClaimTask {
  return { type: "task.claim", agentId: agentId(name), ...options };
}

export function unclaim(task: string, name: string, claimToken: number): Of<"task.unclaim"> {
  return { type: "task.unclaim", taskId: taskId(task), agentId: agentId(name), claimToken };
}

/** Which claim, where it matters. */
type Under = { readonly claimToken?: number };

export function extend(
  task: string,
  name: string,
  options: Under & { readonly claimMs?: number } = {},
): Of<"task.extend"> {
  return { type: "task.extend", taskId: taskId(task), agentId: agentId(name), ...options };
}

export function complete(
  task: string,
  name: string,
  output = "",
  under: Under = {},
): Of<"task.complete"> {
  return { type: "task.complete", taskId: taskId(task), agentId: agentId(name), output, ...under };
}

export function fail(
  task: string,
  name: string,
  reason = "",
  options: Under & { readonly retryAfterMs?: number } = {},
): Of<"task.fail"> {
  return { type: "task.fail", taskId: taskId(task), agentId: agentId(name), reason, ...options };
}

export function cancel(task: string): Of<"task.cancel"> {
  return { type: "task.cancel", taskId: taskId(task) };
}

export function requeue(task: string): Of<"task.requeue"> {
  return { type: "task.requeue", taskId: taskId(task) };
}

/** Of its own principal, unless told otherwise. */
export function openSession(
  name: string,
  parts: Partial<Of<"session.open">> = {},
): Of<"session.open"> {
  return {
    type: "session.open",
    sessionId: sessionId(`sess_${name}`),
    principal: name,
    tokenHash: `token of ${name}`,
    features: [],
    skips: [],
    windowMs: 600_000,
    ...parts,
  };
}

export function resumeSession(
  name: string,
  parts: Partial<Of<"session.resume">> = {},
): Of<"session.resume"> {
  return {
    type: "session.resume",
    sessionId: sessionId(`sess_${name}`),
    principal: name,
    shownHash: `token of ${name}`,
    tokenHash: `next token of ${name}`,
    afterEventSequence: 0,
    ...parts,
  };
}

export function followJob(
  name: string,
  job: string,
  parts: Partial<Of<"session.follow">> = {},
): Of<"session.follow"> {
  return {
    type: "session.follow",
    sessionId: sessionId(`sess_${name}`),
    jobId: jobId(job),
    mayObserve: false,
    ...parts,
  };
}

export function submitJob(
  job: string,
  name: string,
  parts: Partial<Of<"job.submit">> = {},
): Of<"job.submit"> {
  return {
    type: "job.submit",
    jobId: jobId(job),
    sessionId: sessionId(`sess_${name}`),
    principal: name,
    requestId: `request of ${job}`,
    traceId: "00000000000000000000000000000001",
    agent: { name: "echo" },
    isRepeatable: false,
    input: "null",
    needsPreparing: false,
    ...parts,
  };
}

export function startJob(
  job: string,
  { isRemote = false }: { readonly isRemote?: boolean } = {},
): Of<"job.start"> {
  return { type: "job.start", jobId: jobId(job), worker: { id: "worker", isRemote } };
}

type Emitted = Partial<Omit<Of<"job.emit">, "body"> & { readonly body: string }>;

export function emit(job: string, { body, ...parts }: Emitted = {}): Of<"job.emit"> {
  return {
    type: "job.emit",
    jobId: jobId(job),
    attempt: 1,
    kind: "log",
    body: jsonText(body ?? '{"level":"info","message":"a"}'),
    ...parts,
  };
}

/** Fails the test if the text is not JSON. */
export function jsonText(text: string): JsonText {
  assert(isJson(text), text);
  return text;
}

export function endJob(job: string, parts: Partial<Of<"job.end">> = {}): Of<"job.end"> {
  const outcome = { status: "success", result: '"done"' } as const;
  return { type: "job.end", jobId: jobId(job), attempt: 1, outcome, ...parts };
}

/** By whoever runs the machine, unless told otherwise. */
export function cancelJob(job: string, parts: Partial<Of<"job.cancel">> = {}): Of<"job.cancel"> {
  return { type: "job.cancel", jobId: jobId(job), reason: "", graceMs: 30_000, ...parts };
}

export function reserve(job: string, id: string, ...amounts: string[]): Of<"job.reserve"> {
  return {
    type: "job.reserve",
    jobId: jobId(job),
    attempt: 1,
    reservationId: id,
    amounts: amounts.map(amount),
  };
}

export function spend(
  job: string,
  amounts: readonly string[],
  parts: Partial<Of<"job.spend">> = {},
): Of<"job.spend"> {
  return {
    type: "job.spend",
    jobId: jobId(job),
    attempt: 1,
    amounts: amounts.map(amount),
    ...parts,
  };
}

export function settle(job: string, id: string, ...actual: string[]): Of<"job.settle"> {
  return {
    type: "job.settle",
    jobId: jobId(job),
    attempt: 1,
    reservationId: id,
    actual: actual.map(amount),
  };
}

/** A question of a job, of attempt 1 by default. `key` is also the id and the prompt of the question. */
export function askAsJob(
  job: string,
  key: string,
  parts: Partial<Of<"question.ask">> & { readonly attempt?: number } = {},
): Of<"question.ask"> {
  const { attempt = 1, ...rest } = parts;
  return {
    type: "question.ask",
    questionId: questionId(`q_${key}`),
    asker: { of: "job", jobId: jobId(job), attempt },
    key,
    prompt: `${key}?`,
    expects: { of: "text" },
    ...rest,
  };
}

export function askAsAgent(
  name: string,
  key: string,
  parts: Partial<Of<"question.ask">> = {},
): Of<"question.ask"> {
  return { ...askAsJob("", key), asker: { of: "agent", agentId: agentId(name) }, ...parts };
}

/** By whoever runs the machine, under the name that is given. */
export function answerQuestion(
  key: string,
  value: unknown,
  parts: Partial<Of<"question.answer">> = {},
): Of<"question.answer"> {
  return {
    type: "question.answer",
    questionId: questionId(`q_${key}`),
    answer: JSON.stringify(value),
    by: { name: "ada" },
    ...parts,
  };
}

export function withdrawQuestion(
  asker: Of<"question.withdraw">["asker"],
  key: string,
): Of<"question.withdraw"> {
  return { type: "question.withdraw", asker, key };
}

export function amount(text: string): Amount {
  const parsed = parseAmount(text);
  assert(parsed, text);
  return parsed;
}
