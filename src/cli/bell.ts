/**
 * Rung by several, waited for by one. However often it rings, nothing is left behind: whoever waits with
 * `Promise.race` for something that never comes adds to it each time.
 */
export class Bell {
  #rung = Promise.withResolvers<void>();

  ring(): void {
    this.#rung.resolve();
  }

  /** At once if it rang since it was last heard. */
  async heard(): Promise<void> {
    await this.#rung.promise;
    this.#rung = Promise.withResolvers<void>();
  }
}
