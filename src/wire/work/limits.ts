export const limits = {
  /** Objects and lists inside each other: printing is recursive, and must not run out of stack. */
  depthMax: 500,
  /** The description of what is wrong with a value, in one line. */
  problemLengthMax: 300,
  /** The name of an event kind. */
  kindLengthMax: 256,
  /** Decoded bytes of all chunks of a result. */
  resultBytesMax: 268_435_456,
  /** Decoded bytes of the chunks that a stream is cut into: some clients read at most 1 MiB a message. */
  chunkBytes: 262_144,
  /** Encoded bytes of a chunk: 1 MiB minus 4 KiB for the rest of the message. */
  chunkPrintedBytes: 1_044_480,
} as const;
