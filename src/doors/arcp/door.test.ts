import assert from "node:assert/strict";
import { test } from "node:test";
import type { Handler } from "../../arcp-context.ts";
import { jobId } from "../../core/index.ts";
import { SqliteLog } from "../../log/index.ts";
import { DoorScene, type Peer } from "../../testing/arcp-door.ts";
import { openSession, submitJob } from "../../testing/commands.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { Puppet, waitUntil, withPuppet } from "../../testing/puppet.ts";
import { temporaryDirectory } from "../../testing/temporary.ts";
import { turns } from "../../testing/test-plane.ts";
import { isMintedId } from "../../wire/arcp/index.ts";
import type { SessionContext } from "./settings.ts";

const echo: Handler = async (input, context) => {
  await context.log("info", "echo started");
  return { echoed: input };
};

test("[ARCP-49] [ARCP-52] [ARCP-9] a hello is welcomed with the features of both, in the client's order", async () => {
  await using scene = await DoorScene.open();
  scene.agent("sum", echo, { version: "1.0.0" });
  scene.agent("sum", echo, { version: "1.2.0" });
  const peer = await scene.hello({
    features: ["subscribe", "x-vendor.acme.y", "ack", "subscribe"],
  });
  const { payload, session_id } = peer.welcome;
  assert.deepEqual(payload.capabilities.features, ["subscribe", "ack"]);
  assert.deepEqual(payload.capabilities.agents, ["sum"]);
  assert.equal(payload.session_id, session_id);
  assert(isMintedId("session", session_id ?? ""));
  assert.match(payload.resume_token, /^rt_[0-9a-f]{64}$/);
  assert.equal("heartbeat_interval_sec" in payload, false);
  const other = await scene.hello({ features: ["heartbeat", "agent_versions"] });
  assert.equal(other.welcome.payload.heartbeat_interval_sec, 30);
  assert.deepEqual(other.welcome.payload.capabilities.agents, [
    { name: "sum", versions: ["1.0.0", "1.2.0"] },
  ]);
});

test("[ARCP-47] [ARCP-36] a wrong token is answered and the connection closed, whatever a verifier does", async () => {
  const verify = (token: string): never => {
    throw new Error(`what is ${token}?`);
  };
  for (const options of [{}, { verify }]) {
    await using scene = await DoorScene.open(options);
    const peer = scene.connect();
    await peer.hello({ token: "stolen" });
    const [error] = peer.told;
    assert.equal(error?.type, "session.error");
    assert.equal(error.payload.code, "UNAUTHENTICATED");
    assert.equal(error.payload.retryable, false);
    assert(isMintedId("session", error.session_id ?? ""));
    assert.doesNotMatch(JSON.stringify(error), /stolen/);
    assert.equal(peer.closing?.code, 1008);
  }
});

test("[ARCP-36] who says nothing is closed after ten seconds", async () => {
  await using scene = await DoorScene.open();
  const peer = scene.connect();
  await scene.clock.pass(9_999);
  await turns();
  assert(!peer.isClosed);
  await scene.clock.pass(1);
  await turns(6);
  assert.equal(peer.closing?.code, 1008);
});

test("[PYR-10] [ARCP-84] [ARCP-86] [ARCP-117] a job is accepted, tells what it does under the session's numbers, and ends", async () => {
  await using scene = await DoorScene.open();
  scene.agent("echo", echo);
  const peer = await scene.hello();
  const trace_id = "9bd6198b4c5732129d8dfab59c928960";
  const id = await peer.send("job.submit", { agent: "echo", input: { hi: 1 } }, { trace_id });
  await turns(8);
  assert.deepEqual(peer.types, [
    "session.welcome",
    "job.accepted",
    "job.event",
    "job.event",
    "job.result",
  ]);
  const [accepted] = peer.of("job.accepted");
  assert.equal(accepted?.payload.request_id, id);
  assert.equal("event_seq" in (accepted ?? {}), false);
  assert.deepEqual(peer.story, [
    "1 status running",
    "2 log echo started",
    '3 result {"echoed":{"hi":1}}',
  ]);
  for (const frame of peer.told.slice(1)) {
    assert.equal(frame.trace_id, trace_id);
    assert.equal(frame.job_id, accepted?.job_id);
    assert.equal(frame.session_id, peer.sessionId);
  }
});

test("[ARCP-20] [PYR-6] [ARCP-83] [ARCP-19] answers come in the order of the requests, each before what its job says", async () => {
  await using scene = await DoorScene.open();
  scene.agent("echo", echo);
  const peer = await scene.hello();
  const ids = [];
  for (let count = 0; count < 64; count += 1) {
    const isKnown = count % 4 !== 3;
    ids.push(await peer.send("job.submit", { agent: isKnown ? "echo" : "nobody", input: count }));
    if (count % 8 === 0) ids.push(await peer.send("session.list_jobs", {}));
  }
  const answers = (): readonly string[] =>
    peer.told.flatMap(({ payload }) => payload.request_id ?? []);
  // A connection that took long lets others run before its next frame.
  await waitUntil(() => answers().length === ids.length);
  await turns(12);
  assert.deepEqual(answers(), ids);
  const seen = new Set<string>();
  for (const { type, job_id = "" } of peer.told) {
    if (type === "job.accepted") seen.add(job_id);
    if (type === "job.event" || type === "job.result") assert(seen.has(job_id), type);
  }
  const numbers = peer.told.flatMap(({ event_seq }) => event_seq ?? []);
  assert.deepEqual(
    numbers,
    [...numbers.keys()].map((at) => at + 1),
  );
});

