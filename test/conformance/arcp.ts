/**
 * ARCP as a list: each requirement of the contract in few words, and the tests that prove it; then how it gets
 * on with the Python SDK, and the vectors of that. A test cites a row by its id, in its name;
 * `arcp-manifest.test.ts` holds this list against what the tests cite, and `docs/conformance/arcp.md` is
 * printed from it.
 */
export type Rule = {
  readonly id: string;
  readonly level: "MUST" | "SHOULD";
  readonly rule: string;
  /** Files whose tests cite the id; others may too. */
  readonly provenBy: readonly string[];
  /** What is instead, where we do not meet all of it. One of its tests fails the day we do. */
  readonly notMet?: string;
};

export type Vector = {
  readonly id: string;
  readonly about: string;
  readonly provenBy: readonly string[];
  readonly notMet?: string;
};

const cliArcpEventFiles = "src/cli/arcp/event-files.test.ts";
const cliParse = "src/cli/parse.test.ts";
const clientAcknowledging = "src/client/arcp/acknowledging.test.ts";
const clientClient = "src/client/arcp/client.test.ts";
const clientCredential = "src/client/arcp/credential.test.ts";
const clientCursors = "src/client/arcp/cursors.test.ts";
const clientFeed = "src/client/arcp/feed.test.ts";
const clientPending = "src/client/arcp/pending.test.ts";
const clientPythonClient = "src/client/arcp/python-client.test.ts";
const clientPythonPeer = "src/client/arcp/python-peer.test.ts";
const clientResumption = "src/client/arcp/resumption.test.ts";
const clientRollCall = "src/client/arcp/roll-call.test.ts";
const coreCapabilities = "src/core/capabilities.test.ts";
const coreCredentials = "src/core/credentials.test.ts";
const coreDecimal = "src/core/decimal.test.ts";
const coreGlob = "src/core/glob.test.ts";
const coreGrants = "src/core/grants.test.ts";
const coreJobs = "src/core/jobs.test.ts";
const coreSessions = "src/core/sessions.test.ts";
const doorDoor = "src/doors/arcp/door.test.ts";
const doorJobs = "src/doors/arcp/jobs.test.ts";
const doorPython = "src/doors/arcp/python.test.ts";
const doorReplay = "src/doors/arcp/replay.test.ts";
const doorSessions = "src/doors/arcp/sessions.test.ts";
const doorWebSocket = "src/doors/arcp/websocket/upgrade.test.ts";
const planeClock = "src/plane/clock.test.ts";
const runtimeAround = "src/runtime/around.test.ts";
const runtimeCatalogue = "src/runtime/catalogue.test.ts";
const runtimeCredentials = "src/runtime/credentials.test.ts";
const runtimeGuards = "src/runtime/guards.test.ts";
const remoteWorkers = "src/runtime/remote/remote-workers.test.ts";
const runtimeResultStream = "src/runtime/result-stream.test.ts";
const runtimeRuntime = "src/runtime/runtime.test.ts";
const tracingServer = "src/tracing/server.test.ts";
const tracingTracing = "src/tracing/tracing.test.ts";
const transportAdopt = "src/transport/adopt.test.ts";
const transportContract = "src/transport/contract.ts";
const transportStdio = "src/transport/stdio.test.ts";
const transportWebSocket = "src/transport/websocket/websocket.test.ts";
const wireAnswers = "src/wire/arcp/answers.test.ts";
const wireBodies = "src/wire/arcp/bodies.test.ts";
const wireCanonical = "src/wire/arcp/canonical.test.ts";
const wireChunks = "src/wire/work/chunks.test.ts";
const wireDialect = "src/wire/arcp/dialect.test.ts";
const wireEnvelope = "src/wire/arcp/envelope.test.ts";
const wireErrors = "src/wire/arcp/errors.test.ts";
const wireFeatures = "src/wire/arcp/features.test.ts";
const wireHeartbeat = "src/wire/arcp/heartbeat.test.ts";
const wireIds = "src/wire/arcp/ids.test.ts";
const wireRequests = "src/wire/arcp/requests.test.ts";
const wireSession = "src/wire/arcp/session.test.ts";
const wireTimestamps = "src/wire/arcp/timestamps.test.ts";
const wireTraceHeaders = "src/wire/arcp/trace-headers.test.ts";
const cliArcp = "test/cli/arcp.test.ts";
const clientArcpBrowser = "test/client/arcp-browser.test.ts";
const packageTest = "test/client/package.test.ts";
const gaps = "test/conformance/arcp-gaps.test.ts";
const server = "test/conformance/arcp-server.test.ts";
const interopCli = "test/interop/arcp-cli.test.ts";
const interopClientRuntime = "test/interop/arcp-client-runtime.test.ts";
const interopClient = "test/interop/arcp-client.test.ts";
const interopExamples = "test/interop/arcp-examples.test.ts";
const interopModels = "test/interop/arcp-models.test.ts";
const interopSpeed = "test/interop/arcp-speed.test.ts";
const e2eArcp = "test/e2e/arcp.test.ts";
const interopPythonClients = "test/interop/arcp-python-clients.test.ts";

