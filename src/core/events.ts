/**
 * Every fact there is, and how it is written down. Events are forever: a released event never changes
 * its meaning. Tokens, terms and counters are decimal strings in JSON, because they may exceed 2^53.
 */
import type { CredentialEvent } from "./credentials.ts";
import type { ElectionEvent } from "./elections.ts";
import type { PolicyEvent } from "./entitlements.ts";
import { parseAmount, printAmount } from "./grants.ts";
import type { Token } from "./ids.ts";
import { term, token } from "./ids.ts";
import type { JobEvent } from "./jobs.ts";
import { isJson, type JsonText, printJson } from "./json-text.ts";
import type { LeaseEvent } from "./leases.ts";
import type { NeedEvent } from "./needs.ts";
import type { ObservedEvent } from "./observed.ts";
import type { QuestionEvent } from "./questions.ts";
import type { RegistryEvent } from "./registry.ts";
import type { SessionEvent } from "./sessions.ts";
import { type TaskEvent, withDefaults } from "./tasks.ts";

export type PlaneEvent =
  | {
      /** The log was opened. From here on, tokens and bus sequences are larger than these. */
      readonly type: "plane.opened";
      readonly lastToken: Token;
      readonly lastBusSequence: number;
      readonly atMs: number;
    }
  /** The process was suspended and has come back: agents get their grace. */
  | { readonly type: "plane.resumed"; readonly atMs: number };

export type Event =
  | PlaneEvent
  | RegistryEvent
  | LeaseEvent
  | ElectionEvent
  | PolicyEvent
  | TaskEvent
  | ObservedEvent
  | NeedEvent
  | JobEvent
  | CredentialEvent
  | SessionEvent
  | QuestionEvent;
export type EventType = Event["type"];

/**
 * Under which topic an event is published on the bus; "" if it is not. AgentKeeper knows the first
 * eight; whoever watches `agent.`, `lease.` or `leader.` must see no others.
 */
export const topics: Readonly<Record<EventType, string>> = {
  "agent.registered": "agent.registered",
  "agent.unreachable": "agent.unreachable",
  "agent.died": "agent.died",
  "lease.acquired": "lease.acquired",
  "lease.renewed": "lease.renewed",
  "lease.expired": "lease.expired",
  "lease.released": "lease.released",
  "leader.changed": "leader.changed",
  "task.created": "task.created",
  "task.claimed": "task.claimed",
  "task.completed": "task.completed",
  "task.failed": "task.failed",
  "task.requeued": "task.requeued",
  "task.dead": "task.dead",
  "task.ready": "task.ready",
  "task.extended": "task.extended",
  "task.cancelled": "task.cancelled",
  "agent.recovered": "ext.agent.recovered",
  "policy.changed": "ext.policy.changed",
  "policy.deleted": "ext.policy.deleted",
  "agent.active": "",
  "agent.forgotten": "",
  "task.forgotten": "",
  "observed.changed": "",
  "observed.left": "",
  "need.dismissed": "",
  "need.restored": "",
  "election.joined": "",
  "election.left": "",
  "job.preparing": "",
  "job.accepted": "",
  "job.withdrawn": "",
  "job.joined": "",
  "job.started": "",
  "job.emitted": "",
  "job.reserved": "",
  "job.spent": "",
  "job.settled": "",
  "job.cancelling": "",
  "job.orphaned": "",
  "job.reclaimed": "",
  "job.offered": "",
  "job.ended": "",
  "job.forgotten": "",
  "credential.issued": "",
  "credential.ended": "",
  "credential.stuck": "",
  "credential.revoked": "",
  "session.opened": "",
  "session.resumed": "",
  "session.detached": "",
  "session.expired": "",
  "session.acknowledged": "",
  "session.followed": "",
  "session.left": "",
  "session.rejected": "",
  "question.asked": "",
  "question.answered": "",
  "question.closed": "",
  "question.forgotten": "",
  "plane.opened": "",
  "plane.resumed": "",
};

/** What happens to jobs, to what was made for them, to the sessions that ask for them, and to questions. */
export type WorkEvent = JobEvent | CredentialEvent | SessionEvent | QuestionEvent;

export function isWorkEvent(event: Event): event is WorkEvent {
  return ["job.", "credential.", "session.", "question."].some((start) =>
    event.type.startsWith(start),
  );
}

/** The id of the question that the event is about, or else of the job, or else of the session. */
export function idOfWork(event: WorkEvent): string {
  if ("question" in event) return event.question.id;
  if ("questionId" in event) return event.questionId;
  if ("job" in event) return event.job.id;
  if ("jobId" in event) return event.jobId;
  if ("credential" in event) return event.credential.jobId;
  return "session" in event ? event.session.id : event.sessionId;
}