test("[ARCP-58] [ARCP-20] [ARCP-97] [ARCP-89] [ARCP-90] [ARCP-93] a submit that cannot be accepted is answered under a number, for no job", async () => {
  await using scene = await DoorScene.open();
  scene.agent("echo", echo, { version: "1.0.0" });
  const peer = await scene.hello();
  const first = await peer.submit("echo", { idempotency_key: "k" });
  const cases = [
    [{ agent: "nobody" }, "AGENT_NOT_AVAILABLE", undefined],
    [{ agent: "NO BODY" }, "INVALID_REQUEST", "payload.agent"],
    [{}, "INVALID_REQUEST", "payload.agent"],
    [{ agent: "echo", lease_request: { "fs.everything": ["*"] } }, "INVALID_REQUEST", undefined],
    [
      { agent: "echo", lease_constraints: { expires_at: "2001-01-01T00:00:00Z" } },
      "INVALID_REQUEST",
      undefined,
    ],
    [{ agent: "echo", parent_job_id: "job_none" }, "JOB_NOT_FOUND", undefined],
    [{ agent: "echo", input: "other", idempotency_key: "k" }, "DUPLICATE_KEY", undefined],
  ] as const;
  for (const [payload, code, path] of cases) {
    const answer = await peer.ask("job.submit", payload);
    assert.equal(answer.type, "job.error");
    assert.equal(answer.payload.code, code);
    assert.equal(answer.payload.final_status, "error");
    assert.equal(typeof answer.event_seq, "number");
    assert(isMintedId("job", answer.job_id ?? ""));
    assert.notEqual(answer.job_id, first.job_id);
    if (path !== undefined) assert.equal(answer.payload.details.path, path);
    if (code === "DUPLICATE_KEY") {
      assert.equal(answer.payload.details.existing_job_id, first.job_id);
    }
  }
  // [ARCP-91]
  const version = await peer.submit("echo@9.9.9");
  assert.equal(version.type, "session.error");
  assert.equal(version.payload.code, "AGENT_VERSION_NOT_AVAILABLE");
});

test("[ARCP-95] [ARCP-96] a repeated request is answered as the first, and told how the job ended", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  const again = { input: 1, idempotency_key: "k", lease_request: { "cost.budget": ["USD:1.00"] } };
  const first = await peer.submit("puppet", again);
  const second = await peer.submit("puppet", again);
  assert.deepEqual({ ...second.payload, request_id: "" }, { ...first.payload, request_id: "" });
  assert.equal(puppet.contexts.length, 1);
  // Another session of the same principal is told what happens from then on, and may cancel.
  const other = await scene.hello();
  assert.equal((await other.submit("puppet", again)).payload.job_id, first.payload.job_id);
  await puppet.say("one");
  assert.deepEqual(other.story, ["1 log one"]);
  const stranger = await scene.hello({ token: "of eve" });
  assert.notEqual((await stranger.submit("puppet", again)).payload.job_id, first.payload.job_id);
  await puppet.end();
  assert.deepEqual(other.story, ["1 log one", '2 result "done"']);
  const late = await scene.hello();
  await late.submit("puppet", again);
  assert.deepEqual(late.types, ["session.welcome", "job.accepted", "job.result"]);
  await peer.submit("puppet", again);
  assert.deepEqual(peer.story, [
    "1 status running",
    "2 log one",
    '3 result "done"',
    '4 result "done"',
  ]);
});

test("[ARCP-68] a submit that is sent again is not run again", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  const first = await peer.submit("puppet");
  await peer.transport.send({
    arcp: "1.1",
    id: first.payload.request_id,
    type: "job.submit",
    payload: { agent: "puppet" },
  });
  await turns(6);
  const answers = peer.of("job.accepted");
  assert.equal(answers.length, 2);
  assert.deepEqual(answers[1]?.payload, first.payload);
  assert.notEqual(answers[1]?.id, first.id);
  assert.equal(puppet.contexts.length, 1);
});

test("[ARCP-64] [ARCP-44] [ARCP-62] [ARCP-67] who comes back is told what it missed, the same as it would have been, then what happens", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  const watcher = await scene.hello();
  const { job_id = "" } = await peer.submit("puppet");
  await watcher.ask("job.subscribe", { job_id });
  await puppet.say("one", "two");
  await peer.drop();
  await puppet.say("three");
  await peer.transport.close();
  const back = await scene.hello({ resume: peer.resumeAfter(2) });
  assert.equal(back.sessionId, peer.sessionId);
  assert.notEqual(back.welcome.payload.resume_token, peer.welcome.payload.resume_token);
  await puppet.say("four");
  await puppet.end();
  assert.deepEqual(back.story, ["3 log two", "4 log three", "5 log four", '6 result "done"']);
  const [missed] = back.of("job.event");
  const original = peer.told.find(({ event_seq }) => event_seq === 3);
  assert.deepEqual(missed, original);
  // The old token is dead, and what was refused changes nothing.
  const thief = scene.connect();
  await thief.hello({ resume: peer.resumeAfter(2) });
  assert.equal(thief.told[0]?.payload.code, "RESUME_WINDOW_EXPIRED");
  assert.equal(thief.closing?.code, 1008);
  assert.equal(back.closing, undefined);
  const once = await scene.hello({ resume: back.resumeAfter(6) });
  assert.deepEqual(once.story, []);
});

