/**
 * Asks again, but not too often: at once if the last time was long enough ago, else when it is. Never twice
 * at the same time, and seldom while nobody looks at the page.
 */
import { limits } from "./limits.ts";

export class Refresh {
  readonly #run: () => Promise<void>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastMs = Number.NEGATIVE_INFINITY;
  #isRunning = false;
  #isWanted = false;
  #isOver = false;

  /** `run` sees to its own failures. */
  constructor(run: () => Promise<void>) {
    this.#run = run;
    document.addEventListener("visibilitychange", this.#look);
  }

  request(): void {
    this.#isWanted = true;
    this.#look();
  }

  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    document.removeEventListener("visibilitychange", this.#look);
  }

  readonly #look = (): void => {
    if (this.#isOver || !this.#isWanted || this.#isRunning) return;
    clearTimeout(this.#timer);
    const everyMs = document.hidden ? limits.hiddenRefreshEveryMs : limits.refreshEveryMs;
    const waitMs = this.#lastMs + everyMs - performance.now();
    if (waitMs > 0) {
      this.#timer = setTimeout(this.#look, waitMs);
      return;
    }
    this.#isWanted = false;
    this.#isRunning = true;
    this.#lastMs = performance.now();
    void this.#run().finally(() => {
      this.#isRunning = false;
      this.#look();
    });
  };
}
