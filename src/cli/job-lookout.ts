/**
 * Polls the state of a job, to explain why it emits nothing: it may wait for a worker, or its worker may be
 * disconnected.
 */
import { limits } from "./limits.ts";

export class Lookout implements Disposable {
  readonly #ask: (signal: AbortSignal) => Promise<string>;
  readonly #tell: (lull: string) => void;
  readonly #gone = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Counts what was heard: an answer from before that says nothing any more. */
  #heard = 0;

  /** `tell` is called with why; with nothing, when that is over. */
  constructor(ask: (signal: AbortSignal) => Promise<string>, tell: (lull: string) => void) {
    this.#ask = ask;
    this.#tell = tell;
    this.#wait(limits.lullMs);
  }

  /** It has said something. */
  hear(): void {
    this.#heard += 1;
    this.#tell("");
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => void this.#look(), ms);
  }

  async #look(): Promise<void> {
    const heard = this.#heard;
    const lull = await this.#ask(this.#gone.signal);
    if (this.#gone.signal.aborted) return;
    if (this.#heard === heard) this.#tell(lull);
    this.#wait(limits.lullLookMs);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#gone.abort();
  }
}
