/**
 * Callers' conversations, which outlive their connections. A session is
 * - `attached`: somebody is connected. It becomes detached when the connection ends, or the process does;
 * - `detached`: its events are still numbered, so that its caller can resume, until its window has passed. Then it
 *   is deleted; the jobs it submitted go on.
 *
 * Two things delete a detached session before its window has passed. A caller that said goodbye and has no unfinished
 * job is not expected to resume: its session is deleted after a few seconds. And where a principal has as many
 * sessions as it may, a new one takes the place of the session that has been detached for longest.
 *
 * A session follows jobs and is told their events under numbers of its own, without a gap. The numbers follow
 * from the log: they are counted here, whether anybody is connected or not. What was told is not kept, only
 * how to tell it again: see `journal.ts`.
 */
import { accept, type Decision, type Refusal, refuse } from "./decision.ts";
import type { Failure } from "./failure.ts";
import type { JobId, SessionId } from "./ids.ts";
import {
  type Base,
  type Change,
  covers,
  followsIn,
  forget,
  type Journal,
  type Place,
  recalledFrom,
} from "./journal.ts";
import { limits } from "./limits.ts";
import { PriorityMap } from "./priority-map.ts";
import { putInto, takeFrom } from "./sets-by-key.ts";

export type Session = {
  readonly id: SessionId;
  readonly principal: string;
  /** Of the token with which it can be resumed. The token itself is nowhere here. */
  readonly tokenHash: string;
  /**
   * Of the token that was shown for it. Good once more only where the process died in between: nobody knows whether
   * the newer one was told to anybody then.
   */
  readonly shownHash?: string;
  /** What both sides can do, in the words of the door. */
  readonly features: readonly string[];
  readonly openedAtMs: number;
  /** Unfinished jobs that may be submitted in it. Absent: as many as its principal may have. */
  readonly jobsMax?: number;
  /** How long it is kept without a connection. */
  readonly windowMs: number;
  /** Counts connections: an older one that ends does not end the newest. */
  readonly attachment: number;
  /** Only while nobody is connected. */
  readonly detachedAtMs?: number;
  /** Only while nobody is connected: how long it can be resumed, where that is not `windowMs`. */
  readonly detachedWindowMs?: number;
};

export type Sessions = {
  readonly byId: ReadonlyMap<SessionId, Session>;
  /** The last number that each has been given. */
  readonly lastEventSequences: ReadonlyMap<SessionId, number>;
  /** How far each has said that it has got. */
  readonly acknowledged: ReadonlyMap<SessionId, number>;
  readonly journals: ReadonlyMap<
    SessionId,
    Readonly<OwnJournal> & Journal & { readonly follows: ReadonlySet<JobId> }
  >;
  readonly followers: ReadonlyMap<JobId, ReadonlySet<SessionId>>;
  readonly byPrincipal: ReadonlyMap<string, ReadonlySet<SessionId>>;
  readonly due: Pick<PriorityMap<SessionId>, "first">;
};

type OwnJournal = {
  base: Base;
  readonly changes: Change[];
  /** As they are now: changes are many. */
  skips: readonly string[];
  readonly follows: Set<JobId>;
  /** The oldest entry that something recalled comes from. */
  recalledFrom: number;
};

export type OwnSessions = {
  readonly byId: Map<SessionId, Session>;
  readonly lastEventSequences: Map<SessionId, number>;
  readonly acknowledged: Map<SessionId, number>;
  readonly journals: Map<SessionId, OwnJournal>;
  readonly followers: Map<JobId, Set<SessionId>>;
  readonly byPrincipal: Map<string, Set<SessionId>>;
  readonly due: PriorityMap<SessionId>;
};

