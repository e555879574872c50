/**
 * What all transports have in common: who is told what, in which order, and how a link ends. Between
 * a channel and the wire there is a carrier, one for each kind of link.
 *
 *   open     frames go both ways
 *   closing  `close` was called here: what is queued goes out, what comes in is dropped
 *   ended    the carrier is gone: frames that had arrived are still handled
 *   told     the close handler was called; nothing comes after it
 *
 * It runs in browsers as well.
 */
import type { ByteAccount } from "./byte-budget.ts";
import { limits } from "./limits.ts";
import { Queue } from "./queue.ts";
import {
  type CloseHandler,
  type Closing,
  type Frame,
  type FrameHandler,
  type Link,
  Malformed,
  readFrame,
  type Transport,
  TransportError,
} from "./transport.ts";
import type { UnfinishedFrames } from "./unfinished-frames.ts";

/** One kind of link. It tells its channel of what comes in, of what went out, and once of its end. */
export interface Carrier {
  /** Whether the peer can still be told something. */
  readonly isOpen: boolean;
  readonly queuedBytes: number;
  write(text: string): void;
  /** Nothing should be read until `resume`; a little more may come. */
  pause(): void;
  resume(): void;
  /** Sends what is queued, then closes. */
  end(closing: Closing): void;
  /** Closes now. */
  destroy(error: TransportError): void;
}

type Arrival = string | Malformed;
type End = { readonly error: TransportError | undefined; readonly closing: Closing };

const accepted = Promise.resolve();
const ignore = (): void => {};

/** Text is counted in UTF-16 units: what it takes in memory, give or take. */
export function bytesOf(arrival: Arrival): number {
  return typeof arrival === "string" ? arrival.length : 0;
}

/** For links that share budgets with others. */
export type ChannelOptions = {
  /** Counts bytes that the peer has not read. */
  readonly unread?: ByteAccount | undefined;
  readonly unfinished?: UnfinishedFrames | undefined;
};

export class Channel implements Transport {
  readonly link: Link;
  readonly #carrier: Carrier;
  readonly #unread: ByteAccount | undefined;
  readonly #unfinished: UnfinishedFrames | undefined;
  readonly #waiting = new Queue<Arrival>(bytesOf);
  readonly #down = Promise.withResolvers<void>();
  #drainers: (() => void)[] = [];
  #isBusy = false;
  #isPaused = false;
  #isClosing = false;
  #end: End | undefined;
  #isTold = false;
  #giveUp: NodeJS.Timeout | undefined;
  #handleFrame: FrameHandler | undefined;
  #handleMalformed: (malformed: Malformed) => void = ignore;
  #handleClose: CloseHandler | undefined;
  #handleFault: (fault: unknown) => void = ignore;

  constructor(
    link: Link,
    makeCarrier: (channel: Channel) => Carrier,
    { unread, unfinished }: ChannelOptions = {},
  ) {
    this.link = link;
    this.#unread = unread;
    this.#unfinished = unfinished;
    this.#carrier = makeCarrier(this);
  }

  get closed(): boolean {
    return this.#isClosing || this.#end !== undefined || !this.#carrier.isOpen;
  }

  get queuedBytes(): number {
    return this.#carrier.queuedBytes;
  }

  get hasRoom(): boolean {
    return this.#unread?.hasRoom(limits.queuedBytesLow) ?? true;
  }

  /** What arrived and is not yet handled. */
  get waitingBytes(): number {
    return this.#waiting.bytes;
  }

  send(frame: Frame): Promise<void> {
    let text: string;
    try {
      text = JSON.stringify(frame);
    } catch (cause) {
      const message = "the frame cannot be printed as JSON";
      return Promise.reject(new TransportError("not_sendable", message, { cause }));
    }
    return this.sendText(text);
  }

  sendText(text: string): Promise<void> {
    if (this.closed) {
      return Promise.reject(new TransportError("closed", "the transport is closed"));
    }
    if (this.#carrier.queuedBytes > limits.queuedBytesMax) {
      const error = new TransportError("peer_too_slow", "the peer takes nothing of what is queued");
      this.#carrier.destroy(error);
      return Promise.reject(error);
    }
    try {
      this.#carrier.write(text);
    } catch (cause) {
      const error = new TransportError("not_sendable", "the frame cannot be written", { cause });
      return Promise.reject(error);
    }
    // This may close this connection, or another, if all connections together hold too much.
    this.#unread?.set(this.#carrier.queuedBytes);
    return accepted;
  }

