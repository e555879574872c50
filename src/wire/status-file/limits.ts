/** What a status file may be, and the times that the standard names. */
export const limits = {
  /** A record has about a kilobyte. Whatever is this long is something else. */
  fileBytesMax: 1_048_576,
  /** Objects and lists inside each other, the record itself included. */
  depthMax: 500,
  /** Of an id, in UTF-8: the temporary name made of it must fit into 255 bytes. */
  agentIdBytesMax: 236,
  /** Code points of a goal or a task in few words. */
  summaryLengthMax: 120,
  /** A record that was not written for longer than this is stale. */
  staleAfterMs: 60_000,
  /** How often a writer says that it is still there. The standard allows 15 to 30 s. */
  heartbeatMs: 20_000,
  /** Pruning leaves alone what is younger. */
  pruneAfterMs: 86_400_000,
} as const;
