/** Commands that were told "nothing for you now" and wait, in the order in which they came. */
import { type ClaimTask, type Event, mayAnswer, type Refusal, type State } from "../core/index.ts";

export type Waiting = {
  readonly command: ClaimTask;
  /** Asks again; false if there is still nothing. */
  readonly ask: () => boolean;
  readonly refuse: (refusal: Refusal) => void;
};

export class WaitingRoom {
  readonly #waiting = new Set<Waiting>();

  get size(): number {
    return this.#waiting.size;
  }

  add(waiting: Waiting): void {
    this.#waiting.add(waiting);
  }

  delete(waiting: Waiting): void {
    this.#waiting.delete(waiting);
  }

  /** An event may be what someone waits for. The one who has waited longest is asked first. */
  hear(state: State, event: Event): void {
    for (const waiting of this.#waiting) {
      if (mayAnswer(state, event, waiting.command) && waiting.ask()) this.#waiting.delete(waiting);
    }
  }

  close(refusal: Refusal): void {
    for (const waiting of this.#waiting) waiting.refuse(refusal);
    this.#waiting.clear();
  }
}
