/** Bounds of looking around. */
export const limits = {
  /** Who says it works and has made no progress for so long is silent. */
  silentAfterMs: 300_000,
  /** A record that is not renewed for so long is stale, as the format has it. */
  staleAfterMs: 60_000,
  /** Records know the second, and so does the time of boot by which processes are dated. */
  startSlackMs: 2_000,
} as const;
