import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  type AgentId,
  agentId,
  type Command,
  groupName,
  policyId,
  taskId,
} from "../../core/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import { Plane, limits as planeLimits } from "../../plane/index.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { ByteBudget, makeByteBudgets } from "../../transport/index.ts";
import { WorkView } from "../../views/index.ts";
import type { Overview, Page } from "../../wire/api/index.ts";
import {
  printTimestamp,
  type StatusFile,
  type StatusRecord,
  schemaVersion,
} from "../../wire/status-file/index.ts";
import {
  type About,
  Credentials,
  type HttpDoor,
  type HttpDoorOptions,
  limits,
  Metrics,
  openHttpDoor,
  Timeline,
} from "./index.ts";

const methods = [
  "/agentkeeper.v1.RegistryService/Register",
  "/agentkeeper.v1.TaskService/ListTasks",
];
const about: About = {
  version: "1.2.3",
  planeId: "plane-1",
  startedAtMs: 1_700_000_000_000,
  pid: 42,
  isKept: false,
};
/** What these tests do not look at. */
const plain: Pick<
  HttpDoorOptions,
  "about" | "timeline" | "credentials" | "find" | "ranking" | "lookAround" | "lookClosely"
> = {
  about: () => about,
  timeline: new Timeline(),
  credentials: new Credentials("secret"),
  find: async () => ({ hits: [], ranking: "table" }),
  ranking: () => ({ ranking: "table" }),
  lookAround: async () => [],
  lookClosely: (seen) => seen,
};
const paths = ["/", "/healthz", "/readyz", "/metrics", "/api/v1/overview", "/api/v1/events"];
const loopback = [{ host: "127.0.0.1", port: 0 }];

test("health is two letters of plain text", async (t) => {
  const { ask } = await open(t);
  const answer = await ask("/healthz");
  assert.equal(answer.status, 200);
  assert.equal(answer.body, "ok");
  assert.match(answer.headers["content-type"] ?? "", /^text\/plain/);
});

test("a plane that shuts down is healthy and not ready", async (t) => {
  let isReady = true;
  const { ask } = await open(t, { isReady: () => isReady });
  const before = await ask("/readyz");
  isReady = false;
  const after = await ask("/readyz");
  assert.deepEqual([before.status, before.body], [200, "ready"]);
  assert.deepEqual([after.status, after.body], [503, "shutting down"]);
  assert.equal((await ask("/healthz")).status, 200);
});

test("every answer forbids framing, guessing, keeping and sharing", async (t) => {
  const { ask } = await open(t);
  const answers = [
    ...(await Promise.all(paths.map((path) => ask(path, { method: "HEAD" })))),
    await ask("/nothing"),
    await ask("/", { method: "POST" }),
    await ask("/", { headers: { host: "evil.example" } }),
    await ask("/", { headers: { host: "not a host" } }),
    await ask("/", { headers: { origin: "http://evil.example" } }),
    await ask("/api/v1/events?after=x"),
  ];
  const statuses = answers.map(({ status }) => status);
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 200, 404, 405, 421, 400, 403, 400]);
  for (const { headers } of answers) {
    assert.match(
      String(headers["content-security-policy"]),
      /^default-src 'none'; .*frame-ancestors 'none'/,
    );
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["referrer-policy"], "no-referrer");
    assert.equal(headers["cache-control"], "no-store");
    assert.equal(headers["x-frame-options"], "DENY");
    assert.equal(headers["cross-origin-resource-policy"], "same-origin");
    assert.equal(headers["access-control-allow-origin"], undefined);
  }
});

test("only names of this machine, and those it was told, are served", async (t) => {
  const { ask } = await open(t, { hosts: ["Tipstaff.lan"] });
  const served = [
    "localhost",
    "LOCALHOST:1",
    "127.0.0.1:9090",
    "[::1]",
    "[::1]:9090",
    "tipstaff.lan:80",
  ];
  for (const host of served) {
    assert.equal((await ask("/healthz", { headers: { host } })).status, 200, host);
  }
  const refused = [
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "[::2]",
    "0.0.0.0",
    "",
  ];
  for (const host of refused) {
    const { status, body } = await ask("/healthz", { headers: { host } });
    assert.ok(status === 421 || status === 400, `${host}: ${status}`);
    assert.equal(body.includes("ok"), false);
  }
  const { body } = await ask("/healthz", { headers: { host: "evil.example" } });
  assert.match(body, /^[^\n]+$/, "one line");
  const absolute = await ask("http://evil.example/healthz", { headers: { host: "localhost" } });
  assert.equal(absolute.status, 421, "the address itself counts for more than the header");
});

test("pages from elsewhere are refused, our own are not", async (t) => {
  const { ask, port } = await open(t, { hosts: ["tipstaff.lan"] });
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, "tipstaff.lan"]) {
    for (const origin of [`http://${host}`, `https://${host}`]) {
      assert.equal((await ask("/healthz", { headers: { host, origin } })).status, 200, origin);
    }
  }
  for (const origin of [
    "null",
    "http://localhost",
    "http://localhost:3000",
    "http://evil.example",
    "http://localhost.evil.example",
    "file://",
  ]) {
    const answer = await ask("/api/v1/overview", { headers: { origin } });
    assert.equal(answer.status, 403, origin);
    assert.equal(JSON.parse(answer.body).error.code, "forbidden_origin");
  }
});

