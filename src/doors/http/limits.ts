export const limits = {
  /** How many agents are named in the row of a process that was lost. */
  namedTogetherMax: 10,

  /** A request line and its headers. A browser sends about 1 kB besides the address. */
  headerBytesMax: 49_152,
  /** Each byte of a name may take three characters, and some operations are asked with several names. */
  urlLengthMax: 32_768,
  /** The input or output of a task as base64, and some room. */
  bodyBytesMax: 3_000_000,
  /** Of a caller without the token: the key of a link. */
  strangersBodyBytesMax: 4_096,
  /** A card has capabilities, which have fields: three. */
  bodyDepthMax: 32,
  /** The input and the output of a task, as over gRPC. */
  taskBytesMax: 2_000_000,
  /** A card as a whole, and all tools that a task requires: as over gRPC. */
  cardBytesMax: 262_144,
  requiredToolsBytesMax: 65_536,
  /**
   * Connections for each listen address, including event streams. Half are reserved for callers that show the token.
   */
  connectionsMax: 1_000,
  /**
   * Event streams. A dashboard has one; a browser opens at most six to one host. Half are reserved for the same
   * callers.
   */
  eventStreamsMax: 200,
  /** Requests that a connection may send before it has the answer to the first. Browsers and our client send one. */
  pipelinedMax: 16,
  topicsMax: 100,
  /** Who is slower to say what it wants is cut off. */
  headersMs: 10_000,
  requestMs: 30_000,
  checkEveryMs: 5_000,
  keepAliveMs: 5_000,

  /** How much of a backlog is printed at a time: what a slow reader is owed waits as entries, not as text. */
  chunkBytes: 65_536,
  /**
   * The size of one piece of a long answer, in characters. For a caller that does not read, only one piece is held.
   */
  pieceLength: 32_768,
  /** Proxies cut connections on which nothing moves, most after 60 s. */
  commentEveryMs: 15_000,
  /** How soon a browser comes back after a stream ended. */
  retryMs: 1_000,

  /** A page of a list ends early at this. */
  pageBytesMax: 4_000_000,
  candidatesShownMax: 20,
  /** Of the leases and groups of an agent in a list, and of those of one alone. */
  heldShownMax: 3,
  detailRowsMax: 200,
  /** Agents asked about in "who may do this?". */
  whoMax: 1_000,
  /** A look at much of the state lets others go first after so long. */
  sliceMs: 4,
  /** Such looks under way at a time: each has its turn again after less than half a second. */
  longLooksMax: 100,
  /** So few are looked at, or sorted, at once. */
  fewPlaces: 64,
  /** What is looked at for one page of the log, and how much of it at a time. */
  entriesScannedMax: 20_000,
  entriesScannedBytesMax: 67_108_864,
  entriesReadFirst: 10,
  entriesReadMax: 200,
  entriesReadBytes: 1_048_576,

  /** Whoever asks who is around within this time, and nothing has happened, is told the same. */
  lookSharedMs: 250,
  /** Processes are looked for at most so often, whoever asks. */
  processesKeptMs: 5_000,
  /** Of a large fleet not everyone is shown beside the files, and of what one holds not everything. */
  registeredShownMax: 2_000,
  holdsShownMax: 3,
  /** What a card says of where its agent is. A longer name is none, and a longer path is somebody's own. */
  hostNameLengthMax: 255,
  workspaceLengthMax: 1_024,

  /** Of jobs that belong together, and of those that one has asked for. */
  kinShownMax: 500,
  /** Of what a job says that it does. */
  doingLengthMax: 300,
  /** How long a job that is cancelled may take to unwind. */
  cancelGraceMs: 30_000,

  attentionMax: 200,
  /** A task that nobody could take for so long is stuck. */
  stuckMs: 60_000,
  lanesLookedAt: 1_000,

  /** How long a one-time link may be used, and how many there are at a time. */
  linkMs: 600_000,
  linksMax: 100,

  /** On closing, answers under way have this long; then their connections are cut. */
  closingMs: 500,
} as const;
