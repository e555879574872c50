export const limits = {
  /** Of one list, however many there are: what is far from the view is dropped and asked for again. */
  rowsHeldMax: 2_000,
  pageRows: 100,
  /** Agents of this machine: more than these, and none of it can be read anyway. */
  sightingsMax: 1_000,
  /** A browser cannot scroll higher than some tens of millions of pixels. */
  rowsScrollableMax: 400_000,

  /** Entries of the log that the stream of events shows. */
  recentEntriesMax: 300,
  /** Further behind than this after a pause, and it is quicker to look at the state again. */
  entriesBehindMax: 5_000,
  /** What comes so long after it happened is a backlog. */
  lagMsMax: 5_000,
  /** How long entries are collected before they are shown: under load, a screen is enough. */
  collectMs: 100,

  /** Lists that events concern are asked for again at most so often. */
  refreshEveryMs: 1_000,
  /** What changes without an event, like the time of a heartbeat or who has fallen silent. */
  pollEveryMs: 5_000,
  /** How far jobs are and what they have spent, while one looks at them. */
  workEveryMs: 2_000,
  overviewEveryMs: 10_000,
  timelineEveryMs: 15_000,

  /** While nobody looks: the title still tells how much needs a person. */
  hiddenRefreshEveryMs: 30_000,
  /** Hidden for so long, a page lets go of its stream: a browser has six connections for all pages of a host. */
  hiddenStreamMs: 60_000,

  retryMs: 500,
  retryMsMax: 4_000,

  typingMs: 150,
  namesMax: 5_000,
  nameLookupsMax: 4,
  /** Of a text from outside inside a sentence. */
  textShownMax: 80,
  noticeMs: 5_000,
  /** As the daemon has it: how long a job that is cancelled may take to unwind. */
  cancelGraceMs: 30_000,
  /** And how long a worker may be away, unless its runtime says otherwise: how full a bar is at first. */
  workerGraceMs: 60_000,
  /** What a job said, in one piece. */
  jobEventsAsked: 200,
  /** Of the text of a result that is streamed: its end. */
  previewLengthMax: 20_000,
  /** Of one value in an event of a job, before it is opened. */
  valueShownMax: 140,
} as const;
