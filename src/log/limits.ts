export const limits = {
  /** The in-memory engine forgets what is older. */
  memoryEntriesMax: 100_000,
  /** It forgets more where bodies are large: one may have megabytes, and all of it is in the heap. */
  memoryBytesMax: 268_435_456,
  /** One read gives no more than this, but for its last entry. */
  readBytesMax: 16_777_216,
  /** Writing a snapshot yields to other work at least this often. */
  sliceMs: 10,
  snapshotsKept: 2,
  /** One cut takes no more entries than this, and begins no further batch after so long. */
  cutEntriesMax: 1_000,
  cutMs: 4,
  /** A batch within a cut. Of a large entry, each page is looked at when it goes. */
  cutBatchEntries: 100,
  cutBatchBytes: 2_000_000,
  /**
   * While it is cut, so many pages of the write-ahead log are put in their place at a time. With
   * SQLite's own 1,000 a cut in forty took 25 ms here, with these 10.
   */
  cutCheckpointPages: 200,
} as const;
