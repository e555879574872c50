/** What runs here, what needs a person, how it has been going, and what happened. */
import { attentionIn } from "../attention.ts";
import { encodeCounts, encodeRetained } from "../encode.ts";
import { listEntries } from "../lists.ts";
import type { Handlers, OperationParts } from "../operations.ts";
import { submit } from "./answer.ts";

export function overviewHandlers(
  parts: OperationParts,
): Pick<
  Handlers,
  "getOverview" | "getAttention" | "dismissNeed" | "restoreNeed" | "getTimeline" | "listEntries"
> {
  const { plane, work, about, timeline, ranking } = parts;
  return {
    getOverview: async () => {
      const value = await plane.read((state, nowMs) => ({
        ...about(),
        nowMs,
        sequence: plane.lastSequence,
        counts: encodeCounts(state, { watchers: plane.watchers, work }),
        retained: encodeRetained(plane.retained()),
        find: ranking(),
      }));
      return { value };
    },
    getAttention: (input, call) => attentionIn(parts, input, call),
    dismissNeed: async ({ kind, id, sinceMs, forMs }, { caller }) => {
      const thing = { kind, id, sinceMs, by: caller.actor };
      const snooze = forMs === undefined ? {} : { forMs };
      return submit(plane, { type: "need.dismiss", ...thing, ...snooze }, caller, () => ({}));
    },
    restoreNeed: async ({ kind, id }, { caller }) =>
      submit(plane, { type: "need.restore", kind, id }, caller, () => ({})),
    getTimeline: async () => ({ value: timeline.print() }),
    listEntries: (input, call) => listEntries(plane, input, call),
  };
}
