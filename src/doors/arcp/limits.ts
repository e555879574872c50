export const limits = {
  /** More than this is not queued for one connection: the rest stays in the log until there is room. */
  queuedBytesMax: 16_777_216,
  /** What comes while a session is told what it missed; beyond that it reads on from the log. */
  entriesBehindMax: 1_000,
  /** Answers that wait to be sent. Who is owed more is not read before some have left. */
  answersMax: 128,
  /** Bytes of unread answers at which the door stops reading from the caller. */
  unreadBytesMax: 65_536,
  /** Whoever takes so much of our time at once lets others have theirs before the next request. */
  turnMs: 10,
  /** A result that was streamed, put together for a session that takes no pieces. */
  assembledBytesMax: 8_388_608,
  /** What is read at once of a job's past. */
  historyEntries: 1_000,
  /** Entries of a page of jobs, by default and at most. */
  pageEntries: 100,
  pageEntriesMax: 1_000,
  /** What the entries of a page take as JSON; one always fits. Some clients read at most 1 MiB a message. */
  pageBytesMax: 524_288,
  /** Of one of them, besides its lease. */
  pageEntryBytes: 512,
  /** Jobs that are looked at for a page. Where a filter passes over more, the next page goes on from there. */
  pageLooksMax: 10_000,
  /** Of a hello: nobody knows yet who says it. */
  helloBytesMax: 65_536,
  /** Entries that are read at a time, by who replays a log. */
  replayEntries: 500,
  /** How long the door keeps sending queued answers after the client said goodbye. */
  farewellMs: 2_000,
  heartbeatMs: 30_000,
  resumeWindowMs: 600_000,
  cancelGraceMs: 30_000,
  /** Unfinished jobs of one session (ARCP-88, ARCP-203). */
  jobsOfSessionMax: 100,
  /** Unacknowledged events at which a job is told that its listener lags. */
  backPressureEvents: 1_000,
} as const;
