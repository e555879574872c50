/** Bounds of what hosts say, and how long a turn's end is shown. */
export const limits = {
  /** Of one member of an event. A tool's answer may be megabytes; all that we use is far shorter. */
  memberBytesMax: 262_144,
  /** What is kept of either end of a text that is longer: enough for its first words, and for its last. */
  textBytesMax: 4_096,
  /** Of the end of last words: as much as the line with the question may have. A summary has 120. */
  lastLineLengthMax: 2_000,
  /** Of ids and names that hosts give: longer ones are not theirs. */
  idLengthMax: 512,
  /** Calls of tools that are under way at once. */
  callsMax: 256,
  /** Agents that work for the session. */
  subagentsMax: 1_024,
  /**
   * `failed`, `canceled` and `rejected` must not outlive the turn (AS-24), but hosts tell of them when it ends:
   * long enough to be seen by who looks every two seconds, then idle. Inside of hosts it is as long.
   */
  endingMs: 5_000,
  /** What a host still says of itself so long after the last event is not merely late. */
  lastingMs: 1_500,
} as const;