test("[ARCP-60] [ARCP-63] a resume is refused in the same words, whatever is wrong with it", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  await peer.submit("puppet");
  await puppet.say("one");
  await peer.drop();
  const point = peer.resumeAfter(1);
  const wrong = [
    { resume: { ...point, session_id: "sess_none" } },
    { resume: { ...point, resume_token: `rt_${"0".repeat(64)}` } },
    { resume: { ...point, last_event_seq: 3 } },
    { resume: point, token: "of eve" },
  ];
  const answers = new Set<string>();
  for (const parts of wrong) {
    const other = scene.connect();
    await other.hello(parts);
    const { code, message, retryable } = other.told[0]?.payload ?? {};
    answers.add(JSON.stringify({ code, message, retryable }));
    assert.equal(other.closing?.code, 1008);
  }
  assert.equal(answers.size, 1);
  assert.match([...answers].join(), /RESUME_WINDOW_EXPIRED/);
  assert.deepEqual((await scene.hello({ resume: point })).story, ["2 log one"]);
});

test("[ARCP-61] [ARCP-45] the window counts from the drop; when it is over, the job goes on", async () => {
  const { scene, puppet } = await withPuppet({ resumeWindowMs: 60_000 });
  await using _ = scene;
  const features = ["subscribe"];
  const peer = await scene.hello({ features });
  const { job_id = "" } = await peer.submit("puppet");
  await scene.clock.pass(600_000);
  await peer.drop();
  await scene.clock.pass(59_000);
  const back = await scene.hello({ features, resume: peer.resumeAfter(1) });
  await scene.clock.pass(600_000);
  await back.drop();
  await scene.clock.pass(60_001);
  const late = scene.connect();
  await late.hello({ resume: back.resumeAfter(1) });
  assert.equal(late.told[0]?.payload.code, "RESUME_WINDOW_EXPIRED");
  await puppet.say("still here");
  const other = await scene.hello();
  await other.ask("job.subscribe", { job_id, history: true });
  assert.deepEqual(other.story, ["1 status running", "2 log still here"]);
});

test("[ARCP-66] a resume wins over a connection that is still open", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  await peer.submit("puppet");
  const back = await scene.hello({ resume: peer.resumeAfter(1) });
  await turns(6);
  assert.deepEqual(
    peer.of("session.bye").map(({ payload }) => payload),
    [{ reason: "superseded" }],
  );
  assert.equal(peer.closing?.code, 1000);
  await puppet.say("one");
  assert.deepEqual(back.story, ["2 log one"]);
  assert.deepEqual(peer.story, ["1 status running"]);
});

test("[ARCP-99] [ARCP-117] [ARCP-197] [ARCP-64] sessions, their numbers and keys outlive the process; a job that was running ends in a stated way", async () => {
  await using scratch = await temporaryDirectory();
  const clock = new ManualClock();
  let peer: Peer;
  const key = { idempotency_key: "k" };
  {
    await using log = SqliteLog.open(scratch.path);
    const { scene, puppet } = await withPuppet({ log, clock });
    scene.agent("echo", echo);
    scene.agent("again", puppet.handler, { isIdempotent: true });
    peer = await scene.hello();
    await peer.submit("puppet");
    await puppet.say("one");
    await peer.submit("echo", key);
    await peer.submit("again");
    await waitUntil(() => peer.story.length === 6);
    // As if it had been killed: nobody says goodbye, nothing more is written.
    await scene.plane[Symbol.asyncDispose]();
  }
  await using log = SqliteLog.open(scratch.path);
  const { scene, puppet } = await withPuppet({ log, clock });
  await using _ = scene;
  scene.agent("echo", echo);
  scene.agent("again", puppet.handler, { isIdempotent: true });
  const back = await scene.hello({ resume: peer.resumeAfter(2) });
  await waitUntil(() => back.story.length === 6);
  assert.deepEqual(back.story, [
    ...peer.story.slice(2),
    "7 error INTERNAL_ERROR",
    "8 status running",
  ]);
  const [lost] = back.of("job.error");
  assert.equal(lost?.payload.retryable, true);
  const repeated = await back.submit("echo", key);
  assert.equal(repeated.payload.job_id, peer.of("job.accepted")[1]?.job_id);
  await waitUntil(() => back.story.length === 7);
  assert.equal(back.story[6], '9 result {"echoed":null}');
});

