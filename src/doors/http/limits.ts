export const limits = {
  /** A request line and its headers. A browser sends about 1 kB. */
  headerBytesMax: 16_384,
  urlLengthMax: 2_048,
  /** For each place listened in. Event streams come out of these. */
  connectionsMax: 1_000,
  /** A dashboard has one stream; a browser opens at most six to one host. */
  eventStreamsMax: 200,
  /** Who is slower to say what it wants is cut off. */
  headersMs: 10_000,
  requestMs: 30_000,
  keepAliveMs: 5_000,

  /** How much of a backlog is printed at a time: what a slow reader is owed waits as entries, not as text. */
  chunkBytes: 65_536,
  /** Proxies cut connections on which nothing moves, most after 60 s. */
  commentEveryMs: 15_000,
  /** A reader that took nothing for so long is gone. Longer than the time between two comments. */
  stalledMs: 40_000,
  /** How soon a browser comes back after a stream ended. */
  retryMs: 1_000,

  /** Of each list in the overview. The totals count all. */
  rowsMax: 500,
  candidatesShownMax: 20,
  toolsShownMax: 50,
  /** Of a description or a reason in the overview. */
  textLengthMax: 300,

  /** On closing, answers under way have this long; then their connections are cut. */
  closingMs: 500,
} as const;
