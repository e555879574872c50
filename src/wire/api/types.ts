/**
 * What is said over HTTP, as JSON. Times are milliseconds since 1970, durations milliseconds; tokens and
 * terms are decimal strings, because they may exceed 2^53; bytes are base64.
 */

export type Liveness = "alive" | "unreachable" | "dead";

export type Card = {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly capabilities: readonly { readonly name: string; readonly description: string }[];
  readonly tools: readonly string[];
  /**
   * Anything. With `host`, `pid` and `startedAtMs` (when that process started) the agent is one with its
   * process and its status files in the list of agents; with `workspace` it says where it works.
   */
  readonly metadata: Readonly<Record<string, string>>;
};

/** What an agent says it is doing. */
export type ActivityState = "thinking" | "reading" | "writing" | "waiting" | "idle";

export type Activity = {
  readonly state: ActivityState;
  /** In its own words; for `waiting`, what it waits for. */
  readonly note: string;
  /** When this state began. */
  readonly sinceMs: number;
  /**
   * When it last said so: an agent that works and has not said so for long is silent. The daemon keeps repeated
   * reports in memory only, so after its restart this is when the agent first said so.
   */
  readonly reportedAtMs: number;
  /** How we know. */
  readonly source: "protocol";
};

export type Agent = {
  readonly id: string;
  readonly card: Card;
  readonly liveness: Liveness;
  readonly ttlMs: number;
  readonly registeredAtMs: number;
  /** The last heartbeat that is known. The daemon keeps heartbeats in memory only. */
  readonly lastHeartbeatAtMs: number;
  /**
   * When the daemon restarted, if it has not heard the agent since. The agent may have been heard later than
   * `lastHeartbeatAtMs` then: say "not heard since the restart" instead of that time.
   */
  readonly unheardSinceMs?: number;
  /** When it died or left. */
  readonly diedAtMs?: number;
  /** Of a dead agent: it was deregistered, so nobody misses it. Otherwise it died: it was silent for too long. */
  readonly hasLeft?: true;
  readonly activity?: Activity;
  /** While it waits for an answer. Only callers that send the token get it. */
  readonly question?: FirstQuestion;
  /** Absent if it holds, leads and works on nothing. The first few of each. */
  readonly holds?: {
    readonly leases: readonly string[];
    readonly leaseCount: number;
    readonly claimCount: number;
    readonly leads: readonly string[];
  };
};

export type AgentDetail = Agent & {
  readonly leases: readonly Lease[];
  readonly claims: readonly Task[];
  /** Groups in which it stands as a candidate. */
  readonly groups: readonly { readonly group: string; readonly isLeader: boolean }[];
};

/**
 * What a person wants to know first of an agent.
 *
 * - `waiting`: for a person.
 * - `working`: and something has happened lately, as far as anyone can tell.
 * - `silent`: says that it works, and has made no progress for minutes.
 * - `failed`: its last turn did.
 * - `lost`: said that it runs, and is not heard of any more.
 * - `idle`: runs and has nothing to do.
 * - `stopped`: has ended, and said so.
 * - `unknown`: runs; nobody says what it does.
 */
export type SightingState =
  | "waiting"
  | "working"
  | "silent"
  | "failed"
  | "lost"
  | "idle"
  | "stopped"
  | "unknown";

/** An agent that only a file tells of: seen, not coordinated. */
export type Observed = {
  readonly id: string;
  readonly name: string;
  readonly state: Exclude<SightingState, "silent">;
  /** What it does or waits for, in its own words. */
  readonly note: string;
  readonly goal: string;
  readonly workspace: string;
  readonly source: "hook" | "file";
  readonly sinceMs: number;
};

/**
 * How we know, the best first. The registry is told by the agent itself and checks that it lives; a hook is
 * run by the agent's host; a file may be written by anybody; a process says only that it is there.
 */
export type SourceKind = "registry" | "hook" | "file" | "process";

/** What one source says. */
export type Known = {
  readonly source: SourceKind;
  /** Whether nothing happens shows only when all sources are taken together. */
  readonly state: Exclude<SightingState, "silent">;
  /** The source's own word for it. */
  readonly word: string;
  readonly sinceMs?: number;
  /** When the source last heard of the agent. */
  readonly heardAtMs: number;
  /** When the daemon restarted, if the registry has not heard the agent since; `heardAtMs` is not the last time then. */
  readonly unheardSinceMs?: number;
  /** The file it stands in. */
  readonly path?: string;
};

