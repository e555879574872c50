/** What this command bounds, and why. */
export const limits = {
  /** A longer line of a task is wrapped: a summary has 120 characters by custom, and its mark a few. */
  taskCellsMax: 126,
  /** Then it ends in an ellipsis. Whoever wants it all asks `get`. */
  taskLinesMax: 12,
  /** Of a text in a cell. What is longer cannot be shown in full anyway, and is not even looked at. */
  cellLengthMax: 1_600,
  /** The longest id that fits a file name; longer ones can only come from a record's content. */
  idCellsMax: 236,
  nameCellsMax: 60,
  /** A table is written in pieces of so many characters, so that a long one need not be held twice. */
  pieceLengthMax: 65_536,
  /** More frames than this nobody can see; a change is shown at once anyway. */
  frameMsMin: 100,
  /** How often `watch` draws if nothing happens. */
  intervalSeconds: 2,
  /** How long a look at all processes of the machine is good for. */
  processesMs: 1_000,
  /** Times of records are cut to the second, and so is the time of boot: a process may seem younger than it is. */
  coarseTimesMs: 2_000,
  /** More links than this in one path are a loop. */
  linksMax: 40,
  /** What AGENT_STATUS_MAX_BYTES may ask for: half of the longest text there is. */
  fileBytesMaxMost: 268_435_456,
  /** The longest a timer of Node can wait. */
  timerMsMax: 2_147_483_647,
} as const;
