/** Bounds of what a terminal says to us. */
export const limits = {
  /** An escape that is not followed by more within this time was the key itself, even over a slow line. */
  escapeMs: 60,
  /** No key sends more than this; what does is no key. */
  sequenceLengthMax: 64,
} as const;
