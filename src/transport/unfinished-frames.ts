/**
 * Counts the frames of one connection that are not complete, and those that wait to be handled, in a budget that it
 * shares with others. A frame has a time to be complete, which does not pass while we do not read.
 */
import type { ByteAccount } from "./byte-budget.ts";

export type UnfinishedFramesOptions = {
  readonly account: ByteAccount | undefined;
  readonly frameMs: number;
  /** Called when a frame was not complete in time. */
  readonly giveUp: () => void;
};

export class UnfinishedFrames {
  readonly #options: UnfinishedFramesOptions;
  #partBytes = 0;
  #waitingBytes = 0;
  #isPaused = false;
  #due: NodeJS.Timeout | undefined;

  constructor(options: UnfinishedFramesOptions) {
    this.#options = options;
  }

  /** So much has come of a frame that is not complete. */
  part(bytes: number): void {
    if (bytes === this.#partBytes) return;
    this.#partBytes = bytes;
    this.#count();
    this.#awaitRest();
  }

  /** Complete frames of so many bytes wait to be handled. */
  waiting(bytes: number): void {
    this.#waitingBytes = bytes;
    this.#count();
  }

  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#awaitRest();
  }

  close(): void {
    clearTimeout(this.#due);
    this.#options.account?.close();
  }

  /** May close this connection, or another, if all together hold too much. */
  #count(): void {
    this.#options.account?.set(this.#partBytes + this.#waitingBytes);
  }

  #awaitRest(): void {
    if (this.#partBytes === 0 || this.#isPaused) {
      clearTimeout(this.#due);
      this.#due = undefined;
    } else {
      this.#due ??= setTimeout(this.#options.giveUp, this.#options.frameMs).unref();
    }
  }
}
