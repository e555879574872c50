import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BareLoop } from "../testing/bare-loop.ts";
import {
  acquire,
  amount,
  answerQuestion,
  askAsAgent,
  askAsJob,
  campaign,
  cancel,
  cancelJob,
  card,
  claim,
  complete,
  createTask,
  deletePolicy,
  deregister,
  emit,
  endJob,
  extend,
  fail,
  followJob,
  heartbeat,
  observe,
  openSession,
  register,
  release,
  renew,
  reserve,
  resign,
  resumeSession,
  setPolicy,
  settle,
  spend,
  startJob,
  submitJob,
  withdrawQuestion,
} from "../testing/commands.ts";
import {
  type Event,
  type EventType,
  isEventType,
  parseEvent,
  printEvent,
  topics,
} from "./events.ts";
import { agentId, jobId, observedId, sessionId, token } from "./ids.ts";

const everyType = Object.keys(topics).filter(isEventType);

/** What AgentKeeper's own watchers of `agent.`, `lease.` and `leader.` may see, and all they may see. */
const known: readonly string[] = [
  "agent.registered",
  "agent.unreachable",
  "agent.died",
  "lease.acquired",
  "lease.renewed",
  "lease.expired",
  "lease.released",
  "leader.changed",
];

test("every kind of event happens in the story below", () => {
  const told = new Set(story().map((event) => event.type));
  assert.deepEqual(
    everyType.filter((type) => !told.has(type)),
    [],
  );
});

for (const type of everyType) {
  test(`${type} reads back as it was written`, () => {
    const events = story().filter((event) => event.type === type);
    assert(events.length > 0);
    for (const event of events) assert.deepEqual(readBack(event), event);
  });
}

test("any text survives in every place where a caller may put one", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("__proto__", "\u2028\u2029", "\ud800", "\0", "\r\n", '"\\', "constructor"),
  );
  const pairs = fc.array(fc.tuple(text, text));
  fc.assert(
    fc.property(text, fc.array(text), pairs, (words, list, metadata) => {
      const loop = new BareLoop();
      const named = { ...card(words, list), description: words, version: words, metadata };
      const capabilities = [{ name: words, description: words }];
      const ada = { ...register("ada"), card: { ...named, capabilities } };
      loop.accept(ada);
      loop.accept({ ...setPolicy(words, "deny", "a b c") });
      loop.accept(acquire(words, "ada"));
      loop.accept(campaign(words, "ada"));
      loop.accept({ ...createTask(words, { input: words }), taskType: words });
      loop.accept(claim("ada"));
      loop.accept(fail(words, "ada", words));
      for (const event of loop.events) assert.deepEqual(readBack(event), event);
    }),
  );
});

test("tokens and terms beyond 2^53 survive as decimal text", () => {
  const event: Event = {
    type: "plane.opened",
    lastToken: token(2n ** 64n - 1n),
    lastBusSequence: Number.MAX_SAFE_INTEGER,
    atMs: 8_640_000_000_000_000,
  };
  assert.match(printEvent(event), /"lastToken":"18446744073709551615"/);
  assert.deepEqual(readBack(event), event);
});

test("a body does not repeat its type, and is one line", () => {
  for (const event of story()) {
    const body = printEvent(event);
    assert(!body.includes("\n"), body);
    assert(!Object.hasOwn(JSON.parse(body), "type"), body);
  }
});

test("an event of a job whose body is not JSON is read with what can be read of it", () => {
  const head = '{"jobId":"job_a","kind":"metric","ownSequence":3,"told":"USD"';
  const overflow = '{"name":"cost.budget.remaining","value":-Infinity,"unit":"USD"}';
  const read = parseEvent("job.emitted", `${head},"body":${overflow}}`);
  assert(read.type === "job.emitted" && read.told === "USD");
  assert.deepEqual(JSON.parse(read.body), {
    name: "cost.budget.remaining",
    value: -Number.MAX_VALUE,
    unit: "USD",
    unreadable: overflow,
  });
  const other = parseEvent("job.emitted", `${head},"body":{"value":NaN}}`);
  assert(other.type === "job.emitted");
  assert.deepEqual(JSON.parse(other.body), { unreadable: '{"value":NaN}' });
});

