/**
 * Waiting in line at the daemon, by long polls under one key: the place is kept from poll to poll, and
 * what was granted while an answer got lost is granted still. Whoever leaves says so; should it have been
 * granted in the same moment, that gives it back.
 */
import { newKey } from "./calls.ts";
import { type Clock, elapsedMs, now, sleep } from "./deadline.ts";
import { limits } from "./limits.ts";
import { pauseMs } from "./retry.ts";

export type Poll = {
  readonly key: string;
  /** How long the daemon may keep us waiting for the answer. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
};

export type LineOptions<Value> = {
  readonly clock: Clock;
  /** 0: not at all. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Undefined: not yet. */
  readonly poll: (poll: Poll) => Promise<Value | undefined>;
  /** Gives up the place, or what was granted. Goes on by itself. */
  readonly withdraw: (key: string) => void;
};

export type Granted<Value> = { readonly value: Value; readonly key: string };

/** `wait` as callers say it: not, as long as it takes, or so many milliseconds. */
export function readWait(wait: boolean | number): number {
  if (typeof wait === "number") return wait;
  return wait ? Number.POSITIVE_INFINITY : 0;
}

/** Undefined if it was not granted in time. Rejects with the signal's reason as soon as that aborts. */
export async function standInLine<Value>(
  options: LineOptions<Value>,
): Promise<Granted<Value> | undefined> {
  const { clock, waitMs, signal, poll, withdraw } = options;
  const key = newKey();
  const since = now(clock);
  try {
    for (let early = 0; ; ) {
      const leftMs = Math.max(0, waitMs - elapsedMs(clock, since));
      const pollMs = Math.ceil(Math.min(leftMs, limits.pollMs));
      const asked = now(clock);
      const value = await poll({ key, waitMs: pollMs, signal });
      if (value !== undefined) return { value, key };
      if (leftMs <= pollMs) break;
      // A daemon that does not keep us waiting is not asked in a tight loop.
      early = elapsedMs(clock, asked) < pollMs / 2 ? early + 1 : 0;
      if (early > 0) await sleep(pauseMs(early), signal);
    }
  } catch (error) {
    // It may have been granted without our hearing of it, whatever we heard instead.
    withdraw(key);
    throw error;
  }
  if (waitMs > 0) withdraw(key);
  return undefined;
}
