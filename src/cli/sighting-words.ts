/** What is said of an agent that was seen, wherever it is shown. */
import { hostname } from "node:os";
import type { Tone } from "../terminal/index.ts";
import type { Sighting, SightingState } from "../wire/api/index.ts";
import { limits } from "./limits.ts";
import { printPath } from "./paths.ts";
import { heardAgo } from "./times.ts";

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

/** A stretch of time in which nobody told of an agent is one in which it was gone. */
export type StretchState = SightingState | "gone";

/** On a strip of time. The one that comes first is what a cell shows of all that was in it. */
export const stripLooks: readonly (readonly [StretchState, string, Tone | undefined])[] = [
  ["waiting", "!", "warn"],
  ["failed", "x", "bad"],
  ["lost", "?", "bad"],
  ["silent", "▒", "warn"],
  ["working", "█", "good"],
  ["idle", "─", "dim"],
  ["unknown", "·", "dim"],
  ["stopped", " ", undefined],
  ["gone", " ", undefined],
];

/** Its directory and branch; its machine, if that is another or all that is known. */
export function whereOf({ workspace, branch, host }: Sighting): string {
  const place = workspace === undefined ? "" : printPath(workspace);
  const there = branch === undefined ? place : `${place} (${branch})`;
  if (host === "" || host === hostname()) return there;
  return there === "" ? `host ${host}` : `${host}: ${there}`;
}

/** In its own words; what it was at, if it does nothing any more. */
export function doingOf({ state, doing, goal, hint, known: [best] }: Sighting): string {
  if (state === "waiting") {
    if (best?.word === "auth-required") return `wants to be signed in${doing ? `: ${doing}` : ""}`;
    const [, reason] = /^waiting for (.+)$/.exec(best?.word ?? "") ?? [];
    return doing ? `asks: ${doing}` : (reason ?? (goal ? `goal: ${goal}` : ""));
  }
  if (doing) return state === "silent" || state === "lost" ? `last: ${doing}` : doing;
  if (goal) return `goal: ${goal}`;
  return moreBy(hint);
}

/** How more would be known of it. One that was started before the hook was there needs the second half only. */
export function moreBy(hint: string | undefined): string {
  return hint === undefined ? "" : `${hint}, then restart it`;
}

/** `hook · 4 s ago`; then what makes one look twice. */
export function knownFrom({ known, state, isContradicted }: Sighting, nowMs: number): string {
  const [best, ...others] = known;
  if (!best) return "";
  const heard = best.source === "process" ? "process" : `${best.source} · ${heardAgo(best, nowMs)}`;
  if (state === "silent") return `${heard}, no progress since`;
  const other = isContradicted
    ? others.find((one) => one.state !== best.state && one.word !== best.word)
    : undefined;
  return other ? `${heard}; ${other.source} says ${other.word}` : heard;
}

/** `1.2M tokens in · 45k out · $3.10`, as far as it is known. */
export function spentBy({ tokens, costUsd }: Sighting): string {
  return [
    ...(tokens ? [`${short(tokens.input)} tokens in`, `${short(tokens.output)} out`] : []),
    ...(costUsd === undefined ? [] : [costUsd < 0.005 ? "<$0.01" : `$${costUsd.toFixed(2)}`]),
  ].join(" · ");
}

function short(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 999_500) return `${Math.round(count / 1_000)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** `1 waits for you · 1 silent · 5 agents`: what needs a person first. */
export function summaryOf(agents: readonly Sighting[]): string {
  const count = (state: SightingState): number =>
    agents.filter((agent) => agent.state === state).length;
  const waiting = count("waiting");
  const troubles = (["silent", "failed", "lost"] as const).flatMap((state) => {
    const some = count(state);
    return some === 0 ? [] : [`${some} ${state}`];
  });
  return [
    ...(waiting === 0 ? [] : [`${waiting} ${waiting === 1 ? "waits" : "wait"} for you`]),
    ...troubles,
    `${agents.length} ${agents.length === 1 ? "agent" : "agents"}`,
  ].join(" · ");
}

/** Who has ended, or was lost long ago, is history: shown only where all are. */
export function isOfInterest({ state, sinceMs = 0 }: Sighting, nowMs: number): boolean {
  return state !== "stopped" && !(state === "lost" && nowMs - sinceMs > limits.lostShownMs);
}
