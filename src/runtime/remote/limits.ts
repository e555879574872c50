export const limits = {
  /** Agents that there are, by whoever's offer: each client is told them all in its welcome. */
  agentsMax: 10_000,
  /** Workers that are there, or may come back. */
  workersMax: 10_000,
  /** What a worker has said and was not told to be kept. It waits then; one that does not is sent away. */
  unacknowledgedMax: 1_000,
  /** What it asks, and has no answer to yet. */
  requestsMax: 1_000,
  /** Answers of people, and ends of children, that its jobs wait for. One more is answered with an error. */
  waitsMax: 10_000,
  /** Jobs that it was told to drop, of which it may still say what they have spent: the last ones. */
  droppedMax: 1_000,
} as const;
