/**
 * The contract of status files as a list: each of its rules in few words, and the tests that prove it; then
 * its vectors. A test cites a rule by its id, in its name;
 * `agent-status-manifest.test.ts` holds this list against what the tests cite.
 */
export type Rule = {
  readonly id: string;
  /** The reference does so; it does otherwise, and this is the safe way; it has nothing of the kind. */
  readonly marks: readonly ("reference" | "fix" | "new")[];
  readonly rule: string;
  /** Files whose tests cite the id; others may too. None: not proven yet. */
  readonly provenBy: readonly string[];
};

export type Vector = {
  readonly id: string;
  readonly about: string;
  readonly provenBy: readonly string[];
};

const agentStatusParse = "src/agent-status/parse.test.ts";
const agentStatusTable = "src/agent-status/table.test.ts";
const filesDirectory = "src/status-files/directory.test.ts";
const filesPrune = "src/status-files/prune.test.ts";
const filesRead = "src/status-files/read.test.ts";
const filesWatch = "src/status-files/watch.test.ts";
const filesWrite = "src/status-files/write.test.ts";
const filesWriter = "src/status-files/writer.test.ts";
const emittersContract = "src/emitters/contract.ts";
const opencodePlugin = "src/emitters/opencode/plugin.test.ts";
const opencodeSignals = "src/emitters/opencode/signals.test.ts";
const opencodeState = "src/emitters/opencode/state.test.ts";
const piExtension = "src/emitters/pi/extension.test.ts";
const emittersSnapshot = "src/emitters/snapshot.test.ts";
const writerKeeper = "src/emitters/writer/keeper.test.ts";
const writerQueue = "src/emitters/writer/queue.test.ts";
const hostEventsApply = "src/wire/host-events/apply.test.ts";
const hostEventsEvidence = "src/wire/host-events/evidence.test.ts";
const hostEventsQuestions = "src/wire/host-events/questions.test.ts";
const wireOrder = "src/wire/status-file/order.test.ts";
const wirePrint = "src/wire/status-file/print.test.ts";
const wireRead = "src/wire/status-file/read.test.ts";
const wireState = "src/wire/status-file/state.test.ts";
const wireText = "src/wire/status-file/text.test.ts";
const wireTimestamp = "src/wire/status-file/timestamp.test.ts";
const wireValidate = "src/wire/status-file/validate.test.ts";
const agentStatusBundle = "test/agent-status/bundle.test.ts";
const agentStatusCommands = "test/agent-status/commands.test.ts";
const agentStatusLooks = "test/agent-status/looks.test.ts";
const agentStatusTerminal = "test/agent-status/terminal.test.ts";
const agentStatusVectors = "test/agent-status/vectors.test.ts";
const agentStatusWatch = "test/agent-status/watch.test.ts";
const agentStatusWriteOrder = "test/agent-status/write-order.test.ts";
const e2eGuests = "test/e2e/guests.test.ts";
const e2eHooks = "test/e2e/hooks.test.ts";
const e2eStatusLibrary = "test/e2e/status-library.test.ts";
const interopAgentStatus = "test/interop/agent-status.test.ts";

