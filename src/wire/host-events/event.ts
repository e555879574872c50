/** One event of a host's hook, as it arrives on standard input. */
import { limits } from "./limits.ts";
import { type Members, readMembers } from "./members.ts";

export type HostEvent = {
  readonly name: string;
  readonly sessionId: string;
  readonly members: Members;
};

/** Undefined for what is no event: not an object, or without a name or a session. */
export function readEvent(parts: Iterable<Uint8Array>): HostEvent | undefined {
  const members = readMembers(parts);
  if (!members) return undefined;
  const name = idIn(members, "hook_event_name");
  const sessionId = idIn(members, "session_id");
  return name === undefined || sessionId === undefined ? undefined : { name, sessionId, members };
}

/** A text that says something; undefined for an empty one, and for anything else. */
export function textIn(members: Members, key: string): string | undefined {
  const value = members.get(key);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A text that is short enough to be a name. */
export function idIn(members: Members, key: string): string | undefined {
  const text = textIn(members, key);
  return text !== undefined && text.length <= limits.idLengthMax ? text.toWellFormed() : undefined;
}

export function listIn(members: Members, key: string): readonly unknown[] {
  const value = members.get(key);
  return Array.isArray(value) ? value : [];
}

/** AS-80. `agent_type` alone is said of a session that was started as a certain agent. */
export function isFromSubagent({ members }: HostEvent): boolean {
  return [members.get("agent_id"), members.get("agent_transcript_path")].some(Boolean);
}

/** Written by the host, not by a person: what woke it up is nobody's goal. */
export function isSynthetic({ members }: HostEvent): boolean {
  const source = textIn(members, "source") ?? "user";
  const prompt = textIn(members, "prompt") ?? "";
  return (source !== "user" && source !== "sdk") || prompt.startsWith("<task-notification>");
}
