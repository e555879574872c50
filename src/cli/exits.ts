/** What the exit code says. */
export const exits = {
  ok: 0,
  /** Failure, or the answer is no. */
  no: 1,
  /** Usage error. */
  usage: 2,
  /** No daemon answers. */
  unreachable: 3,
  /** The log could not be written; everything acknowledged before is in it. */
  cannotWrite: 4,
  /** A fault of ours. */
  fault: 5,
  /** Told to stop by who started it, before it was done. */
  interrupted: 130,
} as const;
