export const limits = {
  /** The in-memory engine forgets what is older. */
  memoryEntriesMax: 100_000,
  /** It forgets more where bodies are large: one may have megabytes, and all of it is in the heap. */
  memoryBytesMax: 268_435_456,
  /** One read gives no more than this, but for its last entry. Hundreds may read at the same time. */
  readBytesMax: 262_144,
  /** So many are written with one statement; more gain nothing. */
  insertEntries: 8,
  /** Transactions that can be in the write-ahead log without a sync: a cut, and the append or cut after it. */
  unsyncedCommitsMax: 2,
  /**
   * If the entries have at most this size, all are verified when the log is opened, in at most 0.5 s. In a larger log,
   * those before the newest snapshot are verified later, while the daemon runs.
   */
  verifiedBytesMax: 33_554_432,
  /** Writing a snapshot, and verifying a large log, yield to other work at least this often. */
  sliceMs: 10,
  snapshotsKept: 2,
  /** One cut takes no more entries than this, and begins no further batch after so long. */
  cutEntriesMax: 1_000,
  cutMs: 4,
  /** A batch within a cut. Of a large entry, each page is looked at when it goes. */
  cutBatchEntries: 100,
  cutBatchBytes: 2_000_000,
  /** While it is cut, less of the write-ahead log is put in its place at a time, and so more quickly. */
  cutCheckpointPages: 200,
} as const;