/** An agent, whoever tells of it. */
export type Sighting = {
  readonly id: string;
  readonly name: string;
  /** The machine. */
  readonly host: string;
  readonly pid?: number;
  readonly startedAtMs?: number;
  readonly state: SightingState;
  /** When this state began; for `silent`, the last progress, or when the daemon restarted if that was later. */
  readonly sinceMs?: number;
  /** The last progress that is known; see `reportedAtMs` of an activity. */
  readonly lastProgressAtMs?: number;
  /** The first is where the state is from, then the best first. */
  readonly known: readonly Known[];
  /** Two sources that are in touch with it say different things. */
  readonly isContradicted: boolean;
  readonly workspace?: string;
  readonly branch?: string;
  /** What it does or asks, in its own words. */
  readonly doing?: string;
  readonly task?: string;
  readonly goal?: string;
  readonly tokens?: { readonly input: number; readonly output: number };
  readonly costUsd?: number;
  readonly tmux?: { readonly socket: string; readonly pane: string };
  /** It asks a person: the question that it asked first of those that are open. */
  readonly questionId?: string;
  /** The one command that would show more. */
  readonly hint?: string;
};

export type Sightings = {
  /** Who waits for a person first. */
  readonly agents: readonly Sighting[];
  /** How many there are, if not all are shown. */
  readonly total: number;
  readonly counts: Readonly<Record<SightingState, number>>;
  readonly nowMs: number;
};

/** When what follows if no further heartbeat comes. */
export type Heartbeat = {
  readonly liveness: Liveness;
  readonly unreachableAtMs: number;
  readonly deadAtMs: number;
};

export type FindHit = {
  readonly agent: Agent;
  readonly score: number;
  /** Words of the query that the card has. */
  readonly matched: readonly string[];
};

export type Found = {
  readonly hits: readonly FindHit[];
  /** By what they were ranked: the table that comes with the package, or the model at `--embedder`. */
  readonly ranking: "table" | "model";
  /** Why the table was used although there is a model. */
  readonly reason?: string;
};

export type Lease = {
  readonly taskId: string;
  readonly holder: string;
  /** The card's name of the holder. */
  readonly holderName: string;
  readonly token: string;
  readonly ttlMs: number;
  readonly acquiredAtMs: number;
  readonly expiresAtMs: number;
};

export type TokenCheck = {
  /** Whether this token holds the task now. */
  readonly isCurrent: boolean;
  /** The lease that is held now, if any. */
  readonly lease?: Lease;
};

export type Election = {
  readonly group: string;
  readonly term: string;
  readonly leader?: string;
  readonly leaderName?: string;
  readonly changedAtMs: number;
  readonly candidateCount: number;
  /** The first of them, in the order in which they joined. */
  readonly candidates: readonly { readonly agentId: string; readonly name: string }[];
};

export type Policy = {
  readonly id: string;
  readonly subject: string;
  readonly action: string;
  readonly resource: string;
  readonly effect: "allow" | "deny";
};

export type PolicyCheck = {
  readonly allowed: boolean;
  /** In words, naming the policy that decided. */
  readonly reason: string;
  readonly decidedBy?: Policy;
  /** Asked for with `explain`: all that apply, the deciding one first. */
  readonly matches?: readonly Policy[];
  /** How many apply beyond those shown. */
  readonly moreMatches?: number;
};

/** Who of the agents that are here may do something, asked as `agent:<name>`. */
export type Who = {
  readonly agents: readonly {
    readonly agentId: string;
    readonly name: string;
    readonly allowed: boolean;
    readonly decidedBy?: string;
  }[];
  readonly total: number;
};

export type TaskState = "delayed" | "pending" | "claimed" | "completed" | "cancelled" | "dead";

export type Task = {
  readonly id: string;
  readonly type: string;
  readonly state: TaskState;
  readonly priority: number;
  readonly requiredTools: readonly string[];
  readonly maxRetries: number;
  readonly retryCount: number;
  /** How often it was claimed. */
  readonly deliveries: number;
  /** After so many claims that ended without a word it is dead; 0: no limit. */
  readonly deliveriesMax: number;
  readonly claimMs: number;
  readonly createdAtMs: number;
  readonly failureReason: string;
  readonly readyAtMs?: number;
  readonly claimant?: string;
  readonly claimantName?: string;
  readonly claimedAtMs?: number;
  readonly claimExpiresAtMs?: number;
  /** The agent's proof that it is the one who works on it. Grows with each claim. */
  readonly claimToken?: string;
  /** When it was completed, cancelled or died. */
  readonly endedAtMs?: number;
};