export const rules: readonly Rule[] = [
  must("ARCP-1", "Every id, token, nonce and trace id that we mint has the one form of its kind.", [
    doorJobs,
    wireIds,
  ]),
  must("ARCP-2", "Ids of others are opaque: any text of 1 to 256 characters.", [
    wireEnvelope,
    wireIds,
  ]),
  must(
    "ARCP-3",
    "A resume token has at least 128 bits of chance and is compared in constant time.",
    [doorSessions],
  ),
  must(
    "ARCP-4",
    "Times of others may have any fraction and any offset, and those that only inform are never a reason to refuse.",
    [wireTimestamps],
  ),
  must("ARCP-5", "Integers stay below 2^53.", [wireEnvelope]),
  must("ARCP-6", "What has no value is left out; only three fields are ever sent as null.", [
    wireAnswers,
    wireEnvelope,
  ]),
  must("ARCP-7", "A null that is received in an optional field is the same as nothing.", [
    wireEnvelope,
    wireRequests,
  ]),
  must("ARCP-8", "Unknown fields, of the envelope or of a payload, are ignored.", [wireEnvelope]),
  must("ARCP-9", "Every frame of a runtime carries a session id, errors before the welcome too.", [
    doorDoor,
    doorSessions,
    wireAnswers,
    wireSession,
  ]),
  must(
    "ARCP-10",
    "A trace id is sent as 32 hex digits only; a traceparent is understood, and a malformed one is nothing.",
    [doorJobs, tracingTracing, wireEnvelope, wireIds],
  ),
  must("ARCP-11", "A payload is always an object.", [wireEnvelope]),
  must(
    "ARCP-12",
    "A malformed frame is answered and the session goes on, until twenty come in a row; no reader throws.",
    [clientClient, doorDoor, transportContract, wireEnvelope, wireSession],
  ),
  must("ARCP-13", "A frame of another session is refused.", [doorDoor, wireSession]),
  must(
    "ARCP-14",
    "Another protocol version is told which one there is; in the first frame that ends the connection.",
    [doorSessions, wireEnvelope, wireSession],
  ),
  should(
    "ARCP-15",
    "What is wrong with a message is told by its path, in one short line that repeats nothing of it.",
    [doorJobs, wireEnvelope, wireRequests],
  ),
  should("ARCP-16", "Fields of a frame are printed in one order, and nothing depends on it.", [
    wireEnvelope,
  ]),
  must(
    "ARCP-17",
    "A runtime refuses what is for clients and what nobody knows, by its type; a client ignores it.",
    [clientClient, doorDoor, wireSession],
  ),
  must("ARCP-18", "Before the welcome only a hello is heard; a second hello changes nothing.", [
    doorDoor,
    doorSessions,
    wireSession,
  ]),
  must(
    "ARCP-19",
    "Frames of a transport are answered in their order, and a pong never waits behind a slow one.",
    [doorDoor, wireSession],
  ),
  must("ARCP-20", "Every answer names the request that it answers.", [
    doorDoor,
    doorJobs,
    wireAnswers,
  ]),
  must(
    "ARCP-21",
    "Payloads are sent exactly as the catalogue has them, and read in the variants of others.",
    [wireAnswers, wireErrors],
  ),
  must("ARCP-22", "Results, errors and lists of other runtimes are read in their own spellings.", [
    wireAnswers,
    wireEnvelope,
    wireRequests,
  ]),
  must("ARCP-23", "A result is sent inline or streamed, never both.", [doorJobs, wireAnswers]),
  should(
    "ARCP-24",
    "Filters that lie directly in the payload of a list count where there is no filter.",
    [wireRequests],
  ),
  must("ARCP-25", "All transports have one interface.", [transportAdopt, transportContract]),
  must(
    "ARCP-26",
    "Frames wait for their handler, a handler that throws stops nothing, and nothing is sent on what is closed.",
    [transportContract],
  ),
  must("ARCP-27", "What waits for a slow transport is bounded, and holds up nobody else.", [
    doorDoor,
    transportContract,
    transportWebSocket,
  ]),
  must("ARCP-28", "Over WebSocket a message is one JSON object in one text frame.", [
    transportWebSocket,
    wireEnvelope,
  ]),
  must("ARCP-29", "No subprotocol is needed; one of ours is selected if it is offered.", [
    doorWebSocket,
    transportWebSocket,
  ]),
  must(
    "ARCP-30",
    "The path is /arcp, its query ignored; a mounted door leaves other upgrades alone.",
    [doorWebSocket, transportWebSocket],
  ),
  must(
    "ARCP-31",
    "Hosts and origins outside of a configured list are turned away before the upgrade.",
    [transportWebSocket],
  ),
  must("ARCP-32", "A binary message with a JSON object is taken as text; we send none.", [
    transportWebSocket,
  ]),
  must(
    "ARCP-33",
    "Messages beyond the inbound limit close with 1009, and ours stay under 1 MiB unless the user made them longer.",
    [runtimeResultStream, transportWebSocket],
    "A client closes with 4009: WebSockets of browsers may not say 1009. See decision 23.",
  ),
  should("ARCP-34", "Compression is spoken when offered, and off by default.", [
    transportWebSocket,
  ]),
  must("ARCP-35", "Close codes say why, and a close without one is loss of the transport.", [
    doorSessions,
    transportWebSocket,
    wireSession,
  ]),
  must(
    "ARCP-36",
    "Who says no hello within 10 s is closed, and there is no second try on a connection.",
    [doorDoor, doorSessions, wireSession],
  ),
  should("ARCP-37", "Sessions per principal are capped, and a hook may limit handshakes.", [
    coreSessions,
    doorSessions,
    transportWebSocket,
  ]),
  should(
    "ARCP-38",
    "Credentials are only issued where nobody can listen in, unless an option says otherwise.",
    [doorSessions, transportWebSocket],
  ),
  must(
    "ARCP-39",
    "Over stdio a line is one JSON object; blank lines and both line ends are fine.",
    [transportStdio],
  ),
  must(
    "ARCP-40",
    "Standard output carries frames only; the end of input, or of a pipe, is loss of the transport.",
    [transportStdio, cliArcp],
  ),
  must(
    "ARCP-41",
    "Lines have the same limit, may be split across reads, and writes honour back-pressure.",
    [transportContract, transportStdio],
  ),
  should(
    "ARCP-42",
    "A process and a child each become a transport in one call; a child exits when its input ends and nothing runs.",
    [cliArcp, server],
  ),
  must(
    "ARCP-43",
    "A pair in memory loses nothing, keeps the order, and shares nothing that could be changed.",
    [transportContract],
  ),
  must(
    "ARCP-44",
    "Losing a transport ends no job, and a detached session goes on counting and keeping.",
    [doorDoor],
  ),
  must(
    "ARCP-45",
    "When a detached session expires its jobs go on; only its buffer and token are freed.",
    [doorDoor, doorSessions],
  ),
  must(
    "ARCP-46",
    "A verifier maps a token to its principal; the one that is shipped compares in constant time.",
    [server],
  ),
  must(
    "ARCP-47",
    "Whatever is wrong with a token is unauthenticated, in one wording; another wrong shape is an invalid request.",
    [doorDoor, wireRequests, wireSession],
  ),
  must("ARCP-48", "Tokens appear in no log, error, span or event.", [doorSessions, wireRequests]),
  must(
    "ARCP-49",
    "Effective is what both offer, in the client's order, and a client intersects again.",
    [clientClient, doorDoor, wireFeatures],
  ),
  must("ARCP-50", "No features means none, and unknown ones take part like any other.", [
    doorSessions,
    wireFeatures,
    wireRequests,
  ]),
  must(
    "ARCP-51",
    "Credentials are advertised only with a provisioner and a store for revocations; models always, as they are enforced.",
    [server],
  ),
  must("ARCP-52", "Agents are objects if versions are effective, else names; clients read both.", [
    doorDoor,
    doorSessions,
    wireAnswers,
  ]),
  must("ARCP-53", "Other capabilities are advertisements of vendors, and both sides show them.", [
    clientClient,
    doorSessions,
    wireRequests,
  ]),
  must(
    "ARCP-54",
    "Using a feature that is not effective is refused, ignored or made up for, each as the table says.",
    [clientClient, doorDoor, doorSessions, wireFeatures, wireSession],
  ),
  must("ARCP-55", "Our client offers everything, and refuses locally what is not effective.", [
    clientClient,
  ]),
  must("ARCP-56", "A handshake takes 5 s at most.", [clientClient]),
  must(
    "ARCP-57",
    "A session error has the shape of all errors, and before the welcome rejects the hello.",
    [clientClient, wireAnswers],
  ),
  must(
    "ARCP-58",
    "After the welcome session errors are rare, since some clients fail everything on one.",
    [doorDoor],
  ),
  must(
    "ARCP-59",
    "Some codes end a session; our client fails only the call that an error belongs to.",
    [clientClient],
  ),
  must(
    "ARCP-60",
    "A resume is checked in a given order, and everything after the token fails in one way.",
    [coreSessions, doorDoor, doorSessions, wireRequests],
  ),
  must("ARCP-61", "The window to resume starts when the transport is lost.", [
    coreSessions,
    doorDoor,
  ]),
  must("ARCP-62", "Every welcome has a new token, and the old one is dead.", [
    coreSessions,
    doorDoor,
  ]),
  must("ARCP-63", "A cursor is covered up to and including the last number issued.", [
    coreSessions,
    doorDoor,
    doorSessions,
  ]),
  must(
    "ARCP-64",
    "After a resume all frames behind the cursor come first, with their ids, and none twice.",
    [coreSessions, doorDoor, wireIds],
  ),
  must("ARCP-65", "Only numbered frames are replayed, however many.", [doorSessions]),
  must("ARCP-66", "A resume beats the old transport, which is told so and closed.", [
    coreSessions,
    doorDoor,
  ]),
  must(
    "ARCP-67",
    "After a resume jobs, authority to cancel and subscriptions are as before; features are negotiated anew.",
    [doorDoor, doorSessions],
  ),
  should("ARCP-68", "A submit that was seen is not run again; its answer is repeated.", [
    coreJobs,
    doorDoor,
  ]),
  must("ARCP-69", "Any frame is life, and a ping is answered at once with its nonce.", [
    clientClient,
    doorDoor,
    wireHeartbeat,
    wireSession,
  ]),
  must("ARCP-70", "A runtime pings when nothing came, or nothing went, for an interval.", [
    doorDoor,
    wireHeartbeat,
  ]),
  must(
    "ARCP-71",
    "Loss is declared after two silent intervals and an unanswered ping, and said before the close.",
    [doorDoor, wireHeartbeat],
  ),
  should(
    "ARCP-72",
    "Our client pings when it has been silent, and takes two silent intervals for loss.",
    [clientClient, wireHeartbeat],
  ),
  must("ARCP-73", "Timers keep no process alive, survive stalls, and end with the connection.", [
    clientAcknowledging,
    clientClient,
    wireHeartbeat,
    server,
  ]),
  must("ARCP-74", "An acknowledgement only moves forward, is clamped, and frees what it covers.", [
    coreSessions,
    doorSessions,
  ]),
  must(
    "ARCP-75",
    "What is not acknowledged is kept while attached, up to caps that end neither session nor job.",
    [coreJobs, doorSessions],
  ),
  should(
    "ARCP-76",
    "A client that lags is warned once by an event, and again only after it has caught up.",
    [doorDoor],
  ),
  must("ARCP-77", "No agent ever waits for acknowledgements.", [doorDoor, doorSessions]),
  should(
    "ARCP-78",
    "A client may acknowledge by itself, in batches, what was delivered without a gap.",
    [clientAcknowledging, clientClient, gaps],
    "It does so unless told not to, and to a Python runtime only if told to. See decision 23.",
  ),
  must(
    "ARCP-79",
    "A close is answered, a bye is not; both leave jobs running and their session resumable (without an unfinished job: for a moment).",
    [doorDoor, doorSessions, coreSessions, wireSession],
  ),
  must(
    "ARCP-80",
    "Closing a client fails what is open, says bye with a reason, and waits a moment.",
    [clientClient],
  ),
  must(
    "ARCP-81",
    "A runtime that shuts down says so to every session and gives jobs their grace.",
    [doorDoor, cliArcp],
  ),
  must("ARCP-82", "A submit is checked in a given order, and the first failure counts.", [
    doorJobs,
  ]),
  must("ARCP-83", "Submits are answered in the order in which they came.", [doorDoor]),
  must(
    "ARCP-84",
    "A job's acceptance comes before everything else of it, and grants no more than was asked for.",
    [coreGrants, doorDoor, doorJobs, wireAnswers],
  ),
  must("ARCP-85", "A job has the trace of its submit or a new one, on all of its frames.", [
    doorJobs,
    tracingServer,
    wireIds,
  ]),
  should("ARCP-86", "The first event of a job says that it runs.", [doorDoor]),
  must("ARCP-87", "An input is passed on unchanged, and none is the same as null.", [
    doorJobs,
    runtimeRuntime,
    wireRequests,
  ]),
  must("ARCP-88", "Unfinished jobs per session are capped, and the one too many is rejected.", [
    coreJobs,
    doorJobs,
  ]),
  must(
    "ARCP-89",
    "A submit that is refused gets one error with a job id that is nobody's, and a number.",
    [doorDoor, wireDialect],
  ),
  must("ARCP-90", "A rejection never has the id of a real job.", [doorDoor]),
  must(
    "ARCP-91",
    "An unknown version is refused by a session error, unless an option says otherwise.",
    [doorJobs, wireDialect],
  ),
  should("ARCP-92", "An option refuses every submit by a session error.", [doorJobs, wireDialect]),
  must("ARCP-93", "A malformed submit is a rejection too, with the path.", [
    doorDoor,
    wireRequests,
  ]),
  must(
    "ARCP-94",
    "Equal parameters are equal as canonical JSON, per principal and key, for a day.",
    [doorJobs, wireCanonical],
  ),
  must("ARCP-95", "The same key with equal parameters gets the acceptance again and no new job.", [
    coreJobs,
    doorDoor,
  ]),
  must(
    "ARCP-96",
    "A retry of an ended job gets its end again; of a running one, its events and the right to cancel.",
    [coreJobs, doorDoor],
  ),
  must("ARCP-97", "The same key with other parameters is refused.", [coreJobs, doorDoor, doorJobs]),
  must("ARCP-98", "Of two equal submits at once one runs, and the other waits for its answer.", [
    doorJobs,
    runtimeCredentials,
  ]),
  should("ARCP-99", "Keys survive a restart.", [coreJobs, doorDoor]),
  must("ARCP-100", "An agent is a name, or a name and a version, each of given characters.", [
    runtimeCatalogue,
  ]),
  must("ARCP-101", "An unknown name and an unknown version are two errors.", [
    doorJobs,
    runtimeCatalogue,
  ]),
  must(
    "ARCP-102",
    "Without a version the default counts, then the agent without one, then the highest.",
    [doorJobs, runtimeCatalogue],
  ),
  must("ARCP-103", "A job's agent is shown as resolved, and never changes.", [doorJobs]),
  must("ARCP-104", "A job ends exactly once, and nothing follows.", [doorJobs]),
  must(
    "ARCP-105",
    "What an agent returns is its result, what it throws its error; a value that JSON cannot carry is ours.",
    [doorJobs, runtimeRuntime, wireAnswers],
  ),
  must("ARCP-106", "An expired lease and a spent budget end as errors.", [doorJobs]),
  must(
    "ARCP-107",
    "A job that is not done in time, its wait for a worker included, ends at once as timed out.",
    [clientClient, server, coreJobs, doorJobs, runtimeRuntime],
  ),
  must("ARCP-108", "Deadlines further away than a timer can count work.", [
    coreJobs,
    doorJobs,
    planeClock,
  ]),
  should("ARCP-109", "Ended jobs stay visible for a while.", [coreJobs, doorJobs]),
  must("ARCP-110", "A cancel names its job on the envelope, or in the payload.", [
    doorDoor,
    doorJobs,
    wireRequests,
  ]),
  must("ARCP-111", "Who submitted may cancel; who only watches may not.", [
    coreJobs,
    doorDoor,
    doorJobs,
    doorSessions,
  ]),
  must(
    "ARCP-112",
    "A cancel is acknowledged, then the agent is told, then the job ends as cancelled.",
    [doorDoor, doorJobs, wireAnswers],
  ),
  must("ARCP-113", "A second cancel changes nothing, and one of an ended job is ignored.", [
    doorDoor,
  ]),
  must("ARCP-114", "A refused cancel is an error without a number that only the canceller sees.", [
    coreJobs,
    doorDoor,
  ]),
  must("ARCP-115", "Once cancelled a job ends as cancelled, unless its end had been sent.", [
    coreJobs,
    doorDoor,
    doorJobs,
  ]),
  should("ARCP-116", "A job that fails takes its children along.", [coreJobs, doorJobs]),
  must("ARCP-117", "Numbers are per session, begin at 1 and have no gap, over resumes too.", [
    doorDoor,
    doorJobs,
  ]),
  must("ARCP-118", "A frame is logged before it is sent.", [doorSessions]),
  must(
    "ARCP-119",
    "Frames leave in the order of their numbers, events of a job in the order of their making.",
    [doorJobs],
  ),
  must("ARCP-120", "A client drops what it has seen, and takes a gap for a broken session.", [
    clientClient,
    clientCursors,
  ]),
  must(
    "ARCP-121",
    "A body of the wrong shape is thrown back at the agent and not sent; progress beyond its total is.",
    [doorJobs, runtimeRuntime, wireBodies],
  ),
  must(
    "ARCP-122",
    "Bodies of others are passed on as they are, with one view of all spellings; we send no other kinds.",
    [clientClient, doorJobs, runtimeRuntime, wireAnswers, wireBodies],
  ),
  must("ARCP-123", "A tool's result is either a value or an error with a known code.", [
    wireBodies,
  ]),
  must(
    "ARCP-124",
    "A streamed result has one id, numbered chunks, one last, and its size at the end.",
    [doorJobs, runtimeResultStream, runtimeRuntime, wireChunks],
  ),
  must(
    "ARCP-125",
    "A stream without data is one empty chunk, and text is never cut inside a character.",
    [runtimeResultStream, wireChunks],
  ),
  must("ARCP-126", "Chunks and results are capped, and longer writes are split.", [
    runtimeResultStream,
    wireChunks,
  ]),
  must(
    "ARCP-127",
    "A stream is finished for an agent that forgets to, and cannot be continued after its end.",
    [runtimeResultStream, runtimeRuntime],
  ),
  must(
    "ARCP-128",
    "Chunks are assembled in order, once each, without a gap and with an end, or it is an error.",
    [clientClient, wireChunks],
  ),
  must("ARCP-129", "A list shows the jobs that its principal may see, and hints at no others.", [
    doorDoor,
  ]),
  must("ARCP-130", "Filters are combined, and a bad one is refused.", [
    doorDoor,
    doorJobs,
    wireRequests,
  ]),
  must("ARCP-131", "A page has 100 jobs, at most 1,000.", [doorDoor, doorJobs]),
  must("ARCP-132", "Lists are ordered by age, and cursors are stable while jobs come and go.", [
    doorDoor,
    doorJobs,
  ]),
  must("ARCP-133", "Entries hold no credentials, and the number from which to subscribe.", [
    doorJobs,
    wireAnswers,
  ]),
  must("ARCP-134", "A page costs what it shows, not what there is.", [doorDoor, doorJobs]),
  must("ARCP-135", "Subscribing is for the submitter's principal, or for whom a policy lets.", [
    doorDoor,
    doorJobs,
  ]),
  must(
    "ARCP-136",
    "A subscription is told so, then has history, then what is live, without loss or doubles.",
    [clientClient, doorDoor],
  ),
  must("ARCP-137", "History begins after the given number of the job's own session.", [
    coreJobs,
    doorDoor,
    wireRequests,
  ]),
  must(
    "ARCP-138",
    "Forwarded frames have the subscriber's ids and numbers, and are otherwise unchanged.",
    [doorDoor],
  ),
  must("ARCP-139", "A subscriber is told its number after the history, and whether there is any.", [
    doorDoor,
  ]),
  must(
    "ARCP-140",
    "A subscriber is told the job's authority as it is now, with credentials only for its submitter.",
    [doorDoor, doorJobs],
  ),
  must("ARCP-141", "Ended jobs can be subscribed to, and nobody hears anything twice.", [doorDoor]),
  must("ARCP-142", "Unsubscribing is not answered, and the end of a job ends its subscriptions.", [
    clientClient,
    doorJobs,
  ]),
  should("ARCP-143", "Every decision about a subscription is reported to a hook.", [
    doorDoor,
    doorJobs,
  ]),
  must(
    "ARCP-144",
    "Capabilities are the seven known ones and those of vendors; a lease of another shape is refused.",
    [coreCapabilities, coreGrants, wireRequests],
  ),
  must(
    "ARCP-145",
    "An operation needs its capability and a pattern; expiry, budget and pattern are checked in this order.",
    [coreCapabilities, coreGrants, gaps],
    "The answer is a promise: what it rests on is kept first, and whoever asks may be a worker elsewhere. See decision 16.",
  ),
  must(
    "ARCP-146",
    "Tool calls and delegation are enforced by the context itself; for the rest there is a call.",
    [doorJobs, runtimeGuards, runtimeRuntime],
  ),
  must("ARCP-147", "A star stays within a segment, two do not, and everything else is itself.", [
    coreGlob,
  ]),
  must("ARCP-148", "Matching takes pattern times target, and patterns are bounded.", [
    coreCapabilities,
    coreGlob,
  ]),
  must(
    "ARCP-149",
    "Targets are made canonical before they are matched, each capability in its own way.",
    [coreCapabilities, runtimeGuards],
  ),
  must(
    "ARCP-150",
    "An expiry has one form, is a real date and lies in the future; it is echoed unchanged.",
    [coreGrants, doorJobs],
  ),
  must("ARCP-151", "At its expiry a job ends, and operations fail.", [doorJobs]),
  must(
    "ARCP-152",
    "Deadlines follow the monotonic clock from acceptance on.",
    [gaps],
    "A wall clock that is set forward ends leases early. The monotonic clock stands still while a machine sleeps, and a lease must not last longer for that. See decision 7.",
  ),
  must("ARCP-153", "There is no renewal.", [doorJobs]),
  must("ARCP-154", "An amount is a currency and a plain decimal; those of one currency add up.", [
    coreGrants,
  ]),
  must("ARCP-155", "Counters are exact decimals, and on the wire the nearest number.", [
    coreDecimal,
    coreGrants,
    wireDialect,
  ]),
  must(
    "ARCP-156",
    "A cost metric lowers the counter of its currency, below zero too; a negative one is refused.",
    [coreGrants, runtimeRuntime],
  ),
  must(
    "ARCP-157",
    "While a counter is at or below zero every operation fails, and the job goes on.",
    [coreGrants, runtimeRuntime],
  ),
  should("ARCP-158", "What remains is reported after costs, when it has moved enough.", [
    coreGrants,
    runtimeRuntime,
  ]),
  must("ARCP-159", "What a child spends its ancestors have spent.", [coreGrants, coreJobs]),
  should("ARCP-160", "A hook turns an upstream's limit into a spent budget.", [runtimeRuntime]),
  must("ARCP-161", "Models are checked like anything else, and none is allowed by default.", [
    coreGrants,
  ]),
  must("ARCP-162", "A child's lease is covered by its parent's.", [
    coreCapabilities,
    coreGrants,
    doorJobs,
  ]),
  must(
    "ARCP-163",
    "That is decided exactly, against all of the parent's patterns at once, within a bound.",
    [coreGlob],
  ),
  must("ARCP-164", "The pairs of the contract are decided as it says.", [coreGlob]),
  must("ARCP-165", "A child may spend what its ancestors have left, and no other currency.", [
    coreGrants,
    coreJobs,
  ]),
  must("ARCP-166", "A child expires with its parent, at the latest.", [coreGrants]),
  must("ARCP-167", "Patterns are compared in their canonical form.", [coreCapabilities]),
  must("ARCP-168", "Credentials are issued before the acceptance, and come with it.", [
    doorDoor,
    runtimeCredentials,
  ]),
  must("ARCP-169", "What was issued is on record before anyone is told; what fails is revoked.", [
    runtimeCredentials,
  ]),
  must(
    "ARCP-170",
    "When a job ends its credentials are revoked, again and again until it succeeds.",
    [coreCredentials, runtimeCredentials],
  ),
  must("ARCP-171", "No value is handed to two live jobs.", [coreCredentials, runtimeCredentials]),
  must(
    "ARCP-172",
    "A rotated credential is told by an event, without its value in any copy that is kept.",
    [doorDoor, runtimeCredentials],
  ),
  must(
    "ARCP-173",
    "Only bearer credentials are sent; a client drops what it cannot use and keeps the rest.",
    [runtimeCredentials, wireAnswers],
  ),
  must("ARCP-174", "A credential's value appears nowhere but where it is used.", [
    clientCredential,
    runtimeCredentials,
  ]),
  must("ARCP-175", "A child's credentials end with its parent.", [
    coreCredentials,
    runtimeCredentials,
  ]),
  must(
    "ARCP-176",
    "Delegating is an event, a check, and then a job of its own or an error for the agent.",
    [doorDoor, doorJobs, runtimeRuntime, wireAnswers],
  ),
  must(
    "ARCP-177",
    "A child has its parent's session, principal and trace, and its own everything else.",
    [doorJobs],
  ),
  should("ARCP-178", "An agent gets a handle of its child.", [doorJobs, runtimeRuntime]),
  must("ARCP-179", "A client may submit a child, under the same checks.", [coreJobs, doorJobs]),
  should("ARCP-180", "Delegation is eight deep at most, and children count.", [coreJobs, doorJobs]),
  must("ARCP-181", "A wrapper makes a span for every frame that is sent or received.", [
    tracingTracing,
  ]),
  must("ARCP-182", "Spans say what the frame was about.", [tracingTracing]),
  must("ARCP-183", "Trace context travels in an extension, and a trace id that is there is kept.", [
    tracingTracing,
    wireTraceHeaders,
  ]),
  must("ARCP-184", "Agents know their trace context, and wrappers forward it.", [
    runtimeAround,
    runtimeGuards,
  ]),
  should(
    "ARCP-185",
    "A span is around each job, and nothing is loaded where there is no tracing.",
    [tracingTracing, packageTest],
  ),
  must("ARCP-186", "What is over is never retryable, and what is ours always is.", [wireErrors]),
  must("ARCP-187", "Only known codes are sent; a received one that is not known is kept.", [
    doorJobs,
    wireErrors,
  ]),
  must(
    "ARCP-188",
    "There is one class of errors with one for each code, recognised across copies of the package.",
    [wireErrors],
  ),
  must("ARCP-189", "Names of vendors have the one form, and kinds theirs.", [
    wireBodies,
    wireFeatures,
  ]),
  must("ARCP-190", "Extensions that we send hold vendors' keys and `optional` only.", [
    wireEnvelope,
    wireFeatures,
  ]),
  must(
    "ARCP-191",
    "A vendor's message reaches its handler, is dropped if it may be, and is refused otherwise.",
    [clientClient, doorDoor, wireFeatures, wireSession, interopClientRuntime],
  ),
  must("ARCP-192", "What is a vendor's passes unchanged.", [doorJobs, wireBodies, wireFeatures]),
  must(
    "ARCP-193",
    "Frames of a session can be appended once, read behind a number, and released, in memory and on disk.",
    [doorSessions],
  ),
  should(
    "ARCP-194",
    "Recorded sessions of other runtimes can be replayed, and ours by theirs.",
    [cliArcpEventFiles, gaps, interopCli],
    "We replay the files of both published SDKs. Ours hold what was decided, from which frames are made, and no other runtime replays them. See decision 2.",
  ),
  must("ARCP-195", "What is stored holds no secrets.", [
    cliArcpEventFiles,
    doorSessions,
    runtimeCredentials,
  ]),
  should("ARCP-196", "Writes are grouped.", [doorSessions]),
  should(
    "ARCP-197",
    "A restart brings back sessions, ended jobs and keys, and ends what was running.",
    [doorDoor, runtimeRuntime, interopClientRuntime],
  ),
  must(
    "ARCP-198",
    "What an expired session had kept is deleted; a job's history is kept on its own account.",
    [coreSessions, doorSessions],
  ),
  should(
    "ARCP-199",
    "A runtime is one object with agents, a verifier and a way to accept transports.",
    [server],
  ),
  should(
    "ARCP-200",
    "An agent's context has what it needs to know, and a call for everything it may say.",
    [remoteWorkers, runtimeRuntime, server],
  ),
  must(
    "ARCP-201",
    "A tool call outside of the lease is shown, answered with the error, and rejected.",
    [runtimeRuntime],
  ),
  must(
    "ARCP-202",
    "Emitting resolves when the frame is logged, and works without a transport.",
    [doorSessions, gaps],
    "It resolves while up to 1,024 words are on their way to the log. Nobody is told of them before they are kept. See decision 16.",
  ),
  must(
    "ARCP-203",
    "Defaults are those of the table.",
    [doorJobs, gaps, server],
    "A session can be resumed from 1,000,000 events back and not 10,000, and ended jobs are remembered for a day, as their keys are, and not for an hour. See decision 23.",
  ),
  must(
    "ARCP-204",
    "A runtime has no unhandled rejections, forgets ended jobs, and closes without a rest.",
    [coreJobs, server],
  ),
  should(
    "ARCP-205",
    "Hooks decide who may observe, narrow leases, audit, and hear of failed revocations.",
    [coreGrants, doorJobs, runtimeCredentials, server],
  ),
  should("ARCP-206", "A client has the options, methods and properties that its users know.", [
    clientClient,
    clientArcpBrowser,
  ]),
  should("ARCP-207", "A submit resolves when it is accepted, with a handle for all that follows.", [
    clientClient,
    server,
  ]),
  must(
    "ARCP-208",
    "Waiting for the end of a job always ends, and nobody who does not wait is harmed.",
    [clientClient, clientRollCall],
  ),
  must("ARCP-209", "A submit that is aborted is cancelled, whenever it is accepted.", [
    clientClient,
  ]),
  must(
    "ARCP-210",
    "Events are delivered in order, and an iterator that nobody reads holds only so many.",
    [clientClient, clientFeed],
  ),
  must("ARCP-211", "Every submit has a trace id of its own.", [clientClient]),
  must("ARCP-212", "Cancels and byes have a reason, and the job's id is on the envelope.", [
    clientClient,
    wireRequests,
  ]),
  must("ARCP-213", "An acceptance finds its submit by request, trace or order.", [clientPending]),
  must("ARCP-214", "An error of a job finds the call that it belongs to, or ends the job.", [
    clientPending,
  ]),
  must(
    "ARCP-215",
    "A session error without a request finds its call by code, and fails no running job.",
    [clientPending],
  ),
  must("ARCP-216", "A subscription finds its answer, and events that came before it are kept.", [
    clientClient,
    clientPending,
  ]),
  must("ARCP-217", "A list finds its answer by request.", [clientPending]),
  should(
    "ARCP-218",
    "A client that lost its transport tries again with growing pauses, and handles stay valid.",
    [clientClient, clientResumption, interopClientRuntime],
  ),
  must("ARCP-219", "Only a welcome replaces the resume token.", [clientClient]),
  must("ARCP-220", "Submits without an answer are sent again where that cannot run them twice.", [
    clientClient,
    interopClientRuntime,
  ]),
  must("ARCP-221", "A refused resume rejects what was open, and may open a new session.", [
    clientClient,
    interopClientRuntime,
  ]),
  must(
    "ARCP-222",
    "A runtime that refuses to resume with nothing to replay is asked once more, for one number less.",
    [clientClient, clientResumption, clientRollCall],
  ),
  must(
    "ARCP-223",
    "The command line has the commands and flags of the table.",
    [cliParse, cliArcp, gaps],
    "`serve --db` takes a directory, not a file. See decision 23.",
  ),
  must("ARCP-224", "Serving has an echo agent, one line when it is ready, and an orderly end.", [
    cliArcp,
  ]),
  must(
    "ARCP-225",
    "Submitting prints the result, a failure on stderr, and cancels when interrupted.",
    [cliArcp],
  ),
  must("ARCP-226", "Tailing prints each event as a line, then the end.", [cliArcp]),
  must("ARCP-227", "Replaying prints one envelope a line, without writing anything.", [
    cliArcpEventFiles,
    doorReplay,
    cliArcp,
  ]),
  must("ARCP-228", "Exit codes mean something, and an error is one line.", [cliArcp]),
  should("ARCP-229", "Address and token may come from the environment.", [cliParse, cliArcp]),
  must(
    "ARCP-230",
    "One function mounts the door on any server; adapters build on it.",
    [transportWebSocket, server],
    "One function takes the servers of all frameworks; there is no package for each, and nothing for Bun. See decision 17.",
  ),
  must("ARCP-231", "Apps of ours guard ordinary requests with the same list of hosts.", [
    transportWebSocket,
  ]),
  should("ARCP-232", "A runtime may be mounted directly.", [server]),
  must("ARCP-233", "Nothing is loaded of frameworks that are not used.", [server]),
  should(
    "ARCP-234",
    "There is an example for each thing that the protocol can do, and each checks itself.",
    [interopExamples],
  ),
  must(
    "ARCP-235",
    "The TypeScript SDK's client gets through everything with our runtime.",
    [gaps],
    "Not tried: that SDK is in no package registry that we know of.",
  ),
  must(
    "ARCP-236",
    "Our client gets through everything with the TypeScript SDK's runtime.",
    [gaps],
    "Not tried: that SDK is in no package registry that we know of.",
  ),
  must("ARCP-237", "Ours get through everything with each other, over every transport.", [
    interopClientRuntime,
  ]),
  must(
    "PYR-1",
    "The Python client is known by its hello, at each hello, unless an option says otherwise.",
    [doorDoor, doorPython, wireDialect],
  ),
  must("PYR-2", "Envelopes for the Python client have ids, traces and numbers as it wants them.", [
    doorPython,
    interopModels,
  ]),
  must("PYR-3", "The welcome comes first, and has all that the Python client requires.", [
    doorPython,
    interopModels,
  ]),
  must("PYR-4", "The Python client is answered within its 5 s, or its job is cancelled.", [
    doorPython,
  ]),
  must(
    "PYR-5",
    "An acceptance has budgets as texts with their decimals, and nothing that the Python client chokes on.",
    [doorDoor, doorPython, wireAnswers, wireDialect, interopModels],
  ),
  must("PYR-6", "The acceptance precedes every other frame of a job.", [doorDoor, doorPython]),
  must("PYR-7", "A refused submit is a session error with its request.", [
    doorDoor,
    doorPython,
    wireDialect,
  ]),
  must(
    "PYR-8",
    "Ends have the time at which they came, and a status that the Python client knows.",
    [doorPython, wireAnswers, interopModels],
  ),
  must("PYR-9", "Cancelled and timed out are errors on the wire, and themselves in lists.", [
    doorDoor,
    doorPython,
    wireAnswers,
    interopModels,
  ]),
  must("PYR-10", "Events and ends have the job's id on the envelope.", [doorDoor, doorPython]),
  must("PYR-11", "Chunks come once and in order, and the size is that of the decoded bytes.", [
    doorPython,
    wireChunks,
  ]),
  must("PYR-12", "A listed job has both of its times.", [
    doorDoor,
    doorPython,
    wireAnswers,
    interopModels,
  ]),
  must("PYR-13", "A subscription's answer has all that the Python client requires.", [
    doorPython,
    wireAnswers,
    interopModels,
  ]),
  must("PYR-14", "Frames of a job wait 25 ms behind the answer to a subscription.", [
    doorDoor,
    wireDialect,
    interopPythonClients,
  ]),
  must("PYR-15", "Failures of lists and subscriptions are session errors.", [doorPython]),
  must("PYR-16", "A refused cancel fails the canceller's own handle.", [doorPython]),
  must("PYR-17", "A silent client is normal, and pinged where heartbeats are effective.", [
    doorPython,
    wireHeartbeat,
  ]),
  must("PYR-18", "Nothing is sent that is longer than the Python client reads.", [
    doorDoor,
    doorPython,
    remoteWorkers,
    runtimeResultStream,
    wireChunks,
    wireDialect,
  ]),
  must("PYR-19", "The intersection of features is in the welcome.", [doorPython, wireFeatures]),
  must("PYR-20", "Everything that the Python client sends is accepted.", [
    doorPython,
    wireRequests,
  ]),
  must("PYR-21", "Over stdio there are only frames, and no blank line.", [
    transportStdio,
    interopPythonClients,
  ]),
  must(
    "PYR-22",
    "A resume within milliseconds of the close wins, and a job's own session may subscribe to it.",
    [doorPython],
  ),
  must("PYR-23", "A retry with the same key satisfies the Python client.", [doorPython]),
  must("PYR-24", "A bye is answered by closing with 1000.", [doorPython, wireSession]),
  must("PYC-1", "The Python runtime is known by its welcome, unless an option says otherwise.", [
    clientPythonClient,
    wireDialect,
  ]),
  must(
    "PYC-2",
    "Our hello has what the Python runtime requires and no null; its schema errors are not retried.",
    [wireRequests, interopModels],
  ),
  must("PYC-3", "Features of its welcome are intersected with ours.", [wireFeatures]),
  must("PYC-4", "What we send stays within its limits.", [clientPythonClient, clientPythonPeer]),
  must("PYC-5", "It is never sent a close, but a bye with a reason.", [clientClient]),
  must("PYC-6", "Its session errors belong to the oldest request without an answer.", [
    clientPending,
    clientPythonClient,
  ]),
  must("PYC-7", "Its spellings, counts and missing fields are read.", [
    clientPythonClient,
    wireAnswers,
    wireTimestamps,
  ]),
  must(
    "PYC-8",
    "Its results that were cancelled or timed out are failures, and later frames are dropped.",
    [clientPythonClient, wireAnswers],
  ),
  must("PYC-9", "A cancel without an acknowledgement is looked after by a list.", [
    clientPythonClient,
    clientPythonPeer,
  ]),
  must("PYC-10", "Its envelope ids are not unique, and nothing goes by them.", [
    clientPythonClient,
  ]),
  must("PYC-11", "Numbers are kept apart for own jobs and for each subscription.", [
    clientCursors,
    clientPythonClient,
  ]),
  should("PYC-12", "Submitting and observing are done in separate sessions.", [clientPythonClient]),
  must("PYC-13", "History that comes before the answer to a subscription is kept for it.", [
    clientPythonClient,
  ]),
  must("PYC-14", "A resume waits for the old connection to close, and is tried once.", [
    clientResumption,
  ]),
  must(
    "PYC-15",
    "After a resume every unfinished job is subscribed to, and one whose end was lost is told so.",
    [clientPythonClient],
  ),
  must("PYC-16", "Submits are sent again only with a key.", [clientPythonClient]),
  must("PYC-17", "A retry from another session subscribes to the job.", [clientPythonClient]),
  must("PYC-18", "Its pings are answered.", [clientClient]),
  should("PYC-19", "A list of one agent has its jobs of all versions.", [
    clientPythonClient,
    interopClient,
  ]),
  must("PYC-20", "The path is exactly /arcp.", [transportWebSocket]),
  must("PYC-21", "Any close without a bye is loss of the transport.", [clientClient]),
  must(
    "PYA-1",
    "The unmodified example clients of the Python SDK pass against our example servers.",
    [interopPythonClients],
  ),
  must("PYA-2", "Our example clients pass against the servers of the Python SDK.", [interopClient]),
  must("PYA-3", "The command lines of both work with the runtimes of both.", [
    interopCli,
    interopPythonClients,
  ]),
  must("PYA-4", "Every frame for a Python peer passes its own models.", [
    interopClient,
    interopModels,
    interopPythonClients,
  ]),
  must("PYA-5", "All vectors hold.", [gaps]),
  should("PYA-6", "The example clients pass while our runtime is killed between them.", [e2eArcp]),
  should("PYA-7", "Speed with the Python client is reported.", [interopSpeed]),
];

