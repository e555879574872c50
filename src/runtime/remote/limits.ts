export const limits = {
  /** Of the id that a worker gives itself; long enough that nobody guesses it. */
  workerIdLengthMin: 8,
  workerIdLengthMax: 128,
  offersMax: 1_000,
  /** Agents that there are, by whoever's offer: each client is told them all in its welcome. */
  agentsMax: 10_000,
  /** Jobs of one worker at a time. */
  jobsAtOnceMax: 10_000,
  jobsAtOnce: 10,
  /** Workers that are there, or may come back. */
  workersMax: 10_000,
  /** What a worker has said and was not told to be kept. It waits then; one that does not is sent away. */
  unacknowledgedMax: 1_000,
  /** What it asks, and has no answer to yet. */
  requestsMax: 1_000,
  /** Of a job as it is sent to a worker that names no other size: what our transports take. */
  frameBytesMax: 16_777_216,
  /** Of a frame, besides its payload, and of a worker's, besides what the agent has put into it. */
  frameHeadBytes: 4_096,

  /** What a handler may have said without waiting for any of it to be kept, while nobody listens. */
  unsentMax: 10_000,
  unsentBytesMax: 67_108_864,
  /** Between two tries to connect: from the first to the last, doubled each time. */
  retryMsMin: 100,
  retryMsMax: 5_000,
  /** For the hello and the offer to be answered. */
  handshakeMs: 10_000,

  /** Between the end of a child and the start of the next: from the first to the last, doubled each time. */
  restartMsMin: 200,
  restartMsMax: 30_000,
  /** A child that lived this long is not in trouble: the next one is started soon. */
  soundMs: 10_000,
  /** For a child whose input has ended, and again for one that was asked to end. */
  childEndMs: 5_000,
} as const;