export type SessionCommand =
  | RejectRequest
  | {
      readonly type: "session.open";
      readonly sessionId: SessionId;
      readonly principal: string;
      readonly tokenHash: string;
      readonly features: readonly string[];
      readonly skips: readonly string[];
      readonly windowMs: number;
      readonly jobsMax?: number;
      /** How many its principal may have; as many as usual, if absent. */
      readonly sessionsOfPrincipalMax?: number | undefined;
    }
  /** Refused in the same words whatever is wrong: a stranger learns nothing. */
  | {
      readonly type: "session.resume";
      readonly sessionId: SessionId;
      readonly principal: string;
      /** Of the token that was shown, and of the one that is good from now on. */
      readonly shownHash: string;
      readonly tokenHash: string;
      readonly afterEventSequence: number;
      /** What was negotiated anew; absent: as it was. */
      readonly jobsMax?: number;
      readonly features?: readonly string[];
      readonly skips?: readonly string[];
    }
  | {
      readonly type: "session.detach";
      readonly sessionId: SessionId;
      readonly attachment: number;
      /** Whether its caller said goodbye, rather than lost its connection. */
      readonly saidBye?: boolean;
    }
  | {
      readonly type: "session.acknowledge";
      readonly sessionId: SessionId;
      readonly eventSequence: number;
    }
  | {
      readonly type: "session.leave";
      readonly sessionId: SessionId;
      readonly jobId: JobId;
    };

/** To be told of a job from now on, and of its past if `history` is there. */
export type FollowJob = {
  readonly type: "session.follow";
  readonly sessionId: SessionId;
  readonly jobId: JobId;
  /** Whether somebody has allowed it to see jobs of others. */
  readonly mayObserve: boolean;
  /** What comes after this entry; so many before it would have been told too. */
  readonly history?: { readonly afterSequence: number; readonly before: number };
};

/** What it asked for was refused, and it is to be told so under a number. */
export type RejectRequest = {
  readonly type: "session.reject";
  readonly sessionId: SessionId;
  /** Of no job. */
  readonly jobId: JobId;
  readonly requestId: string;
  readonly traceId?: string;
  readonly failure: Failure;
};

export type SessionEvent =
  | {
      readonly type: "session.opened";
      readonly session: Session;
      readonly skips: readonly string[];
    }
  | {
      readonly type: "session.resumed";
      readonly session: Session;
      /** Only if they changed. */
      readonly skips?: readonly string[];
    }
  | {
      readonly type: "session.detached";
      readonly sessionId: SessionId;
      readonly atMs: number;
      /** How long it can be resumed from now on; absent: for its window. */
      readonly windowMs?: number;
    }
  | { readonly type: "session.expired"; readonly sessionId: SessionId }
  /** Not each one: see `decide`. */
  | {
      readonly type: "session.acknowledged";
      readonly sessionId: SessionId;
      readonly eventSequence: number;
    }
  | {
      readonly type: "session.followed";
      readonly sessionId: SessionId;
      readonly jobId: JobId;
      /** What it is told of the past, where it asked for that. */
      readonly recalled?: { readonly afterSequence: number; readonly count: number };
      /** Of a job that has ended nothing more will come. */
      readonly hasEnded: boolean;
    }
  | { readonly type: "session.left"; readonly sessionId: SessionId; readonly jobId: JobId }
  | (Omit<RejectRequest, "type"> & { readonly type: "session.rejected"; readonly atMs: number });

export function emptySessions(): OwnSessions {
  return {
    byId: new Map(),
    lastEventSequences: new Map(),
    acknowledged: new Map(),
    journals: new Map(),
    followers: new Map(),
    byPrincipal: new Map(),
    due: new PriorityMap(),
  };
}

/** Whether whoever resumes has a token that is good (ARCP-62). */
function knows(
  { tokenHash, shownHash, detachedAtMs }: Session,
  shown: { readonly shownHash: string },
): boolean {
  const wasCutOff = detachedAtMs !== undefined && shownHash === shown.shownHash;
  return tokenHash === shown.shownHash || wasCutOff;
}

/** What other rooms know, and these rules ask for. */
export type SessionContext = {
  /** The first entry that the log still has. */
  readonly oldestSequence?: number;
  /** With `session.detach`: whether the session follows a job of its own that has not ended. */
  readonly hasUnfinishedJob?: boolean;
};

