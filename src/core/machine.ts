/**
 * Where all rooms meet. `decide` reads and answers; `evolve` is the only writer; neither waits. What
 * one room's fact means to another (an agent dies, its leases end, its groups elect again, its tasks
 * go back) is written here and nowhere else.
 */
import * as credentials from "./credentials.ts";
import { accept, type Decision, type Refused, refuse } from "./decision.ts";
import * as elections from "./elections.ts";
import * as entitlements from "./entitlements.ts";
import { type Event, isWorkEvent, topics } from "./events.ts";
import {
  type AgentId,
  type JobId,
  type QuestionId,
  type SessionId,
  type TaskId,
  token,
} from "./ids.ts";
import { emptyJobs, type Jobs, type OwnJobs } from "./job-records.ts";
import * as jobs from "./jobs.ts";
import { printJson } from "./json-text.ts";
import * as leases from "./leases.ts";
import * as needs from "./needs.ts";
import * as observed from "./observed.ts";
import * as questions from "./questions.ts";
import * as registry from "./registry.ts";
import * as sessions from "./sessions.ts";
import * as tasks from "./tasks.ts";

export type State = {
  readonly registry: registry.Registry;
  readonly leases: leases.Leases;
  readonly elections: elections.Elections;
  readonly entitlements: entitlements.Entitlements;
  readonly tasks: tasks.Tasks;
  readonly observed: observed.ObservedAgents;
  readonly needs: needs.Needs;
  readonly jobs: Jobs;
  readonly credentials: credentials.Credentials;
  readonly sessions: sessions.Sessions;
  readonly questions: questions.Questions;
  /** Counts events: where the last one stands in the log. */
  readonly lastSequence: number;
  /** The first entry that the log still has. Soft: whoever keeps the log tells it, and it is no fact. */
  readonly oldestSequence: number;
  /** When this process opened the log: what only a process has is younger. */
  readonly openedAtMs: number;
  /** Counts published events, without a gap. */
  readonly lastBusSequence: number;
};

export type OwnState = {
  readonly registry: registry.OwnRegistry;
  readonly leases: leases.OwnLeases;
  readonly elections: elections.OwnElections;
  readonly entitlements: entitlements.OwnEntitlements;
  readonly tasks: tasks.OwnTasks;
  readonly observed: observed.OwnObservedAgents;
  readonly needs: needs.OwnNeeds;
  readonly jobs: OwnJobs;
  readonly credentials: credentials.OwnCredentials;
  readonly sessions: sessions.OwnSessions;
  readonly questions: questions.OwnQuestions;
  lastSequence: number;
  oldestSequence: number;
  openedAtMs: number;
  lastBusSequence: number;
};

/** Something whose time has come. */
export type Due =
  | { readonly of: "agent"; readonly agentId: AgentId }
  | { readonly of: "lease"; readonly taskId: TaskId }
  | { readonly of: "task"; readonly taskId: TaskId }
  | { readonly of: "job"; readonly jobId: JobId }
  | { readonly of: "session"; readonly sessionId: SessionId }
  | { readonly of: "question"; readonly questionId: QuestionId };

/** Gives back whatever an agent was granted under a key. Where that is nothing, nothing happens. */
export type WithdrawKey = {
  readonly type: "key.withdraw";
  readonly agentId: AgentId;
  readonly key: string;
};

export type Command =
  | {
      readonly type: "plane.open";
      /** Tokens start above the wall clock in microseconds, so that a lost or restored log cannot repeat one. */
      readonly wallMicros: number;
      /** Whether the bus sequence goes on from what was kept; if nothing was, it starts at the wall clock. */
      readonly isKept: boolean;
      /** How long workers elsewhere may take to come back; as long as usual, if absent. */
      readonly workerGraceMs?: number | undefined;
    }
  | { readonly type: "plane.resume" }
  | { readonly type: "tick"; readonly due: Due }
  | registry.RegisterAgent
  | registry.Heartbeat
  | { readonly type: "agent.deregister"; readonly agentId: AgentId }
  | WithdrawKey
  | leases.LeaseCommand
  | elections.ElectionCommand
  | entitlements.PolicyCommand
  | tasks.TaskCommand
  | observed.ObservedCommand
  | needs.NeedCommand
  | tasks.ClaimTask
  | jobs.JobCommand
  | credentials.ReportRevocation
  | credentials.RotateCredential
  | questions.QuestionCommand
  | sessions.SessionCommand
  | sessions.FollowJob;