export type TaskDetail = Task & {
  readonly input: string;
  readonly output: string;
};

/** A claimed task, or nothing within the time given. */
export type Claimed = { readonly task?: TaskDetail };

/**
 * Where a job stands. What is being cancelled, or whose worker is away, runs as long as that lasts.
 *
 * - `pending`: accepted, and waits for a worker.
 * - `running`: a worker has it.
 * - `waiting`: it has asked something, and waits for a person to answer.
 * - `success`, `error`, `cancelled`, `timed_out`: ended, for good.
 */
export type JobState =
  | "pending"
  | "running"
  | "waiting"
  | "success"
  | "error"
  | "cancelled"
  | "timed_out";

/** What may be spent of one currency. Decimal strings; `spent` may be more than `cap`. */
export type BudgetCounter = {
  readonly currency: string;
  readonly cap: string;
  /** With what all that it delegated has spent. */
  readonly spent: string;
  /** Set aside for what is under way. */
  readonly reserved: string;
};

/** How far a job says that it has got. */
export type JobProgress = {
  readonly current: number;
  readonly total?: number;
  readonly units?: string;
  readonly message?: string;
};

export type JobFailure = {
  /** Of ARCP, such as `CANCELLED` or `TIMEOUT`, or whatever else the agent said. */
  readonly code: string;
  readonly message: string;
  readonly isRetryable: boolean;
};

/** What a job has cost in one currency. Amounts are exact decimal numbers. */
export type JobCost = {
  readonly currency: string;
  /** What the job has spent itself, and what the jobs have spent that it delegated to, at every level. */
  readonly total: string;
  /**
   * What the job has spent itself. Unknown, as `children` is, for a job that an older daemon has accepted and stored in
   * a snapshot without it; of such a job only currencies with a cap are listed.
   */
  readonly own?: string;
  /** What the jobs have spent that it delegated to, at every level, also those that are forgotten by now. */
  readonly children?: string;
  /** What the job may spend. Absent if it has no budget in this currency. */
  readonly cap?: string;
  /** The part of the cap that is reserved for calls in progress. */
  readonly reserved?: string;
};

/** Of the open questions of a job or an agent: the oldest, and how many there are. */
export type FirstQuestion = {
  readonly id: string;
  readonly kind: Question["kind"];
  /** Shortened if it is long. A request for access begins with the files that it is for. */
  readonly prompt: string;
  readonly askedAtMs: number;
  readonly expiresAtMs?: number;
  readonly openCount: number;
};

/** Work that a worker executes. */
export type Job = {
  readonly id: string;
  /** A name, or `name@version`. */
  readonly agent: string;
  readonly principal: string;
  readonly state: JobState;
  readonly createdAtMs: number;
  /** When its last attempt was started. */
  readonly startedAtMs?: number;
  readonly endedAtMs?: number;
  /** How often it was started. */
  readonly attempt: number;
  /** The conversation that the job belongs to, if the caller named one. A session of ARCP is one. */
  readonly contextId?: string;
  /** While it waits: how many workers that offer its agent are connected. There may be none; else all are busy. */
  readonly waiting?: { readonly workers: number };
  /** Who has it, while it runs. */
  readonly worker?: { readonly id: string; readonly isRemote: boolean };
  readonly parentId?: string;
  /** What its parent calls it. */
  readonly delegateId?: string;
  /** How many ancestors it has. */
  readonly depth: number;
  readonly childCount: number;
  /** How much it has said. */
  readonly eventCount: number;
  /** What it has cost, in each currency: first those that it has a budget for, then the others. */
  readonly cost: readonly JobCost[];
  /** The entries of `cost` with a cap, with the field names of older releases. */
  readonly budget: readonly BudgetCounter[];
  /** The entries of `cost` without a cap, with the field names of older releases; absent if there are none. */
  readonly unbudgeted?: readonly { readonly currency: string; readonly spent: string }[];
  /** While it is asked to end: until when it may take its time. */
  readonly cancelling?: { readonly reason: string; readonly untilMs: number };
  /** While its worker is away: until when it may come back. */
  readonly orphanedUntilMs?: number;
  /** While it waits for an answer: the question that it asked first of those that are open, and how many are. */
  readonly question?: FirstQuestion;
  /** As it last said, while it runs. A soft fact: after a restart it is not known until it says so again. */
  readonly progress?: JobProgress;
  /** What it does, in its own words; as soft as its progress. */
  readonly doing?: string;
  /** Why it ended, unless that was a success. */
  readonly failure?: JobFailure;
};

