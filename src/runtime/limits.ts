export const limits = {
  /** What an agent may have said before it waits until that is kept: one write of the log takes as much. */
  wordsAheadMax: 1_024,
  bytesAheadMax: 1_048_576,
  /** One event, or a result in one piece: clients read messages of 16 MiB, and the rest of it has room for a head. */
  bodyBytesMax: 16_711_680,
  /** Of what is said of a failure, and of what belongs to it. */
  wordsLengthMax: 4_096,
  detailsLengthMax: 65_536,
  /** Pieces of a streamed result, and all of them together, decoded. */
  chunkBytesMax: 1_048_576,
  resultBytesMax: 268_435_456,
  /** How long a job waits for its credentials, unless whoever asks has less time; and a revocation for an answer. */
  issueWithinMs: 30_000,
  revokeWithinMs: 30_000,
  credentialsOfJobMax: 100,
  /** Leftovers and repeated tries. What a job had that ends just now is always tried at once. */
  revocationsAtOnce: 16,
  /** What a job has to unwind when the one that asked for it cancels it. */
  cancelGraceMs: 30_000,
  /** How long a job waits for a person by default, and how long a scope is granted for by default. */
  askTimeoutMs: 180_000,
  scopeRequestTimeoutMs: 60_000,
  scopeTtlSeconds: 60,
  /** When the runtime closes, after the time that jobs have to unwind. */
  closeSlackMs: 1_000,
  /** Jobs that one worker in this process runs at a time, unless it says otherwise. */
  jobsAtOnce: 1_000,
  /** A file that is read at once. */
  fileBytesMax: 268_435_456,
  /** How often a path is looked at again that has become another in the meantime. */
  opensMax: 8,
  /** As browsers have it. */
  redirectsMax: 20,
  /**
   * How long a server may send nothing: before it accepts the connection, before its response, or during the response.
   */
  fetchSilenceMs: 300_000,
  /** Content encodings of one response. Each takes memory to decode. */
  encodingsMax: 5,
} as const;
