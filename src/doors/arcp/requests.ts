/** What each request of a session leads to. Nothing here waits: answers are queued, and leave when they may. */
import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import {
  countTold,
  type Job,
  type JobId,
  type Refusal,
  readGrant,
  reduce,
  type SessionId,
  type State,
  skipsOf,
  jobId as toJobId,
} from "../../core/index.ts";
import type { Outcome } from "../../plane/index.ts";
import { type JobRequest, type Submitted, traceIdOf } from "../../runtime/index.ts";
import {
  ArcpError,
  answeredType,
  answerRefusedType,
  answerType,
  type Dialect,
  dialects,
  type Envelope,
  type JsonObject,
  type Problem,
  printAccepted,
  printAnswered,
  printCancelled,
  printJobError,
  printJobs,
  printSessionError,
  printSubscribed,
  readAck,
  readAnswer,
  readCancel,
  readSubscribe,
  readUnsubscribe,
  rejectionType,
  type Subscribe,
} from "../../wire/arcp/index.ts";
import { decodeList, decodeSubmit, encodeCursor, type PageRequest } from "./decode.ts";
import { encodeAccepted, encodeEntry, encodeSubscribed } from "./encode.ts";
import { failureOf, toArcpError } from "./errors.ts";
import { limits } from "./limits.ts";
import { answerQuestion } from "./questions.ts";
import type { ArcpDoorOptions, Observation } from "./settings.ts";
import type { Send, Telling } from "./telling.ts";

/** A session, as its connection has it. */
export interface Asking {
  readonly sessionId: SessionId;
  readonly principal: string;
  readonly dialect: Dialect;
  readonly features: ReadonlySet<string>;
  /** Whether it may be told secrets: it asked for them, and nobody else listens (ARCP-38). */
  readonly takesCredentials: boolean;
  readonly telling: Telling;
  /** A frame without a number. */
  send(
    type: string,
    payload: JsonObject,
    about?: { readonly jobId?: string; readonly traceId?: string | undefined },
  ): void;
  /** So far it has got. */
  acknowledge(eventSequence: number): void;
  newJobId(): JobId;
}

export function handle(options: ArcpDoorOptions, asking: Asking, envelope: Envelope): void {
  switch (envelope.type) {
    case "job.submit":
      return submit(options, asking, envelope);
    case "job.cancel":
      return cancel(options, asking, envelope);
    case "job.subscribe":
      return subscribe(options, asking, envelope);
    case "job.unsubscribe":
      return unsubscribe(options, asking, envelope);
    case "session.list_jobs":
      return list(options, asking, envelope);
    case "session.ack":
      return acknowledge(options, asking, envelope);
    case answerType:
      return answer(options, asking, envelope);
    default:
      // A pong: that it came is all it says.
      return;
  }
}

function submit(options: ArcpDoorOptions, asking: Asking, envelope: Envelope): void {
  const { runtime } = options;
  const { telling, takesCredentials } = asking;
  // Made of many random bytes at a time; asking the machine for each id's own takes microseconds.
  const newTraceId = (): string => randomUUID().replaceAll("-", "");
  const request = decodeSubmit(envelope, { ...whoOf(asking), takesCredentials, newTraceId });
  if (request.problem) return reject(options, asking, envelope, invalid(request.problem));
  const narrowed = narrow(options, request.value);
  if (narrowed.error) return reject(options, asking, envelope, narrowed.error);
  const mayTakeLong = takesCredentials && runtime.hasProvisioner;
  const asked = mayTakeLong ? undefined : runtime.ask(narrowed.request);
  if (asked?.refusal) return reject(options, asking, envelope, submitError(asked.refusal));
  if (asked?.value && asked.value.job.state !== "preparing") {
    const { sequence } = asked.value;
    const send = accept(options, asking, envelope, asked.value.job);
    return telling.answer(send, { after: sequence, needs: sequence });
  }
  const answer = telling.answerLater();
  const onDecided = ({ value, refusal }: Outcome<Submitted>): void => {
    if (refusal) return answer(rejection(options, asking, envelope, submitError(refusal)));
    const { job, sequence } = value;
    answer(accept(options, asking, envelope, job), { after: sequence, needs: sequence });
  };
  const withinMs = dialects[asking.dialect].issueWithinMs;
  const more = withinMs === undefined ? {} : { withinMs };
  runtime.submit(narrowed.request, { ...more, onDecided }).catch((fault: unknown) => {
    answer(rejection(options, asking, envelope, failed(options, fault)));
  });
}