export type JobDetail = Job & {
  /** Of the caller's trace; made from the job's id if the caller named none. */
  readonly traceId: string;
  /** The ARCP sessions that submitted it. Empty if it was submitted through another door. */
  readonly sessionIds: readonly string[];
  /** What it may do, how long, and what it may spend. ARCP's word is lease. */
  readonly grant: {
    readonly capabilities: Readonly<Record<string, readonly string[]>>;
    readonly expiresAtMs?: number;
  };
  readonly runMsMax?: number;
  /** Whether it may be run again when its worker was lost. */
  readonly isRepeatable: boolean;
  /** Any JSON. Absent where the log no longer has it. */
  readonly input?: unknown;
  /** Any JSON. Absent if there is none yet, if it was streamed, or where the log no longer has it. */
  readonly result?: unknown;
  /** A result that came in pieces, which are among its events, of the kind `result_chunk`. */
  readonly streamed?: { readonly resultId: string; readonly bytes: number };
  readonly summary?: string;
  /** The jobs it asked for; the first of them. */
  readonly children: readonly string[];
  /** All that belong together by delegation, from the first asked for on, each before those it asked for. */
  readonly tree: readonly Job[];
};

export type JobPage = Page<Job> & {
  /** Of all jobs, whatever was asked for. */
  readonly counts: Readonly<Record<JobState, number>>;
};

/**
 * Something only a person can answer, asked by a job or a registered agent.
 *
 * - `open`: waits for an answer.
 * - `answered`: the first valid answer won.
 * - `closed`: ended without an answer; `reason` says why.
 */
export type QuestionState = "open" | "answered" | "closed";

/** `cannot_run_again`: its job was interrupted, and is not run again. */
export type QuestionCloseReason = "withdrawn" | "timed_out" | "asker_ended" | "cannot_run_again";

export type Question = {
  readonly id: string;
  readonly state: QuestionState;
  /** `scope`: the asker wants to read or write more than it may; the answer is `{ granted, reason? }`. */
  readonly kind: "input" | "scope";
  readonly asker: { readonly kind: "job" | "agent"; readonly id: string };
  /** The name of the agent that asks, or of the agent that runs the job. */
  readonly askerName: string;
  /** The asker's key for the question. */
  readonly key: string;
  /** The principal of the job that asks. */
  readonly principal?: string;
  readonly prompt: string;
  /** The answer is one of these texts. */
  readonly choices?: readonly string[];
  /** The answer is what this JSON Schema allows. Without choices and schema it is any text. */
  readonly schema?: unknown;
  readonly scope?: {
    readonly read: readonly string[];
    readonly writePrefix?: string;
    readonly mode: "read_only" | "read_write_overlay" | "read_write_direct";
    readonly ttlMs: number;
  };
  readonly askedAtMs: number;
  readonly expiresAtMs?: number;
  /** Any JSON. */
  readonly answer?: unknown;
  /** The name that the answerer gave. */
  readonly answeredBy?: string;
  /** Why it closed without an answer. */
  readonly reason?: QuestionCloseReason;
  /** When it was answered, or closed. */
  readonly closedAtMs?: number;
};

export type Counts = {
  /** `left` counts those of the dead that have left. */
  readonly agents: Readonly<Record<Liveness | "left", number>>;
  readonly leases: number;
  readonly elections: number;
  readonly policies: number;
  readonly tasks: Readonly<Record<TaskState, number>>;
  readonly jobs: Readonly<Record<JobState, number>>;
  /** Open questions. */
  readonly questions: number;
  readonly watchers: number;
};

/** How much of the past is there. */
export type Retained = {
  readonly oldestSequence: number;
  readonly oldestAtMs: number;
  /** What the entries take. */
  readonly bytes: number;
  /** What all files take, snapshots included; 0 in memory. */
  readonly diskBytes: number;
  /** The bounds that apply: time and bytes, or in memory a number of entries. */
  readonly keepMs?: number;
  readonly keepBytes?: number;
  readonly keepEntries?: number;
};

export type Overview = {
  readonly version: string;
  /** Names the log that is served: another log, another id. */
  readonly planeId: string;
  readonly pid: number;
  readonly startedAtMs: number;
  /** Whether what happens outlives the process. */
  readonly isKept: boolean;
  readonly dataDirectory?: string;
  readonly grpcAddress?: string;
  readonly httpAddress?: string;
  readonly arcpAddress?: string;
  readonly nowMs: number;
  /** The last entry of the log that this shows. */
  readonly sequence: number;
  readonly counts: Counts;
  readonly retained: Retained;
  readonly find: { readonly ranking: "table" | "model"; readonly reason?: string };
};

