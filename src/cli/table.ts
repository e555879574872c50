/**
 * One table describes each command; the parser, the help, the completions and `docs/cli.md` are made from it.
 */
import { defaults } from "./defaults.ts";

export type Flag = {
  readonly name: string;
  /** One letter, for what is typed often. */
  readonly short?: string;
  /** What its value is called; absent for a switch. */
  readonly value?: string;
  /** May be given more than once. */
  readonly isRepeated?: true;
  /** There is no doing without it: a word that belongs nowhere else was probably meant for it. */
  readonly isNeeded?: true;
  readonly help: string;
  /** For the help; whoever runs the command applies it, and so knows what was asked for. */
  readonly default?: string;
};

/** A word behind the command. */
export type Argument = {
  readonly name: string;
  readonly help: string;
  /** Only the last may be so, or any number of words, also none. */
  readonly isOptional?: true;
  readonly isMany?: true;
};

export type Values = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export type CommandRow = {
  /** One word, or a noun and its verb. */
  readonly name: string;
  /** Other words for the verb. */
  readonly aliases?: readonly string[];
  /** Understood, but not offered: nobody has to know of it. */
  readonly isHidden?: true;
  readonly summary: string;
  readonly examples: readonly [string, string, ...string[]];
  readonly arguments?: readonly Argument[];
  readonly flags: readonly Flag[];
  /** What each exit code other than 0 and 2 means. */
  readonly exits: readonly (readonly [code: number, meaning: string])[];
  /** Answers the exit code. */
  readonly run: (values: Values, words: readonly string[]) => Promise<number>;
};

/** Nouns that have verbs. Alone, a noun lists. */
export const nouns: Readonly<Record<string, string>> = {
  needs: "what waits for a person to act",
  agents: "who is there, and how they are",
  leases: "who holds which task",
  elections: "who leads which group",
  policies: "who may do what",
  tasks: "queued work, and who is at it",
  job: "work that an agent does for you",
  arcp: "a runtime of its own, and a client of any; also installed as arcp",
};

/** Nouns that are programs of their own, too. Alone, these do nothing. */
export const programs: readonly string[] = ["arcp"];

const dataDirectory: Flag = {
  name: "data-dir",
  value: "directory",
  help: "where the log is kept",
  default: "tipstaff in XDG_STATE_HOME, else in ~/.local/state",
};
const statusDefault =
  "AGENT_STATUS_DIR, else agent-status in XDG_STATE_HOME, else in ~/.local/state";
const insecure: Flag = {
  name: "insecure",
  help: "let other machines connect, without credentials",
};
const logFormat: Flag = {
  name: "log-format",
  value: "text|json",
  help: "how log lines look",
  default: "text",
};
const taskFlags: readonly Flag[] = [
  {
    name: "task-input-max",
    value: "bytes",
    help: "how long the input of a task may be",
    default: "2000000",
  },
  {
    name: "task-output-max",
    value: "bytes",
    help: "how long the output of a task may be",
    default: "2000000",
  },
];
const keepFlags: readonly Flag[] = [
  {
    name: "keep-days",
    value: "days",
    help: "days of event history to keep; current state is never deleted",
    default: "30",
  },
  {
    name: "keep-bytes",
    value: "bytes",
    help: "disk space for the event history: 500M, 4G, 1T",
    default: "4G",
  },
];
const embedderFlags: readonly Flag[] = [
  {
    name: "embedder",
    value: "url",
    help: "a model that find ranks with: a server with OpenAI's /v1/embeddings",
  },
  { name: "embedder-model", value: "name", help: "which of its models", default: "default" },
];
const json: Flag = { name: "json", help: "print one JSON document" };
const jsonLines: Flag = { name: "json", help: "print one line of JSON for each event" };
const yes: Flag = { name: "yes", short: "y", help: "do it without asking" };
const asked: Flag = {
  name: "http",
  value: "address",
  help: "where to ask, if not through the data directory",
  default: defaults.http,
};
const asking: readonly Flag[] = [dataDirectory, asked];
const listing: readonly Flag[] = [
  { name: "query", value: "words", help: "only rows that contain all of these" },
  { name: "limit", value: "number", help: "how many rows at most", default: "1000" },
  json,
  ...asking,
];
const watching: readonly Flag[] = [jsonLines, ...asking];
const tool: Flag = {
  name: "tool",
  value: "tool",
  isRepeated: true,
  help: "only agents that have it; may be repeated",
};

const meant: Flag = { name: "agent", value: "agent", help: "only who has this id or name" };
const looking: readonly Flag[] = [
  {
    name: "status-dir",
    value: "directory",
    help: "where agents leave their status files",
    default: statusDefault,
  },
  {
    name: "silent-after",
    value: "duration",
    help: "who works without progress for so long is silent",
    default: "5m",
  },
];

const agent: Argument = {
  name: "agent",
  help: "its id, the beginning of its id, or its name, if no other agent has the same",
};
const needed: Argument = {
  name: "thing",
  help: "the id of an item that tipstaff needs lists, the beginning of that id, or the item's name",
};
const hidden: Argument = {
  ...needed,
  isOptional: true,
  help: `${needed.help}; a question is hidden only in needs and status: ps, watch, wait and notify still show it`,
};
const leased: Argument = { name: "task", help: "the task that is held" };
const group: Argument = { name: "group", help: "the name of the group" };
const policy: Argument = { name: "id", help: "the id of the policy" };
const task: Argument = { name: "task", help: "the id of the task, or the beginning of it" };
const action: Argument = { name: "action", help: "such as call" };
const resource: Argument = { name: "resource", help: "such as tool:browser" };

