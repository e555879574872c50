/**
 * Which claims are about one agent: those that name the same id, or the same machine, process and start of
 * the process. Whatever is less certain stays two: a row too many is a nuisance, but an agent that hides
 * behind another is one that waits for nobody.
 */
import type { Claim } from "./claims.ts";
import { limits } from "./limits.ts";
import type { FoundProcess } from "./types.ts";

/** All claims about one agent, and the process it is, if it was found. */
export type Group = { readonly claims: readonly Claim[]; readonly process?: FoundProcess };

export type Merged = {
  readonly groups: readonly Group[];
  /** Processes of which nobody else spoke. */
  readonly unspoken: readonly FoundProcess[];
};

/** Claims of the registry come first. */
export function merge(
  claims: readonly Claim[],
  processes: readonly FoundProcess[],
  hostName: string,
): Merged {
  const byPid = new Map(
    processes.flatMap((process) =>
      [process, ...(process.launchers ?? [])].map((key) => [key.pid, { process, key }] as const),
    ),
  );
  const byId = [...Map.groupBy(claims, ({ id }) => id).values()].map((same) => ({
    same,
    process: processOf(same, byPid, hostName),
  }));
  const served = windowsOf(byId, processes, hostName);
  const groups: Group[] = [];
  const byProcess = new Map<FoundProcess, (readonly Claim[])[]>();
  for (const { same, process = served.get(same) } of byId) {
    const named = process && byProcess.get(process);
    if (named) named.push(same);
    else if (process) byProcess.set(process, [same]);
    else groups.push({ claims: same });
  }
  for (const [process, named] of byProcess) {
    for (const agent of agentsAmong(named)) groups.push({ claims: agent, process });
  }
  return { groups, unspoken: processes.filter((process) => !byProcess.has(process)) };
}

/** A process that has the number now, or what started it and has. */
type Candidate = { readonly process: FoundProcess; readonly key: { readonly startedAtMs: number } };

function processOf(
  claims: readonly Claim[],
  byPid: ReadonlyMap<number, Candidate>,
  hostName: string,
): FoundProcess | undefined {
  for (const claim of claims) {
    if (claim.pid === undefined || claim.host !== hostName) continue;
    const found = byPid.get(claim.pid);
    if (found && isOf(claim, found)) return found.process;
  }
  return undefined;
}

/**
 * A record names a process by its number only. What has that number now has had it since it started, so if it
 * started before the record was written, the record means it: no other process had the number then. If it
 * started later, the number has been given again. Records from inside a container count their processes
 * apart; what contradicts the process in another way is therefore not about it.
 */
function isOf(claim: Claim, { process, key }: Candidate): boolean {
  if (claim.startedAtMs !== undefined) {
    return Math.abs(claim.startedAtMs - key.startedAtMs) <= limits.startSlackMs;
  }
  // The registry hears of an agent whatever became of its number.
  if (claim.known.source === "registry") return false;
  if (key.startedAtMs > claim.known.heardAtMs + limits.startSlackMs) return false;
  if (claim.known.source === "hook" && claim.name !== process.program) return false;
  return !claim.tmux || !process.tmux || claim.tmux.pane === process.tmux.pane;
}

type Named = { readonly same: readonly Claim[]; readonly process: FoundProcess | undefined };

/**
 * The records of sessions in a server name the server, and a person sees them in windows that are processes
 * of their own. Where one session and one window of the server have a directory to themselves, they are one;
 * else it cannot be told who is whose, and all are shown.
 */
function windowsOf(
  named: readonly Named[],
  processes: readonly FoundProcess[],
  hostName: string,
): ReadonlyMap<readonly Claim[], FoundProcess> {
  const taken = new Set(named.map(({ process }) => process));
  const free = processes.filter((process) => process.server && !taken.has(process));
  if (free.length === 0) return new Map();
  const windows = Map.groupBy(free, ({ server, workspace }) => `${server?.pid} ${workspace}`);
  const sessions = Map.groupBy(
    named.filter(({ process }) => !process),
    ({ same: [claim] }) => `${claim?.pid} ${claim?.workspace}`,
  );
  const found = new Map<readonly Claim[], FoundProcess>();
  for (const [place, [window, ...moreWindows]] of windows) {
    const [session, ...moreSessions] = sessions.get(place) ?? [];
    const [claim] = session?.same ?? [];
    if (!window?.server || !session || !claim || claim.host !== hostName) continue;
    if (moreWindows.length > 0 || moreSessions.length > 0) continue;
    // The pane in a record is that of whoever started the server.
    const { tmux, ...unplaced } = claim;
    const key = { process: window, key: window.server };
    if (isOf(unplaced, key)) found.set(session.same, window);
  }
  return found;
}

/**
 * One process may be several agents: a program that registers a few, an editor's server with a few sessions.
 * A session that is not heard of any more is one that the process has left. Each record is compared with all
 * before it, so of a process that more records name than any writes, the rest are not compared.
 */
function agentsAmong(named: readonly (readonly Claim[])[]): readonly (readonly Claim[])[] {
  const isCrowd = named.filter(isRegistered).length > 1;
  const agents: Claim[][] = [];
  let compared = 0;
  for (const same of named) {
    const isCompared = !isRegistered(same) && compared < limits.recordsPerProcessMax;
    const agent = isCompared
      ? agents.find((claimed) => mayBeOne(claimed, same, { isCrowd }))
      : undefined;
    if (isCompared) compared += 1;
    if (agent) agent.push(...same);
    else agents.push([...same]);
  }
  return agents;
}

function mayBeOne(
  one: readonly Claim[],
  other: readonly Claim[],
  { isCrowd }: { readonly isCrowd: boolean },
): boolean {
  return one.every((claim) =>
    other.every((added) => {
      const isRecordBoth = claim.known.source !== "registry" && added.known.source !== "registry";
      if ((isRecordBoth || isCrowd) && claim.name !== added.name) return false;
      if (claim.session === undefined || added.session === undefined) return true;
      const isLeft = claim.known.state === "lost" || added.known.state === "lost";
      return claim.session === added.session || isLeft;
    }),
  );
}

function isRegistered(claims: readonly Claim[]): boolean {
  return claims.some(({ known }) => known.source === "registry");
}
