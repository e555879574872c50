/** All sessions that somebody is connected to, and which of them an entry may concern. */
import type { Event, JobId, SessionId } from "../../core/index.ts";
import type { Entry } from "../../log/index.ts";
import type { Telling } from "./telling.ts";

const nobody: ReadonlySet<Telling> = new Set();

export class Audience {
  readonly #bySession = new Map<SessionId, Telling>();
  /** Those that keep up, by what they follow. */
  readonly #byJob = new Map<JobId, Set<Telling>>();
  readonly #behind = new Set<Telling>();
  /** Those that owe answers. */
  readonly #expecting = new Set<Telling>();

  find(sessionId: SessionId): Telling | undefined {
    return this.#bySession.get(sessionId);
  }

  join(telling: Telling): void {
    this.#bySession.set(telling.sessionId, telling);
    this.#behind.add(telling);
  }

  leave(telling: Telling, follows: Iterable<JobId>): void {
    const { sessionId } = telling;
    if (this.#bySession.get(sessionId) === telling) this.#bySession.delete(sessionId);
    for (const jobId of follows) this.unfollow(telling, jobId);
    this.#behind.delete(telling);
    this.#expecting.delete(telling);
  }

  follow(telling: Telling, jobId: JobId): void {
    const followers = this.#byJob.get(jobId) ?? new Set();
    this.#byJob.set(jobId, followers.add(telling));
  }

  unfollow(telling: Telling, jobId: JobId): void {
    const followers = this.#byJob.get(jobId);
    followers?.delete(telling);
    if (followers?.size === 0) this.#byJob.delete(jobId);
  }

  fallBehind(telling: Telling, follows: Iterable<JobId>): void {
    for (const jobId of follows) this.unfollow(telling, jobId);
    this.#behind.add(telling);
  }

  catchUp(telling: Telling): void {
    this.#behind.delete(telling);
  }

  expect(telling: Telling): void {
    this.#expecting.add(telling);
  }

  /** What has just become durable. */
  hear(entries: readonly Entry[]): void {
    for (const entry of entries) this.#tell(entry);
    for (const telling of this.#expecting) {
      telling.settle();
      if (!telling.hasAnswers) this.#expecting.delete(telling);
    }
  }

  #tell(entry: Entry): void {
    const { event } = entry;
    switch (event.type) {
      case "job.emitted":
      case "job.ended":
        for (const telling of this.#byJob.get(event.jobId) ?? nobody) telling.hear(entry);
        for (const telling of this.#behind) telling.hear(entry);
        return;
      default: {
        const sessionId = concerned(event);
        if (sessionId !== undefined) this.#bySession.get(sessionId)?.hear(entry);
      }
    }
  }
}

function concerned(event: Event): SessionId | undefined {
  switch (event.type) {
    case "job.accepted":
      return event.job.sessionIds[0];
    case "job.joined":
    case "session.followed":
    case "session.left":
    case "session.rejected":
      return event.sessionId;
    default:
      return undefined;
  }
}