export function decide(
  sessions: Sessions,
  command: SessionCommand,
  nowMs: number,
  { oldestSequence = 1, hasUnfinishedJob = false }: SessionContext = {},
): Decision<SessionEvent> {
  switch (command.type) {
    case "session.open":
      return open(sessions, command, nowMs);
    case "session.resume": {
      const session = sessions.byId.get(command.sessionId);
      const journal = sessions.journals.get(command.sessionId);
      const last = lastEventSequence(sessions, command.sessionId);
      const isTheirs = session?.principal === command.principal && knows(session, command);
      const after = command.afterEventSequence;
      const isCovered = journal !== undefined && covers(journal, { after, last, oldestSequence });
      if (!session || !isTheirs || !isCovered) {
        return refuse("session_gone", "this session cannot be resumed; open a new one");
      }
      const { detachedAtMs: _, detachedWindowMs: __, ...rest } = session;
      const { tokenHash, shownHash, features = session.features, skips, jobsMax } = command;
      const attachment = session.attachment + 1;
      const limited = jobsMax === undefined ? {} : { jobsMax };
      const resumed = { ...rest, tokenHash, shownHash, features, ...limited, attachment };
      return accept({ type: "session.resumed", session: resumed, ...(skips && { skips }) });
    }
    case "session.detach": {
      const session = sessions.byId.get(command.sessionId);
      const isCurrent = session?.attachment === command.attachment;
      if (!isCurrent || session?.detachedAtMs !== undefined) return accept();
      const detached = { type: "session.detached", sessionId: session.id, atMs: nowMs } as const;
      if (!command.saidBye || hasUnfinishedJob) return accept(detached);
      const windowMs = Math.min(session.windowMs, limits.windowAfterByeMs);
      return accept({ ...detached, windowMs });
    }
    case "session.acknowledge": {
      const { sessionId } = command;
      const session = sessions.byId.get(sessionId);
      if (!session) return refuse("session_gone", `there is no session ${sessionId}`);
      const last = lastEventSequence(sessions, sessionId);
      const eventSequence = Math.min(command.eventSequence, last);
      const known = sessions.acknowledged.get(sessionId) ?? 0;
      // What is acknowledged only frees room, so that a few less than that may be written down.
      const isWorthIt = eventSequence - known >= limits.journalMarkEvents;
      return isWorthIt
        ? accept({ type: "session.acknowledged", sessionId, eventSequence })
        : accept();
    }
    case "session.reject": {
      const { type: _, ...rejected } = command;
      if (!sessions.byId.has(command.sessionId)) {
        return refuse("session_gone", `there is no session ${command.sessionId}`);
      }
      return accept({ type: "session.rejected", ...rejected, atMs: nowMs });
    }
    case "session.leave": {
      const { sessionId, jobId } = command;
      const isFollower = sessions.followers.get(jobId)?.has(sessionId) ?? false;
      return isFollower ? accept({ type: "session.left", sessionId, jobId }) : accept();
    }
  }
}

function open(
  sessions: Sessions,
  command: SessionCommand & { readonly type: "session.open" },
  nowMs: number,
): Decision<SessionEvent> {
  const { sessionId: id, principal, tokenHash, features, skips, windowMs, jobsMax } = command;
  if (sessions.byId.has(id)) return refuse("key_reused", `there is a session ${id} already`);
  const { replaced, refusal } = makeRoom(sessions, command);
  if (refusal) return { refusal };
  const session = {
    id,
    principal,
    tokenHash,
    features,
    openedAtMs: nowMs,
    ...(jobsMax !== undefined && { jobsMax }),
    windowMs,
    attachment: 1,
  };
  const opened = { type: "session.opened", session, skips } as const;
  if (replaced === undefined) return accept(opened);
  return accept<SessionEvent>({ type: "session.expired", sessionId: replaced }, opened);
}

/**
 * The detached session that a new one replaces, if there are as many as there may be. A program that opens sessions
 * and does not come back must not lock out its principal, nor others, until their windows have passed.
 */