/** What is wrong is told by where it stands in the message, not by what the core calls it. */
function submitError({ path, ...refusal }: Refusal): ArcpError {
  return toArcpError(path === undefined ? refusal : { ...refusal, path: submitPath(path) });
}

function submitPath(path: string): string {
  if (path === "agent") return "payload.agent";
  if (path === "expiresAt") return "payload.lease_constraints.expires_at";
  return path === "" ? "payload.lease_request" : `payload.lease_request.${path}`;
}

type Narrowed =
  | { readonly request: JobRequest; readonly error?: never }
  | { readonly error: ArcpError };

/** What whoever opened the door leaves of a lease; a hook that throws, or gives more, is no reason to give any. */
function narrow({ narrowLease, onFault }: ArcpDoorOptions, request: JobRequest): Narrowed {
  if (!narrowLease) return { request };
  const asked = readGrant({ capabilities: request.capabilities }, 0);
  // What is no lease at all is refused in its turn, by those who know why.
  if (asked.refusal) return { request };
  const { capabilities: all } = asked.grant;
  try {
    const capabilities = reduce(all, narrowLease(all, request.principal));
    if (capabilities) return { request: { ...request, capabilities } };
    onFault(new Error("narrowLease answered with more than was asked for, or with no lease"));
  } catch (fault) {
    onFault(fault);
  }
  return { error: new ArcpError("INTERNAL_ERROR", "what this job may do could not be decided") };
}

function accept({ runtime }: ArcpDoorOptions, asking: Asking, envelope: Envelope, job: Job): Send {
  const credentials = asking.takesCredentials ? runtime.credentialsOf(job.id) : [];
  const accepted = encodeAccepted(job, { requestId: envelope.id, credentials });
  const about = { jobId: job.id, traceId: envelope.traceId ?? traceIdOf(job) };
  return () => asking.send("job.accepted", printAccepted(accepted, asking.dialect), about);
}

/** Under a number, so that it survives a resume (ARCP-89); or as that client wants it (PYR-7). */
function reject(
  options: ArcpDoorOptions,
  asking: Asking,
  envelope: Envelope,
  error: ArcpError,
): void {
  asking.telling.answer(rejection(options, asking, envelope, error));
}

/** What to answer, if it is not told under a number. */
function rejection(
  options: ArcpDoorOptions,
  asking: Asking,
  { id: requestId, traceId }: Envelope,
  error: ArcpError,
): Send {
  const payload = error.toPayload();
  if (rejectionType(payload.code, asking.dialect, options) === "session.error") {
    return refusal(asking, requestId, error);
  }
  const command = {
    type: "session.reject",
    sessionId: asking.sessionId,
    jobId: asking.newJobId(),
    requestId,
    ...(traceId !== undefined && { traceId }),
    failure: failureOf(payload),
  } as const;
  options.plane.carryOut(command, actorOf(asking), () => undefined);
  return () => undefined;
}

function refuse(asking: Asking, requestId: string, error: ArcpError): void {
  asking.telling.answer(refusal(asking, requestId, error));
}

/** What to answer. */
function refusal(asking: Asking, requestId: string, error: ArcpError, jobId?: string): Send {
  const payload = printSessionError({ error: error.toPayload(), requestId, jobId });
  return () => asking.send("session.error", payload);
}

/** Answered all the same: later answers stand behind it. */
function failed({ onFault }: ArcpDoorOptions, fault: unknown): ArcpError {
  onFault(fault);
  return new ArcpError("INTERNAL_ERROR", "it failed");
}

