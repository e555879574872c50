export const limits = {
  /** The timer looks at least this often: a command may have moved the next deadline closer. */
  sleepMsMax: 200,
  /** What a timer can count; beyond that it is set again. */
  timerMsMax: 2_147_483_647,
  /** A look that comes later than this means that the process was suspended. */
  lateMsMax: 5_000,
  /** Open watches over all doors. Half are reserved for trusted callers. */
  watchersMax: 10_000,
  /** A watcher that has this much undelivered is too slow, and is told where to go on. */
  watcherEntriesMax: 10_000,
  watcherBytesMax: 16_777_216,
  /** How much history is read at a time for who resumes. */
  historyEntries: 1_000,
  /** Whoever has read more of a stream than this waits for its turn before it reads on. */
  turnUnits: 131_072,
  /** How much is read at a time when the log is opened. */
  recoveryEntries: 1_000,
  /** A snapshot is made after so many entries: it bounds the time that opening takes. */
  snapshotEntries: 100_000,
  /** How long history is kept on disk, unless told otherwise, and how much of it. */
  keepMs: 2_592_000_000,
  keepBytes: 4_000_000_000,
  /**
   * Of what is kept there are at least so many snapshots' worth: one is made after an eighth of the time
   * or of the bytes as well, so that there is always one behind which the log can be cut.
   */
  snapshotsPerKeep: 8,
  /** What an entry takes besides its body, roughly. */
  entryBytes: 256,
  /** While there is something to cut, there is so much time for others in between. */
  cutPauseMs: 50,
  /** How often it is looked whether there is, and how soon again where it went wrong. */
  cutEveryMs: 1_000,
  cutRetryMs: 600_000,
  /** The pause between two slices of verifying a large log, so that other work can run. */
  checkPauseMs: 50,
  /** Commands that wait for something to happen, over all callers. Half are reserved for trusted callers. */
  waitingMax: 100_000,
  /** As many where only those come who return to a place of theirs: each may do so once. */
  listenersMax: 200_000,
  /** How long a place in line is kept for a caller that is gone and may come back with its key. */
  placeKeptMs: 10_000,
} as const;