test("a door that is open to all goes by any name, and only its own pages may call it", async (t) => {
  const { ask } = await open(t, { hosts: "any" });
  const host = "build-7.example:9090";
  assert.equal((await ask("/healthz", { headers: { host } })).status, 200);
  const asked = async (origin: string) => (await ask("/", { headers: { host, origin } })).status;
  assert.equal(await asked("http://build-7.example:9090"), 200);
  assert.equal(await asked("http://build-7.example"), 403);
  assert.equal(await asked("http://evil.example"), 403);
  assert.equal(await asked("null"), 403);
});

test("over the Unix socket any host will do, and foreign origins still will not", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "tipstaff-http-"));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, "door.sock");
  const { ask, door } = await open(t, { places: [...loopback, { path }] });
  assert.deepEqual(door.places[1], { path });
  const answer = await ask("/healthz", { socketPath: path, headers: { host: "evil.example" } });
  assert.equal(answer.body, "ok");
  const foreign = { host: "localhost", origin: "http://evil.example" };
  assert.equal((await ask("/healthz", { socketPath: path, headers: foreign })).status, 403);
});

test("unknown paths are not found, other methods are told which to use", async (t) => {
  const { ask } = await open(t);
  for (const path of [
    "/nothing",
    "/healthz/",
    "/api",
    "/api/v1",
    "/page.js",
    "//",
    "/..%2fhealthz",
  ]) {
    const answer = await ask(path);
    assert.equal(answer.status, 404, path);
    assert.equal(JSON.parse(answer.body).error.code, "not_found");
  }
  for (const path of paths) {
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"]) {
      const answer = await ask(path, { method });
      assert.equal(answer.status, 405, `${method} ${path}`);
      assert.equal(answer.headers.allow, "GET, HEAD");
      assert.equal(JSON.parse(answer.body).error.code, "method_not_allowed");
    }
  }
});

test("HEAD answers as GET would, without a body and without a stream", async (t) => {
  const { ask, plane } = await open(t);
  for (const path of paths) {
    const answer = await ask(path, { method: "HEAD" });
    assert.equal(answer.status, 200, path);
    assert.equal(answer.body, "");
  }
  assert.equal(plane.watchers, 0);
});

test("what is too long is refused before it is read", async (t) => {
  const { ask } = await open(t);
  const longUrl = await ask(`/healthz?${"x".repeat(limits.urlLengthMax)}`);
  assert.equal(longUrl.status, 414);
  assert.equal(JSON.parse(longUrl.body).error.code, "url_too_long");
  const longHeader = await ask("/healthz", {
    headers: { "x-long": "x".repeat(limits.headerBytesMax) },
  });
  assert.equal(longHeader.status, 431);
  assert.equal(JSON.parse(longHeader.body).error.code, "headers_too_long");
  assert.equal(longHeader.headers["x-frame-options"], "DENY");
  const endless = await ask(`/healthz?${"x".repeat(2_000_000)}`);
  assert.equal(endless.status, 431, "told, not reset while it speaks");
});

test("bytes that are not HTTP do not disturb others", async (t) => {
  const { ask, port } = await open(t);
  for (const bytes of [
    "\x16\x03\x01\x02",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "GET",
    "CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n",
    "",
  ]) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.end(bytes);
    await once(socket.resume(), "close");
  }
  assert.equal((await ask("/healthz")).body, "ok");
});

test("a fault of ours is told to the owner and not to the caller", async (t) => {
  class BrokenMetrics extends Metrics {
    override async print(): Promise<string> {
      throw new Error("secret insides");
    }
  }
  const faults: [unknown, string][] = [];
  const { ask } = await open(t, {
    metrics: new BrokenMetrics({ methods }),
    onFault: (fault, path) => faults.push([fault, path]),
  });
  const answer = await ask("/metrics");
  assert.equal(answer.status, 500);
  assert.equal(JSON.parse(answer.body).error.code, "internal");
  assert.doesNotMatch(answer.body, /secret/);
  assert.equal(answer.headers["x-frame-options"], "DENY");
  assert.deepEqual(
    faults.map(([fault, path]) => [String(fault), path]),
    [["Error: secret insides", "/metrics"]],
  );
});

