/**
 * Who was told what, and who owes what to whom: jobs and sessions as the events tell of them, kept in the most
 * wasteful way there is. What the core recomputes from a journal is written down here, number by number.
 */
import assert from "node:assert/strict";
import type { Amount, Event, Job } from "../../src/core/index.ts";

export type LedgerJob = {
  readonly id: string;
  readonly principal: string;
  readonly requestId: string | undefined;
  readonly parentId: string | undefined;
  readonly delegateId: string | undefined;
  readonly depth: number;
  readonly key: { readonly text: string; readonly fingerprint: string } | undefined;
  readonly isRepeatable: boolean;
  readonly createdAtMs: number;
  readonly runMsMax: number;
  readonly expiresAtMs: number;
  /** What it may call: nothing, something, anything. */
  readonly reach: number;
  sessions: string[];
  state: "preparing" | "pending" | "running" | "ended";
  attempt: number;
  isRemote: boolean;
  cancelledUntilMs: number | undefined;
  /** Whether somebody wished that it ends. */
  isWished: boolean;
  orphanedUntilMs: number | undefined;
  workerSequence: number;
  status: string;
  isInterrupted: boolean;
  endedAtMs: number;
  endedSequence: number;
  /** In hundredths, by currency. */
  readonly purses: Map<string, Purse>;
  readonly reserved: Map<string, readonly Amount[]>;
};

type Purse = { readonly cap: number; spent: number; reserved: number };

export type LedgerSession = {
  readonly id: string;
  readonly principal: string;
  readonly windowMs: number;
  tokenHash: string;
  /** While nobody has heard that its connection ended: the token that was shown for it. */
  shownHash: string | undefined;
  attachment: number;
  detachedAtMs: number | undefined;
  /** How long it can be resumed, where that is not `windowMs`. */
  detachedWindowMs: number | undefined;
  skips: readonly string[];
  readonly follows: Set<string>;
  /** The first has number 1. */
  readonly told: Told[];
  acknowledged: number;
  /** Up to here nothing may be asked for again. */
  begin: number;
};

/** An entry, and the one from which on the log must be there to tell it again. */
export type Told = { readonly sequence: number; readonly neededSequence: number };

/** An entry that sessions are told of. An end has no kind: nobody passes over it. */
export type Said = {
  readonly sequence: number;
  readonly jobId: string;
  readonly kind: string | undefined;
};

export type LedgerCredential = {
  readonly jobId: string;
  readonly number: number;
  readonly credentialId: string;
  readonly valueHash: string;
  readonly state: "live" | "ended" | "stuck";
  /** Whether its value went with the process. */
  isLost: boolean;
};

export class Ledger {
  jobs: Map<string, LedgerJob> = new Map();
  /** All that were not revoked, by job and number. */
  credentials: Map<string, LedgerCredential> = new Map();
  /** Of these only what they may spend counts on, as long as others spend it. */
  forgotten: Map<string, LedgerJob> = new Map();
  sessions: Map<string, LedgerSession> = new Map();
  said: Said[] = [];

  copy(): Ledger {
    const copy = new Ledger();
    copy.jobs = structuredClone(this.jobs);
    copy.forgotten = structuredClone(this.forgotten);
    copy.sessions = structuredClone(this.sessions);
    copy.credentials = structuredClone(this.credentials);
    copy.said = [...this.said];
    return copy;
  }

