/**
 * Who leads. Candidates of a group stand in the order in which they joined; the first is elected when
 * there is no leader, and stays until it resigns or dies. The term counts the changes: of two leaders
 * of one group, the later has the larger term. A group is never forgotten, nor is its term: without candidates it is
 * not shown, and its next leader has a larger term than all before.
 */
import { accept, type Decision, refuse } from "./decision.ts";
import { type AgentId, type GroupName, type Term, term } from "./ids.ts";
import { limits } from "./limits.ts";
import type { Liveness } from "./registry.ts";

export type Election = {
  readonly group: GroupName;
  readonly candidates: readonly AgentId[];
  readonly term: Term;
  readonly leader?: AgentId;
  /** When the term began, with or without a leader. */
  readonly changedAtMs: number;
  /** Where the last change stands on the bus, so that it can be told again to who missed it. */
  readonly busSequence: number;
};

export type Elections = {
  readonly groups: ReadonlyMap<GroupName, Election>;
  /** How many groups have a candidate. */
  readonly contestedCount: number;
  readonly byCandidate: ReadonlyMap<AgentId, ReadonlySet<GroupName>>;
};

export type OwnElections = {
  readonly groups: Map<GroupName, Election>;
  contestedCount: number;
  readonly byCandidate: Map<AgentId, Set<GroupName>>;
};

export type ElectionCommand = {
  readonly type: "election.campaign" | "election.resign";
  readonly group: GroupName;
  readonly agentId: AgentId;
};

export type ElectionEvent =
  | {
      readonly type: "election.joined" | "election.left";
      readonly group: GroupName;
      readonly agentId: AgentId;
    }
  | {
      readonly type: "leader.changed";
      readonly group: GroupName;
      readonly term: Term;
      /** Absent when no candidate is left. */
      readonly leader?: AgentId;
      readonly changedAtMs: number;
    };

export type LivenessOf = (id: AgentId) => Liveness | undefined;

export function emptyElections(): OwnElections {
  return { groups: new Map(), contestedCount: 0, byCandidate: new Map() };
}

export function decide(
  elections: Elections,
  command: ElectionCommand,
  { nowMs, livenessOf }: { readonly nowMs: number; readonly livenessOf: LivenessOf },
): Decision<ElectionEvent> {
  const { group, agentId } = command;
  const election = elections.groups.get(group);
  const isCandidate = election?.candidates.includes(agentId) ?? false;
  switch (command.type) {
    case "election.campaign": {
      if (isCandidate) return accept();
      if (!election && elections.groups.size >= limits.groupsMax) {
        const message = `there are ${limits.groupsMax} groups, and none is ever forgotten; use one of them`;
        return refuse("limit_reached", message);
      }
      if (election && election.candidates.length >= limits.candidatesMax) {
        return refuse("limit_reached", `${group} has ${limits.candidatesMax} candidates already`);
      }
      const joined = { type: "election.joined", group, agentId } as const;
      if (election?.leader !== undefined) return accept<ElectionEvent>(joined);
      return accept<ElectionEvent>(joined, change(group, election, agentId, nowMs));
    }
    case "election.resign":
      if (!election || !isCandidate) return accept();
      return accept(...leave(election, agentId, { nowMs, livenessOf }));
  }
}

/** What a candidate's death changes, group by group in the order of their names. */
export function leaveAll(
  elections: Elections,
  agentId: AgentId,
  options: { readonly nowMs: number; readonly livenessOf: LivenessOf },
): ElectionEvent[] {
  const groups = [...(elections.byCandidate.get(agentId) ?? [])].sort();
  return groups.flatMap((group) => {
    const election = elections.groups.get(group);
    return election ? leave(election, agentId, options) : [];
  });
}

function leave(
  election: Election,
  agentId: AgentId,
  { nowMs, livenessOf }: { readonly nowMs: number; readonly livenessOf: LivenessOf },
): ElectionEvent[] {
  const { group } = election;
  const left = { type: "election.left", group, agentId } as const;
  if (election.leader !== agentId) return [left];
  const rest = election.candidates.filter((candidate) => candidate !== agentId);
  const successor =
    rest.find((candidate) => livenessOf(candidate) === "alive") ??
    rest.find((candidate) => livenessOf(candidate) === "unreachable");
  return [left, change(group, election, successor, nowMs)];
}

function change(
  group: GroupName,
  before: Election | undefined,
  leader: AgentId | undefined,
  changedAtMs: number,
): ElectionEvent {
  const next = term((before?.term ?? 0n) + 1n);
  const changed = { type: "leader.changed", group, term: next, changedAtMs } as const;
  return leader === undefined ? changed : { ...changed, leader };
}

/** `busSequence` is where the event stands on the bus, if it is published. */
export function evolve(
  elections: OwnElections,
  event: ElectionEvent,
  { busSequence }: { readonly busSequence: number },
): void {
  const { group } = event;
  const before = elections.groups.get(group) ?? {
    group,
    candidates: [],
    term: term(0n),
    changedAtMs: 0,
    busSequence: 0,
  };
  switch (event.type) {
    case "election.joined":
      put(elections, { ...before, candidates: [...before.candidates, event.agentId] });
      index(elections, event.agentId, group);
      return;
    case "election.left": {
      const candidates = before.candidates.filter((candidate) => candidate !== event.agentId);
      put(elections, { ...before, candidates });
      const groups = elections.byCandidate.get(event.agentId);
      groups?.delete(group);
      if (groups?.size === 0) elections.byCandidate.delete(event.agentId);
      return;
    }
    case "leader.changed": {
      const { candidates } = before;
      const { term, changedAtMs, leader } = event;
      const after = { group, candidates, term, changedAtMs, busSequence };
      put(elections, leader === undefined ? after : { ...after, leader });
      return;
    }
  }
}

/** Groups without candidates are not shown. They are stored only for their terms. */
export function isContested({ candidates }: Election): boolean {
  return candidates.length > 0;
}

function put(elections: OwnElections, election: Election): void {
  const before = elections.groups.get(election.group);
  if (before && isContested(before)) elections.contestedCount -= 1;
  if (isContested(election)) elections.contestedCount += 1;
  elections.groups.set(election.group, election);
}

export function putElection(elections: OwnElections, election: Election): void {
  put(elections, election);
  for (const candidate of election.candidates) index(elections, candidate, election.group);
}

function index(elections: OwnElections, candidate: AgentId, group: GroupName): void {
  const groups = elections.byCandidate.get(candidate);
  if (groups) groups.add(group);
  else elections.byCandidate.set(candidate, new Set([group]));
}
