/** Which agent waits for me? Every agent that is known, whoever tells of it. */
import { limits as apiLimits, type Sighting, type SightingState } from "../../../wire/api/index.ts";
import { limits as wireLimits } from "../../../wire/openapi/index.ts";
import type { Handlers, OperationParts } from "../operations.ts";
import { lookInTurns } from "../slices.ts";

export function statusHandlers({
  plane,
  lookAround,
  lookClosely,
}: OperationParts): Pick<Handlers, "getStatus"> {
  return {
    getStatus: (
      { limit = wireLimits.pageDefault, agent, silentAfterMs = apiLimits.silentAfterMs },
      { signal },
    ) =>
      lookInTurns(plane, signal, async (turn) => {
        await turn();
        const all = await lookAround({ silentAfterMs });
        const isMeant = ({ id, name }: Sighting): boolean => id === agent || name === agent;
        const seen = agent === undefined ? all : all.filter(isMeant);
        // The disk is slow: a turn of its own, and only for whom is shown.
        await turn();
        const agents = lookClosely(seen.slice(0, limit));
        const nowMs = await plane.read((_, nowMs) => nowMs);
        return { agents, total: seen.length, counts: countStates(seen), nowMs };
      }),
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