export function emptyState(): OwnState {
  return {
    registry: registry.emptyRegistry(),
    leases: leases.emptyLeases(),
    elections: elections.emptyElections(),
    entitlements: entitlements.emptyEntitlements(),
    tasks: tasks.emptyTasks(),
    observed: observed.emptyObserved(),
    needs: needs.emptyNeeds(),
    jobs: emptyJobs(),
    credentials: credentials.emptyCredentials(),
    sessions: sessions.emptySessions(),
    questions: questions.emptyQuestions(),
    lastSequence: 0,
    oldestSequence: 1,
    openedAtMs: 0,
    lastBusSequence: 0,
  };
}

/** Reads, never writes. Expects that nothing is overdue: see `overdue`. */
export function decide(state: State, command: Command, nowMs: number): Decision<Event> {
  const decision = decideAlone(state, command, nowMs);
  if (decision.refusal) return decision;
  const { events } = decision;
  const closed = closeQuestions(state, events, nowMs);
  const ended = [...endCredentials(state, events), ...closed];
  return ended.length === 0 ? decision : accept(...events, ...ended);
}

/**
 * However a job ends, what was made for it is to be revoked; and what was made for those it asked for, though they
 * may go on without it (ARCP-175).
 */
function endCredentials(state: State, events: readonly Event[]): Event[] {
  if (state.credentials.size === 0) return [];
  const over = new Set<JobId>();
  for (const event of events) {
    if (event.type !== "job.ended" && event.type !== "job.withdrawn") continue;
    over.add(event.jobId);
    for (const child of state.jobs.children.get(event.jobId) ?? []) over.add(child);
  }
  return [...over].flatMap((jobId) => credentials.endAllOf(state.credentials, jobId));
}

/**
 * Closes the open questions of every job and agent that ends. Questions of a job that is being cancelled are closed at
 * once, because an answer would have no effect. No event of the job reports this: the end of the job implies it.
 */
function closeQuestions(state: State, events: readonly Event[], nowMs: number): Event[] {
  if (state.questions.open.size === 0) return [];
  const closed = new Map<QuestionId, questions.QuestionEvent>();
  for (const event of events) {
    const over = overBy(event);
    if (!over) continue;
    for (const question of questions.openOf(state.questions, over.asker)) {
      // One decision can contain both that a job is cancelled and that it has ended.
      if (closed.has(question.id)) continue;
      closed.set(question.id, questions.close(question, over.reason, nowMs));
    }
  }
  return withRoom(state, [...closed.values()]);
}

function withRoom(state: State, events: readonly questions.QuestionEvent[]): Event[] {
  return [...events, ...questions.makeRoom(state.questions, events)];
}

type AskerOver = {
  readonly asker: questions.AskerName;
  readonly reason: questions.CloseReason;
};

/** Whose questions an event closes, and why. */
function overBy(event: Event): AskerOver | undefined {
  switch (event.type) {
    case "agent.died":
      return { asker: { of: "agent", agentId: event.agent.id }, reason: "asker_ended" };
    case "job.cancelling":
      return closedByJob(event.jobId, event.isInterruption);
    case "job.ended":
      return closedByJob(event.jobId, event.isInterrupted);
    default:
      return undefined;
  }
}

/** A job that was interrupted and ends did not end by itself: it would have run again if it could. */
function closedByJob(jobId: JobId, isInterrupted = false): AskerOver {
  const reason = isInterrupted ? "cannot_run_again" : "asker_ended";
  return { asker: { of: "job", jobId }, reason };
}