test("to read an event of a job, its body is not parsed", () => {
  const body = JSON.stringify(
    Array.from({ length: 5_000 }, (_, value) => ({ value, unit: "USD" })),
  );
  const text = `{"jobId":"job_a","kind":"log","ownSequence":1,"body":${body}}`;
  const read = parseEvent("job.emitted", text);
  assert(read.type === "job.emitted" && read.body === body);
  const cpuUsed = (doing: () => void): number => {
    const start = process.cpuUsage();
    for (let count = 0; count < 50; count++) doing();
    return process.cpuUsage(start).user;
  };
  const parsing = cpuUsed(() => JSON.parse(body));
  const reading = cpuUsed(() => parseEvent("job.emitted", text));
  assert(reading < parsing / 2, `reading took ${reading} µs, parsing ${parsing} µs`);
});

test("no name that is not an event's is taken for one", () => {
  for (const name of ["", "agent", "agent.registered ", "__proto__", "constructor", "toString"]) {
    assert.equal(isEventType(name), false, name);
  }
});

test("watchers of the known words see the eight known topics and no others", () => {
  const published = Object.values(topics).filter((topic) => topic !== "");
  const seen = published.filter((topic) => /^(agent|lease|leader)\./.test(topic));
  assert.deepEqual(seen.sort(), [...known].sort());
  const others = published.filter((topic) => !known.includes(topic));
  for (const topic of others) assert.match(topic, /^(task|ext)\./);
  assert.equal(new Set(published).size, published.length, "no two events share a topic");
});

function readBack(event: Event): Event {
  return parseEvent(event.type, printEvent(event));
}

/** A day in which everything happens. */
function story(): readonly Event[] {
  const loop = new BareLoop();
  loop.decide({ type: "plane.open", wallMicros: 1_700_000_000_000_000, isKept: true });
  const metadata = [["__proto__", "x"]] as const;
  const capabilities = [{ name: "fetch", description: "fetches" }];
  const described = { ...card("ada", ["sql"]), metadata, capabilities };
  loop.accept({ ...register("ada", { ttlMs: 1_000 }), card: described });
  loop.accept(register("bob", { ttlMs: 400_000 }));
  loop.accept(acquire("long", "bob"));
  loop.accept(acquire("short", "bob", 500, "key"));
  loop.accept(setPolicy("p", "deny", "a b c"));
  loop.accept(deletePolicy("p"));
  loop.accept(campaign("g", "ada"));
  loop.accept(createTask("t", { input: "aW4=", maxRetries: 1, claimMs: 100 }));
  loop.accept(createTask("u", { maxRetries: 0, claimMs: 10_000 }));
  loop.accept(createTask("later", { delayMs: 200, priority: -1, deliveriesMax: 3 }));
  loop.accept(claim("bob"));
  loop.accept(claim("bob", { types: ["work"], key: "key" }));
  loop.accept(extend("u", "bob"));
  loop.at(1_500);
  loop.accept(heartbeat("ada", "waiting delete 3 files?"));
  loop.accept(claim("bob"));
  loop.accept(fail("t", "bob", "boom"));
  loop.accept(fail("u", "bob", "boom"));
  loop.accept(claim("bob"));
  loop.accept(complete("t", "bob", "b3V0"));
  loop.accept(cancel("later"));
  loop.accept(renew("long", "bob", 1_700_000_000_000_001n));
  loop.accept(release("long", "bob", 1_700_000_000_000_001n));
  loop.accept(resign("g", "ada"));
  loop.accept(observe("codex-1", "waiting delete 3 files?"));
  loop.accept({ type: "observed.leave", observedId: observedId("codex-1") });
  const need = { kind: "task_dead", id: "t" } as const;
  loop.accept({ type: "need.dismiss", ...need, sinceMs: 0, forMs: 1_000, by: "local" });
  loop.accept({ type: "need.restore", ...need });
  loop.accept(deregister("ada"));
  loop.decide({ type: "plane.resume" });
  loop.at(86_400_000 + 2_000);
  assert(!loop.state.registry.agents.has(agentId("ada")));
  workDay(loop);
  return loop.events;
}

