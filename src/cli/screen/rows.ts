/** Which agents are shown, in which order, and what a row says. */
import type { Sighting, SightingState } from "../../wire/api/index.ts";
import { printPath } from "../paths.ts";
import type { Tone } from "../terminal.ts";

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

export const toneOf: Readonly<Record<SightingState, Tone | undefined>> = {
  waiting: "warn",
  working: "good",
  silent: "warn",
  failed: "bad",
  lost: "bad",
  idle: undefined,
  stopped: "dim",
  unknown: "dim",
};

export const markOf: Readonly<Record<SightingState, string>> = {
  waiting: "●",
  working: "●",
  silent: "◌",
  failed: "✕",
  lost: "◌",
  idle: " ",
  stopped: " ",
  unknown: " ",
};

/** Its directory, or if it has none, its machine. */
export function whereOf({ workspace, host }: Sighting): string {
  return workspace === undefined ? host : printPath(workspace);
}

/** What it does, in its own words; what it was at, if it does nothing any more. */
export function doingOf({ state, doing, task, goal, hint }: Sighting): string {
  const said = doing ?? task;
  if (said !== undefined) return state === "silent" || state === "lost" ? `last: ${said}` : said;
  if (goal !== undefined) return `goal: ${goal}`;
  return hint === undefined ? "" : `${hint} shows more`;
}