function decideAlone(state: State, command: Command, nowMs: number): Decision<Event> {
  switch (command.type) {
    case "plane.open": {
      const known = state.leases.lastToken;
      const wall = BigInt(command.wallMicros);
      const lastToken = token(known > wall ? known : wall);
      const lastBusSequence = command.isKept ? state.lastBusSequence : command.wallMicros;
      return accept<Event>(
        { type: "plane.opened", lastToken, lastBusSequence, atMs: nowMs },
        ...jobs.recover(state.jobs, nowMs, {
          hasLostCredentials: (jobId) => credentials.hasLost(state.credentials, jobId, nowMs),
          workerGraceMs: command.workerGraceMs,
        }),
      );
    }
    case "plane.resume":
      return accept({ type: "plane.resumed", atMs: nowMs });
    case "tick":
      return accept(...expire(state, command.due, nowMs));
    case "agent.register":
    case "agent.heartbeat":
      return registry.decide(state.registry, command, nowMs);
    case "agent.deregister": {
      const agent = state.registry.agents.get(command.agentId);
      if (!agent) return refuse("agent_not_found", `agent not found: ${command.agentId}`);
      return agent.liveness === "dead"
        ? accept()
        : accept(...bury(state, agent, { nowMs, hasLeft: true }));
    }
    case "key.withdraw": {
      const { agentId, key } = command;
      return accept<Event>(
        ...leases.releaseByKey(state.leases, agentId, key),
        ...tasks.unclaimByKey(state.tasks, { claimant: agentId, key }, nowMs),
      );
    }
    case "lease.acquire": {
      const living = registry.requireLiving(state.registry, command.agentId);
      return living.refusal ? living : leases.decide(state.leases, command, nowMs);
    }
    case "lease.renew":
    case "lease.release":
      return leases.decide(state.leases, command, nowMs);
    case "election.campaign": {
      const living = registry.requireLiving(state.registry, command.agentId);
      if (living.refusal) return living;
      return elections.decide(state.elections, command, { nowMs, livenessOf: livenessIn(state) });
    }
    case "election.resign":
      return elections.decide(state.elections, command, { nowMs, livenessOf: livenessIn(state) });
    case "policy.set":
    case "policy.delete":
      return entitlements.decide(state.entitlements, command);
    case "task.claim": {
      const living = registry.requireLiving(state.registry, command.agentId);
      if (living.refusal) return living;
      const { id, card, liveness } = living.agent;
      const { types, key } = command;
      if (key !== undefined && tasks.claimByKey(state.tasks, id, key)) return accept();
      // An agent that may be gone gets no work until it is heard of again.
      if (liveness === "unreachable") return refuse("no_task", `agent ${id} is unreachable`);
      return tasks.claim(state.tasks, { agentId: id, tools: card.tools, types, key }, nowMs);
    }
    case "task.create":
    case "task.unclaim":
    case "task.extend":
    case "task.complete":
    case "task.fail":
    case "task.cancel":
    case "task.requeue":
      return tasks.decide(state.tasks, command, nowMs);
    case "observed.report":
    case "observed.leave":
      return observed.decide(state.observed, command, nowMs);
    case "need.dismiss":
    case "need.restore":
      return needs.decide(state.needs, command, nowMs);
    case "job.submit": {
      const repeated = jobs.findRepeated(state.jobs, command);
      if (repeated.refusal) return repeated;
      const { job } = repeated;
      if (!job) {
        const decision = jobs.decide(state.jobs, command, nowMs);
        if (decision.refusal) return decision;
        const full = refuseFullSession(state, command);
        if (full || !command.needsPreparing) return full ?? decision;
        return credentials.refuseFull(state.credentials) ?? decision;
      }
      const { sessionId, requestId } = command;
      const isSameRequest =
        sessionId !== undefined &&
        requestId !== undefined &&
        job.sessionIds[0] === sessionId &&
        job.requestId === requestId;
      // What followed on it was told under numbers, and is told again from there.
      if (isSameRequest) return accept();
      return refuseUntold(state, job) ?? accept(...askAgain(job, command));
    }
    case "job.emit": {
      const decision = jobs.decide(state.jobs, command, nowMs);
      return decision.refusal ? decision : { events: numbered(state, decision.events) };
    }
    case "job.prepared":
      return prepare(state, command, nowMs);
    case "credential.rotate":
      return rotate(state, command, nowMs);
    case "credential.report":
      return credentials.decide(state.credentials, command);
    case "job.start":
    case "job.reserve":
    case "job.spend":
    case "job.settle":
    case "job.end":
    case "job.cancel":
    case "job.orphan":
    case "job.reclaim":
      return jobs.decide(state.jobs, command, nowMs);
    case "question.ask":
      return askQuestion(state, command, nowMs);
    case "question.answer":
      return withNews(state, questions.answer(state.questions, command, nowMs));
    case "question.withdraw":
      return withNews(state, questions.withdraw(state.questions, command, nowMs));
    case "session.follow":
      return followJob(state, command);
    case "session.detach": {
      const hasUnfinished = hasUnfinishedJob(state, command.sessionId);
      return sessions.decide(state.sessions, command, nowMs, { hasUnfinishedJob: hasUnfinished });
    }
    case "session.open":
    case "session.resume":
    case "session.acknowledge":
    case "session.leave":
    case "session.reject":
      return sessions.decide(state.sessions, command, nowMs, state);
  }
}

