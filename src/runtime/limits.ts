export const limits = {
  /** What an agent may have said before it waits until that is kept: one write of the log takes as much. */
  wordsAheadMax: 256,
  bytesAheadMax: 1_048_576,
  /** Pieces of a streamed result, and all of them together, decoded. */
  chunkBytesMax: 1_048_576,
  resultBytesMax: 268_435_456,
  /** How long a piece is if the agent writes more at once: less than any peer's limit for a message. */
  chunkBytes: 262_144,
  /** Jobs that one worker in this process runs at a time, unless it says otherwise. */
  jobsAtOnce: 1_000,
} as const;
