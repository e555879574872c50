/**
 * One line of the log. An entry is sealed when it is stored: its checksum covers all of it and the
 * checksum of the entry before, so that a change anywhere in history shows.
 */
import { hash } from "node:crypto";
import { type Event, isEventType, parseEvent } from "../core/index.ts";

export type Entry = {
  readonly sequence: number;
  /** Where the event stands among the published ones; 0 if it is not published. */
  readonly busSequence: number;
  readonly atMs: number;
  /** Who asked for it. */
  readonly actor: string;
  /** Among which entries it is read again, apart from all others. Most are never. */
  readonly stream: string | undefined;
  readonly event: Event;
  /** The event as JSON, without its type. */
  readonly body: string;
};

/** An entry as an engine stores it. */
export type Sealed = {
  readonly sequence: number;
  readonly bus: number;
  readonly type: string;
  readonly version: number;
  readonly atMs: number;
  readonly actor: string;
  readonly stream: string | null;
  readonly body: string;
  readonly previous: string;
  readonly checksum: string;
};

/** The version of the event's body. A new shape gets a new number, and `unseal` reads both. */
const version = 1;

/** The checksum before the first entry. */
export const noChecksum = "";

export function seal(entry: Entry, previous: string): Sealed {
  const { sequence, busSequence: bus, atMs, actor, stream = null, body } = entry;
  const type = entry.event.type;
  const open = { sequence, bus, type, version, atMs, actor, stream, body, previous, checksum: "" };
  // In its place: a copy for each entry is dear.
  open.checksum = checksumOf(open);
  return open;
}

/** Whether the entry is what was once sealed. */
export function isIntact(sealed: Sealed): boolean {
  return sealed.checksum === checksumOf(sealed);
}

/** Expects an intact entry; answers undefined for one that a later release wrote. */
export function unseal(sealed: Sealed): Entry | undefined {
  const { sequence, bus: busSequence, type, atMs, actor, stream, body } = sealed;
  if (sealed.version > version || !isEventType(type)) return undefined;
  const event = parseEvent(type, body);
  return { sequence, busSequence, atMs, actor, stream: stream ?? undefined, event, body };
}

function checksumOf(sealed: Omit<Sealed, "checksum">): string {
  const { previous, sequence, bus, type, version, atMs, actor, stream, body } = sealed;
  const text = `${previous}\n${sequence}\n${bus}\n${type}\n${version}\n${atMs}\n${actor}\n${body}`;
  // A body is JSON on one line, so this cannot be mistaken for a part of it.
  return hash("sha256", stream === null ? text : `${text}\n${stream}`, "hex");
}