function cancel(options: ArcpDoorOptions, asking: Asking, envelope: Envelope): void {
  const read = readCancel(envelope);
  if (read.problem) return refuse(asking, envelope.id, invalid(read.problem));
  const { plane, cancelGraceMs: graceMs = limits.cancelGraceMs } = options;
  const { reason = "" } = read.value;
  const jobId = toJobId(read.value.jobId);
  const job = plane.peek(({ jobs }) => jobs.byId.get(jobId));
  const observations: readonly Observation[] = ["list", "subscribe"];
  const maySee = job !== undefined && observations.some((how) => isSeen(options, asking, job, how));
  const isOwn = options.cancelsAcrossSessions === true && job?.principal === asking.principal;
  const by = isOwn ? { principal: asking.principal } : { ...whoOf(asking), maySee };
  const after = plane.lastSequence;
  const command = { type: "job.cancel", jobId, by, reason, graceMs } as const;
  const outcome = plane.carryOut(command, actorOf(asking), ({ jobs, lastSequence }, events) => ({
    isHeard: events.length > 0 || jobs.byId.get(jobId)?.state !== "ended",
    needs: lastSequence,
  }));
  if (outcome.refusal) {
    refuseCancel(options, asking, { requestId: envelope.id, jobId }, toArcpError(outcome.refusal));
    return;
  }
  if (!outcome.value.isHeard) return;
  const payload = printCancelled({
    jobId,
    requestId: envelope.id,
    ...(reason !== "" && { reason }),
  });
  const about = { jobId, traceId: job && traceIdOf(job) };
  // Before the end of a job that nobody worked on yet, which comes at once.
  const place = { after, needs: outcome.value.needs };
  asking.telling.answer(() => asking.send("job.cancelled", payload, about), place);
}

/** A client that may subscribe to a job sees its questions, and may answer them. */
function answer(options: ArcpDoorOptions, asking: Asking, envelope: Envelope): void {
  const read = readAnswer(envelope);
  if (read.problem) return refuse(asking, envelope.id, invalid(read.problem));
  const { plane } = options;
  const { jobId, questionId } = read.value;
  const job = plane.peek(({ jobs }) => jobs.byId.get(toJobId(jobId)));
  const maySee = job !== undefined && isSeen(options, asking, job, "subscribe");
  const after = plane.lastSequence;
  const answered = answerQuestion(plane, read.value, { principal: asking.principal, maySee });
  if (answered.refusal) {
    const error = toArcpError(answered.refusal, answered.details).toPayload();
    const payload = printSessionError({ error, requestId: envelope.id, jobId });
    return asking.telling.answer(() => asking.send(answerRefusedType, payload, { jobId }));
  }
  const payload = printAnswered({ jobId, questionId, requestId: envelope.id });
  const about = { jobId, traceId: job && traceIdOf(job) };
  const send: Send = () => asking.send(answeredType, payload, about);
  asking.telling.answer(send, { after, needs: answered.needs });
}

/** Names the job, but has no number: nothing has happened to it (ARCP-114). */
function refuseCancel(
  { plane }: ArcpDoorOptions,
  asking: Asking,
  { requestId, jobId }: { readonly requestId: string; readonly jobId: JobId },
  error: ArcpError,
): void {
  const completedAtMs = plane.peek((_, nowMs) => nowMs);
  const failure = { finalStatus: "error", error: error.toPayload(), completedAtMs } as const;
  const payload = printJobError({ ...failure, requestId }, asking.dialect);
  asking.telling.answer(() => asking.send("job.error", payload, { jobId }));
}

function subscribe(options: ArcpDoorOptions, asking: Asking, envelope: Envelope): void {
  if (!asking.features.has("subscribe")) return refuseFeature(asking, envelope, "subscribe");
  const read = readSubscribe(envelope);
  if (read.problem) return refuse(asking, envelope.id, invalid(read.problem));
  const { history, fromEventSeq } = read.value;
  const job = options.plane.peek(({ jobs }) => jobs.byId.get(toJobId(read.value.jobId)));
  // Of what nobody will be told nothing is counted.
  const isTold = job !== undefined && isSeen(options, asking, job, "subscribe");
  if (!history || fromEventSeq === 0 || !isTold) {
    asking.telling.answer(follow(options, asking, envelope, read.value, { before: 0, after: 0 }));
    return;
  }
  const answer = asking.telling.answerLater();
  countBefore(options, asking, toJobId(read.value.jobId), fromEventSeq)
    .then((past) => answer(follow(options, asking, envelope, read.value, past)))
    .catch((fault: unknown) => answer(refusal(asking, envelope.id, failed(options, fault))));
}