/**
 * What was made for a job is written down before the job is accepted, also where it is not: then it is to be
 * revoked at once.
 */
function prepare(
  state: State,
  command: jobs.JobCommand & { readonly type: "job.prepared" },
  nowMs: number,
): Decision<Event> {
  const { jobId, credentials: made = [] } = command;
  const parentId = state.jobs.byId.get(jobId)?.parentId;
  const parent = parentId === undefined ? undefined : state.jobs.byId.get(parentId);
  const isAlone = parentId !== undefined && (!parent || parent.state === "ended");
  const isShared = credentials.isShared(state.credentials, jobId, made);
  const isReady = command.isReady && !isAlone && !isShared;
  const decision = jobs.decide(state.jobs, { ...command, isReady }, nowMs);
  if (made.length === 0) return decision;
  const issued = credentials.issue(state.credentials, jobId, made, nowMs);
  const isAccepted = isReady && !decision.refusal;
  return accept<Event>(
    ...issued,
    ...(decision.refusal ? [] : decision.events),
    ...(isAccepted ? [] : issued.map(({ credential }) => credentials.end(credential))),
  );
}

/** A newer value takes the place of one that a job has, and the job says so. */
function rotate(
  state: State,
  command: credentials.RotateCredential,
  nowMs: number,
): Decision<Event> {
  const { jobId, attempt, credentialId, said } = command;
  const decision = jobs.decide(state.jobs, { type: "job.emit", jobId, attempt, ...said }, nowMs);
  if (decision.refusal) return decision;
  const before = credentials.findLive(state.credentials, command);
  if (!before) return refuse("invalid_argument", `job ${jobId} has no credential ${credentialId}`);
  if (credentials.isShared(state.credentials, jobId, [command])) {
    return refuse("invalid_argument", "another job has the same value");
  }
  const { handle = before.handle, valueHash } = command;
  const made = { credentialId, ...(handle !== undefined && { handle }), valueHash };
  return accept<Event>(
    ...credentials.issue(state.credentials, jobId, [made], nowMs),
    ...numbered(state, decision.events),
    credentials.end(before, { isReplaced: true }),
  );
}

/** A session may have a limit of its own, besides that of its principal. */
function refuseFullSession(state: State, { sessionId }: jobs.SubmitJob): Refused | undefined {
  const jobsMax = sessionId === undefined ? undefined : state.sessions.byId.get(sessionId)?.jobsMax;
  if (sessionId === undefined || jobsMax === undefined) return undefined;
  const unfinished = state.jobs.unfinishedBySession.get(sessionId)?.size ?? 0;
  if (unfinished < jobsMax) return undefined;
  return refuse(
    "limit_reached",
    `this session has ${jobsMax} unfinished jobs, which is its limit; wait for one to end`,
  );
}

/** A job whose end the log no longer has, because it grew too large: nobody can be told of it. */
function refuseUntold({ oldestSequence }: State, job: jobs.Job): Refused | undefined {
  if (job.state !== "ended" || job.endedSequence >= oldestSequence) return undefined;
  return refuse("job_not_found", `job ${job.id} has ended, and how is no longer known`);
}

