/** Bounds of the writer, and its times. */
export const limits = {
  /**
   * How often it is asked whether the hosts live: a state must be right a second after a host was killed, and
   * Node cannot be told of the death of a process that is not its child. Twice a second, one small file of
   * the system for each session, and only while there is a session.
   */
  lookMs: 500,
  /** How long the writer stays without a session: clearing ends one and begins the next 0.2 s later. */
  lingerMs: 3_000,
  /** The lock says until when it is good. Several heartbeats, because one may come late. */
  leaseMs: 60_000,
  /** How often who wants the lock looks whether it is free: soon when it was asked for, else rarely. */
  handOverMs: 25,
  handOverMsMax: 3_000,
  waitMs: 5_000,

  /** Events that are heard in one go, the oldest. */
  queueFilesMax: 10_000,
  /** What a hook hands over beside the event. */
  headBytesMax: 65_536,
  /** Of one event. Longer ones are thrown away unread. */
  eventBytesMax: 67_108_864,
  /** In which it is read. Short, so that what is made of it is soon forgotten. */
  partBytes: 16_384,
  /** Files of the system say that they are empty, and are about as long as this. */
  systemFileBytes: 4_096,
  /** A hook that did not finish in this time was killed. */
  unfinishedMs: 60_000,

  sessionsMax: 1_000,
  /** Of the part of a session's id that is in the name of its file, which has 255 bytes with all of it. */
  nameLengthMax: 150,
  sessionBytesMax: 1_048_576,
  /** Goals that are kept in case their session is resumed. */
  goalsMax: 1_000,
  goalAgeMsMax: 2_592_000_000,

  /** Of a transcript: as much of its end as may have come since the last look. */
  transcriptBytesMax: 262_144,
  /** Claude Code's file about a process has less than a kilobyte. */
  reportBytesMax: 65_536,
  /** Of `/proc/<pid>/environ` and its like. */
  processBytesMax: 1_048_576,
  /** A host runs a shell, perhaps in a sandbox, and that the command: nobody looks deeper than so many of them. */
  generationsMax: 4,
  /** By so much a process may seem to have started before the question that let it: clocks are coarse. */
  startSlackMs: 500,
} as const;
