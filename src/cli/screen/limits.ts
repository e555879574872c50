/** Bounds of the live view. */
export const limits = {
  /** Below this nothing can be laid out. */
  columnsMin: 30,
  rowsMin: 6,
  /** The detail needs so many lines to say anything, and does not need more than so many. */
  detailRowsMin: 8,
  detailRowsMax: 20,
  /** Lines of open questions; if there are more questions, the last line says how many. */
  questionRowsMax: 8,
  /** The fewest cells in which a prompt is useful, and the most cells for the name of the asker. */
  promptCellsMin: 12,
  askerCellsMax: 16,
  /** Of what happened last, below the facts. */
  pastRowsMin: 3,
  /** Beside the facts, events fit into so many columns. */
  besideColumnsMin: 110,
  /** Of the strip, a minute a cell. */
  stripMs: 3_600_000,
  stripCells: 60,
  /** Of one agent in an hour; the oldest give way. */
  stretchesMax: 500,
  /** What is remembered of what happened, and of one agent. */
  happeningsMax: 500,
  aboutEntriesMax: 200,
  /** How long a screen may be empty. */
  patienceMs: 80,
  /** Ages are told in seconds. */
  tickMs: 1_000,
  /** What changes within this time is drawn at once: a person sees no more. */
  drawPauseMs: 16,
  /** How long a note stays where the keys are. */
  noticeMs: 4_000,
  /** Of the filter. */
  filterLengthMax: 200,
  /** What tmux is given to go to a pane. */
  tmuxMs: 2_000,
} as const;
