/** What a daemon tells and what is seen from here, as one list in which nobody stands twice. */
import { compareSightings } from "../sightings/index.ts";
import type { Sighting } from "../wire/api/index.ts";

/**
 * Of agents that are registered the daemon tells, with all it knows of them from elsewhere. Of all others
 * that can be seen from here too, we see it first. Whom only one of both knows, that one tells of: the daemon
 * may run elsewhere, or look into another directory.
 */
export function joined(told: readonly Sighting[], own: readonly Sighting[]): readonly Sighting[] {
  if (told.length === 0) return own;
  const fresh = without(own, told.filter(isFromRegistry));
  if (fresh.length === 0) return told;
  const missing = without(told, fresh);
  return missing.length === 0 ? fresh : [...fresh, ...missing].sort(compareSightings);
}

function without(agents: readonly Sighting[], others: readonly Sighting[]): readonly Sighting[] {
  const names = new Set(others.flatMap(namesOf));
  return agents.filter((agent) => !namesOf(agent).some((name) => names.has(name)));
}

/** By which an agent is known to be the same. */
export function namesOf({ id, host, pid, startedAtMs, known }: Sighting): readonly string[] {
  return [
    `id ${id}`,
    ...(pid === undefined || startedAtMs === undefined
      ? []
      : [`process ${host} ${pid} ${startedAtMs}`]),
    ...known.flatMap(({ path }) => (path === undefined ? [] : [`file ${host} ${path}`])),
  ];
}

/** Whether this is whom a person means. */
export function goesBy({ id, name }: Sighting, word: string): boolean {
  return id === word || name === word;
}

export function isFromRegistry({ known }: Sighting): boolean {
  return known.some(({ source }) => source === "registry");
}
