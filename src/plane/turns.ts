/**
 * Turns for those who read much. A log answers without waiting for anything, so that who reads all of a long history
 * would let nobody else run; and many who do would, each for a moment, take as long. One has a turn at a time, and
 * everything else comes in between.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves when it is the caller's turn. */
  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    if (this.#waiting.length === 1) setImmediate(this.#give);
    return promise;
  }

  readonly #give = (): void => {
    this.#waiting[0]?.();
    this.#waiting.shift();
    if (this.#waiting.length > 0) setImmediate(this.#give);
  };
}