test("metrics count status files by what each means at that moment", async (t) => {
  const { ask, clock, metrics } = await open(t);
  const { body: none } = await ask("/metrics");
  assert.doesNotMatch(none, /^tipstaff_status_files\{/m, "nobody watches any");
  metrics.countFiles(() => [
    statusFile("a", clock.nowMs(), { state: "input-required" }),
    statusFile("b", clock.nowMs(), { state: "input-required" }),
    statusFile("c", clock.nowMs()),
    statusFile("d", clock.nowMs() - 50_000, { state: "working" }),
  ]);
  const { body } = await ask("/metrics");
  const counts = (text: string): readonly string[] =>
    text
      .split("\n")
      .filter((line) => line.startsWith("tipstaff_status_files{") && !line.endsWith(" 0"));
  const waiting = 'tipstaff_status_files{state="input-required"} 2';
  const idle = 'tipstaff_status_files{state="idle"} 1';
  assert.deepEqual(counts(body), ['tipstaff_status_files{state="working"} 1', waiting, idle]);
  assert.match(body, /^tipstaff_status_files\{state="stopped"\} 0$/m);
  metrics.countFiles(() => [statusFile("d", clock.nowMs() - 60_001, { state: "working" })]);
  const { body: later } = await ask("/metrics");
  assert.deepEqual(counts(later), ['tipstaff_status_files{state="stale"} 1']);
});

test("metrics show all methods from the start, and the state as it is", async (t) => {
  const { ask, run, register, clock, plane, metrics } = await open(t);
  const empty = await ask("/metrics");
  assert.equal(empty.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
  assert.match(empty.body, /^# TYPE agentkeeper_agents_alive gauge\nagentkeeper_agents_alive 0$/m);
  assert.match(
    empty.body,
    /^# HELP agentkeeper_leases_active .+\n.+\nagentkeeper_leases_active 0$/m,
  );
  for (const method of methods) {
    assert.ok(empty.body.includes(`\nagentkeeper_rpc_total{method="${method}"} 0\n`), method);
  }

  const lost = await register("lost", { ttlMs: 1_000 });
  const gone = await register("gone");
  await register("here");
  await run({ type: "lease.acquire", taskId: taskId("t"), agentId: lost, ttlMs: 60_000 });
  await run({ type: "agent.deregister", agentId: gone });
  clock.leap(1_600);
  plane.tick();
  metrics.countRpc(methods[0] ?? "");
  metrics.countRpc("/made.up/Method");
  metrics.observeCommit({ entries: 3, ms: 2 });
  const watch = plane.watch();
  t.after(() => watch.close());

  const { body } = await ask("/metrics");
  assert.match(body, /^agentkeeper_agents_alive 2$/m, "alive and unreachable, not dead");
  assert.match(body, /^agentkeeper_leases_active 1$/m);
  assert.match(
    body,
    /^agentkeeper_rpc_total\{method="\/agentkeeper.v1.RegistryService\/Register"\} 1$/m,
  );
  assert.doesNotMatch(body, /made\.up/);
  assert.match(body, new RegExp(`^tipstaff_log_sequence ${plane.durableSequence}$`, "m"));
  assert.match(body, /^tipstaff_watchers 1$/m);
  assert.match(body, /^tipstaff_commit_duration_seconds_bucket\{le="0.0025"\} 1$/m);
  assert.match(body, /^tipstaff_commit_entries_sum 3$/m);
  assert.match(body, /^nodejs_eventloop_lag_p99_seconds /m);
  assert.match(body, /^process_resident_memory_bytes /m);
});

test("the overview says what runs and counts everything", async (t) => {
  const { overview, run, register, clock, plane } = await open(t);
  const dead = await register("dead");
  const lost = await register("lost", { ttlMs: 1_000, tools: ["browser"] });
  const first = await register("first");
  await run({ type: "agent.deregister", agentId: dead });
  await run({ type: "lease.acquire", taskId: taskId("old"), agentId: lost, ttlMs: 60_000 });
  clock.leap(1_600);
  plane.tick();
  await run({ type: "election.campaign", group: groupName("planners"), agentId: first });
  const rule = { subject: "*", action: "read", resource: "*", effect: "allow" } as const;
  await run({ type: "policy.set", policy: { id: policyId("p"), ...rule } });
  await createTask(run, "pending");
  await run({ type: "task.claim", agentId: first });
  const doomed = await createTask(run, "doomed");
  await run({ type: "task.claim", agentId: first });
  await run({ type: "task.fail", taskId: doomed, agentId: first, reason: "no" });

  const shown = await overview();
  const { version, planeId, startedAtMs, pid, isKept } = shown;
  assert.deepEqual({ version, planeId, startedAtMs, pid, isKept }, about);
  assert.equal(shown.sequence, plane.durableSequence);
  assert.equal(shown.nowMs, clock.nowMs());
  assert.deepEqual(shown.counts, {
    agents: { alive: 1, unreachable: 1, dead: 1, left: 1 },
    leases: 1,
    elections: 1,
    policies: 1,
    tasks: { pending: 0, delayed: 0, claimed: 1, completed: 0, cancelled: 0, dead: 1 },
    jobs: { pending: 0, running: 0, waiting: 0, success: 0, error: 0, cancelled: 0, timed_out: 0 },
    questions: 0,
    watchers: 0,
  });
});

test("a stream says hello, and then what happens as it happens", async (t) => {
  const { listen, register, plane } = await open(t);
  const stream = await listen();
  assert.equal(stream.headers["content-type"], "text/event-stream; charset=utf-8");
  const hello = await stream.next();
  assert.deepEqual(hello, {
    event: "hello",
    retry: "1000",
    id: "1",
    data: JSON.stringify({ planeId: "plane-1", sequence: 1 }),
  });

  const id = await register("scraper");
  const { id: eventId, event, data } = await stream.next();
  assert.deepEqual([eventId, event], ["2", undefined]);
  const registered = JSON.parse(data);
  const { agent, ...head } = registered;
  assert.equal(agent.id, id);
  assert.equal(agent.card.name, "scraper");
  assert.equal(agent.lastHeartbeatAtMs, agent.registeredAtMs);
  const busSequence = await plane.read((state) => state.lastBusSequence);
  assert.deepEqual(head, {
    sequence: 2,
    busSequence,
    topic: "agent.registered",
    actor: "tester",
    type: "agent.registered",
    atMs: agent.registeredAtMs,
  });
});

test("inputs and outputs of tasks stay inside", async (t) => {
  const { listen, run, register } = await open(t);
  const id = await register("worker");
  const stream = await listen({ after: 2 });
  await stream.next();
  const task = await createTask(run, "secret");
  await run({ type: "task.claim", agentId: id });
  await run({ type: "task.complete", taskId: task, agentId: id, output: "c2VjcmV0" });
  const events = [await stream.next(), await stream.next(), await stream.next()];
  const types = events
    .map(({ data }) => JSON.parse(data))
    .map(({ type, task }) => `${type} ${task.state}`);
  assert.deepEqual(types, [
    "task.created pending",
    "task.claimed claimed",
    "task.completed completed",
  ]);
  for (const { data } of events) assert.doesNotMatch(data, /c2VjcmV0|input|output/);
});

test("every kind of entry is one line of JSON with each name once", async (t) => {
  const { listen, run, register } = await open(t);
  const id = await register('two\nlines\r\n\ndata: {"type":"forged"}\u2028</script>');
  await run({ type: "election.campaign", group: groupName("g"), agentId: id });
  await run({
    type: "policy.set",
    policy: { id: policyId("p"), subject: "", action: "", resource: "", effect: "deny" },
  });
  await run({ type: "agent.deregister", agentId: id });
  const stream = await listen({ after: 0 });
  await stream.next();
  const types: string[] = [];
  while (types.at(-1) !== "leader.changed" || types.length < 7) {
    const { data } = await stream.next();
    const entry = JSON.parse(data);
    types.push(entry.type);
    const names = [
      ...data.replaceAll(/"(?:agent|card|lease|task|policy)":\{.*\}/g, "").matchAll(/"(\w+)":/g),
    ].map(([, name]) => name);
    assert.equal(new Set(names).size, names.length, data);
    assert.equal(typeof entry.atMs, "number");
  }
  assert.deepEqual(types, [
    "plane.opened",
    "agent.registered",
    "election.joined",
    "leader.changed",
    "policy.changed",
    "agent.died",
    "election.left",
    "leader.changed",
  ]);
});

test("a stream resumes after the sequence it is told, and the header counts for more", async (t) => {
  const { listen, register } = await open(t);
  for (const name of ["one", "two", "three"]) await register(name);
  const byQuery = await listen({ after: 2 });
  assert.equal((await byQuery.next()).id, "2");
  assert.deepEqual([(await byQuery.next()).id, (await byQuery.next()).id], ["3", "4"]);
  const byHeader = await listen({ after: 0, headers: { "last-event-id": "3" } });
  const hello = await byHeader.next();
  assert.deepEqual(JSON.parse(hello.data), { planeId: "plane-1", sequence: 4 });
  assert.equal((await byHeader.next()).id, "4");
});

test("a list and the events after it have no gap between them", async (t) => {
  const { ask, listen, register } = await open(t);
  const registering = Array.from({ length: 50 }, (_, number) => register(`agent-${number}`));
  const shown: Page<{ readonly id: string }> = JSON.parse((await ask("/api/v1/agents")).body);
  await Promise.all(registering);
  const seen = new Set(shown.rows.map(({ id }) => id));
  const stream = await listen({ after: shown.sequence });
  await stream.next();
  while (seen.size < 50) seen.add(JSON.parse((await stream.next()).data).agent.id);
  assert.deepEqual(seen, new Set(await Promise.all(registering)));
});

test("what is not a sequence is refused", async (t) => {
  const { ask } = await open(t);
  for (const after of ["x", "-1", "1.5", "1e3", "99999999999999999999", "%20"]) {
    const answer = await ask(`/api/v1/events?after=${after}`);
    assert.equal(answer.status, 400, after);
    assert.equal(JSON.parse(answer.body).error.code, "invalid_argument");
  }
  const answer = await ask("/api/v1/events", { headers: { "last-event-id": "x" } });
  assert.match(JSON.parse(answer.body).error.message, /Last-Event-ID/);
});

test("who asks for what the log never reached is reset, and hears what comes", async (t) => {
  const { listen, register } = await open(t);
  const stream = await listen({ after: 1_000 });
  assert.equal((await stream.next()).event, "hello");
  const reset = await stream.next();
  assert.deepEqual(reset, { event: "reset", id: "1", data: '{"oldestSequence":1}' });
  await register("next");
  assert.equal((await stream.next()).id, "2");
});

test("who asks for what the log has forgotten is reset, and hears what comes", async (t) => {
  class CutLog extends MemoryLog {
    isCut = false;

    override get oldestSequence(): number {
      return this.isCut ? 3 : super.oldestSequence;
    }
  }
  const log = new CutLog();
  const { listen, register } = await open(t, { log });
  for (const name of ["one", "two", "three"]) await register(name);
  log.isCut = true;
  const stream = await listen({ after: 1 });
  await stream.next();
  assert.deepEqual(await stream.next(), { event: "reset", id: "4", data: '{"oldestSequence":3}' });
  await register("four");
  assert.equal((await stream.next()).id, "5");
});

test("a reader that lags is ended, holds nothing, and resumes without a gap", async (t) => {
  const { listen, run, plane } = await open(t);
  const stream = await listen({ after: 1 });
  await stream.next();
  stream.pause();
  const resource = "x".repeat(16_000);
  let last = 0;
  for (; plane.watchers > 0 && last < 10_000; last += 1) {
    const policy = {
      id: policyId("p"),
      subject: "",
      action: "",
      resource,
      effect: "deny",
    } as const;
    await run({ type: "policy.set", policy });
    // What is written must have had its chance to be sent.
    await new Promise(setImmediate);
  }
  assert.equal(plane.watchers, 0, "the watch is gone while the reader still sleeps");

  stream.resume();
  const seen: number[] = [];
  for (;;) {
    const message = await stream.next();
    if (message === ended) break;
    seen.push(Number(message.id));
  }
  assert.ok(seen.length > 0 && seen.length < last, `${seen.length} of ${last}`);
  const again = await listen({ after: 1, headers: { "last-event-id": String(seen.at(-1)) } });
  await again.next();
  while (seen.length < last) {
    const message = await again.next();
    assert.notEqual(message, ended);
    seen.push(Number(message.id));
  }
  assert.deepEqual(
    seen,
    Array.from({ length: last }, (_, index) => index + 2),
  );
});

test("a reader that goes away is forgotten", async (t) => {
  const { listen, plane } = await open(t);
  const stream = await listen();
  await stream.next();
  assert.equal(plane.watchers, 1);
  stream.destroy();
  while (plane.watchers > 0) await new Promise(setImmediate);
});

test("a quiet stream shows that it lives", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { listen } = await open(t);
  const stream = await listen();
  await stream.next();
  t.mock.timers.tick(limits.commentEveryMs);
  assert.deepEqual(await stream.next(), { comment: "keep-alive" });
  t.mock.timers.tick(limits.commentEveryMs);
  assert.deepEqual(await stream.next(), { comment: "keep-alive" });
  t.mock.timers.reset();
});

test("a stream of some topics tells of those alone, and how far it came", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { listen, run, register, plane } = await open(t);
  const id = await register("scraper");
  const stream = await listen({ query: "after=1&topic=lease.&topic=election.joined" });
  assert.equal((await stream.next()).event, "hello");
  await run({ type: "election.campaign", group: groupName("g"), agentId: id });
  await run({ type: "lease.acquire", taskId: taskId("t"), agentId: id, ttlMs: 60_000 });
  const told = [await stream.next(), await stream.next()];
  assert.deepEqual(
    told.map(({ data }) => JSON.parse(data).type),
    ["election.joined", "lease.acquired"],
  );
  await register("nobody listens to");
  t.mock.timers.tick(limits.commentEveryMs);
  const at = await stream.next();
  assert.deepEqual(at, { event: "at", id: String(plane.durableSequence), data: "{}" });
  t.mock.timers.tick(limits.commentEveryMs);
  assert.deepEqual(await stream.next(), { comment: "keep-alive" }, "it is told once");
  t.mock.timers.reset();
});

test("there is a last stream, half of them only with the token, and room again when one ends", async (t) => {
  const { ask, listen } = await open(t);
  const strangers = [];
  const half = limits.eventStreamsMax / 2;
  for (let count = 0; count < half; count += 1) strangers.push(await listen());
  const refused = await ask("/api/v1/events");
  assert.equal(refused.status, 429);
  assert.equal(JSON.parse(refused.body).error.code, "limit_reached");
  assert.match(JSON.parse(refused.body).error.message, /show the token/);
  assert.equal(refused.headers["retry-after"], "5");
  const headers = { Authorization: "Bearer secret" };
  for (let count = 0; count < half; count += 1) {
    assert.equal((await (await listen({ headers })).next()).event, "hello");
  }
  assert.equal((await ask("/api/v1/events", { headers })).status, 429);
  strangers[0]?.destroy();
  let status = 429;
  while (status === 429) status = (await ask("/api/v1/events", { method: "HEAD" })).status;
  assert.equal(status, 200);
});

test("when callers without the token have all watches that they may have, a stream with it still tells", async (t) => {
  const { plane, listen, register } = await open(t);
  for (let count = 0; count < planeLimits.watchersMax / 2; count += 1) {
    plane.watch({ isTrusted: false });
  }
  const stranger = await listen();
  assert.equal((await stranger.next()).event, "hello");
  assert.equal(await stranger.next(), ended);
  const trusted = await listen({ headers: { Authorization: "Bearer secret" } });
  assert.equal((await trusted.next()).event, "hello");
  await register("ada");
  assert.match((await trusted.next()).data, /agent.registered/);
});

test("slow request headers do not keep others out: the connection that was idle longest is closed", async (t) => {
  const { ask, listen, port } = await open(t);
  const stream = await listen();
  await stream.next();
  const slow: Socket[] = [];
  t.after(() => {
    for (const socket of slow) socket.destroy();
  });
  let closed = 0;
  for (let count = 0; count < limits.connectionsMax; count += 1) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.on("close", () => {
      closed += 1;
    });
    slow.push(socket);
    await once(socket, "connect");
    socket.write("GET /healthz HTTP/1.1\r\nhost: local");
  }
  assert.equal((await ask("/healthz")).body, "ok");
  assert(closed >= limits.connectionsMax / 2 - 2, `${closed} were closed`);
  slow[0]?.destroy();
  assert.equal(stream.isOpen, true, "an open stream is not idle");
});