/** What was asked for before: whoever asks again is told how it ended, or will be. */
function askAgain(job: jobs.Job, { sessionId }: jobs.SubmitJob): Event[] {
  const jobId = job.id;
  // A caller without a session gets the job in the reply, and follows it by other means.
  if (sessionId === undefined || job.state === "preparing") return [];
  if (job.state === "ended") {
    const recalled = { afterSequence: job.endedSequence - 1, count: 1 };
    return [{ type: "session.followed", sessionId, jobId, recalled, hasEnded: true }];
  }
  if (job.sessionIds.includes(sessionId)) return [];
  return [{ type: "job.joined", jobId, sessionId }];
}

/**
 * Events with the number under which the job's own session is told, if it is. Expects those of one job, none of
 * which ends another.
 */
function numbered(
  { jobs: { byId }, sessions: all }: State,
  events: readonly Event[],
): readonly Event[] {
  let told = 0;
  return events.map((event) => {
    if (event.type !== "job.emitted") return event;
    const own = byId.get(event.jobId)?.sessionIds[0];
    const isTold = own !== undefined && all.followers.get(event.jobId)?.has(own);
    if (!isTold || sessions.skipsOf(all, own).includes(event.kind)) return event;
    told += 1;
    return { ...event, ownSequence: sessions.lastEventSequence(all, own) + told };
  });
}

/**
 * Whether the session follows an unfinished job that it submitted, alone or with others. It follows its jobs until they
 * end or it unsubscribes; a caller that unsubscribed does not come back for the result.
 */
function hasUnfinishedJob(
  { jobs: { byId }, sessions: { journals } }: State,
  id: SessionId,
): boolean {
  const follows = journals.get(id)?.follows ?? new Set();
  return follows.values().some((jobId) => byId.get(jobId)?.sessionIds.includes(id) ?? false);
}

function askQuestion(state: State, command: questions.AskQuestion, nowMs: number): Decision<Event> {
  const { asker } = command;
  if (asker.of === "agent") {
    const living = registry.requireLiving(state.registry, asker.agentId);
    return living.refusal ? living : questions.ask(state.questions, command, { nowMs });
  }
  const running = jobs.requireRunning(state.jobs, asker);
  if (running.refusal) return running;
  const { principal, cancelling } = running.job;
  if (cancelling) return refuse("attempt_over", `job ${asker.jobId} is being cancelled`);
  return withNews(state, questions.ask(state.questions, command, { principal, nowMs }));
}

/** Subscribers of a job see what happens to its questions as events of the job. */
function withNews(state: State, decision: Decision<questions.QuestionEvent>): Decision<Event> {
  if (decision.refusal) return decision;
  const { events } = decision;
  const told = events.flatMap((event) => newsOf(state, event));
  return { events: numbered(state, [...withRoom(state, events), ...told]) };
}

function newsOf(state: State, event: questions.QuestionEvent): readonly Event[] {
  if (event.type === "question.forgotten" || event.question.asker.of !== "job") return [];
  const { question } = event;
  const { jobId } = event.question.asker;
  const emitted = (kind: string, body: object): Event => ({
    type: "job.emitted",
    jobId,
    kind,
    body: printJson(body),
  });
  if (event.type === "question.asked") {
    const phase = questions.phaseOf(question);
    const waits = emitted("status", { phase, message: question.prompt });
    // Subscribers of the job already know a question that a later attempt asks again.
    if (state.questions.byId.has(question.id)) return [waits];
    return [emitted(...questions.tellAsked(question)), waits];
  }
  const closed = emitted("question_closed", questions.tellClosed(question));
  const others = questions
    .openOf(state.questions, { of: "job", jobId })
    .filter(({ id }) => id !== question.id);
  const isRunning = state.jobs.byId.get(jobId)?.state === "running";
  // A job that waits for a worker again emits `running` when it runs.
  if (others.length > 0 || !isRunning) return [closed];
  return [closed, emitted("status", { phase: "running" })];
}

/** The state of a job as it is shown: a job with an open question is waiting, whatever its worker does meanwhile. */
export function stateOfJob(state: State, job: jobs.Job): jobs.Job["state"] | "waiting" {
  if (job.state === "ended") return job.state;
  const isWaiting = state.questions.openByAsker.has(questions.nameOf({ of: "job", jobId: job.id }));
  return isWaiting ? "waiting" : job.state;
}