test("[ARCP-137] [ARCP-136] [ARCP-138] [ARCP-139] a subscriber is told the past first, then what happens, under its own numbers", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const owner = await scene.hello();
  const { job_id = "" } = await owner.submit("puppet");
  await puppet.say("one", "two");
  const watcher = await scene.hello();
  scene.agent("echo", echo);
  await watcher.submit("echo");
  const subscribed = await watcher.ask("job.subscribe", {
    job_id,
    history: true,
    from_event_seq: 1,
  });
  assert.equal(subscribed.type, "job.subscribed");
  assert.equal(subscribed.payload.replayed, true);
  assert.equal(subscribed.payload.subscribed_from, 5);
  assert.equal(subscribed.payload.current_status, "running");
  await puppet.say("three");
  await puppet.end();
  assert.deepEqual(watcher.story.slice(3), [
    "4 log one",
    "5 log two",
    "6 log three",
    '7 result "done"',
  ]);
  const at = watcher.told.indexOf(subscribed);
  assert.equal(watcher.told[at + 1]?.event_seq, 4);
  // It is all in its own resume buffer, too.
  const back = await scene.hello({ resume: watcher.resumeAfter(4) });
  assert.deepEqual(
    back.told.slice(1),
    watcher.told.filter(({ event_seq = 0 }) => event_seq > 4),
  );
});

test("[ARCP-141] a job that has ended is told from beginning to end, and twice is once for what happens", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const owner = await scene.hello();
  const { job_id = "" } = await owner.submit("puppet");
  const watcher = await scene.hello();
  await watcher.ask("job.subscribe", { job_id });
  await watcher.ask("job.subscribe", { job_id, history: true });
  await owner.ask("job.subscribe", { job_id });
  await puppet.say("one");
  await puppet.end();
  assert.deepEqual(watcher.story, ["1 status running", "2 log one", '3 result "done"']);
  assert.deepEqual(owner.story, ["1 status running", "2 log one", '3 result "done"']);
  const late = await scene.hello();
  const brief = await late.ask("job.subscribe", { job_id });
  assert.equal(brief.payload.current_status, "success");
  await late.ask("job.subscribe", { job_id, history: true });
  assert.deepEqual(late.story, [
    '1 result "done"',
    "2 status running",
    "3 log one",
    '4 result "done"',
  ]);
});

test("[ARCP-143] [ARCP-135] [ARCP-114] [ARCP-129] jobs of others are neither seen nor cancelled, unless somebody allows it", async () => {
  const audited: unknown[] = [];
  const { scene, puppet } = await withPuppet({
    mayObserve: (principal) => principal === "boss",
    audit: (decision) => audited.push(decision),
  });
  await using _ = scene;
  const owner = await scene.hello();
  const { job_id = "" } = await owner.submit("puppet");
  const eve = await scene.hello({ token: "of eve" });
  assert.equal((await eve.ask("job.subscribe", { job_id })).payload.code, "PERMISSION_DENIED");
  assert.equal((await eve.ask("job.subscribe", { job_id: "job_0" })).payload.code, "JOB_NOT_FOUND");
  assert.deepEqual((await eve.ask("session.list_jobs")).payload.jobs, []);
  const refused = await eve.ask("job.cancel", { reason: "no" }, { job_id });
  assert.equal(refused.type, "job.error");
  assert.equal(refused.payload.code, "JOB_NOT_FOUND");
  assert.equal(refused.event_seq, undefined);
  const boss = await scene.hello({ token: "of boss" });
  assert.equal((await boss.ask("job.subscribe", { job_id })).type, "job.subscribed");
  assert.equal((await boss.ask("session.list_jobs")).payload.jobs.length, 1);
  assert.equal((await boss.ask("job.cancel", {}, { job_id })).payload.code, "PERMISSION_DENIED");
  await puppet.say("goes on");
  assert.deepEqual(boss.story, ["1 log goes on"]);
  assert.equal(audited.length, 2);
});

test("[ARCP-112] [ARCP-113] [ARCP-115] a cancelled job ends as cancelled, once, and says so before", async () => {
  await using scene = await DoorScene.open();
  const end = Promise.withResolvers<void>();
  scene.agent("tidy", async (_, { signal }) => {
    await end.promise;
    signal.throwIfAborted();
  });
  const peer = await scene.hello();
  const { job_id = "" } = await peer.submit("tidy");
  const id = await peer.send("job.cancel", { reason: "enough" }, { job_id });
  await peer.ask("job.cancel", {}, { job_id });
  assert.deepEqual(peer.types.slice(3), ["job.cancelled", "job.cancelled"]);
  assert.deepEqual(peer.of("job.cancelled")[0]?.payload, {
    reason: "enough",
    job_id,
    request_id: id,
  });
  end.resolve();
  await turns(8);
  const [error] = peer.of("job.error");
  assert.equal(error?.payload.final_status, "cancelled");
  assert.equal(error?.payload.code, "CANCELLED");
  assert.equal(error?.payload.message, "enough");
  await peer.send("job.cancel", {}, { job_id });
  await turns(8);
  assert.equal(peer.told.length, 6);
});

test("a job that waits for a worker is cancelled at once, and that is told first", async () => {
  await using scene = await DoorScene.open();
  const puppet = new Puppet();
  scene.agent("puppet", puppet.handler, { jobsAtOnce: 1 });
  const peer = await scene.hello();
  await peer.submit("puppet");
  const { job_id = "" } = await peer.submit("puppet");
  await peer.ask("job.cancel", {}, { job_id });
  assert.deepEqual(peer.types.slice(-2), ["job.cancelled", "job.error"]);
});

