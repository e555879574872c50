/** How much the plane remembers, how long, and the times by which an agent is judged. */
export const limits = {
  /** Added to every heartbeat deadline: with a ttl of 1 s, SDKs beat every 1 s and would flap without it. */
  heartbeatSlackMs: 500,
  /** After the plane was away, no agent dies sooner: a gRPC channel may pause 120 s before it reconnects. */
  graceMs: 150_000,
  /** Unless its client reconnects soon. Then it has two ttls and this, which is the longest pause of our client. */
  reconnectMs: 5_000,

  /** Of the dead, the most recent are remembered, for this long. */
  deadAgentsMax: 10_000,
  deadAgentKeptMs: 86_400_000,
  endedTasksMax: 10_000,
  endedTaskKeptMs: 86_400_000,

  /** Bounds on what is alive. Each is far above what one machine is used for, and below what it can hold. */
  agentsMax: 1_000_000,
  /** Those that a machine has: each is a status file. */
  observedMax: 10_000,
  /** Dismissals that are stored; see `needs.ts`. */
  dismissalsMax: 10_000,
  leasesMax: 1_000_000,
  groupsMax: 100_000,
  candidatesMax: 10_000,
  policiesMax: 200_000,
  /** How many of the policies that apply an explanation names: more than anyone reads. */
  explainedPoliciesMax: 100,
  tasksMax: 1_000_000,
  /** Priorities go from minus this to this. */
  priorityMax: 100,
  /** Different sets of tools that pending tasks ask for: a claim looks at each. */
  queuesMax: 10_000,
  /**
   * Unfinished jobs of one principal: half of all, so that one principal alone can never keep the others out. A door
   * may have lower limits of its own, for instance per session.
   */
  jobsOfPrincipalMax: 50_000,
  /** Unfinished jobs in total. */
  unfinishedJobsMax: 100_000,
  /** Inputs and grants of unfinished jobs, which are held in memory: of all together, and of one principal. */
  jobBytesMax: 1_000_000_000,
  jobBytesOfPrincipalMax: 500_000_000,
  /** Of the jobs of one principal that have ended, the most recent are remembered, for this long. */
  endedJobsMax: 1_000,
  /** Those with a key besides, so that a request that is made again is known for as long. Some 30 MB. */
  endedJobsWithKeyMax: 20_000,
  endedJobKeptMs: 86_400_000,
  delegationDepthMax: 8,
  /**
   * Currencies that are counted for one job, besides those of its budget. An agent can make up any number of
   * currencies.
   */
  currenciesMax: 16,
  /** What one job has set aside and not settled. */
  reservationsMax: 1_000,
  /** Credentials that were made for jobs and not revoked yet, of all jobs. Above that no more are made. */
  credentialsMax: 100_000,
  /** So often it is tried to revoke one in a hurry: at once, after this, after twice that, and so on. */
  revokeTries: 5,
  revokeAfterMs: 100,
  /** After that it is tried at leisure, for as long as it takes. */
  revokeStuckEveryMs: 60_000,
  /** How long a job has to end when the one that asked for it has ended badly. */
  cascadeGraceMs: 30_000,
  /** A job that may be run again is, so often at most: one that kills its workers must not kill them all. */
  attemptsMax: 20,
  /** How long a worker elsewhere may be away before what it had is given to another, or ends. */
  workerGraceMs: 60_000,
  /** Of that, what there is at least after a restart: a worker tries again every few seconds. */
  workerReturnMs: 10_000,
  sessionsMax: 100_000,
  /** One principal's: it may be many people behind one token, or one program gone wild. */
  sessionsOfPrincipalMax: 1_000,
  /** How long a session without an unfinished job can be resumed after its caller said goodbye. */
  windowAfterByeMs: 3_000,
  /** What a session was told can be told again from so far back. */
  journalEventsMax: 1_000_000,
  journalChangesMax: 20_000,
  /** So often the journal gets a place to which its base can move. */
  journalMarkEvents: 1_024,
  /** The parts of a question: more than a person reads, and far less than would fill the log. */
  promptLengthMax: 16_384,
  choicesMax: 50,
  choiceLengthMax: 1_000,
  answerSchemaLengthMax: 16_384,
  answerLengthMax: 65_536,
  questionKeyLengthMax: 255,
  scopePatternsMax: 100,
  /** 30 days: no longer than history is usually kept. */
  questionTimeoutMsMax: 2_592_000_000,
  /** Questions that can be open at a time: for one job or agent, for all jobs of one principal, and in total. */
  openQuestionsOfAskerMax: 32,
  openQuestionsOfPrincipalMax: 1_000,
  openQuestionsMax: 10_000,
  /** Questions of one job in total. They are stored as long as the job is. */
  questionsOfJobMax: 1_000,
  /**
   * Characters of all stored questions together, and of those of one principal or one agent: half of all, so that one
   * alone can never keep the others from asking.
   */
  questionsLengthMax: 250_000_000,
  questionsLengthOfOwnerMax: 125_000_000,
  /** What a question takes in memory besides its texts, in characters. */
  questionOverhead: 512,
  /** How many closed questions of one agent are stored, the most recent ones, and for how long. */
  closedQuestionsOfAgentMax: 1_000,
  closedQuestionKeptMs: 86_400_000,
  /** If memory is short, for this long: an agent fetches its answer within seconds after it has reconnected. */
  closedQuestionKeptMsMin: 600_000,
  /** Inputs and outputs of all remembered tasks together: they live in memory. */
  taskBytesMax: 1_000_000_000,

  /** Of a grant: each pattern is looked at when something is to be allowed. */
  patternLengthMax: 4_096,
  patternsMax: 1_000,
  /** Of all its patterns together: spiteful ones of the greatest length cost milliseconds each. */
  patternCharactersMax: 262_144,
  capabilitiesMax: 1_000,
  capabilityNameLengthMax: 256,
  /** What is asked for: longer than any path, and than the addresses that servers take. */
  targetLengthMax: 8_192,
  /** Whether patterns cover others is found by a walk. Where it takes longer, they do not. */
  coverPairsMax: 20_000,
  coverStepsMax: 400_000,
  /** Digits after the decimal point of an amount. */
  amountScaleMax: 100,
  /**
   * The largest amount that a caller may grant, reserve or report at once. Sums of such amounts stay far below the
   * largest number that JSON readers take, and up to here a whole amount is exact as a number.
   */
  amountMax: 1_000_000_000_000_000n,
} as const;
