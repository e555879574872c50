export const limits = {
  /** How long a call is repeated while no daemon answers. Longer than a restart, shorter than a person's patience. */
  patienceMs: 30_000,
  /** One attempt, beyond the time that it asked to wait. A healthy daemon answers in milliseconds. */
  attemptMs: 10_000,
  /** The first pause between two attempts, and the longest. */
  pauseMs: 50,
  pauseMsMax: 5_000,
  /** Whoever asks for a longer pause is asked again sooner. */
  retryAfterMsMax: 30_000,
  /** One long poll. Proxies cut what is silent for 30 or 60 s; the daemon keeps a place in line for 10 s after. */
  pollMs: 20_000,
  /** An answer. A task with the longest input and output is about 5.5 MB as base64. */
  answerBytesMax: 33_554_432,
  /** An event of a stream, in characters. The longest, a task with all its tools, is far below. */
  messageLengthMax: 4_194_304,
  /** A stream on which nothing moves for so long is dead: the daemon sends a comment every 15 s. */
  silenceMs: 45_000,

  /** When nobody says otherwise. */
  agentTtlMs: 30_000,
  leaseTtlMs: 60_000,
  /** What is kept alive is renewed so often within its time: two attempts may fail. */
  renewalsPerTtl: 3,
  /** Two clocks need not run equally fast, and the daemon counts whole milliseconds: held a little less long. */
  marginShare: 0.001,
  marginMs: 2,
  /** How often the clocks are looked at, so that a leap is seen soon. Also bounds how often one renews. */
  lookEveryMs: 1_000,
  lookEveryMsMin: 20,

  /** Ending something politely takes no longer: whatever is not ended ends by itself. */
  closingMs: 3_000,
  /** How much later a request may arrive than one that was sent after it, on another connection. */
  overtakenMs: 500,
  /** Rows of a page of a list. */
  pageRows: 200,
} as const;
