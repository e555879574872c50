/** Time as this client sees it: a monotonic clock and timers, most of which keep no program alive (ARCP-73). */
import { later, sleep } from "../deadline.ts";

export interface Timekeeper {
  /** Milliseconds of a clock that never goes back. */
  nowMs(): number;
  /** Calls `run` after a while, and says how to call it off. */
  later(run: () => void, ms: number): () => void;
  /** Someone waits for this, so that it does keep a program alive. Rejects with the signal's reason. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemTime: Timekeeper = { nowMs: () => performance.now(), later, sleep };