export const rules: readonly Rule[] = [
  matched(
    "AS-1",
    "The directory is the flag's, else AGENT_STATUS_DIR, else agent-status in XDG_STATE_HOME, else in ~/.local/state; an empty variable is not set.",
    [filesDirectory, agentStatusCommands, e2eGuests],
  ),
  matchedAndFixed(
    "AS-2",
    "A leading tilde is expanded and nothing else; a user whom nobody knows is one line of error, and only where that value counts.",
    [filesDirectory, agentStatusCommands],
  ),
  matched(
    "AS-3",
    "A relative directory stays relative in what is printed; emitters make it absolute.",
    [emittersContract, filesDirectory, agentStatusCommands],
  ),
  matched(
    "AS-4",
    "Printed paths have no double slashes, no dot segments and no slash at the end; `..` stays.",
    [filesDirectory, agentStatusCommands],
  ),
  matchedAndFixed(
    "AS-5",
    "Missing directories are made; the last one with mode 0700, and one that is there keeps its mode.",
    [filesWrite, agentStatusVectors],
  ),
  matched("AS-6", "A file has mode 0600 after every write.", [filesWrite, agentStatusVectors]),
  matched(
    "AS-7",
    "Readers look at names that end in .json directly in the directory, dot files included, and at nothing else.",
    [filesRead, agentStatusVectors],
  ),
  matchedAndFixed(
    "AS-8",
    "An id is not empty and has no slash of either kind; writers also refuse control characters and names beyond 255 bytes.",
    [filesWrite, wireText, agentStatusCommands, agentStatusVectors],
  ),
  matched(
    "AS-9",
    "A file may have another name than its record's id: get and prune go by the name, tables by the id.",
    [filesRead, agentStatusLooks],
  ),
  matched(
    "AS-10",
    "Emitters make ids of letters, digits, dot, underscore and dash; of nothing they make their prefix.",
    [wireText, e2eGuests, e2eStatusLibrary],
  ),
  matched("AS-11", "An emitter's id is its prefix and a random UUID, never a process number.", [
    e2eGuests,
    e2eStatusLibrary,
  ]),
  matched(
    "AS-12",
    "Temporary file beside it, exclusive and 0600, everything written, synced, closed, renamed; on failure it is removed and the old file is untouched.",
    [filesWrite, agentStatusWriteOrder, e2eGuests],
  ),
  matched("AS-13", "Temporary names are random, begin with a dot and end in .tmp.", [
    filesWrite,
    e2eGuests,
  ]),
  matched(
    "AS-14",
    "A symlink in the place of the file is replaced, its target left alone; a directory there makes the write fail.",
    [filesWrite, agentStatusVectors],
  ),
  matched(
    "AS-15",
    "There is no lock: of two writers the last rename wins, and the file is always a whole one.",
    [filesWrite, e2eGuests, interopAgentStatus],
  ),
  matchedAndAdded("AS-16", "emit replaces everything; only --merge keeps what was there.", [
    filesWrite,
    agentStatusVectors,
  ]),
  matched("AS-17", "Nothing is written that is not valid.", [filesWrite, agentStatusVectors]),
  matched(
    "AS-18",
    "A workspace is stored absolute, with the tilde expanded and links resolved; an empty one is left out.",
    [agentStatusCommands],
  ),
  matched("AS-19", "Without a task there is no task key; the same for goal and x_meta.", [
    filesWriter,
    agentStatusCommands,
  ]),
  matched("AS-20", "Nobody writes idle, stale or missing.", [wireValidate]),
  matched("AS-21", "The first prompt of a session is its goal; later ones only change the task.", [
    opencodePlugin,
    opencodeState,
    piExtension,
    hostEventsApply,
  ]),
  matchedAndFixed(
    "AS-22",
    "A write on every change, and a heartbeat every 15 to 30 s that moves updated_at and nothing else.",
    [emittersContract, filesWriter, opencodeState, hostEventsApply],
  ),
  matched("AS-23", "last_activity_at moves with real activity only.", [
    emittersContract,
    filesWriter,
    opencodeState,
    piExtension,
    hostEventsApply,
    hostEventsEvidence,
  ]),
  matched("AS-24", "completed and failed do not outlive the turn.", [
    opencodePlugin,
    opencodeState,
    piExtension,
    hostEventsApply,
  ]),
  matched("AS-25", "The tmux keys come together or not at all.", [
    filesWriter,
    piExtension,
    wireText,
  ]),
  matched(
    "AS-26",
    "At a clean end the heartbeat stops first, then the file goes or says stopped.",
    [emittersContract, filesWriter, e2eStatusLibrary],
  ),
  fixed("AS-27", "An emitter never throws into its host.", [
    filesWriter,
    opencodePlugin,
    piExtension,
    writerKeeper,
    e2eStatusLibrary,
  ]),
  fixed("AS-28", "An emitter leaves out a part that is invalid and writes the rest.", [
    filesWriter,
    opencodePlugin,
    piExtension,
    emittersSnapshot,
  ]),
  matched(
    "AS-29",
    "Validation has one order and one wording; validate prints a line for each error, a warning joins them by semicolons.",
    [wireTimestamp, wireValidate, agentStatusVectors],
  ),
  matched(
    "AS-30",
    "Null is missing where something is required, absent for the four parts and the task's state, and wrong elsewhere.",
    [wireState, wireValidate],
  ),
  fixed("AS-31", "An empty runtime is invalid, and so is a process number that is true.", [
    wireValidate,
  ]),
  matched("AS-32", "Unknown fields are accepted at every level.", [wireValidate]),
  matched("AS-33", "States are spelled in one way.", [wireValidate]),
  matched("AS-34", "Of a name that comes twice the last one counts.", [wireRead]),
  matched(
    "AS-35",
    "A byte order mark, nothing at all, a trailing comma, text behind the value, a comment, single quotes and raw control characters are no JSON; halves of characters as escapes are.",
    [wireRead],
  ),
  matchedAndFixed(
    "AS-36",
    "A directory that is missing, empty or a file has no records and no warning; one that cannot be read has a warning.",
    [filesRead, agentStatusCommands],
  ),
  matched("AS-37", "Files are visited, and warned of, in the order of their paths.", [
    filesRead,
    agentStatusVectors,
  ]),
  matched("AS-38", "What is no JSON is skipped with a warning.", [filesRead, agentStatusVectors]),
  matched("AS-39", "What is no record is skipped with a warning that has all errors.", [
    filesRead,
    wireRead,
    agentStatusVectors,
  ]),
  matched("AS-40", "A warning about JSON says what and where, and nothing of the file.", [
    wireRead,
  ]),
  fixed(
    "AS-41",
    "What cannot be read as a file is skipped with a warning and its reason, and never affects another.",
    [filesRead, filesWatch, wireRead, agentStatusCommands, agentStatusVectors],
  ),
  fixed("AS-42", "What vanishes between the scan and the read is skipped silently.", [
    filesRead,
    filesWatch,
  ]),
  matchedAndFixed(
    "AS-43",
    "Links to regular files are followed; opened without blocking, and looked at before reading.",
    [filesRead],
  ),
  fixed("AS-44", "A file has at most 1 MiB, which can be configured, and 500 levels.", [
    agentStatusCommands,
    filesRead,
    wireRead,
    agentStatusVectors,
  ]),
  matched("AS-45", "Reading writes and removes nothing.", [filesRead, agentStatusCommands]),
  matched("AS-46", "An agent that ended may have removed its file, or left it as stopped.", [
    agentStatusLooks,
  ]),
  matched("AS-47", "Text is UTF-8, whatever the locale.", [filesRead, wireRead]),
  matched(
    "AS-48",
    "Older than the bound, and not just as old, is stale; that beats everything else.",
    [filesWatch, wireState, agentStatusVectors],
  ),
  matched("AS-49", "Running without a task, or with an empty one, is idle.", [
    wireState,
    agentStatusVectors,
  ]),
  matched("AS-50", "The task's state counts whatever the lifecycle says.", [
    wireState,
    agentStatusVectors,
  ]),
  matched("AS-51", "Otherwise the lifecycle is the state.", [wireState, agentStatusVectors]),
  matched("AS-52", "What was written in the future is never stale.", [
    wireState,
    agentStatusVectors,
  ]),
  matchedAndAdded("AS-53", "missing is for a reader who expected a file; list --expect does.", [
    agentStatusCommands,
  ]),
  matched(
    "AS-54",
    "Files load the newest first, those of one time by name; prune prints in this order.",
    [filesPrune, filesRead, wireOrder],
  ),
  matched(
    "AS-55",
    "Shown first are those at something, by id; then the quiet ones, the last active first; ids by code point.",
    [wireOrder, agentStatusVectors],
  ),
  matched("AS-56", "The title has the host's name and the number of agents.", [
    agentStatusTable,
    agentStatusLooks,
  ]),
  matched("AS-57", "The columns are TASK, AGENT ID, NAME, LIFECYCLE, STATE, UPDATED.", [
    agentStatusTable,
    agentStatusLooks,
  ]),
  matched(
    "AS-58",
    "The task's cell has the goal, the workspace and the task, a line each, and no tabs.",
    [agentStatusLooks],
  ),
  matched("AS-59", "Lifecycles and states have their icons and colours.", [agentStatusLooks]),
  matchedAndFixed(
    "AS-60",
    "Ages are cut off, in the largest unit that fits; what lies ahead is never a negative number.",
    [wireText, agentStatusVectors],
  ),
  matchedAndFixed(
    "AS-61",
    "Colour on a terminal only, unless a flag says otherwise; with --color there really is some.",
    [agentStatusTable, agentStatusCommands, agentStatusLooks, agentStatusTerminal],
  ),
  fixed("AS-62", "NO_COLOR is honoured, and --no-color prints no escape sequence at all.", [
    agentStatusCommands,
    agentStatusTerminal,
  ]),
  matchedAndFixed(
    "AS-63",
    "The table has the terminal's width, or COLUMNS; STATE and UPDATED are never cut off.",
    [agentStatusTable, agentStatusCommands, agentStatusTerminal],
  ),
  fixed("AS-64", "Text from files is shown and never obeyed.", [wireText, agentStatusVectors]),
  matched("AS-65", "Pruned is what is older than the bound and stopped or stale.", [
    filesPrune,
    agentStatusVectors,
    interopAgentStatus,
  ]),
  matched("AS-66", "With a huge --stale-after only stopped ones go.", [
    filesPrune,
    interopAgentStatus,
  ]),
  fixed("AS-67", "--keep-stopped keeps all that are stopped.", [filesPrune]),
  matched("AS-68", "A removed path a line, in the order of loading; nothing to do is no error.", [
    filesPrune,
    agentStatusCommands,
    agentStatusVectors,
    interopAgentStatus,
  ]),
  matchedAndAdded("AS-69", "Invalid files and leftovers of writers stay, unless asked for.", [
    filesPrune,
  ]),
  matched("AS-70", "Of a symlink the link goes; a file that is gone already counts as removed.", [
    filesPrune,
  ]),
  fixed("AS-71", "A file that has changed since it was judged stays.", [filesPrune]),
  matched(
    "AS-72",
    "0 for success, 1 for no, 2 for a wrong use, which is told on stderr with the usage and the command's name.",
    [agentStatusParse, agentStatusVectors, interopAgentStatus],
  ),
  matchedAndAdded("AS-73", "A subcommand is required; help goes to stdout; --version is ours.", [
    agentStatusParse,
    agentStatusCommands,
    agentStatusVectors,
  ]),
  matched(
    "AS-74",
    "Options as --opt value, --opt=value or an unambiguous beginning; the last one counts; -- ends them; all after the subcommand.",
    [agentStatusParse, agentStatusVectors, interopAgentStatus],
  ),
  added("AS-75", "No new option makes a beginning of an old one ambiguous.", [agentStatusParse]),
  matched("AS-76", "Numbers are decimal integers with an optional sign; the interval is a float.", [
    agentStatusParse,
    interopAgentStatus,
  ]),
  fixed("AS-77", "Failures are one line and 1; a closed pipe is a quiet 0.", [agentStatusCommands]),
  matched("AS-78", "emit, get, validate and prune need nothing that draws tables.", [
    agentStatusBundle,
  ]),
  matched("AS-79", "One file for each root session, process or instance, as the host has it.", [
    opencodePlugin,
    piExtension,
    hostEventsApply,
    writerKeeper,
  ]),
  matched("AS-80", "Subagents have no file of their own.", [
    opencodeState,
    piExtension,
    hostEventsApply,
  ]),
  matched("AS-81", "Starting twice makes no second file, and overwrites nobody's.", [
    opencodePlugin,
    piExtension,
    hostEventsApply,
    writerKeeper,
  ]),
  matched(
    "AS-82",
    "A writer that comes back after a crash has the same id, after a clean end a new one.",
    [writerKeeper],
  ),
  matched("AS-83", "Waiting for a person is input-required, from the question to its answer.", [
    opencodePlugin,
    opencodeState,
    piExtension,
    hostEventsApply,
  ]),
  matched(
    "AS-84",
    "The end of a turn removes the task, unless a question, background work or open todos remain.",
    [opencodePlugin, opencodeState, piExtension, hostEventsApply],
  ),
  matched(
    "AS-85",
    "A goal survives resuming and compaction, not clearing; without a stored one, resuming seeds none.",
    [opencodePlugin, opencodeState, piExtension, hostEventsApply],
  ),
  matchedAndFixed(
    "AS-86",
    "A summary is one line of at most 120 code points, without halves of characters or controls.",
    [filesWriter, opencodeSignals, piExtension, wireText],
  ),
  matchedAndFixed(
    "AS-87",
    "A hook exits with 0 and prints nothing, but {} for Stop, whatever comes in.",
    [e2eHooks],
  ),
  matched("AS-88", "When the host is dead its file goes.", [writerKeeper]),
  matched("AS-89", "Codex' variables win over Claude Code's.", [hostEventsQuestions]),
  matched(
    "AS-90",
    "Nothing runs before there is a session, OpenCode's process snapshot excepted.",
    [opencodePlugin, piExtension],
  ),
  matched("AS-91", "Emitters add no tools for the model and no MCP server.", [
    opencodePlugin,
    piExtension,
  ]),
  fixed("AS-92", "The task's id is kept for the whole turn.", [hostEventsApply]),
  fixed(
    "AS-93",
    "OpenCode: a child cannot take over its parent's file; going back attaches again; deleting clears.",
    [opencodeState],
  ),
  added("AS-94", "Of two emitters for one session the later one stands down.", [
    opencodePlugin,
    piExtension,
    writerKeeper,
  ]),
  matchedAndFixed(
    "AS-95",
    "The directory holds snapshots and short-lived temporary files only; queues are private and swept.",
    [writerQueue, writerKeeper, e2eHooks],
  ),
  fixed("AS-96", "Prompts leave the machine only if the user has said so.", [piExtension]),
];

