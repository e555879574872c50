/**
 * The AgentKeeper contract as a list: every rule that it marks as known, tested or our choice, in few
 * words, and the tests that prove it. A test cites a rule by its id in square brackets, in its name or
 * its first line; `manifest.test.ts` holds this list against what the tests cite.
 */
export type Rule = {
  readonly id: string;
  /** Of the contract. */
  readonly section: string;
  /** How sure we are: `known` from the peer's wire, SDK or documents; `tested` by the peer; or ours. */
  readonly mark: "known" | "tested" | "our choice";
  readonly rule: string;
  /** Files whose tests cite the id, or `file: name` of a test that proves it without citing it. */
  readonly provenBy: readonly string[];
  /** What is instead, where we do not meet the rule. Its test fails the day we do. */
  readonly notMet?: string;
};

const address = "src/cli/address.test.ts";
const help = "src/cli/help.test.ts";
const executables = "src/cli/main.test.ts";
const parse = "src/cli/parse.test.ts";
const decode = "src/doors/grpc/decode.test.ts";
const door = "src/doors/grpc/door.test.ts";
const extension = "src/doors/grpc/ext/methods.test.ts";
const extensionWatch = "src/doors/grpc/ext/watch.test.ts";
const firstCalls = "src/doors/grpc/first-calls.test.ts";
const health = "src/doors/grpc/health.test.ts";
const reflection = "src/doors/grpc/reflection.test.ts";
const server = "src/doors/grpc/server.test.ts";
const watch = "src/doors/grpc/watch.test.ts";
const listen = "src/transport/listen.test.ts";
const strict = "src/wire/agentkeeper/strict.test.ts";
const vectors = "src/wire/agentkeeper/vectors.test.ts";
const descriptors = "src/wire/descriptors.test.ts";
const badInput = "test/conformance/bad-input.test.ts";
const restart = "test/conformance/restart.test.ts";
const peer = "test/interop/agentkeeper-sdk.test.ts";
const protobuf = "test/interop/protobuf.test.ts";
const pythonElections = "test/interop/python/test_elections.py";
const pythonLeases = "test/interop/python/test_leases.py";
const pythonLife = "test/interop/python/test_life.py";
const pythonPolicies = "test/interop/python/test_policies.py";
const pythonProcess = "test/interop/python/test_process.py";
const pythonTasks = "test/interop/python/test_tasks.py";