test("[ARCP-130] [ARCP-131] [ARCP-132] a list is filtered, ordered and paged, and does not shift", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  scene.agent("sum", puppet.handler, { version: "1.0.0" });
  scene.agent("sum", puppet.handler, { version: "2.0.0" });
  const peer = await scene.hello();
  const ids: string[] = [];
  for (const agent of ["puppet", "sum@1.0.0", "sum", "puppet", "puppet"]) {
    ids.push((await peer.submit(agent)).job_id ?? "");
    await scene.clock.pass(1_000);
  }
  const page = async (payload: object): Promise<readonly [readonly number[], string | null]> => {
    const answer = await peer.ask("session.list_jobs", { ...payload });
    assert.equal(answer.type, "session.jobs", JSON.stringify(answer.payload));
    const { jobs, next_cursor } = answer.payload;
    return [jobs.map((job: { job_id: string }) => ids.indexOf(job.job_id)), next_cursor];
  };
  assert.deepEqual(await page({}), [[0, 1, 2, 3, 4], null]);
  assert.deepEqual(await page({ filter: { agent: "sum" } }), [[1, 2], null]);
  assert.deepEqual(await page({ filter: { agent: "sum@2.0.0" } }), [[2], null]);
  const [first, cursor] = await page({ limit: 2 });
  assert.deepEqual(first, [0, 1]);
  await puppet.end(0);
  assert.deepEqual(await page({ limit: 3, cursor }), [[2, 3, 4], null]);
  assert.deepEqual(await page({ filter: { status: ["success"] } }), [[0], null]);
  assert.deepEqual(await page({ filter: { status: ["no such"] } }), [[], null]);
  for (const payload of [{ cursor: "2" }, { limit: 0 }, { filter: { agent: "A B" } }]) {
    const refused = await peer.ask("session.list_jobs", payload);
    assert.equal(refused.payload.code, "INVALID_REQUEST");
  }
});

test("[ARCP-134] a page is short where jobs have long leases, and comes though a filter passes over many", async () => {
  const { scene } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  const lease_request = {
    "x-vendor.acme.note": Array.from({ length: 40 }, () => "n".repeat(4_000)),
  };
  for (let count = 0; count < 4; count += 1) await peer.submit("puppet", { lease_request });
  const first = await peer.ask("session.list_jobs", { limit: 1_000 });
  assert.equal(first.payload.jobs.length, 3);
  const rest = await peer.ask("session.list_jobs", { cursor: first.payload.next_cursor });
  assert.equal(rest.payload.jobs.length, 1);
  assert.equal(rest.payload.next_cursor, null);

  for (let session = 0; session <= 100; session += 1) {
    const name = `other${session}`;
    const by = { principal: "ada" };
    scene.plane.carryOut(openSession(name, by), { actor: "test" }, () => undefined);
    for (let job = 0; job < 100; job += 1) {
      const command = submitJob(`job_${session}_${job}`, name, by);
      scene.plane.carryOut(command, { actor: "test" }, () => undefined);
    }
  }
  const filter = { agent: "nobody" };
  const none = await peer.ask("session.list_jobs", { filter });
  assert.deepEqual(none.payload.jobs, []);
  const cursor = none.payload.next_cursor;
  assert.notEqual(cursor, null);
  const last = await peer.ask("session.list_jobs", { filter, cursor });
  assert.deepEqual([last.payload.jobs, last.payload.next_cursor], [[], null]);
});

test("[ARCP-54] without a feature its requests are refused and its events not told, but numbers have no gap", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello({ features: [] });
  const { job_id = "" } = await peer.submit("puppet");
  assert.equal((await peer.ask("session.list_jobs")).payload.code, "INVALID_REQUEST");
  assert.equal((await peer.ask("job.subscribe", { job_id })).payload.code, "INVALID_REQUEST");
  await puppet.job().progress(1, { total: 2 });
  const stream = puppet.job().streamResult();
  await stream.write("a long ");
  await stream.write("story");
  await puppet.say("one");
  await puppet.end(0, null);
  assert.deepEqual(peer.story, ["1 status running", "2 log one", '3 result "a long story"']);
  const other = await scene.hello();
  await other.ask("job.subscribe", { job_id, history: true });
  assert.deepEqual(other.story, [
    "1 status running",
    "2 progress 1",
    "3 result_chunk a long",
    "4 log one",
    "5 result_chunk story",
    `6 result "${stream.resultId}"`,
  ]);
});

test("[ARCP-70] [ARCP-71] [ARCP-69] who is silent is pinged, then let go; its session stays", async () => {
  await using scene = await DoorScene.open();
  const peer = await scene.hello({ features: ["heartbeat"] });
  await scene.clock.pass(30_000);
  await turns();
  const [ping] = peer.of("session.ping");
  await peer.send("session.pong", { ping_nonce: ping?.payload.nonce });
  await turns();
  await scene.clock.pass(30_000);
  await turns();
  assert.equal(peer.of("session.ping").length, 2);
  await scene.clock.pass(30_000);
  await turns(6);
  assert.equal(peer.of("session.error")[0]?.payload.code, "HEARTBEAT_LOST");
  assert.equal(peer.closing?.code, 1001);
  await scene.hello({ resume: peer.resumeAfter(0) });
  const other = await scene.hello({ features: [] });
  await other.send("session.ping", { nonce: "n", sent_at: "2026-01-01T00:00:00Z" });
  await turns();
  assert.equal(other.of("session.pong")[0]?.payload.ping_nonce, "n");
});