  apply(event: Event, sequence: number): void {
    switch (event.type) {
      case "plane.opened":
        for (const session of this.sessions.values()) session.detachedAtMs ??= event.atMs;
        for (const credential of this.credentials.values()) credential.isLost = true;
        return;
      case "job.preparing":
        this.jobs.set(event.job.id, newJob(event.job));
        return;
      case "job.accepted": {
        const job = this.jobs.get(event.job.id) ?? newJob(event.job);
        job.state = "pending";
        this.jobs.set(job.id, job);
        for (const id of event.job.sessionIds.slice(0, 1)) this.#follow(id, job.id);
        return;
      }
      case "job.withdrawn":
        this.jobs.delete(event.jobId);
        return;
      case "job.joined":
        this.job(event.jobId).sessions.push(event.sessionId);
        this.#follow(event.sessionId, event.jobId);
        return;
      case "job.started": {
        const job = this.job(event.jobId);
        const { attempt, worker } = event;
        const started = { attempt, isRemote: worker.isRemote };
        Object.assign(job, { state: "running", workerSequence: 0, ...started });
        return;
      }
      case "job.emitted": {
        const { jobId, kind, spent, workerSequence } = event;
        const job = this.job(jobId);
        job.workerSequence = workerSequence ?? job.workerSequence;
        if (spent) this.#count(job, spent, "spent", 1);
        this.#tell({ sequence, jobId, kind });
        return;
      }
      case "job.reserved": {
        const job = this.job(event.jobId);
        job.reserved.set(event.reservationId, event.amounts);
        for (const amount of event.amounts) this.#count(job, amount, "reserved", 1);
        return;
      }
      case "job.spent": {
        const job = this.job(event.jobId);
        const { amounts, reservationId = "", workerSequence } = event;
        job.workerSequence = workerSequence ?? job.workerSequence;
        const reserved = job.reserved.get(reservationId) ?? [];
        for (const amount of amounts) this.#count(job, amount, "spent", 1);
        // Cent by cent: each is taken from the first that has one left.
        const left = reserved.map((amount) => ({ ...amount, cents: hundredths(amount) }));
        for (const { currency, value } of amounts) {
          for (let cent = 0; cent < hundredths({ currency, value }); cent += 1) {
            const from = left.find((one) => one.currency === currency && one.cents > 0);
            if (!from) break;
            from.cents -= 1;
            this.#count(job, { currency, value: { units: 1n, scale: 2 } }, "reserved", -1);
          }
        }
        if (!job.reserved.has(reservationId)) return;
        const rest = left.map(({ currency, cents }) => ({
          currency,
          value: { units: BigInt(cents), scale: 2 },
        }));
        job.reserved.set(reservationId, rest);
        return;
      }
      case "job.settled": {
        const job = this.job(event.jobId);
        const amounts = job.reserved.get(event.reservationId) ?? [];
        job.reserved.delete(event.reservationId);
        for (const amount of amounts) this.#count(job, amount, "reserved", -1);
        for (const amount of event.actual) this.#count(job, amount, "spent", 1);
        return;
      }
      case "job.cancelling": {
        const isWished = !event.isInterruption;
        Object.assign(this.job(event.jobId), { cancelledUntilMs: event.untilMs, isWished });
        return;
      }
      case "job.orphaned":
        this.job(event.jobId).orphanedUntilMs = event.untilMs;
        return;
      case "job.reclaimed":
        this.job(event.jobId).orphanedUntilMs = undefined;
        return;
      case "job.offered":
        Object.assign(this.job(event.jobId), { state: "pending", orphanedUntilMs: undefined });
        return;
      case "job.ended": {
        const { jobId, outcome, isInterrupted = false, atMs } = event;
        const ended = { status: outcome.status, endedAtMs: atMs, endedSequence: sequence };
        Object.assign(this.job(jobId), { state: "ended", isInterrupted, ...ended });
        this.#tell({ sequence, jobId, kind: undefined });
        for (const { follows } of this.sessions.values()) follows.delete(jobId);
        return;
      }
      case "job.forgotten":
        this.forgotten.set(event.jobId, this.job(event.jobId));
        this.jobs.delete(event.jobId);
        return;

      case "credential.issued":
      case "credential.ended":
      case "credential.stuck": {
        const { jobId, number, credentialId, valueHash, state } = event.credential;
        const name = `${jobId} ${number}`;
        const isLost = this.credentials.get(name)?.isLost ?? false;
        this.credentials.set(name, { jobId, number, credentialId, valueHash, state, isLost });
        return;
      }
      case "credential.revoked":
        this.credentials.delete(`${event.credential.jobId} ${event.credential.number}`);
        return;

      case "session.opened": {
        const { id, principal, windowMs, tokenHash, attachment } = event.session;
        const named = { id, principal, windowMs, tokenHash, attachment, skips: event.skips };
        const detached = { detachedAtMs: undefined, detachedWindowMs: undefined };
        const empty = { ...detached, shownHash: undefined, follows: new Set<string>(), told: [] };
        this.sessions.set(id, { ...named, ...empty, acknowledged: 0, begin: 0 });
        return;
      }
      case "session.resumed": {
        const session = this.session(event.session.id);
        session.tokenHash = event.session.tokenHash;
        session.shownHash = event.session.shownHash;
        session.attachment = event.session.attachment;
        session.detachedAtMs = undefined;
        session.detachedWindowMs = undefined;
        session.skips = event.skips ?? session.skips;
        return;
      }
      case "session.detached": {
        const session = this.session(event.sessionId);
        session.detachedAtMs = event.atMs;
        session.detachedWindowMs = event.windowMs;
        session.shownHash = undefined;
        return;
      }
      case "session.expired":
        this.sessions.delete(event.sessionId);
        return;
      case "session.acknowledged": {
        const session = this.session(event.sessionId);
        session.acknowledged = event.eventSequence;
        if (event.eventSequence === session.told.length) session.begin = event.eventSequence;
        return;
      }
      case "session.followed": {
        const session = this.sessions.get(event.sessionId);
        if (event.recalled && session) {
          const { afterSequence } = event.recalled;
          const past = this.past(session, event.jobId, afterSequence);
          const neededSequence = afterSequence + 1;
          session.told.push(...past.map(({ sequence }) => ({ sequence, neededSequence })));
        }
        if (!event.hasEnded) this.#follow(event.sessionId, event.jobId);
        return;
      }
      case "session.left":
        this.session(event.sessionId).follows.delete(event.jobId);
        return;
      case "session.rejected":
        this.said.push({ sequence, jobId: event.jobId, kind: undefined });
        this.session(event.sessionId).told.push({ sequence, neededSequence: sequence });
        return;
      default:
        return;
    }
  }

