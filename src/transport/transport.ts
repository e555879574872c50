/**
 * How two sides exchange frames, whatever lies between them (ARCP 1.1 §4). A frame is one JSON object.
 * Order is kept, nothing is lost while the link holds, and what comes in waits for whoever handles it.
 */

export type Frame = Readonly<Record<string, unknown>>;

/** May answer with a promise; the next frame waits for it. */
export type FrameHandler = (frame: Frame) => unknown;

/** Without an error if either side said goodbye, or the peer's output just ended. */
export type CloseHandler = (error?: TransportError, closing?: Closing) => void;

export interface Transport {
  readonly link: Link;
  /** Nothing can be sent any more, by whichever side's doing. Frames that had arrived may still come. */
  readonly closed: boolean;
  /** Handed to `send` and not yet to the operating system. */
  readonly queuedBytes: number;
  /**
   * Whether more may be queued for this peer. Links that share a budget have less room when the others hold much.
   * While this is false, a caller that sends much awaits `drained()`.
   */
  readonly hasRoom: boolean;

  /**
   * Resolves when the frame is queued, which says nothing of its arrival. Rejects with `closed`, with
   * `not_sendable`, or with `peer_too_slow` if far too much is queued already. Whoever sends much looks at
   * `queuedBytes` and awaits `drained()`; `send` itself never waits for the peer, because two sides that
   * answer from within their handlers would then wait for each other.
   */
  send(frame: Frame): Promise<void>;
  /** The same for a frame that is printed already, without lone surrogates, as `JSON.stringify` prints it. */
  sendText(text: string): Promise<void>;
  /** Resolves when little is queued, or the transport is closed. */
  drained(): Promise<void>;

  /**
   * One handler, called once for each frame and in order, each call awaited before the next. Frames that
   * arrive before are kept; while many wait, nothing is read.
   */
  onFrame(handler: FrameHandler): void;
  /** Told in its place among the frames. Without a handler, what is malformed is dropped. */
  onMalformed(handler: (malformed: Malformed) => void): void;
  /**
   * Called exactly once, and last: after the last frame has been handled. Frames that wait for a handler
   * hold it back; `closed` tells at once.
   */
  onClose(handler: CloseHandler): void;
  /** What a handler threw. The frames after it come nevertheless. */
  onFault(handler: (fault: unknown) => void): void;

  /**
   * Sends what is queued, says goodbye and resolves when the link is down; frames that still wait are
   * dropped. Closing twice is fine. The code is one of WebSocket's: 1000 unless something is wrong.
   */
  close(reason?: string, code?: number): Promise<void>;
}

/** What lies between the two sides. */
export type Link = {
  readonly kind: "memory" | "stdio" | "websocket";
  /** Nobody else on the network can read it: one machine, or TLS. */
  readonly isPrivate: boolean;
  /** Of the peer, if it came over a network. */
  readonly address?: string;
};

/** How a link was closed. Links that have no close codes say 1000. */
export type Closing = { readonly code: number; readonly reason: string };

export type MalformedCode = "not_utf8" | "not_json" | "not_an_object" | "too_big";

/** Something arrived that is no frame. It holds nothing of what arrived: that may be a secret. */
export class Malformed {
  readonly code: MalformedCode;
  readonly message: string;

  constructor(code: MalformedCode, message: string) {
    this.code = code;
    this.message = message;
  }
}

export type TransportErrorCode =
  /** It was closed before. */
  | "closed"
  /** A value that JSON cannot say. */
  | "not_sendable"
  /** The peer takes nothing of what is queued. */
  | "peer_too_slow"
  /** We handle less than comes in, and cannot make the peer wait. */
  | "reader_too_slow"
  /** The link broke, or the peer died, without a goodbye. */
  | "lost"
  /** The peer closed it, and its close code says that something was wrong. */
  | "refused"
  /** A frame was larger than allowed, and the link cannot go on after one. */
  | "too_big"
  /** The peer broke the rules of the link. */
  | "protocol"
  /** There was no connection, or not in time. */
  | "cannot_connect";

export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly code: TransportErrorCode;

  constructor(code: TransportErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Reads one frame. A key named `__proto__` becomes an own property like any other. */
export function readFrame(text: string): Frame | Malformed {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return new Malformed("not_json", "the message is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return new Malformed("not_an_object", "the message is JSON, but not an object");
  }
  // Bytes have become values here, and an object that JSON made has string keys.
  return value as Frame;
}