test("[ARCP-76] [ARCP-77] a job is told once that its client lags, again when it had caught up", async () => {
  const { scene, puppet } = await withPuppet({ backPressureEvents: 10 });
  await using _ = scene;
  const peer = await scene.hello();
  await peer.submit("puppet");
  const words = Array.from({ length: 20 }, (_, at) => `${at}`);
  await puppet.say(...words);
  const lags = (): number =>
    peer.of("job.event").filter(({ payload }) => payload.body.phase === "back_pressure").length;
  assert.equal(lags(), 1);
  await peer.send("session.ack", { last_processed_seq: 22 });
  await turns();
  await puppet.say("a");
  assert.equal(lags(), 1);
  await puppet.say(...words);
  assert.equal(lags(), 2);
});

test("[ARCP-79] a farewell closes the connection and leaves the job running", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  for (const type of ["session.bye", "session.close"]) {
    const peer = await scene.hello();
    await peer.submit("puppet");
    await peer.send(type, { reason: "later" });
    await turns(8);
    assert.equal(peer.closing?.code, 1000);
    const closed = peer.of("session.closed").map(({ payload }) => payload);
    assert.deepEqual(closed, type === "session.close" ? [{ reason: "later" }] : []);
    await scene.hello({ resume: peer.resumeAfter(1) });
  }
  assert.equal(
    puppet.contexts.every(({ signal }) => !signal.aborted),
    true,
  );
});

test("[ARCP-20] [ARCP-110] [ARCP-12] [ARCP-13] [ARCP-17] [ARCP-18] nonsense is answered and forgiven, but not for ever", async () => {
  await using scene = await DoorScene.open();
  scene.agent("echo", echo);
  const peer = await scene.hello();
  const refused = [
    await peer.ask("session.hello", {}),
    await peer.ask("job.accepted", {}),
    await peer.ask("job.dance", {}),
    await peer.ask("session.list_jobs", {}, { session_id: "sess_other" }),
    await peer.ask("job.cancel", {}),
  ];
  for (const { type, payload } of refused) {
    assert.equal(type, "session.error");
    assert.equal(payload.code, "INVALID_REQUEST");
  }
  assert.equal((await peer.submit("echo")).type, "job.accepted");
  for (let count = 0; count < 20; count += 1) await peer.transport.send({ not: "an envelope" });
  await turns(8);
  assert.equal(peer.closing?.code, 1008);
});

test("[ARCP-191] a vendor's message goes to who registered for it; without one it is refused, unless it is optional", async () => {
  const seen: unknown[] = [];
  const contexts: unknown[] = [];
  const handlers = new Map([
    [
      "x-vendor.acme.hello",
      (envelope: { payload: unknown }, session: SessionContext) => {
        seen.push(envelope.payload);
        const { principal, negotiatedFeatures } = session;
        contexts.push([principal, negotiatedFeatures, session.hasFeature("ack")]);
        contexts.push([session.sessionId, session.hasFeature("progress")]);
        session.send("x-vendor.acme.there", { you: 1 });
      },
    ],
  ]) as never;
  await using scene = await DoorScene.open({ vendorHandlers: handlers });
  const peer = await scene.hello({ features: ["subscribe", "ack"] });
  await peer.send("x-vendor.acme.hello", { me: 1 });
  await turns(6);
  assert.deepEqual(seen, [{ me: 1 }]);
  assert.deepEqual(contexts, [
    ["ada", ["subscribe", "ack"], true],
    [peer.sessionId, false],
  ]);
  assert.deepEqual(peer.of("x-vendor.acme.there")[0]?.payload, { you: 1 });
  const refused = await peer.ask("x-vendor.acme.other", {});
  assert.deepEqual(refused.payload.details, { type: "x-vendor.acme.other" });
  const before = peer.told.length;
  await peer.send("x-vendor.acme.other", {}, { extensions: { optional: true } });
  await turns(6);
  assert.equal(peer.told.length, before);
});

test("[PYR-1] [PYR-5] [PYR-7] [PYR-9] [PYR-12] a Python client gets its own forms", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello({ dialect: "python" });
  const lease_request = { "cost.budget": ["USD:1.50", "USD:0.50", "credits:10"] };
  const { payload, job_id = "" } = await peer.submit("puppet", { lease_request });
  assert.deepEqual(payload.budget, { USD: "USD:2.00", credits: "credits:10" });
  const refused = await peer.submit("nobody");
  assert.equal(refused.type, "session.error");
  assert.equal(refused.payload.code, "AGENT_NOT_AVAILABLE");
  await peer.ask("job.cancel", { reason: "demo" }, { job_id });
  const [error] = peer.of("job.error");
  assert.equal(error?.payload.final_status, "error");
  assert.equal(error?.payload.code, "CANCELLED");
  const listed = await peer.ask("session.list_jobs");
  assert.equal(listed.payload.jobs[0]?.status, "cancelled");
  assert.equal(puppet.contexts.length, 1);
  const spec = await scene.hello();
  const other = await spec.submit("puppet", { lease_request });
  assert.deepEqual(other.payload.budget, { USD: 2, credits: 10 });
});