/** Among which entries an event is read again by itself; undefined for most. */
export function streamOf(event: Event): string | undefined {
  switch (event.type) {
    case "job.accepted":
      return `job/${event.job.id}`;
    case "job.started":
    case "job.emitted":
    case "job.cancelling":
    case "job.offered":
    case "job.ended":
    case "session.rejected":
      return `job/${event.jobId}`;
    default:
      return undefined;
  }
}

/** The body of an event as JSON, without its type. */
export function printEvent(event: Event): string {
  switch (event.type) {
    case "lease.acquired":
    case "lease.renewed":
    case "lease.released":
    case "lease.expired":
      return JSON.stringify({ lease: { ...event.lease, token: String(event.lease.token) } });
    case "leader.changed":
      return JSON.stringify({ ...event, type: undefined, term: String(event.term) });
    case "plane.opened":
      return JSON.stringify({ ...event, type: undefined, lastToken: String(event.lastToken) });
    case "job.emitted":
      return printEmitted(event);
    case "job.reserved":
    case "job.spent":
      return JSON.stringify({
        ...event,
        type: undefined,
        amounts: event.amounts.map(printAmount),
      });
    case "job.settled":
      return JSON.stringify({ ...event, type: undefined, actual: event.actual.map(printAmount) });
    default:
      return JSON.stringify({ ...event, type: undefined });
  }
}

type Emitted = JobEvent & { readonly type: "job.emitted" };

/** What a job says is JSON already, and often: it is put in as it is, at the end, where it is found again. */
function printEmitted({
  jobId,
  kind,
  ownSequence,
  spent,
  told,
  workerSequence,
  body,
}: Emitted): string {
  const head = JSON.stringify({
    jobId,
    kind,
    ownSequence,
    spent: spent && printAmount(spent),
    told,
    workerSequence,
  });
  return `${head.slice(0, -1)}${beforeBody}${body}}`;
}

/** Within a text of JSON the quotation marks would be escaped. */
const beforeBody = ',"body":';

function parseEmitted(json: string): Emitted {
  const at = json.indexOf(beforeBody);
  const { spent, ...head } = JSON.parse(`${json.slice(0, at)}}`);
  const body = readableBody(json.slice(at + beforeBody.length, -1));
  const amount = spent === undefined ? undefined : parseAmount(spent);
  return { type: "job.emitted", ...head, ...(amount && { spent: amount }), body };
}

/**
 * The body of a job's event as valid JSON. Version 0.1.0 printed an overflowed budget as `-Infinity`, which is not
 * JSON. One such event must not make all others of its job unreadable: readers get the nearest number, or none, and
 * the original text in `unreadable`.
 */
function readableBody(text: string): JsonText {
  // Every other body was JSON when it was written. Parsing it again would cost 5 µs for each kB.
  const isSuspect = text.includes("Infinity") || text.includes("NaN");
  if (!isSuspect || isJson(text)) return text as JsonText;
  const overflow = /"value":-Infinity(?=,)/;
  const mended = text.replace(overflow, `"value":${-Number.MAX_VALUE}`);
  const known: object = isJson(mended) ? JSON.parse(mended) : {};
  return printJson({ ...known, unreadable: text });
}

/** The opposite of `printEvent`. The log has checked that the body is what was once printed. */
export function parseEvent(type: EventType, json: string): Event {
  if (type === "job.emitted") return parseEmitted(json);
  const event = JSON.parse(json);
  event.type = type;
  switch (type) {
    case "lease.acquired":
    case "lease.renewed":
    case "lease.released":
    case "lease.expired":
      event.lease.token = token(BigInt(event.lease.token));
      return event;
    case "leader.changed":
      event.term = term(BigInt(event.term));
      return event;
    case "plane.opened":
      event.lastToken = token(BigInt(event.lastToken));
      return event;
    case "job.reserved":
    case "job.spent":
      event.amounts = event.amounts.map(parseAmount);
      return event;
    case "job.settled":
      event.actual = event.actual.map(parseAmount);
      return event;
    case "task.created":
    case "task.claimed":
    case "task.completed":
    case "task.failed":
    case "task.requeued":
    case "task.ready":
    case "task.dead":
      event.task = withDefaults(event.task);
      return event;
    default:
      return event;
  }
}

export function isEventType(text: string): text is EventType {
  return Object.hasOwn(topics, text);
}
