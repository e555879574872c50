/** What is different from one look around to the next: what a program is told that watches. */
import { isDeepStrictEqual } from "node:util";
import type { Sighting, SightingState } from "../wire/api/index.ts";

export type SightingChange =
  /** New, or something else is told of it. */
  | { readonly type: "upsert"; readonly agent: Sighting }
  /** It does something else now. */
  | { readonly type: "state"; readonly agent: Sighting; readonly before: SightingState }
  /** Nobody tells of it any more. */
  | { readonly type: "remove"; readonly agent: Sighting };

/** Who is gone first, then in the order of `after`. That a source was heard again is no change. */
export function changesBetween(
  before: ReadonlyMap<string, Sighting>,
  after: readonly Sighting[],
): readonly SightingChange[] {
  const changes: SightingChange[] = [];
  const present = new Set(after.map(({ id }) => id));
  for (const agent of before.values()) {
    if (!present.has(agent.id)) changes.push({ type: "remove", agent });
  }
  for (const agent of after) {
    const known = before.get(agent.id);
    if (known && known.state !== agent.state) {
      changes.push({ type: "state", agent, before: known.state });
    } else if (!known || !isDeepStrictEqual(withoutAges(known), withoutAges(agent))) {
      changes.push({ type: "upsert", agent });
    }
  }
  return changes;
}

function withoutAges({ known, ...rest }: Sighting): unknown {
  return { ...rest, known: known.map(({ heardAtMs: _, ...one }) => one) };
}