function makeRoom(
  { byId, byPrincipal, due }: Sessions,
  { principal, ...command }: SessionCommand & { readonly type: "session.open" },
): { readonly replaced?: SessionId | undefined; readonly refusal?: Refusal } {
  const { sessionsOfPrincipalMax: ownMax = limits.sessionsOfPrincipalMax } = command;
  const own = byPrincipal.get(principal);
  if (own && own.size >= ownMax) {
    const replaced = longestDetached(byId, own);
    if (replaced !== undefined) return { replaced };
    const message = `${principal} has ${own.size} connected sessions, and its limit is ${ownMax}; close one, or try again later`;
    return refuse("limit_reached", message);
  }
  if (byId.size < limits.sessionsMax) return {};
  const replaced = (own && longestDetached(byId, own)) ?? due.first?.key;
  if (replaced !== undefined) return { replaced };
  return refuse("limit_reached", `${limits.sessionsMax} sessions are connected; try again later`);
}

function longestDetached(
  byId: Sessions["byId"],
  sessionIds: ReadonlySet<SessionId>,
): SessionId | undefined {
  let longest: SessionId | undefined;
  let sinceMs = Number.POSITIVE_INFINITY;
  for (const id of sessionIds) {
    const { detachedAtMs = Number.POSITIVE_INFINITY } = byId.get(id) ?? {};
    if (detachedAtMs >= sinceMs) continue;
    longest = id;
    sinceMs = detachedAtMs;
  }
  return longest;
}

/** The oldest entry without which something could not be told again; infinite if nothing is left to tell. */
export function neededSequence(sessions: Sessions): number {
  let needed = Number.POSITIVE_INFINITY;
  for (const [id, { base, recalledFrom }] of sessions.journals) {
    if (lastEventSequence(sessions, id) === base.eventSequence) continue;
    needed = Math.min(needed, base.sequence + 1, recalledFrom);
  }
  return needed;
}

export function lastEventSequence(sessions: Sessions, id: SessionId): number {
  return sessions.lastEventSequences.get(id) ?? 0;
}

/** `sequence` is that of the event in the log. */
export function evolve(
  sessions: OwnSessions,
  event: SessionEvent,
  { sequence }: { readonly sequence: number },
): void {
  switch (event.type) {
    case "session.opened": {
      const { session, skips } = event;
      putSession(sessions, session);
      const base = { sequence, eventSequence: 0, follows: [], skips };
      putJournal(sessions, session.id, { base, changes: [] });
      sessions.lastEventSequences.set(session.id, 0);
      return;
    }
    case "session.resumed": {
      const { session, skips } = event;
      putSession(sessions, session);
      if (skips) record(sessions, session.id, { type: "skips", skips }, sequence);
      return;
    }
    case "session.detached": {
      const session = sessions.byId.get(event.sessionId);
      if (!session) return;
      const { shownHash: _, ...rest } = session;
      const { atMs: detachedAtMs, windowMs: detachedWindowMs } = event;
      const window = detachedWindowMs === undefined ? {} : { detachedWindowMs };
      putSession(sessions, { ...rest, detachedAtMs, ...window });
      return;
    }
    case "session.expired":
      deleteSession(sessions, event.sessionId);
      return;
    case "session.acknowledged":
      sessions.acknowledged.set(event.sessionId, event.eventSequence);
      if (event.eventSequence < lastEventSequence(sessions, event.sessionId)) {
        moveBase(sessions, event.sessionId, event.eventSequence);
      } else {
        beginAfter(sessions, event.sessionId, sequence);
      }
      return;
    case "session.followed": {
      const { sessionId, jobId, recalled, hasEnded } = event;
      if (recalled) recall(sessions, sessionId, { jobId, ...recalled }, sequence);
      if (!hasEnded) follow(sessions, sessionId, jobId, sequence);
      return;
    }
    case "session.left":
      leave(sessions, event.sessionId, event.jobId, sequence);
      return;
    case "session.rejected": {
      const past = { jobId: event.jobId, afterSequence: sequence - 1, count: 1 };
      recall(sessions, event.sessionId, past, sequence);
      return;
    }
  }
}

