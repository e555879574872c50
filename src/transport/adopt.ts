/**
 * A transport of someone else's, as one of ours. Other implementations of ARCP have the five members that
 * the protocol's authors agreed on; what we ask for beyond these is made here.
 */
import { type Carrier, Channel } from "./channel.ts";
import {
  type Frame,
  type Link,
  Malformed,
  readFrame,
  type Transport,
  TransportError,
} from "./transport.ts";

export interface BareTransport {
  readonly closed: boolean;
  send(frame: Frame): Promise<void>;
  onFrame(handler: (frame: Frame) => void | Promise<void>): void;
  onClose(handler: (error?: Error) => void): void;
  close(reason?: string): Promise<void>;
}

/** Only the caller knows what it runs over. */
export function adopt(bare: BareTransport, link: Link): Transport {
  return new Channel(link, (channel) => new Adopted(channel, bare));
}

class Adopted implements Carrier {
  readonly #channel: Channel;
  readonly #bare: BareTransport;
  #resumed: PromiseWithResolvers<void> | undefined;
  queuedBytes = 0;

  constructor(channel: Channel, bare: BareTransport) {
    this.#channel = channel;
    this.#bare = bare;
    bare.onFrame((frame) => {
      channel.receive(JSON.stringify(frame));
      // Each call is awaited before the next, so that whoever calls us can be made to wait.
      return this.#resumed?.promise;
    });
    bare.onClose((cause) => {
      const error = cause && new TransportError("lost", cause.message, { cause });
      channel.ended(error, { code: error ? 1006 : 1000, reason: "" });
    });
  }

  get isOpen(): boolean {
    return !this.#bare.closed;
  }

  write(text: string): void {
    const frame = readFrame(text);
    if (frame instanceof Malformed) throw new TypeError(frame.message);
    // What throws here was never queued.
    const sending = this.#bare.send(frame);
    this.queuedBytes += text.length;
    const sent = (): void => {
      this.queuedBytes -= text.length;
      this.#channel.wrote();
    };
    // Why a frame could not be sent, the end of the transport says.
    sending.then(sent, sent);
  }

  pause(): void {
    this.#resumed ??= Promise.withResolvers();
  }

  resume(): void {
    this.#resumed?.resolve();
    this.#resumed = undefined;
  }

  end({ reason }: { readonly reason: string }): void {
    this.#bare.close(reason).then(
      () => this.#channel.ended(undefined, { code: 1000, reason }),
      (cause: Error) => this.destroy(new TransportError("lost", cause.message, { cause })),
    );
  }

  destroy(error: TransportError): void {
    this.#channel.ended(error, { code: 1006, reason: "" });
    this.#bare.close(error.message).catch(() => {});
  }
}