export function hasEnded({ jobs: { byId } }: State, jobId: JobId): boolean {
  return byId.get(jobId)?.state === "ended";
}

function followJob(state: State, command: sessions.FollowJob): Decision<Event> {
  const { sessionId, jobId, mayObserve, history } = command;
  const session = state.sessions.byId.get(sessionId);
  const job = state.jobs.byId.get(jobId);
  if (!session) return refuse("session_gone", `there is no session ${sessionId}`);
  if (!job || job.state === "preparing") {
    return refuse("job_not_found", `there is no job ${jobId}`);
  }
  if (job.principal !== session.principal && !mayObserve) {
    return refuse("permission_denied", `job ${jobId} belongs to another principal`);
  }
  const untold = refuseUntold(state, job);
  if (untold) return untold;
  const hasEnded = job.state === "ended";
  const firstSequence = jobs.firstSequenceOf(state.jobs, job);
  // All of it or none: of a part nobody knows how many came before it.
  if (history && firstSequence >= state.oldestSequence) {
    const skips = sessions.skipsOf(state.sessions, sessionId);
    const count = jobs.countTold(state.jobs, job, skips) - history.before;
    const afterSequence = Math.max(history.afterSequence, firstSequence - 1);
    const recalled = { afterSequence: Math.min(afterSequence, state.lastSequence), count };
    return accept({ type: "session.followed", sessionId, jobId, recalled, hasEnded });
  }
  // How it ended is told in any case.
  const recalled = job.state === "ended" && { afterSequence: job.endedSequence - 1, count: 1 };
  return accept({
    type: "session.followed",
    sessionId,
    jobId,
    ...(recalled && { recalled }),
    hasEnded,
  });
}

/** What follows when the time of one thing has come. */
function expire(state: State, due: Due, nowMs: number): Event[] {
  switch (due.of) {
    case "lease": {
      const lease = state.leases.held.get(due.taskId);
      return lease ? [{ type: "lease.expired", lease }] : [];
    }
    case "task": {
      const task = state.tasks.byId.get(due.taskId);
      if (task?.state === "claimed") return tasks.endClaim(state.tasks, task, nowMs);
      if (task?.state === "delayed") return [tasks.makeReady(state.tasks, task, nowMs)];
      return task ? [{ type: "task.forgotten", taskId: task.id }] : [];
    }
    case "job":
      return jobs.expire(state.jobs, due.jobId, nowMs, {
        isBereft: credentials.hasLost(state.credentials, due.jobId, state.openedAtMs),
      });
    case "session":
      return [{ type: "session.expired", sessionId: due.sessionId }];
    case "question": {
      const ended = questions.expire(state.questions, due.questionId, nowMs);
      const decision = withNews(state, accept(...ended));
      return decision.refusal ? [] : [...decision.events];
    }
    case "agent": {
      const agent = state.registry.agents.get(due.agentId);
      switch (agent?.liveness) {
        case "alive":
          return [registry.loseSight(state.registry, agent, state)];
        case "unreachable":
          return bury(state, agent, { nowMs });
        case "dead":
          return [{ type: "agent.forgotten", agentId: agent.id }];
        case undefined:
          return [];
      }
    }
  }
}

/** A death, and all that it ends: what the agent held, led and worked on is free at once. */
function bury(
  state: State,
  agent: registry.Agent,
  { nowMs, hasLeft = false }: { readonly nowMs: number; readonly hasLeft?: boolean },
): Event[] {
  const { openedAtMs } = state;
  return [
    ...registry.die(state.registry, agent, { nowMs, openedAtMs, hasLeft }),
    ...leases.endAllOf(state.leases, agent.id),
    ...elections.leaveAll(state.elections, agent.id, { nowMs, livenessOf: livenessIn(state) }),
    ...tasks.endAllClaimsOf(state.tasks, agent.id, nowMs),
  ];
}

function livenessIn(state: State): elections.LivenessOf {
  return (id) => state.registry.agents.get(id)?.liveness;
}