/** All that had a connection lost it when the process ended: their windows begin now. */
export function detachAll(sessions: OwnSessions, atMs: number): void {
  for (const session of sessions.byId.values()) {
    if (session.detachedAtMs === undefined)
      putSession(sessions, { ...session, detachedAtMs: atMs });
  }
}

/** From here on the session is told what happens to the job. */
export function follow(
  sessions: OwnSessions,
  sessionId: SessionId,
  jobId: JobId,
  sequence: number,
): void {
  const followers = sessions.followers.get(jobId) ?? new Set();
  if (!sessions.byId.has(sessionId) || followers.has(sessionId)) return;
  sessions.followers.set(jobId, followers.add(sessionId));
  record(sessions, sessionId, { type: "followed", jobId }, sequence);
}

/** Something of the past is told at once. */
export function recall(
  sessions: OwnSessions,
  sessionId: SessionId,
  past: { readonly jobId: JobId; readonly afterSequence: number; readonly count: number },
  sequence: number,
): void {
  if (!sessions.byId.has(sessionId) || past.count === 0) return;
  if (hasNothingToTell(sessions, sessionId)) beginAfter(sessions, sessionId, sequence - 1);
  record(sessions, sessionId, { type: "recalled", ...past }, sequence);
  advance(sessions, sessionId, past.count, sequence);
}

/** An event of a job: one more number for each of its followers, but those who pass over its kind. */
export function tell(
  sessions: OwnSessions,
  { jobId, kind }: { readonly jobId: JobId; readonly kind?: string },
  sequence: number,
): void {
  const followers = sessions.followers.get(jobId);
  if (!followers) return;
  for (const sessionId of followers) {
    if (kind !== undefined && sessions.journals.get(sessionId)?.skips.includes(kind)) continue;
    if (hasNothingToTell(sessions, sessionId)) beginAfter(sessions, sessionId, sequence - 1);
    advance(sessions, sessionId, 1, sequence);
  }
}

/** The job has ended, and all have been told. */
export function dismiss(sessions: OwnSessions, jobId: JobId, sequence: number): void {
  for (const sessionId of sessions.followers.get(jobId) ?? []) {
    leave(sessions, sessionId, jobId, sequence);
  }
}

/** The kinds that a session passes over just now. */
export function skipsOf(sessions: Sessions, id: SessionId): readonly string[] {
  return sessions.journals.get(id)?.skips ?? [];
}

function leave(sessions: OwnSessions, sessionId: SessionId, jobId: JobId, sequence: number): void {
  const followers = sessions.followers.get(jobId);
  if (!followers?.delete(sessionId)) return;
  if (followers.size === 0) sessions.followers.delete(jobId);
  record(sessions, sessionId, { type: "left", jobId }, sequence);
}

function advance(sessions: OwnSessions, id: SessionId, count: number, sequence: number): void {
  const last = lastEventSequence(sessions, id) + count;
  sessions.lastEventSequences.set(id, last);
  const journal = sessions.journals.get(id);
  if (!journal) return;
  const placed = journal.changes.at(-1) ?? journal.base;
  if (last - placed.eventSequence >= limits.journalMarkEvents) {
    record(sessions, id, { type: "mark" }, sequence);
  }
}

function record(
  sessions: OwnSessions,
  id: SessionId,
  change: DistributiveOmit<Change, keyof Place>,
  sequence: number,
): void {
  const journal = sessions.journals.get(id);
  if (!journal) return;
  const eventSequence = lastEventSequence(sessions, id);
  journal.changes.push({ ...change, sequence, eventSequence });
  if (change.type === "skips") journal.skips = change.skips;
  if (change.type === "followed") journal.follows.add(change.jobId);
  if (change.type === "left") journal.follows.delete(change.jobId);
  if (change.type === "recalled") {
    journal.recalledFrom = Math.min(journal.recalledFrom, change.afterSequence + 1);
  }
  const { journalChangesMax, journalEventsMax } = limits;
  const first = journal.changes[journalChangesMax / 4];
  if (first && journal.changes.length > journalChangesMax)
    moveBase(sessions, id, first.eventSequence);
  if (eventSequence - journal.base.eventSequence > journalEventsMax) {
    moveBase(sessions, id, eventSequence - journalEventsMax);
  }
}

