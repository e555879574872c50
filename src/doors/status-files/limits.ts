export const limits = {
  /** Agents of whom the log is told together, before others get a turn: they share commits. */
  noticesPerTurn: 100,
  /** The daemon keeps them in memory, and what they tell in its state, which has room for as many. */
  watchedFilesMax: 10_000,
  /** Of each text that the log takes over from a file. */
  notedCharactersMax: 500,
  /** Of an id there: no system has longer names of files, so no file of such an agent is named after it. */
  notedIdBytesMax: 255,
  /** How often a registered agent's file is written anew, and for how many there is one. */
  mirrorBeatMs: 20_000,
  mirroredMax: 1_000,
} as const;