export const rules: readonly Rule[] = [
  known(
    "AK-1-1",
    "The file is proto3, package agentkeeper.v1, with its known name, imports and Go package.",
    [descriptors],
  ),
  known(
    "AK-1-2",
    "51 messages, 3 enums, 5 services, 22 methods; no oneof, optional, reserved, extension or option.",
    [descriptors],
  ),
  known(
    "AK-1-3",
    "A number that is 0 is a number that was not given: every ttl of 0 means the default.",
    [door, badInput],
  ),
  known("AK-1.1-1", "Cleartext HTTP/2 with prior knowledge, and no HTTP/1.1.", [server]),
  known(
    "AK-1.1-2",
    "The 22 methods have their paths, kinds and types; both watches stream Event itself.",
    [descriptors],
  ),
  known("AK-1.2-1", "The three enums have their values and no others.", [descriptors]),
  known("AK-1.3-1", "Every message has its fields, by number, name and type.", [descriptors]),
  known("AK-1.4-1", "Tokens, terms and sequence numbers keep all 64 bits.", [vectors]),
  known("AK-1.4-2", "A payload's type is type.googleapis.com/agentkeeper.v1.<Message>.", [watch]),
  known(
    "AK-1.4-3",
    "Times are valid and always set, but for those that mean “not yet” when absent.",
    [watch, pythonElections, pythonLife],
  ),
  known("AK-1.4-4", "No enum is ever sent as UNSPECIFIED.", [watch]),
  known("AK-1.4-5", "Fields that are not known are ignored.", [vectors]),
  known(
    "AK-1.4-6",
    "Capabilities are kept and returned, though the SDK neither sends nor shows them.",
    [door],
  ),
  known(
    "AK-1.4-7",
    "A connection is an HTTP/2 session: a process, not a client and not an agent.",
    [watch, pythonElections],
  ),
  known(
    "AK-1.4-8",
    "No reply is larger than the 4,194,304 bytes that the Python client takes, nor any request.",
    [decode, server, pythonTasks],
  ),
  ours("AK-1.4-9", "A connection may have at least 1,000 streams at once.", [server, pythonTasks]),
  known(
    "AK-1.4-10",
    "Every call of the SDK is served, with the values it sends when its user gives none.",
    [pythonLife, pythonTasks],
  ),
  ours(
    "AK-2.0-1",
    "All changes have one order; each is complete before its events, and those are handed out before the reply.",
    [door, watch],
  ),
  ours(
    "AK-2.0-2",
    "Events and replies go out only when the change is durable, and so do replies that may have seen it.",
    [server],
  ),
  ours(
    "AK-2.0-3",
    "INVALID_ARGUMENT comes before NOT_FOUND, and that before the states and permissions.",
    [door, badInput],
  ),
  known(
    "AK-2.0-4",
    "PERMISSION_DENIED means that the token does not match; NOT_FOUND that agent or lease is gone.",
    [door, pythonLeases, pythonLife],
  ),
  ours(
    "AK-2.0-5",
    "Whoever acts as an agent that is unknown or dead gets NOT_FOUND, in different words; GetAgent and Deregister take the dead.",
    [door, pythonLife],
  ),
  ours("AK-2.0-6a", "A required text that is empty is INVALID_ARGUMENT, and named.", [door]),
  ours("AK-2.0-6b", "Names and ids have at most 1,024 bytes of UTF-8.", [decode, badInput]),
  ours("AK-2.0-6c", "Text that is not UTF-8 and bytes that do not decode are INVALID_ARGUMENT.", [
    strict,
    badInput,
    protobuf,
  ]),
  ours("AK-2.0-6d", "Any text is a metadata key, __proto__ too.", [door, vectors]),
  ours("AK-2.0-7a", "Every ttl that fits 32 bits is taken at its word.", [door, badInput]),
  ours("AK-2.0-7b", "What time does happens at most 250 ms after it is due.", [
    pythonLeases,
    pythonLife,
    pythonTasks,
  ]),
  ours("AK-2.0-7c", "What is overdue takes effect as soon as any call touches it.", [door]),
  ours("AK-2.0-7d", "Deadlines do not follow a wall clock that is set back.", [
    "src/plane/clock.test.ts: when the wall clock is set back, time goes on",
  ]),
  known("AK-2.0-8a", "A call that is cancelled is not carried on.", [firstCalls, server]),
  known("AK-2.0-8b", "grpc-timeout is honoured.", [server]),
  known("AK-2.0-8c", "An unknown method is UNIMPLEMENTED.", [server]),
  known(
    "AK-2.0-8d",
    "A fault of ours is INTERNAL, never a hang; nothing that a caller sends leads to one.",
    [door, badInput],
  ),
  known("AK-2.0-8e", "Whoever calls while it shuts down gets UNAVAILABLE.", [
    server,
    pythonProcess,
  ]),
  known("AK-2.1-1", "Who registers is ALIVE, and agent.registered tells.", [door]),
  ours("AK-2.1-2", "Silence of ttl + 0.5 s makes an agent UNREACHABLE.", [door, pythonLife]),
  ours("AK-2.1-3", "A heartbeat brings it back, without an event among the known topics.", [
    door,
    pythonLife,
  ]),
  ours("AK-2.1-4", "Silence of 2·ttl + 0.5 s is death.", [door, pythonLife]),
  known("AK-2.1-5", "Deregister is death at once.", [door]),
  ours("AK-2.1-6", "Death is final.", [door, pythonLife]),
  ours("AK-2.1-7", "An agent with a ttl of 1 s that beats every second does not flap.", [
    pythonLife,
  ]),
  ours(
    "AK-2.1-8",
    "Nobody goes from ALIVE to DEAD by silence without agent.unreachable in between.",
    [door],
  ),
  ours(
    "AK-2.1-9",
    "A daemon that was suspended for more than 5 s gives agents the grace of a restart.",
    [door, pythonProcess],
  ),
  known(
    "AK-2.1-10",
    "Death frees leases, offices and claims, and ends waiting claims, all at once.",
    [door, pythonLife, pythonTasks],
  ),
  ours(
    "AK-2.1-11",
    "It is told as agent.died, lease.released by token, leader.changed by group, task.requeued.",
    [door],
  ),
  ours("AK-2.1-12", "Who reacts to agent.died by acquiring what the dead held succeeds.", [
    door,
    pythonLife,
  ]),
  tested("AK-2.1-13", "An id has exactly 32 characters: lower-case hex digits.", [door]),
  ours("AK-2.1-14", "An agent that gives no ttl has one of 30 s.", [door]),
  known("AK-2.1-15", "registered_at and last_heartbeat_at are the time of registration.", [door]),
  known(
    "AK-2.1-16",
    "GetAgent and Find show an agent before its registration is answered, its card unchanged.",
    [door, pythonLife],
  ),
  ours("AK-2.1-17", "Register needs a card and a name.", [door]),
  ours("AK-2.1-18", "Only Heartbeat keeps an agent alive.", [door, pythonLife]),
  ours("AK-2.1-19", "The heartbeat of an unknown or dead agent is NOT_FOUND.", [door]),
  ours("AK-2.1-20", "Leaving twice is no error and no second event.", [door, pythonLife]),
  ours("AK-2.1-21", "Deregister of an unknown agent is NOT_FOUND.", [door, pythonLife]),
  tested("AK-2.1-22", "GetAgent shows agents in any state, dead ones too.", [door]),
  ours("AK-2.1-23", "GetAgent of an agent that is unknown or forgotten is NOT_FOUND.", [
    door,
    pythonLife,
  ]),
  ours("AK-2.1-24", "Names are not unique: each Register makes an agent of its own.", [
    door,
    pythonLife,
  ]),
  ours("AK-2.1-25", "An agent that was declared dead is not revived by its heartbeats.", [
    pythonLife,
  ]),
  ours("AK-2.1-26", "The dead are kept for 24 hours, the 10,000 most recent; the living always.", [
    door,
    "src/core/registry.test.ts: when too many have died, the one that died first is forgotten",
  ]),
  known("AK-2.1-27", "Find shows only agents that are ALIVE.", [door, pythonLife]),
  tested(
    "AK-2.1-28",
    "Tools filter: every one of them, spelled exactly so; none means no filter.",
    [door],
  ),
  tested("AK-2.1-29", "A query orders and does not remove.", [door]),
  ours(
    "AK-2.1-30",
    "Equals come newest first, then by id; so does everyone when the query is blank.",
    [door],
  ),
  ours("AK-2.1-31", "Find gives 10 unless told otherwise, and 1,000 at most.", [door]),
  ours(
    "AK-2.1-32",
    "The same question gets the same order, within 20 ms for 99 of 100 among 1,000 agents.",
    [door],
  ),
  tested("AK-2.1-33", "Words in other inflections count.", [door]),
  ours("AK-2.1-34", "Name, description, tools, capabilities and metadata values are searched.", [
    door,
  ]),
  tested("AK-2.2-1", "A task has one lease, and that one holder.", [door]),
  known("AK-2.2-2", "Each acquisition raises one counter for all tasks by 1; tokens are above 0.", [
    door,
    pythonLeases,
  ]),
  ours(
    "AK-2.2-3",
    "Tokens never go back or repeat over restarts, with or without a data directory.",
    [restart, pythonProcess],
  ),
  known(
    "AK-2.2-4",
    "A lease that is free or expired is acquired, with a new token and new times.",
    [door],
  ),
  tested(
    "AK-2.2-5",
    "If another holds it: acquired = false, with the lease that is in the way, and no event.",
    [door],
  ),
  ours("AK-2.2-6", "The holder may acquire again: a new token, and the old one is dead.", [
    door,
    pythonLeases,
  ]),
  ours("AK-2.2-7", "A lease without a ttl lasts 60 s.", [door]),
  ours("AK-2.2-8", "An UNREACHABLE agent may acquire.", [door]),
  ours("AK-2.2-9", "AcquireLease needs a task and an agent that lives.", [door, pythonLeases]),
  known(
    "AK-2.2-10",
    "Renewing sets the end to now + ttl and changes nothing else; lease.renewed tells.",
    [door, pythonLeases],
  ),
  ours("AK-2.2-11", "Renewing without a ttl asks for as long as last time.", [door, pythonLeases]),
  known("AK-2.2-12", "Renewing with another token or agent, or none, is PERMISSION_DENIED.", [
    door,
    pythonLeases,
  ]),
  known("AK-2.2-13", "Renewing a lease that is gone is NOT_FOUND.", [door, pythonLeases]),
  known("AK-2.2-14", "Releasing ends the lease; lease.released tells.", [door]),
  known("AK-2.2-15", "Releasing with another token or agent is PERMISSION_DENIED.", [
    door,
    pythonLeases,
  ]),
  ours("AK-2.2-16", "Releasing a lease that is gone is NOT_FOUND.", [door, pythonLeases]),
  known("AK-2.2-17", "A lease ends at its time; lease.expired tells.", [door, pythonLeases]),
  ours("AK-2.2-18", "A lease ends with its holder; lease.released tells.", [door, pythonLeases]),
  ours("AK-2.2-19", "A lease outlasts its holder's being UNREACHABLE.", [door]),
  ours(
    "AK-2.2-20",
    "Each token that is not superseded ends once, as expired or released; one that is ends without a word.",
    [door, pythonLeases],
  ),
  ours(
    "AK-2.2-21",
    "Opening the log is an entry with the starting values: the same log gives the same tokens.",
    [restart],
  ),
  known(
    "AK-2.3-1",
    "Campaign adds a candidate at the end, once, and always answers the present state.",
    [door],
  ),
  ours(
    "AK-2.3-2",
    "Without a leader the first candidate is elected, in the next term, the first being 1.",
    [door],
  ),
  tested("AK-2.3-3", "A newcomer displaces nobody and changes no term.", [door]),
  tested("AK-2.3-4", "A leader that resigns is succeeded in the same step, in a higher term.", [
    door,
  ]),
  ours("AK-2.3-5", "A standby that resigns changes neither term nor leader.", [
    door,
    pythonElections,
  ]),
  ours("AK-2.3-6", "Resigning without being a candidate is no error.", [door, pythonElections]),
  known("AK-2.3-7", "A dead leader is succeeded at once; an UNREACHABLE one stays.", [
    door,
    pythonElections,
  ]),
  ours(
    "AK-2.3-8",
    "The successor is the earliest ALIVE candidate, else the earliest UNREACHABLE one; who returns stands at the end.",
    [door, pythonElections],
  ),
  ours("AK-2.3-9", "When nobody is left: no leader, the next term, no elected_at, and an event.", [
    door,
    pythonElections,
  ]),
  ours("AK-2.3-10", "Terms rise by 1 with each leader.changed.", [door, pythonElections]),
  ours("AK-2.3-11", "Elections need a group and an agent; Campaign one that lives.", [
    door,
    pythonElections,
  ]),
  ours("AK-2.3-12", "A group is never forgotten, nor is its term.", [door, pythonElections]),
  ours(
    "AK-2.4-1",
    "* stands for any run of characters, anywhere, repeatedly; nothing else is special.",
    [pythonPolicies],
  ),
  ours("AK-2.4-2", "In a question * is a character.", [pythonPolicies]),
  ours("AK-2.4-3", "Matching takes time in proportion to the text.", [pythonPolicies]),
  tested("AK-2.4-4", "Deny beats allow, and nothing means no.", [door, pythonPolicies]),
  tested("AK-2.4-5", "The reasons are worded exactly so.", [door, pythonPolicies]),
  ours("AK-2.4-6", "Of several, the policy with the smallest id is named.", [door, pythonPolicies]),
  known(
    "AK-2.4-7",
    "SetPolicy creates or replaces all of a policy, with effect for the next check.",
    [door, pythonPolicies],
  ),
  ours("AK-2.4-8", "A policy needs all its fields, and an effect.", [door, pythonPolicies]),
  ours("AK-2.4-9", "DeletePolicy forgives an unknown id, but not an empty one.", [
    door,
    pythonPolicies,
  ]),
  tested("AK-2.4-10", "ListPolicies filters by the text of the subject, and sorts by id.", [
    door,
    pythonPolicies,
  ]),
  ours("AK-2.4-11", "CheckPolicy compares empty fields like others, and does not fail.", [door]),
  ours("AK-2.4-12", "Policies advise; no call is refused because of them.", [door]),
  known("AK-2.5-1", "Tasks are PENDING, CLAIMED, then COMPLETED, PENDING again, or DEAD.", [
    door,
    pythonTasks,
  ]),
  ours("AK-2.5-2", "No task is ever FAILED.", [door, pythonTasks]),
  ours(
    "AK-2.5-3",
    "CreateTask answers a PENDING task with an id of 32 hex digits, even if it is claimed at once.",
    [door, pythonTasks],
  ),
  ours(
    "AK-2.5-4",
    "A task's ttl is the length of a claim, 60 s if not given; in the queue it waits for ever.",
    [door, pythonTasks],
  ),
  ours("AK-2.5-5", "A task needs a type, and its input has at most 2,000,000 bytes.", [
    decode,
    pythonTasks,
  ]),
  known("AK-2.5-6", "ClaimTask gives a task whose tools the agent has, all of them.", [
    door,
    pythonTasks,
  ]),
  known("AK-2.5-7", "Without one it waits until there is.", [door, pythonTasks]),
  ours("AK-2.5-8", "A claim sets state, claimant and time.", [door, pythonTasks]),
  ours("AK-2.5-9", "The oldest task first, to who waited longest, and to nobody else.", [
    door,
    pythonTasks,
  ]),
  ours(
    "AK-2.5-10",
    "ClaimTask needs an agent that lives, all the time it waits; shutting down ends it with UNAVAILABLE.",
    [door, server, pythonProcess, pythonTasks],
  ),
  ours("AK-2.5-11", "CompleteTask stores the output and the time.", [door, pythonTasks]),
  ours("AK-2.5-12", "Completing again with the same output is no error.", [door, pythonTasks]),
  ours(
    "AK-2.5-13",
    "CompleteTask is refused as NOT_FOUND, FAILED_PRECONDITION, PERMISSION_DENIED or for its size.",
    [decode, door, pythonTasks],
  ),
  known(
    "AK-2.5-14",
    "FailTask gives the task back to the end of the queue, max_retries times, then it is DEAD.",
    [door, pythonTasks],
  ),
  ours("AK-2.5-15", "FailTask is refused as CompleteTask is.", [door, pythonTasks]),
  known("AK-2.5-16", "GetTask shows a task in any state.", [decode, door, pythonTasks]),
  ours("AK-2.5-17", "ListTasks shows all or those of one state, by creation and id.", [
    door,
    pythonTasks,
  ]),
  ours("AK-2.5-18", "A list of more than 4,000,000 bytes is RESOURCE_EXHAUSTED.", [
    decode,
    pythonTasks,
  ]),
  ours(
    "AK-2.5-19",
    "Going back clears the claim and keeps the reason; final states keep the claimant.",
    [door, pythonTasks],
  ),
  ours(
    "AK-2.5-20",
    "A claim that expires or loses its claimant gives the task back, and counts as no retry.",
    [door, pythonTasks],
  ),
  ours("AK-2.5-21", "How often a task was handed out is told in an extension field.", [door]),
  ours("AK-2.5-22", "A waiting claim whose caller is gone is forgotten at once.", [
    server,
    pythonTasks,
  ]),
  ours("AK-2.5-23", "A task claimed for a caller who is gone goes back to the head of the queue.", [
    server,
  ]),
  ours("AK-2.5-24", "An agent may hold several claims and wait for several.", [door, pythonTasks]),
  ours("AK-2.5-25", "An UNREACHABLE agent's claims wait, and get nothing until it is heard of.", [
    door,
    pythonTasks,
  ]),
  ours("AK-2.5-26", "A claim is no lease.", [door, pythonTasks]),
  ours("AK-2.5-27", "Ended tasks are kept for 24 hours, 10,000 at most; PENDING ones always.", [
    door,
    "src/core/tasks.test.ts: when too many have ended, the one that ended first is forgotten",
  ]),
  ours("AK-2.5-28", "The two bounds on size are flags.", [executables]),
  known("AK-2.6.1-1", "The eight known topics carry their payloads.", [watch]),
  ours(
    "AK-2.6.1-2",
    "task.* carries the task without input and output; the SDK shows it as None.",
    [watch, pythonTasks],
  ),
  known("AK-2.6.2-1", "A payload is what is true right after the change.", [watch]),
  known("AK-2.6.2-2", "occurred_at is the time of the change.", [watch]),
  ours("AK-2.6.2-3", "Sequence numbers rise by 1 for each event, over all topics, from above 0.", [
    watch,
    pythonLife,
  ]),
  ours(
    "AK-2.6.2-4",
    "They go on after a restart; without a data directory they start at the wall clock in microseconds.",
    [watch, restart, pythonProcess],
  ),
  known(
    "AK-2.6.3-1",
    "Topics are prefixes; an event comes once; none, or an empty one, means all.",
    [watch, pythonLife],
  ),
  ours("AK-2.6.3-2", "Events come in order, within 50 ms.", [watch, pythonLife]),
  known("AK-2.6.3-3", "A watch has no history.", [watch]),
  ours("AK-2.6.3-4", "Only the client ends a watch, or a shutdown with UNAVAILABLE.", [
    server,
    watch,
    pythonProcess,
  ]),
  ours(
    "AK-2.6.3-5",
    "Who is 10,000 events or 16 MiB behind is ended with RESOURCE_EXHAUSTED; nothing is left out silently.",
    [watch],
  ),
  ours("AK-2.6.3-6", "A watch that is cancelled, however early, leaves nothing behind.", [watch]),
  ours("AK-2.6.3-7", "Streams may be silent for days, and PINGs are answered without ration.", [
    server,
    watch,
  ]),
  ours("AK-2.6.4-1", "A watch is registered first and sends its headers at once.", [watch]),
  known("AK-2.6.4-2", "The calls of a connection are handled in the order of their arrival.", [
    firstCalls,
    server,
  ]),
  ours(
    "AK-2.6.4-3",
    "Calls that publish within 25 ms of a connection's first call wait 25 ms, in order.",
    [firstCalls, peer],
  ),
  ours("AK-2.6.4-4", "Watches, reads and heartbeats do not wait.", [firstCalls]),
  ours(
    "AK-2.6.5-1",
    "Under agent., lease. and leader. there are only the eight topics; others begin with task. or ext.",
    [watch, pythonLife, pythonTasks],
  ),
  tested("AK-2.6.6-1", "WatchElection shows the changes of one group, as they are on the bus.", [
    watch,
    pythonElections,
  ]),
  tested("AK-2.6.6-2", "A group that nobody knows yet can be watched.", [watch]),
  ours("AK-2.6.6-3", "Watching no group is INVALID_ARGUMENT.", [door]),
  ours("AK-2.6.6-4", "The present state is not told first.", [watch, pythonElections]),
  ours(
    "AK-2.6.6-5",
    "But a change between a connection's Campaign and its WatchElection is, once, and only if it was missed.",
    [watch, pythonElections],
  ),
  known("AK-3.1-1", "--addr (:7070), --data-dir (none) and --metrics-addr (:9090).", [
    help,
    pythonProcess,
  ]),
  ours("AK-3.1-2", "One dash or two, = or a space.", [executables, parse]),
  ours("AK-3.1-3", "host:port, :port, [v6]:port and unix:/path.", [address, listen, pythonProcess]),
  ours("AK-3.1-4", "Port 0 is any free one, and is printed.", [executables, listen]),
  ours("AK-3.1-5", "An empty --metrics-addr means no HTTP.", [parse]),
  ours("AK-3.1-6", "--help and --version end with 0, unknown flags with 2.", [executables, parse]),
  ours("AK-3.1-7", "Other failures to start end with 1, quickly, with one line.", [
    executables,
    pythonProcess,
  ]),
  known("AK-3.1-8", "The data directory is made with its parents.", [executables, pythonProcess]),
  ours(
    "AK-3.1-9",
    "A wildcard address means all interfaces.",
    [address, executables],
    "Nobody is authenticated yet, so it means this machine; --insecure gives all interfaces.",
  ),
  known("AK-3.1-10", "Who uses localhost reaches a server that was told 0.0.0.0.", [executables]),
  ours("AK-3.1-11", "Where IPv6 is off, :port falls back to 0.0.0.0.", [address, listen]),
  known(
    "AK-3.2-1",
    "The SDK finds it by AGENTKEEPER_BIN and starts it with --addr=0.0.0.0:PORT and --data-dir.",
    [pythonProcess],
  ),
  known(
    "AK-3.2-2",
    "It is one executable file, and the process that is started is the one that serves.",
    [executables, pythonProcess],
  ),
  known("AK-3.2-3", "Who is accepted is served, with everything restored, well within 10 s.", [
    pythonProcess,
  ]),
  known("AK-3.2-4", "Connections that close without a word of HTTP/2 are no error.", [
    server,
    pythonProcess,
  ]),
  known("AK-3.2-5", "It reads no input, and survives when nobody reads its output.", [executables]),
  ours("AK-3.2-6", "SIGTERM and SIGINT end it with 0 within 3 s, whoever is connected.", [
    server,
    pythonProcess,
  ]),
  ours("AK-3.2-7", "A second signal ends it at once.", [pythonProcess]),
  tested("AK-3.2-8", "Then the port refuses, and can be bound again at once.", [pythonProcess]),
  known("AK-3.2-9", "Nothing depends on a clean end.", [pythonProcess]),
  tested("AK-3.3-1", "A busy default metrics address is one warning.", [pythonProcess]),
  known("AK-3.3-2", "gRPC may have port 9090.", [pythonProcess]),
  ours("AK-3.3-3", "A busy metrics address that was asked for ends it with 1.", [
    executables,
    pythonProcess,
  ]),
  known("AK-3.4-1", "/ is a live page that loads nothing from elsewhere.", [
    "src/doors/http/page.test.ts: every view is the same document, and may load nothing but files of ours",
    "test/e2e/page.test.ts: agents appear, wait for a person and die, without a reload",
    "test/e2e/page.test.ts: hostile texts stay text and stay in their place",
  ]),
  known("AK-3.4-2", "/healthz says ok.", [
    pythonProcess,
    "src/doors/http/door.test.ts: health is two letters of plain text",
  ]),
  known("AK-3.4-3", "/metrics speaks the text format of Prometheus.", [pythonProcess]),
  ours("AK-3.4-4", "Other paths are 404, other methods 405.", [
    pythonProcess,
    "src/doors/http/door.test.ts: unknown paths are not found, other methods are told which to use",
  ]),
  known(
    "AK-3.5-1",
    "agentkeeper_agents_alive (UNREACHABLE too), agentkeeper_leases_active and agentkeeper_rpc_total.",
    [
      pythonProcess,
      "src/doors/http/door.test.ts: metrics show all methods from the start, and the state as it is",
    ],
  ),
  ours(
    "AK-3.5-2",
    "Calls are counted by path when they begin, streams too; all 22 are there from the start.",
    [door, pythonProcess],
  ),
  known("AK-4-1", "Without a data directory nothing survives but the growth of numbers.", [
    pythonProcess,
  ]),
  ours("AK-4-2", "With one, agents, leases, elections, policies, tasks and numbers survive.", [
    restart,
    pythonProcess,
  ]),
  ours("AK-4-3", "Events are kept for 30 days or 4 GB.", [
    restart,
    "src/plane/retention.test.ts: a log that grows too large is cut to its size, with snapshots as often as that takes",
    "src/cli/keep.test.ts: history is kept for as many days and bytes as was typed, else for 30 and 4 GB",
  ]),
  ours(
    "AK-4-4",
    "A kill at any instant loses nothing that was acknowledged, and prevents no start.",
    [
      pythonProcess,
      "src/log/sqlite.test.ts: wherever the write-ahead log is cut, the log opens to a prefix of what was written",
    ],
  ),
  ours("AK-4-5", "A torn last record is dropped with a warning.", [
    "src/log/sqlite.test.ts: an append that was never finished is dropped, with a warning",
  ]),
  ours("AK-4-6", "The format has a version; a later one is refused.", [
    "src/log/sqlite.test.ts: a log of a later release is refused, and is as it was for that release",
  ]),
  ours("AK-4-7", "Two daemons cannot share a directory.", [executables, pythonProcess]),
  ours(
    "AK-4-8",
    "Agents live on over a restart; their clocks start anew, and nobody dies within 150 s.",
    [restart, pythonProcess],
  ),
  ours("AK-4-9", "What expired while it was down ends right after the start, with its events.", [
    restart,
  ]),
  known("AK-4-10", "Watches and waiting claims are not kept.", [restart]),
  ours("AK-4-11", "In memory, the last 100,000 events are kept.", [
    "src/log/memory.test.ts: a log in memory forgets what is older than its bound, and says from where on it knows",
  ]),
  known("AK-5.1-1", "The peer's 23 tests pass, twice in a row on one daemon.", [peer]),
  known("AK-5.1-2", "Each of its watch tests passes alone.", [peer]),
  tested("AK-5.2-1", "The peer's test_register_returns_agent_id passes.", [peer]),
  tested("AK-5.2-2", "The peer's test_get_agent_alive passes.", [peer]),
  tested("AK-5.2-3", "The peer's test_deregister_marks_dead passes.", [peer]),
  tested("AK-5.2-4", "The peer's test_find_returns_alive_agents passes.", [peer]),
  tested("AK-5.2-5", "The peer's test_acquire_lease_returns_handle passes.", [peer]),
  tested("AK-5.2-6", "The peer's test_acquire_lease_exclusive passes.", [peer]),
  tested("AK-5.2-7", "The peer's test_lease_context_manager_releases passes.", [peer]),
  tested("AK-5.2-8", "The peer's test_campaign_returns_leader passes.", [peer]),
  tested("AK-5.2-9", "The peer's test_resign_triggers_reelection passes.", [peer]),
  tested("AK-5.2-10", "The peer's test_set_and_check_allow_policy passes.", [peer]),
  tested("AK-5.2-11", "The peer's test_deny_overrides_allow passes.", [peer]),
  tested("AK-5.2-12", "The peer's test_default_deny passes.", [peer]),
  tested("AK-5.2-13", "The peer's test_list_policies_prefix_filter passes.", [peer]),
  tested("AK-5.2-14", "The peer's test_watch_receives_agent_registered passes.", [peer]),
  tested("AK-5.2-15", "The peer's test_watch_receives_agent_died passes.", [peer]),
  tested("AK-5.2-16", "The peer's test_watch_empty_topics_receives_all passes.", [peer]),
  tested("AK-5.2-17", "The peer's test_watch_election_receives_leader_changed passes.", [peer]),
  tested("AK-5.2-18", "The peer's test_watch_subscription_cancel passes.", [peer]),
  tested("AK-5.3-1", "The peer's test_embedded_starts_and_stops passes.", [peer]),
  tested("AK-5.3-2", "The peer's test_embedded_context_manager passes.", [peer]),
  tested("AK-5.3-3", "The peer's test_embedded_uses_free_port passes.", [peer]),
  tested("AK-5.3-4", "The peer's test_embedded_explicit_port passes.", [peer]),
  tested("AK-5.3-5", "The peer's test_embedded_daemon_stops_on_close passes.", [peer]),
  known("AK-6-1", "No field is added to the known messages below number 1,000.", [descriptors]),
  known("AK-6-2", "No value is added to the three enums.", [descriptors]),
  known("AK-6-3", "No topic is added under the three known first words.", [watch]),
  known("AK-6-4", "A client may come through a Unix socket.", [pythonProcess]),
  ours("AK-6-5", "Standard health and reflection are served.", [health, reflection]),
  ours("AK-6-6", "A watch can go on after any sequence, and is told where that is too far back.", [
    extensionWatch,
  ]),
  ours("AK-6-7", "A gap on a filtered watch can be seen.", [extensionWatch]),
  ours("AK-6-8", "Register, CreateTask and AcquireLease can be asked for again with a key.", [
    extension,
  ]),
  ours("AK-6-9", "A claim waits as long as is asked for, and for the types that are.", [extension]),
  ours("AK-6-10", "A claim has a token, and can be extended; a late end is refused.", [extension]),
  ours("AK-6-11", "Tasks have priority, delay, a delivery limit, and can be cancelled.", [
    extension,
  ]),
  ours("AK-6-12", "Agents, leases, elections and tasks can be listed in pages.", [extension]),
  ours("AK-6-13", "Whether a token is the newest can be asked.", [extension]),
  ours("AK-6-14", "Whoever finds a lease held can stand in line, and is served in order.", [
    extension,
  ]),
  ours("AK-6-15", "A heartbeat tells the agent's state and its deadlines.", [extension]),
  ours("AK-6-16", "Version and abilities can be asked for.", [extension]),
  known("AK-A-1", "Fields may come in any order.", [vectors, protobuf]),
  known("AK-A-V1", "Wire vector V1, both ways.", [vectors]),
  known("AK-A-V2", "Wire vector V2, both ways.", [vectors]),
  known("AK-A-V3", "Wire vector V3, both ways.", [vectors]),
  known("AK-A-V4", "Wire vector V4, both ways.", [vectors]),
  known("AK-A-V5", "Wire vector V5, both ways.", [vectors]),
  known("AK-A-V6", "Wire vector V6, both ways.", [vectors]),
  known("AK-A-V7", "Wire vector V7, both ways.", [vectors]),
  known("AK-A-V8", "Wire vector V8, both ways.", [vectors]),
  known("AK-A-V9", "Wire vector V9, both ways.", [vectors]),
  known("AK-A-V10", "Wire vector V10, both ways.", [vectors]),
];

function known(id: string, rule: string, provenBy: readonly string[], notMet?: string): Rule {
  return row({ id, mark: "known", rule, provenBy }, notMet);
}

function tested(id: string, rule: string, provenBy: readonly string[], notMet?: string): Rule {
  return row({ id, mark: "tested", rule, provenBy }, notMet);
}

function ours(id: string, rule: string, provenBy: readonly string[], notMet?: string): Rule {
  return row({ id, mark: "our choice", rule, provenBy }, notMet);
}

/** `AK-2.6.4-3` is the third rule of section 2.6.4. */
function row(given: Omit<Rule, "section" | "notMet">, notMet: string | undefined): Rule {
  const section = given.id.slice("AK-".length, given.id.lastIndexOf("-"));
  return { ...given, section, ...(notMet === undefined ? {} : { notMet }) };
}