const unreachable = [3, "no daemon answers"] as const;
const host: Argument = {
  name: "host",
  help: "claude-code, codex, opencode or pi; may be several",
  isMany: true,
};
const dryRun: Flag = { name: "dry-run", help: "show what would change, and change nothing" };
const diff: Flag = { name: "diff", help: "show every line that comes and goes" };
const installExits = [[1, "refused; the message says why, and nothing was changed"]] as const;
const askExits = [unreachable] as const;
const namedExits = [[3, "the daemon that was named does not answer"]] as const;
const getExits = [
  [1, "nothing, or more than one thing, has this id or name"],
  unreachable,
] as const;
const answerExits = [
  [1, "no open question, or more than one, matches; or it was closed meanwhile"],
  [2, "usage error, or an answer that the question does not accept"],
  unreachable,
] as const;
const needExits = [[1, "no item, or more than one, has this id or name"], unreachable] as const;
const writeExits = [[1, "refused; the message says why"], unreachable] as const;

const runtimeFlags: readonly Flag[] = [
  {
    name: "url",
    value: "url",
    help: "where the runtime is, such as ws://127.0.0.1:7777/arcp",
    default: "ARCP_URL",
  },
  { name: "token", value: "token", help: "who you are to it", default: "ARCP_TOKEN" },
];
const agentsModule: Flag = {
  name: "agents",
  value: "module",
  help: "a module with agents: export const agents = { name: handler }, or export default (server) => …",
};
const jobId: Flag = { name: "job-id", value: "id", isNeeded: true, help: "the job; needed" };
const runtimeExits = [
  [1, "the job failed, or the runtime refuses"],
  [3, "no runtime answers, or not to this token"],
  [130, "interrupted"],
] as const;
const job: Argument = { name: "job", help: "its id, or the end or the beginning of its id" };
const jobFlags: readonly Flag[] = [
  {
    name: "input",
    value: "input",
    help: "the same as a flag, as arcp submit has it",
  },
  {
    name: "lease",
    value: "json|@file",
    help: 'what it may do, such as {"tool.call": ["search"]}; it may spend without limit, unless --budget or a cost.budget in here says',
    default: "nothing",
  },
  {
    name: "budget",
    value: "amount",
    isRepeated: true,
    help: "what it may spend, such as USD:1.00; repeated, of several currencies",
  },
  {
    name: "key",
    value: "key",
    help: "asked again with the same key, it is the same job",
  },
  {
    name: "timeout",
    value: "duration",
    help: "it may take so long; waiting for an agent counts",
  },
];
const jobExits = [
  [1, "it failed, or was refused; the message says why"],
  unreachable,
  [130, "interrupted; the job is cancelled, or may run if it says so"],
] as const;

const startExits = [
  [1, "it could not start: an address or the data directory is in use or unusable"],
  [4, "the log could not be written; everything acknowledged before is in it"],
  [5, "a fault of ours; the last line says which"],
] as const;

