/** What others may take of our time and memory. */
export const limits = {
  /** Of one answer with vectors: 64 of the widest, with room to spare. */
  embeddingsBytesMax: 16_777_216,
  /** The widest vectors that models make. */
  embeddingWidthMax: 4_096,

  /** Of one frame that comes in (ARCP 1.1 §14). */
  frameBytesMax: 16_777_216,
  /** Frames that wait for a busy handler before we stop reading: enough to keep it busy. */
  waitingFramesMax: 256,
  /** The same, by size. One frame always fits. */
  waitingBytesMax: 1_048_576,
  /** A WebSocket of a browser cannot stop reading. One whose handler is this far behind is given up. */
  unreadBytesMax: 67_108_864,
  /** What is queued and at or below this counts as drained: what one write to a socket takes. */
  queuedBytesLow: 65_536,
  /** Senders should wait long before (ARCP 1.1 §4 leaves 16 MiB to a session); beyond, the peer is given up. */
  queuedBytesMax: 67_108_864,

  /**
   * Replies that callers have not read, of all connections and doors together. What the process needs for them is
   * about twice that: text and its copy in the socket's queue.
   */
  unreadBytesTotal: 67_108_864,
  /**
   * The part for one connection: what ARCP allows a session (ARCP-27). The door produces no more until the peer reads.
   */
  unreadBytesShare: 16_777_216,
  /** A connection with unread replies is closed if its peer reads almost nothing for this long. */
  stalledMs: 30_000,
  /**
   * The bytes that count as almost nothing. A reader at 2 kB a second is above it; replies to HTTP/2 pings alone are
   * below.
   */
  progressBytes: 65_536,
  /** How long a frame may take to be complete, as a request over gRPC or HTTP. */
  frameMs: 30_000,
  /** Requests that are not complete, of all connections and doors together. */
  unfinishedBytesTotal: 134_217_728,
  /** The part for one connection: 16 messages of the largest size. */
  unfinishedBytesShare: 67_108_864,

  /** For what is queued, and for the peer's goodbye, after `close`. */
  closeMs: 5_000,
  /** Between the end of a child's output and its exit, which says whether it went well. */
  exitMs: 1_000,
  /** For a connection to be made. */
  handshakeMs: 10_000,

  /** Silence after which a WebSocket is pinged. */
  pingMs: 30_000,
  /**
   * Pings in a row that may go unanswered. More than one, because a peer that is slow to read answers
   * none while it catches up, and is no worse for that.
   */
  pingsMissedMax: 3,
  /**
   * Concurrent WebSocket connections of one server. Each takes a file descriptor and about 20 kB. Half of them are
   * reserved for clients that have sent the token.
   */
  connectionsMax: 10_000,
  /** Connections beyond that which get a refusal; further ones are closed without a reply. */
  refusedMax: 100,
  /** New WebSockets a second from one address, in the long run. */
  handshakesPerSecond: 200,
  /** And at once: a fleet that comes back after a restart comes all together. */
  handshakeBurst: 1_000,
  /** Addresses whose handshakes are counted; the one that was heard of longest ago is forgotten. */
  addressesMax: 10_000,
  /** Of the reason in a close frame (RFC 6455 §5.5). */
  reasonBytesMax: 123,
} as const;