export type AttentionKind =
  | "question"
  | "agent_waiting"
  | "agent_silent"
  | "agent_unreachable"
  | "task_dead"
  | "task_stuck"
  | "job_failed";

/** Something that needs a person, until it is dismissed. */
export type Attention = {
  readonly kind: AttentionKind;
  /** The id of the question, agent, task or job; of several agents of one process, the process's. */
  readonly id: string;
  /** How we know of it; but for `registry`, the agent is observed and does not speak to us itself. */
  readonly source: SourceKind;
  /** What to call it. */
  readonly name: string;
  readonly sinceMs: number;
  /** One line for people. */
  readonly text: string;
  /** Of `task_stuck`: the tools that no agent has together. All tasks that require these wait as this one does. */
  readonly tools?: readonly string[];
  /** Who asks; only for a question. */
  readonly asker?: { readonly kind: "job" | "agent"; readonly id: string };
  /** Of a question with a deadline: when it closes without an answer. */
  readonly expiresAtMs?: number;
  /** Of several agents of one process: the first of them, and how many there are. */
  readonly agents?: readonly { readonly id: string; readonly name: string }[];
  readonly agentCount?: number;
  /** Who dismissed the item and when, and until when if it is snoozed. Only in lists of dismissed items. */
  readonly dismissed?: {
    readonly by: string;
    readonly atMs: number;
    readonly untilMs?: number;
  };
};

/** Who dismissed an item, and until when. */
export type Dismissal = {
  readonly kind: string;
  readonly id: string;
  readonly sinceMs: number;
  /** Absent: until the same happens again. */
  readonly untilMs?: number;
  readonly by: string;
  readonly atMs: number;
};

/** What was going on, in steps of equal length, oldest first. The last step is still running. */
export type Timeline = {
  readonly stepMs: number;
  readonly startAtMs: number;
  readonly events: readonly number[];
  readonly calls: readonly number[];
  /** Of calls, in milliseconds; null in a step without any. */
  readonly p50Ms: readonly (number | null)[];
  readonly p99Ms: readonly (number | null)[];
  /** Of commits to the log. */
  readonly commitP99Ms: readonly (number | null)[];
};

export type Page<Row> = {
  readonly rows: readonly Row[];
  /** How many match, on all pages. */
  readonly total: number;
  /** Ask with `after` set to this for the next page; absent on the last. */
  readonly next?: string;
  /** The page shows what is true after this entry of the log; of a long list, also some of what came later. */
  readonly sequence: number;
  readonly nowMs: number;
};

export type LogPage = {
  /** Newest first, unless what comes after an entry was asked for. */
  readonly rows: readonly Entry[];
  /** Ask with `before` set to this to look further back; absent at the oldest entry. */
  readonly next?: number;
  readonly oldestSequence: number;
  readonly sequence: number;
};

/** One fact in the log. Beside these, an entry has the fields of its type. */
export type Entry = {
  readonly sequence: number;
  /** Its number among published events; 0 if it is not one. */
  readonly busSequence: number;
  /** "" if it is not published. */
  readonly topic: string;
  readonly atMs: number;
  readonly actor: string;
} & EntryBody;

export type EntryBody =
  | {
      readonly type: "agent.registered" | "agent.unreachable" | "agent.recovered" | "agent.died";
      readonly agent: Agent;
    }
  | { readonly type: "agent.active"; readonly agentId: string; readonly activity: Activity }
  | { readonly type: "agent.forgotten"; readonly agentId: string }
  | {
      readonly type: "lease.acquired" | "lease.renewed" | "lease.released" | "lease.expired";
      readonly lease: Omit<Lease, "holderName">;
    }
  | {
      readonly type: "leader.changed";
      readonly group: string;
      readonly term: string;
      readonly leader?: string;
      readonly changedAtMs: number;
    }
  | {
      readonly type: "election.joined" | "election.left";
      readonly group: string;
      readonly agentId: string;
    }
  | { readonly type: "policy.changed" | "policy.deleted"; readonly policy: Policy }
  | {
      readonly type:
        | "task.created"
        | "task.ready"
        | "task.claimed"
        | "task.extended"
        | "task.completed"
        | "task.failed"
        | "task.requeued"
        | "task.cancelled"
        | "task.dead";
      readonly task: Omit<Task, "claimantName">;
    }
  | { readonly type: "task.forgotten"; readonly taskId: string }
  | { readonly type: "observed.changed" | "observed.left"; readonly observed: Observed }
  | { readonly type: "need.dismissed"; readonly dismissal: Dismissal }
  | { readonly type: "need.restored"; readonly kind: string; readonly id: string }
  | WorkEntry
  | { readonly type: "plane.opened" | "plane.resumed" };