type DistributiveOmit<Value, Key extends PropertyKey> = Value extends unknown
  ? Omit<Value, Key>
  : never;

function moveBase(sessions: OwnSessions, id: SessionId, upToEventSequence: number): void {
  const journal = sessions.journals.get(id);
  if (!journal) return;
  const { base, forgotten } = forget(journal, upToEventSequence);
  journal.base = base;
  const gone = journal.changes.splice(0, forgotten);
  if (recalledFrom(gone) <= journal.recalledFrom) {
    journal.recalledFrom = recalledFrom(journal.changes);
  }
}

/** Whether there is no number that could be asked for again. */
function hasNothingToTell(sessions: Sessions, id: SessionId): boolean {
  return sessions.journals.get(id)?.base.eventSequence === lastEventSequence(sessions, id);
}

/** The journal starts over, so that nothing older is kept for it: all until then is told, or was never its own. */
function beginAfter(sessions: OwnSessions, id: SessionId, sequence: number): void {
  const journal = sessions.journals.get(id);
  if (!journal) return;
  const { follows, skips } = journal;
  const eventSequence = lastEventSequence(sessions, id);
  journal.base = { sequence, eventSequence, follows: [...follows], skips };
  journal.changes.length = 0;
  journal.recalledFrom = Number.POSITIVE_INFINITY;
}

function putSession(sessions: OwnSessions, session: Session): void {
  const { id, principal, detachedAtMs, windowMs, detachedWindowMs = windowMs } = session;
  sessions.byId.set(id, session);
  putInto(sessions.byPrincipal, principal, id);
  if (detachedAtMs === undefined) sessions.due.delete(id);
  else sessions.due.set(id, detachedAtMs + detachedWindowMs);
}

function putJournal(sessions: OwnSessions, id: SessionId, { base, changes }: Journal): void {
  const last = changes.findLast(({ type }) => type === "skips");
  const skips = last?.type === "skips" ? last.skips : base.skips;
  const follows = new Set(followsIn({ base, changes }));
  const journal = { base, changes: [...changes], skips, follows };
  sessions.journals.set(id, { ...journal, recalledFrom: recalledFrom(changes) });
}

function deleteSession(sessions: OwnSessions, id: SessionId): void {
  const session = sessions.byId.get(id);
  if (session) takeFrom(sessions.byPrincipal, session.principal, id);
  for (const jobId of sessions.journals.get(id)?.follows ?? []) {
    takeFrom(sessions.followers, jobId, id);
  }
  sessions.byId.delete(id);
  sessions.journals.delete(id);
  sessions.lastEventSequences.delete(id);
  sessions.acknowledged.delete(id);
  sessions.due.delete(id);
}

/** All that is kept of one session, as it is now. */
export type SessionRow = {
  readonly session: Session;
  readonly lastEventSequence: number;
  readonly acknowledged: number;
  readonly base: Base;
  readonly changes: readonly Change[];
};

export function rowOfSession(sessions: Sessions, session: Session): SessionRow {
  const { id } = session;
  const { base, changes } = sessions.journals.get(id) ?? nothingTold;
  return {
    session,
    lastEventSequence: lastEventSequence(sessions, id),
    acknowledged: sessions.acknowledged.get(id) ?? 0,
    base,
    changes: [...changes],
  };
}

export function putSessionRow(sessions: OwnSessions, row: SessionRow): void {
  const { session, base, changes } = row;
  putSession(sessions, session);
  putJournal(sessions, session.id, { base, changes });
  sessions.lastEventSequences.set(session.id, row.lastEventSequence);
  if (row.acknowledged > 0) sessions.acknowledged.set(session.id, row.acknowledged);
  for (const jobId of followsIn({ base, changes })) {
    putInto(sessions.followers, jobId, session.id);
  }
}

const nothingTold: Journal = {
  base: { sequence: 0, eventSequence: 0, follows: [], skips: [] },
  changes: [],
};