test("[PYR-14] what happens to a job waits behind job.subscribed, for a Python client", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const owner = await scene.hello();
  const { job_id = "" } = await owner.submit("puppet");
  const peer = await scene.hello({ dialect: "python" });
  await peer.send("job.subscribe", { job_id, history: true });
  const sentAtMs = performance.now();
  await puppet.say("one");
  await waitUntil(() => peer.of("job.subscribed").length > 0);
  assert.deepEqual(peer.story, []);
  while (peer.story.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  assert(performance.now() - sentAtMs >= 24);
  assert.deepEqual(peer.story, ["1 status running", "2 log one"]);
});

test("[PYR-18] what a Python client cannot read ends the job for it, not the connection", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello({ dialect: "python", features: [] });
  await peer.submit("puppet");
  await puppet.end(0, "é".repeat(1_048_576));
  const [error] = peer.of("job.error");
  assert.equal(error?.payload.code, "INTERNAL_ERROR");
  assert.equal(peer.closing, undefined);
  assert.equal((await peer.submit("puppet")).type, "job.accepted");
});

test("a request that is called like a delegated one is answered, and not announced too", async () => {
  const { scene } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  const payload = { agent: "puppet" };
  await peer.transport.send({ arcp: "1.1", id: "delegate/1", type: "job.submit", payload });
  await turns(6);
  assert.deepEqual(peer.types, ["session.welcome", "job.accepted", "job.event"]);
});

test("[ARCP-176] a delegated job is announced in the session of its parent, before it says anything", async () => {
  await using scene = await DoorScene.open();
  scene.agent("child", echo);
  scene.agent("parent", async (_, context) => {
    const child = await context.delegate({ agent: "child", input: 1, delegateId: "d1" });
    return await child.done;
  });
  const peer = await scene.hello();
  const lease_request = { "agent.delegate": ["child"] };
  const parent = await peer.submit("parent", { lease_request });
  await waitUntil(() => peer.story.length >= 6);
  const child = peer.of("job.accepted")[1];
  assert.equal(child?.payload.parent_job_id, parent.job_id);
  assert.equal(child?.payload.delegate_id, "d1");
  assert.equal(child?.trace_id, parent.trace_id);
  const [delegate] = peer.of("job.event").filter(({ payload }) => payload.kind === "delegate");
  assert.equal(delegate?.payload.body.child_job_id, child?.job_id);
  const firstOfChild = peer.told.findIndex(({ job_id }) => job_id === child?.job_id);
  assert.equal(peer.told[firstOfChild], child);
  assert.equal(
    scene.plane.peek(({ jobs }) => jobs.byId.get(jobId(child?.job_id ?? ""))?.state),
    "ended",
  );
});

test("[ARCP-27] a client that does not read holds up its own jobs, not those of others, and loses nothing", async () => {
  await using scene = await DoorScene.open();
  let said = 0;
  const text = "x".repeat(100_000);
  scene.agent("flood", async (_, context) => {
    for (let count = 0; count < 400; count += 1) {
      await context.thought(text);
      said += 1;
    }
  });
  scene.agent("echo", echo);
  const peer = await scene.hello();
  let release = (): void => undefined;
  const stuck = new Promise<void>((resolve) => {
    release = resolve;
  });
  let count = 0;
  peer.transport.onFrame(async ({ type }) => {
    await stuck;
    if (type === "job.event") count += 1;
  });
  await peer.send("job.submit", { agent: "flood" });
  await waitUntil(() => said > 150);
  await turns(200);
  assert(said < 300, `${said} said`);
  const other = await scene.hello();
  await other.submit("echo");
  await waitUntil(() => other.story.length === 3);
  release();
  await waitUntil(() => count === 401);
  assert.equal(said, 400);
  assert.equal(count, 401);
});

test("who asks and asks and takes no answers is not read any more, and is answered all when it does", async () => {
  await using scene = await DoorScene.open();
  const text = "x".repeat(1_000_000);
  scene.agent("flood", async (_, context) => {
    for (let count = 0; count < 40; count += 1) await context.thought(text);
  });
  const peer = await scene.hello();
  const stuck = Promise.withResolvers<void>();
  const answered: unknown[] = [];
  peer.transport.onFrame(async ({ type, payload }) => {
    await stuck.promise;
    if (type === "session.jobs") answered.push(payload);
  });
  await peer.send("job.submit", { agent: "flood" });
  await waitUntil(() => scene.plane.lastSequence > 15);
  await turns(50);
  const asked = 2_000;
  for (let count = 0; count < asked; count += 1) await peer.send("session.list_jobs", {});
  await turns(50);
  const unreadBytes = peer.transport.queuedBytes;
  assert(unreadBytes > 100_000, `${unreadBytes} bytes are not read`);
  stuck.resolve();
  await waitUntil(() => answered.length === asked);
});

