/** What the protocol says of jobs, held against the door: submits, ends, cancels, lists, subscriptions, leases. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Handler } from "../../arcp-context.ts";
import { jobId } from "../../core/index.ts";
import { MemoryLog, SqliteLog } from "../../log/index.ts";
import { DoorScene, type Told } from "../../testing/arcp-door.ts";
import { Puppet, waitUntil, withPuppet } from "../../testing/puppet.ts";
import { temporaryDirectory } from "../../testing/temporary.ts";
import { turns } from "../../testing/test-plane.ts";
import { ArcpError, readEnvelope } from "../../wire/arcp/index.ts";
import { decodeList } from "./decode.ts";

const echo: Handler = async (input, context) => {
  await context.log("info", "echo started");
  return { echoed: input };
};

test("[ARCP-82] [ARCP-97] [ARCP-15] of several things that are wrong with a submit the first of a given order is told", async () => {
  const { scene } = await withPuppet({ jobsOfSessionMax: 1 });
  await using _ = scene;
  const peer = await scene.hello();
  await peer.submit("puppet", { idempotency_key: "k" });
  const wrong = {
    shape: { max_runtime_sec: 0 },
    key: { idempotency_key: "k" },
    agent: { agent: "nobody" },
    lease: { lease_request: { "fs.everything": [] } },
    constraints: { lease_constraints: { expires_at: "2001-01-01T00:00:00Z" } },
    parent: { parent_job_id: "job_none" },
  };
  const codeOf = async (...parts: readonly (keyof typeof wrong)[]): Promise<string> => {
    const payload = Object.assign({ agent: "puppet" }, ...parts.map((part) => wrong[part]));
    const answer = await peer.ask("job.submit", payload);
    return `${answer.payload.code} ${answer.payload.details?.path ?? ""}`.trim();
  };
  const every = ["shape", "key", "agent", "lease", "constraints", "parent"] as const;
  assert.equal(await codeOf(...every), "INVALID_REQUEST payload.max_runtime_sec");
  assert.equal(await codeOf(...every.slice(1)), "DUPLICATE_KEY");
  assert.equal(await codeOf(...every.slice(2)), "AGENT_NOT_AVAILABLE");
  assert.equal(
    await codeOf(...every.slice(3)),
    "INVALID_REQUEST payload.lease_request.fs.everything",
  );
  assert.equal(
    await codeOf(...every.slice(4)),
    "INVALID_REQUEST payload.lease_constraints.expires_at",
  );
  assert.equal(await codeOf("parent"), "JOB_NOT_FOUND");
  assert.equal(await codeOf(), "INTERNAL_ERROR");
});

test("[ARCP-85] [ARCP-10] [ARCP-1] a job without a trace has one of its own, on all of its frames", async () => {
  await using scene = await DoorScene.open();
  scene.agent("echo", echo);
  const peer = await scene.hello();
  const [one, other] = [await peer.submit("echo"), await peer.submit("echo")];
  await waitUntil(() => peer.story.length === 6);
  assert.match(one.trace_id ?? "", /^(?!0{32})[0-9a-f]{32}$/);
  assert.notEqual(one.trace_id, other.trace_id);
  assert.equal(one.payload.trace_id, one.trace_id);
  for (const { job_id, trace_id, id } of peer.told.slice(1)) {
    assert.equal(trace_id, job_id === one.job_id ? one.trace_id : other.trace_id);
    assert.match(id, /^msg_[0-9A-HJKMNP-TV-Z]{26}$/);
  }
  const traceparent = "00-392b193cf3cefb1e7864ff0932afab10-90ebdc8a3358ab63-03";
  await peer.send("job.submit", { agent: "echo" }, { trace_id: traceparent });
  await turns(6);
  assert.equal(peer.of("job.accepted")[2]?.trace_id, "392b193cf3cefb1e7864ff0932afab10");
});

test("[ARCP-87] an input comes to the agent as it was sent, and none is null", async () => {
  const inputs: unknown[] = [];
  await using scene = await DoorScene.open();
  scene.agent("take", (input) => void inputs.push(input));
  const peer = await scene.hello();
  const sent = [{ "": [1.5, null, { __proto__x: "é\u0000" }] }, "text", 0, false, null];
  for (const input of sent) await peer.submit("take", { input });
  await peer.submit("take");
  assert.deepEqual(inputs, [...sent, null]);
});

test("[ARCP-88] a session has so many unfinished jobs, and the one too many may be asked for again", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  for (let count = 0; count < 100; count += 1) await peer.send("job.submit", { agent: "puppet" });
  await waitUntil(() => puppet.contexts.length === 100);
  const refused = await peer.submit("puppet");
  assert.equal(refused.type, "job.error");
  assert.equal(refused.payload.code, "INTERNAL_ERROR");
  assert.equal(refused.payload.retryable, true);
  await puppet.end(7);
  assert.equal((await peer.submit("puppet")).type, "job.accepted");
  assert.equal((await (await scene.hello()).submit("puppet")).type, "job.accepted");
});

test("[ARCP-91] [ARCP-92] [ARCP-20] an unknown version is refused by a session error, all or none as options say", async () => {
  const typesOf = async (options: object): Promise<readonly string[]> => {
    await using scene = await DoorScene.open(options);
    scene.agent("sum", echo, { version: "1.0.0" });
    const peer = await scene.hello();
    const answers = [await peer.submit("sum@9"), await peer.submit("nobody")];
    return answers.map(({ type }) => type);
  };
  assert.deepEqual(await typesOf({}), ["session.error", "job.error"]);
  assert.deepEqual(await typesOf({ versionErrorAs: "job.error" }), ["job.error", "job.error"]);
  assert.deepEqual(await typesOf({ rejectWith: "session.error" }), [
    "session.error",
    "session.error",
  ]);
});

test("[ARCP-94] a key is good for a day, in any session of its principal", async () => {
  await using scene = await DoorScene.open();
  scene.agent("echo", echo);
  const features = ["list_jobs"];
  const peer = await scene.hello({ features });
  const again = { input: { a: 1, b: [2] }, idempotency_key: "k", lease_request: {} };
  const first = await peer.submit("echo", again);
  await scene.pass(23 * 3_600_000);
  const reordered = { lease_request: {}, idempotency_key: "k", input: { b: [2], a: 1 } };
  const second = await (await scene.hello({ features })).submit("echo", reordered);
  assert.equal(second.job_id, first.job_id);
  await scene.pass(2 * 3_600_000);
  assert.notEqual((await peer.submit("echo", again)).job_id, first.job_id);
});

test("[ARCP-94] a key outlives the thousand jobs that are remembered of its principal without one", async () => {
  await using scene = await DoorScene.open();
  scene.agent("quiet", () => undefined);
  const peer = await scene.hello();
  const keyed = { idempotency_key: "k" };
  const first = await peer.submit("quiet", keyed);
  for (let count = 0; count < 1_001; count += 1) {
    await peer.send("job.submit", { agent: "quiet" });
    if (count % 50 === 49) await turns(6);
  }
  await waitUntil(() => peer.of("job.result").length >= 1_002);
  assert.equal((await peer.submit("quiet", keyed)).job_id, first.job_id);
});

test("[ARCP-98] of equal submits at one time one runs, and a submit that is refused keeps no key", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peers = await Promise.all([scene.hello(), scene.hello(), scene.hello()]);
  const payload = { agent: "puppet", idempotency_key: "k" };
  await Promise.all(peers.map((peer) => peer.send("job.submit", payload)));
  await turns(8);
  const ids = peers.map((peer) => peer.of("job.accepted")[0]?.job_id);
  assert.equal(new Set(ids).size, 1);
  assert.equal(puppet.contexts.length, 1);
  const [peer] = peers;
  const refused = { agent: "nobody", idempotency_key: "other" };
  assert.equal((await peer?.ask("job.submit", refused))?.type, "job.error");
  const now = await peer?.submit("puppet", { idempotency_key: "other" });
  assert.equal(now?.type, "job.accepted");
});

test("[ARCP-103] [ARCP-101] [ARCP-102] a job's agent is the one that was meant when it was asked for", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  scene.agent("sum", puppet.handler, { version: "1.10.0" });
  scene.agent("sum", puppet.handler, { version: "1.9.0" });
  const peer = await scene.hello();
  const accepted = await peer.submit("sum");
  assert.equal(accepted.payload.agent, "sum@1.10.0");
  scene.runtime.catalogue.setDefault("sum", "1.9.0");
  assert.equal((await peer.submit("sum")).payload.agent, "sum@1.9.0");
  const { job_id } = accepted;
  assert.equal((await peer.ask("job.subscribe", { job_id })).payload.agent, "sum@1.10.0");
  const { jobs } = (await peer.ask("session.list_jobs")).payload;
  assert.deepEqual(
    jobs.map(({ agent }) => agent),
    ["sum@1.10.0", "sum@1.9.0"],
  );
  assert.equal(puppet.job().agentRef, "sum@1.10.0");
});

test("[ARCP-104] a job ends once, and what its agent says after that is nobody's, without an error", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  await peer.submit("puppet", { max_runtime_sec: 5 });
  await scene.pass(5_000);
  assert.deepEqual(peer.story, ["1 status running", "2 timed_out TIMEOUT"]);
  await puppet.job().log("info", "too late");
  await puppet.end();
  await scene.pass(5_000);
  assert.equal(peer.story.length, 2);
});

test("[ARCP-105] [ARCP-187] an agent's own error keeps its code, words and details; others are ours, without a stack", async () => {
  await using scene = await DoorScene.open();
  const errors = [
    new ArcpError("PERMISSION_DENIED", "not you", { details: { who: "you" } }),
    new TypeError("x is not a function"),
    new ArcpError("OUT_OF_COFFEE", "empty", { retryable: false }),
    new ArcpError("INTERNAL_ERROR", "nobody said", { details: { original_code: "ask_timeout" } }),
  ];
  scene.agent("fail", (input) => {
    throw errors[Number(input)];
  });
  const peer = await scene.hello();
  for (const input of errors.keys()) await peer.submit("fail", { input });
  const ends = peer.of("job.error").map(({ payload }) => payload);
  const always = { final_status: "error", completed_at: ends[0]?.completed_at };
  assert.deepEqual(ends, [
    {
      ...always,
      code: "PERMISSION_DENIED",
      message: "not you",
      retryable: false,
      details: { who: "you" },
    },
    { ...always, code: "INTERNAL_ERROR", message: "x is not a function", retryable: true },
    {
      ...always,
      code: "INTERNAL_ERROR",
      message: "empty",
      retryable: true,
      details: { original_code: "OUT_OF_COFFEE" },
    },
    {
      ...always,
      code: "INTERNAL_ERROR",
      message: "nobody said",
      retryable: true,
      details: { original_code: "ask_timeout" },
    },
  ]);
});

test("[ARCP-106] [ARCP-151] [ARCP-150] at its expiry a job ends as an error, its agent is told, and operations fail", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  const expires_at = `${new Date(scene.clock.nowMs() + 60_000).toISOString().slice(0, -1)}000Z`;
  const lease = { lease_request: { "tool.call": ["a"] }, lease_constraints: { expires_at } };
  const accepted = await peer.submit("puppet", lease);
  assert.deepEqual(accepted.payload.lease_constraints, { expires_at });
  scene.clock.leap(59_999);
  await puppet.job().authorize("tool.call", "a");
  scene.clock.leap(1);
  await assert.rejects(puppet.job().authorize("tool.call", "a"), {
    code: /LEASE_EXPIRED|CANCELLED/,
  });
  scene.plane.tick();
  await turns(6);
  const [error] = peer.of("job.error");
  assert.equal(error?.payload.code, "LEASE_EXPIRED");
  assert.equal(error?.payload.final_status, "error");
  assert.equal(error?.payload.retryable, false);
  assert(puppet.job().signal.aborted);
});

test("[ARCP-107] [ARCP-108] a job that runs too long ends at once as timed out, be that in a month", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const features = ["list_jobs"];
  const peer = await scene.hello({ features });
  const month = 2_678_400;
  const { job_id } = await peer.submit("puppet", { max_runtime_sec: month });
  await scene.pass(month * 1_000 - 10_000);
  assert.deepEqual(peer.story, ["1 status running"]);
  await scene.pass(10_000);
  const [error] = peer.of("job.error");
  assert.equal(error?.job_id, job_id);
  assert.equal(error?.payload.final_status, "timed_out");
  assert.equal(error?.payload.code, "TIMEOUT");
  assert.equal(error?.payload.retryable, true);
  assert(puppet.job().signal.aborted);
  const { jobs } = (await peer.ask("session.list_jobs")).payload;
  assert.equal(jobs[0]?.status, "timed_out");
});

test("[ARCP-109] a job that has ended is listed, followed and found by its key for a while", async () => {
  await using scene = await DoorScene.open();
  scene.agent("echo", echo);
  const features = ["list_jobs", "subscribe"];
  const peer = await scene.hello({ features });
  const { job_id } = await peer.submit("echo", { idempotency_key: "k" });
  await scene.pass(3_590_000);
  const { jobs } = (await peer.ask("session.list_jobs")).payload;
  assert.equal(jobs[0]?.job_id, job_id);
  const subscribed = await peer.ask("job.subscribe", { job_id, history: true });
  assert.equal(subscribed.payload.current_status, "success");
  assert.equal((await peer.submit("echo", { idempotency_key: "k" })).job_id, job_id);
});

test("[ARCP-110] [ARCP-111] a cancel may name its job in the payload; whoever asked for the same may cancel too", async () => {
  const { scene } = await withPuppet();
  await using _ = scene;
  const [owner, other, watcher] = [await scene.hello(), await scene.hello(), await scene.hello()];
  const { job_id } = await owner.submit("puppet", { idempotency_key: "k" });
  await watcher.ask("job.subscribe", { job_id });
  const refused = await watcher.ask("job.cancel", { job_id });
  assert.equal(refused.type, "job.error");
  assert.equal(refused.payload.code, "PERMISSION_DENIED");
  await other.submit("puppet", { idempotency_key: "k" });
  assert.equal((await other.ask("job.cancel", { job_id })).type, "job.cancelled");
  assert.equal(owner.of("job.error")[0]?.payload.code, "CANCELLED");
  assert.equal((await owner.ask("job.cancel")).payload.code, "INVALID_REQUEST");
});

test("[ARCP-112] [ARCP-115] [ARCP-203] a cancelled job that returns is cancelled, and one that does not is so after 30 s", async () => {
  await using scene = await DoorScene.open();
  scene.agent("deaf", () => new Promise(() => undefined));
  scene.agent(
    "polite",
    (_, { signal }) =>
      new Promise((end) => {
        signal.addEventListener("abort", () => end("done anyway"));
      }),
  );
  const peer = await scene.hello({ features: [] });
  const [deaf, polite] = [await peer.submit("deaf"), await peer.submit("polite")];
  for (const { job_id } of [deaf, polite]) await peer.ask("job.cancel", {}, { job_id });
  assert.deepEqual(peer.story.slice(2), ["3 cancelled CANCELLED"]);
  assert.equal(peer.of("job.error")[0]?.job_id, polite.job_id);
  assert.equal(peer.of("job.error")[0]?.payload.message, "cancelled");
  await scene.pass(29_990);
  assert.equal(peer.of("job.error").length, 1);
  await scene.pass(10);
  assert.equal(peer.of("job.error")[1]?.job_id, deaf.job_id);
});

test("[ARCP-119] [ARCP-117] words that an agent does not wait for come in their order, and numbers of two jobs have no gap", async () => {
  await using scene = await DoorScene.open();
  scene.agent("chatter", async (input, context) => {
    for (let count = 0; count < 200; count += 1) {
      void context.log("info", `${input} ${count}`);
      if (count % 7 === 0) await turns(1);
    }
  });
  const peer = await scene.hello();
  await peer.send("job.submit", { agent: "chatter", input: "a" });
  await peer.send("job.submit", { agent: "chatter", input: "b" });
  await waitUntil(() => peer.of("job.result").length === 2);
  const numbered = peer.told.filter(({ event_seq }) => event_seq !== undefined);
  assert.deepEqual(
    numbered.map(({ event_seq }) => event_seq),
    [...numbered.keys()].map((at) => at + 1),
  );
  for (const name of ["a", "b"]) {
    const words = peer.of("job.event").flatMap(({ payload }) => payload.body.message ?? []);
    assert.deepEqual(
      words.filter((word) => word.startsWith(name)),
      Array.from({ length: 200 }, (_, at) => `${name} ${at}`),
    );
  }
});

test("[ARCP-121] progress beyond its total is told as it is", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  await peer.submit("puppet");
  await puppet.job().progress(3, { total: 2 });
  await turns(6);
  assert.deepEqual(peer.of("job.event").at(-1)?.payload.body, { current: 3, total: 2 });
});

test("[ARCP-124] [ARCP-23] a streamed result has one id, pieces in order, its size at the end, and no result", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  await peer.submit("puppet");
  const stream = puppet.job().streamResult();
  await stream.write("é");
  await stream.write("b");
  await puppet.end(0, null);
  const chunks = peer
    .of("job.event")
    .flatMap(({ payload }) => (payload.kind === "result_chunk" ? [payload.body] : []));
  assert.deepEqual(chunks, [
    { result_id: stream.resultId, chunk_seq: 0, data: "é", encoding: "utf8", more: true },
    { result_id: stream.resultId, chunk_seq: 1, data: "b", encoding: "utf8", more: false },
  ]);
  const { completed_at: _at, ...result } = peer.of("job.result")[0]?.payload ?? {};
  assert.deepEqual(result, {
    final_status: "success",
    result_id: stream.resultId,
    result_size: 3,
  });
  assert.match(stream.resultId, /^res_[0-9A-HJKMNP-TV-Z]{26}$/);
});

test("[ARCP-130] [ARCP-133] times in a filter are exclusive, and an entry says from where to follow its job", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  const at = (): string => new Date(scene.clock.nowMs()).toISOString();
  const first = at();
  await peer.submit("puppet");
  scene.clock.leap(1);
  const second = at();
  await peer.submit("puppet", { lease_request: { "cost.budget": ["USD:1"] } });
  await puppet.say("one");
  const list = async (filter: object): Promise<number> =>
    (await peer.ask("session.list_jobs", { filter })).payload.jobs.length;
  assert.equal(await list({ created_after: first }), 1);
  assert.equal(await list({ created_before: second }), 1);
  assert.equal(await list({ created_after: first, created_before: second }), 0);
  assert.equal(await list({ created_after: first, status: ["success"] }), 0);
  const { jobs } = (await peer.ask("session.list_jobs")).payload;
  const [one, other] = jobs;
  assert.equal(one?.last_event_seq, 3);
  assert.equal(other?.last_event_seq, 2);
  assert.deepEqual(other?.budget, { USD: 1 });
  assert.equal(one?.parent_job_id, null);
  assert.equal(one?.created_at, one?.submitted_at);
});

test("[ARCP-133] [ARCP-140] a list has no credentials, and a subscription says what a job may do now", async () => {
  const provisioner = {
    issue: async () => [{ value: "secret", endpoint: "https://models.test/v1" }],
    revoke: async () => undefined,
  };
  const { scene, puppet } = await withPuppet({ provisioner });
  await using _ = scene;
  const peer = await scene.hello();
  const lease_request = { "cost.budget": ["USD:1.00"], "tool.call": ["a"] };
  const expires_at = "2099-01-01T00:00:00Z";
  const { job_id } = await peer.submit("puppet", {
    lease_request,
    lease_constraints: { expires_at },
  });
  await puppet.job().metric({ name: "cost.model", value: 0.42, unit: "USD" });
  const [entry] = (await peer.ask("session.list_jobs")).payload.jobs;
  assert.doesNotMatch(JSON.stringify(entry), /secret|credentials/);
  const { payload } = await peer.ask("job.subscribe", { job_id });
  assert.deepEqual(payload.lease, lease_request);
  assert.deepEqual(payload.lease_constraints, { expires_at });
  assert.deepEqual(payload.budget, { USD: 0.58 });
});

test("[ARCP-131] a page has 100 jobs, and at most 1,000 whatever is asked for", async () => {
  await using scene = await DoorScene.open();
  scene.agent("quiet", () => undefined);
  const peer = await scene.hello();
  for (let count = 0; count < 150; count += 1) {
    await peer.send("job.submit", { agent: "quiet" });
    if (count % 50 === 49) await turns(8);
  }
  await waitUntil(() => peer.of("job.result").length === 150);
  const { jobs, next_cursor: cursor } = (await peer.ask("session.list_jobs")).payload;
  assert.equal(jobs.length, 100);
  assert.equal((await peer.ask("session.list_jobs", { cursor })).payload.jobs.length, 50);
  const { envelope } = readEnvelope({
    arcp: "1.1",
    id: "1",
    type: "session.list_jobs",
    payload: { limit: 5_000 },
  });
  assert.equal(envelope && decodeList(envelope).value?.count, 1_000);
});

test("[ARCP-134] [ARCP-132] a page looks at what it shows, not at what there is", async () => {
  let looks = 0;
  const mayObserve = (principal: string): boolean => {
    looks += 1;
    return principal === "boss";
  };
  await using scene = await DoorScene.open({ mayObserve });
  scene.agent("quiet", () => undefined);
  const peer = await scene.hello();
  for (let count = 0; count < 500; count += 1) {
    await peer.send("job.submit", { agent: "quiet" });
    if (count % 50 === 49) await turns(8);
  }
  await waitUntil(() => peer.of("job.result").length === 500);
  const boss = await scene.hello({ token: "of boss" });
  const far = await boss.ask("session.list_jobs", { limit: 400 });
  looks = 0;
  const cursor = far.payload.next_cursor;
  const page = await boss.ask("session.list_jobs", { limit: 5, cursor });
  assert.equal(page.payload.jobs.length, 5);
  assert(looks <= 10, `${looks} looks`);
});

test("[ARCP-135] [ARCP-143] jobs of others can be as good as none, and every decision is told to who audits", async () => {
  const audited: unknown[] = [];
  const { scene } = await withPuppet({
    hidesForeignJobs: true,
    audit: (decision) => audited.push(decision),
  });
  await using _ = scene;
  const owner = await scene.hello();
  const { job_id = "" } = await owner.submit("puppet");
  const eve = await scene.hello({ token: "of eve" });
  const [real, none] = [
    await eve.ask("job.subscribe", { job_id }),
    await eve.ask("job.subscribe", { job_id: "job_0" }),
  ];
  assert.equal(real.payload.code, "JOB_NOT_FOUND");
  assert.equal(none.payload.code, "JOB_NOT_FOUND");
  assert.equal(real.payload.message.replace(job_id, ""), none.payload.message.replace("job_0", ""));
  await owner.ask("job.subscribe", { job_id });
  assert.deepEqual(audited, [
    { principal: "eve", jobId: job_id, owner: "ada", isAllowed: false },
    { principal: "ada", jobId: job_id, owner: "ada", isAllowed: true },
  ]);
});

test("[ARCP-142] unsubscribing is not answered and ends what is told; so does the end of the job", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const owner = await scene.hello();
  const { job_id = "" } = await owner.submit("puppet");
  const [one, other] = [await scene.hello(), await scene.hello()];
  for (const peer of [one, other]) await peer.ask("job.subscribe", { job_id });
  await puppet.say("one");
  await one.send("job.unsubscribe", { job_id });
  await turns(6);
  await puppet.say("two");
  await puppet.end();
  assert.deepEqual(one.story, ["1 log one"]);
  assert.deepEqual(one.types, ["session.welcome", "job.subscribed", "job.event"]);
  assert.deepEqual(other.story, ["1 log one", "2 log two", '3 result "done"']);
  const followers = scene.plane.peek(({ sessions }) => sessions.followers.has(jobId(job_id)));
  assert.equal(followers, false);
});

test("[ARCP-153] a lease cannot be renewed: nothing that could ask for it is understood", async () => {
  const { scene } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  const { job_id } = await peer.submit("puppet");
  for (const type of ["job.renew", "job.extend", "job.lease"]) {
    const refused = await peer.ask(type, { expires_at: "2099-01-01T00:00:00Z" }, { job_id });
    assert.deepEqual(refused.payload.details, { type });
  }
});

test("[ARCP-177] [ARCP-178] [ARCP-116] a child is its parent's in session, principal and trace; it is cancelled with it, and by it", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const child = new Puppet();
  scene.agent("child", child.handler);
  const peer = await scene.hello();
  const lease_request = { "agent.delegate": ["child"], "tool.call": ["a", "b"] };
  const { job_id, trace_id } = await peer.submit("puppet", { lease_request });
  const parent = puppet.job();
  const leaseRequest = { "tool.call": ["a"] };
  const one = await parent.delegate({ agent: "child", delegateId: "d1", leaseRequest });
  const two = await parent.delegate({ agent: "child", delegateId: "d2" });
  await assert.rejects(parent.delegate({ agent: "child", delegateId: "d2" }), {
    code: "INVALID_REQUEST",
  });
  await waitUntil(() => child.contexts.length === 2);
  for (const context of child.contexts) {
    assert.equal(context.sessionId, peer.sessionId);
    assert.equal(context.contextId, peer.sessionId);
    assert.equal(context.principal, "ada");
    assert.equal(context.traceId, trace_id);
  }
  assert.deepEqual(child.job().lease, leaseRequest);
  assert.deepEqual(child.job(1).lease, {});
  await one.cancel("enough");
  await assert.rejects(one.done, { code: "CANCELLED" });
  await peer.ask("job.cancel", { reason: "all of it" }, { job_id });
  await assert.rejects(two.done, { code: "CANCELLED" });
  assert(child.job(1).signal.aborted);
});

test("[ARCP-176] [ARCP-146] [ARCP-162] what may not be delegated is told as the result of a call, and rejects", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  scene.agent("child", echo);
  const peer = await scene.hello();
  const lease_request = { "agent.delegate": ["chi*"], "tool.call": ["a"] };
  await peer.submit("puppet", { lease_request });
  const parent = puppet.job();
  const cases = [
    [{ agent: "puppet" }, "PERMISSION_DENIED"],
    [{ agent: "child", leaseRequest: { "tool.call": ["*"] } }, "LEASE_SUBSET_VIOLATION"],
    [{ agent: "child", leaseRequest: { "cost.budget": ["USD:1"] } }, "LEASE_SUBSET_VIOLATION"],
    [{ agent: "child", leaseRequest: { "tool.everything": [] } }, "INVALID_REQUEST"],
    [{ agent: "nobody" }, "AGENT_NOT_AVAILABLE"],
  ] as const;
  for (const [at, [wanted, code]] of cases.entries()) {
    const delegateId = `d${at}`;
    await assert.rejects(parent.delegate({ ...wanted, delegateId }), { code });
    await turns(6);
    const [called, result] = peer.told.slice(-2).map(({ payload }) => payload);
    assert.equal(called?.kind, "delegate");
    assert.equal(called?.body.delegate_id, delegateId);
    assert.equal(result?.kind, "tool_result");
    assert.equal(result?.body.call_id, delegateId);
    assert.equal(result?.body.error?.code, code);
  }
  await puppet.end();
  assert.equal(peer.of("job.result").length, 1);
  assert.equal(peer.of("job.accepted").length, 1);
});

test("[ARCP-179] a client may ask for a child of an unfinished job of its principal, within that one's lease", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  const { job_id: parent_job_id } = await peer.submit("puppet", {
    lease_request: { "tool.call": ["a*"], "cost.budget": ["USD:1.00"] },
  });
  const ask = async (more: object, by = peer): Promise<Told> =>
    await by.submit("puppet", { parent_job_id, ...more });
  const child = await ask({ delegate_id: "d1", lease_request: { "tool.call": ["ab"] } });
  assert.equal(child.payload.parent_job_id, parent_job_id);
  assert.equal(child.payload.delegate_id, "d1");
  const wide = { lease_request: { "tool.call": ["*"] } };
  assert.equal((await ask(wide)).payload.code, "LEASE_SUBSET_VIOLATION");
  const rich = { lease_request: { "cost.budget": ["USD:1.01"] } };
  assert.equal((await ask(rich)).payload.code, "LEASE_SUBSET_VIOLATION");
  const eve = await scene.hello({ token: "of eve" });
  assert.equal((await ask({}, eve)).payload.code, "JOB_NOT_FOUND");
  await puppet.end(0);
  assert.equal((await ask({})).payload.code, "JOB_NOT_FOUND");
});

test("[ARCP-180] delegation is eight deep at most, and children count among the jobs of a session", async () => {
  const { scene } = await withPuppet({ jobsOfSessionMax: 10 });
  await using _ = scene;
  const peer = await scene.hello();
  let parent_job_id: string | undefined;
  for (let depth = 0; depth <= 8; depth += 1) {
    const accepted = await peer.submit("puppet", parent_job_id ? { parent_job_id } : {});
    assert.equal(accepted.type, "job.accepted", `${depth}`);
    parent_job_id = accepted.job_id;
  }
  const deep = await peer.submit("puppet", { parent_job_id });
  assert.equal(deep.payload.code, "INTERNAL_ERROR");
  assert.match(deep.payload.message, /8 deep/);
  assert.equal((await peer.submit("puppet")).type, "job.accepted");
  assert.match((await peer.submit("puppet")).payload.message, /10 unfinished jobs/);
});

test("[ARCP-192] [ARCP-122] what is a vendor's comes through the log to subscribers as it was", async () => {
  await using scratch = await temporaryDirectory();
  await using log = SqliteLog.open(scratch.path);
  const { scene, puppet } = await withPuppet({ log });
  await using _ = scene;
  const peer = await scene.hello();
  const lease_request = { "x-vendor.acme.metrics": ["*"] };
  const accepted = await peer.submit("puppet", { lease_request });
  await waitUntil(() => puppet.contexts.length === 1);
  assert.deepEqual(accepted.payload.lease, lease_request);
  const body = { i: 1, deep: [{ é: null }, "\u2028"] };
  await puppet.job().emitEvent("x-vendor.acme.progress", body);
  const watcher = await scene.hello();
  const { job_id } = accepted;
  await watcher.ask("job.subscribe", { job_id, history: true });
  await waitUntil(() => watcher.story.length === 2 && peer.story.length === 2);
  for (const { told } of [peer, watcher]) {
    const { kind, body: said } = told.at(-1)?.payload ?? {};
    assert.deepEqual({ kind, said }, { kind: "x-vendor.acme.progress", said: body });
  }
});

test("[ARCP-205] [ARCP-84] a hook leaves less of a lease than was asked for, never more", async () => {
  const leases = new Map<string, unknown>([
    ["less", { "tool.call": ["a"], "cost.budget": ["USD:1"] }],
    ["more", { "tool.call": ["*"] }],
  ]);
  const faults: unknown[] = [];
  const { scene, puppet } = await withPuppet({
    narrowLease: (_, principal) => leases.get(principal) as never,
    onFault: (fault) => faults.push(fault),
  });
  await using _ = scene;
  const lease_request = { "tool.call": ["a", "b"] };
  const less = await (await scene.hello({ token: "of less" })).submit("puppet", { lease_request });
  assert.deepEqual(less.payload.lease, leases.get("less"));
  assert.deepEqual(puppet.job().lease, leases.get("less"));
  const more = await (await scene.hello({ token: "of more" })).submit("puppet", { lease_request });
  assert.equal(more.payload.code, "INTERNAL_ERROR");
  assert.equal(faults.length, 1);
});

test("refusals say lease, or neither: grant is nobody's word but ours", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  const expires_at = new Date(scene.clock.nowMs() + 1_000).toISOString();
  const lease_request = { "tool.call": ["a"] };
  const first = await peer.submit("puppet", { lease_request, lease_constraints: { expires_at } });
  const messages: string[] = [];
  for (const more of [
    { lease_request: [] },
    { lease_request: { "tool.everything": [] } },
    { lease_constraints: { expires_at: "soon" } },
    { lease_constraints: { expires_at: "2001-01-01T00:00:00Z" } },
    { parent_job_id: first.job_id, lease_request: { "tool.call": ["*"] } },
    { parent_job_id: first.job_id, lease_constraints: { expires_at: "2099-01-01T00:00:00Z" } },
  ]) {
    messages.push((await peer.submit("puppet", more)).payload.message);
  }
  for (const target of ["b", "a"]) {
    await puppet
      .job()
      .authorize("tool.call", target)
      .catch(({ message }) => messages.push(message));
    scene.clock.leap(1_000);
  }
  scene.plane.tick();
  await turns(6);
  messages.push(peer.of("job.error").at(-1)?.payload.message ?? "");
  assert.equal(messages.length, 9);
  assert.doesNotMatch(messages.join("\n"), /grant/i);
});

/** A log that can be written, and at times not read. */
class UnreadableLog extends MemoryLog {
  isUnreadable = false;

  override readStreamBack(
    ...range: Parameters<MemoryLog["readStreamBack"]>
  ): ReturnType<MemoryLog["readStreamBack"]> {
    if (this.isUnreadable) return Promise.reject(new Error("the disk is wet"));
    return super.readStreamBack(...range);
  }
}

test("a subscribe whose past cannot be read is answered, and so is what was asked for after it", async () => {
  const log = new UnreadableLog();
  const { scene } = await withPuppet({ log });
  await using _ = scene;
  const peer = await scene.hello();
  const { job_id } = await peer.submit("puppet");
  log.isUnreadable = true;
  const past = { job_id, history: true, from_event_seq: 1 };
  const subscribed = peer.ask("job.subscribe", past);
  const listed = await peer.ask("session.list_jobs");
  const { type, payload } = await subscribed;
  assert.equal(type, "session.error");
  assert.equal(payload.code, "INTERNAL_ERROR");
  assert.doesNotMatch(payload.message, /wet/);
  assert.equal(listed.payload.jobs.length, 1);
  assert.match(String(scene.faults.splice(0)), /wet/);
});
