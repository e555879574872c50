/**
 * Two ends in one process. Frames cross as text, so that neither side can change what the other has, and
 * never within the call that sends them.
 */
import { type Carrier, Channel } from "./channel.ts";
import { Queue } from "./queue.ts";
import { type Closing, type Link, type Transport, TransportError } from "./transport.ts";

/** Browsers have no other. */
const nextTurn: (run: () => void) => unknown =
  "setImmediate" in globalThis ? setImmediate : (run) => setTimeout(run, 0);

const link: Link = { kind: "memory", isPrivate: true };

export function pairMemoryTransports(): readonly [Transport, Transport] {
  const [one, other] = [new Hand(), new Hand()];
  return [one.hold(other), other.hold(one)];
}

/** One end: what it has sent and the other has not yet taken. */
class Hand implements Carrier {
  readonly #sent = new Queue<string>((text) => text.length);
  #channel: Channel | undefined;
  #other: Hand | undefined;
  #isPaused = false;
  #isScheduled = false;
  #closing: Closing | undefined;
  isOpen = true;

  hold(other: Hand): Channel {
    this.#other = other;
    this.#channel = new Channel(link, () => this);
    return this.#channel;
  }

  get queuedBytes(): number {
    return this.#sent.bytes;
  }

  write(text: string): void {
    this.#sent.push(text);
    this.#schedule();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#other) this.#other.#schedule();
  }

  end(closing: Closing): void {
    this.#closing = closing;
    this.#schedule();
  }

  destroy(error: TransportError): void {
    const closing = { code: 1006, reason: "" };
    this.#finish(error, closing);
    if (!this.#other) return;
    this.#other.#finish(new TransportError("lost", "the other end is gone"), closing);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Once a turn, and not in a microtask: two ends that answer each other would let nobody else run.
    nextTurn(() => {
      this.#isScheduled = false;
      this.#cross();
    });
  }

  #cross(): void {
    const other = this.#other;
    if (!other?.isOpen) return;
    while (!other.#isPaused) {
      const text = this.#sent.shift();
      if (text === undefined) break;
      other.#channel?.receive(text);
    }
    this.#channel?.wrote();
    if (this.#closing === undefined || this.#sent.length > 0) return;
    this.#finish(undefined, this.#closing);
    other.#finish(undefined, this.#closing);
  }

  #finish(error: TransportError | undefined, closing: Closing): void {
    this.isOpen = false;
    this.#sent.clear();
    this.#channel?.ended(error, closing);
  }
}
