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
  /** Files whose tests cite the id; others may too. None: not proven yet. */
  readonly provenBy: readonly string[];
  /** What is proven is only a part of it: that of the vocabulary, while those who use it are being built. */
  readonly isPartial?: boolean;
};

export type Vector = {
  readonly id: string;
  readonly about: string;
  readonly provenBy: readonly string[];
  readonly isPartial?: boolean;
};

const cliArcp = "test/cli/arcp.test.ts";
const cliEventFiles = "src/cli/arcp/event-files.test.ts";
const cliParse = "src/cli/parse.test.ts";
const doorReplay = "src/doors/arcp/replay.test.ts";
const interopCli = "test/interop/arcp-cli.test.ts";
const interopPythonClients = "test/interop/arcp-python-clients.test.ts";
const coreCredentials = "src/core/credentials.test.ts";
const coreGlob = "src/core/glob.test.ts";
const runtimeCredentials = "src/runtime/credentials.test.ts";
const runtimeAround = "src/runtime/around.test.ts";
const runtimeGuards = "src/runtime/guards.test.ts";
const tracing = "src/tracing/tracing.test.ts";
const packageTest = "test/client/package.test.ts";
const wireAnswers = "src/wire/arcp/answers.test.ts";
const wireBodies = "src/wire/arcp/bodies.test.ts";
const wireCanonical = "src/wire/arcp/canonical.test.ts";
const wireChunks = "src/wire/arcp/chunks.test.ts";
const wireDialect = "src/wire/arcp/dialect.test.ts";
const wireEnvelope = "src/wire/arcp/envelope.test.ts";
const wireErrors = "src/wire/arcp/errors.test.ts";
const wireFeatures = "src/wire/arcp/features.test.ts";
const wireHeartbeat = "src/wire/arcp/heartbeat.test.ts";
const wireIds = "src/wire/arcp/ids.test.ts";
const wireRequests = "src/wire/arcp/requests.test.ts";
const wireSession = "src/wire/arcp/session.test.ts";
const wireTraceHeaders = "src/wire/arcp/trace-headers.test.ts";
const wireTimestamps = "src/wire/arcp/timestamps.test.ts";
const interopModels = "test/interop/arcp-models.test.ts";

