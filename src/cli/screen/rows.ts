/** Which agents are shown, and in which order. */
import type { Sighting } from "../../wire/api/index.ts";
import { whereOf } from "../sighting-words.ts";

/** `attention`: as the sources are ranked, what waits for a person first. */
export const sorts = ["attention", "name", "where", "latest"] as const;
export type Sort = (typeof sorts)[number];

/** The same sort gives the same order: two that are alike stay as they were ranked. */
export function sorted(agents: readonly Sighting[], sort: Sort): readonly Sighting[] {
  switch (sort) {
    case "attention":
      return agents;
    case "name":
      return agents.toSorted((one, other) => compare(one.name, other.name));
    case "where":
      return agents.toSorted((one, other) => compare(whereOf(one), whereOf(other)));
    case "latest":
      return agents.toSorted((one, other) => latestMs(other) - latestMs(one));
  }
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** When something was last heard of what it does. */
function latestMs({ lastProgressAtMs = 0, sinceMs = 0, startedAtMs = 0 }: Sighting): number {
  return Math.max(lastProgressAtMs, sinceMs, startedAtMs);
}

/** Every word must stand somewhere in what is known of the agent. */
export function matches(agent: Sighting, filter: string): boolean {
  const { id, name, host, state, workspace, branch, doing, task, goal, known } = agent;
  const sources = known.flatMap(({ source, word }) => [source, word]);
  const text = [id, name, host, state, workspace, branch, doing, task, goal, ...sources]
    .join("\n")
    .toLowerCase();
  const words = filter.toLowerCase().split(/\s+/);
  return words.every((word) => text.includes(word));
}