/**
 * What happens to a job, or to a session that asks for jobs. Whoever reads without the token is told no more than
 * which one it is; the others have what their type has of the rest.
 */
export type WorkEntry = {
  readonly type: WorkEventType;
  /** The id of the question, or else of the job, or else of the session. */
  readonly id: string;
  /** Accepted. */
  readonly job?: { readonly agent: string; readonly principal: string; readonly parentId?: string };
  /** Started. */
  readonly attempt?: number;
  readonly worker?: { readonly id: string; readonly isRemote: boolean };
  /** Said by the job: `log`, `progress`, `tool_call` and the other kinds of ARCP, or a vendor's. */
  readonly kind?: string;
  /** Any JSON. Only where the events of that one job are asked for. */
  readonly body?: unknown;
  /** What it cost, such as `USD:0.12`. */
  readonly spent?: string;
  /** Being cancelled. */
  readonly reason?: string;
  readonly untilMs?: number;
  /** Ended. */
  readonly state?: JobState;
  readonly failure?: JobFailure;
  readonly summary?: string;
  /** Asked, answered or closed. */
  readonly question?: Omit<Question, "askerName">;
};

export type WorkEventType =
  | "job.preparing"
  | "job.accepted"
  | "job.withdrawn"
  | "job.joined"
  | "job.started"
  | "job.emitted"
  | "job.reserved"
  | "job.spent"
  | "job.settled"
  | "job.cancelling"
  | "job.orphaned"
  | "job.reclaimed"
  | "job.offered"
  | "job.ended"
  | "job.forgotten"
  | "credential.issued"
  | "credential.ended"
  | "credential.stuck"
  | "credential.revoked"
  | "session.opened"
  | "session.resumed"
  | "session.detached"
  | "session.expired"
  | "session.acknowledged"
  | "session.followed"
  | "session.left"
  | "session.rejected"
  | "question.asked"
  | "question.answered"
  | "question.closed"
  | "question.forgotten";

/** Asks for a page. */
export type PageRequest<Sort extends string> = {
  /** Words; a row must contain each of them somewhere. */
  readonly query?: string;
  readonly sort?: Sort;
  readonly limit?: number;
  /** Skips so many rows, for whoever scrolls. */
  readonly offset?: number;
  /** The `next` of the page before. Goes on after that row, whatever came or went meanwhile. */
  readonly after?: string;
};

export type AgentSort = "attention" | "newest" | "oldest" | "name";
export type LeaseSort = "newest" | "oldest" | "expiry" | "task";
export type ElectionSort = "newest" | "group";
export type PolicySort = "id" | "newest";
export type TaskSort = "attention" | "newest" | "oldest";
export type JobSort = "attention" | "newest" | "oldest";
/** `attention`: open ones first, and of these the one that has waited longest. */
export type QuestionSort = "attention" | "newest" | "oldest";

