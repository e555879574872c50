export const limits = {
  /** gRPC's own default. What a caller may send in one message. */
  messageBytesMax: 4_194_304,
  /** The Python client refuses longer replies. Every task, agent and policy that we accept fits. */
  replyBytesMax: 4_194_304,
  /** Lists stop short of that, with a word on what to do. */
  listBytesMax: 4_000_000,
  /** A watch and a waiting claim take a stream each, and one process shares one connection. */
  streamsMax: 4_096,
  /** Connections for each listen address. Half of them are reserved for callers that show the token. */
  connectionsMax: 4_096,
  /** What one connection may hold in the HTTP/2 layer, in MB. */
  sessionMemoryMax: 64,
  /** How much a caller may send before we read it. */
  windowBytes: 1_048_576,
  /** How long a request may take to be complete, as over HTTP. */
  requestMs: 30_000,
  /** How often calls are checked for this time limit. */
  checkMs: 1_000,
  /** Memory for a call while it waits, and until its caller has read the answer; request and answer are extra. */
  callBytes: 4_096,
  /** The size of one piece of a long reply. For a caller that does not read, only one piece is held. */
  pieceBytes: 32_768,
  /** Memory for each row of a long list until it is encoded. Most of a row is in the state anyway. */
  rowBytes: 256,
  /** Calls of one connection with long unread replies at a time. Further ones wait. */
  longCallsMax: 8,
  /** Streams that a connection may open and that never become calls: malformed headers, or too many. */
  unseenStreamsMax: 16,
  /** A connection that has not spoken HTTP/2 by then is closed. */
  prefaceMs: 10_000,
  /** How long a connection may be silent before TCP asks whether anyone is there. */
  keepAliveMs: 60_000,
  /** Resets of streams: this many at once, then so many a second. Cancelling a watch is one. */
  streamResetBurst: 10_000,
  streamResetRate: 1_000,
  /** How long a caller may go on sending after it was refused. */
  lingerMs: 200,
  /** At closing: how long open calls may take to end. */
  closingMs: 1_000,

  /** How long a publishing call waits on a connection this new: see `first-calls.ts`. */
  firstCallsMs: 25,
  /** Campaigns remembered for each connection: see `known-terms.ts`. */
  knownTermsMax: 10_000,

  /** UTF-8 bytes of a name, an id, a tool, a pattern. */
  nameBytesMax: 1_024,
  /** UTF-8 bytes of a description, a metadata value, a reason, a question. */
  textBytesMax: 65_536,
  /** Tools, capabilities, metadata pairs, topics. */
  itemsMax: 1_000,
  /** A card as a whole: Find returns many. */
  cardBytesMax: 262_144,
  /** Both by default, and each at most: together they must fit into one reply. */
  taskBytesMax: 2_000_000,
  /** All tools that a task requires: with its input and output it must fit into one reply. */
  requiredToolsBytesMax: 65_536,
  /** As long as 2^32 - 1 seconds, the longest ttl that AgentKeeper's own messages can ask for. */
  durationMsMax: 4_294_967_295_000,
  /** Timers overflow above this. Whoever wants to wait for longer asks again. */
  waitMsMax: 2_147_483_647,
  pageDefault: 100,
  pageMax: 1_000,
  findDefault: 10,
  findMax: 1_000,
} as const;
