export const limits = {
  /** Of a temporary name, each one of 16: two writers of one record meet once in four thousand millions. */
  temporaryChars: 8,
  /** A name that is taken is tried anew so often; more than once means that something else is wrong. */
  temporaryTriesMax: 8,
  /** On Windows a reader keeps a file from being replaced: tried again so often, after so long. */
  renameTriesMax: 20,
  renamePauseMs: 10,
  /** Work on files in one turn of the event loop. A call that takes several turns waits for as many slices. */
  sliceMs: 2,
  /** Entries of a directory that one system call reads. */
  entriesPerRead: 256,
  /** Files of a directory that are watched: more than agents of one machine, and about 20 MB of memory. */
  filesMax: 20_000,
  /** At that limit, how many of the other files one look at everything reads, to find valid records. About 0.1 s. */
  unreadFilesPerLook: 1_000,
  /** Warnings of a watch: more than anybody reads, few enough to sort and compare after each change. */
  warningsMax: 1_000,
  /** A file that changes again within this time is read once. */
  debounceMs: 50,
  /** How long what no event told of can stay unseen. */
  pollMs: 30_000,
  /** The same where there are no events at all: network file systems, no watches left. */
  pollWithoutEventsMs: 2_000,
  /** More names than these at once, and everything is looked at instead of keeping them. */
  changedNamesMax: 10_000,
  /** Linux drops events beyond 16,384 without telling us; half as many in one turn are a hint. */
  eventsPerTurnMax: 8_000,
  /** Times of files are coarse: one that changed so shortly before it was read may change unseen. */
  coarseTimesMs: 2_000,
  /** What one writer changes within this time is written once. */
  writeGapMs: 100,
  /** What could not be written is tried again so often: a disk that is full may have room again. */
  writeAgainMs: 2_000,
  /** Asking the system for the home of another user. */
  userLookupMs: 2_000,
} as const;
