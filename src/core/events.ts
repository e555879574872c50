/**
 * Every fact there is, and how it is written down. Events are forever: a released event never changes
 * its meaning. Tokens, terms and counters are decimal strings in JSON, because they may exceed 2^53.
 */
import type { ElectionEvent } from "./elections.ts";
import type { PolicyEvent } from "./entitlements.ts";
import type { Token } from "./ids.ts";
import { term, token } from "./ids.ts";
import type { LeaseEvent } from "./leases.ts";
import type { ObservedEvent } from "./observed.ts";
import type { RegistryEvent } from "./registry.ts";
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
  | ObservedEvent;
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
  "election.joined": "",
  "election.left": "",
  "plane.opened": "",
  "plane.resumed": "",
};

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
    default:
      return JSON.stringify({ ...event, type: undefined });
  }
}

/** The opposite of `printEvent`. The log has checked that the body is what was once printed. */
export function parseEvent(type: EventType, json: string): Event {
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
