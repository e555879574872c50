/** Bounds of looking around. */
export const limits = {
  /** Records know the second, and so does the time of boot by which processes are dated. */
  startSlackMs: 2_000,

  /** Of each text of a record, a workspace included. */
  textLengthMax: 1_024,

  /** Of those that name one process, so many are compared with each other; each of the rest is a row of its own. */
  recordsPerProcessMax: 100,

  /** Coding agents of one user on one machine. */
  processesMax: 1_000,
  /** Programs are named at the beginning of their command lines; prompts may follow. */
  commandLengthMax: 4_096,
  statBytesMax: 4_096,
  /** A line for each interrupt of a large machine comes before the time of boot. */
  bootBytesMax: 1_048_576,
  /** Where a program is run from comes early, and what is longer is not looked through. */
  environBytesMax: 131_072,
  psBytesMax: 16_777_216,
  psMs: 2_000,
  /** What Claude Code keeps of a session, which is less than a kilobyte. */
  sessionBytesMax: 65_536,
  /** How long after its process started a session may begin and still be told to be of it. */
  sessionStartMsMax: 60_000,

  /** From a directory up to the root. */
  folderDepthMax: 100,
  /** Of the files in which git says where something is. */
  gitBytesMax: 4_096,

  /** Of the sightings that are looked at closely; whoever has more does not read them all. */
  surroundingsMax: 200,
  /** How much of other programs' records is read at a look: some 30 ms of work where every line counts. */
  usageBytesPerLook: 8_388_608,
  /** How many records are opened for it, and how many places looked at to find one: less than 10 µs each. */
  usageFilesPerLook: 1_000,
  usageSearchesPerLook: 3_000,
  /** At a time. A line of a record that is longer holds pictures, and its file is not summed up. */
  usageChunkBytes: 8_388_608,
  /** Where totals stand at the end of a file: mostly in the first of these, and a few answers fit into the second. */
  shortTailBytes: 65_536,
  tailBytes: 524_288,
  /** Of which it is remembered what was read. */
  usageFilesMax: 500,
  /** A message of several parts comes again within so many others. */
  recentMessagesMax: 256,
  subagentFilesMax: 200,
  /** Of what may be looked at in a search: so a look can list them and look into each. */
  projectFoldersMax: 1_000,
  /** Who writes a database is done soon, or we do without. */
  databaseMs: 50,
} as const;
