/** Who is around? Files, registry and processes as one list, those that wait for a person first. */
import { limits as api } from "../wire/api/index.ts";
import { limits as format } from "../wire/status-file/index.ts";
import { type Claim, claimOfFile, claimOfProcess, claimOfRegistered } from "./claims.ts";
import { type Group, merge } from "./merge.ts";
import type {
  FoundProcess,
  Known,
  RegisteredAgent,
  Sighting,
  SightingState,
  SourceKind,
  StatusFile,
} from "./types.ts";

/** What the sources have, all of this machine but the registry's. */
export type Found = {
  readonly files: readonly StatusFile[];
  readonly registered: readonly RegisteredAgent[];
  readonly processes: readonly FoundProcess[];
};

export type SightOptions = {
  readonly nowMs: number;
  readonly silentAfterMs?: number;
  readonly staleAfterMs?: number;
  /** This machine. */
  readonly hostName: string;
};

type Settled = Required<SightOptions>;

/** The same sources and time give the same list. */
export function sight(found: Found, given: SightOptions): readonly Sighting[] {
  const { silentAfterMs = api.silentAfterMs, staleAfterMs = format.staleAfterMs } = given;
  const options = { ...given, silentAfterMs, staleAfterMs };
  const claims = [
    ...found.registered.map(claimOfRegistered),
    ...found.files.map((file) => claimOfFile(file, options)),
  ];
  const { groups, unspoken } = merge(claims, found.processes, options.hostName);
  const sightings = [
    ...groups.map((group) => sightingOf(group, options)),
    ...unspoken.map((process) => sightingOf({ claims: [], process }, options)),
  ];
  return sightings.sort(compareSightings);
}

/** What a sighting takes over from whoever tells it. */
type TakenOver =
  | "pid"
  | "startedAtMs"
  | "workspace"
  | "doing"
  | "task"
  | "goal"
  | "tmux"
  | "questionId";

function sightingOf({ claims, process }: Group, options: Settled): Sighting {
  const all = process ? [...claims, claimOfProcess(heard(process, claims), options)] : claims;
  const ranked = [...all].sort(compareClaims);
  const leading = leadingOf(ranked);
  const known = [leading, ...ranked.filter((claim) => claim !== leading)];
  const first = <Name extends keyof Claim>(name: Name): Claim[Name] | undefined =>
    ranked.find((claim) => claim[name] !== undefined)?.[name];
  const optional = (name: TakenOver): Partial<Pick<Claim, TakenOver>> =>
    first(name) === undefined ? {} : { [name]: first(name) };
  const progress = ranked.flatMap(({ progressAtMs }) => progressAtMs ?? []);
  const lastProgressAtMs = progress.length === 0 ? undefined : Math.max(...progress);
  const quietSinceMs =
    lastProgressAtMs === undefined
      ? undefined
      : Math.max(lastProgressAtMs, ...ranked.flatMap((claim) => claim.listeningSinceMs ?? []));
  const { state, sinceMs } = settle(leading.known, quietSinceMs, options);
  const hint = process && claims.length === 0 ? hintFor(process.program) : undefined;
  return {
    // The id that people know it by: of its process only if there is no other.
    id: ranked[0]?.id ?? leading.id,
    name: ranked[0]?.name ?? leading.name,
    host: first("host") ?? "",
    ...optional("pid"),
    ...(process ? { pid: process.pid, startedAtMs: process.startedAtMs } : optional("startedAtMs")),
    state,
    ...(sinceMs === undefined ? {} : { sinceMs }),
    ...(lastProgressAtMs === undefined ? {} : { lastProgressAtMs }),
    known: known.map((claim) => claim.known),
    isContradicted: isContradicted(ranked),
    ...optional("workspace"),
    ...(leading.doing === undefined ? optional("doing") : { doing: leading.doing }),
    ...optional("task"),
    ...optional("goal"),
    ...optional("questionId"),
    // A process is where it is; a record may have been written by another for it.
    ...(process?.tmux ? { tmux: process.tmux } : optional("tmux")),
    ...(hint === undefined ? {} : { hint }),
  };
}