export const vectors: readonly Vector[] = [
  {
    id: "TV-1",
    about: "emit makes its directories and prints the path; the file has one form",
    provenBy: [filesWrite, wirePrint, agentStatusVectors],
  },
  { id: "TV-2", about: "emit forgets what was there", provenBy: [filesWrite, agentStatusVectors] },
  {
    id: "TV-3",
    about: "--meta splits at the first equals sign, and the last one counts",
    provenBy: [agentStatusVectors],
  },
  { id: "TV-4", about: "a goal with a summary only is refused", provenBy: [agentStatusVectors] },
  {
    id: "TV-5",
    about: "ids with slashes are refused",
    provenBy: [filesWrite, wireText, agentStatusVectors],
  },
  {
    id: "TV-6",
    about: "the id .. is a file in the directory",
    provenBy: [filesWrite, wireText, agentStatusVectors],
  },
  {
    id: "TV-7",
    about: "an empty task summary is a task",
    provenBy: [wireState, agentStatusVectors],
  },
  { id: "TV-8", about: "what is not ASCII is escaped", provenBy: [wirePrint, agentStatusVectors] },
  { id: "TV-9", about: "a list is no record", provenBy: [wireValidate, agentStatusVectors] },
  {
    id: "TV-10",
    about: "an empty object lacks four things",
    provenBy: [wireValidate, agentStatusVectors],
  },
  {
    id: "TV-11",
    about: "an empty runtime lacks two",
    provenBy: [wireValidate, agentStatusVectors],
  },
  {
    id: "TV-12",
    about: "the errors of a task have one order",
    provenBy: [wireValidate, agentStatusVectors],
  },
  {
    id: "TV-13",
    about: "a time without a zone",
    provenBy: [wireTimestamp, wireValidate, agentStatusVectors],
  },
  {
    id: "TV-14",
    about: "a last activity that is null",
    provenBy: [wireValidate, agentStatusVectors],
  },
  {
    id: "TV-15",
    about: "basic, comma and week dates",
    provenBy: [wireTimestamp, agentStatusVectors],
  },
  { id: "TV-16", about: "no such moment", provenBy: [wireTimestamp, agentStatusVectors] },
  { id: "TV-17", about: "beyond the year 9999", provenBy: [wireTimestamp, agentStatusVectors] },
  { id: "TV-18", about: "a task that is null is idle", provenBy: [wireState, agentStatusVectors] },
  {
    id: "TV-19",
    about: "stale after 60.000 s, not at it",
    provenBy: [wireState, agentStatusVectors],
  },
  { id: "TV-20", about: "stopped but working", provenBy: [wireState, agentStatusVectors] },
  { id: "TV-21", about: "written in 2999", provenBy: [wireState, agentStatusVectors] },
  {
    id: "TV-22",
    about: "a bad file and a list beside a good one",
    provenBy: [filesRead, agentStatusVectors],
  },
  {
    id: "TV-23",
    about: "a byte that is no UTF-8",
    provenBy: [filesRead, wireRead, agentStatusVectors],
  },
  {
    id: "TV-24",
    about: "a directory, a dangling link, a FIFO, no permission and 5 MB beside a good one",
    provenBy: [filesRead, agentStatusCommands, agentStatusVectors],
  },
  { id: "TV-25", about: "which names are read", provenBy: [filesRead, agentStatusVectors] },
  {
    id: "TV-26",
    about: "a link is read through and replaced",
    provenBy: [filesWrite, agentStatusVectors],
  },
  { id: "TV-27", about: "markup is shown as it is", provenBy: [wireText, agentStatusVectors] },
  {
    id: "TV-28",
    about: "escape sequences do not reach the terminal",
    provenBy: [wireText, agentStatusVectors],
  },
  {
    id: "TV-29",
    about: "names that look like numbers, and __proto__",
    provenBy: [wirePrint, agentStatusVectors],
  },
  { id: "TV-30", about: "names beyond 16 bits", provenBy: [wirePrint, agentStatusVectors] },
  {
    id: "TV-31",
    about: "what prune removes, in which order",
    provenBy: [filesPrune, agentStatusVectors],
  },
  { id: "TV-32", about: "--keep-stopped", provenBy: [filesPrune, agentStatusVectors] },
  { id: "TV-33", about: "a huge --stale-after", provenBy: [filesPrune, agentStatusVectors] },
  { id: "TV-34", about: "the order of rows", provenBy: [wireOrder, agentStatusVectors] },
  { id: "TV-35", about: "ages", provenBy: [wireText, agentStatusVectors] },
  { id: "TV-36", about: "watch in a pipe", provenBy: [agentStatusWatch] },
  { id: "TV-37", about: "wrong use", provenBy: [agentStatusVectors] },
  { id: "TV-38", about: "beginnings of options", provenBy: [agentStatusVectors] },
  { id: "TV-39", about: "tmux", provenBy: [piExtension, wireText] },
  { id: "TV-40", about: "a turn of Claude Code", provenBy: [hostEventsApply] },
  { id: "TV-41", about: "a question beats background work", provenBy: [hostEventsApply] },
  // Where data is kept is each emitter's own (D-10): ours has none in the plugin's directory.
  { id: "TV-42", about: "Codex sets all four variables", provenBy: [hostEventsQuestions] },
  { id: "TV-43", about: "Pi's blank first prompt", provenBy: [piExtension] },
  { id: "TV-44", about: "OpenCode's question outlives being idle", provenBy: [opencodeState] },
];

function matched(id: string, rule: string, provenBy: readonly string[]): Rule {
  return { id, marks: ["reference"], rule, provenBy };
}

function fixed(id: string, rule: string, provenBy: readonly string[]): Rule {
  return { id, marks: ["fix"], rule, provenBy };
}

function added(id: string, rule: string, provenBy: readonly string[]): Rule {
  return { id, marks: ["new"], rule, provenBy };
}

function matchedAndFixed(id: string, rule: string, provenBy: readonly string[]): Rule {
  return { id, marks: ["reference", "fix"], rule, provenBy };
}

function matchedAndAdded(id: string, rule: string, provenBy: readonly string[]): Rule {
  return { id, marks: ["reference", "new"], rule, provenBy };
}
