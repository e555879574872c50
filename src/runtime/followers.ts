/**
 * Those who follow jobs from outside, as far as a job must care: how fast they read, and how much at once. A door adds
 * a follower for as long as somebody is connected; the runtime knows no door.
 */
import type { Job, JobId, SessionId } from "../core/index.ts";
import { type ChunkSize, usualChunk } from "../wire/work/index.ts";

export interface Follower {
  /** While it is far behind: resolves when it has caught up. The jobs that it follows emit no more until then. */
  readonly pace: Promise<void> | undefined;
  /** The longest piece of a result that it can read; as usual, if absent. */
  readonly chunk?: ChunkSize;
}

/** One job, or all jobs that were first submitted in a session. */
export type Followed = { readonly jobId: JobId } | { readonly sessionId: SessionId };

type Submitted = Pick<Job, "id" | "sessionIds">;

export class Followers {
  readonly #bySession = new Map<SessionId, Follower>();
  readonly #byJob = new Map<JobId, Set<Follower>>();

  /** Until what it answers is disposed. A session has one follower: a newer one takes the place of the one before. */
  add(followed: Followed, follower: Follower): Disposable {
    if ("sessionId" in followed) {
      const { sessionId } = followed;
      this.#bySession.set(sessionId, follower);
      return {
        [Symbol.dispose]: () => {
          if (this.#bySession.get(sessionId) === follower) this.#bySession.delete(sessionId);
        },
      };
    }
    const { jobId } = followed;
    const followers = this.#byJob.get(jobId) ?? new Set();
    this.#byJob.set(jobId, followers.add(follower));
    return {
      [Symbol.dispose]: () => {
        followers.delete(follower);
        if (followers.size === 0 && this.#byJob.get(jobId) === followers) this.#byJob.delete(jobId);
      },
    };
  }

  /** What a job waits for before it emits more, if anything. */
  paceOf({ id, sessionIds: [sessionId] }: Submitted): Promise<void> | undefined {
    const pace = sessionId === undefined ? undefined : this.#bySession.get(sessionId)?.pace;
    if (pace || this.#byJob.size === 0) return pace;
    for (const follower of this.#byJob.get(id) ?? []) if (follower.pace) return follower.pace;
    return undefined;
  }

  /** What the follower that reads the least at once can read. */
  chunkOf({ id, sessionIds: [sessionId] }: Submitted): ChunkSize {
    const own = sessionId === undefined ? undefined : this.#bySession.get(sessionId);
    let least = own?.chunk ?? usualChunk;
    for (const { chunk } of this.#byJob.get(id) ?? []) {
      if (chunk && chunk.printedBytesMax < least.printedBytesMax) least = chunk;
    }
    return least;
  }
}
