export const limits = {
  /** Of the id that a worker gives itself; long enough that nobody guesses it. */
  workerIdLengthMin: 8,
  workerIdLengthMax: 128,
  offersMax: 1_000,
  /** Jobs of one worker at a time. */
  jobsAtOnceMax: 10_000,
  jobsAtOnce: 10,
  /** Jobs that one worker has: those that run, and those that wait for people. */
  heldMax: 20_000,
  /** Of a job as it is sent to a worker that names no other size: what our transports take. */
  frameBytesMax: 16_777_216,
  /** Of a frame, besides its payload, and of a worker's, besides what the agent has put into it. */
  frameHeadBytes: 4_096,
} as const;
