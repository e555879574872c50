/** Every message there is, as data (ARCP 1.1, and the two that only some peers send). */
import type { Feature } from "./features.ts";

export type Direction = "to runtime" | "to client" | "both";

export type MessageRow = {
  readonly direction: Direction;
  /** Has a place in the session's stream, its `event_seq`. */
  readonly isSequenced: boolean;
  /** What must be effective for it to be used. */
  readonly feature?: Feature;
  readonly answeredBy: readonly MessageType[];
};

export const messageTypes = [
  "session.hello",
  "session.resume",
  "session.welcome",
  "session.error",
  "session.bye",
  "session.close",
  "session.closed",
  "session.ping",
  "session.pong",
  "session.ack",
  "session.list_jobs",
  "session.jobs",
  "job.submit",
  "job.accepted",
  "job.event",
  "job.result",
  "job.error",
  "job.cancel",
  "job.cancelled",
  "job.subscribe",
  "job.subscribed",
  "job.unsubscribe",
] as const;

export type MessageType = (typeof messageTypes)[number];

export const catalogue: Readonly<Record<MessageType, MessageRow>> = {
  "session.hello": toRuntime("session.welcome", "session.error"),
  "session.resume": toRuntime("session.welcome", "session.error"),
  "session.welcome": toClient(),
  "session.error": toClient(),
  "session.bye": { direction: "both", isSequenced: false, answeredBy: [] },
  "session.close": toRuntime("session.closed"),
  "session.closed": toClient(),
  "session.ping": {
    direction: "both",
    isSequenced: false,
    feature: "heartbeat",
    answeredBy: ["session.pong"],
  },
  "session.pong": { direction: "both", isSequenced: false, feature: "heartbeat", answeredBy: [] },
  "session.ack": { ...toRuntime(), feature: "ack" },
  "session.list_jobs": { ...toRuntime("session.jobs", "session.error"), feature: "list_jobs" },
  "session.jobs": { ...toClient(), feature: "list_jobs" },
  "job.submit": toRuntime("job.accepted", "job.error", "session.error"),
  "job.accepted": toClient(),
  "job.event": { ...toClient(), isSequenced: true },
  "job.result": { ...toClient(), isSequenced: true },
  "job.error": { ...toClient(), isSequenced: true },
  "job.cancel": toRuntime("job.cancelled", "job.error"),
  "job.cancelled": toClient(),
  "job.subscribe": { ...toRuntime("job.subscribed", "session.error"), feature: "subscribe" },
  "job.subscribed": { ...toClient(), feature: "subscribe" },
  "job.unsubscribe": { ...toRuntime(), feature: "subscribe" },
};

export function isMessageType(type: string): type is MessageType {
  return Object.hasOwn(catalogue, type);
}

/** Whether a runtime may be told this. */
export function isForRuntime(type: string): type is MessageType {
  return isMessageType(type) && catalogue[type].direction !== "to client";
}

function toRuntime(...answeredBy: readonly MessageType[]): MessageRow {
  return { direction: "to runtime", isSequenced: false, answeredBy };
}

function toClient(): MessageRow {
  return { direction: "to client", isSequenced: false, answeredBy: [] };
}