/** Writes one fact. Total: a fact cannot be refused. */
export function evolve(state: OwnState, event: Event): void {
  state.lastSequence += 1;
  const sequence = state.lastSequence;
  if (topics[event.type] !== "") state.lastBusSequence += 1;
  switch (event.type) {
    case "plane.opened":
      state.leases.lastToken = event.lastToken;
      state.lastBusSequence = event.lastBusSequence;
      state.openedAtMs = event.atMs;
      state.registry.listeningSinceMs = event.atMs;
      sessions.detachAll(state.sessions, event.atMs);
      return;
    case "plane.resumed":
      state.registry.listeningSinceMs = event.atMs;
      return;
    case "agent.registered":
    case "agent.unreachable":
    case "agent.recovered":
    case "agent.died":
    case "agent.active":
    case "agent.forgotten":
      registry.evolve(state.registry, event);
      return;
    case "lease.acquired":
    case "lease.renewed":
    case "lease.released":
    case "lease.expired":
      leases.evolve(state.leases, event);
      return;
    case "election.joined":
    case "election.left":
    case "leader.changed":
      elections.evolve(state.elections, event, { busSequence: state.lastBusSequence });
      return;
    case "policy.changed":
    case "policy.deleted":
      entitlements.evolve(state.entitlements, event);
      return;
    case "task.created":
    case "task.ready":
    case "task.claimed":
    case "task.extended":
    case "task.completed":
    case "task.failed":
    case "task.requeued":
    case "task.cancelled":
    case "task.dead":
    case "task.forgotten":
      tasks.evolve(state.tasks, event);
      return;
    case "observed.changed":
    case "observed.left":
      observed.evolve(state.observed, event);
      return;
    case "need.dismissed":
    case "need.restored":
      needs.evolve(state.needs, event);
      return;
    case "job.accepted": {
      const { id, sessionIds } = event.job;
      const [sessionId] = sessionIds;
      jobs.evolve(state.jobs, event, { sequence });
      if (sessionId !== undefined) sessions.follow(state.sessions, sessionId, id, sequence);
      return;
    }
    case "job.joined":
      jobs.evolve(state.jobs, event, { sequence });
      sessions.follow(state.sessions, event.sessionId, event.jobId, sequence);
      return;
    case "job.emitted":
      jobs.evolve(state.jobs, event, { sequence });
      sessions.tell(state.sessions, event, sequence);
      return;
    case "job.ended":
      jobs.evolve(state.jobs, event, { sequence });
      questions.endJob(state.questions, event.jobId);
      sessions.tell(state.sessions, { jobId: event.jobId }, sequence);
      sessions.dismiss(state.sessions, event.jobId, sequence);
      return;
    case "job.withdrawn":
    case "job.forgotten":
      jobs.evolve(state.jobs, event, { sequence });
      questions.forgetJob(state.questions, event.jobId);
      return;
    case "job.preparing":
    case "job.started":
    case "job.reserved":
    case "job.spent":
    case "job.settled":
    case "job.cancelling":
    case "job.orphaned":
    case "job.reclaimed":
    case "job.offered":
      jobs.evolve(state.jobs, event, { sequence });
      return;
    case "credential.issued":
    case "credential.ended":
    case "credential.stuck":
    case "credential.revoked":
      credentials.evolve(state.credentials, event);
      return;
    case "question.asked":
    case "question.answered":
    case "question.closed":
    case "question.forgotten":
      questions.evolve(state.questions, event, (jobId) => hasEnded(state, jobId));
      return;
    case "session.opened":
    case "session.resumed":
    case "session.detached":
    case "session.expired":
    case "session.acknowledged":
    case "session.followed":
    case "session.left":
    case "session.rejected":
      sessions.evolve(state.sessions, event, { sequence });
      return;
  }
}

/** The soft half of an accepted command: a heartbeat is remembered, but is no event. */
export function note(state: OwnState, command: Command, nowMs: number): void {
  if (command.type !== "agent.heartbeat") return;
  const { heartbeats, reports } = state.registry;
  heartbeats.set(command.agentId, nowMs);
  if (command.activity) reports.set(command.agentId, nowMs);
}

