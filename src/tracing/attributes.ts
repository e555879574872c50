/** What a span tells of its frame (ARCP-182). Tokens, inputs and results are not among it. */
import type { Attributes } from "@opentelemetry/api";
import type { Frame } from "../transport/index.ts";
import { isObject } from "../wire/arcp/index.ts";
import { limits } from "./limits.ts";

export function typeOf({ type }: Frame): string {
  return typeof type === "string" ? cut(type) : "unknown";
}

export function attributesOf(frame: Frame, direction: "in" | "out"): Attributes {
  const { id, session_id, job_id, trace_id, event_seq } = frame;
  const attributes: Attributes = { "arcp.direction": direction, "arcp.type": typeOf(frame) };
  const add = (name: string, value: unknown): void => {
    if (typeof value === "string") attributes[name] = cut(value);
    else if (typeof value === "number") attributes[name] = value;
  };
  add("arcp.id", id);
  add("arcp.session_id", session_id);
  add("arcp.job_id", job_id);
  add("arcp.trace_id", trace_id);
  add("arcp.event_seq", event_seq);
  const payload = frame["payload"];
  if (!isObject(payload)) return attributes;
  const { agent, lease, lease_request, lease_constraints, budget } = payload;
  add("arcp.agent", agent);
  const asked = isObject(lease) ? lease : lease_request;
  if (isObject(asked)) add("arcp.lease.capabilities", Object.keys(asked).sort().join(","));
  if (isObject(lease_constraints)) add("arcp.lease.expires_at", lease_constraints["expires_at"]);
  if (isObject(budget)) add("arcp.budget.remaining", printed(budget));
  return attributes;
}

function cut(text: string): string {
  return text.length > limits.attributeLengthMax ? text.slice(0, limits.attributeLengthMax) : text;
}

/** Whoever sends something that JSON cannot say is told so by the transport. */
function printed(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