test("a call that waits keeps its connection: one connection too many is refused", async (t) => {
  const { plane, port, register } = await open(t);
  const agent = await register("ada");
  const body = JSON.stringify({ agentId: agent, waitMs: 60_000 });
  const head = [
    "POST /api/v1/claims HTTP/1.1",
    "Host: localhost",
    "Authorization: Bearer secret",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
  ].join("\r\n");
  const workers: Socket[] = [];
  t.after(() => {
    for (const socket of workers) socket.destroy();
  });
  let closed = 0;
  const begin = async (): Promise<Socket> => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    workers.push(socket);
    await once(socket, "connect");
    socket.write(`${head}\r\n\r\n${body}`);
    return socket;
  };
  // Not all at once: a connection counts as one without the token until its request is read.
  for (let count = 100; count <= limits.connectionsMax; count += 100) {
    for (const socket of await Promise.all(Array.from({ length: 100 }, begin))) {
      socket.once("close", () => {
        closed += 1;
      });
    }
    while (plane.waiting + closed < count) await new Promise((resolve) => setImmediate(resolve));
  }
  const oneMore = await begin();
  while (!oneMore.closed && closed === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(closed, 0);
  assert.equal(plane.waiting, limits.connectionsMax);
});

test("requests that are sent ahead are answered one at a time, and too many close the connection", async (t) => {
  const { port } = await open(t);
  const send = async (count: number): Promise<string> => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    const request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n";
    const last = `${request}Connection: close\r\n\r\n`;
    socket.write(`${request}\r\n`.repeat(count - 1) + last);
    let answers = "";
    socket.on("data", (chunk) => {
      answers += String(chunk);
    });
    await new Promise((resolve) => socket.once("close", resolve));
    return answers;
  };
  assert.equal((await send(10)).match(/HTTP\/1.1 200/g)?.length, 10);
  assert.equal((await send(1_000)).match(/HTTP\/1.1 200/g)?.length ?? 0, 0);
});

