/** What callers and daemon must agree on, also where none of them runs the other. */
export const limits = {
  /** Who says that it works is silent after so long without progress, unless the caller says otherwise. */
  silentAfterMs: 300_000,
} as const;
