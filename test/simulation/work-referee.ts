/** Objects to whatever should not have happened to a job or a session. Part of the referee, and as plain. */
import assert from "node:assert/strict";
import type { Amount, Event, Job } from "../../src/core/index.ts";
import type { Entry } from "../../src/log/index.ts";
import {
  hundredths,
  Ledger,
  type LedgerCredential,
  type LedgerJob,
  type LedgerSession,
} from "./ledger.ts";

const dayMs = 86_400_000;

export class WorkReferee {
  readonly ledger: Ledger = new Ledger();
  /** From the opening of the log until somebody asks for something. */
  #isRecovering = false;

  judge({ event, sequence, atMs, actor }: Entry): void {
    if (this.#isRecovering && actor !== "system") this.#judgeRecovery();
    this.#judgeEvent(event, { atMs, actor });
    this.ledger.apply(event, sequence);
    if (event.type === "plane.opened") this.#isRecovering = true;
  }

  judgeEndOfAppend(): void {
    if (this.#isRecovering) this.#judgeRecovery();
    for (const job of this.ledger.jobs.values()) {
      if (job.state === "ended") assert.equal(job.reserved.size, 0, `${job.id} owes still`);
      this.#judgeOrphan(job);
    }
    for (const { jobId, state, credentialId, valueHash } of this.ledger.credentials.values()) {
      if (state !== "live") continue;
      const job = this.ledger.jobs.get(jobId);
      assert(job && job.state !== "ended", `${credentialId} outlives ${jobId}`);
      assert(!this.ledger.isShared(jobId, [valueHash]), `${credentialId} is another's as well`);
      const parent = this.ledger.jobs.get(job.parentId ?? "");
      assert.notEqual(parent?.state, "ended", `${credentialId} outlives what asked for ${jobId}`);
    }
  }

  /** Whatever has a time has ended at it. */
  judgeTime(nowMs: number): void {
    for (const session of this.ledger.sessions.values()) {
      assert(
        goneAtMs(session) > nowMs,
        `${session.id} could be resumed until ${goneAtMs(session)}`,
      );
    }
    for (const job of this.ledger.jobs.values()) {
      const isEnded = job.state === "ended";
      const isHeld = isEnded && this.#hasOffspring(job);
      const endsAtMs = isEnded ? job.endedAtMs + dayMs : deadlineOf(job);
      assert(endsAtMs > nowMs || isHeld, `${job.id} should be over`);
    }
  }

  #judgeEvent(event: Event, how: { readonly atMs: number; readonly actor: string }): void {
    const { ledger } = this;
    const { atMs } = how;
    switch (event.type) {
      case "job.preparing":
        this.#judgeNew(event.job, atMs);
        return;
      case "job.accepted":
        if (!ledger.jobs.has(event.job.id)) this.#judgeNew(event.job, atMs);
        else assert.equal(ledger.job(event.job.id).state, "preparing", "accepted once");
        assert.equal(event.job.state, "pending");
        return;
      case "job.withdrawn":
        assert.equal(ledger.job(event.jobId).state, "preparing", "what was accepted stays");
        return;
      case "job.joined": {
        const job = this.#require(event.jobId, ["pending", "running"]);
        assert(!job.sessions.includes(event.sessionId), "it asked for it before");
        return;
      }
      case "job.started": {
        const job = this.#require(event.jobId, ["pending"]);
        assert.equal(event.attempt, job.attempt + 1);
        assert.equal(event.atMs, atMs);
        const isBereft = ledger.liveOf(job.id).some(({ isLost }) => isLost);
        assert(!isBereft, "nobody has its credentials any more");
        return;
      }
      case "job.emitted": {
        const { workerSequence, kind, ownSequence } = event;
        // A question may close while its job waits for another worker.
        const isClosing = kind === "question_closed";
        const job = this.#require(event.jobId, isClosing ? ["pending", "running"] : ["running"]);
        assert((workerSequence ?? Number.POSITIVE_INFINITY) > job.workerSequence, "said twice");
        assert.equal(ownSequence, this.#nextOwn(job, kind), "its number in its own session");
        return;
      }
      case "job.reserved": {
        const job = this.#require(event.jobId, ["running"]);
        assert(!job.reserved.has(event.reservationId), "reserved twice");
        this.#judgeReserved(job, event.amounts);
        return;
      }
      case "job.spent": {
        const job = this.#require(event.jobId, ["pending", "running", "ended"]);
        const { reservationId, workerSequence } = event;
        if (reservationId !== undefined) assert(job.reserved.has(reservationId), "counted twice");
        assert((workerSequence ?? Number.POSITIVE_INFINITY) > job.workerSequence, "said twice");
        return;
      }
      case "job.settled":
        assert(ledger.job(event.jobId).reserved.has(event.reservationId), "nothing to settle");
        return;
      case "job.cancelling": {
        const job = this.#require(event.jobId, ["running"]);
        assert.equal(job.cancelledUntilMs, undefined, "cancelled once");
        assert(event.untilMs >= atMs);
        return;
      }
      case "job.orphaned": {
        const job = this.#require(event.jobId, ["running"]);
        if (this.#isRecovering) assert(job.isRemote, "nobody will come back for it");
        else assert(event.untilMs < (job.orphanedUntilMs ?? Number.POSITIVE_INFINITY), "put off");
        return;
      }
      case "job.reclaimed": {
        const { orphanedUntilMs } = this.#require(event.jobId, ["running"]);
        assert(orphanedUntilMs !== undefined && orphanedUntilMs > atMs, "too late");
        return;
      }
      case "job.offered": {
        const job = this.#require(event.jobId, ["running"]);
        assert(job.isRepeatable, "what it has done already would be done twice");
        assert.equal(job.cancelledUntilMs, undefined, "who cancelled it was told that it ends");
        this.#judgeLoss(job, atMs);
        return;
      }
      case "job.ended":
        this.#judgeEnd(event, how);
        return;
      case "job.forgotten": {
        const job = this.#require(event.jobId, ["ended"]);
        assert(atMs >= job.endedAtMs + dayMs, "too soon");
        assert(!this.#hasOffspring(job), "others spend what it may");
        return;
      }

      case "credential.issued": {
        const { jobId, number } = event.credential;
        assert(!ledger.credentials.has(`${jobId} ${number}`), "numbers are given once");
        assert.equal(event.credential.state, "live");
        return;
      }
      case "credential.ended":
        assert.equal(this.#credential(event).state, "live");
        return;
      case "credential.stuck":
        assert.equal(this.#credential(event).state, "ended");
        return;
      case "credential.revoked":
        assert.notEqual(this.#credential(event).state, "live", "its job may use it");
        return;

      case "session.opened":
        assert(!ledger.sessions.has(event.session.id), "an id is given once");
        return;
      case "session.resumed": {
        const before = this.#requireOpen(event.session.id, atMs);
        assert.equal(event.session.attachment, before.attachment + 1);
        assert.equal(event.session.principal, before.principal);
        assert.notEqual(event.session.tokenHash, before.tokenHash, "each token is good once");
        assert.equal(event.session.detachedAtMs, undefined);
        return;
      }
      case "session.detached":
        assert.equal(this.#requireOpen(event.sessionId, atMs).detachedAtMs, undefined);
        assert.equal(event.atMs, atMs);
        if (event.windowMs !== undefined) this.#requireIdle(event.sessionId);
        return;
      case "session.expired": {
        // The end of all time for a session that somebody is connected to.
        assert(atMs >= goneAtMs(ledger.session(event.sessionId)), "it could have been resumed");
        return;
      }
      case "session.acknowledged": {
        const { told, acknowledged } = this.#requireOpen(event.sessionId, atMs);
        assert(event.eventSequence > acknowledged && event.eventSequence <= told.length);
        return;
      }
      case "session.followed": {
        const job = this.#require(event.jobId, ["pending", "running", "ended"]);
        assert.equal(event.hasEnded, job.state === "ended");
        const session = ledger.sessions.get(event.sessionId);
        if (!event.recalled || !session) return;
        const past = ledger.past(session, event.jobId, event.recalled.afterSequence);
        assert.equal(event.recalled.count, past.length, "as many as there are");
        return;
      }
      case "session.left":
        assert(ledger.isFollowing(event.sessionId, event.jobId), "it had not followed");
        return;
      case "session.rejected":
        this.#requireOpen(event.sessionId, atMs);
        assert(!ledger.jobs.has(event.jobId), "a refusal is of no job");
        return;
      default:
        return;
    }
  }

  #judgeNew(job: Job, atMs: number): void {
    const { ledger } = this;
    assert(!ledger.jobs.has(job.id) && !ledger.forgotten.has(job.id), "an id is given once");
    for (const other of ledger.jobs.values()) {
      const isSame = other.principal === job.principal && other.key?.text === job.key?.text;
      assert(!isSame || job.key === undefined, `${other.id} has the key`);
      const isAgain =
        job.requestId !== undefined &&
        other.sessions[0] === job.sessionIds[0] &&
        other.requestId === job.requestId;
      assert(!isAgain, `${other.id} is the same request`);
    }
    assert((job.grant.expiresAtMs ?? Number.POSITIVE_INFINITY) > atMs);
    if (job.parentId === undefined) return;
    const parent = ledger.job(job.parentId);
    assert.notEqual(parent.state, "ended", "what has ended asks for nothing");
    assert.equal(parent.principal, job.principal);
    assert((job.grant.expiresAtMs ?? Number.POSITIVE_INFINITY) <= parent.expiresAtMs);
  }

  /** What is set aside is within every cap above it. */
  #judgeReserved(job: LedgerJob, amounts: readonly Amount[]): void {
    for (const { id, purses } of this.ledger.lineage(job)) {
      for (const [currency, { cap, spent, reserved }] of purses) {
        const wanted = amounts
          .filter((amount) => amount.currency === currency)
          .reduce((sum, amount) => sum + hundredths(amount), 0);
        assert(wanted === 0 || spent + reserved + wanted <= cap, `${id} cannot spend that much`);
      }
    }
  }

  #judgeEnd(
    event: Event & { readonly type: "job.ended" },
    { atMs, actor }: { readonly atMs: number; readonly actor: string },
  ): void {
    const job = this.#require(event.jobId, ["pending", "running"]);
    const { status } = event.outcome;
    const code = event.outcome.status === "success" ? "" : event.outcome.failure.code;
    assert.equal(event.atMs, atMs);
    assert.equal(job.reserved.size, 0, "what it had set aside is settled first");
    const isRunning = job.state === "running";
    const isCancelled = isRunning && job.cancelledUntilMs !== undefined;
    if (isCancelled) assert.equal(status, "cancelled", "who cancelled it was told so");
    const isOurs = code === "worker_lost" || code === "credentials_lost";
    const isInterrupted = isCancelled ? !job.isWished : isOurs;
    // One that waits may be cancelled for either reason, and its end is all that is told.
    if (isRunning || isOurs) assert.equal(event.isInterrupted ?? false, isInterrupted);
    if (status === "success") assert(isRunning && actor === "client", "nobody has done it");
    if (status === "timed_out") assert(atMs >= job.createdAtMs + job.runMsMax);
    if (code === "grant_expired") assert(atMs >= job.expiresAtMs, "its grant was good still");
    if (code === "worker_lost") this.#judgeLoss(job, atMs);
    const isBereft = this.ledger.liveOf(job.id).some((one) => one.isLost);
    if (code === "credentials_lost") assert(isBereft, "it has all that it needs");
    if (actor !== "system") return;
    const isLost = this.#isRecovering && (isRunning || isBereft);
    const isDue = deadlineOf(job) <= atMs || isLost;
    assert(isDue || this.#isForsaken(job), `${job.id} was ended by nobody`);
  }

  #judgeLoss(job: LedgerJob, atMs: number): void {
    if (this.#isRecovering) assert(!job.isRemote, "its worker may come back");
    else assert((job.orphanedUntilMs ?? Number.POSITIVE_INFINITY) <= atMs, "lost too soon");
  }

  /** Of what this process ran nothing is left, and what others run is waited for. */
  #judgeRecovery(): void {
    this.#isRecovering = false;
    for (const job of this.ledger.jobs.values()) {
      assert.notEqual(job.state, "preparing", `${job.id} was told to nobody`);
      if (job.state !== "running") continue;
      assert(job.isRemote, `${job.id} runs, and nobody runs it`);
      assert.notEqual(job.orphanedUntilMs, undefined, `${job.id} is waited for without end`);
    }
    for (const { id, detachedAtMs } of this.ledger.sessions.values()) {
      assert.notEqual(detachedAtMs, undefined, `${id} is attached to nothing`);
    }
  }

  /** What did not end well took along what it had asked for. */
  #judgeOrphan(job: LedgerJob): void {
    if (!this.#isForsaken(job) || job.state === "ended") return;
    const isStopping = job.state === "running" && job.cancelledUntilMs !== undefined;
    assert(isStopping, `${job.id} goes on without ${job.parentId}`);
  }

  #isForsaken({ parentId }: LedgerJob): boolean {
    const { jobs, forgotten } = this.ledger;
    const parent =
      parentId === undefined ? undefined : (jobs.get(parentId) ?? forgotten.get(parentId));
    return parent?.state === "ended" && parent.status !== "success";
  }

  #hasOffspring({ id }: LedgerJob): boolean {
    return [...this.ledger.jobs.values()].some(({ parentId }) => parentId === id);
  }

  #nextOwn(job: LedgerJob, kind: string): number | undefined {
    const session = this.ledger.sessions.get(job.sessions[0] ?? "");
    if (!session?.follows.has(job.id) || session.skips.includes(kind)) return undefined;
    return session.told.length + 1;
  }

  #credential({ credential }: Event & { readonly type: `credential.${string}` }): LedgerCredential {
    const known = this.ledger.credentials.get(`${credential.jobId} ${credential.number}`);
    assert(known, `there is no credential ${credential.number} of ${credential.jobId}`);
    return known;
  }

  #require(id: string, states: readonly LedgerJob["state"][]): LedgerJob {
    const job = this.ledger.job(id);
    assert(states.includes(job.state), `${id} is ${job.state}`);
    return job;
  }

