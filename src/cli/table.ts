/**
 * One table describes each command; the parser and the help are made from it.
 */
export type Flag = {
  readonly name: string;
  /** What its value is called; absent for a switch. */
  readonly value?: string;
  readonly help: string;
  /** For the help; whoever runs the command applies it, and so knows what was asked for. */
  readonly default?: string;
};

export type Values = Readonly<Record<string, string | boolean | undefined>>;

export type CommandRow = {
  readonly name: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly flags: readonly Flag[];
  /** What each exit code other than 0 means. */
  readonly exits: readonly (readonly [code: number, meaning: string])[];
  /** Answers the exit code. */
  readonly run: (values: Values) => Promise<number>;
};

/** Where the daemon listens unless told otherwise. */
export const defaults = {
  grpc: "localhost:7070",
  http: "localhost:9090",
  agentkeeperGrpc: ":7070",
  agentkeeperHttp: ":9090",
} as const;

const dataDirectory: Flag = {
  name: "data-dir",
  value: "directory",
  help: "where the log is kept",
  default: "~/.local/state/tipstaff",
};
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
    help: "how long events are kept on disk for those who resume; what is true is kept anyway",
    default: "30",
  },
  {
    name: "keep-bytes",
    value: "bytes",
    help: "how much they may take there: 500M, 4G, 1T",
    default: "4G",
  },
];
const json: Flag = { name: "json", help: "print one JSON document" };

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
        help: "dashboard, metrics and health; empty for none",
        default: defaults.http,
      },
      ...taskFlags,
      ...keepFlags,
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
    flags: [
      dataDirectory,
      {
        name: "http",
        value: "address",
        help: "where to ask, if not through the data directory",
        default: defaults.http,
      },
      json,
    ],
    exits: [[3, "no daemon answers"]],
    run: async (values) => (await import("./status.ts")).status(values),
  },
  {
    name: "doctor",
    summary: "verify every entry of the log and its snapshots",
    examples: ["tipstaff doctor", "tipstaff doctor --data-dir /var/lib/tipstaff"],
    flags: [dataDirectory, json],
    exits: [[1, "something is damaged or missing"]],
    run: async (values) => (await import("./doctor.ts")).doctor(values),
  },
  {
    name: "agentkeeper",
    summary: "run the daemon with AgentKeeper's flags; also installed as agentkeeper",
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
        help: "dashboard, metrics and health; empty for none",
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
];
