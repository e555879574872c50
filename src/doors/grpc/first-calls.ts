/**
 * The first calls of a connection. While a channel connects, gRPC clients queue calls and then send
 * them in any order, so that a Watch that was called before a Register may arrive after it and miss its
 * event. So calls that publish and arrive on a connection younger than 25 ms are held for 25 ms; the
 * calls are concurrent, and either order is right. AgentKeeper contract 2.6.4: without this one in five
 * first watches misses the first event; with 10 ms one in thirty.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { limits } from "./limits.ts";

export class FirstCalls {
  #firstAtMs: number | undefined;
  #held = 0;
  #lastHeld: Promise<void> = Promise.resolve();

  /** A call has arrived, whatever it is. */
  arrive(): void {
    this.#firstAtMs ??= performance.now();
  }

  /** For a call that publishes: what it must wait for, if anything. Held calls go on in their order. */
  hold(): Promise<void> | undefined {
    const ageMs = performance.now() - (this.#firstAtMs ?? 0);
    const isNew = ageMs < limits.firstCallsMs;
    if (!isNew && this.#held === 0) return undefined;
    this.#held += 1;
    this.#lastHeld = this.#after(this.#lastHeld, isNew ? limits.firstCallsMs : 0);
    return this.#lastHeld;
  }

  async #after(before: Promise<void>, ms: number): Promise<void> {
    if (ms > 0) await sleep(ms);
    await before;
    this.#held -= 1;
  }
}