/**
 * How many of a job's events this session would have been told up to a number of the job's own session, and where in
 * the log that was. Counted from the end: who comes back has seen most of it.
 */
async function countBefore(
  { plane }: ArcpDoorOptions,
  { sessionId }: Asking,
  jobId: JobId,
  fromEventSeq: number,
): Promise<Past> {
  const { skips, told, newest } = await plane.read(({ sessions, jobs, lastSequence }) => {
    const skips = skipsOf(sessions, sessionId);
    const job = jobs.byId.get(jobId);
    return { skips, told: job ? countTold(jobs, job, skips) : 0, newest: lastSequence };
  });
  let later = 0;
  let beforeSequence = newest + 1;
  for (;;) {
    const page = { beforeSequence, count: limits.historyEntries };
    const entries = await plane.streamBack(`job/${jobId}`, page);
    for (const { event, sequence } of entries) {
      beforeSequence = sequence;
      if (event.type === "job.ended") later += 1;
      if (event.type !== "job.emitted") continue;
      const isSeen = event.ownSequence !== undefined && event.ownSequence <= fromEventSeq;
      if (isSeen) return { before: told - later, after: sequence };
      if (!skips.includes(event.kind)) later += 1;
    }
    if (entries.length === 0) return { before: 0, after: 0 };
    // A job may have said a million things; others have their turn in between.
    await nextTurn();
  }
}

type Past = { readonly before: number; readonly after: number };

/** What to answer. It follows from here on, before the answer has left. */
function follow(
  options: ArcpDoorOptions,
  asking: Asking,
  { id: requestId }: Envelope,
  { jobId: asked, history }: Subscribe,
  { before, after: afterSequence }: Past,
): Send {
  const { plane, runtime, hidesForeignJobs = false } = options;
  const jobId = toJobId(asked);
  const job = plane.peek(({ jobs }) => jobs.byId.get(jobId));
  const isTheirs = asking.takesCredentials && job?.principal === asking.principal;
  const mayObserve = job !== undefined && isSeen(options, asking, job, "subscribe");
  const command = {
    type: "session.follow",
    sessionId: asking.sessionId,
    jobId,
    mayObserve,
    ...(history && { history: { afterSequence, before } }),
  } as const;
  const outcome = plane.carryOut(command, actorOf(asking), (state, [event]) => {
    const recalled = event?.type === "session.followed" ? (event.recalled?.count ?? 0) : 0;
    return (
      job &&
      encodeSubscribed(state, job, {
        requestId,
        subscribedFrom: state.sessions.lastEventSequences.get(asking.sessionId) ?? 0,
        replayed: recalled > 0,
        credentials: isTheirs ? runtime.credentialsOf(jobId) : [],
      })
    );
  });
  if (job) {
    const isAllowed = outcome.refusal === undefined;
    options.audit?.({ principal: asking.principal, jobId, owner: job.principal, isAllowed });
  }
  if (outcome.refusal || !outcome.value) {
    const why = outcome.refusal ?? notFound(jobId);
    const isHidden = why.code === "permission_denied" && hidesForeignJobs;
    return refusal(asking, requestId, toArcpError(isHidden ? notFound(jobId) : why), jobId);
  }
  const payload = printSubscribed(outcome.value);
  const { holdAfterSubscribedMs: holdMs } = dialects[asking.dialect];
  return () => {
    asking.send("job.subscribed", payload, { jobId, traceId: job && traceIdOf(job) });
    return holdMs > 0 ? sleep(holdMs) : undefined;
  };
}

function notFound(jobId: JobId): { readonly code: "job_not_found"; readonly message: string } {
  return { code: "job_not_found", message: `there is no job ${jobId}` };
}

function unsubscribe({ plane }: ArcpDoorOptions, asking: Asking, envelope: Envelope): void {
  const { value } = readUnsubscribe(envelope);
  if (!value || !asking.features.has("subscribe")) return;
  const { sessionId } = asking;
  const command = { type: "session.leave", sessionId, jobId: toJobId(value.jobId) } as const;
  plane.carryOut(command, actorOf(asking), () => undefined);
}

