/** Throughput and latency of the last hour, in steps. A ring: what is older is overwritten. */
import type { Timeline as TimelineAnswer } from "../../wire/api/index.ts";

const stepMs = 10_000;
const steps = 360;
/** Latencies are told apart by factors of the square root of two, from 0.03 ms to 100 s. */
const classes = 64;

class Step {
  events = 0;
  calls = 0;
  readonly answers = new Latencies();
  readonly commits = new Latencies();
}

class Latencies {
  readonly #counts = new Uint32Array(classes);
  #count = 0;

  add(ms: number): void {
    const at = Math.round(Math.log2(Math.max(ms, 1e-9)) * 2) + 10;
    const index = Math.min(Math.max(at, 0), classes - 1);
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#count += 1;
  }

  quantile(share: number): number | null {
    if (this.#count === 0) return null;
    let left = Math.ceil(this.#count * share);
    for (let index = 0; index < classes; index++) {
      left -= this.#counts[index] ?? 0;
      if (left <= 0) return Number((2 ** ((index - 10) / 2)).toPrecision(3));
    }
    return null;
  }
}

export class Timeline {
  readonly #ring = new Map<number, Step>();
  readonly #nowMs: () => number;
  #first: number;
  #last: number;

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs;
    this.#first = Math.floor(nowMs() / stepMs);
    this.#last = this.#first;
  }

  /** `ms` is how long the answer took; absent if the caller wanted to wait. */
  observeCall(ms?: number): void {
    const step = this.#step();
    step.calls += 1;
    if (ms !== undefined) step.answers.add(ms);
  }

  observeCommit({ entries, ms }: { readonly entries: number; readonly ms: number }): void {
    const step = this.#step();
    step.events += entries;
    step.commits.add(ms);
  }

  print(): TimelineAnswer {
    this.#moveOn();
    const shown = Array.from({ length: this.#last - this.#first + 1 }, (_, index) =>
      this.#ring.get(this.#first + index),
    );
    return {
      stepMs,
      startAtMs: this.#first * stepMs,
      events: shown.map((step) => step?.events ?? 0),
      calls: shown.map((step) => step?.calls ?? 0),
      p50Ms: shown.map((step) => step?.answers.quantile(0.5) ?? null),
      p99Ms: shown.map((step) => step?.answers.quantile(0.99) ?? null),
      commitP99Ms: shown.map((step) => step?.commits.quantile(0.99) ?? null),
    };
  }

  #step(): Step {
    this.#moveOn();
    const known = this.#ring.get(this.#last);
    if (known) return known;
    const step = new Step();
    this.#ring.set(this.#last, step);
    return step;
  }

  /** A clock may be set back; the timeline does not go with it. */
  #moveOn(): void {
    const now = Math.floor(this.#nowMs() / stepMs);
    if (now <= this.#last) return;
    this.#last = now;
    this.#first = Math.max(this.#first, now - steps + 1);
    for (const number of this.#ring.keys()) if (number < this.#first) this.#ring.delete(number);
  }
}
