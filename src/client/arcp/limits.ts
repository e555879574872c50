/** What a client waits for, and what it keeps for those who do not come. */
export const limits = {
  /** From the first byte to the welcome (ARCP-56). */
  handshakeMs: 5_000,
  /** What runtimes read in one message, if they are not told otherwise (ARCP-33). */
  messageBytesMax: 16_777_216,
  /** For an answer to one request, while the connection holds. */
  answerMs: 60_000,
  /** For the runtime to close after our farewell (ARCP-80). */
  farewellMs: 250,

  /** Between attempts to come back: the longest pause doubles, and each is shortened at random (ARCP-218). */
  reconnectMs: 250,
  reconnectMsMax: 10_000,
  /** For runtimes that name no resume window. */
  resumeWindowSec: 600,

  /** Acknowledgements are sent this often, or after so many events (ARCP-78). */
  ackIntervalMs: 250,
  ackEvents: 32,

  /** Events of a job that nobody has asked for yet; beyond, the oldest are dropped and counted (ARCP-210). */
  eventsHeldMax: 1_024,
  /** Events that whoever reads them has not come to yet. */
  eventsUnreadMax: 65_536,
  /** Characters of result chunks among the events that nobody has asked for. */
  chunkCharactersHeldMax: 16_777_216,
  /** Decoded bytes of a streamed result that are kept until someone takes them (ARCP-128). */
  resultBytesMax: 268_435_456,

  /**
   * Requests without an answer, those that wait for a connection included. Beyond, no more are taken; those that
   * nobody waits for any more, and that are kept for an answer that may still come, go first.
   */
  pendingMax: 10_000,
  /** Submits that were withdrawn and lost, whose jobs are cancelled when they are heard of; the oldest are forgotten. */
  withdrawnMax: 1_000,
  /** Jobs that are over, so that what still arrives of them is known for what it is. */
  forgottenJobsMax: 4_096,
  /** Jobs that are heard of before the answers that say whose they are. */
  unclaimedMax: 1_000,
  /** Frames that wait for a slow handler; beyond, the oldest are dropped and reported. */
  handlerFramesMax: 4_096,

  /**
   * How long after a resume the client asks the runtime whether it knows the jobs. Also how long a job with a key may be
   * silent after its acceptance before the client wants to ask.
   */
  rollCallMs: 1_000,
  /** How often the client asks for a job that has ended, before it stops waiting for the job's last event. */
  rollCalls: 3,
  /** The longest time between the creation of a job and its acceptance. */
  acceptanceMsMax: 3_600_000,
  /** Python's runtime tells nobody that a cancel had no effect: so long until it is asked (PYC-9). */
  cancelGraceMs: 2_000,
  /** How often it is asked. */
  cancelLooksMax: 15,
  /** A look goes through pages of jobs, each as long as that runtime allows; after so many it sees nothing. */
  pageJobs: 1_000,
  pagesMax: 100,
  /** It needs a moment to see that a connection is closed, before it lets the session be resumed (PYC-14). */
  closeSettleMs: 100,
} as const;