export const vectors: readonly Vector[] = [
  {
    id: "PY-1",
    about: "the hello of the Python client",
    provenBy: [doorPython, wireDialect, wireRequests],
  },
  { id: "PY-2", about: "its usual features, in their order", provenBy: [doorPython, wireFeatures] },
  { id: "PY-3", about: "its hello with a resume", provenBy: [doorPython, wireRequests] },
  { id: "PY-4", about: "its hello with trace context", provenBy: [doorPython, wireRequests] },
  { id: "PY-5", about: "a submit without input", provenBy: [doorPython, wireRequests] },
  { id: "PY-6", about: "a submit with everything", provenBy: [doorPython, wireRequests] },
  { id: "PY-7", about: "a cancel", provenBy: [doorPython, wireRequests] },
  { id: "PY-8", about: "a list without a filter", provenBy: [doorPython, wireRequests] },
  {
    id: "PY-9",
    about: "a subscription with the job on the envelope",
    provenBy: [doorPython, wireRequests],
  },
  { id: "PY-10", about: "an unsubscription without it", provenBy: [doorPython, wireRequests] },
  { id: "PY-11", about: "a bye, then a close", provenBy: [doorPython, wireRequests, wireSession] },
  {
    id: "PY-12",
    about: "a bye after a refused hello",
    provenBy: [doorPython, wireRequests, wireSession],
  },
  { id: "PY-20", about: "the least welcome that is accepted", provenBy: [doorPython, wireAnswers] },
  { id: "PY-21", about: "the least acceptance", provenBy: [doorPython, wireAnswers] },
  { id: "PY-22", about: "the least result", provenBy: [doorPython, wireAnswers] },
  { id: "PY-23", about: "the least error", provenBy: [wireAnswers] },
  { id: "PY-24", about: "the least list", provenBy: [doorPython, wireAnswers] },
  { id: "PY-25", about: "the least answer to a subscription", provenBy: [doorPython, wireAnswers] },
  { id: "PY-26", about: "a ping", provenBy: [doorPython, wireRequests] },
  { id: "PY-27", about: "an event of a new kind", provenBy: [wireAnswers] },
  {
    id: "PY-30",
    about: "ids that end the reading",
    provenBy: [doorPython, wireIds, interopModels],
  },
  { id: "PY-31", about: "trace ids that do", provenBy: [doorPython, wireEnvelope, wireIds] },
  { id: "PY-32", about: "numbers that do", provenBy: [doorPython, wireEnvelope] },
  { id: "PY-33", about: "a payload that does", provenBy: [doorPython, wireEnvelope] },
  { id: "PY-34", about: "a version that does", provenBy: [doorPython, wireEnvelope] },
  { id: "PY-35", about: "bytes that are no JSON", provenBy: [wireEnvelope] },
  {
    id: "PY-36",
    about: "a welcome without its session or time",
    provenBy: [doorPython, wireAnswers],
  },
  { id: "PY-37", about: "budgets as numbers", provenBy: [doorPython, wireAnswers, interopModels] },
  { id: "PY-38", about: "a lease that is null", provenBy: [doorPython, wireAnswers] },
  { id: "PY-39", about: "a credential of another scheme", provenBy: [doorPython, wireAnswers] },
  {
    id: "PY-40",
    about: "an error that says cancelled",
    provenBy: [doorPython, wireAnswers, interopModels],
  },
  { id: "PY-41", about: "an end without its time", provenBy: [doorPython, wireAnswers] },
  { id: "PY-42", about: "a result that says error", provenBy: [doorPython, wireAnswers] },
  { id: "PY-43", about: "a submit refused by a job error", provenBy: [doorPython, wireDialect] },
  {
    id: "PY-44",
    about: "list entries and subscriptions without what is required",
    provenBy: [doorPython, wireAnswers],
  },
  { id: "PY-45", about: "an acceptance that comes too late", provenBy: [doorPython] },
  {
    id: "PY-46",
    about: "history in one write with the answer",
    provenBy: [doorPython, wireDialect],
  },
  { id: "PY-47", about: "a message of one byte too many", provenBy: [doorPython, wireDialect] },
  {
    id: "PY-48",
    about: "a line of one byte too many",
    provenBy: [doorPython, runtimeResultStream, wireDialect],
  },
  {
    id: "PY-50",
    about: "a refused hello without a session",
    provenBy: [clientClient, wireAnswers],
  },
  {
    id: "PY-51",
    about: "a refused version with other calls open",
    provenBy: [clientPythonClient, wireAnswers],
  },
  { id: "PY-52", about: "a budget as text", provenBy: [clientPythonClient, wireAnswers] },
  {
    id: "PY-53",
    about: "a result that was cancelled",
    provenBy: [clientPythonClient, wireAnswers],
  },
  {
    id: "PY-54",
    about: "a ping with an offset in its time",
    provenBy: [clientClient, doorPython, wireRequests, wireTimestamps],
  },
  { id: "PY-55", about: "the last page without a cursor", provenBy: [wireAnswers, wireTimestamps] },
  { id: "PY-56", about: "a retry with the original ids", provenBy: [clientPythonClient] },
  { id: "PY-57", about: "an event after the end", provenBy: [clientPythonClient] },
  { id: "PY-58", about: "credential constraints with underscores", provenBy: [wireAnswers] },
  { id: "PY-59", about: "history before the answer", provenBy: [clientPythonClient, wireAnswers] },
  {
    id: "PY-60",
    about: "two series of numbers in one session",
    provenBy: [clientCursors, clientPythonClient],
  },
  {
    id: "PY-61",
    about: "a subscription from the submitting session",
    provenBy: [clientPythonClient],
  },
  { id: "PY-62", about: "a resume with a running job", provenBy: [clientPythonClient] },
  { id: "PY-63", about: "a refused resume", provenBy: [clientResumption] },
  { id: "PY-64", about: "a result without a value", provenBy: [clientPythonClient, wireAnswers] },
  { id: "PY-65", about: "a schema error of ours", provenBy: [clientPythonClient, wireAnswers] },
  { id: "PY-66", about: "a retry from another session", provenBy: [clientPythonClient] },
  { id: "PY-70", about: "a cancel, in both dialects", provenBy: [doorPython, wireAnswers] },
  {
    id: "PY-71",
    about: "a budget, in both dialects",
    provenBy: [doorPython, wireAnswers, wireDialect],
  },
  { id: "PY-72", about: "an unknown agent, in both dialects", provenBy: [doorPython, wireDialect] },
  { id: "PY-73", about: "the tail of a finished job", provenBy: [interopPythonClients] },
  {
    id: "PY-74",
    about: "a hello that only looks like Python's",
    provenBy: [doorPython, wireDialect],
  },
  { id: "PY-75", about: "a result that does not fit and cannot be split", provenBy: [doorPython] },
];

function must(id: string, rule: string, provenBy: readonly string[], notMet?: string): Rule {
  return { id, level: "MUST", rule, provenBy, ...(notMet !== undefined && { notMet }) };
}

function should(id: string, rule: string, provenBy: readonly string[], notMet?: string): Rule {
  return { id, level: "SHOULD", rule, provenBy, ...(notMet !== undefined && { notMet }) };
}