export const rules: readonly Rule[] = [
  must("ARCP-1", "Every id, token, nonce and trace id that we mint has the one form of its kind.", [
    wireIds,
  ]),
  must("ARCP-2", "Ids of others are opaque: any text of 1 to 256 characters.", [
    wireEnvelope,
    wireIds,
  ]),
  must(
    "ARCP-3",
    "A resume token has at least 128 bits of chance and is compared in constant time.",
    [],
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
  must(
    "ARCP-9",
    "Every frame of a runtime carries a session id, errors before the welcome too.",
    [wireAnswers, wireSession],
    { isPartial: true },
  ),
  must(
    "ARCP-10",
    "A trace id is sent as 32 hex digits only; a traceparent is understood, and a malformed one is nothing.",
    [wireEnvelope, wireIds, tracing],
  ),
  must("ARCP-11", "A payload is always an object.", [wireEnvelope]),
  must(
    "ARCP-12",
    "A malformed frame is answered and the session goes on, until twenty come in a row; no reader throws.",
    [wireEnvelope, wireSession],
    { isPartial: true },
  ),
  must("ARCP-13", "A frame of another session is refused.", [wireSession], { isPartial: true }),
  must(
    "ARCP-14",
    "Another protocol version is told which one there is; in the first frame that ends the connection.",
    [wireEnvelope, wireSession],
    { isPartial: true },
  ),
  should(
    "ARCP-15",
    "What is wrong with a message is told by its path, in one short line that repeats nothing of it.",
    [wireEnvelope, wireRequests],
  ),
  should("ARCP-16", "Fields of a frame are printed in one order, and nothing depends on it.", [
    wireEnvelope,
  ]),
  must(
    "ARCP-17",
    "A runtime refuses what is for clients and what nobody knows, by its type; a client ignores it.",
    [wireSession],
    { isPartial: true },
  ),
  must(
    "ARCP-18",
    "Before the welcome only a hello is heard; a second hello changes nothing.",
    [wireSession],
    { isPartial: true },
  ),
  must(
    "ARCP-19",
    "Frames of a transport are answered in their order, and a pong never waits behind a slow one.",
    [wireSession],
    { isPartial: true },
  ),
  must("ARCP-20", "Every answer names the request that it answers.", [wireAnswers], {
    isPartial: true,
  }),
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
  must("ARCP-23", "A result is sent inline or streamed, never both.", [wireAnswers]),
  should(
    "ARCP-24",
    "Filters that lie directly in the payload of a list count where there is no filter.",
    [wireRequests],
  ),
  must("ARCP-25", "All transports have one interface.", []),
  must(
    "ARCP-26",
    "Frames wait for their handler, a handler that throws stops nothing, and nothing is sent on what is closed.",
    [],
  ),
  must("ARCP-27", "What waits for a slow transport is bounded, and holds up nobody else.", []),
  must(
    "ARCP-28",
    "Over WebSocket a message is one JSON object in one text frame.",
    [wireEnvelope],
    { isPartial: true },
  ),
  must("ARCP-29", "No subprotocol is needed; one of ours is selected if it is offered.", []),
  must(
    "ARCP-30",
    "The path is /arcp, its query ignored; a mounted door leaves other upgrades alone.",
    [],
  ),
  must(
    "ARCP-31",
    "Hosts and origins outside of a configured list are turned away before the upgrade.",
    [],
  ),
  must("ARCP-32", "A binary message with a JSON object is taken as text; we send none.", []),
  must(
    "ARCP-33",
    "Messages beyond the inbound limit close with 1009, and ours stay under 1 MiB unless the user made them longer.",
    [],
  ),
  should("ARCP-34", "Compression is spoken when offered, and off by default.", []),
  must(
    "ARCP-35",
    "Close codes say why, and a close without one is loss of the transport.",
    [wireSession],
    { isPartial: true },
  ),
  must(
    "ARCP-36",
    "Who says no hello within 10 s is closed, and there is no second try on a connection.",
    [wireSession],
    { isPartial: true },
  ),
  should("ARCP-37", "Sessions per principal are capped, and a hook may limit handshakes.", []),
  should(
    "ARCP-38",
    "Credentials are only issued where nobody can listen in, unless an option says otherwise.",
    [],
  ),
  must(
    "ARCP-39",
    "Over stdio a line is one JSON object; blank lines and both line ends are fine.",
    [],
  ),
  must(
    "ARCP-40",
    "Standard output carries frames only; the end of input, or of a pipe, is loss of the transport.",
    [],
  ),
  must(
    "ARCP-41",
    "Lines have the same limit, may be split across reads, and writes honour back-pressure.",
    [],
  ),
  should(
    "ARCP-42",
    "A process and a child each become a transport in one call; a child exits when its input ends and nothing runs.",
    [cliArcp],
  ),
  must(
    "ARCP-43",
    "A pair in memory loses nothing, keeps the order, and shares nothing that could be changed.",
    [],
  ),
  must(
    "ARCP-44",
    "Losing a transport ends no job, and a detached session goes on counting and keeping.",
    [],
  ),
  must(
    "ARCP-45",
    "When a detached session expires its jobs go on; only its buffer and token are freed.",
    [],
  ),
  must(
    "ARCP-46",
    "A verifier maps a token to its principal; the one that is shipped compares in constant time.",
    [],
  ),
  must(
    "ARCP-47",
    "Whatever is wrong with a token is unauthenticated, in one wording; another wrong shape is an invalid request.",
    [wireRequests, wireSession],
    { isPartial: true },
  ),
  must("ARCP-48", "Tokens appear in no log, error, span or event.", [wireRequests], {
    isPartial: true,
  }),
  must(
    "ARCP-49",
    "Effective is what both offer, in the client's order, and a client intersects again.",
    [wireFeatures],
    { isPartial: true },
  ),
  must("ARCP-50", "No features means none, and unknown ones take part like any other.", [
    wireFeatures,
    wireRequests,
  ]),
  must(
    "ARCP-51",
    "Credentials are advertised only with a provisioner and a store for revocations; models always, as they are enforced.",
    [],
  ),
  must(
    "ARCP-52",
    "Agents are objects if versions are effective, else names; clients read both.",
    [wireAnswers],
    { isPartial: true },
  ),
  must(
    "ARCP-53",
    "Other capabilities are advertisements of vendors, and both sides show them.",
    [wireRequests],
    { isPartial: true },
  ),
  must(
    "ARCP-54",
    "Using a feature that is not effective is refused, ignored or made up for, each as the table says.",
    [wireFeatures, wireSession],
    { isPartial: true },
  ),
  must("ARCP-55", "Our client offers everything, and refuses locally what is not effective.", []),
  must("ARCP-56", "A handshake takes 5 s at most.", []),
  must(
    "ARCP-57",
    "A session error has the shape of all errors, and before the welcome rejects the hello.",
    [wireAnswers],
    { isPartial: true },
  ),
  must(
    "ARCP-58",
    "After the welcome session errors are rare, since some clients fail everything on one.",
    [],
  ),
  must(
    "ARCP-59",
    "Some codes end a session; our client fails only the call that an error belongs to.",
    [],
  ),
  must(
    "ARCP-60",
    "A resume is checked in a given order, and everything after the token fails in one way.",
    [wireRequests],
    { isPartial: true },
  ),
  must("ARCP-61", "The window to resume starts when the transport is lost.", []),
  must("ARCP-62", "Every welcome has a new token, and the old one is dead.", []),
  must("ARCP-63", "A cursor is covered up to and including the last number issued.", []),
  must(
    "ARCP-64",
    "After a resume all frames behind the cursor come first, with their ids, and none twice.",
    [wireIds],
    { isPartial: true },
  ),
  must("ARCP-65", "Only numbered frames are replayed, however many.", []),
  must("ARCP-66", "A resume beats the old transport, which is told so and closed.", []),
  must(
    "ARCP-67",
    "After a resume jobs, authority to cancel and subscriptions are as before; features are negotiated anew.",
    [],
  ),
  should("ARCP-68", "A submit that was seen is not run again; its answer is repeated.", []),
  must(
    "ARCP-69",
    "Any frame is life, and a ping is answered at once with its nonce.",
    [wireHeartbeat, wireSession],
    { isPartial: true },
  ),
  must(
    "ARCP-70",
    "A runtime pings when nothing came, or nothing went, for an interval.",
    [wireHeartbeat],
    { isPartial: true },
  ),
  must(
    "ARCP-71",
    "Loss is declared after two silent intervals and an unanswered ping, and said before the close.",
    [wireHeartbeat],
    { isPartial: true },
  ),
  should(
    "ARCP-72",
    "Our client pings when it has been silent, and takes two silent intervals for loss.",
    [wireHeartbeat],
    { isPartial: true },
  ),
  must(
    "ARCP-73",
    "Timers keep no process alive, survive stalls, and end with the connection.",
    [wireHeartbeat],
    { isPartial: true },
  ),
  must(
    "ARCP-74",
    "An acknowledgement only moves forward, is clamped, and frees what it covers.",
    [],
  ),
  must(
    "ARCP-75",
    "What is not acknowledged is kept while attached, up to caps that end neither session nor job.",
    [],
  ),
  should(
    "ARCP-76",
    "A client that lags is warned once by an event, and again only after it has caught up.",
    [],
  ),
  must("ARCP-77", "No agent ever waits for acknowledgements.", []),
  should(
    "ARCP-78",
    "A client may acknowledge by itself, in batches, what was delivered without a gap.",
    [],
  ),
  must(
    "ARCP-79",
    "A close is answered, a bye is not; both leave jobs running and the session resumable.",
    [wireSession],
    { isPartial: true },
  ),
  must(
    "ARCP-80",
    "Closing a client fails what is open, says bye with a reason, and waits a moment.",
    [],
  ),
  must(
    "ARCP-81",
    "A runtime that shuts down says so to every session and gives jobs their grace.",
    [cliArcp],
    { isPartial: true },
  ),
  must("ARCP-82", "A submit is checked in a given order, and the first failure counts.", []),
  must("ARCP-83", "Submits are answered in the order in which they came.", []),
  must(
    "ARCP-84",
    "A job's acceptance comes before everything else of it, and grants no more than was asked for.",
    [wireAnswers],
    { isPartial: true },
  ),
  must(
    "ARCP-85",
    "A job has the trace of its submit or a new one, on all of its frames.",
    [wireIds],
    { isPartial: true },
  ),
  should("ARCP-86", "The first event of a job says that it runs.", []),
  must(
    "ARCP-87",
    "An input is passed on unchanged, and none is the same as null.",
    [wireRequests],
    { isPartial: true },
  ),
  must("ARCP-88", "Unfinished jobs per session are capped, and the one too many is rejected.", []),
  must(
    "ARCP-89",
    "A submit that is refused gets one error with a job id that is nobody's, and a number.",
    [wireDialect],
    { isPartial: true },
  ),
  must("ARCP-90", "A rejection never has the id of a real job.", []),
  must(
    "ARCP-91",
    "An unknown version is refused by a session error, unless an option says otherwise.",
    [wireDialect],
    { isPartial: true },
  ),
  should("ARCP-92", "An option refuses every submit by a session error.", [wireDialect], {
    isPartial: true,
  }),
  must("ARCP-93", "A malformed submit is a rejection too, with the path.", [wireRequests], {
    isPartial: true,
  }),
  must(
    "ARCP-94",
    "Equal parameters are equal as canonical JSON, per principal and key, for a day.",
    [wireCanonical],
    { isPartial: true },
  ),
  must(
    "ARCP-95",
    "The same key with equal parameters gets the acceptance again and no new job.",
    [],
  ),
  must(
    "ARCP-96",
    "A retry of an ended job gets its end again; of a running one, its events and the right to cancel.",
    [],
  ),
  must("ARCP-97", "The same key with other parameters is refused.", []),
  must("ARCP-98", "Of two equal submits at once one runs, and the other waits for its answer.", [
    runtimeCredentials,
  ]),
  should("ARCP-99", "Keys survive a restart.", []),
  must("ARCP-100", "An agent is a name, or a name and a version, each of given characters.", []),
  must("ARCP-101", "An unknown name and an unknown version are two errors.", []),
  must(
    "ARCP-102",
    "Without a version the default counts, then the agent without one, then the highest.",
    [],
  ),
  must("ARCP-103", "A job's agent is shown as resolved, and never changes.", []),
  must("ARCP-104", "A job ends exactly once, and nothing follows.", []),
  must(
    "ARCP-105",
    "What an agent returns is its result, what it throws its error; a value that JSON cannot carry is ours.",
    [wireAnswers],
    { isPartial: true },
  ),
  must("ARCP-106", "An expired lease and a spent budget end as errors.", []),
  must("ARCP-107", "A job that runs too long ends at once as timed out.", []),
  must("ARCP-108", "Deadlines further away than a timer can count work.", []),
  should("ARCP-109", "Ended jobs stay visible for a while.", []),
  must("ARCP-110", "A cancel names its job on the envelope, or in the payload.", [wireRequests], {
    isPartial: true,
  }),
  must("ARCP-111", "Who submitted may cancel; who only watches may not.", []),
  must(
    "ARCP-112",
    "A cancel is acknowledged, then the agent is told, then the job ends as cancelled.",
    [wireAnswers],
    { isPartial: true },
  ),
  must("ARCP-113", "A second cancel changes nothing, and one of an ended job is ignored.", []),
  must(
    "ARCP-114",
    "A refused cancel is an error without a number that only the canceller sees.",
    [],
  ),
  must("ARCP-115", "Once cancelled a job ends as cancelled, unless its end had been sent.", []),
  should("ARCP-116", "A job that fails takes its children along.", []),
  must("ARCP-117", "Numbers are per session, begin at 1 and have no gap, over resumes too.", []),
  must("ARCP-118", "A frame is logged before it is sent.", []),
  must(
    "ARCP-119",
    "Frames leave in the order of their numbers, events of a job in the order of their making.",
    [],
  ),
  must("ARCP-120", "A client drops what it has seen, and takes a gap for a broken session.", []),
  must(
    "ARCP-121",
    "A body of the wrong shape is thrown back at the agent and not sent; progress beyond its total is.",
    [wireBodies],
    { isPartial: true },
  ),
  must(
    "ARCP-122",
    "Bodies of others are passed on as they are, with one view of all spellings; we send no other kinds.",
    [wireAnswers, wireBodies],
    { isPartial: true },
  ),
  must("ARCP-123", "A tool's result is either a value or an error with a known code.", [
    wireBodies,
  ]),
  must(
    "ARCP-124",
    "A streamed result has one id, numbered chunks, one last, and its size at the end.",
    [wireChunks],
    { isPartial: true },
  ),
  must(
    "ARCP-125",
    "A stream without data is one empty chunk, and text is never cut inside a character.",
    [wireChunks],
  ),
  must("ARCP-126", "Chunks and results are capped, and longer writes are split.", [wireChunks], {
    isPartial: true,
  }),
  must(
    "ARCP-127",
    "A stream is finished for an agent that forgets to, and cannot be continued after its end.",
    [],
  ),
  must(
    "ARCP-128",
    "Chunks are assembled in order, once each, without a gap and with an end, or it is an error.",
    [wireChunks],
    { isPartial: true },
  ),
  must("ARCP-129", "A list shows the jobs that its principal may see, and hints at no others.", []),
  must("ARCP-130", "Filters are combined, and a bad one is refused.", [wireRequests], {
    isPartial: true,
  }),
  must("ARCP-131", "A page has 100 jobs, at most 1,000.", []),
  must("ARCP-132", "Lists are ordered by age, and cursors are stable while jobs come and go.", []),
  must(
    "ARCP-133",
    "Entries hold no credentials, and the number from which to subscribe.",
    [wireAnswers],
    { isPartial: true },
  ),
  must("ARCP-134", "A page costs what it shows, not what there is.", []),
  must("ARCP-135", "Subscribing is for the submitter's principal, or for whom a policy lets.", []),
  must(
    "ARCP-136",
    "A subscription is told so, then has history, then what is live, without loss or doubles.",
    [],
  ),
  must(
    "ARCP-137",
    "History begins after the given number of the job's own session.",
    [wireRequests],
    { isPartial: true },
  ),
  must(
    "ARCP-138",
    "Forwarded frames have the subscriber's ids and numbers, and are otherwise unchanged.",
    [],
  ),
  must(
    "ARCP-139",
    "A subscriber is told its number after the history, and whether there is any.",
    [],
  ),
  must(
    "ARCP-140",
    "A subscriber is told the job's authority as it is now, with credentials only for its submitter.",
    [],
  ),
  must("ARCP-141", "Ended jobs can be subscribed to, and nobody hears anything twice.", []),
  must(
    "ARCP-142",
    "Unsubscribing is not answered, and the end of a job ends its subscriptions.",
    [],
  ),
  should("ARCP-143", "Every decision about a subscription is reported to a hook.", []),
  must(
    "ARCP-144",
    "Capabilities are the seven known ones and those of vendors; a lease of another shape is refused.",
    [wireRequests],
    { isPartial: true },
  ),
  must(
    "ARCP-145",
    "An operation needs its capability and a pattern; expiry, budget and pattern are checked in this order.",
    [],
  ),
  must(
    "ARCP-146",
    "Tool calls and delegation are enforced by the context itself; for the rest there is a call.",
    [runtimeGuards],
    { isPartial: true },
  ),
  must(
    "ARCP-147",
    "A star stays within a segment, two do not, and everything else is itself.",
    [coreGlob],
    { isPartial: true },
  ),
  must("ARCP-148", "Matching takes pattern times target, and patterns are bounded.", []),
  must(
    "ARCP-149",
    "Targets are made canonical before they are matched, each capability in its own way.",
    [coreGlob, runtimeGuards],
    { isPartial: true },
  ),
  must(
    "ARCP-150",
    "An expiry has one form, is a real date and lies in the future; it is echoed unchanged.",
    [],
  ),
  must("ARCP-151", "At its expiry a job ends, and operations fail.", []),
  must("ARCP-152", "Deadlines follow the monotonic clock from acceptance on.", []),
  must("ARCP-153", "There is no renewal.", []),
  must(
    "ARCP-154",
    "An amount is a currency and a plain decimal; those of one currency add up.",
    [],
  ),
  must(
    "ARCP-155",
    "Counters are exact decimals, and on the wire the nearest number.",
    [wireDialect],
    { isPartial: true },
  ),
  must(
    "ARCP-156",
    "A cost metric lowers the counter of its currency, below zero too; a negative one is refused.",
    [],
  ),
  must(
    "ARCP-157",
    "While a counter is at or below zero every operation fails, and the job goes on.",
    [],
  ),
  should("ARCP-158", "What remains is reported after costs, when it has moved enough.", []),
  must("ARCP-159", "What a child spends its ancestors have spent.", []),
  should("ARCP-160", "A hook turns an upstream's limit into a spent budget.", []),
  must("ARCP-161", "Models are checked like anything else, and none is allowed by default.", []),
  must("ARCP-162", "A child's lease is covered by its parent's.", []),
  must(
    "ARCP-163",
    "That is decided exactly, against all of the parent's patterns at once, within a bound.",
    [],
  ),
  must("ARCP-164", "The pairs of the contract are decided as it says.", [coreGlob], {
    isPartial: true,
  }),
  must("ARCP-165", "A child may spend what its ancestors have left, and no other currency.", []),
  must("ARCP-166", "A child expires with its parent, at the latest.", []),
  must("ARCP-167", "Patterns are compared in their canonical form.", []),
  must(
    "ARCP-168",
    "Credentials are issued before the acceptance, and come with it.",
    [runtimeCredentials],
    { isPartial: true },
  ),
  must(
    "ARCP-169",
    "What was issued is on record before anyone is told; what fails is revoked.",
    [runtimeCredentials],
    { isPartial: true },
  ),
  must(
    "ARCP-170",
    "When a job ends its credentials are revoked, again and again until it succeeds.",
    [coreCredentials, runtimeCredentials],
  ),
  must("ARCP-171", "No value is handed to two live jobs.", [coreCredentials, runtimeCredentials]),
  must(
    "ARCP-172",
    "A rotated credential is told by an event, without its value in any copy that is kept.",
    [runtimeCredentials],
    { isPartial: true },
  ),
  must(
    "ARCP-173",
    "Only bearer credentials are sent; a client drops what it cannot use and keeps the rest.",
    [runtimeCredentials, wireAnswers],
    { isPartial: true },
  ),
  must(
    "ARCP-174",
    "A credential's value appears nowhere but where it is used.",
    [runtimeCredentials],
    { isPartial: true },
  ),
  must("ARCP-175", "A child's credentials end with its parent.", [
    coreCredentials,
    runtimeCredentials,
  ]),
  must(
    "ARCP-176",
    "Delegating is an event, a check, and then a job of its own or an error for the agent.",
    [wireAnswers],
    { isPartial: true },
  ),
  must(
    "ARCP-177",
    "A child has its parent's session, principal and trace, and its own everything else.",
    [],
  ),
  should("ARCP-178", "An agent gets a handle of its child.", []),
  must("ARCP-179", "A client may submit a child, under the same checks.", []),
  should("ARCP-180", "Delegation is eight deep at most, and children count.", []),
  must("ARCP-181", "A wrapper makes a span for every frame that is sent or received.", [tracing]),
  must("ARCP-182", "Spans say what the frame was about.", [tracing]),
  must("ARCP-183", "Trace context travels in an extension, and a trace id that is there is kept.", [
    tracing,
    wireTraceHeaders,
  ]),
  must("ARCP-184", "Agents know their trace context, and wrappers forward it.", [
    runtimeAround,
    runtimeGuards,
  ]),
  should(
    "ARCP-185",
    "A span is around each job, and nothing is loaded where there is no tracing.",
    [tracing, packageTest],
  ),
  must("ARCP-186", "What is over is never retryable, and what is ours always is.", [wireErrors]),
  must("ARCP-187", "Only known codes are sent; a received one that is not known is kept.", [
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
    [wireFeatures, wireSession],
    { isPartial: true },
  ),
  must("ARCP-192", "What is a vendor's passes unchanged.", [wireBodies, wireFeatures], {
    isPartial: true,
  }),
  must(
    "ARCP-193",
    "Frames of a session can be appended once, read behind a number, and released, in memory and on disk.",
    [],
  ),
  should(
    "ARCP-194",
    "Recorded sessions of other runtimes can be replayed, and ours by theirs.",
    [cliEventFiles, interopCli],
    { isPartial: true },
  ),
  must("ARCP-195", "What is stored holds no secrets.", []),
  should("ARCP-196", "Writes are grouped.", []),
  should(
    "ARCP-197",
    "A restart brings back sessions, ended jobs and keys, and ends what was running.",
    [],
  ),
  must(
    "ARCP-198",
    "What an expired session had kept is deleted; a job's history is kept on its own account.",
    [],
  ),
  should(
    "ARCP-199",
    "A runtime is one object with agents, a verifier and a way to accept transports.",
    [],
  ),
  should(
    "ARCP-200",
    "An agent's context has what it needs to know, and a call for everything it may say.",
    [],
  ),
  must(
    "ARCP-201",
    "A tool call outside of the lease is shown, answered with the error, and rejected.",
    [],
  ),
  must(
    "ARCP-202",
    "Emitting resolves when the frame is logged, and works without a transport.",
    [],
  ),
  must("ARCP-203", "Defaults are those of the table.", []),
  must(
    "ARCP-204",
    "A runtime has no unhandled rejections, forgets ended jobs, and closes without a rest.",
    [],
  ),
  should(
    "ARCP-205",
    "Hooks decide who may observe, narrow leases, audit, and hear of failed revocations.",
    [],
  ),
  should("ARCP-206", "A client has the options, methods and properties that its users know.", []),
  should(
    "ARCP-207",
    "A submit resolves when it is accepted, with a handle for all that follows.",
    [],
  ),
  must(
    "ARCP-208",
    "Waiting for the end of a job always ends, and nobody who does not wait is harmed.",
    [],
  ),
  must("ARCP-209", "A submit that is aborted is cancelled, whenever it is accepted.", []),
  must(
    "ARCP-210",
    "Events are delivered in order, and an iterator that nobody reads holds only so many.",
    [],
  ),
  must("ARCP-211", "Every submit has a trace id of its own.", []),
  must(
    "ARCP-212",
    "Cancels and byes have a reason, and the job's id is on the envelope.",
    [wireRequests],
    { isPartial: true },
  ),
  must("ARCP-213", "An acceptance finds its submit by request, trace or order.", []),
  must("ARCP-214", "An error of a job finds the call that it belongs to, or ends the job.", []),
  must(
    "ARCP-215",
    "A session error without a request finds its call by code, and fails no running job.",
    [],
  ),
  must("ARCP-216", "A subscription finds its answer, and events that came before it are kept.", []),
  must("ARCP-217", "A list finds its answer by request.", []),
  should(
    "ARCP-218",
    "A client that lost its transport tries again with growing pauses, and handles stay valid.",
    [],
  ),
  must("ARCP-219", "Only a welcome replaces the resume token.", []),
  must(
    "ARCP-220",
    "Submits without an answer are sent again where that cannot run them twice.",
    [],
  ),
  must("ARCP-221", "A refused resume rejects what was open, and may open a new session.", []),
  must(
    "ARCP-222",
    "A runtime that refuses to resume with nothing to replay is asked once more, for one number less.",
    [],
  ),
  must(
    "ARCP-223",
    "The command line has the commands and flags of the table.",
    [cliParse, cliArcp],
    { isPartial: true },
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
    cliArcp,
    doorReplay,
    cliEventFiles,
  ]),
  must("ARCP-228", "Exit codes mean something, and an error is one line.", [cliArcp]),
  should("ARCP-229", "Address and token may come from the environment.", [cliArcp]),
  must("ARCP-230", "One function mounts the door on any server; adapters build on it.", []),
  must("ARCP-231", "Apps of ours guard ordinary requests with the same list of hosts.", []),
  should("ARCP-232", "A runtime may be mounted directly.", []),
  must("ARCP-233", "Nothing is loaded of frameworks that are not used.", []),
  should(
    "ARCP-234",
    "There is an example for each thing that the protocol can do, and each checks itself.",
    [],
  ),
  must("ARCP-235", "The TypeScript SDK's client gets through everything with our runtime.", []),
  must("ARCP-236", "Our client gets through everything with the TypeScript SDK's runtime.", []),
  must("ARCP-237", "Ours get through everything with each other, over every transport.", []),
  must(
    "PYR-1",
    "The Python client is known by its hello, at each hello, unless an option says otherwise.",
    [wireDialect],
  ),
  must(
    "PYR-2",
    "Envelopes for the Python client have ids, traces and numbers as it wants them.",
    [interopModels],
    { isPartial: true },
  ),
  must(
    "PYR-3",
    "The welcome comes first, and has all that the Python client requires.",
    [interopModels],
    { isPartial: true },
  ),
  must("PYR-4", "The Python client is answered within its 5 s, or its job is cancelled.", []),
  must(
    "PYR-5",
    "An acceptance has budgets as texts with their decimals, and nothing that the Python client chokes on.",
    [wireAnswers, wireDialect, interopModels],
    { isPartial: true },
  ),
  must("PYR-6", "The acceptance precedes every other frame of a job.", []),
  must("PYR-7", "A refused submit is a session error with its request.", [wireDialect], {
    isPartial: true,
  }),
  must(
    "PYR-8",
    "Ends have the time at which they came, and a status that the Python client knows.",
    [wireAnswers, interopModels],
    { isPartial: true },
  ),
  must(
    "PYR-9",
    "Cancelled and timed out are errors on the wire, and themselves in lists.",
    [wireAnswers, interopModels],
    { isPartial: true },
  ),
  must("PYR-10", "Events and ends have the job's id on the envelope.", []),
  must(
    "PYR-11",
    "Chunks come once and in order, and the size is that of the decoded bytes.",
    [wireChunks],
    { isPartial: true },
  ),
  must("PYR-12", "A listed job has both of its times.", [wireAnswers, interopModels], {
    isPartial: true,
  }),
  must(
    "PYR-13",
    "A subscription's answer has all that the Python client requires.",
    [wireAnswers, interopModels],
    { isPartial: true },
  ),
  must("PYR-14", "Frames of a job wait 25 ms behind the answer to a subscription.", [wireDialect], {
    isPartial: true,
  }),
  must("PYR-15", "Failures of lists and subscriptions are session errors.", []),
  must("PYR-16", "A refused cancel fails the canceller's own handle.", []),
  must(
    "PYR-17",
    "A silent client is normal, and pinged where heartbeats are effective.",
    [wireHeartbeat],
    { isPartial: true },
  ),
  must(
    "PYR-18",
    "Nothing is sent that is longer than the Python client reads.",
    [wireChunks, wireDialect],
    { isPartial: true },
  ),
  must("PYR-19", "The intersection of features is in the welcome.", [wireFeatures], {
    isPartial: true,
  }),
  must("PYR-20", "Everything that the Python client sends is accepted.", [wireRequests], {
    isPartial: true,
  }),
  must("PYR-21", "Over stdio there are only frames, and no blank line.", []),
  must(
    "PYR-22",
    "A resume within milliseconds of the close wins, and a job's own session may subscribe to it.",
    [],
  ),
  must("PYR-23", "A retry with the same key satisfies the Python client.", []),
  must("PYR-24", "A bye is answered by closing with 1000.", [wireSession], { isPartial: true }),
  must("PYC-1", "The Python runtime is known by its welcome, unless an option says otherwise.", [
    wireDialect,
  ]),
  must(
    "PYC-2",
    "Our hello has what the Python runtime requires and no null; its schema errors are not retried.",
    [wireRequests, interopModels],
    { isPartial: true },
  ),
  must("PYC-3", "Features of its welcome are intersected with ours.", [wireFeatures], {
    isPartial: true,
  }),
  must("PYC-4", "What we send stays within its limits.", []),
  must("PYC-5", "It is never sent a close, but a bye with a reason.", []),
  must("PYC-6", "Its session errors belong to the oldest request without an answer.", []),
  must(
    "PYC-7",
    "Its spellings, counts and missing fields are read.",
    [wireAnswers, wireTimestamps],
    { isPartial: true },
  ),
  must(
    "PYC-8",
    "Its results that were cancelled or timed out are failures, and later frames are dropped.",
    [wireAnswers],
    { isPartial: true },
  ),
  must("PYC-9", "A cancel without an acknowledgement is looked after by a list.", []),
  must("PYC-10", "Its envelope ids are not unique, and nothing goes by them.", []),
  must("PYC-11", "Numbers are kept apart for own jobs and for each subscription.", []),
  should("PYC-12", "Submitting and observing are done in separate sessions.", []),
  must("PYC-13", "History that comes before the answer to a subscription is kept for it.", []),
  must("PYC-14", "A resume waits for the old connection to close, and is tried once.", []),
  must(
    "PYC-15",
    "After a resume every unfinished job is subscribed to, and one whose end was lost is told so.",
    [],
  ),
  must("PYC-16", "Submits are sent again only with a key.", []),
  must("PYC-17", "A retry from another session subscribes to the job.", []),
  must("PYC-18", "Its pings are answered.", []),
  should("PYC-19", "Lists are filtered by the exact agent.", []),
  must("PYC-20", "The path is exactly /arcp.", []),
  must("PYC-21", "Any close without a bye is loss of the transport.", []),
  must(
    "PYA-1",
    "The unmodified example clients of the Python SDK pass against our example servers.",
    [],
  ),
  must("PYA-2", "Our example clients pass against the servers of the Python SDK.", []),
  must("PYA-3", "The command lines of both work with the runtimes of both.", [
    interopCli,
    interopPythonClients,
  ]),
  must("PYA-4", "Every frame for a Python peer passes its own models.", [interopModels], {
    isPartial: true,
  }),
  must("PYA-5", "All vectors hold.", []),
  should("PYA-6", "The example clients pass while our runtime is killed between them.", []),
  should("PYA-7", "Speed with the Python client is reported.", []),
];

export const vectors: readonly Vector[] = [
  {
    id: "PY-1",
    about: "the hello of the Python client",
    provenBy: [wireDialect, wireRequests],
    isPartial: true,
  },
  {
    id: "PY-2",
    about: "its usual features, in their order",
    provenBy: [wireFeatures],
    isPartial: true,
  },
  { id: "PY-3", about: "its hello with a resume", provenBy: [wireRequests], isPartial: true },
  { id: "PY-4", about: "its hello with trace context", provenBy: [wireRequests], isPartial: true },
  { id: "PY-5", about: "a submit without input", provenBy: [wireRequests], isPartial: true },
  { id: "PY-6", about: "a submit with everything", provenBy: [wireRequests], isPartial: true },
  { id: "PY-7", about: "a cancel", provenBy: [wireRequests], isPartial: true },
  { id: "PY-8", about: "a list without a filter", provenBy: [wireRequests], isPartial: true },
  {
    id: "PY-9",
    about: "a subscription with the job on the envelope",
    provenBy: [wireRequests],
    isPartial: true,
  },
  { id: "PY-10", about: "an unsubscription without it", provenBy: [wireRequests], isPartial: true },
  {
    id: "PY-11",
    about: "a bye, then a close",
    provenBy: [wireRequests, wireSession],
    isPartial: true,
  },
  {
    id: "PY-12",
    about: "a bye after a refused hello",
    provenBy: [wireRequests, wireSession],
    isPartial: true,
  },
  {
    id: "PY-20",
    about: "the least welcome that is accepted",
    provenBy: [wireAnswers],
    isPartial: true,
  },
  { id: "PY-21", about: "the least acceptance", provenBy: [wireAnswers], isPartial: true },
  { id: "PY-22", about: "the least result", provenBy: [wireAnswers] },
  { id: "PY-23", about: "the least error", provenBy: [wireAnswers] },
  { id: "PY-24", about: "the least list", provenBy: [wireAnswers] },
  { id: "PY-25", about: "the least answer to a subscription", provenBy: [wireAnswers] },
  { id: "PY-26", about: "a ping", provenBy: [wireRequests], isPartial: true },
  { id: "PY-27", about: "an event of a new kind", provenBy: [wireAnswers] },
  {
    id: "PY-30",
    about: "ids that end the reading",
    provenBy: [wireIds, interopModels],
    isPartial: true,
  },
  { id: "PY-31", about: "trace ids that do", provenBy: [wireEnvelope, wireIds], isPartial: true },
  { id: "PY-32", about: "numbers that do", provenBy: [wireEnvelope], isPartial: true },
  { id: "PY-33", about: "a payload that does", provenBy: [wireEnvelope], isPartial: true },
  { id: "PY-34", about: "a version that does", provenBy: [wireEnvelope], isPartial: true },
  { id: "PY-35", about: "bytes that are no JSON", provenBy: [wireEnvelope], isPartial: true },
  {
    id: "PY-36",
    about: "a welcome without its session or time",
    provenBy: [wireAnswers],
    isPartial: true,
  },
  { id: "PY-37", about: "budgets as numbers", provenBy: [wireAnswers, interopModels] },
  { id: "PY-38", about: "a lease that is null", provenBy: [wireAnswers] },
  {
    id: "PY-39",
    about: "a credential of another scheme",
    provenBy: [wireAnswers],
    isPartial: true,
  },
  {
    id: "PY-40",
    about: "an error that says cancelled",
    provenBy: [wireAnswers, interopModels],
    isPartial: true,
  },
  { id: "PY-41", about: "an end without its time", provenBy: [wireAnswers], isPartial: true },
  { id: "PY-42", about: "a result that says error", provenBy: [wireAnswers], isPartial: true },
  {
    id: "PY-43",
    about: "a submit refused by a job error",
    provenBy: [wireDialect],
    isPartial: true,
  },
  {
    id: "PY-44",
    about: "list entries and subscriptions without what is required",
    provenBy: [wireAnswers],
    isPartial: true,
  },
  { id: "PY-45", about: "an acceptance that comes too late", provenBy: [] },
  {
    id: "PY-46",
    about: "history in one write with the answer",
    provenBy: [wireDialect],
    isPartial: true,
  },
  {
    id: "PY-47",
    about: "a message of one byte too many",
    provenBy: [wireDialect],
    isPartial: true,
  },
  { id: "PY-48", about: "a line of one byte too many", provenBy: [wireDialect], isPartial: true },
  {
    id: "PY-50",
    about: "a refused hello without a session",
    provenBy: [wireAnswers],
    isPartial: true,
  },
  {
    id: "PY-51",
    about: "a refused version with other calls open",
    provenBy: [wireAnswers],
    isPartial: true,
  },
  { id: "PY-52", about: "a budget as text", provenBy: [wireAnswers] },
  { id: "PY-53", about: "a result that was cancelled", provenBy: [wireAnswers], isPartial: true },
  {
    id: "PY-54",
    about: "a ping with an offset in its time",
    provenBy: [wireRequests, wireTimestamps],
    isPartial: true,
  },
  { id: "PY-55", about: "the last page without a cursor", provenBy: [wireAnswers, wireTimestamps] },
  { id: "PY-56", about: "a retry with the original ids", provenBy: [] },
  { id: "PY-57", about: "an event after the end", provenBy: [] },
  { id: "PY-58", about: "credential constraints with underscores", provenBy: [wireAnswers] },
  { id: "PY-59", about: "history before the answer", provenBy: [wireAnswers], isPartial: true },
  { id: "PY-60", about: "two series of numbers in one session", provenBy: [] },
  { id: "PY-61", about: "a subscription from the submitting session", provenBy: [] },
  { id: "PY-62", about: "a resume with a running job", provenBy: [] },
  { id: "PY-63", about: "a refused resume", provenBy: [] },
  { id: "PY-64", about: "a result without a value", provenBy: [wireAnswers], isPartial: true },
  { id: "PY-65", about: "a schema error of ours", provenBy: [wireAnswers], isPartial: true },
  { id: "PY-66", about: "a retry from another session", provenBy: [] },
  { id: "PY-70", about: "a cancel, in both dialects", provenBy: [wireAnswers], isPartial: true },
  {
    id: "PY-71",
    about: "a budget, in both dialects",
    provenBy: [wireAnswers, wireDialect],
    isPartial: true,
  },
  {
    id: "PY-72",
    about: "an unknown agent, in both dialects",
    provenBy: [wireDialect],
    isPartial: true,
  },
  { id: "PY-73", about: "the tail of a finished job", provenBy: [] },
  { id: "PY-74", about: "a hello that only looks like Python's", provenBy: [wireDialect] },
  { id: "PY-75", about: "a result that does not fit and cannot be split", provenBy: [] },
];

type Part = { readonly isPartial: boolean };

function must(id: string, rule: string, provenBy: readonly string[], part?: Part): Rule {
  return { id, level: "MUST", rule, provenBy, ...part };
}

function should(id: string, rule: string, provenBy: readonly string[], part?: Part): Rule {
  return { id, level: "SHOULD", rule, provenBy, ...part };
}