  job(id: string): LedgerJob {
    const job = this.jobs.get(id);
    assert(job, `there is no job ${id}`);
    return job;
  }

  session(id: string): LedgerSession {
    const session = this.sessions.get(id);
    assert(session, `there is no session ${id}`);
    return session;
  }

  /** The job, the one above it, and so on, also where they are forgotten. */
  lineage(job: LedgerJob): readonly LedgerJob[] {
    const above = job.parentId === undefined ? undefined : this.#any(job.parentId);
    return above ? [job, ...this.lineage(above)] : [job];
  }

  /** What a session would be told of a job's past. */
  past({ skips }: LedgerSession, jobId: string, afterSequence: number): readonly Said[] {
    return this.said.filter(
      ({ jobId: other, kind, sequence }) =>
        other === jobId &&
        sequence > afterSequence &&
        (kind === undefined || !skips.includes(kind)),
    );
  }

  /** Those that a job may use. */
  liveOf(jobId: string): readonly LedgerCredential[] {
    const all = [...this.credentials.values()];
    return all.filter((one) => one.jobId === jobId && one.state === "live");
  }

  /** Whether another job has one of these values. */
  isShared(jobId: string, values: readonly string[]): boolean {
    const others = [...this.credentials.values()].filter((one) => one.jobId !== jobId);
    return others.some(({ state, valueHash }) => state === "live" && values.includes(valueHash));
  }

  isFollowing(sessionId: string | undefined, jobId: string): boolean {
    return this.sessions.get(sessionId ?? "")?.follows.has(jobId) ?? false;
  }

  /** The oldest entry that somebody could still ask for. */
  neededSequence(): number {
    const told = [...this.sessions.values()].flatMap(({ told, acknowledged }) =>
      told.slice(acknowledged).map(({ neededSequence }) => neededSequence),
    );
    const said = this.said.filter(({ jobId }) => this.jobs.has(jobId));
    return Math.min(Number.POSITIVE_INFINITY, ...told, ...said.map(({ sequence }) => sequence));
  }

  #any(id: string): LedgerJob | undefined {
    return this.jobs.get(id) ?? this.forgotten.get(id);
  }

  #follow(sessionId: string, jobId: string): void {
    this.sessions.get(sessionId)?.follows.add(jobId);
  }

  #tell(said: Said): void {
    this.said.push(said);
    const { sequence, jobId, kind } = said;
    for (const { follows, skips, told } of this.sessions.values()) {
      if (!follows.has(jobId) || (kind !== undefined && skips.includes(kind))) continue;
      told.push({ sequence, neededSequence: sequence });
    }
  }

  #count(job: LedgerJob, amount: Amount, what: "spent" | "reserved", sign: number): void {
    for (const { purses } of this.lineage(job)) {
      const purse = purses.get(amount.currency);
      if (purse) purse[what] += sign * hundredths(amount);
    }
  }
}

export function hundredths({ value: { units, scale } }: Amount): number {
  return Math.round(Number(units) * 10 ** (2 - scale));
}

export const reaches: readonly (readonly string[])[] = [[], ["search.*"], ["**"]];

export function pursesOf(entries: readonly string[]): Map<string, Purse> {
  const purses = new Map<string, Purse>();
  for (const entry of entries) {
    const [currency = "", value] = entry.split(":");
    const before = purses.get(currency)?.cap ?? 0;
    const cap = before + Math.round(Number(value) * 100);
    purses.set(currency, { cap, spent: 0, reserved: 0 });
  }
  return purses;
}

export function reachOf(patterns: readonly string[]): number {
  return reaches.findIndex((known) => known.join() === patterns.join());
}

function newJob(job: Job): LedgerJob {
  const { capabilities, expiresAtMs } = job.grant;
  const { id, principal, requestId, parentId, delegateId, depth, key, isRepeatable } = job;
  return {
    ...{ id, principal, requestId, parentId, delegateId, depth, key, isRepeatable },
    createdAtMs: job.createdAtMs,
    runMsMax: job.runMsMax ?? Number.POSITIVE_INFINITY,
    expiresAtMs: expiresAtMs ?? Number.POSITIVE_INFINITY,
    reach: reachOf(capabilities["tool.call"] ?? []),
    sessions: [...job.sessionIds],
    state: "preparing",
    attempt: 0,
    isRemote: false,
    cancelledUntilMs: undefined,
    isWished: true,
    orphanedUntilMs: undefined,
    workerSequence: 0,
    status: "",
    isInterrupted: false,
    endedAtMs: 0,
    endedSequence: 0,
    purses: pursesOf(capabilities["cost.budget"] ?? []),
    reserved: new Map(),
  };
}
