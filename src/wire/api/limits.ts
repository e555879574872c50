/** What callers and daemon must agree on, also where none of them runs the other. */
export const limits = {
  /** Who says that it works is silent after so long without progress, unless the caller says otherwise. */
  silentAfterMs: 300_000,
  /** Something that needs a person can be hidden for at least a second, and for at most a year. */
  snoozeMsMin: 1_000,
  snoozeMsMax: 31_536_000_000,
  /** File patterns of a request for access that are listed; the others are counted. */
  patternsShownMax: 8,
} as const;