function list(options: ArcpDoorOptions, asking: Asking, envelope: Envelope): void {
  if (!asking.features.has("list_jobs")) return refuseFeature(asking, envelope, "list_jobs");
  const request = decodeList(envelope);
  if (request.problem) return refuse(asking, envelope.id, invalid(request.problem));
  const payload = options.plane.peek((state) => {
    const { found, nextPlace } = findPage(state, options, asking, request.value);
    return printJobs({
      requestId: envelope.id,
      jobs: found.map((job) => encodeEntry(state, job)),
      ...(nextPlace !== undefined && { nextCursor: encodeCursor(nextPlace) }),
    });
  });
  asking.telling.answer(() => asking.send("session.jobs", payload));
}

/** `nextPlace`: there are more after it, or may be: only so many are looked at in one go. */
function findPage(
  state: State,
  options: ArcpDoorOptions,
  asking: Asking,
  { count, afterPlace, matches }: PageRequest,
): { readonly found: readonly Job[]; readonly nextPlace?: number } {
  const { pageBytesMax, pageEntryBytes, pageLooksMax } = limits;
  const found: Job[] = [];
  let nextPlace = afterPlace;
  let looks = 0;
  let bytes = 0;
  for (const job of jobsAfter(state, options, asking, afterPlace)) {
    looks += 1;
    if (looks > pageLooksMax) return { found, nextPlace };
    const isTheirs = isSeen(options, asking, job, "list");
    if (isTheirs && job.state !== "preparing" && matches(job)) {
      bytes += JSON.stringify(job.grant.capabilities).length + pageEntryBytes;
      const isFull = found.length === count || (found.length > 0 && bytes > pageBytesMax);
      if (isFull) return { found, nextPlace };
      found.push(job);
    }
    nextPlace = job.place;
  }
  return { found };
}

/** Its own, and those of others if there are any to be seen, in the order in which they were asked for. */
function* jobsAfter(
  { jobs }: State,
  options: ArcpDoorOptions,
  asking: Asking,
  afterPlace: number,
): Generator<Job> {
  const { mayObserve } = options;
  const rolls = mayObserve
    ? [...jobs.byPrincipal.values()]
    : [jobs.byPrincipal.get(asking.principal)].flatMap((roll) => roll ?? []);
  const heads = rolls.map((roll) => ({
    next: roll.after(afterPlace),
    job: undefined as Job | undefined,
  }));
  const advance = (head: (typeof heads)[number]): void => {
    const { value } = head.next.next();
    head.job = value === undefined ? undefined : jobs.byId.get(value);
  };
  for (const head of heads) advance(head);
  for (;;) {
    const first = heads.reduce<(typeof heads)[number] | undefined>(
      (best, head) => (head.job && (!best?.job || head.job.place < best.job.place) ? head : best),
      undefined,
    );
    if (!first?.job) return;
    yield first.job;
    advance(first);
  }
}

function acknowledge({ plane }: ArcpDoorOptions, asking: Asking, envelope: Envelope): void {
  const { value } = readAck(envelope);
  if (!value || !asking.features.has("ack")) return;
  const { lastProcessedSeq: eventSequence } = value;
  const { sessionId } = asking;
  asking.acknowledge(eventSequence);
  const command = { type: "session.acknowledge", sessionId, eventSequence } as const;
  plane.carryOut(command, actorOf(asking), () => undefined);
}

function refuseFeature(asking: Asking, { id, type }: Envelope, feature: string): void {
  const details = { type };
  refuse(
    asking,
    id,
    new ArcpError("INVALID_REQUEST", `${feature} was not negotiated`, { details }),
  );
}

function isSeen(
  { mayObserve }: ArcpDoorOptions,
  { principal }: Asking,
  job: Job,
  observation: Observation,
): boolean {
  return job.principal === principal || (mayObserve?.(principal, job, observation) ?? false);
}

function invalid({ path, message }: Problem): ArcpError {
  return new ArcpError("INVALID_REQUEST", message, { details: { path } });
}

function whoOf({ sessionId, principal }: Asking): {
  readonly sessionId: SessionId;
  readonly principal: string;
} {
  return { sessionId, principal };
}

function actorOf({ principal }: Asking): { readonly actor: string } {
  return { actor: `principal/${principal}` };
}