export const commands: readonly CommandRow[] = [
  {
    name: "up",
    summary: "run the daemon in this terminal",
    examples: ["tipstaff up", "tipstaff up --memory --grpc localhost:7171 --http localhost:9191"],
    flags: [
      dataDirectory,
      { name: "memory", help: "keep nothing: all is gone when the daemon stops" },
      {
        name: "grpc",
        value: "address",
        help: "where AgentKeeper SDKs connect",
        default: defaults.grpc,
      },
      {
        name: "http",
        value: "address",
        help: "dashboard, metrics and health; empty for none; off if the default port is in use",
        default: defaults.http,
      },
      {
        name: "arcp",
        value: "address",
        help: "where ARCP clients and workers connect; empty for none; off if the default port is in use",
        default: defaults.arcp,
      },
      agentsModule,
      ...taskFlags,
      ...keepFlags,
      ...embedderFlags,
      {
        name: "status-dir",
        value: "directory",
        help: "where agents leave their status files; empty: this machine is not looked at",
        default: statusDefault,
      },
      { name: "mirror-status", help: "write a status file for every registered agent too" },
      insecure,
      logFormat,
      { name: "json", help: "when it serves, say where in one line of JSON" },
    ],
    exits: startExits,
    run: async (values) => (await import("./up.ts")).up(values),
  },
  {
    name: "status",
    summary: "say whether the daemon runs, since when, and what is in it",
    examples: ["tipstaff status", "tipstaff status --json"],
    flags: [json, ...asking],
    exits: askExits,
    run: async (values) => (await import("./status.ts")).status(values),
  },
  {
    name: "answer",
    summary: "answer a question of a job or an agent; tipstaff needs lists the open questions",
    examples: ["tipstaff answer payer yes", "tipstaff answer 3f2a '{\"amount\": 42}'"],
    arguments: [
      {
        name: "question",
        help: "its id, the beginning or the end of its id, or the id or name of the agent or job that asks",
      },
      {
        name: "text",
        help: "the answer; JSON if the question's schema allows no text",
        isMany: true,
      },
    ],
    flags: [json, ...asking],
    exits: answerExits,
    run: async (values, words) => (await import("./answer.ts")).answer(values, words),
  },
  {
    name: "needs list",
    aliases: ["ls"],
    summary: "list everything that needs you: the items that tipstaff status counts",
    examples: ["tipstaff needs", "tipstaff needs --dismissed --json"],
    flags: [
      { name: "dismissed", help: "list dismissed and snoozed items instead" },
      json,
      ...asking,
    ],
    exits: askExits,
    run: async (values) => (await import("./needs.ts")).listNeeds(values),
  },
  {
    name: "needs dismiss",
    aliases: ["rm"],
    summary: "remove an item from the list, unless the same happens again later",
    examples: ["tipstaff needs dismiss payer", "tipstaff needs dismiss --all"],
    arguments: [hidden],
    flags: [{ name: "all", help: "every item that needs you now" }, json, ...asking],
    exits: needExits,
    run: async (values, words) => (await import("./needs.ts")).dismissNeeds(values, words),
  },
  {
    name: "needs snooze",
    summary: "remove an item from the list for some time",
    examples: ["tipstaff needs snooze payer", "tipstaff needs snooze --all --for 30m"],
    arguments: [hidden],
    flags: [
      { name: "for", value: "duration", help: "how long to hide it", default: "1h" },
      { name: "all", help: "every item that needs you now" },
      json,
      ...asking,
    ],
    exits: needExits,
    run: async (values, words) => (await import("./needs.ts")).snoozeNeeds(values, words),
  },
  {
    name: "needs restore",
    summary: "put a dismissed or snoozed item back on the list",
    examples: ["tipstaff needs restore payer", "tipstaff needs restore 3f2a --json"],
    arguments: [needed],
    flags: [json, ...asking],
    exits: needExits,
    run: async (values, words) => (await import("./needs.ts")).restoreNeed(values, words),
  },
  {
    name: "ps",
    summary: "list open questions, agents that have not ended, and unfinished jobs",
    examples: ["tipstaff ps", "tipstaff ps --all --silent-after 10m"],
    flags: [
      { name: "all", help: "also those that ended, or were lost more than a day ago" },
      ...looking,
      json,
      ...asking,
    ],
    exits: namedExits,
    run: async (values) => (await import("./ps.ts")).ps(values),
  },
  {
    name: "watch",
    summary: "show open questions and every agent as it is now, full screen",
    examples: ["tipstaff watch", "tipstaff watch --json"],
    flags: [
      { name: "all", help: "also those that ended, or were lost more than a day ago" },
      ...looking,
      {
        name: "json",
        help: "print a snapshot of all questions and agents, then each change, one line of JSON each",
      },
      ...asking,
    ],
    exits: namedExits,
    run: async (values) => (await import("./watch.ts")).watch(values),
  },
  {
    name: "wait",
    summary:
      "wait until a question is open or an agent waits for you, or until agents have nothing more to do",
    examples: [
      "tipstaff wait --until waiting",
      "tipstaff wait --until done --agent codex --timeout 10m",
    ],
    flags: [
      {
        name: "until",
        value: "waiting|idle|done",
        help: "waiting: a question is open, or an agent waits for a person; idle: no agent has anything to do; done: all agents are idle, failed, lost or gone",
      },
      meant,
      { name: "timeout", value: "seconds", help: "how long at most; also 5m" },
      ...looking,
      json,
      ...asking,
    ],
    exits: [[1, "not in time"], ...namedExits],
    run: async (values) => (await import("./wait.ts")).wait(values),
  },
  {
    name: "notify",
    summary:
      "show a desktop notification for each question and each agent that waits for you, until ctrl-c",
    examples: ["tipstaff notify", "tipstaff notify --command 'say \"$TIPSTAFF_NAME waits\"'"],
    flags: [
      { name: "bell", help: "ring the terminal's bell instead" },
      {
        name: "command",
        value: "command",
        help: "run this command instead, with the environment variables TIPSTAFF_NAME, _ID, _WORKSPACE, _DOING and others, for a question also _QUESTION and _CHOICES; its standard input is all of this as JSON",
      },
      meant,
      { name: "once", help: "end after the first" },
      ...looking,
      {
        name: "json",
        help: 'print one line of JSON for each notification: an agent, or {"question": …}',
      },
      ...asking,
    ],
    exits: namedExits,
    run: async (values) => (await import("./notify.ts")).notify(values),
  },
  {
    name: "dashboard",
    summary: "print a link that opens the dashboard, for one browser",
    examples: ["tipstaff dashboard", "tipstaff dashboard --open"],
    flags: [{ name: "open", help: "open it in the browser" }, json, ...asking],
    exits: writeExits,
    run: async (values) => (await import("./dashboard.ts")).dashboard(values),
  },
  {
    name: "doctor",
    summary: "check the log and all around it, and say what to do",
    examples: ["tipstaff doctor", "tipstaff doctor --data-dir /var/lib/tipstaff"],
    flags: [
      {
        name: "accept-loss",
        help: "make a damaged log usable without the entries that cannot be read; the daemon must be stopped",
      },
      json,
      ...asking,
    ],
    exits: [[1, "a check failed; warnings, such as a port in use, end with 0"]],
    run: async (values) => (await import("./doctor.ts")).doctor(values),
  },
  {
    name: "agents list",
    aliases: ["ls"],
    summary: "list agents, those that need a look first",
    examples: ["tipstaff agents", "tipstaff agents --liveness unreachable --tool browser"],
    flags: [
      {
        name: "liveness",
        value: "alive|unreachable|dead",
        isRepeated: true,
        help: "only these; may be repeated",
      },
      { name: "all", help: "include agents that were deregistered" },
      tool,
      {
        name: "sort",
        value: "attention|newest|oldest|name",
        help: "which first",
        default: "attention",
      },
      ...listing,
    ],
    exits: askExits,
    run: async (values) => (await import("./agents.ts")).listAgents(values),
  },
  {
    name: "agents get",
    summary: "show an agent with what it holds, leads and works on",
    examples: ["tipstaff agents get scraper", "tipstaff agents get 3f2a --json"],
    arguments: [agent],
    flags: [json, ...asking],
    exits: getExits,
    run: async (values, words) => (await import("./agents.ts")).getAgent(values, words),
  },
  {
    name: "agents watch",
    summary: "show agents as they come, fall silent and go",
    examples: ["tipstaff agents watch", "tipstaff agents watch --json"],
    flags: watching,
    exits: askExits,
    run: async (values) => (await import("./events.ts")).watch("agents", values),
  },
  {
    name: "agents deregister",
    aliases: ["rm"],
    summary: "end an agent: what it holds is free at once",
    examples: ["tipstaff agents deregister scraper", "tipstaff agents deregister 3f2a --yes"],
    arguments: [agent],
    flags: [yes, json, ...asking],
    exits: writeExits,
    run: async (values, words) => (await import("./agents.ts")).deregisterAgent(values, words),
  },
  {
    name: "leases list",
    aliases: ["ls"],
    summary: "list leases, those that end soonest first",
    examples: ["tipstaff leases", "tipstaff leases --agent scraper"],
    flags: [
      { name: "agent", value: "agent", help: "only those this agent holds" },
      { name: "sort", value: "expiry|newest|oldest|task", help: "which first", default: "expiry" },
      ...listing,
    ],
    exits: askExits,
    run: async (values) => (await import("./leases.ts")).listLeases(values),
  },
  {
    name: "leases get",
    summary: "show who holds a task, with which token, until when",
    examples: ["tipstaff leases get invoice-42", "tipstaff leases get invoice-42 --json"],
    arguments: [leased],
    flags: [json, ...asking],
    exits: [[1, "nobody holds it"], unreachable],
    run: async (values, words) => (await import("./leases.ts")).getLease(values, words),
  },
  {
    name: "leases watch",
    summary: "show leases as they are taken, renewed and lost",
    examples: ["tipstaff leases watch", "tipstaff leases watch --json"],
    flags: watching,
    exits: askExits,
    run: async (values) => (await import("./events.ts")).watch("leases", values),
  },
  {
    name: "leases release",
    aliases: ["rm"],
    summary: "take a task from its holder, so that another can have it",
    examples: ["tipstaff leases release invoice-42", "tipstaff leases release invoice-42 --yes"],
    arguments: [leased],
    flags: [yes, json, ...asking],
    exits: writeExits,
    run: async (values, words) => (await import("./leases.ts")).releaseLease(values, words),
  },
  {
    name: "elections list",
    aliases: ["ls"],
    summary: "list groups and who leads them",
    examples: ["tipstaff elections", "tipstaff elections --sort group"],
    flags: [
      { name: "sort", value: "newest|group", help: "which first", default: "newest" },
      ...listing,
    ],
    exits: askExits,
    run: async (values) => (await import("./elections.ts")).listElections(values),
  },
  {
    name: "elections get",
    summary: "show a group: leader, term, candidates",
    examples: ["tipstaff elections get indexers", "tipstaff elections get indexers --json"],
    arguments: [group],
    flags: [json, ...asking],
    exits: [[1, "there is no such group"], unreachable],
    run: async (values, words) => (await import("./elections.ts")).getElection(values, words),
  },
  {
    name: "elections watch",
    summary: "show leaders as they change",
    examples: ["tipstaff elections watch", "tipstaff elections watch --json"],
    flags: watching,
    exits: askExits,
    run: async (values) => (await import("./events.ts")).watch("elections", values),
  },
  {
    name: "elections resign",
    summary: "make the leader of a group stand down, or the agent that is named",
    examples: [
      "tipstaff elections resign indexers",
      "tipstaff elections resign indexers --agent b",
    ],
    arguments: [group],
    flags: [
      { name: "agent", value: "agent", help: "the candidate that leaves", default: "the leader" },
      yes,
      json,
      ...asking,
    ],
    exits: writeExits,
    run: async (values, words) => (await import("./elections.ts")).resign(values, words),
  },
  {
    name: "policies list",
    aliases: ["ls"],
    summary: "list policies",
    examples: ["tipstaff policies", "tipstaff policies --subject-prefix agent:"],
    flags: [
      {
        name: "subject-prefix",
        value: "text",
        help: "only policies whose subject begins with this text; * is not a wildcard here",
        default: "all",
      },
      { name: "sort", value: "id|newest", help: "which first", default: "id" },
      ...listing,
    ],
    exits: askExits,
    run: async (values) => (await import("./policies.ts")).listPolicies(values),
  },
  {
    name: "policies get",
    summary: "show one policy",
    examples: ["tipstaff policies get scrapers-browse", "tipstaff policies get p1 --json"],
    arguments: [policy],
    flags: [json, ...asking],
    exits: [[1, "there is no such policy"], unreachable],
    run: async (values, words) => (await import("./policies.ts")).getPolicy(values, words),
  },
  {
    name: "policies set",
    summary: "create a policy, or replace the one of that id",
    examples: [
      "tipstaff policies set p1 --subject 'agent:scraper*' --action call --resource 'tool:*'",
      "tipstaff policies set p2 --subject '*' --action call --resource tool:rm --effect deny",
    ],
    arguments: [policy],
    flags: [
      { name: "subject", value: "pattern", help: "who; * stands for anything" },
      { name: "action", value: "pattern", help: "does what" },
      { name: "resource", value: "pattern", help: "to what" },
      { name: "effect", value: "allow|deny", help: "deny wins", default: "allow" },
      json,
      ...asking,
    ],
    exits: writeExits,
    run: async (values, words) => (await import("./policies.ts")).setPolicy(values, words),
  },
  {
    name: "policies delete",
    aliases: ["rm"],
    summary: "delete a policy",
    examples: ["tipstaff policies delete p1", "tipstaff policies delete p1 --yes"],
    arguments: [policy],
    flags: [yes, json, ...asking],
    exits: writeExits,
    run: async (values, words) => (await import("./policies.ts")).deletePolicy(values, words),
  },
  {
    name: "policies check",
    summary: "say whether this subject may do this, and which policy decides",
    examples: [
      "tipstaff policies check agent:scraper call tool:browser",
      "tipstaff policies check agent:scraper call tool:browser --explain",
    ],
    arguments: [{ name: "subject", help: "such as agent:scraper" }, action, resource],
    flags: [{ name: "explain", help: "show all policies that apply" }, json, ...asking],
    exits: [[1, "no, it may not"], unreachable],
    run: async (values, words) => (await import("./policies.ts")).checkPolicy(values, words),
  },
  {
    name: "policies who",
    summary: "say which of the agents that are here may do this",
    examples: [
      "tipstaff policies who call tool:browser",
      "tipstaff policies who call 'tool:x' --json",
    ],
    arguments: [action, resource],
    flags: [json, ...asking],
    exits: askExits,
    run: async (values, words) => (await import("./policies.ts")).whoMay(values, words),
  },
  {
    name: "policies apply",
    summary: "make policies as they stand in files",
    examples: [
      "tipstaff policies apply -f examples/policies --dry-run",
      "tipstaff policies apply -f examples/policies --prune --yes",
    ],
    flags: [
      {
        name: "file",
        short: "f",
        value: "path",
        isRepeated: true,
        help: "a .json file, or a directory of them: each holds one policy or a list; a policy has id, subject, action, resource and effect, which must be given: allow or deny",
      },
      { name: "dry-run", help: "only show what would change" },
      { name: "prune", help: "delete policies that stand in no file" },
      yes,
      json,
      ...asking,
    ],
    exits: [[1, "a file is wrong, or a change was refused"], unreachable],
    run: async (values) => (await import("./apply.ts")).applyPolicies(values),
  },
  {
    name: "tasks list",
    aliases: ["ls"],
    summary: "list tasks, those that need a look first",
    examples: ["tipstaff tasks", "tipstaff tasks --state dead --type invoice"],
    flags: [
      {
        name: "state",
        value: "delayed|pending|claimed|completed|cancelled|dead",
        isRepeated: true,
        help: "only these; may be repeated",
      },
      { name: "type", value: "type", help: "only tasks of this type" },
      { name: "agent", value: "agent", help: "only those this agent works on" },
      { name: "sort", value: "attention|newest|oldest", help: "which first", default: "attention" },
      ...listing,
    ],
    exits: askExits,
    run: async (values) => (await import("./tasks.ts")).listTasks(values),
  },
  {
    name: "tasks get",
    summary: "show a task with its input and output",
    examples: ["tipstaff tasks get 3f2a", "tipstaff tasks get 3f2a --only output > result"],
    arguments: [task],
    flags: [
      { name: "only", value: "input|output", help: "write exactly these bytes, nothing else" },
      json,
      ...asking,
    ],
    exits: getExits,
    run: async (values, words) => (await import("./tasks.ts")).getTask(values, words),
  },
  {
    name: "tasks create",
    summary: "queue a task for whoever has the tools",
    examples: [
      "tipstaff tasks create invoice --input @invoice.pdf --tool pdf --retries 3",
      "echo hello | tipstaff tasks create greet --input - --delay 5m",
    ],
    arguments: [{ name: "type", help: "what kind of work it is; agents claim by type" }],
    flags: [
      { name: "input", value: "text|@file|-", help: "what the agent gets; - reads standard input" },
      {
        name: "tool",
        value: "tool",
        isRepeated: true,
        help: "only for agents that have it; may be repeated",
      },
      {
        name: "priority",
        value: "number",
        help: "higher goes first; from -100 to 100",
        default: "0",
      },
      {
        name: "retries",
        value: "number",
        help: "how often a failure is tried again",
        default: "0",
      },
      { name: "claim", value: "duration", help: "how long an agent has for it", default: "60s" },
      {
        name: "deliveries",
        value: "number",
        help: "it is dead after so many claims that ended without a word; 0: no limit",
        default: "0",
      },
      { name: "delay", value: "duration", help: "not before this time has passed", default: "0s" },
      { name: "key", value: "key", help: "asked again with the same key, it is the same task" },
      json,
      ...asking,
    ],
    exits: writeExits,
    run: async (values, words) => (await import("./tasks.ts")).createTask(values, words),
  },
  {
    name: "tasks cancel",
    aliases: ["rm"],
    summary: "end a task: nobody shall do it any more",
    examples: ["tipstaff tasks cancel 3f2a", "tipstaff tasks cancel 3f2a --yes"],
    arguments: [task],
    flags: [yes, json, ...asking],
    exits: writeExits,
    run: async (values, words) => (await import("./tasks.ts")).cancelTask(values, words),
  },
  {
    name: "tasks requeue",
    summary: "try a dead or cancelled task anew",
    examples: ["tipstaff tasks requeue 3f2a", "tipstaff tasks requeue 3f2a --json"],
    arguments: [task],
    flags: [json, ...asking],
    exits: writeExits,
    run: async (values, words) => (await import("./tasks.ts")).requeueTask(values, words),
  },
  {
    name: "tasks watch",
    summary: "show tasks as they are queued, claimed and done",
    examples: ["tipstaff tasks watch", "tipstaff tasks watch --json"],
    flags: watching,
    exits: askExits,
    run: async (values) => (await import("./events.ts")).watch("tasks", values),
  },
  {
    name: "job submit",
    summary: "hand work to an agent, and see it done; ctrl-c cancels it",
    examples: [
      "tipstaff job submit echo hello",
      "tipstaff job submit researcher @question.json --budget USD:1.00",
    ],
    arguments: [
      { name: "agent", help: "its name, or name@version; tipstaff job agents lists them" },
      {
        name: "input",
        help: "what it gets: JSON, or else a text; @file, or - for standard input",
        isOptional: true,
      },
    ],
    flags: [
      ...jobFlags,
      { name: "detach", short: "d", help: "print its id, and leave the job to itself" },
      { name: "quiet", short: "q", help: "print nothing but the result" },
      { name: "json", help: "print one line of JSON for each event, then how it ended" },
      ...asking,
    ],
    exits: jobExits,
    run: async (values, words) => (await import("./job.ts")).submitJob(values, words),
  },
  {
    name: "job tail",
    summary: "show what a job says, from its beginning until it ends",
    examples: ["tipstaff job tail 7f3k", "tipstaff job tail 7f3k --no-history --json"],
    arguments: [job],
    flags: [
      { name: "no-history", help: "only what it says from now on" },
      { name: "quiet", short: "q", help: "print nothing but the result" },
      { name: "json", help: "print one line of JSON for each event, then how it ended" },
      ...asking,
    ],
    exits: [[1, "it failed, or there is no such job"], unreachable, [130, "interrupted"]],
    run: async (values, words) => (await import("./job.ts")).tailJob(values, words),
  },
  {
    name: "job list",
    aliases: ["ls"],
    summary: "list jobs, those that need a look first",
    examples: ["tipstaff job list", "tipstaff job list --state running --agent researcher"],
    flags: [
      {
        name: "state",
        value: "pending|running|waiting|success|error|cancelled|timed_out",
        isRepeated: true,
        help: "only these; may be repeated",
      },
      { name: "agent", value: "agent", help: "only jobs of this agent" },
      { name: "sort", value: "attention|newest|oldest", help: "which first", default: "attention" },
      ...listing,
    ],
    exits: askExits,
    run: async (values) => (await import("./job-list.ts")).listJobs(values),
  },
  {
    name: "job cancel",
    aliases: ["rm"],
    summary: "ask a job to end; it has half a minute to do so",
    examples: ["tipstaff job cancel 7f3k", "tipstaff job cancel 7f3k --reason 'wrong file'"],
    arguments: [job],
    flags: [
      { name: "reason", value: "words", help: "what the agent is told" },
      yes,
      json,
      ...asking,
    ],
    exits: writeExits,
    run: async (values, words) => (await import("./job.ts")).cancelJob(values, words),
  },
  {
    name: "job agents",
    summary: "list the agents that take jobs",
    examples: ["tipstaff job agents", "tipstaff job agents --json"],
    flags: [json, ...asking],
    exits: askExits,
    run: async (values) => (await import("./job.ts")).listOffers(values),
  },
  {
    name: "job replay",
    summary: "show again what a job said, out of the log; no daemon is needed",
    examples: ["tipstaff job replay 7f3k", "tipstaff job replay 7f3k --json"],
    arguments: [job],
    flags: [
      { name: "quiet", short: "q", help: "print nothing but the result" },
      { name: "json", help: "print one line of JSON for each event, then how it ended" },
      dataDirectory,
    ],
    exits: [[1, "it failed, or the log knows no such job"]],
    run: async (values, words) => (await import("./job-replay.ts")).replay(values, words),
  },
  {
    name: "find",
    summary: "find agents by what they can do, best first",
    examples: [
      "tipstaff find 'read totals from invoices'",
      "tipstaff find 'web page' --tool browser",
    ],
    arguments: [{ name: "words", help: "what is to be done, in your own words", isMany: true }],
    flags: [
      tool,
      { name: "limit", value: "number", help: "how many at most", default: "10" },
      json,
      ...asking,
    ],
    exits: [[1, "nobody is found"], unreachable],
    run: async (values, words) => (await import("./find.ts")).find(values, words),
  },
  {
    name: "events",
    summary: "show what happened, oldest first",
    examples: ["tipstaff events --follow", "tipstaff events --after 1200 --topic lease. --json"],
    flags: [
      { name: "follow", help: "go on as things happen, also after the daemon starts again" },
      { name: "after", value: "sequence", help: "begin after this entry; absent: the last 50" },
      {
        name: "topic",
        value: "prefix",
        isRepeated: true,
        help: "only topics that begin so; may be repeated",
      },
      {
        name: "about",
        value: "id",
        help: "only about this task, group, policy or agent, which also goes by its name",
      },
      { name: "limit", value: "number", help: "how many at most", default: "50" },
      jsonLines,
      ...asking,
    ],
    exits: askExits,
    run: async (values) => (await import("./events.ts")).events(values),
  },
  {
    name: "history",
    summary: "show an agent's day as a timeline",
    examples: ["tipstaff history scraper-1", "tipstaff history codex --day 2026-01-31 --json"],
    arguments: [{ name: "agent", help: "its id, or its name if no other had it on that day" }],
    flags: [
      { name: "day", value: "date", help: "another day than today, such as 2026-01-31" },
      json,
      ...asking,
    ],
    exits: [[1, "nothing is known of it, or it is more than one"], unreachable],
    run: async (values, words) => (await import("./history.ts")).history(values, words),
  },
  {
    name: "install",
    summary: "make a host tell what its agents do; alone, say which hosts there are",
    examples: ["tipstaff install claude-code", "tipstaff install codex --dry-run"],
    arguments: [host],
    flags: [dryRun, diff, yes, json],
    exits: installExits,
    run: async (values, words) => (await import("./install.ts")).install(values, words),
  },
  {
    name: "uninstall",
    summary: "make a host as it was before install",
    examples: ["tipstaff uninstall claude-code", "tipstaff uninstall codex --yes"],
    arguments: [host],
    flags: [dryRun, diff, yes, json],
    exits: installExits,
    run: async (values, words) => (await import("./uninstall.ts")).uninstall(values, words),
  },
  {
    name: "completions",
    summary: "print completions for your shell",
    examples: [
      "source <(tipstaff completions bash)",
      "tipstaff completions fish > ~/.config/fish/completions/tipstaff.fish",
    ],
    arguments: [{ name: "bash|zsh|fish", help: "the shell" }],
    flags: [],
    exits: [],
    run: async (_, words) => (await import("./completions.ts")).completions(words),
  },
  {
    name: "agentkeeper",
    summary: "run the daemon with AgentKeeper's flags",
    examples: ["agentkeeper --addr=:7070 --data-dir=/var/lib/agentkeeper", "agentkeeper"],
    flags: [
      {
        name: "addr",
        value: "address",
        help: "where SDKs connect",
        default: defaults.agentkeeperGrpc,
      },
      { name: "data-dir", value: "directory", help: "where the log is kept; absent: in memory" },
      {
        name: "metrics-addr",
        value: "address",
        help: "dashboard, metrics and health; empty for none; off if the default port is in use",
        default: defaults.agentkeeperHttp,
      },
      ...taskFlags,
      ...keepFlags,
      insecure,
      logFormat,
    ],
    exits: startExits,
    run: async (values) => (await import("./up.ts")).agentkeeper(values),
  },
  {
    name: "arcp serve",
    summary: "run an ARCP runtime in this terminal, with an agent called echo",
    examples: [
      "arcp serve --token secret",
      "arcp serve --token secret --agents ./agents.ts --db ./runtime",
    ],
    flags: [
      {
        name: "transport",
        value: "ws|stdio",
        help: "a WebSocket, or this process's input and output: it ends when its input does",
        default: "ws",
      },
      { name: "host", value: "host", help: "where to listen", default: "127.0.0.1" },
      { name: "port", value: "number", help: "where to listen; 0 takes any", default: "7777" },
      { name: "path", value: "path", help: "of the address", default: "/arcp" },
      {
        name: "token",
        value: "token",
        help: "what clients must know; needed",
        default: "ARCP_TOKEN",
      },
      {
        name: "principal",
        value: "name",
        help: "whom the token stands for",
        default: "cli-user",
      },
      {
        name: "db",
        value: "directory",
        help: "where to keep sessions and jobs: a directory, made if need be; absent: in memory",
      },
      {
        name: "allowed-host",
        value: "host",
        isRepeated: true,
        help: "only for clients that call it by this name; may be repeated",
      },
      agentsModule,
      {
        name: "heartbeat",
        value: "seconds",
        help: "how often both sides show that they are there",
        default: "30",
      },
      {
        name: "resume-window",
        value: "seconds",
        help: "how long a lost session can be resumed",
        default: "600",
      },
    ],
    exits: [[1, "it could not start: the address or the directory is in use or unusable"]],
    run: async (values) => (await import("./arcp/serve.ts")).serve(values),
  },
  {
    name: "arcp submit",
    summary: "hand a job to a runtime, and print its result; ctrl-c cancels it",
    examples: [
      `arcp submit --url ws://127.0.0.1:7777/arcp --token secret --agent echo --input '{"hi": 1}'`,
      "arcp submit --agent researcher --input @question.json --events",
    ],
    flags: [
      ...runtimeFlags,
      { name: "agent", value: "agent", isNeeded: true, help: "its name, or name@version; needed" },
      {
        name: "input",
        value: "json|@file|-",
        help: "what it gets; - reads standard input",
        default: "null",
      },
      { name: "lease", value: "json|@file", help: "what the job may do and spend", default: "{}" },
      { name: "expires-at", value: "time", help: "when that ends, such as 2030-01-31T12:00:00Z" },
      {
        name: "idempotency-key",
        value: "key",
        help: "asked again with the same key, it is the same job",
      },
      {
        name: "max-runtime",
        value: "seconds",
        help: "the job is ended after so long; waiting for a worker counts",
      },
      { name: "trace-id", value: "id", help: "32 hex digits, for those who trace" },
      { name: "events", help: "print events, too, as lines of JSON on standard error" },
      { name: "raw", help: "print a streamed result as it is, and nothing else" },
    ],
    exits: runtimeExits,
    run: async (values) => (await import("./arcp/submit.ts")).submit(values),
  },
  {
    name: "arcp tail",
    summary: "print what a job says as lines of JSON, from its beginning until it ends",
    examples: [
      "arcp tail --url ws://127.0.0.1:7777/arcp --token secret --job-id job_01JZ…",
      "arcp tail --job-id job_01JZ… --no-history",
    ],
    flags: [
      ...runtimeFlags,
      jobId,
      { name: "from-seq", value: "number", help: "only what came after this event", default: "0" },
      { name: "no-history", help: "only what it says from now on" },
    ],
    exits: runtimeExits,
    run: async (values) => (await import("./arcp/tail.ts")).tail(values),
  },
  {
    name: "arcp list",
    aliases: ["ls"],
    summary: "print a page of the jobs that this token may see, as JSON",
    examples: [
      "arcp list --url ws://127.0.0.1:7777/arcp --token secret",
      "arcp list --status running --status pending --limit 10",
    ],
    flags: [
      ...runtimeFlags,
      { name: "status", value: "status", isRepeated: true, help: "only these; may be repeated" },
      { name: "agent", value: "agent", help: "only jobs of this agent" },
      { name: "limit", value: "number", help: "how many at most", default: "100" },
      { name: "cursor", value: "cursor", help: "go on after a page: its next_cursor" },
    ],
    exits: runtimeExits,
    run: async (values) => (await import("./arcp/list.ts")).list(values),
  },
  {
    name: "arcp cancel",
    summary: "ask a job to end",
    examples: [
      "arcp cancel --url ws://127.0.0.1:7777/arcp --token secret --job-id job_01JZ…",
      "arcp cancel --job-id job_01JZ… --reason 'wrong file'",
    ],
    flags: [
      ...runtimeFlags,
      jobId,
      { name: "reason", value: "words", help: "what the agent is told" },
    ],
    exits: runtimeExits,
    run: async (values) => (await import("./arcp/cancel.ts")).cancel(values),
  },
  {
    name: "arcp replay",
    summary: "print what a session was told, out of a runtime's log; the runtime may be gone",
    examples: [
      "arcp replay --db ./runtime --session ses_01JZ…",
      "arcp replay --db arcp.db --session ses_01JZ… --after-seq 120 --type job.result",
    ],
    flags: [
      {
        name: "db",
        value: "path",
        help: "the directory of arcp serve or of tipstaff up, or a file of the Python or TypeScript SDK; it is only read",
      },
      { name: "session", value: "id", isNeeded: true, help: "the session; needed" },
      { name: "after-seq", value: "number", help: "only what came after this event", default: "0" },
      { name: "job-id", value: "id", help: "only what is about this job" },
      {
        name: "type",
        value: "type",
        isRepeated: true,
        help: "only these, such as job.result; may be repeated",
      },
    ],
    exits: [[1, "there is no log, or it is damaged"]],
    run: async (values) => (await import("./arcp/replay.ts")).replay(values),
  },
  {
    name: "arcp manifest",
    summary: "print what this implementation is and speaks, as JSON",
    examples: ["arcp manifest", "arcp manifest | jq .features"],
    flags: [],
    exits: [],
    run: async () => (await import("./arcp/manifest.ts")).manifest(),
  },
  // As those say it who think of the others, which are many.
  {
    name: "jobs",
    isHidden: true,
    summary: "list jobs, those that need a look first",
    examples: ["tipstaff jobs", "tipstaff jobs --json"],
    flags: listing,
    exits: askExits,
    run: async (values) => (await import("./job-list.ts")).listJobs(values),
  },
  // Only says what is to be done instead.
  {
    name: "stop",
    isHidden: true,
    summary: "say how the daemon is stopped",
    examples: ["tipstaff stop", "tipstaff stop --data-dir /var/lib/tipstaff"],
    flags: asking,
    exits: [],
    run: async (values) => (await import("./stop.ts")).stop(values),
  },
  // What the hook of a plugin starts that was installed without its writer.
  {
    name: "writer",
    isHidden: true,
    summary: "write the status files of the hosts that have hooks, until the last session is over",
    examples: ["tipstaff writer", "tipstaff writer ~/.local/state/tipstaff/emitters"],
    arguments: [{ name: "directory", help: "where hooks put their events", isOptional: true }],
    flags: [],
    exits: [],
    run: async (_values, words) => (await import("./writer.ts")).writer(words),
  },
];

/** Those that help, completions and `docs/cli.md` tell of. */
export const offered: readonly CommandRow[] = commands.filter(({ isHidden }) => !isHidden);
