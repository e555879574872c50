/** Bounds of the command line, as one that asks the daemon. */
export const limits = {
  /** How long an item is snoozed by default. */
  snoozeMs: 3_600_000,
  /** For what is still to be printed, when all that the daemon had is closed. */
  exitMs: 200,
  /** A daemon answers in milliseconds; what takes so long does not answer. */
  answerMs: 10_000,
  /** A page has a thousand rows at most; the input of a task, two megabytes. */
  answerBytesMax: 100_000_000,
  /** How long a host may take to say its version. */
  versionMs: 10_000,
  /** Whether somebody listens on a port of this machine. */
  portMs: 1_000,
  /** Ports of the process that owns a busy port that are probed, to find out whether it is a Tipstaff daemon. */
  portsAskedMax: 8,

  /** What the daemon gives at a time. */
  pageMax: 1_000,
  /** Of a list, unless more is asked for: what one looks through. */
  rowsDefault: 1_000,
  entriesDefault: 50,
  /** Names of agents that are known to whoever reads along; the oldest are shown by their ids again. */
  namesMax: 10_000,

  /** Between two attempts to reach a daemon that is gone: soon at first, then rarely. */
  pauseMsMin: 250,
  pauseMsMax: 5_000,
  /** The daemon comments every 15 s: who is silent for longer than this is gone. */
  silenceMsMax: 45_000,
  /** Of one event; the input of a task is never in it. */
  messageLengthMax: 50_000_000,

  /** What one process compares at ease. */
  policiesMax: 1_000_000,
  policyFileBytesMax: 50_000_000,
  /** Settings of hosts are kilobytes; those of this size are changed in half a second. */
  settingsBytesMax: 1_000_000,
  /** Lists in lists: the parser takes a call for each level, and has room for some four thousand. */
  settingsDepthMax: 1_000,
  /** Of a change to a file, where it is shown; and files that are compared line by line. */
  diffLinesMax: 10_000,
  diffLineLengthMax: 500,
  diffCellsMax: 4_000_000,
  /** What is wrong with files is told at once, up to here. */
  problemsShownMax: 20,
  /**
   * Of agents that are found, by the built-in table: nonsense stays below the lower, and whose card has the
   * words that were asked for comes above the higher.
   */
  fairScoreMin: 0.22,
  strongScoreMin: 0.6,
  foundDefault: 10,
  /**
   * Characters of a question's id that are shown, and the fewest that a user may type to name it. With more open
   * questions than `shortIdsMax`, ids are shown in full: to shorten each of 10,000 takes 15 s.
   */
  shortIdLength: 6,
  shortIdsMax: 1_000,
  idPartLengthMin: 2,
  /** What the daemon accepts: with more open questions, it refuses to ask another. */
  openQuestionsMax: 10_000,
  /** Open questions that are listed above the agents; the rest is only counted. */
  questionsShownMax: 10,
  /** The prompt is not cut shorter than this to make room for the choices in the command that answers. */
  promptCellsMin: 30,
  /** Fields and values of an answer's schema that are listed, and how deep its objects are described. */
  schemaPartsShownMax: 12,
  schemaDepthShownMax: 2,
  /** Of things that go by the same name. */
  namesakesShownMax: 5,
  /** Who was lost is shown for a day: after that it is history. */
  lostShownMs: 86_400_000,
  /** Of a daemon that nobody named: what is known without it is not kept back for long. */
  casualAnswerMs: 2_000,
  /** Between two attempts to find a daemon. On this machine that costs next to nothing. */
  daemonPauseMs: 1_000,
  /** The same where another program has the address. */
  strangerPauseMs: 30_000,
  /** Between two questions to the daemon, so that what comes together is asked together. */
  askPauseMs: 50,
  /** Processes tell nobody that they come or go: how often they are looked at. */
  lookMs: 2_000,
  /** A daemon that restarts is back by then, and a file that is written anew is there again. */
  unseenMs: 15_000,
  /** After so long without a word an agent is gone: its file may only be between two writings. */
  goneMs: 5_000,
  /** Commands that tell of agents at the same time; more wait for their turn. */
  notificationsMax: 8,
  /** How long such a command may take: a sound, a call over the network. */
  notificationMs: 30_000,
  /** Of the input of a task, and of its output: both must fit into one reply that the Python client accepts. */
  taskBytesMax: 2_000_000,
  /** The length of a line that a job writes piece by piece; a longer one is shown as several lines. */
  writtenLengthMax: 2_000,
  /** Of the input of a task, where it is only shown. */
  previewLengthMax: 2_000,
  /** Between two looks for a person's answer, where reading does not wait for it. */
  answerPauseMs: 20,
  /**
   * The delay before the daemon is first asked for the state of a followed job that emits nothing: it may wait for a
   * worker. Most jobs begin at once.
   */
  lullMs: 300,
  /** The interval at which the daemon is asked again. */
  lullLookMs: 2_000,
  /** On a terminal of so many columns there is room for ids. */
  wideColumns: 140,
} as const;