  drained(): Promise<void> {
    if (this.#isDrained()) return accepted;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#drainers.push(resolve);
    return promise;
  }

  onFrame(handler: FrameHandler): void {
    this.#handleFrame = handler;
    // Not at once, so that whoever registers this handler can register the others.
    queueMicrotask(() => this.#pump());
  }

  onMalformed(handler: (malformed: Malformed) => void): void {
    this.#handleMalformed = handler;
  }

  onClose(handler: CloseHandler): void {
    this.#handleClose = handler;
    queueMicrotask(() => this.#pump());
  }

  onFault(handler: (fault: unknown) => void): void {
    this.#handleFault = handler;
  }

  close(reason = "", code = 1000): Promise<void> {
    if (this.#isClosing) return this.#down.promise;
    this.#isClosing = true;
    this.#waiting.clear();
    this.#releaseDrainers();
    if (this.#end) {
      // Frames were still waiting; with them gone, the close handler's turn has come.
      queueMicrotask(() => this.#pump());
      return this.#down.promise;
    }
    this.#giveUp = setTimeout(() => {
      const message = `the peer did not take what was queued within ${limits.closeMs} ms`;
      this.#carrier.destroy(new TransportError("peer_too_slow", message));
    }, limits.closeMs);
    if (typeof this.#giveUp === "object") this.#giveUp.unref();
    // The peer's goodbye comes after whatever it sent before.
    if (this.#isPaused) this.#resume();
    this.#carrier.end({ code, reason });
    return this.#down.promise;
  }

  /** For the carrier: reports how many bytes of an incomplete frame have arrived. */
  receivePart(bytes: number): void {
    this.#unfinished?.part(bytes);
  }

  /** For the carrier: something arrived. */
  receive(arrival: Arrival): void {
    this.receivePart(0);
    if (this.#isClosing || this.#end) return;
    if (!this.#isBusy && this.#waiting.length === 0 && this.#handleFrame) {
      this.#hand(arrival, this.#handleFrame);
      // A carrier that closes at once may have ended within the handler, when nobody could be told of it.
      if (this.#end) this.#pump();
      return;
    }
    this.#waiting.push(arrival);
    if (!this.#isPaused && this.#isFull(1)) this.#pause();
    // This may close this connection, or another, if all connections together hold too much.
    this.#unfinished?.waiting(this.#waiting.bytes);
  }

  /** For the carrier: some of what was queued is on its way. */
  wrote(): void {
    this.#unread?.set(this.#carrier.queuedBytes);
    if (this.#drainers.length > 0 && this.#isDrained()) this.#releaseDrainers();
  }

  /** For the carrier: it is gone. Only the first call counts. */
  ended(error: TransportError | undefined, closing: Closing): void {
    if (this.#end) return;
    clearTimeout(this.#giveUp);
    this.#unread?.close();
    this.#unfinished?.close();
    // A link that breaks after we said goodbye has done what we wanted.
    const isWanted = this.#isClosing && error?.code === "lost";
    this.#end = { error: isWanted ? undefined : error, closing };
    this.#releaseDrainers();
    this.#down.resolve();
    this.#pump();
  }

  #pump(): void {
    while (!this.#isBusy) {
      if (this.#isPaused && !this.#isFull(0.5)) this.#resume();
      if (this.#waiting.length === 0) {
        this.#tellEnd();
        return;
      }
      if (!this.#handleFrame) return;
      const arrival = this.#waiting.shift();
      this.#unfinished?.waiting(this.#waiting.bytes);
      if (arrival !== undefined) this.#hand(arrival, this.#handleFrame);
    }
  }

  #hand(arrival: Arrival, handleFrame: FrameHandler): void {
    const read = typeof arrival === "string" ? readFrame(arrival) : arrival;
    this.#isBusy = true;
    let handling: unknown;
    try {
      if (read instanceof Malformed) this.#handleMalformed(read);
      else handling = handleFrame(read);
    } catch (fault) {
      this.#tellFault(fault);
    }
    if (!isPromise(handling)) {
      this.#isBusy = false;
      return;
    }
    // Stops reading from a peer that does not read: what it sends would only wait here.
    if (!this.#isPaused && !this.#isDrained()) this.#pause();
    handling.then(this.#next, this.#nextAfterFault);
  }

  readonly #next = (): void => {
    this.#isBusy = false;
    this.#pump();
  };

  readonly #nextAfterFault = (fault: unknown): void => {
    this.#tellFault(fault);
    this.#next();
  };

  #tellFault(fault: unknown): void {
    try {
      this.#handleFault(fault);
    } catch {
      // Whoever is told of faults and fails at it has nobody left to tell.
    }
  }

  #tellEnd(): void {
    if (!this.#end || this.#isTold || !this.#handleClose) return;
    this.#isTold = true;
    try {
      this.#handleClose(this.#end.error, this.#end.closing);
    } catch (fault) {
      this.#tellFault(fault);
    }
  }

  #pause(): void {
    this.#isPaused = true;
    this.#carrier.pause();
    this.#unfinished?.pause(true);
  }

  #resume(): void {
    this.#isPaused = false;
    this.#carrier.resume();
    this.#unfinished?.pause(false);
  }

  #isFull(part: number): boolean {
    const { length, bytes } = this.#waiting;
    return length >= limits.waitingFramesMax * part || bytes >= limits.waitingBytesMax * part;
  }

  #isDrained(): boolean {
    return this.closed || this.#carrier.queuedBytes <= limits.queuedBytesLow;
  }

  #releaseDrainers(): void {
    const released = this.#drainers;
    this.#drainers = [];
    for (const release of released) release();
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    "then" in value &&
    typeof value.then === "function"
  );
}
