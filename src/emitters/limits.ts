/** What an emitter keeps in mind inside somebody else's process. */
export const limits = {
  /** Sessions of one host that can be gone back to. The oldest is forgotten. */
  sessionsMax: 64,
  /** Subagents, and deleted sessions, whose ids are remembered. */
  strangersMax: 1_000,
  /** Subagents of subagents. */
  ancestorsMax: 32,
  /** Questions and permissions that are open at once. */
  blocksMax: 100,
  /** Characters of what another extension adds to the record. Everything of it is written every 20 s. */
  bridgeCharactersMax: 65_536,
  /** How a turn ended is shown for so long (AS-24). Beside of hosts it is as long. */
  endingMs: 5_000,
  /** Status files that are read in one go to look for another emitter: some 30 ms. */
  recordsAtOnceMax: 1_000,
} as const;
