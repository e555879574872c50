export const limits = {
  /** The in-memory engine forgets what is older. */
  memoryEntriesMax: 100_000,
  /** One read gives no more than this, but for its last entry. */
  readBytesMax: 16_777_216,
  /** Writing a snapshot yields to other work at least this often. */
  sliceMs: 10,
  snapshotsKept: 2,
} as const;