/** The earliest time at which something may be overdue. */
export function nextDueAtMs(state: State): number {
  return Math.min(
    state.registry.due.first?.at ?? Number.POSITIVE_INFINITY,
    state.leases.due.first?.at ?? Number.POSITIVE_INFINITY,
    state.tasks.due.first?.at ?? Number.POSITIVE_INFINITY,
    state.jobs.due.first?.at ?? Number.POSITIVE_INFINITY,
    state.sessions.due.first?.at ?? Number.POSITIVE_INFINITY,
    state.questions.due.first?.at ?? Number.POSITIVE_INFINITY,
  );
}

/** The oldest entry that a session or a job may have to be told from; infinite if there is none. */
export function neededSequence(state: State): number {
  return Math.min(jobs.neededSequence(state.jobs), sessions.neededSequence(state.sessions));
}

/**
 * The thing that is most overdue, for a `tick`. Agents that were heard of in the meantime are filed
 * again under their new time; that is the only writing done here, and no fact.
 */
export function overdue(state: OwnState, nowMs: number): Due | undefined {
  for (;;) {
    const atMs = nextDueAtMs(state);
    if (atMs > nowMs) return undefined;
    const lease = state.leases.due.first;
    if (lease?.at === atMs) return { of: "lease", taskId: lease.key };
    const task = state.tasks.due.first;
    if (task?.at === atMs) return { of: "task", taskId: task.key };
    const job = state.jobs.due.first;
    if (job?.at === atMs) return { of: "job", jobId: job.key };
    const session = state.sessions.due.first;
    if (session?.at === atMs) return { of: "session", sessionId: session.key };
    const question = state.questions.due.first;
    if (question?.at === atMs) return { of: "question", questionId: question.key };
    const agent =
      state.registry.due.first && state.registry.agents.get(state.registry.due.first.key);
    if (!agent) return undefined;
    const dueAtMs = registry.dueAtMs(state.registry, agent);
    if (dueAtMs <= atMs) return { of: "agent", agentId: agent.id };
    state.registry.due.set(agent.id, dueAtMs);
  }
}

/** Who may have an answer now, of those who wait. They ask again then, and only then. */
export type Stir =
  /** Whoever waits for a task. Its tools and type are not told: where several tasks come at once, that
   *  would let who waited less long take the one that is first in line. */
  | { readonly of: "tasks" }
  /** Whoever waits for this lease. */
  | { readonly of: "lease"; readonly taskId: TaskId }
  /** This agent, if it waits for a task: it may have one again. */
  | { readonly of: "recovered"; readonly agentId: AgentId }
  /** This agent, whatever it waits for. */
  | { readonly of: "dead"; readonly agentId: AgentId };

export function stirOf(event: Event): Stir | undefined {
  if (isWorkEvent(event)) return undefined;
  switch (event.type) {
    case "task.created":
    case "task.ready":
    case "task.failed":
    case "task.requeued":
      return event.task.state === "pending" ? { of: "tasks" } : undefined;
    case "lease.released":
    case "lease.expired":
      return { of: "lease", taskId: event.lease.taskId };
    case "agent.recovered":
      return { of: "recovered", agentId: event.agent.id };
    case "agent.died":
      return { of: "dead", agentId: event.agent.id };
    case "plane.opened":
    case "plane.resumed":
    case "agent.registered":
    case "agent.unreachable":
    case "agent.active":
    case "agent.forgotten":
    case "lease.acquired":
    case "lease.renewed":
    case "election.joined":
    case "election.left":
    case "leader.changed":
    case "policy.changed":
    case "policy.deleted":
    case "task.claimed":
    case "task.extended":
    case "task.completed":
    case "task.cancelled":
    case "task.dead":
    case "task.forgotten":
    case "observed.changed":
    case "observed.left":
    case "need.dismissed":
    case "need.restored":
      return undefined;
  }
}

/** How many agents have each liveness, and how many of the dead have left. Takes constant time. */
export function countAgents({ registry }: State): Record<registry.Liveness | "left", number> {
  return { ...registry.counts, left: registry.leftCount };
}

export function countTasks({ tasks }: State): Record<tasks.Task["state"], number> {
  return { ...tasks.counts };
}
