/** What a frame may hold, and the times and counts that the protocol names. */
export const limits = {
  /** Ids of others are opaque; longer ones are no ids. */
  idLengthMax: 256,
  /** Names of clients, runtimes, features, agents and the like. */
  nameLengthMax: 256,
  /** A bearer token; signed ones have a few thousand characters. */
  tokenLengthMax: 16_384,
  /** What is said in words: a reason, a message, a summary. Cut, not refused. */
  wordsLengthMax: 4_096,
  /** What W3C asks everybody to pass on. */
  tracestateLengthMax: 512,
  idempotencyKeyLengthMax: 256,
  /** Features, encodings, statuses in a filter. */
  listLengthMax: 1_000,
  /** Objects and lists inside each other: printing is recursive, and must not run out of stack. */
  depthMax: 500,
  /** Malformed frames in a row, before the runtime closes the transport. */
  malformedFramesMax: 20,
  /** A connection that says no hello is closed. */
  helloMs: 10_000,
  heartbeatMs: 30_000,
  /** A look at the heartbeat that is this late happened after a stall: what arrived meanwhile is read first. */
  stallMs: 1_000,
} as const;
