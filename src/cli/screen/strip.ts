/** The last hour from left to right, a minute a cell where there is room. */
import type { Stretch } from "../history.ts";
import { stripLooks } from "../sighting-words.ts";
import { type Line, type Span, span } from "./spans.ts";

/** Of this time nothing is known. */
const unknown = "┈";

export function stripOf(
  stretches: readonly Stretch[],
  { endMs, ms, cells }: { readonly endMs: number; readonly ms: number; readonly cells: number },
): Line {
  const cellMs = ms / cells;
  const shown = Array.from({ length: cells }, (_, index) => {
    const fromMs = endMs - ms + index * cellMs;
    const isIn = ({ fromMs: from, toMs: to }: Stretch): boolean =>
      from < fromMs + cellMs && to > fromMs;
    const states = new Set(stretches.filter(isIn).map(({ state }) => state));
    return stripLooks.find(([state]) => states.has(state));
  });
  return joinAlike(shown.map((look) => (look ? span(look[1], look[2]) : span(unknown, "dim"))));
}

/** Neighbours that look alike are one piece: fewer bytes, and nothing to see in between. */
function joinAlike(spans: readonly Span[]): Line {
  const joined: Span[] = [];
  for (const next of spans) {
    const last = joined.at(-1);
    if (last?.look === next.look)
      joined.splice(-1, 1, { ...next, text: (last?.text ?? "") + next.text });
    else joined.push(next);
  }
  return joined;
}
