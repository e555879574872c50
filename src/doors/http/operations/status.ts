/** Which agent waits for me? Every agent that is known, whoever tells of it. */
import type { Sighting, SightingState } from "../../../wire/api/index.ts";
import { limits as wireLimits } from "../../../wire/openapi/index.ts";
import type { Handlers, OperationParts } from "../operations.ts";

export function statusHandlers({ plane, lookAround }: OperationParts): Pick<Handlers, "getStatus"> {
  return {
    getStatus: async ({
      limit = wireLimits.pageDefault,
      silentAfterMs = wireLimits.silentAfterMsDefault,
    }) => {
      const seen = await lookAround({ silentAfterMs });
      const nowMs = await plane.read((_, nowMs) => nowMs);
      const counts = countStates(seen);
      return { value: { agents: seen.slice(0, limit), total: seen.length, counts, nowMs } };
    },
  };
}

function countStates(seen: readonly Sighting[]): Record<SightingState, number> {
  const counts = {
    waiting: 0,
    working: 0,
    silent: 0,
    failed: 0,
    lost: 0,
    idle: 0,
    stopped: 0,
    unknown: 0,
  };
  for (const { state } of seen) counts[state] += 1;
  return counts;
}
