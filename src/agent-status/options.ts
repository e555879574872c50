/**
 * One table describes each command; the parser, the usage and the help are made from it. What the reference
 * program does not have is marked as new: the beginning of a name means an option of the reference first,
 * so that no script changes its meaning.
 */
import { lifecycles, taskStates } from "../wire/status-file/index.ts";

export type Option = {
  readonly name: string;
  /** What its value is called; absent for a switch. */
  readonly value?: string;
  /** Absent: any text. */
  readonly kind?: "integer" | "seconds";
  /** It is written as it was typed, so a whole number that would lose digits is refused. */
  readonly isExact?: true;
  readonly choices?: readonly string[];
  /** Several of the choices, with commas between them. */
  readonly isList?: true;
  readonly isRequired?: true;
  readonly isRepeated?: true;
  /** `--no-<name>` is there too, and the last of both counts. */
  readonly hasOpposite?: true;
  readonly isNew?: true;
  readonly help: string;
};

export type CommandName = "emit" | "list" | "get" | "watch" | "validate" | "prune";

export type Command = {
  readonly name: CommandName;
  readonly summary: string;
  readonly examples: readonly [string, string];
  /** A word behind the command; all of them are required. */
  readonly word?: { readonly name: string; readonly help: string; readonly isMany?: true };
  readonly options: readonly Option[];
  readonly exits: readonly (readonly [code: number, meaning: string])[];
};

/** What a reader makes of a record. */
export const derivedStates: readonly string[] = [
  ...taskStates,
  "idle",
  "stale",
  "missing",
  "running",
  "stopped",
];

const statusDirectory: Option = {
  name: "status-dir",
  value: "DIR",
  help: "where the files are (AGENT_STATUS_DIR, else XDG_STATE_HOME/agent-status, else ~/.local/state/agent-status)",
};
const staleAfter: Option = {
  name: "stale-after",
  value: "SECONDS",
  kind: "integer",
  help: "who has not been heard of for longer is stale (60)",
};
const colour: Option = {
  name: "color",
  hasOpposite: true,
  help: "colours and a drawn frame, or neither (on a terminal, unless NO_COLOR is set)",
};
const json: Option = { name: "json", isNew: true, help: "one JSON document" };
const emit: Command = {
  name: "emit",
  summary: "replace an agent's status file; it is stale a minute after the last time",
  examples: [
    "agent-status emit --agent-id pi-1 --agent-name pi --lifecycle running",
    "agent-status emit --merge --agent-id pi-1 --task-state input-required",
  ],
  options: [
    { name: "agent-id", value: "ID", isRequired: true, help: "unique per running instance" },
    { name: "agent-name", value: "NAME", isRequired: true, help: "of the program" },
    {
      name: "lifecycle",
      value: "LIFECYCLE",
      choices: lifecycles,
      isRequired: true,
      help: "of the process",
    },
    { name: "workspace", value: "PATH", help: "where it works; kept absolute, links resolved" },
    { name: "pid", value: "PID", kind: "integer", isExact: true, help: "of the process" },
    { name: "updated-at", value: "TIME", help: "when this was true (now)" },
    { name: "last-activity-at", value: "TIME", help: "when it last did real work" },
    { name: "goal-summary", value: "TEXT", help: "what the session is for" },
    { name: "goal-updated-at", value: "TIME", help: "when the goal was set" },
    {
      name: "goal-source",
      value: "SOURCE",
      choices: ["initial-prompt"],
      help: "where the goal comes from",
    },
    { name: "task-id", value: "ID", help: "of the task or turn" },
    { name: "context-id", value: "ID", help: "of the session" },
    { name: "task-state", value: "STATE", choices: taskStates, help: "how far the task is" },
    { name: "task-summary", value: "TEXT", help: "what it is doing" },
    { name: "task-status-timestamp", value: "TIME", help: "when this state began" },
    { name: "agent-card-url", value: "URL", help: "of its A2A Agent Card" },
    { name: "service-url", value: "URL", help: "of its A2A service" },
    {
      name: "meta",
      value: "KEY=VALUE",
      isRepeated: true,
      help: "anything else; may be repeated, the last of a key counts",
    },
    statusDirectory,
    {
      name: "merge",
      isNew: true,
      help: "keep what the file has and no option changes; then only --agent-id is required",
    },
    { name: "clear-task", isNew: true, help: "with --merge: drop the task first" },
    { name: "clear-goal", isNew: true, help: "with --merge: drop the goal first" },
    json,
  ],
  exits: [[1, "it is no valid record, or could not be written"]],
};

const list: Command = {
  name: "list",
  summary: "show all agents, those at work first",
  examples: ["agent-status list", "agent-status list --state input-required,auth-required --json"],
  options: [
    statusDirectory,
    staleAfter,
    colour,
    {
      name: "expect",
      value: "ID",
      isRepeated: true,
      isNew: true,
      help: "show it as missing if it has no file; may be repeated",
    },
    {
      name: "state",
      value: "STATE",
      choices: derivedStates,
      isList: true,
      isRepeated: true,
      isNew: true,
      help: "only agents in this state, or in these with commas between them; may be repeated",
    },
    {
      name: "name",
      value: "NAME",
      isRepeated: true,
      isNew: true,
      help: "only agents of this name; may be repeated",
    },
    json,
  ],
  exits: [],
};

const get: Command = {
  name: "get",
  summary: "print one record as it is",
  examples: ["agent-status get pi-1", "agent-status get --status-dir /tmp/status -- -odd-id"],
  word: { name: "agent_id", help: "the name of its file, without .json" },
  options: [statusDirectory, { ...json, help: "the same: a record is a JSON document" }],
  exits: [[1, "there is none, or it is not valid"]],
};

const watch: Command = {
  name: "watch",
  summary: "show all agents, and go on as they change",
  examples: ["agent-status watch", "agent-status watch --json | jq .type"],
  options: [
    statusDirectory,
    staleAfter,
    {
      name: "interval",
      value: "SECONDS",
      kind: "seconds",
      help: "draw anew at least this often (2)",
    },
    colour,
    {
      name: "once-changed",
      isNew: true,
      help: "end at the first change, after having shown it",
    },
    { ...json, help: "one line a change: snapshot first, then upsert, remove, state" },
  ],
  exits: [],
};

const validate: Command = {
  name: "validate",
  summary: "check files against the standard",
  examples: ["agent-status validate pi-1.json", "agent-status validate --strict *.json"],
  word: { name: "file", help: "one or more; may be a pipe", isMany: true },
  options: [
    {
      name: "strict",
      isNew: true,
      help: "by the JSON Schema as well, with RFC 3339 times, safe names and whole pairs",
    },
    json,
  ],
  exits: [[1, "one of them is not valid, or cannot be read"]],
};

const prune: Command = {
  name: "prune",
  summary: "remove files of agents that are long gone",
  examples: ["agent-status prune --dry-run", "agent-status prune --prune-after 3600"],
  options: [
    statusDirectory,
    staleAfter,
    {
      name: "prune-after",
      value: "SECONDS",
      kind: "integer",
      help: "only what is older than this (86400)",
    },
    { name: "keep-stopped", help: "leave those that say they stopped" },
    { name: "dry-run", isNew: true, help: "say what would be removed, and leave it" },
    { name: "invalid", isNew: true, help: "remove files that are no valid record, too" },
    { name: "temp-files", isNew: true, help: "remove what interrupted writers left, too" },
    json,
  ],
  exits: [[1, "one of them could not be removed"]],
};

export const commands: readonly Command[] = [emit, list, get, watch, validate, prune];