test("an answer that nobody reads closes its connection after the stated time", async (t) => {
  const stated = makeByteBudgets();
  const unread = new ByteBudget({ ...stated.unread.options, stalledMs: 200, checkMs: 20 });
  const { port, run } = await open(t, { budgets: { ...stated, unread } });
  const resource = "x".repeat(8_000_000);
  await run({
    type: "policy.set",
    policy: { id: policyId("p"), subject: "", action: "", resource, effect: "deny" },
  });
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  const request = "GET /api/v1/policies/p HTTP/1.1\r\nHost: localhost\r\n\r\n";
  socket.pause();
  socket.write(request.repeat(3));
  while (unread.heldBytes === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  let mostBytes = 0;
  while (unread.heldBytes > 0) {
    mostBytes = Math.max(mostBytes, unread.heldBytes);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  assert(mostBytes < 200_000, `a piece of one answer is printed at a time, not ${mostBytes} bytes`);
  const gone = new Promise((resolve) => socket.once("close", resolve));
  socket.resume();
  await gone;
});

test("a log that cannot be read ends the stream and is told to the owner", async (t) => {
  class DamagedLog extends MemoryLog {
    override async read(): Promise<never> {
      throw new Error("entry 2 is damaged");
    }
  }
  const faults: unknown[] = [];
  const { listen } = await open(t, {
    log: new DamagedLog(),
    onFault: (fault) => faults.push(fault),
  });
  const stream = await listen({ after: 0 });
  await stream.next();
  assert.equal(await stream.next(), ended);
  assert.deepEqual(faults.map(String), ["Error: entry 2 is damaged"]);
});

test("a plane that closes ends its streams", async (t) => {
  const { listen, plane } = await open(t);
  const stream = await listen();
  await stream.next();
  await plane[Symbol.asyncDispose]();
  assert.equal(await stream.next(), ended);
});

test("closing ends streams at once and is over within a second, whoever is connected", async (t) => {
  const { listen, door, port, run } = await open(t);
  const stream = await listen();
  await stream.next();
  const asleep = await listen();
  await asleep.next();
  asleep.pause();
  const resource = "x".repeat(8_000_000);
  await run({
    type: "policy.set",
    policy: { id: policyId("p"), subject: "", action: "", resource, effect: "deny" },
  });
  await stream.next();
  const silent = connect(port, "127.0.0.1");
  const halfway = connect(port, "127.0.0.1");
  for (const socket of [silent, halfway]) {
    socket.on("error", () => {});
    await once(socket, "connect");
  }
  halfway.write("GET /healthz HTTP/1.1\r\nhost: local");

  const startedMs = performance.now();
  const closing = door[Symbol.asyncDispose]();
  assert.equal(await stream.next(), ended);
  assert.ok(performance.now() - startedMs < 200, "a reader that reads is told at once");
  await Promise.all([closing, door[Symbol.asyncDispose]()]);
  assert.ok(performance.now() - startedMs < 1_000);

  const late = connect(port, "127.0.0.1");
  const [error] = await once(late, "error");
  assert.equal(error.code, "ECONNREFUSED");
  const again = await open(t, { places: [{ host: "127.0.0.1", port }] });
  assert.equal((await again.ask("/healthz")).body, "ok");
});

test("closing without anyone connected is quick", async (t) => {
  const { ask, door } = await open(t);
  await ask("/healthz");
  const startedMs = performance.now();
  await door[Symbol.asyncDispose]();
  assert.ok(performance.now() - startedMs < 200);
});

test("this process may ask without a place, a name or a connection", async (t) => {
  const { door, plane } = await open(t, { places: [] });
  assert.deepEqual(door.places, []);
  const url = (path: string): string => `http://tipstaff.invalid${path}`;
  const health = await door.fetch(new Request(url("/healthz")));
  assert.equal(await health.text(), "ok");
  const headers = { Authorization: "Bearer secret", "Content-Type": "application/json" };
  const body = JSON.stringify({ type: "index" });
  const post = { method: "POST", headers, body };
  const made = await door.fetch(new Request(url("/api/v1/tasks"), post));
  assert.equal(made.status, 201);
  const bare = await door.fetch(new Request(url("/api/v1/tasks"), { method: "POST", body }));
  assert.equal(bare.status, 401, "the token is asked for here too");
  const origin = { headers: { Origin: "http://evil.example" } };
  assert.equal((await door.fetch(new Request(url("/"), origin))).status, 403);

  const leaving = new AbortController();
  const { signal } = leaving;
  const stream = await door.fetch(new Request(url("/api/v1/events"), { signal }));
  assert(stream.body);
  const reader = stream.body.pipeThrough(new TextDecoderStream()).getReader();
  assert.match((await reader.read()).value ?? "", /event: hello/);
  assert.equal(plane.watchers, 1);
  leaving.abort();
  assert.equal((await reader.read()).done, true);
  assert.equal(plane.watchers, 0);
  const late = await door.fetch(new Request(url("/api/v1/events"), { signal }));
  assert.match(await late.text(), /^retry: .*hello/s);
  assert.equal(plane.watchers, 0, "who was gone before is not waited for");
});

test("closing ends what this process asks for, and then nothing is answered", async (t) => {
  const { door, plane, register } = await open(t, { places: [] });
  const id = await register("worker");
  const url = (path: string): string => `http://localhost/api/v1${path}`;
  const stream = await door.fetch(new Request(url("/events")));
  const headers = { Authorization: "Bearer secret", "Content-Type": "application/json" };
  const body = JSON.stringify({ agentId: id, waitMs: 60_000 });
  const waiting = door.fetch(new Request(url("/claims"), { method: "POST", headers, body }));
  await new Promise(setImmediate);
  const startedMs = performance.now();
  await door[Symbol.asyncDispose]();
  assert(performance.now() - startedMs < limits.closingMs);
  assert.equal((await waiting).status, 503);
  assert.match(await stream.text(), /event: hello/);
  assert.equal(plane.watchers, 0);
  const late = await door.fetch(new Request(url("/overview")));
  assert.equal(late.status, 503);
  const { error }: { error: { code: string } } = JSON.parse(await late.text());
  assert.equal(error.code, "unavailable");
});

test("a request of this process whose body breaks off is no fault of ours", async (t) => {
  const { door } = await open(t, { places: [] });
  const headers = { Authorization: "Bearer secret", "Content-Type": "application/json" };
  const body = new ReadableStream({
    pull: (controller) => controller.error(new Error("the caller's own trouble")),
  });
  const init = { method: "POST", headers, body, duplex: "half" } as const;
  const answer = await door.fetch(new Request("http://localhost/api/v1/tasks", init));
  assert.equal(answer.status, 400);
});

test("both loopback addresses get the same port", async (t) => {
  const places = [
    { host: "127.0.0.1", port: 0 },
    { host: "::1", port: 0, isOptional: true },
  ];
  const { ask, door, port } = await open(t, { places });
  for (const place of door.places) assert.ok("port" in place && place.port === port);
  for (const place of door.places) {
    const host = "host" in place ? place.host : "";
    assert.equal((await ask("/healthz", { to: host })).body, "ok");
  }
});

test("an address in use is named, and nothing stays open", async (t) => {
  const taken = await open(t);
  const { plane, metrics } = taken;
  const work = new WorkView();
  const options = { ...plain, work, metrics, isReady: () => true, onFault: () => {} };
  const free = await open(t);
  await free.door[Symbol.asyncDispose]();
  const places = [
    { host: "127.0.0.1", port: free.port },
    { host: "127.0.0.1", port: taken.port },
  ];
  await assert.rejects(openHttpDoor(plane, { ...options, places }), {
    code: "address_in_use",
    message: new RegExp(`127\\.0\\.0\\.1:${taken.port}`),
  });
  const socket = connect(free.port, "127.0.0.1");
  const [error] = await once(socket, "error");
  assert.equal(error.code, "ECONNREFUSED");
});

type Ask = {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly socketPath?: string;
  readonly to?: string;
};
type Answer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

/** A real door over a real plane, both closed when the test ends. */
async function open(
  t: TestContext,
  options: Partial<HttpDoorOptions> & { readonly log?: Log } = {},
): Promise<{
  readonly plane: Plane;
  readonly clock: ManualClock;
  readonly door: HttpDoor;
  readonly metrics: Metrics;
  readonly port: number;
  readonly ask: (path: string, options?: Ask) => Promise<Answer>;
  readonly listen: (
    options?: Ask & { readonly after?: number; readonly query?: string },
  ) => Promise<Listener>;
  readonly overview: () => Promise<Overview>;
  readonly run: (command: Command) => Promise<void>;
  readonly register: (
    name: string,
    options?: { readonly ttlMs?: number; readonly tools?: readonly string[] },
  ) => Promise<AgentId>;
}> {
  const clock = new ManualClock();
  const work = new WorkView();
  const plane = await Plane.open({
    log: options.log ?? new MemoryLog(),
    clock,
    views: [work],
    onFault: (fault) => assert.fail(String(fault)),
  });
  const metrics = options.metrics ?? new Metrics({ methods });
  const door = await openHttpDoor(plane, {
    places: loopback,
    ...plain,
    work,
    metrics,
    isReady: () => true,
    onFault: (fault) => assert.fail(String(fault)),
    ...options,
  });
  t.after(async () => {
    await door[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });
  const [place] = door.places;
  const port = place && "port" in place ? place.port : 0;

  const send = async (path: string, { socketPath, to = "127.0.0.1", ...rest }: Ask = {}) => {
    const where = socketPath === undefined ? { host: to, port } : { socketPath };
    const asking = request({
      ...where,
      path,
      agent: false,
      setHost: rest.headers?.["host"] === undefined,
      ...rest,
    });
    asking.end();
    const [incoming]: IncomingMessage[] = await once(asking, "response");
    assert.ok(incoming);
    return incoming;
  };
  const ask = async (path: string, options?: Ask): Promise<Answer> => {
    const incoming = await send(path, options);
    let body = "";
    for await (const chunk of incoming.setEncoding("utf8")) body += chunk;
    return { status: incoming.statusCode ?? 0, headers: incoming.headers, body };
  };
  const run = async (command: Command): Promise<void> => {
    const { refusal } = await plane.submit(command, { actor: "tester" }, () => undefined);
    assert.equal(refusal, undefined);
  };
  return {
    plane,
    clock,
    door,
    metrics,
    port,
    ask,
    listen: async ({
      after,
      query = after === undefined ? "" : `after=${after}`,
      ...options
    } = {}) => {
      const listener = new Listener(await send(`/api/v1/events?${query}`, options));
      t.after(() => listener.destroy());
      return listener;
    },
    overview: async () => JSON.parse((await ask("/api/v1/overview")).body),
    run,
    register: async (name, { ttlMs = 60_000, tools = [] } = {}) => {
      const id = agentId(randomUUID().replaceAll("-", ""));
      const card = { name, description: "", version: "", capabilities: [], tools, metadata: [] };
      await run({ type: "agent.register", agentId: id, card, ttlMs });
      return id;
    },
  };
}

async function createTask(run: (command: Command) => Promise<void>, taskType: string) {
  const id = taskId(randomUUID());
  const rest = { requiredTools: [], maxRetries: 0, claimMs: 60_000 };
  await run({ type: "task.create", taskId: id, taskType, input: "c2VjcmV0", ...rest });
  return id;
}

type Message = {
  readonly event?: string;
  readonly id?: string;
  readonly data: string;
  readonly retry?: string;
  readonly comment?: string;
};
/** What a stream gives after its last message. */
const ended: Message = { data: "the stream has ended" };

/** Reads server-sent events as the standard says. */
class Listener {
  readonly headers: IncomingHttpHeaders;
  readonly #incoming: IncomingMessage;
  readonly #chunks: AsyncIterator<string>;
  #text = "";

  constructor(incoming: IncomingMessage) {
    this.headers = incoming.headers;
    this.#incoming = incoming.setEncoding("utf8");
    this.#chunks = incoming[Symbol.asyncIterator]();
  }

  async next(): Promise<Message> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end >= 0) {
        const lines = this.#text.slice(0, end).split("\n");
        this.#text = this.#text.slice(end + 2);
        return toMessage(lines);
      }
      const chunk = await this.#chunks.next();
      if (chunk.done) return ended;
      this.#text += chunk.value;
    }
  }

  get isOpen(): boolean {
    return !this.#incoming.destroyed && !this.#incoming.complete;
  }

  pause(): void {
    this.#incoming.socket.pause();
  }

  resume(): void {
    this.#incoming.socket.resume();
  }

  destroy(): void {
    this.#incoming.destroy();
  }
}

function toMessage(lines: readonly string[]): Message {
  const fields = lines.map((line) => {
    const [name = "", ...value] = line.split(": ");
    return [name === "" ? "comment" : name, value.join(": ")];
  });
  return Object.fromEntries(fields);
}

function statusFile(id: string, atMs: number, task?: StatusRecord["task"]): StatusFile {
  const runtime = { lifecycle: "running", updated_at: printTimestamp(atMs) } as const;
  const about = { schema_version: schemaVersion, agent_id: id, agent_name: id, runtime } as const;
  return { path: `/${id}.json`, record: task ? { ...about, task } : about };
}