  /** It is there, and if nobody is connected, its time is not over. */
  #requireOpen(id: string, atMs: number): LedgerSession {
    const session = this.ledger.session(id);
    assert(atMs < goneAtMs(session), `${id} is gone`);
    return session;
  }

  /** A session that follows an unfinished job of its own keeps its whole window after a goodbye. */
  #requireIdle(id: string): void {
    for (const { id: jobId, state, sessions } of this.ledger.jobs.values()) {
      const isAwaited = sessions.includes(id) && this.ledger.isFollowing(id, jobId);
      assert(state === "ended" || !isAwaited, `${id} has an unfinished job`);
    }
  }
}

function goneAtMs({ detachedAtMs, windowMs, detachedWindowMs }: LedgerSession): number {
  return (detachedAtMs ?? Number.POSITIVE_INFINITY) + (detachedWindowMs ?? windowMs);
}

/** When an unfinished job ends by itself. */
function deadlineOf(job: LedgerJob): number {
  const { createdAtMs, runMsMax, expiresAtMs, cancelledUntilMs, orphanedUntilMs } = job;
  if (job.state === "preparing") return expiresAtMs;
  const overAtMs = Math.min(createdAtMs + runMsMax, expiresAtMs);
  if (job.state !== "running") return overAtMs;
  const never = Number.POSITIVE_INFINITY;
  return Math.min(overAtMs, cancelledUntilMs ?? never, orphanedUntilMs ?? never);
}