/** Jobs, and those who ask for them. */
function workDay(loop: BareLoop): void {
  const key = { text: "k", fingerprint: "f" };
  const capabilities = { "cost.budget": ["USD:1.50"] };
  const job = jobId("job_1");
  loop.accept(openSession("ada"));
  loop.accept(openSession("ada_2", { principal: "ada", skips: ["progress"] }));
  loop.accept(submitJob("job_1", "ada", { key, capabilities, isRepeatable: true, runMsMax: 9 }));
  loop.accept(startJob("job_1", { isRemote: true }));
  const second = { sessionId: sessionId("sess_ada_2"), principal: "ada" };
  loop.accept(submitJob("job_2", "ada", { key, ...second }));
  const spent = amount("USD:0.30");
  loop.accept(emit("job_1", { body: '{",\\"body\\":":"}"}' }));
  loop.accept(emit("job_1", { kind: "metric", spent, told: "USD", workerSequence: 7 }));
  loop.accept(reserve("job_1", "r", "USD:0.20"));
  loop.accept(spend("job_1", ["USD:0.05"], { reservationId: "r", workerSequence: 8 }));
  loop.accept(settle("job_1", "r", "USD:0.10"));
  loop.accept({ type: "job.orphan", jobId: job, graceMs: 5 });
  loop.accept({ type: "job.reclaim", jobId: job, attempt: 1 });
  loop.accept({ type: "job.orphan", jobId: job, graceMs: 5 });
  loop.at(loop.nowMs + 5);
  loop.accept(startJob("job_1"));
  loop.accept(cancelJob("job_1", { reason: "enough" }));
  loop.accept(endJob("job_1", { attempt: 2 }));
  loop.accept(followJob("ada", "job_1", { history: { afterSequence: 0, before: 0 } }));
  loop.accept(submitJob("job_3", "ada", { needsPreparing: true }));
  loop.accept({ type: "job.prepared", jobId: jobId("job_3"), isReady: false });
  loop.accept(submitJob("job_5", "ada", { needsPreparing: true }));
  const credentials = [{ credentialId: "cred_1", handle: "h", valueHash: "hash" }];
  loop.accept({ type: "job.prepared", jobId: jobId("job_5"), isReady: true, credentials });
  loop.accept(cancelJob("job_5"));
  for (const isRevoked of [false, true]) {
    loop.accept({ type: "credential.report", jobId: jobId("job_5"), number: 1, isRevoked });
  }
  loop.accept(submitJob("job_4", "ada"));
  loop.accept({ type: "session.leave", sessionId: sessionId("sess_ada"), jobId: jobId("job_4") });
  const failure = { code: "JOB_NOT_FOUND", message: "there is no job", isRetryable: false };
  const rejected = { sessionId: sessionId("sess_ada"), jobId: jobId("job_6"), requestId: "r" };
  loop.accept({ type: "session.reject", ...rejected, failure });
  loop.accept(followJob("ada", "job_4"));
  loop.accept(startJob("job_4"));
  loop.accept(askAsJob("job_4", "colour", { expects: { of: "choice", choices: ["red", 'a"b'] } }));
  loop.accept(answerQuestion("colour", "red"));
  loop.accept(register("asking", { ttlMs: 200_000 }));
  loop.accept(askAsAgent("asking", "captcha", { timeoutMs: 1_000 }));
  loop.accept(withdrawQuestion({ of: "agent", agentId: agentId("asking") }, "captcha"));
  for (let index = 0; index < 1_100; index += 1) loop.accept(emit("job_4"));
  loop.accept({ type: "session.acknowledge", ...second, eventSequence: 1 });
  const { sessionId: id } = rejected;
  loop.accept({ type: "session.acknowledge", sessionId: id, eventSequence: 1_050 });
  loop.accept({ type: "session.detach", sessionId: id, attachment: 1 });
  loop.accept(resumeSession("ada", { afterEventSequence: 1_060, skips: ["progress"] }));
  loop.accept({ type: "session.detach", sessionId: id, attachment: 2 });
  loop.at(loop.nowMs + 86_400_000);
}

/** Compiles only while the table of topics has every type of event and no other. */
export const everyTypeHasATopic: Readonly<Record<EventType, string>> = topics;