/**
 * Hooks see what a program's own word leaves out, such as a question at the end of an answer. Where one is in
 * touch, that the word differs is no contradiction.
 */
function heard(process: FoundProcess, claims: readonly Claim[]): FoundProcess {
  const { told, ...untold } = process;
  return told && !claims.some(isInTouch) ? process : untold;
}

const ranks: readonly SourceKind[] = ["registry", "hook", "file", "process"];

/** The better source first; of two that are as good, the one that heard of it last. */
function compareClaims({ known: one }: Claim, { known: other }: Claim): number {
  return ranks.indexOf(one.source) - ranks.indexOf(other.source) || other.heardAtMs - one.heardAtMs;
}

/**
 * Whose word counts: the best source that is in touch, unless another has said since then that the agent
 * waits. A question that was answered already costs a look; one that is hidden costs the afternoon.
 */
function leadingOf(ranked: readonly Claim[]): Claim {
  const best = ranked.find(isInTouch) ?? lostBy(ranked) ?? ranked.find(isMute);
  if (!best) throw new Error("an agent of which nobody spoke");
  // Without a time it waits at the latest since it said so; who does not say since when it works has not
  // said that the question was answered.
  const later = ranked.find(
    ({ known }) =>
      known.state === "waiting" && (known.sinceMs ?? known.heardAtMs) > (best.known.sinceMs ?? 0),
  );
  return best.known.state === "waiting" || !later ? best : later;
}

/**
 * Who misses the agent. Anybody may write a file once and promise nothing: that it is not renewed means little
 * where the registry or a process shows that the agent is there. A host goes on calling its hooks, so that
 * what they wrote grows old is worth a look.
 */
function lostBy(ranked: readonly Claim[]): Claim | undefined {
  const isThere = ranked.some(isMute);
  return ranked.find(
    ({ known: { state, source } }) => state === "lost" && !(isThere && source === "file"),
  );
}

/** Sees that it is there, and not what it does. */
function isMute({ known: { state } }: Claim): boolean {
  return state === "unknown";
}

/** Who has lost it, or never knew what it does, has nothing to say. */
function isInTouch({ known: { state } }: Claim): boolean {
  return state !== "lost" && state !== "unknown";
}

function isContradicted(claims: readonly Claim[]): boolean {
  return new Set(claims.filter(isInTouch).map(({ known }) => known.state)).size > 1;
}

/**
 * An agent that works is silent if no source has seen progress for long. If no source reports progress at all,
 * the agent is never silent.
 */
function settle(
  { state, sinceMs }: Known,
  quietSinceMs: number | undefined,
  { nowMs, silentAfterMs }: Settled,
): { readonly state: SightingState; readonly sinceMs: number | undefined } {
  const isSilent =
    state === "working" && quietSinceMs !== undefined && nowMs - quietSinceMs > silentAfterMs;
  return isSilent ? { state: "silent", sinceMs: quietSinceMs } : { state, sinceMs };
}

/** Hosts that would tell more, if asked to. */
const installable = ["claude-code", "codex", "opencode", "pi"];

function hintFor(program: string): string | undefined {
  return installable.includes(program) ? `tipstaff install ${program}` : undefined;
}

const order: Readonly<Record<SightingState, number>> = {
  waiting: 0,
  silent: 1,
  failed: 1,
  lost: 1,
  working: 2,
  idle: 3,
  stopped: 4,
  unknown: 4,
};

/**
 * Agents that ask come first, then other agents that wait, each the longest waiting first. In all other states the
 * latest change comes first.
 */
export function compareSightings(one: Sighting, other: Sighting): number {
  const byState = order[one.state] - order[other.state];
  if (byState !== 0) return byState;
  const byAsking = Number(other.questionId !== undefined) - Number(one.questionId !== undefined);
  if (byAsking !== 0) return byAsking;
  const earlier = (one.sinceMs ?? Infinity) - (other.sinceMs ?? Infinity);
  const later = (other.sinceMs ?? -Infinity) - (one.sinceMs ?? -Infinity);
  const byTime = one.state === "waiting" ? earlier : later;
  // Two that are not told when are as good as each other; infinity less infinity is no number.
  return byTime || (one.id < other.id ? -1 : Number(one.id > other.id));
}