test("[ARCP-172] [ARCP-19] [ARCP-168] [ARCP-83] [ARCP-140] credentials come with the acceptance, in the order of the requests, and to nobody else", async () => {
  const made: ((values: readonly string[]) => void)[] = [];
  const provisioner = {
    issue: async () => {
      const values = await new Promise<readonly string[]>((resolve) => made.push(resolve));
      return values.map((value) => ({ value, endpoint: "https://models.test/v1" }));
    },
    revoke: async () => undefined,
  };
  const { scene, puppet } = await withPuppet({ provisioner, mayObserve: () => true });
  await using _ = scene;
  const peer = await scene.hello();
  const first = await peer.send("job.submit", { agent: "puppet" });
  const second = await peer.send("job.submit", { agent: "puppet" });
  const third = await peer.send("session.list_jobs");
  await turns(6);
  assert.deepEqual(peer.types, ["session.welcome"]);
  await peer.send("session.ping", { nonce: "n" });
  await turns(3);
  assert.deepEqual(peer.types, ["session.welcome", "session.pong"]);
  made[1]?.(["two"]);
  await turns(6);
  assert.equal(peer.told.length, 2);
  made[0]?.(["one"]);
  await waitUntil(() => peer.story.length === 2);
  const answers = peer.told.flatMap(({ payload }) => payload.request_id ?? []);
  assert.deepEqual(answers, [first, second, third]);
  const values = peer.of("job.accepted").map(({ payload }) => payload.credentials[0]?.value);
  assert.deepEqual(values, ["one", "two"]);
  const { job_id = "" } = peer.of("job.accepted")[0] ?? {};
  const other = await scene.hello();
  const seen = await other.ask("job.subscribe", { job_id });
  assert.equal(seen.payload.credentials[0]?.value, "one");
  const boss = await scene.hello({ token: "of boss" });
  assert.equal("credentials" in (await boss.ask("job.subscribe", { job_id })).payload, false);
  const modest = await scene.hello({ features: ["subscribe"] });
  assert.equal("credentials" in (await modest.ask("job.subscribe", { job_id })).payload, false);
  // [ARCP-172]
  const owner = puppet.contexts.find(({ jobId }) => jobId === job_id);
  const [credential] = owner?.credentials ?? [];
  await owner?.rotateCredential(credential?.id ?? "", "newer");
  await turns(6);
  const bodyOf = ({ told }: Peer): object | undefined => told.at(-1)?.payload.body;
  const rotated = { phase: "credential_rotated", id: credential?.id };
  assert.deepEqual(bodyOf(other), { ...rotated, value: "newer" });
  assert.deepEqual(bodyOf(boss), rotated);
  assert.deepEqual(bodyOf(modest), rotated);
  const back = await scene.hello({ resume: other.resumeAfter(0) });
  assert.deepEqual(bodyOf(back), rotated);
});

test("[ARCP-81] who shuts down says goodbye, and jobs have their time to unwind", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  const { job_id = "" } = await peer.submit("puppet");
  scene.door.sayGoodbye();
  const closing = scene.runtime.close({ graceMs: 1_000 });
  await turns(6);
  assert.deepEqual(peer.of("session.bye")[0]?.payload, { reason: "shutdown" });
  await closing;
  await scene.door[Symbol.asyncDispose]();
  await turns(3);
  assert.equal(peer.closing?.code, 1001);
  assert.equal(peer.of("session.bye").length, 1);
  assert(puppet.job().signal.aborted);
  const job = scene.plane.peek(({ jobs }) => jobs.byId.get(jobId(job_id)));
  assert.equal(job?.state === "ended" && job.status, "cancelled");
});

test("[ARCP-111] a job is cancelled from the session that asked for it, and from others of its principal only where that is allowed", async () => {
  for (const cancelsAcrossSessions of [false, true]) {
    const { scene } = await withPuppet({ cancelsAcrossSessions });
    await using _ = scene;
    const { job_id = "" } = await (await scene.hello()).submit("puppet");
    const other = await scene.hello();
    const stranger = await scene.hello({ token: "of eve" });
    const refused = await stranger.ask("job.cancel", {}, { job_id });
    assert.equal(refused.payload.code, "JOB_NOT_FOUND");
    const answer = await other.ask("job.cancel", {}, { job_id });
    assert.equal(answer.type, cancelsAcrossSessions ? "job.cancelled" : "job.error");
  }
});

test("a hook that throws is told to who runs the door, and its request is answered", async () => {
  const faults: unknown[] = [];
  const { scene } = await withPuppet({
    mayObserve: () => {
      throw new Error("no idea");
    },
    onFault: (fault) => faults.push(fault),
  });
  await using _ = scene;
  const owner = await scene.hello();
  const { job_id = "" } = await owner.submit("puppet");
  const eve = await scene.hello({ token: "of eve" });
  const answer = await eve.ask("job.subscribe", { job_id });
  assert.equal(answer.payload.code, "INTERNAL_ERROR");
  assert.doesNotMatch(answer.payload.message, /idea/);
  assert.match(String(faults[0]), /no idea/);
  assert.equal((await eve.submit("puppet")).type, "job.accepted");
});