/** Each operation by its name: what it is asked with, path, query and body in one, and what it answers. */
export type Operations = {
  readonly getOverview: { readonly input: Nothing; readonly answer: Overview };
  readonly getAttention: {
    /** `dismissed`: lists the items that are hidden because they were dismissed, instead of the others. */
    readonly input: { readonly dismissed?: boolean };
    readonly answer: { readonly items: readonly Attention[]; readonly total: number };
  };
  readonly dismissNeed: {
    readonly input: {
      readonly kind: AttentionKind;
      readonly id: string;
      /** `sinceMs` of the item that the user saw. An item that happened again since then stays on the list. */
      readonly sinceMs: number;
      /** Absent: until the same happens again. */
      readonly forMs?: number;
    };
    readonly answer: Nothing;
  };
  readonly restoreNeed: {
    readonly input: { readonly kind: AttentionKind; readonly id: string };
    readonly answer: Nothing;
  };
  readonly getTimeline: { readonly input: Nothing; readonly answer: Timeline };
  readonly getStatus: {
    readonly input: {
      readonly limit?: number;
      /** Only those that go by this name or id. */
      readonly agent?: string;
      /** Who says that it works is silent after so long without progress. */
      readonly silentAfterMs?: number;
    };
    readonly answer: Sightings;
  };
  readonly listEntries: {
    readonly input: {
      readonly before?: number;
      readonly limit?: number;
      /** Prefixes of types. */
      readonly type?: readonly string[];
      /** The id of an agent or task, the name of a group, the id of a policy. */
      readonly about?: string;
      readonly query?: string;
    };
    readonly answer: LogPage;
  };

  readonly listAgents: {
    readonly input: PageRequest<AgentSort> & {
      readonly liveness?: readonly Liveness[];
      /** True: only agents that have left. False: all others. */
      readonly hasLeft?: boolean;
      readonly tool?: readonly string[];
    };
    readonly answer: Page<Agent>;
  };
  readonly registerAgent: {
    readonly input: {
      readonly card: Partial<Card> & Pick<Card, "name">;
      readonly ttlMs?: number;
      /**
       * An id of the process: any text, the same for all agents that run in it. If the process dies, its agents are shown
       * as one item.
       */
      readonly process?: string;
    };
    readonly answer: Agent;
  };
  readonly getAgent: { readonly input: AgentPath; readonly answer: AgentDetail };
  readonly heartbeat: {
    readonly input: AgentPath & {
      readonly activity?: { readonly state: ActivityState; readonly note?: string };
    };
    readonly answer: Heartbeat;
  };
  readonly deregisterAgent: { readonly input: AgentPath; readonly answer: Nothing };
  readonly withdraw: {
    readonly input: AgentPath & { readonly key: string };
    readonly answer: Nothing;
  };
  readonly findAgents: {
    readonly input: {
      readonly query?: string;
      readonly tool?: readonly string[];
      readonly limit?: number;
    };
    readonly answer: Found;
  };

  readonly listLeases: {
    readonly input: PageRequest<LeaseSort> & { readonly holder?: string };
    readonly answer: Page<Lease>;
  };
  readonly getLease: { readonly input: LeasePath; readonly answer: Lease };
  readonly acquireLease: {
    readonly input: LeasePath & {
      readonly agentId: string;
      readonly ttlMs?: number;
      /** How long to stand in line for it. */
      readonly waitMs?: number;
    };
    readonly answer: Lease;
  };
  readonly renewLease: {
    readonly input: LeasePath & {
      readonly agentId: string;
      readonly token: string;
      readonly ttlMs?: number;
    };
    readonly answer: Lease;
  };
  readonly releaseLease: {
    readonly input: LeasePath & { readonly agentId: string; readonly token: string };
    readonly answer: Nothing;
  };
  readonly checkToken: {
    readonly input: LeasePath & { readonly token: string };
    readonly answer: TokenCheck;
  };

  readonly listElections: {
    readonly input: PageRequest<ElectionSort>;
    readonly answer: Page<Election>;
  };
  readonly getElection: { readonly input: ElectionPath; readonly answer: Election };
  readonly campaign: {
    readonly input: ElectionPath & { readonly agentId: string };
    readonly answer: Election;
  };
  readonly resign: {
    readonly input: ElectionPath & { readonly agentId: string };
    readonly answer: Election;
  };

  readonly listPolicies: {
    readonly input: PageRequest<PolicySort> & {
      /** Only policies whose subject begins with this text; `*` in it stands for itself. */
      readonly subjectPrefix?: string;
    };
    readonly answer: Page<Policy>;
  };
  readonly getPolicy: { readonly input: PolicyPath; readonly answer: Policy };
  readonly setPolicy: { readonly input: PolicyPath & Omit<Policy, "id">; readonly answer: Policy };
  readonly deletePolicy: { readonly input: PolicyPath; readonly answer: Nothing };
  readonly checkPolicy: {
    readonly input: {
      readonly subject: string;
      readonly action: string;
      readonly resource: string;
      readonly explain?: boolean;
    };
    readonly answer: PolicyCheck;
  };
  readonly whoMay: {
    readonly input: { readonly action: string; readonly resource: string };
    readonly answer: Who;
  };

  readonly listTasks: {
    readonly input: PageRequest<TaskSort> & {
      readonly state?: readonly TaskState[];
      readonly type?: string;
      readonly claimant?: string;
    };
    readonly answer: Page<Task>;
  };
  readonly createTask: {
    readonly input: {
      readonly type: string;
      readonly input?: string;
      readonly requiredTools?: readonly string[];
      readonly maxRetries?: number;
      readonly claimMs?: number;
      readonly priority?: number;
      readonly deliveriesMax?: number;
      readonly delayMs?: number;
    };
    readonly answer: Task;
  };
  readonly getTask: { readonly input: TaskPath; readonly answer: TaskDetail };
  readonly claimTask: {
    readonly input: {
      readonly agentId: string;
      readonly types?: readonly string[];
      readonly waitMs?: number;
    };
    readonly answer: Claimed;
  };
  readonly extendClaim: {
    readonly input: TaskPath & Claim & { readonly claimMs?: number };
    readonly answer: Task;
  };
  readonly completeTask: {
    readonly input: TaskPath & Claim & { readonly output?: string };
    readonly answer: Task;
  };
  readonly failTask: {
    readonly input: TaskPath & Claim & { readonly reason?: string; readonly retryAfterMs?: number };
    readonly answer: Task;
  };
  readonly cancelTask: { readonly input: TaskPath; readonly answer: Task };
  readonly requeueTask: { readonly input: TaskPath; readonly answer: Task };

  readonly listJobs: {
    readonly input: PageRequest<JobSort> & {
      readonly state?: readonly JobState[];
      /** A name, with or without its version. */
      readonly agent?: string;
      readonly principal?: string;
      readonly parent?: string;
    };
    readonly answer: JobPage;
  };
  readonly submitJob: {
    readonly input: {
      readonly agent: string;
      /** Any JSON. */
      readonly input?: unknown;
      /** What it may do and spend; nothing, if absent. */
      readonly capabilities?: Readonly<Record<string, readonly string[]>>;
      /** When that ends, as `2030-01-31T12:00:00Z`. */
      readonly expiresAt?: string;
      readonly runMsMax?: number;
      /** Groups the jobs of one conversation: any name that the caller gives it. */
      readonly contextId?: string;
    };
    readonly answer: Job;
  };
  readonly getJob: { readonly input: JobPath; readonly answer: JobDetail };
  readonly listJobEvents: {
    readonly input: JobPath & {
      /** Those after an entry, the oldest first; otherwise the newest are first. */
      readonly after?: number;
      readonly before?: number;
      readonly limit?: number;
      /** Only what it said, and of that only these kinds. */
      readonly kind?: readonly string[];
    };
    /** `next` goes on in the same direction: as `after` if that was given, else as `before`. */
    readonly answer: LogPage;
  };
  readonly cancelJob: {
    readonly input: JobPath & { readonly reason?: string };
    readonly answer: Job;
  };

  /** Exchanges the key of a one-time link for a cookie. */
  readonly listQuestions: {
    readonly input: PageRequest<QuestionSort> & {
      readonly state?: readonly QuestionState[];
      /** The id of a job or an agent. */
      readonly asker?: string;
    };
    readonly answer: Page<Question>;
  };
  readonly getQuestion: {
    readonly input: {
      readonly questionId: string;
      /** How long to wait for the question to close. */
      readonly waitMs?: number;
    };
    readonly answer: Question;
  };
  readonly answerQuestion: {
    readonly input: {
      readonly questionId: string;
      /** A text; with a schema, any JSON that it allows; for a scope, `{ granted, reason? }`. */
      readonly answer: unknown;
      /** The name of the answerer, which later answerers see. */
      readonly by?: string;
    };
    readonly answer: Question;
  };
  readonly askQuestion: {
    readonly input: {
      readonly agentId: string;
      readonly prompt: string;
      readonly choices?: readonly string[];
      /** A JSON Schema. */
      readonly schema?: Readonly<Record<string, unknown>>;
      /** Without it the question stays open until it is answered or the agent ends. */
      readonly timeoutMs?: number;
      /** How long to wait for the answer. */
      readonly waitMs?: number;
    };
    readonly answer: Question;
  };
  readonly withdrawQuestion: {
    readonly input: { readonly agentId: string; readonly key: string };
    readonly answer: Question;
  };

  readonly openSession: {
    readonly input: { readonly key: string };
    /** What the page sends along with its cookie: cookies are shared by all ports of a host. */
    readonly answer: { readonly pageKey: string };
  };
  readonly getSession: { readonly input: Nothing; readonly answer: { readonly mayWrite: boolean } };
  readonly createLink: { readonly input: Nothing; readonly answer: { readonly path: string } };
};

export type OperationName = keyof Operations;
export type Input<Name extends OperationName> = Operations[Name]["input"];
export type Answer<Name extends OperationName> = Operations[Name]["answer"];

type Nothing = Readonly<Record<never, never>>;
type AgentPath = { readonly agentId: string };
type LeasePath = { readonly taskId: string };
type ElectionPath = { readonly group: string };
type PolicyPath = { readonly policyId: string };
type TaskPath = { readonly taskId: string };
type JobPath = { readonly jobId: string };
/** Without the token whoever is the claimant is believed, as AgentKeeper does. */
type Claim = { readonly agentId: string; readonly claimToken?: string };
