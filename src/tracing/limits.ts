export const limits = {
  /** What an attribute holds of what a peer wrote; exporters cut it at some length of their own. */
  attributeLengthMax: 1_024,
} as const;
