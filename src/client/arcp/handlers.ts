/**
 * Who wants to see frames of a type: vendors' messages above all. Each handler is awaited before the next
 * frame is handed over (ARCP-210), but reading goes on meanwhile, because a handler may wait for an answer.
 */
import type { Envelope } from "../../wire/arcp/index.ts";
import { limits } from "./limits.ts";

export type FrameListener = (envelope: Envelope) => unknown;

export class Handlers {
  readonly #byType = new Map<string, Set<FrameListener>>();
  readonly #report: (problem: string) => void;
  #waiting: Envelope[] = [];
  #isRunning = false;

  constructor(report: (problem: string) => void) {
    this.#report = report;
  }

  on(type: string, listener: FrameListener): () => void {
    const listeners = this.#byType.get(type) ?? new Set();
    this.#byType.set(type, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#byType.delete(type);
    };
  }

  /** Whether there is anybody for it. */
  offer(envelope: Envelope): boolean {
    if (!this.#byType.has(envelope.type)) return false;
    this.#waiting.push(envelope);
    if (this.#waiting.length > limits.handlerFramesMax) {
      const [dropped] = this.#waiting.splice(0, 1);
      this.#report(`a ${dropped?.type} frame was dropped: its handler is too slow`);
    }
    if (!this.#isRunning) void this.#run();
    return true;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let envelope = this.#waiting.shift(); envelope; envelope = this.#waiting.shift()) {
      for (const listener of [...(this.#byType.get(envelope.type) ?? [])]) {
        try {
          await listener(envelope);
        } catch (fault) {
          this.#report(`a handler of ${envelope.type} failed: ${String(fault)}`);
        }
      }
    }
    this.#isRunning = false;
  }
}
