/**
 * What an agent should hear of at once: that a leader changed, that a task was cancelled. One stream for
 * the whole client, open as long as somebody follows it. It is a convenience, not a truth: where no stream
 * can be had, the same is learnt a little later by asking.
 */
import type { Entry } from "../wire/api/index.ts";
import type { Calls } from "./calls.ts";
import { sleep } from "./deadline.ts";
import { pauseMs } from "./retry.ts";
import { Watch } from "./watch.ts";

export type Follower = {
  readonly hear?: (entry: Entry) => void;
  /** The stream has begun, or begun anew: what came before was not heard. */
  readonly missed?: () => void;
};

const topics = ["leader.changed", "task.cancelled"] as const;

export class News {
  readonly #calls: Calls;
  readonly #followers = new Set<Follower>();
  #closing: AbortController | undefined;
  #isLive = false;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Whether a change would be heard of now. */
  get isLive(): boolean {
    return this.#isLive;
  }

  /** Returns how to stop. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    if (!this.#closing) {
      this.#closing = new AbortController();
      void this.#run(this.#closing.signal);
    } else if (this.#isLive) {
      follower.missed?.();
    }
    return () => {
      if (this.#followers.delete(follower) && this.#followers.size === 0) this.close();
    };
  }

  close(): void {
    this.#closing?.abort();
    this.#closing = undefined;
    this.#isLive = false;
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let failures = 1; !signal.aborted && !this.#calls.isClosed; failures++) {
      try {
        await this.#listen(signal, () => {
          failures = 1;
        });
      } catch {
        // No stream, or a gap in it: followers are told to look for themselves when it begins anew.
      }
      if (signal.aborted) return;
      this.#isLive = false;
      await sleep(pauseMs(failures), signal).catch(() => {});
    }
  }

  async #listen(signal: AbortSignal, onBegin: () => void): Promise<void> {
    await using watch = new Watch(this.#calls, {
      topics,
      signal,
      onConnection: ({ isLive }) => {
        if (!signal.aborted) this.#isLive = isLive;
      },
    });
    await watch.ready;
    onBegin();
    for (const follower of this.#followers) follower.missed?.();
    for await (const entry of watch) {
      for (const follower of this.#followers) follower.hear?.(entry);
    }
  }
}
