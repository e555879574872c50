/** The callers that wait for a question to close. */
import type { Event, Question, QuestionId, Refusal } from "../core/index.ts";

/**
 * Called once: with the closed question, with undefined if the question no longer exists, or with the reason why the
 * wait ends.
 */
export type ClosingListener = (
  outcome:
    | { readonly value: Question | undefined; readonly refusal?: never }
    | { readonly refusal: Refusal; readonly value?: never },
) => void;

export class Closings {
  readonly #listeners = new Map<QuestionId, Set<ClosingListener>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  join(id: QuestionId, listener: ClosingListener): void {
    const known = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, known.add(listener));
    this.#size += 1;
  }

  leave(id: QuestionId, listener: ClosingListener): void {
    const known = this.#listeners.get(id);
    if (!known?.delete(listener)) return;
    this.#size -= 1;
    if (known.size === 0) this.#listeners.delete(id);
  }

  hear(events: readonly Event[]): void {
    if (this.#size === 0) return;
    for (const event of events) {
      switch (event.type) {
        case "question.answered":
        case "question.closed":
          this.#tell(event.question.id, { value: event.question });
          break;
        case "question.forgotten":
          this.#tell(event.questionId, { value: undefined });
          break;
        default:
      }
    }
  }

  close(refusal: Refusal): void {
    for (const id of [...this.#listeners.keys()]) this.#tell(id, { refusal });
  }

  #tell(id: QuestionId, outcome: Parameters<ClosingListener>[0]): void {
    const known = this.#listeners.get(id) ?? new Set<ClosingListener>();
    this.#listeners.delete(id);
    this.#size -= known.size;
    for (const listener of known) listener(outcome);
  }
}
