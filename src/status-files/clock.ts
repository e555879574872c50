/** The time, as writers and watchers here are told it. */
import { setTimeout as sleep } from "node:timers/promises";

export interface Clock {
  /** Milliseconds since 1970: records hold wall time, so ages are counted by it. */
  nowMs(): number;
  /** Resolves at or after `atMs`, or a little early; rejects with the signal's reason. */
  until(atMs: number, signal: AbortSignal): Promise<void>;
}

/** Waiting with the first keeps a program running. With the second it does not. */
export const wallClock: Clock = clockThat({ keepsRunning: true });
export const idleClock: Clock = clockThat({ keepsRunning: false });

function clockThat({ keepsRunning }: { readonly keepsRunning: boolean }): Clock {
  return {
    nowMs: Date.now,
    until: (atMs, signal) =>
      sleep(Math.max(0, atMs - Date.now()), undefined, { signal, ref: keepsRunning }),
  };
}
