export const limits = {
  /** What a handler may have said without waiting for any of it to be kept, while nobody listens. */
  unsentMax: 10_000,
  unsentBytesMax: 67_108_864,
  /**
   * The longest pause between two attempts to connect. A runtime that restarted waits at least ten seconds for a worker that
   * was away before, so that none may sleep through that.
   */
  pauseMsMax: 5_000,
  /** How long the runtime may take to answer the hello, and then the offer. */
  handshakeMs: 10_000,

  /** Between the end of a child and the start of the next: from the first to the last, doubled each time. */
  restartMsMin: 200,
  restartMsMax: 30_000,
  /** If a child ran this long, the next one is started without a long pause. */
  soundMs: 10_000,
  /** How long a child may take to exit after its input has ended, and again after it was asked to end. */
  childEndMs: 5_000,
} as const;
