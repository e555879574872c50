/** Log entries for tests that need no plane. */
import { type Event, policyId, printEvent } from "../core/index.ts";
import type { Entry } from "../log/index.ts";

/** An entry for each sequence, both ends included; each with a policy that tells which it is. */
export function entries(
  first: number,
  last: number,
  { text = "", stream }: { readonly text?: string; readonly stream?: string } = {},
): readonly Entry[] {
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const subject = `entry ${first + index} ${text}`;
    return entryOf(first + index, policyChanged(subject), { actor: "test", stream });
  });
}

export function entryOf(
  sequence: number,
  event: Event,
  { actor, stream }: { readonly actor: string; readonly stream?: string | undefined },
): Entry {
  const atMs = 1_700_000_000_000 + sequence;
  const body = printEvent(event);
  return { sequence, busSequence: sequence, atMs, actor, stream, event, body };
}

export function policyChanged(subject: string): Event {
  const policy = { id: policyId("p"), subject, action: "call", resource: "*", effect: "deny" };
  return { type: "policy.changed", policy: { ...policy, effect: "deny" } };
}
