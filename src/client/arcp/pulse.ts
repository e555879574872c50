/** Keeps an eye on the other side: pings it when all is quiet, and says when it is gone (ARCP-72). */
import { type Heartbeat, heard, look, said, startHeartbeat } from "../../wire/arcp/index.ts";
import type { Timekeeper } from "./time.ts";

export type Beating = { readonly ping: () => void; readonly lost: () => void };

export class Pulse {
  readonly #time: Timekeeper;
  readonly #beating: Beating;
  #heartbeat: Heartbeat;
  #stopTimer: () => void = () => {};

  constructor(intervalMs: number, time: Timekeeper, beating: Beating) {
    this.#time = time;
    this.#beating = beating;
    this.#heartbeat = startHeartbeat(time.nowMs(), intervalMs);
    this.#plan();
  }

  heard(): void {
    this.#heartbeat = heard(this.#heartbeat, this.#time.nowMs());
  }

  said(): void {
    this.#heartbeat = said(this.#heartbeat, this.#time.nowMs());
  }

  stop(): void {
    this.#stopTimer();
  }

  #look(): void {
    const { heartbeat, verdict } = look(this.#heartbeat, this.#time.nowMs());
    this.#heartbeat = heartbeat;
    if (verdict === "lost") {
      this.#beating.lost();
      return;
    }
    if (verdict === "ping") this.#beating.ping();
    this.#plan();
  }

  #plan(): void {
    const ms = Math.max(0, this.#heartbeat.lookAtMs - this.#time.nowMs());
    this.#stopTimer = this.#time.later(() => this.#look(), ms);
  }
}
