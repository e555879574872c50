/** Tells the runtime how far we are, now and then, so that it need not keep what was read (ARCP-78). */
import { limits } from "./limits.ts";
import type { Timekeeper } from "./time.ts";

export type AckPace = { readonly intervalMs: number; readonly minSeqDelta: number };

export const usualPace: AckPace = {
  intervalMs: limits.ackIntervalMs,
  minSeqDelta: limits.ackEvents,
};

export type Acked = {
  /** The last number up to which everything has been delivered to the application. */
  readonly deliveredSeq: () => number;
  readonly send: (seq: number) => void;
};

export class Acknowledging {
  readonly #pace: AckPace;
  readonly #time: Timekeeper;
  readonly #acked: Acked;
  #lastSent: number;
  #unseen = 0;
  /** How far everybody is takes a look at every job: while a reader is behind, not one for each event. */
  #sinceLook = 0;
  #stopTimer: (() => void) | undefined;

  constructor(pace: AckPace, time: Timekeeper, acked: Acked) {
    this.#pace = pace;
    this.#time = time;
    this.#acked = acked;
    this.#lastSent = acked.deliveredSeq();
  }

  /** A numbered event has come. */
  note(): void {
    this.#unseen += 1;
    this.#sinceLook += 1;
    if (this.#sinceLook >= this.#pace.minSeqDelta) this.#send();
    this.#stopTimer ??= this.#time.later(() => this.#tick(), this.#pace.intervalMs);
  }

  stop(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  #tick(): void {
    this.#stopTimer = undefined;
    this.#send();
    // Someone reads slowly: what is not delivered yet will be.
    if (this.#unseen > 0) {
      this.#stopTimer = this.#time.later(() => this.#tick(), this.#pace.intervalMs);
    }
  }

  #send(): void {
    this.#sinceLook = 0;
    const seq = this.#acked.deliveredSeq();
    if (seq <= this.#lastSent) return;
    this.#unseen = Math.max(0, this.#unseen - (seq - this.#lastSent));
    this.#lastSent = seq;
    this.#acked.send(seq);
  }
}
